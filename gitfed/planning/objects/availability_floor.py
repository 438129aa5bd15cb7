"""Moves with a floor: replicas are taken away in one cluster when those that replace them run in another.

When a divided workload's division changes, some clusters get more and some get less, or nothing any more. Those that
get less keep, whatever else of the manifest changes, as many as it takes that the whole fleet runs no fewer than it
does now, or than it is to run in the end, whichever is less. A cluster that stays keeps them rather than one that is
left. All of it is read from what is there: the inventory's replica numbers, health, and what copies report.

A copy that every cluster has whole (Duplicated) stands in for no other one, so its number changes at once; one that
moves is kept until the others are healthy (`prune.unwanted`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from gitfed.interpret.registry import Interpretation, Interpreter
from gitfed.model.base import ClusterName, Digest
from gitfed.model.fleet import Health, LiveObject
from gitfed.model.plan import Binding, RenderedManifest
from gitfed.model.reason import Reason, ReasonCode
from gitfed.planning.objects import diff
from gitfed.text import canonical

_REPLICAS = ("spec", "replicas")


class Floor:
    """What the copies of one workload keep until others run. Looked at when a copy is to get fewer, not before."""

    def __init__(
        self,
        binding: Binding,
        rendered: Sequence[RenderedManifest],
        copies: Mapping[ClusterName, LiveObject],
        interpreter: Interpreter,
        made: Callable[[RenderedManifest, ClusterName], RenderedManifest | None],
    ) -> None:
        """`made` gives the manifest itself of a class in a cluster, where `rendered` may be outlines; None: there is
        none."""
        self._binding, self._rendered, self._copies, self._interpreter = binding, rendered, copies, interpreter
        self._made = made
        # What runs to its end has no availability.
        self.applies = binding.terms.divided and binding.scheduled.replicas is not None and binding.key.kind != "Job"

    def hold(self, rendered: RenderedManifest, cluster: ClusterName) -> tuple[RenderedManifest, Reason] | None:
        """What to render in place of `rendered` while others have to take over first, and why; None: nothing is
        held."""
        live = self._copies.get(cluster)
        if not self.applies or rendered.replicas is None or _written(live) <= rendered.replicas:
            return None
        kept = self.kept.get(cluster, 0)
        if kept <= rendered.replicas:
            return None
        answer = self._interpreter.revise_replica(rendered.body, kept)
        if not isinstance(answer, Interpretation):
            kept = _written(live)
            answer = self._interpreter.revise_replica(rendered.body, kept)
        if not isinstance(answer, Interpretation):
            return None
        body = answer.value
        held = replace(rendered, body=body, digest=Digest(canonical.digest(body)), replicas=kept, clusters=(cluster,))
        return held, self.reason(kept)

    def kept_of(self, cluster: ClusterName) -> int | None:
        """How many replicas a copy keeps in a cluster that is left; None: it is not a matter of replicas."""
        if not self.applies or not _written(self._copies.get(cluster)):
            return None
        return self.kept.get(cluster, 0)

    def reason(self, kept: int) -> Reason:
        return Reason(ReasonCode.AVAILABILITY_FLOOR, str(kept), detail=", ".join(text for _, text in self.awaited))

    @cached_property
    def awaited(self) -> tuple[tuple[ClusterName, str], ...]:
        """Clusters that do not run all that they are to run, and what each has to reach."""
        waiting = []
        for name, wants in self._wants.items():
            live = self._copies.get(name)
            if _runs(live) < wants:
                waiting.append((name, f"{name} has {wants}" if _written(live) < wants else f"{name} runs {wants}"))
        return tuple(waiting)

    @cached_property
    def kept(self) -> Mapping[ClusterName, int]:
        """Clusters that keep more than they are to have in the end, and how many."""
        wants = self._wants
        runs = {name: _runs(self._copies.get(name)) for name in wants}
        staying = {name: runs[name] - wants[name] for name in self._giving()}
        # How a copy that leaves is does not matter: it is all that there was.
        leaving = {name: number for name in sorted(self._copies) if (number := self._leaves(name))}
        floor = min(sum(wants.values()), sum(runs.values()) + sum(leaving.values()))
        missing = floor - sum(min(number, runs[name]) for name, number in wants.items())
        kept = {}
        for name, spare in (*staying.items(), *leaving.items()):
            if missing > 0:
                extra = min(spare, missing)
                kept[name] = wants.get(name, 0) + extra
                missing -= extra
        return kept

    @cached_property
    def _wants(self) -> Mapping[ClusterName, int]:
        return {share.cluster: share.replicas for share in self._binding.scheduled.shares if share.replicas}

    def _giving(self) -> Iterator[ClusterName]:
        """Clusters that stay with fewer replicas than run there, where it is the division that says how many."""
        for rendered in self._rendered:
            for name in rendered.clusters:
                live = self._copies.get(name)
                if name not in self._wants or _runs(live) <= self._wants[name]:
                    continue
                exact = self._made(rendered, name)
                if exact is not None and self._divides(exact, _written(live)):
                    yield name

    def _divides(self, rendered: RenderedManifest, written: int) -> bool:
        """What the division does not decide (an override, an autoscaler, a rule without replicas) it does not hold."""
        if rendered.replicas is None or _REPLICAS in diff.ignored_pointers(rendered.body, rendered.body):
            return False
        same, more = (
            self._interpreter.revise_replica(rendered.body, number) for number in (rendered.replicas, written)
        )
        if not isinstance(same, Interpretation) or not isinstance(more, Interpretation):
            return False
        return same.value == rendered.body != more.value

    def _leaves(self, cluster: ClusterName) -> int:
        """Replicas of a copy in a cluster that is left; what an eviction takes away is not counted on."""
        live, decision = self._copies[cluster], self._binding.decision
        if cluster in self._wants or live.health is Health.TERMINATING:
            return 0
        if any(task.from_cluster == cluster for task in self._binding.evictions):
            return 0
        if decision is not None and cluster in decision.failover.released:
            return 0
        return _written(live)


def _written(live: LiveObject | None) -> int:
    """Replicas that we gave a copy, by the inventory."""
    if live is None or not live.ours or live.entry is None:
        return 0
    return live.entry.replicas or 0


def _runs(live: LiveObject | None) -> int:
    """Replicas of a copy that serve now, by what is known; 0 where nothing is.

    Of a copy that is not well those count that it reports: what does not run is removed first by its controller.
    """
    written = _written(live)
    if live is None or not written or live.health is Health.CURRENT:
        return written
    status = live.status or (live.body or {}).get("status") or {}
    count = status.get("availableReplicas")
    return min(count, written) if isinstance(count, int) and live.health is not Health.TERMINATING else 0
