"""What a person should hear of the fleet, as it is now: conditions that hold, each until it holds no more.

A condition is read from the present, not from what happened: after a restart, or when another replica leads, the same
conditions are found again, and nothing has to have been watched. What was told of them is `outbox`'s knowledge.

Details name objects, gates, files and reasons. What an API server said of a Secret is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import field
from enum import StrEnum

from gitfed.model.base import ClusterName, Commit, ObjectKey, Problem, Severity
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import ClusterFacts, Reach
from gitfed.model.plan import Gate, Left, Plan
from gitfed.model.reason import ReasonCode
from gitfed.text import canonical
from gitfed.text.values import dataclass

_MOST_DETAILS = 10


class NotificationEvent(StrEnum):
    """As `spec.events` spells them; and what `gitfed notify --test` sends."""

    HELD = "held"
    REJECTED = "rejected"
    FAILED = "failed"
    PROBLEMS = "problems"
    UNREACHABLE = "unreachable"
    EVICTED = "evicted"
    APPLIED = "applied"
    TEST = "test"


_SEVERITY = {
    NotificationEvent.HELD: "warning",
    NotificationEvent.REJECTED: "error",
    NotificationEvent.FAILED: "error",
    NotificationEvent.PROBLEMS: "warning",
    NotificationEvent.UNREACHABLE: "error",
    NotificationEvent.EVICTED: "warning",
    NotificationEvent.APPLIED: "info",
    NotificationEvent.TEST: "info",
}


@dataclass(frozen=True, slots=True)
class FleetCondition:
    """One thing that is so."""

    event: NotificationEvent
    about: str
    """A gate, a cluster or a commit; "" where there is only one."""
    summary: str
    details: tuple[str, ...] = ()
    clusters: tuple[ClusterName, ...] = ()
    """Nothing: it concerns the fleet as a whole."""
    essence: str = ""
    """Another one makes it news again."""

    @property
    def key(self) -> str:
        return f"{self.event.value}/{self.about}"

    @property
    def severity(self) -> str:
        return _SEVERITY[self.event]


@dataclass(frozen=True, slots=True)
class Situation:
    """What conditions are read from."""

    federation: str
    plan: Plan
    decisions: Decisions
    facts: Mapping[ClusterName, ClusterFacts]
    """As believed; a cluster that nobody looked at yet is missing."""
    failures: Mapping[ClusterName, tuple[tuple[ObjectKey, str], ...]] = field(default_factory=dict)
    """Changes that an API server refused or that failed, with what it said."""
    rejected: tuple[Commit | None, str] | None = None
    """The newest commit, and why it is not acted upon."""
    applied: Commit | None = None
    """The commit that is everywhere, with nothing unfinished."""

    unread: Collection[ClusterName] = ()
    """Clusters whose objects cannot be read now."""

    @property
    def unknown(self) -> Collection[ClusterName]:
        """Of these nothing can be said to be over, or less than it was: nobody looked at them yet, they do not answer,
        or they did not when the plan was made."""
        facts = self.facts
        silent = {name for name in self.plan.clusters if name not in facts or facts[name].reach is Reach.UNKNOWN}
        unseen = {change.cluster for change in self.plan.changes or () if change.reason.code is ReasonCode.NOT_OBSERVED}
        return silent | unseen | set(self.unread)


def of(situation: Situation) -> dict[str, FleetCondition]:
    """By key."""
    holding = [
        *_held(situation.plan),
        *_rejected(situation),
        *_failed(situation),
        *_problems(situation.plan.problems),
        *_unreachable(situation),
        *_evicted(situation.decisions),
        *_applied(situation),
    ]
    return {condition.key: condition for condition in holding}


def _held(plan: Plan) -> Iterator[FleetCondition]:
    held = [gate for gate in plan.gates if gate.held]
    if not held:
        return
    clusters: dict[str, set[ClusterName]] = {}
    for change in plan.changes or ():
        if change.left is Left.GATE:
            clusters.setdefault(change.gate, set()).add(change.cluster)
    # A change names one gate, also where two hold it.
    anywhere = set[ClusterName]().union(*clusters.values())
    for gate in held:
        yield FleetCondition(
            NotificationEvent.HELD,
            gate.name,
            f"{_count(gate.held, 'change')} held by gate {gate.name}: {gate.value}, the limit is {gate.limit}",
            (_what_to_do(plan, gate),),
            tuple(sorted(clusters.get(gate.name, anywhere))),
            f"{gate.value}/{gate.limit}/{gate.held}",
        )


def _what_to_do(plan: Plan, gate: Gate) -> str:
    if not gate.consent:
        return "raise the quota, or ask for less"
    return f"commit {plan.commit[:12]}: revert it, or let it through: gitfed apply --confirm {plan.digest}"


def _rejected(situation: Situation) -> Iterator[FleetCondition]:
    if situation.rejected is not None:
        commit, why = situation.rejected
        name = commit[:12] if commit else "the newest"
        yield FleetCondition(NotificationEvent.REJECTED, name, f"commit {name} is not acted upon: {why}", essence=why)


def _failed(situation: Situation) -> Iterator[FleetCondition]:
    for cluster, failures in situation.failures.items():
        if failures:
            lines = [f"{key}: {message}" if key.kind != "Secret" else str(key) for key, message in failures]
            yield FleetCondition(
                NotificationEvent.FAILED,
                cluster,
                f"{_count(len(failures), 'object')} could not be written to {cluster}",
                _some(lines),
                (cluster,),
            )


def _problems(problems: Collection[Problem]) -> Iterator[FleetCondition]:
    wrong = [problem for problem in problems if problem.severity is Severity.ERROR]
    if wrong:
        files = {problem.origin.path for problem in wrong}
        lines = [str(problem) for problem in wrong]
        yield FleetCondition(
            NotificationEvent.PROBLEMS,
            "",
            f"{_count(len(wrong), 'problem')} in {_count(len(files), 'file')}: they count with their last good version",
            _some(lines),
            essence=canonical.digest(sorted(lines)),
        )


def _unreachable(situation: Situation) -> Iterator[FleetCondition]:
    for cluster in situation.plan.clusters:
        facts = situation.facts.get(cluster)
        if facts is not None and not facts.assumed and facts.reach is not Reach.READY:
            says = [
                condition.message for condition in facts.conditions if condition.type == "Ready" and condition.message
            ]
            what = "does not answer" if facts.reach is Reach.UNKNOWN else "answers, and is not ready"
            yield FleetCondition(
                NotificationEvent.UNREACHABLE,
                cluster,
                f"cluster {cluster} {what}",
                _some(says),
                (cluster,),
                facts.reach.value,
            )


def _evicted(decisions: Decisions) -> Iterator[FleetCondition]:
    leaving: dict[ClusterName, list[str]] = {}
    for key, decision in decisions.bindings.items():
        for task in decision.failover.evictions:
            leaving.setdefault(task.from_cluster, []).append(f"{key} ({task.raw.get('reason') or 'evicted'})")
    for cluster, lines in sorted(leaving.items()):
        yield FleetCondition(
            NotificationEvent.EVICTED,
            cluster,
            f"{_count(len(lines), 'workload')} leaving cluster {cluster}",
            _some(sorted(lines)),
            (cluster,),
        )


def _applied(situation: Situation) -> Iterator[FleetCondition]:
    if situation.applied is not None:
        name = situation.applied[:12]
        clusters = _count(len(situation.plan.clusters), "cluster")
        yield FleetCondition(NotificationEvent.APPLIED, name, f"commit {name} is applied in {clusters}")


def _some(lines: Collection[str]) -> tuple[str, ...]:
    shown = tuple(list(lines)[:_MOST_DETAILS])
    return (*shown, f"and {len(lines) - len(shown)} more") if len(lines) > len(shown) else shown


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
