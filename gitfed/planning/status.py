"""Status back: what has become of a template's copies (Karmada: policies §6.3, §6.4).

Applied is what Karmada calls it, and here it follows from the plan: a copy is applied when the cluster holds it and
nothing is left to be done about it. A copy that could not be written says why, with the cluster's words if the daemon
has tried, and how the one that is there does. A cluster that cannot be read keeps what was known of its copies, with
health Unknown.

Nothing here is a decision: it is read by people, by the state branch and by the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from gitfed.interpret import collect
from gitfed.interpret.registry import Interpreter, Operation, OperationInputs, Unknown
from gitfed.model.base import Body, ClusterName, ObjectKey
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import ClusterLive, LiveObject, LiveState
from gitfed.model.plan import Action, Binding, Change, Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.model.status import BindingStatus, CopyStatus, FullyApplied

_WRITES = (Action.CREATE, Action.UPDATE, Action.DELETE)
_OUTSTANDING = (Action.CREATE, Action.UPDATE, Action.SKIP)
_DONE = FullyApplied(True, "FullyAppliedSuccess", "every copy is applied")
Memory: TypeAlias = dict[ObjectKey, dict[ClusterName, tuple[object, collect.Collected]]]
"""What scripts said of a copy, and of which version of it."""
_NOWHERE = FullyApplied(False, "FullyAppliedFailed", "it is placed nowhere")


class StatusQuery(NamedTuple):
    """A binding whose status is asked for."""

    binding: Binding
    template: Body | None
    """Its manifest; None for an object that no file declares."""
    copies: Mapping[ClusterName, LiveObject]
    """What is in the clusters."""
    outstanding: Mapping[ClusterName, str]
    """Clusters where something is left to be done about it, each with the reason."""


def of_all(
    asked: Sequence[StatusQuery],
    clusters: Mapping[ClusterName, ClusterLive],
    interpreter: Interpreter,
    now: str,
    memory: Memory,
) -> list[BindingStatus]:
    """The status of bindings: what scripts have to be asked about, they are asked at once. `memory` keeps their answers
    from call to call; `now`: RFC 3339."""
    unknown = [
        live
        for _, _, copies, _ in asked
        for live in copies.values()
        if live.healthy is None and live.body is not None  # a script has a say
        if live.uid and _remembered(live, interpreter, memory) is None
    ]
    answers = collect.collect_all(interpreter, [live.body for live in unknown if live.body is not None])
    for live, answer in zip(unknown, answers, strict=True):
        _remember(live, interpreter, memory, answer)
    items = [_items(binding, copies, left, clusters, interpreter, memory) for binding, _, copies, left in asked]
    sums = [_sum(question[1], copies, interpreter, now) for question, copies in zip(asked, items, strict=True)]
    interpreter.prepare((Operation.AGGREGATE, inputs) for inputs in sums if inputs is not None)
    return [
        _status(binding.key, copies, sum_, interpreter)
        for (binding, *_), copies, sum_ in zip(asked, items, sums, strict=True)
    ]


def of_plan(
    plan: Plan,
    repo: RepoSnapshot,
    live: LiveState,
    interpreter: Interpreter,
    now: str,
    refused: Mapping[tuple[ClusterName, ObjectKey], str] = MappingProxyType({}),
) -> dict[ObjectKey, BindingStatus]:
    """The status of every binding of an observed plan. `refused`: of `refusals`."""
    left = outstanding(plan.changes or ())
    for (name, key), message in refused.items():
        left[key][name] = message
    asked = []
    for key, binding in plan.bindings.items():
        template = repo.manifests[key].body if key in repo.manifests else None
        asked.append(StatusQuery(binding, template, live.objects.get(key, {}), left.get(key, {})))
    return dict(zip(plan.bindings, of_all(asked, live.clusters, interpreter, now, {}), strict=True))


def outstanding(changes: Iterable[Change]) -> dict[ObjectKey, dict[ClusterName, str]]:
    """What is left to be done, by object and cluster, with the reason or the action's name."""
    reasons: dict[ObjectKey, dict[ClusterName, str]] = {}
    for change in changes:
        if change.action in _OUTSTANDING:
            reasons.setdefault(change.key, {})[change.cluster] = (
                change.turn.waits or str(change.reason) or f"to be {change.action.value}d"
            )
    return reasons


def refusals(plan: Plan, past: Decisions) -> dict[tuple[ClusterName, ObjectKey], str]:
    """What clusters answered the daemon to writes that are still to be done, by cluster and object: for who has tried
    none of them. Of another commit than the one that was rolled out last nobody has tried any."""
    messages: dict[tuple[ClusterName, ObjectKey], str] = {}
    for change in plan.changes or () if plan.commit == past.applied_commit else ():
        unfinished = past.unfinished.get(change.cluster, frozenset())
        if change.action in _WRITES and not change.turn.waits and (str(change.key) in unfinished or "*" in unfinished):
            items = past.statuses.get(change.key, {}).get("aggregatedStatus") or ()
            said = next((item.get("appliedMessage") for item in items if item.get("clusterName") == change.cluster), "")
            if said:
                messages[change.cluster, change.key] = str(said)
    return messages


