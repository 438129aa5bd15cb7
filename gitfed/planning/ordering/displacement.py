"""What a plan takes from where it was: replicas that move or are lost, and copies that nothing replaces.

A copy that leaves one cluster while another one is made elsewhere has moved. One that leaves while none is made is
deleted, whatever its policy calls it: limits of deletions count it. What evictions take away is exempt, for a failing
cluster must not be held back by a limit meant for mistakes; so is what a template does without when it asks for fewer
replicas.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.decisions import Decision, Decisions, Share
from gitfed.model.fleet import LiveState
from gitfed.model.plan import Action, Binding, Change
from gitfed.model.reason import Reason, ReasonCode
from gitfed.text.identity import IdentityMemo
from gitfed.text.values import dataclass

_REPLICAS, _CLUSTER = attrgetter("replicas"), attrgetter("cluster")
"""Loops in C: a million shares are looked at in every build of a large fleet."""
_LEAVES = (ReasonCode.MOVED, ReasonCode.REPLACEMENT_AWAITED)


@dataclass(frozen=True, slots=True)
class Replicas:
    """`moved`: those that change their cluster or are lost. `total`: all, the lost ones included. `keys`: whose.

    `copies`: how many copies of these are in another place or of another size then.
    """

    moved: int
    total: int
    keys: frozenset[ObjectKey]
    copies: int


def replicas(bindings: Mapping[ObjectKey, Binding], decisions: Decisions, gone: Mapping[ObjectKey, int]) -> Replicas:
    """Growing moves nothing, nor does shrinking that the template asks for. `gone`: of `withdrawn`."""
    moved, total, copies = 0, 0, 0
    movers: set[ObjectKey] = set()
    sum_of = IdentityMemo(_sum_of)  # many workloads have the same shares
    for key, binding in bindings.items():
        if binding.scheduled.replicas is None:
            continue
        total += sum_of(binding.scheduled.shares)
        previous = decisions.bindings.get(key)
        if previous is None or previous is binding.decision or previous.targets == binding.scheduled.shares:
            continue
        old, new = previous.scheduled.shares, binding.scheduled.shares
        if not binding.terms.divided and _is_duplicated(previous):
            # Each cluster has the whole before and after: what changes where it stays is no move.
            stays = {share.cluster for share in old} & {share.cluster for share in new}
            old, new = (tuple(share for share in shares if share.cluster not in stays) for shares in (old, new))
        less, more = _difference(old, new, _exempt(previous, binding))
        lost = max(0, less - more - _renounced(previous, binding)) if key in gone else 0
        total += lost
        here = min(less, more) + lost
        if here:
            moved += here
            movers.add(key)
            copies += len({share.cluster for share in {*previous.scheduled.shares} ^ {*binding.scheduled.shares}})
    return Replicas(moved, total, frozenset(movers), copies)


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """Copies that leave without another being made for them, now or when the others are healthy."""

    counts: Mapping[ObjectKey, int]
    unseen: int
    """How many copies of these objects are to leave clusters that cannot be read: no change tells of them."""


def withdrawn(
    changes: Sequence[Change], bindings: Mapping[ObjectKey, Binding], decisions: Decisions, live: LiveState | None
) -> Withdrawn:
    leaving: dict[ObjectKey, int] = defaultdict(int)
    unseen: dict[ObjectKey, int] = {}
    for key, count in _unseen(bindings, decisions, live):
        leaving[key] = unseen[key] = count
    for change in changes:
        previous, binding = decisions.bindings.get(change.key), bindings.get(change.key)
        if not _leaves(change, binding):
            continue
        if (
            previous is None
            or binding is None
            or not any(share.cluster == change.cluster for share in previous.targets)
        ):
            continue
        scaled = (
            binding.scheduled.replicas is not None
            and not _is_duplicated(previous)
            and _renounced(previous, binding) > 0
        )
        if not scaled and change.cluster not in _exempt(previous, binding):
            leaving[change.key] += 1
    net = {key: number - _newcomers(decisions.bindings[key], bindings[key]) for key, number in leaving.items()}
    counts = {key: number for key, number in net.items() if number > 0}
    return Withdrawn(counts, sum(count for key, count in unseen.items() if key in counts))


def _unseen(
    bindings: Mapping[ObjectKey, Binding], decisions: Decisions, live: LiveState | None
) -> Iterator[tuple[ObjectKey, int]]:
    """Objects that are to leave clusters that cannot be read now, and how many of these. Their copies may be there, and
    would go without being counted as soon as these clusters answer, if the decision was on record by then."""
    unread = (
        {name for name, cluster in live.clusters.items() if not cluster.inventory_read} if live is not None else set()
    )
    for key, binding in bindings.items() if unread else ():
        previous = decisions.bindings.get(key)
        if (
            previous is None
            or previous is binding.decision
            or (binding.scheduled.policy is None and not binding.attached)
        ):
            continue
        left = unread.intersection(map(_CLUSTER, previous.targets))
        if left:
            left = left - binding.scheduled.clusters - _exempt(previous, binding)
        scaled = (
            binding.scheduled.replicas is not None
            and not _is_duplicated(previous)
            and _renounced(previous, binding) > 0
        )
        if left and not scaled and not binding.terms.preserve and not binding.keeps:
            yield key, len(left)


def told_apart(changes: Iterable[Change], gone: Mapping[ObjectKey, int]) -> list[Change]:
    """The same changes; deletions of copies that nothing replaces are no part of a move. `gone`: of `withdrawn`."""
    left = dict(gone)
    result: list[Change] = []
    for change in changes:
        if change.action is Action.DELETE and change.reason.code is ReasonCode.MOVED and left.get(change.key, 0) > 0:
            left[change.key] -= 1
            change = replace(change, reason=Reason(ReasonCode.WITHDRAWN), move=False)
        result.append(change)
    return result


def is_waiting(change: Change) -> bool:
    """Whether it goes once the copies in other clusters are healthy."""
    return change.action is Action.KEEP and change.reason.code is ReasonCode.REPLACEMENT_AWAITED


def _leaves(change: Change, binding: Binding | None) -> bool:
    """Whether its copy goes, now or later; one that leaves by degrees is written before (`availability_floor`)."""
    if change.reason.code is ReasonCode.AVAILABILITY_FLOOR:
        return binding is not None and binding.share_of(change.cluster) is None
    return change.reason.code in _LEAVES and change.action in (Action.DELETE, Action.KEEP)


def _difference(before: Iterable[Share], after: Iterable[Share], exempt: set[ClusterName]) -> tuple[int, int]:
    same = {*before} & {*after}  # of a hundred clusters all but a few
    old = {share.cluster: share.replicas or 0 for share in before if share not in same}
    new = {share.cluster: share.replicas or 0 for share in after if share not in same}
    less = sum(max(0, count - new.get(name, 0)) for name, count in old.items() if name not in exempt)
    more = sum(max(0, count - old.get(name, 0)) for name, count in new.items())
    return less, more


def _renounced(previous: Decision, binding: Binding) -> int:
    """Replicas that go because the template asks for fewer; of a duplicated one in each of its clusters."""
    fewer = max(0, (previous.scheduled.replicas or 0) - (binding.scheduled.replicas or 0))
    return fewer * (len(previous.scheduled.shares) if _is_duplicated(previous) else 1)


def _is_duplicated(previous: Decision) -> bool:
    """Whether every cluster had the whole number, as far as the decision tells."""
    counts = {share.replicas for share in previous.scheduled.shares}
    return previous.scheduled.replicas is None or counts == {previous.scheduled.replicas}


def _newcomers(previous: Decision, binding: Binding) -> int:
    before = {share.cluster for share in previous.targets}
    return sum(share.cluster not in before for share in binding.scheduled.shares)


def _exempt(previous: Decision, binding: Binding) -> set[ClusterName]:
    return {task.from_cluster for task in (*previous.failover.evictions, *binding.evictions)}


def _sum_of(shares: tuple[Share, ...]) -> int:
    return sum(filter(None, map(_REPLICAS, shares)))
