"""Status back, kept up to date: computed for what changed, said when it turns, recorded at a slow rate.

Clusters tell of every Pod that starts. So a status is computed again only for objects that a cluster or a roll-out
touched since the last cycle; a log line is written when a binding becomes applied, stops being applied, or its health
turns, never for numbers; and the state branch gets the present picture together with the commit that says a roll-out
is over, otherwise not more often than every five minutes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime, timedelta

from gitfed.daemon.fleet.fleet import Fleet
from gitfed.documents.bindings import time_text
from gitfed.interpret.registry import Interpreter
from gitfed.model.base import Body, ClusterName, ObjectKey
from gitfed.model.decisions import Decision
from gitfed.model.plan import Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.model.status import BindingStatus
from gitfed.planning import status
from gitfed.planning.objects import compare

log = logging.getLogger("gitfed.status")

EVERY = timedelta(minutes=5)
"""Between two state commits that say nothing but how the copies are."""


_COPIES = 20_000
"""Copies looked at in one cycle."""
_FEW = 5_000
"""Changes up to which every one of them is looked at in every cycle."""


class Statuses:
    """The status of every binding of the present plan."""

    def __init__(self, fleet: Fleet, now: Callable[[], datetime]) -> None:
        self._fleet = fleet
        self._now = now
        self._known: dict[ObjectKey, BindingStatus] = {}
        self._plan: Plan | None = None
        self._recorded_at: datetime | None = None
        self._recorded: Mapping[ObjectKey, Body] = {}
        self._news: set[ObjectKey] = set()
        """Bindings of which something is known that was not recorded."""
        self._unfinished: set[ObjectKey] = set()
        self._early: set[ObjectKey] = set()
        """Bindings with a copy in a cluster that is about to be read."""
        self._collected: status.Memory = {}
        self._pending: set[ObjectKey] = set()
        """Bindings to be looked at the next time."""
        self._sick: dict[ObjectKey, datetime] = {}
        """Bindings with a copy that is not healthy, since when, as far as this process knows."""
        self._late: set[ObjectKey] = set()
        """Of those the ones that were said to be late."""

    def loaded(self, recorded: Mapping[ObjectKey, Body]) -> None:
        """What an earlier process wrote down: a restart repeats no log line."""
        self._recorded = recorded

    async def update(
        self, plan: Plan, repo: RepoSnapshot, interpreter: Interpreter, starting: Collection[ClusterName]
    ) -> bool:
        """Take in a new plan and what the clusters told since the last one; whether something is left for next time.
        `starting`: clusters that the plan was made without, and that are about to be read.

        One call looks at so many copies and no more: a cycle in which a person waits must not stop for a census.
        """
        touched = self._fleet.take_touched()
        if self._plan is None or plan.bindings.keys() != self._plan.bindings.keys():
            self._known = {key: binding_status for key, binding_status in self._known.items() if key in plan.bindings}
            self._collected = {key: collected for key, collected in self._collected.items() if key in plan.bindings}
            self._early &= plan.bindings.keys()
        before, self._plan = self._plan, plan
        changes = plan.changes or ()
        previous = before.bindings if before is not None else {}
        keys = {key for key, binding in plan.bindings.items() if previous.get(key) is not binding}
        keys |= {key for key in (*touched, *self._unfinished, *self._pending) if key in plan.bindings}
        if len(changes) <= _FEW:  # an order or a gate may hold what no cluster told of
            keys |= {change.key for change in changes if change.key in plan.bindings}
        keys, self._pending = _within(keys, plan)
        left = status.outstanding(change for change in changes if change.key in keys)
        clusters = self._fleet.known()
        failed: set[ObjectKey] = set()
        queries: list[status.StatusQuery] = []
        for key in keys:
            reasons = dict(left.get(key, {}))
            for name in reasons:
                if message := self._fleet.unfinished.why_failed(name, key):
                    reasons[name] = message
                    failed.add(key)
                elif reasons[name].startswith(compare.TAKEN):
                    failed.add(key)
            manifest = repo.manifests.get(key)
            template = manifest.body if manifest else None
            queries.append(status.StatusQuery(plan.bindings[key], template, self._fleet.copies(key), reasons))
        now = time_text(self._now())
        # Scripts may be asked: not in the loop.
        statuses = await asyncio.to_thread(lambda: status.of_all(queries, clusters, interpreter, now, self._collected))
        for binding, _, copies, _ in queries:
            for cluster, collected in self._collected.get(binding.key, {}).items():
                if cluster in copies:
                    self._fleet.judge(cluster, binding.key, collected[1])
        self._unfinished = {binding_status.key for binding_status in statuses if _asks_again(binding_status)}
        self._early -= {binding_status.key for binding_status in statuses}
        self._early |= {
            binding_status.key
            for binding_status in statuses
            if not binding_status.fully_applied.status and _is_in(binding_status, starting)
        }
        self._time(statuses, repo.settings.spec.sync.health_timeout)
        for new in statuses:
            old, self._known[new.key] = self._known.get(new.key), new
            if old == new:
                continue
            self._news.add(new.key)
            if plan.bindings[new.key].decision is not None:  # a Namespace has no record to compare with
                self._say(new, old, failed=new.key in failed)
        return bool(self._pending)

    def _time(self, statuses: Iterable[BindingStatus], timeout: timedelta) -> None:
        """Say once of every binding that it did not become healthy in time (`sync.healthTimeout`)."""
        now = self._now()
        for binding_status in statuses:
            if _healthy(copy.health for copy in binding_status.copies) is False:
                self._sick.setdefault(binding_status.key, now)
            else:
                self._sick.pop(binding_status.key, None)
                self._late.discard(binding_status.key)
        for key, since in list(self._sick.items()):
            if self._plan is None or key not in self._plan.bindings:
                del self._sick[key]
            elif now - since >= timeout and key not in self._late:
                self._late.add(key)
                log.warning("binding not healthy in time", extra={"object": str(key), "since": time_text(since)})

    def get(self, key: ObjectKey) -> BindingStatus | None:
        return self._known.get(key)

    def to_record(self, bindings: Mapping[ObjectKey, Decision], *, at_once: bool) -> Mapping[ObjectKey, Body] | None:
        """What the state branch should say of these bindings; None: it says so already, or it is too early.

        Of a binding with a copy in a cluster that is about to be read nothing is known yet: what was said of it stands.
        `at_once`: something else is being written anyway.
        """
        now = self._now()
        if not at_once and self._recorded_at is not None and now - self._recorded_at < EVERY:
            return None
        self._recorded_at = now
        present = {key: recorded for key, recorded in self._recorded.items() if key in bindings}
        settled = (key for key in self._news - self._early if key in bindings and key in self._known)
        news = {key: self._known[key].as_json() for key in settled}
        self._news &= self._early
        if {**present, **news} == self._recorded:
            return None
        self._recorded = {**present, **news}
        return self._recorded

    def _say(self, new: BindingStatus, old: BindingStatus | None, *, failed: bool) -> None:
        was_applied, was_healthy = _before(old, self._recorded.get(new.key))
        keys = {"object": str(new.key), "copies": len(new.copies)}
        applied = new.fully_applied
        if applied.status and was_applied is not True:
            log.info("binding applied", extra={**keys, "reason": applied.reason})
        elif not applied.status and failed and (old is None or old.fully_applied != applied):
            log.warning("binding not applied", extra={**keys, "reason": applied.reason, "error": applied.message})
        healthy = _healthy(copy.health for copy in new.copies)
        if healthy is False and was_healthy is True and applied.status:
            # No warning: every roll-out passes through this. One that stays there is late (`_time`).
            sick = next(copy for copy in new.copies if copy.health == "Unhealthy")
            log.info("binding not healthy", extra={**keys, "cluster": sick.cluster, "error": sick.health_message})
        elif healthy is True and was_healthy is False:
            log.info("binding healthy again", extra=keys)


def _before(old: BindingStatus | None, recorded: Body | None) -> tuple[bool | None, bool | None]:
    """(was it applied, was it healthy); None: not known."""
    if old is not None:
        return old.fully_applied.status, _healthy(copy.health for copy in old.copies)
    if recorded is None:
        return None, None
    conditions = recorded.get("conditions") or ()
    applied = any(
        condition.get("type") == "FullyApplied" and condition.get("status") == "True" for condition in conditions
    )
    return applied, _healthy(str(item.get("health")) for item in recorded.get("aggregatedStatus") or ())


def _asks_again(binding_status: BindingStatus) -> bool:
    """Whether more may be known the next time without anything happening in a cluster: webhooks answer later."""
    return (
        not binding_status.fully_applied.status
        or bool(binding_status.error)
        or any(copy.health == "Unknown" for copy in binding_status.copies)
    )


def _is_in(binding_status: BindingStatus, clusters: Collection[ClusterName]) -> bool:
    return any(copy.cluster in clusters for copy in binding_status.copies)


def _healthy(words: Iterable[str]) -> bool | None:
    states = set(words)
    return False if "Unhealthy" in states else None if "Unknown" in states else True


def _within(keys: set[ObjectKey], plan: Plan) -> tuple[set[ObjectKey], set[ObjectKey]]:
    """(what is looked at now, what is left)"""
    chosen: set[ObjectKey] = set()
    copies = 0
    for key in keys:
        copies += 1 + len(plan.bindings[key].scheduled.shares)
        if copies > _COPIES and chosen:
            break
        chosen.add(key)
    return chosen, keys - chosen
