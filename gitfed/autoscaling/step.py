"""★ What autoscalers decide: (what is declared, what is recorded, now) → numbers of replicas, and when to look again.

This is done before anything is placed: a workload whose number was decided is placed as if its template said that
number. The same step is taken by the daemon, by a plan in a pull request and by `gitfed simulate`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from datetime import datetime
from types import MappingProxyType

from gitfed.autoscaling import cron_rules
from gitfed.model.base import ObjectKey, Origin, Problem, Severity, group_of
from gitfed.model.declared.autoscaling import FEDERATED_HPA, CronFederatedHPA
from gitfed.model.declared.federated_hpa import FederatedHPA
from gitfed.model.repo import RepoSnapshot
from gitfed.model.scaling import AutoscalerRecord, ConditionReason, Scale
from gitfed.text.values import dataclass

WhyNot = Callable[[ObjectKey], str]
"""Why a template has no number of replicas that could be decided; "" when it has one."""


Autoscaler = CronFederatedHPA | FederatedHPA


@dataclass(frozen=True, slots=True)
class RecordedScaling:
    """What a step begins with."""

    records: Mapping[ObjectKey, AutoscalerRecord] = field(default_factory=lambda: MappingProxyType({}))
    looks: Mapping[ObjectKey, AutoscalerRecord] = field(default_factory=lambda: MappingProxyType({}))
    """What follows for FederatedHPAs from what was observed since (`federated.record`)."""
    known: bool = True
    """False: the state is not known, and nothing is decided beyond it."""


@dataclass(frozen=True, slots=True)
class ScalingStep:
    """A record that did not change is the same object, and so are all together."""

    records: Mapping[ObjectKey, AutoscalerRecord]
    totals: Mapping[ObjectKey, tuple[ObjectKey, Scale]] = field(default_factory=lambda: MappingProxyType({}))
    """Workload → who decided its number, and what."""
    said: tuple[str, ...] = ()
    """What was decided, as sentences for the record."""
    problems: tuple[Problem, ...] = ()
    look_again: datetime | None = None


def step(repo: RepoSnapshot, recorded: RecordedScaling, why_not: WhyNot, now: datetime) -> ScalingStep:
    """What follows from `now`."""
    records, is_recorded = recorded.records, recorded.known
    if not records and not repo.autoscalers:
        return ScalingStep(records)
    now = now.replace(microsecond=0)  # as it will be read back
    rivals = _rivals(repo)
    problems: list[Problem] = []
    after: dict[ObjectKey, AutoscalerRecord] = {}
    messages: list[str] = []
    for autoscaler in repo.cron_autoscalers:
        refused = _refused(autoscaler, repo, rivals, why_not)
        if refused is not None:
            problems.append(refused)
        past = records.get(autoscaler.key)
        record = cron_rules.advance(autoscaler, past, now, refused.message if refused else "") if is_recorded else past
        if record is not None:
            after[autoscaler.key] = record
            messages += _news(past, record, now)
    declared = {autoscaler.key for autoscaler in repo.federated_autoscalers}
    inner = _inner(repo) if repo.federated_autoscalers else {}
    for hpa in repo.federated_autoscalers:
        refused = _refused(hpa, repo, rivals, why_not) or _scaled_inside(hpa, inner)
        past = records.get(hpa.key)
        if past is not None and past.target != hpa.target:
            past = None  # another target begins with its own number
        record = past if refused or not is_recorded else recorded.looks.get(hpa.key, past)
        if record is not None and record.target == hpa.target:
            after[hpa.key] = record
            messages += _rescaled(past, record)
            refused = refused or _rival_told(hpa, record)
        if refused is not None:
            problems.append(refused)
    for key, record in records.items():
        if key not in after and key not in declared and (not is_recorded or repo.why_kept(key)):
            after[key] = record  # its file cannot be read: what it decided stands
        elif key not in after and (key not in declared or record.decided is not None):
            gone = "has another target" if key in declared else "is gone"
            messages.append(f"{key} {gone}: {record.target} gets what its template says")
    same = len(after) == len(records) and all(records.get(key) is record for key, record in after.items())
    later = [record.next for record in after.values() if record.next is not None] if is_recorded else []
    return ScalingStep(
        records if same else dict(sorted(after.items())),
        dict(_totals(after)),
        tuple(messages),
        tuple(problems),
        min(later, default=None),
    )


def _totals(records: Mapping[ObjectKey, AutoscalerRecord]) -> Iterator[tuple[ObjectKey, tuple[ObjectKey, Scale]]]:
    """Of two for one workload, which is refused, the one that decided last is in force."""
    decided = [
        (record.decided.at, key, record)
        for key, record in records.items()
        if record.decided is not None and record.decided.replicas is not None and record.decided.at is not None
    ]
    for _, key, record in sorted(decided, key=lambda entry: entry[:2]):
        assert record.decided is not None
        yield record.target, (key, record.decided)


def _rivals(repo: RepoSnapshot) -> Mapping[ObjectKey, list[Autoscaler]]:
    by_target: dict[ObjectKey, list[Autoscaler]] = {}
    for autoscaler in repo.autoscalers:
        by_target.setdefault(autoscaler.target, []).append(autoscaler)
    return {target: autoscalers for target, autoscalers in by_target.items() if len(autoscalers) > 1}


def _refused(
    declared: Autoscaler,
    repo: RepoSnapshot,
    rivals: Mapping[ObjectKey, list[Autoscaler]],
    why_not: WhyNot,
) -> Problem | None:
    """Why an autoscaler decides nothing; what was decided before stands."""
    target, origin = declared.target, declared.origin or Origin("")
    where = ("spec", "scaleTargetRef", "name")
    if target in rivals:
        others = " and ".join(f"{rival.key} ({rival.origin})" for rival in rivals[target] if rival is not declared)
        message = f"{declared.key}: {target} is scaled by {others} too: none of them decides any more"
        clocks = all(isinstance(rival, CronFederatedHPA) for rival in rivals[target])
        hint = "let one of them have all rules" if clocks else "a CronFederatedHPA can set the bounds of a FederatedHPA"
        return Problem(origin, message, hint, path=where)
    if (target.group, target.kind) == FEDERATED_HPA and any(
        autoscaler.key == target for autoscaler in repo.federated_autoscalers
    ):
        return None
    if target not in repo.manifests:
        unread = repo.why_kept(target)
        message = f"{declared.key}: there is no {target}" + (
            f", as far as files can be read: {unread}" if unread else ""
        )
        near = _near(target, repo) if not unread else ""
        return Problem(origin, message, near, Severity.WARNING if unread else Severity.ERROR, path=where)
    if why := why_not(target):
        return Problem(origin, f"{declared.key}: {target} {why}", "name what its copies run in", path=where)
    return None


def _inner(repo: RepoSnapshot) -> Mapping[ObjectKey, ObjectKey]:
    """Workload → a HorizontalPodAutoscaler of the repository that scales it inside of clusters."""
    inner: dict[ObjectKey, ObjectKey] = {}
    for key, manifest in repo.manifests.items():
        if (key.group, key.kind) == ("autoscaling", "HorizontalPodAutoscaler"):
            spec = manifest.body.get("spec")
            ref = spec.get("scaleTargetRef") if isinstance(spec, Mapping) else None
            if isinstance(ref, Mapping):
                group = group_of(str(ref.get("apiVersion") or ""))
                inner[ObjectKey(group, str(ref.get("kind")), key.namespace, str(ref.get("name")))] = key
    return inner


def _scaled_inside(declared: FederatedHPA, inner: Mapping[ObjectKey, ObjectKey]) -> Problem | None:
    """An autoscaler inside of clusters would undo what is divided, and the sum of both would never settle."""
    other = inner.get(declared.target)
    if other is None:
        return None
    message = f"{declared.key}: {declared.target} is scaled by {other} in its clusters too: it decides no more"
    return Problem(declared.origin or Origin(""), message, "keep one of them", path=("spec", "scaleTargetRef", "name"))


def _rival_told(declared: FederatedHPA, record: AutoscalerRecord) -> Problem | None:
    """The same of one that is in a cluster without being in the repository."""
    for condition in record.status.conditions if record.status is not None else ():
        if condition.reason is ConditionReason.SCALED_IN_CLUSTER:
            where = ("spec", "scaleTargetRef", "name")
            return Problem(
                declared.origin or Origin(""), f"{declared.key}: {condition.message}", "keep one of them", path=where
            )
    return None


def _rescaled(past: AutoscalerRecord | None, record: AutoscalerRecord) -> Iterator[str]:
    """A new number, or what else became of it."""
    if past is record or record.status is None:
        return
    decided = record.decided
    if decided is not None and (past is None or past.decided != decided):
        why = f": {decided.why}" if decided.why else ""
        yield f"{record.key} scales {record.target} from {record.status.current} to {decided.replicas}{why}"
        return
    told = ", ".join(
        f"{condition.type} {condition.holds} ({condition.reason})" for condition in record.status.conditions
    )
    yield f"{record.key} leaves {record.target} at {record.status.current}: {told}"


def _near(target: ObjectKey, repo: RepoSnapshot) -> str:
    """The object that may be meant: of another kind, or with a name that is nearly the same."""
    same_namespace = [key for key in repo.manifests if key.namespace == target.namespace]
    alike = [
        key
        for key in same_namespace
        if key.name == target.name and key.kind in (target.kind, "Deployment", "StatefulSet")
    ]
    if alike:
        return f"did you mean {alike[0]}?"
    elsewhere = [key for key in repo.manifests if key[:2] == target[:2] and key.name == target.name]
    if elsewhere:
        return f"it stands in the namespace {elsewhere[0].namespace}; an autoscaler scales what is in its own"
    return "nothing is scaled"


def _news(past: AutoscalerRecord | None, record: AutoscalerRecord, now: datetime) -> Iterator[str]:
    """What became of the rules since the last record."""
    if past is record:
        return
    before = {rule.name: rule for rule in past.rules} if past is not None else {}
    for rule in record.rules:
        earlier = before.get(rule.name)
        runs = [run for run in (*rule.successful, *rule.failed) if run.executed == now]
        new = [run for run in runs if earlier is None or run not in (*earlier.successful, *earlier.failed)]
        for run in sorted(new, key=lambda run: run.scheduled):
            if run.applied is not None:
                yield f"{record.key} ran {rule.name}: {record.target} gets {run.applied}"
            else:
                yield f"{record.key} did not run {rule.name} of {_text(run.scheduled)}: {run.message}"
        if rule.next is None:
            if earlier is None or earlier.next is not None:
                yield f"{record.key} does not run {rule.name}: it is suspended"
        elif not new and (earlier is None or earlier.next != rule.next):
            yield f"{record.key} runs {rule.name} at {_text(rule.next)}"


def _text(when: datetime) -> str:
    return when.isoformat().replace("+00:00", "Z")
