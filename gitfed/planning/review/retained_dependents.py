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


def considered(found: Sequence[Change], sides: predict.Sides) -> list[Change]:
    """The changes, without those that something else forbids. Twice gives what once does."""
    return _in_namespaces(_needed(found, sides), sides.left_over)


def limited(
    found: Sequence[Change], sides: predict.Sides, hold: Callable[[Sequence[Change]], tuple[Gates, list[Change]]]
) -> tuple[Gates, list[Change]]:
    """What limits say of changes that were `considered`, and what is left of them. `hold`: `gate.hold`."""
    owners = {(one.key, one.cluster) for one in found}
    later = {
        (one.key, one.cluster)
        for one in found
        if one.action is Action.DELETE and any((owner, one.cluster) in owners for owner in _owners(one, sides))
    }
    now = [replace(one, action=Action.KEEP) if (one.key, one.cluster) in later else one for one in found]
    gates, held = hold(now)
    held = [
        one if (one.key, one.cluster) in later else other
        for one, other in zip(found, _still_perhaps(now, held), strict=True)
    ]
    changes = considered(held, sides)
    then = [one for one in changes if (one.key, one.cluster) in later and one.action is Action.DELETE]
    if not then:
        return gates, changes
    more, held = hold(then)
    known = {(one.key, one.cluster): one for one in _still_perhaps(then, held)}
    beyond = {gate.name: gate for gate in more if gate.held}
    return (
        tuple(gate if gate.held else beyond.get(gate.name, gate) for gate in gates),
        considered([known.get((one.key, one.cluster), one) for one in changes], sides),
    )


def _still_perhaps(before: Sequence[Change], after: Sequence[Change]) -> list[Change]:
    """A limit counts what may be there, and says of it that it is held; that it need not be there stays said too."""
    return [
        replace(held, reason=replace(held.reason, if_present=True))
        if held is not one and one.reason.if_present
        else held
        for one, held in zip(before, after, strict=True)
    ]


def _needed(found: Sequence[Change], sides: predict.Sides) -> list[Change]:
    """What something takes along stays where a copy of that stays as it is: an orphan's, one that is protected or
    suspended, one that a limit holds."""
    fates = {(one.key, one.cluster): one.action for one in found}
    kept: list[Change] = []
    for one in found:
        owner = _who_needs(one, fates, sides) if one.action is Action.DELETE else None
        if owner is None:
            kept.append(one)
        elif one.cluster not in sides.left_over.get(one.key, ()):  # that one stayed before is no news
            kept.append(replace(one, action=Action.KEEP, reason=Reason(ReasonCode.NEEDED, str(owner)), move=True))
    return kept


def _who_needs(
    one: Change, fates: Mapping[tuple[ObjectKey, ClusterName], Action], sides: predict.Sides
) -> ObjectKey | None:
    for owner in _owners(one, sides):
        fate = fates.get((owner, one.cluster))
        if fate is not None:
            stays = fate in (Action.KEEP, Action.SKIP)
        else:
            stays = leftovers.stays_as_it_is(owner, one.cluster, sides.head, sides.base, sides.left_over)
        if stays:
            return owner
    return None


def _owners(one: Change, sides: predict.Sides) -> Iterator[ObjectKey]:
    """What may have a copy that refers to it where it is to leave."""
    binding = sides.head.bindings.get(one.key)
    if binding is not None and binding.decision is not None:
        yield from (each.owner for each in binding.decision.required_by if one.cluster in each.still_in)


def _in_namespaces(found: Sequence[Change], left_over: leftovers.Copies) -> list[Change]:
    """A namespace stays where something in it does (`namespace_deletion`): what a limit holds, or what is kept."""
    going = {(one.cluster, one.key) for one in found if one.action is Action.DELETE}
    held: dict[tuple[ClusterName, str], ObjectKey] = {}
    for one in found:
        if one.key.namespace and one.action in (Action.SKIP, Action.KEEP):
            held.setdefault((one.cluster, one.key.namespace), one.key)
    for key, copies in left_over.items():
        for name in copies if key.namespace else ():
            if (name, key) not in going:
                held.setdefault((name, key.namespace), key)
    kept: list[Change] = []
    for one in found:
        if one.action is not Action.DELETE or not namespaces.is_namespace(one.key):
            kept.append(one)
        elif (content := held.get((one.cluster, one.key.name))) is None:
            kept.append(replace(one, reason=replace(one.reason, once_empty=True)))
        elif one.cluster not in left_over.get(one.key, ()):  # that one stayed before is no news
            kept.append(replace(one, action=Action.KEEP, reason=Reason(ReasonCode.NAMESPACE_IN_USE, str(content))))
    return kept
