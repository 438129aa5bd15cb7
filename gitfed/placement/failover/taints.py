"""From what clusters say of themselves to their taints, with times: the first half of a failover.

A cluster that is not ready is closed for new work at once (`placement.scheduling.cluster`). When it has not been ready
for `failover.evictionTimeout`, it gets the taint NoExecute here, and `eviction` says when work leaves because of it.
Three things set such taints: this timeout, a person's Cluster file, and ClusterTaintPolicies (Karmada: failover §2.2,
§2.3).

Many clusters lost at once means that *we* are cut off: above `maxUnreachablePercent` nothing is added here and nothing
is evicted from clusters that are not ready, and when it is over the timers of those that are still away begin anew.

Times come from records, not from the process: whoever takes over goes on where the other one was. A time that lies in
the future (the clock went back) counts as now, so that work moves later rather than sooner.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

from gitfed.model.base import ClusterName
from gitfed.model.decisions import ClusterRecord, Decisions, Outage, TimedTaint
from gitfed.model.fleet import ClusterCondition, ClusterFacts, Reach
from gitfed.model.keys import NOT_READY, UNREACHABLE
from gitfed.placement.scheduling import affinity
from gitfed.placement.scheduling.cluster import Candidate
from gitfed.text import moment
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.model.declared.cluster import Cluster
    from gitfed.model.declared.federation import Federation
    from gitfed.model.declared.policy import ClusterTaintPolicy, ConditionMatch
    from gitfed.model.repo import RepoSnapshot

NO_EXECUTE = "NoExecute"
FAILOVER = "failover"
DECLARED = "Cluster"
_LONGEST = 200
"""Characters of an error that are recorded."""
_KEYS = {Reach.NOT_READY: NOT_READY, Reach.UNKNOWN: UNREACHABLE}


@dataclass(frozen=True, slots=True)
class Tainted:
    """What is known of clusters now."""

    records: Mapping[ClusterName, ClusterRecord]
    """The same object as before where nothing changed."""
    outage: Outage | None
    cut_off: bool
    """Whether nothing may be evicted from clusters that are not ready."""
    said: tuple[str, ...] = ()
    """What changed, as sentences."""
    eased: frozenset[str] = frozenset()
    """Those of `said` by which something ends that kept work away."""
    look_again: datetime | None = None


def of(
    repo: RepoSnapshot,
    facts: Mapping[ClusterName, ClusterFacts],
    candidates: Mapping[ClusterName, Candidate],
    decisions: Decisions,
    now: datetime,
) -> Tainted:
    """The clusters' records at `now`; `decisions` have those of before. A cluster that nobody ever looked at keeps its
    record; one without a declaration has none."""
    said: list[str] = []
    settings, before = repo.settings, decisions.clusters
    cut_off, outage = _guard(candidates, facts, decisions.outage, settings, now, said)
    eased = set() if cut_off else set(said)
    active = settings.spec.failover.enabled and settings.gate("Failover")
    failover = _Failover(outage, settings.spec.failover.eviction_timeout, now, active=active, cut_off=cut_off)
    rules = _Rules(repo.taint_policies if settings.gate("Failover") else ())
    records: dict[ClusterName, ClusterRecord] = {}
    later: list[datetime] = []
    for name, candidate in candidates.items():
        seen, recorded = facts.get(name), before.get(name)
        record = _looked_at(name, seen, recorded, now)
        if record is None:
            continue
        if recorded.reach is not record.reach if recorded is not None else record.reach is not Reach.READY:
            said.append(_reach_said(record))
            if record.reach is Reach.READY:
                eased.add(said[-1])
        taints = {(taint.key, taint.effect): _not_later(taint, now) for taint in record.taints}
        _declared(taints, _written(repo.clusters.get(name), seen), now)
        due = failover.apply(taints, record)
        if due is not None:
            later.append(due)
        if seen is not None:
            rules.apply(taints, candidate, seen.conditions, now)
        gained, lost = _taints_said(name, record.taints, taints.values())
        said += [*gained, *lost]
        eased.update(lost)
        record = replace(record, taints=tuple(sorted(taints.values())))
        records[name] = recorded if recorded == record and recorded is not None else record
    return Tainted(records, outage, cut_off, tuple(said), frozenset(eased), min(later, default=None))


def effective(taint: TimedTaint, record: ClusterRecord, outage: Outage | None) -> TimedTaint:
    """The taint as tolerations see it: its time does not run on for a cluster that may only have been cut off."""
    if record.reach is Reach.READY or outage is None or outage.ended is None or outage.ended <= taint.added:
        return taint
    return replace(taint, added=outage.ended)


def _looked_at(
    name: ClusterName, seen: ClusterFacts | None, recorded: ClusterRecord | None, now: datetime
) -> ClusterRecord | None:
    """Reach and since when, with the taints of the record. None: nothing was ever found out."""
    ready = (
        next((condition for condition in seen.conditions if condition.type == "Ready"), None)
        if seen is not None
        else None
    )
    if seen is None or (seen.reach is Reach.UNKNOWN and ready is None):
        return recorded
    if seen.assumed:
        return recorded
    reason = _reason(ready) if seen.reach is not Reach.READY else ""
    if recorded is not None and (recorded.reach is Reach.READY) == (seen.reach is Reach.READY):
        # The words of an error may be other ones at every look: what it was when it began is kept.
        reason = recorded.reason if recorded.reach is seen.reach else reason
        return replace(recorded, reach=seen.reach, since=min(recorded.since, now), reason=reason)
    since = ready.last_transition if ready is not None and ready.last_transition is not None else now
    if recorded is not None:
        since = max(since, recorded.since)  # a condition is no older than what it replaced
    return ClusterRecord(
        name,
        seen.reach,
        min(since.replace(microsecond=0), now),
        reason,
        recorded.taints if recorded is not None else (),
    )


def _reason(ready: ClusterCondition | None) -> str:
    if ready is None:
        return ""
    message = " ".join(ready.message.split())  # an API server that starts says what is ready on twenty lines
    message = message if len(message) <= _LONGEST else message[: _LONGEST - 1] + "…"
    return f"{ready.reason}: {message}" if message else ready.reason


def _guard(
    candidates: Mapping[ClusterName, Candidate],
    facts: Mapping[ClusterName, ClusterFacts],
    outage: Outage | None,
    settings: Federation,
    now: datetime,
    said: list[str],
) -> tuple[bool, Outage | None]:
    away = [name for name in candidates if name in facts and facts[name].reach is not Reach.READY]
    limit = settings.spec.failover.max_unreachable_percent
    cut_off = bool(candidates) and 100 * len(away) > limit * len(candidates)
    if outage is not None and outage.since > now:
        outage = replace(outage, since=now)
    if outage is not None and outage.ended is not None and outage.ended > now:
        outage = replace(outage, ended=now)
    running = outage is not None and outage.ended is None
    if cut_off and not running:
        said.append(
            f"{len(away)} of {len(candidates)} clusters are not ready, more than {limit}%: we are probably cut off, "
            "nothing is evicted from them"
        )
        return True, Outage(now)
    if not cut_off and running:
        assert outage is not None
        said.append(
            f"{len(away)} of {len(candidates)} clusters are not ready, at most {limit}%: evictions are possible again"
        )
        return False, replace(outage, ended=now)
    if not cut_off and not away and outage is not None:
        return False, None  # everything is back: there is no timer left that it could matter to
    return cut_off, outage


@dataclass(frozen=True, slots=True)
class _Failover:
    """The taint of clusters that are not ready for long."""

    outage: Outage | None
    timeout: timedelta
    now: datetime
    active: bool
    cut_off: bool

    def apply(self, taints: dict[tuple[str, str], TimedTaint], record: ClusterRecord) -> datetime | None:
        """Add, move or remove the taint of a cluster that is not ready; when one will be due that is not yet."""
        key, outage = _KEYS.get(record.reach), self.outage
        ours = {place: taint for place, taint in taints.items() if taint.by == FAILOVER}
        for place, taint in ours.items():
            if key is None or not self.active:
                del taints[place]
            elif taint.key != key:
                # Still not ready, said in another way: how long work is tolerated there does not begin anew.
                del taints[place]
                taints.setdefault((key, NO_EXECUTE), replace(taint, key=key))
        if key is None or not self.active or self.cut_off or (key, NO_EXECUTE) in taints:
            return None
        since = record.since if outage is None or outage.ended is None else max(record.since, outage.ended)
        due = since + self.timeout
        if self.now < due:
            return due
        taints[key, NO_EXECUTE] = TimedTaint(key, NO_EXECUTE, "", self.now, FAILOVER)
        return None


_Written: TypeAlias = tuple[str, str, str | None]
"""(key, value, timeAdded) of a NoExecute taint as somebody wrote it."""


def _written(cluster: Cluster | None, seen: ClusterFacts | None) -> list[_Written]:
    """Of the cluster's file, or of the facts for one that only they declare."""
    if cluster is not None:
        return [
            (taint.key, taint.value, taint.time_added)
            for taint in cluster.spec.taints or ()
            if taint.effect == NO_EXECUTE
        ]
    spec = ((seen.declared if seen is not None else None) or {}).get("spec") or {}
    return [
        (taint["key"], taint.get("value") or "", taint.get("timeAdded"))
        for taint in spec.get("taints") or ()
        if taint.get("effect") == NO_EXECUTE
    ]


