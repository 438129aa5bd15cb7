"""One commit, read: templates, declared kinds, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from gitfed.model.base import Body, Commit, Digest, ObjectKey, Origin, Problem

if TYPE_CHECKING:
    from gitfed.model.declared import access, cluster, federation, interpreter, policy

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
    interpreters: tuple[interpreter.ResourceInterpreterCustomization, ...] = ()
    webhooks: tuple[interpreter.ResourceInterpreterWebhookConfiguration, ...] = ()
    rebalancers: tuple[policy.WorkloadRebalancer, ...] = ()
    tests: tuple[federation.PlacementTest, ...] = ()
    access: tuple[access.AccessPolicy, ...] = ()
    problems: tuple[Problem, ...] = ()
    held: tuple[HeldFile, ...] = ()
    origins: Mapping[ObjectKey, Origin] = field(default_factory=dict)
    """Where each declared object (not template) stands, by its key."""
    complete: bool = True
    """False when some content is missing without a last good version in its place: what it held cannot be told from
    what was removed. Nothing is pruned from such a snapshot."""
    left_out: tuple[str, ...] = ()
    """Paths of files that the settings include and that plainly hold no Kubernetes objects, sorted."""
