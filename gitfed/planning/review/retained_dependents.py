"""What stays because something else does: the second look at the changes of a review.

A dependency stays where a copy of what takes it along stays as it is, and a namespace where something in it does.
Whether that stays may be up to an order of a person or to a limit, so both are asked before the limits, which must not
count what stays anyway, and again when they have said what they hold. And a dependency leaves after what needed it: the
limits see it then, by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.plan import Action, Change, Gate
from gitfed.model.reason import Reason, ReasonCode
from gitfed.planning.review import leftovers, predict
from gitfed.render import namespaces

Gates: TypeAlias = tuple[Gate, ...]


def considered(changes: Sequence[Change], sides: predict.Sides) -> list[Change]:
    """The changes, without those that something else forbids. Twice gives what once does."""
    return _in_namespaces(_needed(changes, sides), sides.left_over)


def limited(
    predicted: Sequence[Change], sides: predict.Sides, hold: Callable[[Sequence[Change]], tuple[Gates, list[Change]]]
) -> tuple[Gates, list[Change]]:
    """What limits say of changes that were `considered`, and what is left of them. `hold`: `gate.hold`."""
    owners = {(change.key, change.cluster) for change in predicted}
    later = {
        (change.key, change.cluster)
        for change in predicted
        if change.action is Action.DELETE and any((owner, change.cluster) in owners for owner in _owners(change, sides))
    }
    now = [
        replace(change, action=Action.KEEP) if (change.key, change.cluster) in later else change for change in predicted
    ]
    gates, held = hold(now)
    held = [
        change if (change.key, change.cluster) in later else other
        for change, other in zip(predicted, _still_perhaps(now, held), strict=True)
    ]
    changes = considered(held, sides)
    then = [change for change in changes if (change.key, change.cluster) in later and change.action is Action.DELETE]
    if not then:
        return gates, changes
    more, held = hold(then)
    still = {(change.key, change.cluster): change for change in _still_perhaps(then, held)}
    beyond = {gate.name: gate for gate in more if gate.held}
    return (
        tuple(gate if gate.held else beyond.get(gate.name, gate) for gate in gates),
        considered([still.get((change.key, change.cluster), change) for change in changes], sides),
    )


def _still_perhaps(before: Sequence[Change], after: Sequence[Change]) -> list[Change]:
    """A limit counts what may be there, and says of it that it is held; that it need not be there stays said too."""
    return [
        replace(held, reason=replace(held.reason, if_present=True))
        if held is not change and change.reason.if_present
        else held
        for change, held in zip(before, after, strict=True)
    ]


def _needed(changes: Sequence[Change], sides: predict.Sides) -> list[Change]:
    """What something takes along stays where a copy of that stays as it is: an orphan's, one that is protected or
    suspended, one that a limit holds."""
    fates = {(change.key, change.cluster): change.action for change in changes}
    kept: list[Change] = []
    for change in changes:
        owner = _who_needs(change, fates, sides) if change.action is Action.DELETE else None
        if owner is None:
            kept.append(change)
        elif change.cluster not in sides.left_over.get(change.key, ()):  # that one stayed before is no news
            kept.append(replace(change, action=Action.KEEP, reason=Reason(ReasonCode.NEEDED, str(owner)), move=True))
    return kept


def _who_needs(
    change: Change, fates: Mapping[tuple[ObjectKey, ClusterName], Action], sides: predict.Sides
) -> ObjectKey | None:
    for owner in _owners(change, sides):
        fate = fates.get((owner, change.cluster))
        if fate is not None:
            stays = fate in (Action.KEEP, Action.SKIP)
        else:
            stays = leftovers.stays_as_it_is(owner, change.cluster, sides.head, sides.base, sides.left_over)
        if stays:
            return owner
    return None


def _owners(change: Change, sides: predict.Sides) -> Iterator[ObjectKey]:
    """What may have a copy that refers to it where it is to leave."""
    binding = sides.head.bindings.get(change.key)
    if binding is not None and binding.decision is not None:
        yield from (each.owner for each in binding.decision.ownership.required_by if change.cluster in each.still_in)


def _in_namespaces(changes: Sequence[Change], left_over: leftovers.Copies) -> list[Change]:
    """A namespace stays where something in it does (`namespace_deletion`): what a limit holds, or what is kept."""
    going = {(change.cluster, change.key) for change in changes if change.action is Action.DELETE}
    held: dict[tuple[ClusterName, str], ObjectKey] = {}
    for change in changes:
        if change.key.namespace and change.action in (Action.SKIP, Action.KEEP):
            held.setdefault((change.cluster, change.key.namespace), change.key)
    for key, copies in left_over.items():
        for name in copies if key.namespace else ():
            if (name, key) not in going:
                held.setdefault((name, key.namespace), key)
    kept: list[Change] = []
    for change in changes:
        if change.action is not Action.DELETE or not namespaces.is_namespace(change.key):
            kept.append(change)
        elif (content := held.get((change.cluster, change.key.name))) is None:
            kept.append(replace(change, reason=replace(change.reason, once_empty=True)))
        elif change.cluster not in left_over.get(change.key, ()):  # that one stayed before is no news
            kept.append(replace(change, action=Action.KEEP, reason=Reason(ReasonCode.NAMESPACE_IN_USE, str(content))))
    return kept
