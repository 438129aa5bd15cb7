"""What a caller may do: the AccessPolicies of the commit in force, applied to one caller.

Rights only add up. A grant without clusters covers clusters to come as well; one with namespaces covers nothing that
is in none.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from enum import StrEnum

from gitfed.hub.access.caller import Caller
from gitfed.model.base import ClusterName
from gitfed.model.declared.access import MASTERS, AccessPolicy, Subject
from gitfed.model.fleet import ClusterFacts
from gitfed.model.repo import RepoSnapshot
from gitfed.placement.scheduling import affinity, cluster
from gitfed.text.values import dataclass


class Right(StrEnum):
    VIEW = "view"
    PROXY = "proxy"
    OPERATE = "operate"


@dataclass(frozen=True, slots=True)
class Grant:
    """What one policy gives to its subjects."""

    policy: str
    rights: frozenset[Right]
    clusters: frozenset[ClusterName] | None
    """None: every cluster, also one that is declared later."""
    namespaces: re.Pattern[str] | None
    """None: every namespace, and what is in none."""

    def covers(self, cluster: ClusterName, namespace: str) -> bool:
        if self.clusters is not None and cluster not in self.clusters:
            return False
        return self.in_namespace(namespace)

    def in_namespace(self, namespace: str) -> bool:
        """A pattern, also `*`, covers nothing that is in no namespace."""
        if self.namespaces is None:
            return True
        return bool(namespace) and self.namespaces.fullmatch(namespace) is not None


@dataclass(frozen=True, slots=True)
class Rights:
    """All that one caller may."""

    grants: tuple[Grant, ...] = ()

    def any(self, right: Right) -> bool:
        """Whether there is anything at all that this right is for."""
        return any(right in grant.rights for grant in self.grants)

    def everywhere(self, right: Right) -> bool:
        """In every cluster and namespace: what tells of the fleet as a whole needs that."""
        return any(
            right in grant.rights and grant.clusters is None and grant.namespaces is None for grant in self.grants
        )

    def on_cluster(self, right: Right, cluster: ClusterName) -> bool:
        """On the cluster as such (suspend it, see its nodes), or on anything in it."""
        return any(
            right in grant.rights and (grant.clusters is None or cluster in grant.clusters) for grant in self.grants
        )

    def on_object(self, right: Right, cluster: ClusterName, namespace: str) -> bool:
        """On objects of one namespace in one cluster; "" means what is in no namespace."""
        return any(right in grant.rights and grant.covers(cluster, namespace) for grant in self.grants)

    def on_namespace(self, right: Right, namespace: str) -> bool:
        """On objects of one namespace in at least one cluster: where they run comes out of that."""
        return any(right in grant.rights and grant.in_namespace(namespace) for grant in self.grants)


_MOST_KNOWN = 10_000


class Rulebook:
    """The policies of one commit. Without a commit there are no rights."""

    def __init__(self, repo: RepoSnapshot | None) -> None:
        self._policies = [(policy, _grant(policy, repo)) for policy in repo.access] if repo is not None else []
        self._known: dict[Caller, Rights] = {}
        """Every request asks; the policies of a commit say the same each time."""

    def of(self, caller: Caller) -> Rights:
        rights = self._known.get(caller)
        if rights is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            rights = self._known[caller] = self._found(caller)
        return rights

    def _found(self, caller: Caller) -> Rights:
        return Rights(
            tuple(
                grant
                for policy, grant in self._policies
                if any(_names(subject, caller) for subject in policy.spec.subjects)
            )
        )


def _grant(policy: AccessPolicy, repo: RepoSnapshot) -> Grant:
    wanted = policy.spec.clusters
    clusters: frozenset[ClusterName] | None = None
    if wanted is not None and not wanted.is_empty:
        matches = affinity.compile(wanted)
        clusters = frozenset(
            name for name, declared in repo.clusters.items() if matches(cluster.candidate(declared, ClusterFacts(name)))
        )
    return Grant(
        policy.metadata.name,
        frozenset(Right(right) for right in policy.spec.allow),
        clusters,
        _pattern(policy.spec.namespaces),
    )


def _pattern(patterns: Iterable[str] | None) -> re.Pattern[str] | None:
    """`[` is no wildcard here: what matters is that a reviewer sees at once what a pattern covers."""
    if patterns is None:
        return None
    return re.compile("|".join(fnmatch.translate(pattern.replace("[", "[[]")) for pattern in patterns))


def _names(subject: Subject, caller: Caller) -> bool:
    if subject.kind == "Group":
        return subject.name in caller.groups and subject.name != MASTERS
    if subject.kind == "ServiceAccount":
        return caller.name == f"system:serviceaccount:{subject.namespace}:{subject.name}"
    return subject.name == caller.name


def missing(caller: str, right: Right, of: str) -> str:
    """The policy that would give a right, for people. `of`: what it has to cover."""
    return f"an AccessPolicy that names {caller} and covers {of} has to allow {right.value}"
