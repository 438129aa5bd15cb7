"""What happened to a binding between two versions of its record, in the words of Karmada's events.

Karmada writes events into its API server, where they are gone after an hour. Here the state branch is the record: each
commit holds the bindings as they became, so what happened follows from two versions that stand one after another, for
as long as the branch is kept. Only what a person reacts to is told: a placement, a refusal, an eviction, and a copy
that is written or cannot be. Numbers that go up and down are no event.

Reasons and types are the reference's (Karmada: policies §5.8): `ScheduleBindingSucceed`, `ScheduleBindingFailed`,
`EvictWorkloadFromClusterSucceed`, `SyncSucceed`, `SyncFailed`. Ours are `ChangesHeld` and `ChangesApproved`, for the
reference has no gates; `Suspended`, `Resumed` and `ReconcileOrdered`, which people order; `TemplateChanged` and
`TemplateRemoved`, of which commits tell; and `BindingRemoved`, when no copy is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gitfed.model import operator_orders
from gitfed.model.base import Body, Commit
from gitfed.model.plan import Left
from gitfed.text.values import dataclass

NORMAL, WARNING = "Normal", "Warning"


@dataclass(frozen=True, slots=True)
class BindingEvent:
    type: str
    """Normal or Warning, as in Kubernetes."""
    reason: str
    message: str
    cluster: str = ""
    """"": it concerns the binding as a whole."""


def between(before: Body | None, after: Body | None) -> Iterator[BindingEvent]:
    """What happened, in the order in which it matters. The documents are ResourceBindings; None: there is no record."""
    if after is None:
        if before is not None:
            yield BindingEvent(NORMAL, "BindingRemoved", "gone from every cluster")
        return
    before = before or {}
    yield from _scheduled(before, after)
    yield from _evicted(before, after)
    yield from _synced(before, after)


def template_between(before: Body | None, after: Body | None, commit: Commit) -> BindingEvent | None:
    """What a commit that was rolled out did to a template: which image, or that something else differs."""
    if before is None or before == after:
        return None  # a new one is placed, which is told
    if after is None:
        return BindingEvent(NORMAL, "TemplateRemoved", f"{commit[:7]} has it no more")
    old, new = dict(_images(before)), dict(_images(after))
    images = [f"{name} {old[name]} → {image}" for name, image in new.items() if old.get(name, image) != image]
    return BindingEvent(NORMAL, "TemplateChanged", f"by {commit[:7]}{': ' if images else ''}{', '.join(images)}")


def _images(body: Body) -> Iterator[tuple[str, str]]:
    """(container, image) of a pod template, wherever in a kind that stands."""
    todo: list[Any] = [body.get("spec")]
    while todo:
        value = todo.pop()
        if isinstance(value, Mapping):
            for member in ("initContainers", "containers"):
                listed = value.get(member)
                for item in listed if isinstance(listed, list) else ():
                    if isinstance(item, Mapping) and item.get("image"):
                        yield str(item.get("name")), str(item["image"])
            todo += [value.get(member) for member in ("jobTemplate", "spec", "template")]


def held_between(before: Body | None, after: Body | None) -> Iterator[BindingEvent]:
    """What began to be held in clusters, and by what. The documents are `state.yaml`, which counts it by cluster."""
    old, new = (_mapping(_mapping(side).get("clusters")) for side in (before, after))
    for name, result in sorted(new.items()):
        held, was = (_mapping(_mapping(side).get("held")) for side in (result, old.get(name)))
        if held and held != was:
            by = ", ".join(f"{count} {holder_in_words(str(holder))}" for holder, count in sorted(held.items()))
            yield BindingEvent(WARNING, "ChangesHeld", f"held in {name}: {by}", str(name))


def approved_between(before: Body | None, after: Body | None) -> Iterator[BindingEvent]:
    """What a person let through. The documents are `state.yaml`; an order counts when an engine has taken it up."""
    old, new = (_mapping(side).get("approvals") for side in (before, after))
    earlier = [_consent(approval) for approval in (old if isinstance(old, list) else [])]
    for approval in new if isinstance(new, list) else []:
        consent = _consent(approval)
        if consent[1] and consent not in earlier:
            listed = ", ".join(f"{gate} ({count})" for gate, count in consent[1])
            message = f"let through by {consent[0] or 'an approver'}: {listed}"
            yield BindingEvent(NORMAL, "ChangesApproved", message)


def ordered_between(before: Body | None, after: Body | None) -> Iterator[tuple[str, BindingEvent]]:
    """(`all`, `cluster/NAME` or an object, what a person ordered for it). The documents are `state.yaml`."""
    old, new = (operator_orders.suspensions(_mapping(side).get("suspensions")) for side in (before, after))
    for suspension in new:
        if suspension not in old:
            said = str(suspension).partition(" since ")[0]
            why = f": {suspension.reason}" if suspension.reason else ""
            yield suspension.of, BindingEvent(WARNING, "Suspended", said + why, _cluster_of(suspension.of))
    standing = {(suspension.of, suspension.scheduling) for suspension in new}
    for suspension in old:
        if (suspension.of, suspension.scheduling) not in standing:
            what = "scheduling resumed" if suspension.scheduling else "resumed"
            message = f"{what}, it was suspended by {suspension.by}"
            yield suspension.of, BindingEvent(NORMAL, "Resumed", message, _cluster_of(suspension.of))
    earlier, asked = (
        operator_orders.reconciliations(_mapping(side).get("reconciliations")) for side in (before, after)
    )
    for order in asked:
        if order not in earlier:
            message = f"to be looked at anew, by {order.by}"
            yield order.of, BindingEvent(NORMAL, "ReconcileOrdered", message, _cluster_of(order.of))


def _cluster_of(ordered: str) -> str:
    return ordered.removeprefix(operator_orders.CLUSTER) if ordered.startswith(operator_orders.CLUSTER) else ""


def _consent(approval: object) -> tuple[str, tuple[tuple[str, str], ...]]:
    said = _mapping(approval)
    allowed = sorted((str(gate), str(count)) for gate, count in _mapping(said.get("allowed")).items())
    return str(said.get("by") or ""), tuple(allowed)


IN_USE = "in use"
"""What holds a deletion with which objects of others would go: a namespace with something in it, a definition."""
_HOLDERS = {
    Left.SUSPENDED.value: "suspended",
    Left.REFUSED.value: "in the way of another manager, or not to be rendered",
    IN_USE: "not deleted, for objects of others would go with it",
}


def holder_in_words(holder: str) -> str:
    """What holds changes, as `state.yaml` names it, after their number: `by gate deletions`, `suspended`."""
    return _HOLDERS.get(holder, f"by {holder}")


def _scheduled(before: Body, after: Body) -> Iterator[BindingEvent]:
    old, new = _condition(before, "Scheduled"), _condition(after, "Scheduled")
    if new.get("status") == "False":
        if (old.get("status"), old.get("message")) != ("False", new.get("message")):
            yield BindingEvent(WARNING, "ScheduleBindingFailed", str(new.get("message") or new.get("reason") or ""))
        return
    was, now = _targets(before), _targets(after)
    if was != now or old.get("status") == "False":
        placed = ", ".join(name if count is None else f"{name}={count}" for name, count in now.items())
        yield BindingEvent(NORMAL, "ScheduleBindingSucceed", f"placed on {placed}" if placed else "placed nowhere")


def _evicted(before: Body, after: Body) -> Iterator[BindingEvent]:
    earlier = {str(task.get("fromCluster")) for task in _items(before, "gracefulEvictionTasks")}
    for task in _items(after, "gracefulEvictionTasks"):
        name = str(task.get("fromCluster") or "")
        if name not in earlier:
            why = " by ".join(str(task[part]) for part in ("reason", "producer") if task.get(part))
            yield BindingEvent(NORMAL, "EvictWorkloadFromClusterSucceed", f"leaves {name}: {why or 'evicted'}", name)


def _synced(before: Body, after: Body) -> Iterator[BindingEvent]:
    was, now = _copies(before), _copies(after)
    for name, copy in now.items():
        old, applied = was.get(name), copy.get("applied") is True
        if applied and (old is None or old.get("applied") is not True):
            yield BindingEvent(NORMAL, "SyncSucceed", f"applied in {name}", name)
        message = str(copy.get("appliedMessage") or "")
        if not applied and message and (old is None or old.get("appliedMessage") != message):
            yield BindingEvent(WARNING, "SyncFailed", f"not applied in {name}: {message}", name)


def _condition(document: Body, kind: str) -> Mapping[str, Any]:
    conditions = _mapping(document.get("status")).get("conditions")
    listed = conditions if isinstance(conditions, list) else []
    return next(
        (condition for condition in listed if isinstance(condition, Mapping) and condition.get("type") == kind), {}
    )


def _targets(document: Body) -> dict[str, object]:
    return {str(target.get("name")): target.get("replicas") for target in _items(document, "clusters")}


def _copies(document: Body) -> dict[str, Mapping[str, Any]]:
    listed = _mapping(document.get("status")).get("aggregatedStatus")
    items = listed if isinstance(listed, list) else []
    return {str(item.get("clusterName")): item for item in items if isinstance(item, Mapping)}


def _items(document: Body, member: str) -> list[Mapping[str, Any]]:
    listed = _mapping(document.get("spec")).get(member)
    return [item for item in (listed if isinstance(listed, list) else []) if isinstance(item, Mapping)]


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
