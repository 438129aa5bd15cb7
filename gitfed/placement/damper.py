"""A workload that is decided again and again although nothing that it depends on changed: that has to stop.

Two rules that contradict each other (one drives a copy out, the other brings it back) make a daemon that writes several
commits a second and moves a service for ever. Known cases are mended where they arise; this is the guard against the
others. A decision that is taken `MOST` times within `WINDOW` for the same inputs is not taken again: the last one
stays, no copy of the workload is deleted, and a person is told. It goes on as soon as an input is another one.

Inputs are what people and clusters do: the template, its policy, the settings, rebalancers, and the clusters with their
labels and taints; that pods found no node is one too, for the decision that takes their replicas back. What follows
from decisions is none: room, health, where other workloads are, which kinds a cluster serves.

The history is on record, so a restart begins no new count. It is written for the second decision within `WINDOW` and
the later ones, which few bindings ever have.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from gitfed.model.base import Digest, ObjectKey
from gitfed.model.decisions import Decision, Repeats
from gitfed.placement.scheduling import match, rebalance
from gitfed.text import canonical

if TYPE_CHECKING:
    from gitfed.model.repo import RepoSnapshot
    from gitfed.placement.scheduling.cluster import Candidate

MOST = 10
WINDOW = timedelta(hours=1)
STOPPED = f"decided {MOST} times within an hour although nothing it depends on changed"


class Inputs:
    """Digests of what the decisions of one build are taken from."""

    def __init__(self, repo: RepoSnapshot, policies: match.Index, candidates: Iterable[Candidate]) -> None:
        self._repo = repo
        self._policies = policies
        self._candidates = candidates

    def of(self, key: ObjectKey) -> Digest:
        """Of one template; "" for one that is gone."""
        manifest = self._repo.manifests.get(key)
        if manifest is None:
            return Digest("")
        policy = self._policies.best(manifest).policy
        declared = None
        if policy is not None:
            declared = [str(match.ref(policy)), policy.spec.model_dump(mode="json", exclude_none=True)]
        asking = self._rebalancers.get(key, ())
        return Digest(canonical.digest([manifest.digest, declared, list(asking), self._settings, self._fleet]))

    @cached_property
    def _fleet(self) -> str:
        clusters = [
            [
                candidate.name,
                dict(candidate.labels),
                candidate.provider,
                candidate.region,
                list(candidate.zones),
                [list(taint) for taint in candidate.taints],
                sorted(str(tolerations) for tolerations in candidate.outlived),
            ]
            for candidate in self._candidates
        ]
        return canonical.digest(sorted(clusters, key=lambda described: str(described[0])))

    @cached_property
    def _settings(self) -> str:
        return canonical.digest(self._repo.settings.spec.model_dump(mode="json", exclude_none=True))

    @cached_property
    def _rebalancers(self) -> dict[ObjectKey, tuple[str, ...]]:
        return rebalance.wanted(self._repo.rebalancers)


def is_stopped(decision: Decision, inputs: Inputs) -> bool:
    """Whether nothing more is decided for a workload for the time being."""
    repeats = decision.rescheduling.repeats
    return repeats is not None and repeats.times[MOST - 1 :] != () and repeats.inputs == inputs.of(decision.key)


def counted(before: Decision, after: Decision, inputs: Inputs, now: datetime) -> Decision:
    """`after` with what has to be remembered of how often something else than `before` was decided."""
    if _essence(before) == _essence(after):
        return after
    if before.rescheduling.undone is not None:
        return after
    repeats = before.rescheduling.repeats
    last = repeats.times[-1] if repeats is not None else before.last_scheduled
    if last is None or last <= now - WINDOW:
        return _with(after, None)
    current = inputs.of(after.key)
    times = repeats.times if repeats is not None and repeats.inputs == current else ()
    times = (*(time for time in times if time > now - WINDOW), now.replace(microsecond=0))
    return _with(after, Repeats(current, times))


def _with(decision: Decision, repeats: Repeats | None) -> Decision:
    if decision.rescheduling.repeats == repeats:
        return decision
    return replace(decision, rescheduling=replace(decision.rescheduling, repeats=repeats))


def has_stopped(before: Decision | None, after: Decision) -> bool:
    """Whether this is the last decision before a person, or a cluster, has to do something."""
    repeats = after.rescheduling.repeats
    full = repeats is not None and len(repeats.times) >= MOST
    return full and (before is None or before.rescheduling.repeats != repeats)


def _essence(decision: Decision) -> object:
    """What moves work; what is only noted beside it (labels of state, replicas that others ask for) is no decision."""
    return (
        decision.scheduled.shares,
        tuple(task.from_cluster for task in decision.failover.evictions),
        decision.scheduled.condition,
        decision.scheduled.affinity_name,
    )