def _declared(taints: dict[tuple[str, str], TimedTaint], written: Sequence[_Written], now: datetime) -> None:
    """What a person wrote has the time of its file, else of the moment we first read it."""
    wanted = {(key, NO_EXECUTE): (value, _time(added)) for key, value, added in written}
    for place in [place for place, taint in taints.items() if taint.by == DECLARED and place not in wanted]:
        del taints[place]
    for place, (value, added) in wanted.items():
        recorded = taints.get(place)
        ours = recorded is not None and recorded.by == DECLARED
        if recorded is None or not ours or recorded.value != value or added is not None:
            since = added or (recorded.added if recorded is not None and ours else now)
            taints[place] = TimedTaint(*place, value, min(since, now), DECLARED)


def _time(text: str | None) -> datetime | None:
    when = moment.read(text)
    return when.replace(microsecond=0) if when is not None else None


def _not_later(taint: TimedTaint, now: datetime) -> TimedTaint:
    return replace(taint, added=now) if taint.added > now else taint


class _Rules:
    """ClusterTaintPolicies, ready to be asked. In a commit they have no order of creation: their names give it."""

    def __init__(self, policies: Iterable[ClusterTaintPolicy]) -> None:
        self._policies = [
            (policy, affinity.compile(policy.spec.target_clusters))
            for policy in sorted(policies, key=lambda policy: policy.metadata.name)
        ]

    def apply(
        self,
        taints: dict[tuple[str, str], TimedTaint],
        candidate: Candidate,
        conditions: Sequence[ClusterCondition],
        now: datetime,
    ) -> None:
        """Each adds, then removes, by key and effect. What is there keeps its value; what a person declared, and what
        the timeout set, is not theirs to remove. A policy that goes away leaves what it set."""
        statuses = {condition.type: condition.status for condition in conditions}
        for policy, targets in self._policies:
            if not targets(candidate):
                continue
            adds = _all_hold(policy.spec.add_on_conditions, statuses)
            removes = _all_hold(policy.spec.remove_on_conditions, statuses)
            for taint in policy.spec.taints:
                place = (taint.key, taint.effect)
                if adds and place not in taints:
                    by = f"{policy.kind}/{policy.metadata.name}"
                    taints[place] = TimedTaint(taint.key, taint.effect, taint.value, now, by)
                if removes and place in taints and taints[place].by not in (FAILOVER, DECLARED):
                    del taints[place]