def _items(
    binding: Binding,
    copies: Mapping[ClusterName, LiveObject],
    outstanding: Mapping[ClusterName, str],
    clusters: Mapping[ClusterName, ClusterLive],
    interpreter: Interpreter,
    memory: Memory,
) -> tuple[CopyStatus, ...]:
    """How each copy is; what is remembered of copies that are gone is forgotten."""
    remembered = memory.get(binding.key, {})
    for gone in remembered.keys() - copies.keys():
        del remembered[gone]

    def ask(live: LiveObject) -> collect.Collected:
        return collected(live, interpreter, memory)

    return tuple(
        _copy(binding.key, name, copies.get(name), outstanding.get(name), clusters.get(name), ask)
        for name in _expected(binding, copies)
    )


def _sum(
    template: Body | None, items: tuple[CopyStatus, ...], interpreter: Interpreter, now: str
) -> OperationInputs | None:
    """What the rule of the kind is asked that takes all copies together; None: there is no such rule."""
    if template is None or not interpreter.handles(template, Operation.AGGREGATE):
        return None
    return OperationInputs(collect.as_template(template), items=[_counted(item) for item in items], now=now)


def _counted(item: CopyStatus) -> Body:
    """What runs counts, of whatever version it is; one that is not applied has not caught up with its template."""
    document = item.as_json()
    if not item.applied and item.status is not None:
        document["status"] = {
            name: value for name, value in item.status.items() if name != "resourceTemplateGeneration"
        }
    return document


def _status(
    key: ObjectKey, items: tuple[CopyStatus, ...], asked: OperationInputs | None, interpreter: Interpreter
) -> BindingStatus:
    condition = _fully_applied(items)
    if asked is None:
        return BindingStatus(key, items, condition)
    answer = interpreter.aggregate_status(asked.object, asked.items, asked.now)
    if isinstance(answer, Unknown):
        return BindingStatus(key, items, condition, error=answer.reason)
    return BindingStatus(key, items, condition, status=answer.value.get("status"))


def _expected(binding: Binding, copies: Mapping[ClusterName, LiveObject]) -> list[ClusterName]:
    """Where a copy should be: its clusters, and those it is evicted from but kept in meanwhile. Orphans stay where they
    are."""
    names = set(binding.scheduled.clusters)
    if binding.scheduled.policy is None and not binding.attached and binding.decision is not None:
        names.update(name for name, copy in copies.items() if copy.ours and copy.uid)
    for task in binding.decision.failover.evictions if binding.decision else ():
        if task.raw.get("purgeMode") not in ("Directly", "Immediately"):
            names.add(task.from_cluster)
    return sorted(names)


def _copy(
    key: ObjectKey,
    name: ClusterName,
    live: LiveObject | None,
    reason: str | None,
    cluster: ClusterLive | None,
    ask: Callable[[LiveObject], collect.Collected],
) -> CopyStatus:
    if live is None or not live.uid:
        return CopyStatus(name, applied=False, message=reason or "is not there")
    if not (live.ours or key.kind == "Namespace"):
        return CopyStatus(name, applied=False, message=reason or "is there and not ours")
    # What is left to be done changes nothing about what runs: of the version before, as a rule.
    applied, answer = reason is None, ask(live)
    healthy, status = answer.healthy, answer.status
    if cluster is None or not cluster.inventory_read:
        return CopyStatus(name, applied, reason or "", health_message=cluster.error if cluster else "", status=status)
    health = "Unknown" if healthy is None else "Healthy" if healthy else "Unhealthy"
    return CopyStatus(name, applied, reason or "", health, answer.message or live.health_message, status)


def collected(
    live: LiveObject, interpreter: Interpreter, memory: Memory, earlier: Mapping[ObjectKey, Any] = MappingProxyType({})
) -> collect.Collected:
    """Health and status of a copy, asked of its kind's script if that has to be asked, once for each version.

    What is known by `earlier` is taken over: who gives a new memory every time remembers only what was asked last.
    """
    answer = _remembered(live, interpreter, memory) or _remembered(live, interpreter, earlier)
    if answer is None:
        assert live.body is not None
        answer = collect.collect(interpreter, live.body)
    _remember(live, interpreter, memory, answer)
    return answer


def _remembered(
    live: LiveObject, interpreter: Interpreter, memory: Mapping[ObjectKey, Any]
) -> collect.Collected | None:
    """None where a script has to be asked."""
    if live.healthy is not None or live.body is None:
        return collect.Collected(live.healthy, live.status)
    remembered = memory.get(live.key, {}).get(live.cluster)
    if remembered is not None and remembered[0] == _seen(live, interpreter) and _is_complete(remembered[1], live.body):
        answer: collect.Collected = remembered[1]
        return answer
    return None


def _remember(live: LiveObject, interpreter: Interpreter, memory: Memory, answer: collect.Collected) -> None:
    if live.healthy is None and live.body is not None:
        memory.setdefault(live.key, {})[live.cluster] = (_seen(live, interpreter), answer)


def _seen(live: LiveObject, interpreter: Interpreter) -> tuple[object, ...]:
    return live.uid, live.resource_version, interpreter


def _is_complete(answer: collect.Collected, body: Body) -> bool:
    """What is not known may be the next time: a webhook answers later."""
    return answer.healthy is not None and (answer.status is not None or body.get("status") is None)


def _fully_applied(items: tuple[CopyStatus, ...]) -> FullyApplied:
    if not items:
        return _NOWHERE
    missing = [item for item in items if not item.applied]
    if not missing:
        return _DONE
    first = missing[0]
    message = f"{len(items) - len(missing)} of {len(items)} copies are applied; {first.cluster}: {first.message}"
    return FullyApplied(False, "FullyAppliedFailed", message)
