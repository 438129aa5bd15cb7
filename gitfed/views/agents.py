"""The agents of pulled clusters and of pools: `gitfed.io/agents/v1`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, NotRequired

from gitfed.documents.bindings import time_text
from gitfed.model import agent_identity
from gitfed.model.agent_identity import AgentName
from gitfed.model.agent_presence import AgentPresence
from gitfed.model.base import ClusterName
from gitfed.model.repo import RepoSnapshot
from gitfed.views.value import Time, View

SCHEMA: Literal["gitfed.io/agents/v1"] = "gitfed.io/agents/v1"
BEFORE_POOLS: Mapping[str, str] = {"pool": "", "member": ""}
"""What hubs that know no pools leave out of an item: each agent is a cluster's own."""


class SliceView(View):
    """What an agent is to know, counted by its changes since the hub began."""

    wanted: int
    """How many there were."""
    held: int
    """Up to which of them the agent has all, as it acknowledged."""


class AgentView(View):
    """The agent of one cluster: its own, or the member of a pool that holds it."""

    cluster: str
    name: str
    """The common name of its certificate."""
    pool: str
    """The pool that keeps the cluster; "": an agent of its own does."""
    member: str
    """Of a pool: what the Lease calls the member that is connected, or was last."""
    state: Literal["Connected", "Disconnected", "NeverConnected", "NotDeclared", "Unknown"]
    """NeverConnected: not since the hub began. NotDeclared: registered, and no file gives the cluster to an agent.
    Unknown: the hub that answers does not lead, so no agent connects to it."""
    connectedSince: Time | None
    lastHeard: Time | None
    """Agents say something every ten seconds or so; null: nothing was heard since the hub began."""
    connections: int
    """That there were since the hub began."""
    instance: str
    """The process of the agent that is connected, or was last; "" while none was."""
    program: str
    """What that says that it is: `gitfed` and its version."""
    protocol: int | None
    """The version of the protocol that both sides speak."""
    slice: SliceView | None
    """null: the hub that answers does not lead."""
    certificateEnds: Time | None
    """null: no certificate counts for this cluster, so no agent can connect; or the hub cannot read its ledger."""


class AgentList(View):
    """Agents, by cluster."""

    schema: Literal["gitfed.io/agents/v1"]
    items: list[AgentView]
    total: int
    next: NotRequired[str]
    """What `continue` gives the next page; missing on the last one."""


def clusters(repo: RepoSnapshot, certificates: Mapping[AgentName, datetime]) -> list[ClusterName]:
    """Clusters that have an agent, or are to have one."""
    kept = {name for name, cluster in repo.clusters.items() if cluster.has_agent}
    return sorted(kept.union(name for name in certificates if not agent_identity.pool_in(name)))


def certificate_ends(
    cluster: ClusterName, repo: RepoSnapshot, certificates: Mapping[AgentName, datetime]
) -> datetime | None:
    """When the certificate ends with which this cluster's agent connects, by the certificates of all agents."""
    pool = repo.clusters[cluster].pool if cluster in repo.clusters else ""
    return certificates.get(agent_identity.of_pool(pool) if pool else cluster)


def item(
    cluster: ClusterName, repo: RepoSnapshot, presence: AgentPresence | None, ends: datetime | None, *, leads: bool
) -> AgentView:
    """`leads`: whether agents connect to the process that asks."""
    declared = repo.clusters.get(cluster)
    pool = declared.pool if declared is not None else ""
    seen = presence or AgentPresence()
    state: Literal["Connected", "Disconnected", "NeverConnected", "NotDeclared", "Unknown"]
    if declared is None or not declared.has_agent:
        state = "NotDeclared"
    elif not leads:
        state = "Unknown"
    elif seen.connected is not None:
        state = "Connected"
    else:
        state = "Disconnected" if seen.heard is not None else "NeverConnected"
    return {
        "cluster": cluster,
        "name": agent_identity.common_name(agent_identity.of_pool(pool) if pool else cluster),
        "pool": pool,
        "member": seen.holding.member,
        "state": state,
        "connectedSince": _time(seen.connected),
        "lastHeard": _time(seen.heard),
        "connections": seen.connections,
        "instance": seen.instance,
        "program": seen.program,
        "protocol": seen.protocol,
        "slice": {"wanted": seen.wanted, "held": seen.held} if presence is not None else None,
        "certificateEnds": _time(ends),
    }


def _time(when: datetime | None) -> str | None:
    return time_text(when) if when is not None else None
