"""How an agent of a pulled cluster is called towards the hub: by the subject of its client certificate.

Karmada's `system:karmada:agent:NAME` in the group `system:karmada:agents`; nothing else may have such a name.
"""

from __future__ import annotations

from collections.abc import Sequence

from gitfed.model.base import ClusterName
from gitfed.model.declared import names
from gitfed.model.declared.cluster import LONGEST_NAME

GROUP = "system:gitfed:agents"
RESERVED = "system:gitfed:"
"""What begins so is ours to give."""
_PREFIX = "system:gitfed:agent:"
_LONGEST_COMMON_NAME = 64
LONGEST_CLUSTER = min(LONGEST_NAME, _LONGEST_COMMON_NAME - len(_PREFIX))
"""Characters of a cluster's name: a certificate's common name has 64 (X.520)."""


def common_name(cluster: ClusterName) -> str:
    return _PREFIX + cluster


def cluster_of(name: str, groups: Sequence[str]) -> ClusterName | None:
    """The one cluster that this subject is the agent of; None: it is no agent's, or not exactly."""
    if tuple(groups) != (GROUP,) or not name.startswith(_PREFIX):
        return None
    cluster = name.removeprefix(_PREFIX)
    return None if why_not_a_name(cluster) else ClusterName(cluster)


def claims(name: str, groups: Sequence[str]) -> bool:
    """Whether it looks like an agent's at all: then it is one, or is refused."""
    return name.startswith(RESERVED) or any(group.startswith(RESERVED) for group in groups)


def why_not_a_name(cluster: str) -> str:
    """ "" for what a pulled cluster may be called; else the rest of a sentence."""
    return names.why_not_dns_label(cluster, LONGEST_CLUSTER) or ""
