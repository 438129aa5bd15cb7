"""The name by which the hub knows an agent: the subject of its client certificate.

The agent of a pulled cluster is Karmada's `system:karmada:agent:NAME` in the group `system:karmada:agents`; those of a
pool share `system:gitfed:pool:NAME`. Nothing else may have such a name.

In tables of both kinds, an agent of one cluster has the cluster's name, and the agents of a pool share `pool/NAME`,
which cannot be a cluster's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from gitfed.model.base import ClusterName
from gitfed.model.declared import names
from gitfed.model.declared.cluster import LONGEST_NAME, LONGEST_POOL

AgentName: TypeAlias = str
"""A cluster's name, or `pool/NAME`."""

GROUP = "system:gitfed:agents"
POOLS = "system:gitfed:pools"
SEARCH = "system:gitfed:search"
"""The user that agents act as when the hub reads for its search cache. No caller can be that user."""
RESERVED = "system:gitfed:"
"""Only the hub gives out names that begin so."""
_PREFIX = "system:gitfed:agent:"
_POOL_PREFIX = "system:gitfed:pool:"
_POOL = "pool/"
_LONGEST_COMMON_NAME = 64
LONGEST_CLUSTER = min(LONGEST_NAME, _LONGEST_COMMON_NAME - len(_PREFIX))
"""Characters of a cluster's name: a certificate's common name has 64 (X.520)."""


def of_pool(pool: str) -> AgentName:
    return _POOL + pool


def pool_in(agent: AgentName) -> str:
    """The pool whose members have this name; "" for a cluster's own agent."""
    return agent.removeprefix(_POOL) if agent.startswith(_POOL) else ""


def common_name(agent: AgentName) -> str:
    pool = pool_in(agent)
    return _POOL_PREFIX + pool if pool else _PREFIX + agent


def group(agent: AgentName) -> str:
    return POOLS if pool_in(agent) else GROUP


def agent_of(name: str, groups: Sequence[str]) -> AgentName | None:
    """The agent that this subject is; None: it is none, or not exactly."""
    if tuple(groups) == (POOLS,) and name.startswith(_POOL_PREFIX):
        pool = name.removeprefix(_POOL_PREFIX)
        return None if why_not_a_pool(pool) else of_pool(pool)
    if tuple(groups) != (GROUP,) or not name.startswith(_PREFIX):
        return None
    cluster = name.removeprefix(_PREFIX)
    return None if why_not_a_name(cluster) else cluster


def cluster_of(name: str, groups: Sequence[str]) -> ClusterName | None:
    """The one cluster that this subject is the agent of; None: it is no such agent's."""
    agent = agent_of(name, groups)
    return None if agent is None or pool_in(agent) else ClusterName(agent)


def claims(name: str, groups: Sequence[str]) -> bool:
    """Whether the subject looks like an agent's: then it is an agent, or is refused."""
    return name.startswith(RESERVED) or any(group.startswith(RESERVED) for group in groups)


def why_not_a_name(cluster: str) -> str:
    """ "" for what a pulled cluster may be called; else the rest of a sentence."""
    return names.why_not_dns_label(cluster, LONGEST_CLUSTER) or ""


def why_not_a_pool(pool: str) -> str:
    """ "" for what a pool may be called; else the rest of a sentence."""
    return names.why_not_dns_label(pool, LONGEST_POOL) or ""
