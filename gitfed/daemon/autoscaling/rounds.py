"""When FederatedHPAs look: every 15 seconds the clusters of their workloads are asked, beside the cycle.

What a look decides waits for the next build, which takes it over (`autoscaling.step`), and is written down before it is
carried out. Until the clusters have what was decided last, another look would count pods that are on their way: it is
left out, for `_SETTLES` at most. Recommendations live here, in memory: a new leader begins with the present number, so
that it never goes down sooner than the one before would have.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from gitfed.autoscaling import federated, stabilization
from gitfed.autoscaling.stabilization import Proposed
from gitfed.daemon.fleet.fleet import Fleet
from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.decisions import Decisions
from gitfed.model.declared.federated_hpa import FederatedHPA
from gitfed.model.load import ClusterLoad, Load, LoadQuestion
from gitfed.model.plan import Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.model.scaling import AutoscalerRecord, Scale

log = logging.getLogger("gitfed.autoscaling")

_SETTLES = timedelta(seconds=60)
_AT_ONCE = 50
"""Autoscalers whose numbers are worked out before others get a turn of the loop."""

Planned = tuple[RepoSnapshot, Plan, Decisions]


class Rounds:
    """Call `run` as a task; it ends when cancelled."""

    def __init__(
        self,
        fleet: Fleet,
        planned: Callable[[], Planned | None],
        now: Callable[[], datetime],
        wake: Callable[[], None],
        *,
        interval: float = 15.0,
    ) -> None:
        """`planned` None: there is no plan yet, or the state is not known. `wake` is called when a look is news."""
        self._fleet = fleet
        self._planned = planned
        self._now = now
        self._wake = wake
        self._interval = interval
        self._proposed: dict[ObjectKey, tuple[ObjectKey, tuple[Proposed, ...]]] = {}
        self._looks: dict[ObjectKey, AutoscalerRecord] = {}

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._interval)
            planned = self._planned()
            if planned is not None and planned[0].federated_autoscalers:
                await self._round(*planned)

    def take_over(self, decisions: Decisions) -> Mapping[ObjectKey, AutoscalerRecord]:
        """What the looks since the last build make of the records; each counts once."""
        looks, self._looks = self._looks, {}
        return looks if decisions.known else {}

    async def _round(self, repo: RepoSnapshot, plan: Plan, decisions: Decisions) -> None:
        declared = [autoscaler for autoscaler in repo.federated_autoscalers if autoscaler.target in plan.bindings]
        keys = {autoscaler.key for autoscaler in declared}
        self._proposed = {key: proposed for key, proposed in self._proposed.items() if key in keys}
        questions: dict[ClusterName, list[LoadQuestion]] = {}
        for autoscaler in declared:
            question = LoadQuestion(autoscaler.target, tuple(metric.as_json() for metric in autoscaler.metrics))
            for share in plan.bindings[autoscaler.target].scheduled.shares:
                questions.setdefault(share.cluster, []).append(question)
        seen = await self._fleet.load(questions)
        now = self._now()
        bounds = _bounds_by_clock(decisions)
        for count, autoscaler in enumerate(declared):
            binding = plan.bindings[autoscaler.target]
            load = Load(
                {
                    share.cluster: seen.get(share.cluster, {}).get(
                        autoscaler.target, ClusterLoad(unread="it did not answer")
                    )
                    for share in binding.scheduled.shares
                },
                now,
            )
            past, present = decisions.autoscalers.get(autoscaler.key), binding.scheduled.replicas
            shares = {share.cluster: share.replicas for share in binding.scheduled.shares}
            if present is None or _arrives(load, shares, past, now):
                continue
            self._look(autoscaler, federated.bounds(autoscaler, bounds.get(autoscaler.key)), present, load, past)
            if count % _AT_ONCE == _AT_ONCE - 1:
                await asyncio.sleep(0)
        if self._looks:
            self._wake()

    def _look(
        self,
        declared: FederatedHPA,
        bounds: stabilization.Bounds,
        present: int,
        load: Load,
        past: AutoscalerRecord | None,
    ) -> None:
        target, proposed = self._proposed.get(declared.key, (declared.target, ()))
        observation = federated.look(
            declared, bounds, present, load, past, proposed if target == declared.target else ()
        )
        self._proposed[declared.key] = (declared.target, observation.proposed)
        record = federated.record(declared, past, observation, load.taken)
        if record is not past:
            self._looks[declared.key] = record
            if observation.desired != present:
                log.info(
                    "an autoscaler decides",
                    extra={
                        "autoscaler": str(declared.key),
                        "from": present,
                        "to": observation.desired,
                        "why": observation.why,
                    },
                )


def _bounds_by_clock(decisions: Decisions) -> dict[ObjectKey, Scale]:
    """What CronFederatedHPAs decided about bounds, by FederatedHPA."""
    return {
        record.target: record.decided
        for record in decisions.autoscalers.values()
        if record.decided is not None and record.decided.replicas is None
    }


def _arrives(
    load: Load, shares: Mapping[ClusterName, int | None], past: AutoscalerRecord | None, now: datetime
) -> bool:
    """Whether what was decided last is still on its way to a cluster."""
    if past is None or past.decided is None or past.decided.at is None or past.decided.at < now - _SETTLES:
        return False
    return any(
        not cluster_load.unread and cluster_load.replicas != shares[name]
        for name, cluster_load in load.clusters.items()
    )