def _all_hold(conditions: Sequence[ConditionMatch], statuses: Mapping[str, str]) -> bool:
    """An empty list never holds; a condition that the cluster does not report neither, NotIn included."""
    return bool(conditions) and all(
        match.condition_type in statuses
        and (statuses[match.condition_type] in match.status_values) is (match.operator == "In")
        for match in conditions
    )


def _reach_said(record: ClusterRecord) -> str:
    since = record.since.isoformat(timespec="seconds").replace("+00:00", "Z")
    if record.reach is Reach.READY:
        return f"cluster {record.name} is ready again since {since}"
    words = "does not answer" if record.reach is Reach.UNKNOWN else "is not ready"
    return f"cluster {record.name} {words} since {since}" + (f" ({record.reason})" if record.reason else "")


def _taints_said(
    name: ClusterName, before: Iterable[TimedTaint], after: Iterable[TimedTaint]
) -> tuple[list[str], list[str]]:
    """(taints that it gets, taints that it loses)"""
    old = {(taint.key, taint.effect): taint for taint in before}
    new = {(taint.key, taint.effect): taint for taint in after}
    gained, lost = sorted(new.keys() - old.keys()), sorted(old.keys() - new.keys())
    return (
        [f"cluster {name} gets the taint {new[place]} ({new[place].by})" for place in gained],
        [f"cluster {name} loses the taint {old[place]} ({old[place].by})" for place in lost],
    )
