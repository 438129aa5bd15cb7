"""One commit, read: templates, declared kinds, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import TYPE_CHECKING

from gitfed.model.base import Body, Commit, Digest, ObjectKey, Origin, Problem
from gitfed.model.scope import EVERYTHING, PlanScope
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.model.declared import (
        access,
        autoscaling,
        cluster,
        federated_hpa,
        federation,
        interpreter,
        notification,
        policy,
        remedy,
        search,
        services,
    )

_EMPTY: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Manifest:
    """A template as the repository holds it.

    `digest` covers `body`; two manifests with equal digests are interchangeable but for their origin. `held` names
    the commit of the last good version when the file's present content cannot be used (`onInvalidFile: hold`).
    """

    key: ObjectKey
    api_version: str
    body: Body
    origin: Origin
    digest: Digest
    held: Commit | None = None


@dataclass(frozen=True, slots=True)
class HeldFile:
    """A file whose content at `RepoSnapshot.commit` cannot be used, kept at an older version: where that is."""

    path: str
    commit: Commit
    blob: str
    reason: str


@dataclass(frozen=True, slots=True)
class Possible:
    """Objects that a text may mean: those of these kinds, namespaces and names. None: of any."""

    kinds: frozenset[str] | None = None
    namespaces: frozenset[str] | None = None
    names: frozenset[str] | None = None

    def covers(self, kind: str, namespace: str, name: str) -> bool:
        return (
            (self.kinds is None or kind in self.kinds)
            and (self.namespaces is None or namespace in self.namespaces)
            and (self.names is None or name in self.names)
        )


@dataclass(frozen=True, slots=True)
class UnreadFile:
    """A file that cannot be used and has no good version. What it may have meant is held, and nothing else."""

    path: str
    reason: str
    defines: tuple[Possible, ...]
    """Objects that it may define: missing from all other files, they do not count as removed."""
    concerns: tuple[Possible, ...] = ()
    """Templates that it may be about: they keep their decisions, and nothing of them is deleted."""
    overrides: bool = False
    """Whether it may change their manifests: then nothing is written of them either."""

    def may_define(self, kind: str, namespace: str, name: str) -> bool:
        return any(possible.covers(kind, namespace, name) for possible in self.defines)

    def may_concern(self, key: ObjectKey) -> bool:
        return any(possible.covers(key.kind, key.namespace, key.name) for possible in self.concerns)


@dataclass(frozen=True, slots=True)
class RepoSnapshot:
    """Everything the decisions need from one commit. Mappings are keyed by name (policies: see each)."""

    commit: Commit
    manifests: Mapping[ObjectKey, Manifest]
    settings: federation.Federation
    clusters: Mapping[str, cluster.Cluster]
    propagation: tuple[policy.Propagation, ...]
    """PropagationPolicy and ClusterPropagationPolicy, sorted by (kind, namespace, name)."""
    overrides: tuple[policy.Override, ...]
    """OverridePolicy and ClusterOverridePolicy, sorted likewise."""
    quotas: tuple[policy.FederatedResourceQuota, ...] = ()
    taint_policies: tuple[policy.ClusterTaintPolicy, ...] = ()
    remedies: tuple[remedy.Remedy, ...] = ()
    interpreters: tuple[interpreter.ResourceInterpreterCustomization, ...] = ()
    webhooks: tuple[interpreter.ResourceInterpreterWebhookConfiguration, ...] = ()
    rebalancers: tuple[policy.WorkloadRebalancer, ...] = ()
    cron_autoscalers: tuple[autoscaling.CronFederatedHPA, ...] = ()
    multicluster_services: tuple[services.MultiClusterService, ...] = ()
    multicluster_ingresses: tuple[services.MultiClusterIngress, ...] = ()
    federated_autoscalers: tuple[federated_hpa.FederatedHPA, ...] = ()
    tests: tuple[federation.PlacementTest, ...] = ()
    access: tuple[access.AccessPolicy, ...] = ()
    notifications: tuple[notification.Notification, ...] = ()
    registries: tuple[search.ResourceRegistry, ...] = ()
    problems: tuple[Problem, ...] = ()
    held: tuple[HeldFile, ...] = ()
    origins: Mapping[ObjectKey, Origin] = field(default_factory=dict)
    """Where each declared object (not template) stands, by its key."""
    unread: tuple[UnreadFile, ...] = ()
    """Files whose content is missing without a last good version in its place, sorted by path."""
    left_out: tuple[str, ...] = ()
    """Paths of files that the settings include and that plainly hold no Kubernetes objects, sorted."""
    scope: PlanScope = EVERYTHING
    """Totals of the templates that are left out, where only few are planned."""

    @property
    def complete(self) -> bool:
        """False when a file could not be read: its objects cannot be told from removed ones."""
        return not self.unread

    @property
    def autoscalers(self) -> tuple[autoscaling.CronFederatedHPA | federated_hpa.FederatedHPA, ...]:
        return (*self.cron_autoscalers, *self.federated_autoscalers)

    def why_kept(self, key: ObjectKey) -> str:
        """Why the objects of a removed template must stay; "" when no unread file can be about it."""
        for file in self.unread:
            if file.may_define(*key[1:]) or file.may_concern(key):
                return f"{file.path} cannot be used, and may be about it"
        return ""

    def why_undecided(self, key: ObjectKey) -> str:
        """Why nothing may be decided for a template; "" when no unread file can be about it."""
        for file in self.unread:
            if file.may_concern(key):
                return f"{file.path} cannot be used, and may be about it"
        return ""
