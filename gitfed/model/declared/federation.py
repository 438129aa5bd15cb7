"""gitfed's own kinds: Federation, the settings of one repository, and PlacementTest, its golden tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field, StrictInt

from gitfed.model.declared import names
from gitfed.model.declared.shape import (
    Declared,
    Duration,
    Finding,
    Flag,
    ObjectMeta,
    Part,
    Required,
    Text,
    duration_text,
    warning,
)
from gitfed.text import expression

API_VERSION = "gitfed.io/v1alpha1"

_Count = Annotated[StrictInt, Field(ge=0)]
_Percent = Annotated[StrictInt, Field(ge=0, le=100)]
_MINUTE = timedelta(minutes=1)
_BRANCH = re.compile(r"(?![-/.])(?!.*(//|\.\.|@\{|\.lock$|/$|\.$))[^\x00-\x20\x7f~^:?*\[\\]+")

FEATURE_GATES = {
    "Failover": True,
    "GracefulEviction": True,
    "StatefulFailoverInjection": True,
    "MultiplePodTemplatesScheduling": True,
    "CustomizedClusterResourceModeling": True,
    "PriorityBasedScheduling": True,
    "FederatedQuotaEnforcement": True,
    "MultiClusterService": True,
    "PropagateDeps": True,
    "ResourceQuotaEstimate": True,
    "WorkloadAffinity": True,
    "ControllerPriorityQueue": False,
    "PropagationPolicyPreemption": False,
    "SchedulingOvercommitProtection": False,
}
"""Karmada's names and our defaults."""


class Verify(Part):
    """Which commits must be signed, and by whom: SSH public keys, fingerprints, or paths of files with public keys."""

    commits: Literal["none", "head", "all"] = "none"
    keys: tuple[Required, ...] = ()


class Sources(Part):
    """Which files of the repository are read: gitignore-like globs, `**` for any depth. Which commits are believed."""

    include: Annotated[tuple[Required, ...], Field(min_length=1)] = ("**/*.yaml", "**/*.yml", "**/*.json")
    exclude: tuple[Required, ...] = (".github/**",)
    verify: Verify = Field(default_factory=Verify)


class Sync(Part):
    interval: Duration = _MINUTE
    prune: Flag = True
    self_heal: Flag = True
    on_invalid_file: Literal["hold", "reject"] = "hold"
    health_timeout: Duration = 5 * _MINUTE


class Guards(Part):
    max_deletions: _Count = 50
    max_deletion_percent: _Percent = 25
    max_moved_replicas_percent: _Percent = 25
    max_clusters_touched: _Count | None = None
    approvers: tuple[Required, ...] = ()
    operators: tuple[Required, ...] = ()


class FailoverSettings(Part):
    enabled: Flag = True
    eviction_timeout: Duration = 5 * _MINUTE
    not_ready_toleration_seconds: _Count = 300
    unreachable_toleration_seconds: _Count = 300
    graceful_eviction_timeout: Duration = 10 * _MINUTE
    max_unreachable_percent: _Percent = 50
    max_evictions_per_minute: Annotated[StrictInt, Field(ge=1)] | None = None
    start_without_confirmation: Flag = False


class Namespaces(Part):
    auto_propagate: Flag = True
    skip: tuple[Required, ...] = ("kube-.*",)

    def skips(self, namespace: str) -> bool:
        """Whether a pattern of `skip` matches the whole name."""
        return any(expression.matches(pattern, namespace) for pattern in self.skip)


class Scheduling(Part):
    empty_workload_propagation: Flag = False
    deschedule_interval: Duration = 2 * _MINUTE
    unschedulable_threshold: Duration = 5 * _MINUTE


class StateSettings(Part):
    branch: Required = "gitfed/state"
    facts_branch: Required = "gitfed/facts"
    writers: tuple[Required, ...] = ()
    url: Text | None = None
    push: Flag = True
    wait_for_push: Duration = timedelta(seconds=10)


class Render(Part):
    branch: Required | None = None


class FederationSpec(Part):
    sources: Sources = Field(default_factory=Sources)
    sync: Sync = Field(default_factory=Sync)
    guards: Guards = Field(default_factory=Guards)
    failover: FailoverSettings = Field(default_factory=FailoverSettings)
    namespaces: Namespaces = Field(default_factory=Namespaces)
    scheduling: Scheduling = Field(default_factory=Scheduling)
    state: StateSettings = Field(default_factory=StateSettings)
    render: Render = Field(default_factory=Render)
    feature_gates: dict[str, Flag] = Field(default_factory=dict)


