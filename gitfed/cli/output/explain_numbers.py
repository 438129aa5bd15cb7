"""The numbers behind a placement, and what would change it, as lines and as a document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gitfed.cli.output import matrix, plain, table
from gitfed.cli.output.table import Cell
from gitfed.placement.explain.explain import ClusterStory, Story


def lines(story: Story, paint: plain.Paint) -> Iterator[str]:
    """Nothing where there is nothing to count and nothing to change."""
    counted = [item for item in story.clusters if item.weight is not None or item.estimates]
    if counted:
        yield paint.strong("Numbers") + f"  {plain.clean(story.division)}{_of(story)}"
        # Where only one estimator was asked, it is the one that limits.
        each = any(len(item.estimates) > 1 for item in counted)
        titles = ("CLUSTER", "ROOM", "LIMITED BY", *(("ESTIMATES",) if each else ()), "WEIGHT", "PART", "SCORE")
        head = [Cell(title, paint.faint) for title in titles]
        yield from table.lines([head, *(_row(item, each=each) for item in counted)], indent=2)
    if advice := [*(("", change) for change in story.changes), *_advice(story)]:
        yield paint.strong("What would change the answer")
        yield from table.lines([[cluster or "workload", change] for cluster, change in advice], indent=2)


def document(story: Story) -> dict[str, Any]:
    return {
        "division": story.division,
        "group": story.group,
        "wanted": story.wanted,
        "room": story.room,
        "wouldChange": list(story.changes),
        "clusters": [
            {
                "name": item.cluster,
                "rejected": list(item.rejected),
                "filters": list(item.filters),
                "score": item.score,
                "tier": item.tier,
                "before": item.before,
                "estimates": [
                    {"estimator": one.estimator, "replicas": one.replicas, "limitedBy": one.by}
                    for one in item.estimates
                ],
                "room": item.room,
                "weight": item.weight,
                "part": item.exact,
                "replicas": item.share,
                "wouldChange": list(item.changes),
            }
            for item in story.clusters
        ],
    }


def _of(story: Story) -> str:
    return "" if story.room is None else f", {story.wanted} wanted, room for {story.room}"


def _row(item: ClusterStory, *, each: bool) -> list[Cell | str]:
    said = ", ".join(f"{one.estimator} {one.replicas}" for one in item.estimates) or matrix.NONE
    return [
        item.cluster,
        matrix.NONE if item.room is None else str(item.room),
        item.limited_by or matrix.NONE,
        *([said] if each else []),
        matrix.NONE if item.weight is None else str(item.weight),
        _part(item),
        str(item.score),
    ]


def _part(item: ClusterStory) -> str:
    """`3.40 → 3`; a decision that stands was not divided now."""
    if item.exact is not None:
        return f"{item.exact:.2f} → {item.share or 0}"
    return f"{item.share} kept" if item.share is not None and item.share == item.before else matrix.NONE


def _advice(story: Story) -> Iterator[tuple[str, str]]:
    for item in story.clusters:
        yield from ((item.cluster, change) for change in item.changes)
