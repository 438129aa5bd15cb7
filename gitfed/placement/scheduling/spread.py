"""Choosing among the clusters that fit, so that a workload is spread as its policy says (Karmada: scheduling §3).

A constraint by region chooses groups of regions, then clusters in them; without one the best clusters are taken and
exchanged for roomier ones until the replicas fit. Constraints by zone and provider only ask for the property, which is
a filter's business.

Two things are other than in the reference: a constraint without `maxGroups` has no upper limit, and where room decides,
a group of regions that cannot hold the replicas is passed over for the next best that can.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from gitfed.placement.scheduling.scored_cluster import Option, Unplaceable, in_order
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.model.declared.policy import SpreadConstraint

_UNLIMITED = 2**31
_MOST_STEPS = 300_000
"""Of the search for groups of regions: ten of twenty regions are within it. Beyond, a plan would not come to an end."""
_FEW_STEPS = 2_000


class GroupLimits(NamedTuple):
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class SpreadRequirement:
    cluster: GroupLimits
    region: GroupLimits | None
    replicas: int
    duplicated: bool
    """Every chosen cluster gets all replicas: room is a matter of each, not of the sum."""
    by_room: bool = False
    """The chosen clusters must hold the replicas, or the division after this will fail."""


def demand(
    constraints: Sequence[SpreadConstraint], replicas: int, *, duplicated: bool, by_room: bool = False
) -> SpreadRequirement:
    by_field = {item.spread_by_field: _limits(item) for item in constraints if item.spread_by_field}
    clusters = by_field.get("cluster", GroupLimits(0, _UNLIMITED))
    return SpreadRequirement(clusters, by_field.get("region"), replicas, duplicated, by_room)


def select(options: Sequence[Option], wanted: SpreadRequirement) -> list[Option]:
    """The clusters to use. Raises Unplaceable when the constraints cannot be met."""
    ordered = in_order(options)
    return _by_cluster(ordered, wanted) if wanted.region is None else _by_region(ordered, wanted, wanted.region)


def _limits(constraint: SpreadConstraint) -> GroupLimits:
    return GroupLimits(constraint.min_groups or 0, constraint.max_groups or _UNLIMITED)


def _by_cluster(ordered: Sequence[Option], wanted: SpreadRequirement) -> list[Option]:
    if len(ordered) < wanted.cluster.least:
        raise _failure("the number of feasible clusters is less than spreadConstraint.MinGroups")
    count = min(len(ordered), wanted.cluster.most)
    chosen, rest = list(ordered[:count]), list(ordered[count:])
    if wanted.duplicated:
        return chosen
    for index in range(count - 1, -1, -1):
        if sum(option.available for option in chosen) >= wanted.replicas:
            break
        roomier = max(rest, key=lambda option: option.available, default=None)
        if roomier is not None and roomier.available > chosen[index].available:
            rest[rest.index(roomier)], chosen[index] = chosen[index], roomier
    if sum(option.available for option in chosen) < wanted.replicas:
        raise _failure(f"no enough resource when selecting {count} clusters")
    return chosen


class _Region(NamedTuple):
    name: str
    options: Sequence[Option]
    score: int


_Path: TypeAlias = tuple[int, ...]
"""A group of regions, the best first: their places among all regions, which are numbered from the best on."""


def _by_region(ordered: Sequence[Option], wanted: SpreadRequirement, limits: GroupLimits) -> list[Option]:
    members: dict[str, list[Option]] = {}
    for option in ordered:
        if option.candidate.region:
            members.setdefault(option.candidate.region, []).append(option)
    if len(members) < limits.least:
        raise _failure("the number of feasible region is less than spreadConstraint.MinGroups")
    regions = [_Region(name, group, _score(group, wanted, limits)) for name, group in members.items()]
    regions.sort(key=lambda region: (-region.score, region.name))
    paths = _paths(regions, wanted, limits)
    if not paths:
        raise _failure("the number of clusters is less than the cluster spreadConstraint.MinGroups")
    # One number for both, because there may be many groups: the score counts first, then the number of clusters.
    worth = [region.score * _UNLIMITED + len(region.options) for region in regions]

    def rank(path: _Path) -> int:
        return sum(map(worth.__getitem__, path))

    best = _members(_shortest(max(paths, key=rank), paths), regions, wanted)
    if not wanted.by_room or _holds(best, wanted):
        return best
    ranked = (_members(path, regions, wanted) for path in sorted(paths, key=rank, reverse=True))
    return next((chosen for chosen in ranked if _holds(chosen, wanted)), best)


def _members(path: _Path, regions: Sequence[_Region], wanted: SpreadRequirement) -> list[Option]:
    """The best cluster of each region, then the best of the others as far as the limit allows."""
    heads = [regions[at].options[0] for at in path]
    others = in_order([option for at in path for option in regions[at].options[1:]])
    count = min(len(heads) + len(others), wanted.cluster.most)
    return heads + others[: max(0, count - len(heads))]


def _holds(chosen: Sequence[Option], wanted: SpreadRequirement) -> bool:
    return sum(option.available for option in chosen) >= wanted.replicas


def _score(group: Sequence[Option], wanted: SpreadRequirement, limits: GroupLimits) -> int:
    """How well a region can take its part. Whole numbers, as in the reference."""
    if wanted.duplicated:
        able = [option.score for option in group if option.available >= wanted.replicas]
        return 1000 * len(able) + sum(able) // len(able) if able else 0
    target = -(-wanted.replicas // max(1, limits.least))
    least = max(wanted.cluster.least, limits.least)
    held = scores = used = 0
    for _, _, score, free, assigned in group:
        held, scores, used = held + free + assigned, scores + score, used + 1
        if used >= least and held >= target:
            break
    if held < target:
        return 1000 * held + scores // len(group)
    return 1000 * target + scores // used


def _paths(regions: Sequence[_Region], wanted: SpreadRequirement, limits: GroupLimits) -> Sequence[_Path]:
    """Groups of regions with enough clusters, depth first, from small regions to large ones. A group that has enough
    is not enlarged."""
    turn = sorted(range(len(regions)), key=lambda at: len(regions[at].options))
    sizes = tuple([len(regions[at].options) for at in turn])
    paths = _few_groups(sizes, wanted.cluster.least, limits)
    if paths is None:
        paths = _groups(sizes, wanted.cluster.least, limits, _MOST_STEPS)
    if paths is None:
        raise _failure(f"{len(regions)} regions give too many groups to compare: set a smaller minGroups")
    if turn == list(range(len(turn))):
        return paths
    return [tuple(sorted([turn[index] for index in path])) for path in paths]


@lru_cache(maxsize=64)
def _few_groups(sizes: tuple[int, ...], least: int, limits: GroupLimits) -> Sequence[_Path] | None:
    """The same for all workloads of a policy, and kept if it is not much."""
    return _groups(sizes, least, limits, _FEW_STEPS)


def _groups(sizes: tuple[int, ...], least: int, limits: GroupLimits, most: int) -> Sequence[_Path] | None:
    """Groups of regions of these sizes, in the order given; None: more steps than `most`."""
    paths: list[_Path] = []
    steps = 0

    def walk(start: int, path: _Path, count: int) -> None:
        nonlocal steps
        steps += 1
        if len(path) >= limits.least and path and count >= least:
            paths.append(path)
            return
        if len(path) == limits.most:
            return
        for index in range(start, len(sizes)):
            if steps > most:
                return
            walk(index + 1, (*path, index), count + sizes[index])

    walk(0, (), 0)
    return paths if steps <= most else None


def _shortest(best: _Path, paths: Sequence[_Path]) -> _Path:
    """The best group, or a shorter beginning of it, which is as good."""
    shorter = [path for path in paths if len(path) < len(best) and best[: len(path)] == path]
    return min(shorter, key=len, default=best)


def _failure(message: str) -> Unplaceable:
    return Unplaceable("SchedulerError", f"failed to select clusters: {message}")