class Federation(Declared):
    kind: Literal["Federation"]
    spec: FederationSpec = Field(default_factory=FederationSpec)

    def gate(self, name: str) -> bool:
        """Whether a feature of Karmada's name is on."""
        return self.spec.feature_gates.get(name, FEATURE_GATES.get(name, False))

    def findings(self) -> Iterator[Finding]:
        if why := names.why_not_dns_label(self.metadata.name, 40):
            # Part of `gitfed-inventory-<name>-<n>` and the value of a label.
            yield Finding(("metadata", "name"), f"the name {self.metadata.name} {why}")
        for gate in self.spec.feature_gates:
            if gate not in FEATURE_GATES:
                hint = ", ".join(sorted(FEATURE_GATES))
                yield Finding(("spec", "featureGates", gate), f"unknown feature gate {gate}", f"known: {hint}")
        for i, pattern in enumerate(self.spec.namespaces.skip):
            if why := expression.why_not(pattern):
                yield Finding(("spec", "namespaces", "skip", i), f"the pattern {pattern[:60]} {why}")
        if self.spec.sources.verify.commits != "none" and not self.spec.sources.verify.keys:
            yield Finding(
                ("spec", "sources", "verify"),
                "verify names no keys: no commit could be accepted any more",
                "keys: [path of a public key in this repository]",
            )
        yield from self._branch_findings()
        for name, span in (("interval", self.spec.sync.interval), ("healthTimeout", self.spec.sync.health_timeout)):
            if not span:
                yield Finding(("spec", "sync", name), f"{name} must be above 0")
        if not self.spec.scheduling.deschedule_interval:
            yield Finding(("spec", "scheduling", "descheduleInterval"), "descheduleInterval must be above 0")
        yield from self._long_waits()

    def _long_waits(self) -> Iterator[Finding]:
        """Durations that are valid, and too long to be meant."""
        spec = self.spec
        wait, most = spec.state.wait_for_push, spec.failover.eviction_timeout
        if wait > max(most, spec.failover.graceful_eviction_timeout):
            yield warning(
                ("spec", "state", "waitForPush"),
                f"while the state's server does not answer, nothing moves away from a failed cluster for"
                f" {duration_text(wait)}, long after failover.evictionTimeout ({duration_text(most)})",
                "seconds are usual: after them the record in the daemon's clone is enough",
            )
        if spec.sync.interval > timedelta(days=1):
            yield warning(
                ("spec", "sync", "interval"),
                f"a push is noticed up to {duration_text(spec.sync.interval)} later, unless a webhook tells of it",
                "minutes are usual",
            )

    def _branch_findings(self) -> Iterator[Finding]:
        state = self.spec.state
        branches: list[tuple[tuple[str, ...], str]] = [
            (("state", "branch"), state.branch),
            (("state", "factsBranch"), state.facts_branch),
        ]
        if self.spec.render.branch:
            branches.append((("render", "branch"), self.spec.render.branch))
        seen: set[str] = set()
        for path, branch in branches:
            if not _BRANCH.fullmatch(branch):
                yield Finding(("spec", *path), f"{branch} is not a valid branch name")
            if branch in seen:
                yield Finding(("spec", *path), f"the branch {branch} is used twice", "each needs its own")
            seen.add(branch)


def unnamed() -> Federation:
    """Every default, for a repository whose settings are missing."""
    return Federation(api_version=API_VERSION, kind="Federation", metadata=ObjectMeta.model_construct(name="unnamed"))


def is_missing(settings: Federation) -> bool:
    """Whether these are the `unnamed` settings: the fleet has no name, and nothing may be written."""
    return settings == unnamed()


class Given(Part):
    """What the test does to the fleet: `cluster/NAME`, `region/NAME`, `zone/NAME` or `provider/NAME` fail."""

    fail: tuple[Annotated[str, Field(pattern=r"^(cluster|region|zone|provider)/.+$", strict=True)], ...] = ()
    taint: tuple[Required, ...] = ()
    until: Duration | None = None


class WorkloadRef(Part):
    api_version: Text = ""
    kind: Required
    namespace: Text = ""
    name: Required


class ExpectedClusters(Part):
    min: _Count | None = None
    max: _Count | None = None
    include: tuple[Text, ...] = ()
    exclude: tuple[Text, ...] = ()


class Bounds(Part):
    min: _Count | None = None
    max: _Count | None = None


class ExpectedReplicas(Part):
    total: _Count | None = None
    per_cluster: Bounds | None = None
    cluster: dict[str, Bounds] = Field(default_factory=dict)
    region: dict[str, Bounds] = Field(default_factory=dict)
    zone: dict[str, Bounds] = Field(default_factory=dict)
    provider: dict[str, Bounds] = Field(default_factory=dict)


class Expectation(Part):
    workload: WorkloadRef
    clusters: ExpectedClusters | None = None
    replicas: ExpectedReplicas | None = None


class PlacementTestSpec(Part):
    facts: Text | None = None
    given: Given = Field(default_factory=Given)
    expect: tuple[Expectation, ...] = ()
    snapshot: Text | None = None


class PlacementTest(Declared):
    kind: Literal["PlacementTest"]
    spec: PlacementTestSpec

    def findings(self) -> Iterator[Finding]:
        if not self.spec.expect and not self.spec.snapshot:
            yield Finding(("spec",), "a test needs expect or snapshot, or it can never fail")
