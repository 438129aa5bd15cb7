"""The numbers behind a placement, and what would change it, as lines."""

from __future__ import annotations

from collections.abc import Iterator

from gitfed.cli.output import matrix, plain, table
from gitfed.cli.output.table import Cell
from gitfed.views.explanations import ClusterNumbers, PlacementNumbers


def lines(story: PlacementNumbers, paint: plain.Paint) -> Iterator[str]:
    """Nothing where there is nothing to count and nothing to change."""
    counted = [item for item in story["clusters"] if item["weight"] is not None or item["estimates"]]
    if counted:
        yield paint.strong("Numbers") + f"  {plain.clean(story['division'])}{_of(story)}"
        # Where only one estimator was asked, it is the one that limits.
        each = any(len(item["estimates"]) > 1 for item in counted)
        titles = ("CLUSTER", "ROOM", "LIMITED BY", *(("ESTIMATES",) if each else ()), "WEIGHT", "PART", "SCORE")
        head = [Cell(title, paint.faint) for title in titles]
        yield from table.lines([head, *(_row(item, each=each) for item in counted)], indent=2)
    if advice := [*(("", change) for change in story["wouldChange"]), *_advice(story)]:
        yield paint.strong("What would change the answer")
        yield from table.lines([[cluster or "workload", change] for cluster, change in advice], indent=2)


def _of(story: PlacementNumbers) -> str:
    room = "" if story["room"] is None else f", {story['wanted']} wanted, room for {story['room']}"
    if not story["amounts"] or not any(item["part"] is not None for item in story["clusters"]):
        return room
    amounts, order = " + ".join(map(str, story["amounts"])), "last" if story["lastNameFirst"] else "first"
    return f"{room}, {amounts} divided by weight, of equals the {order} by name"


def _row(item: ClusterNumbers, *, each: bool) -> list[Cell | str]:
    said = ", ".join(f"{one['estimator']} {one['replicas']}" for one in item["estimates"]) or matrix.NONE
    return [
        item["name"],
        matrix.NONE if item["room"] is None else str(item["room"]),
        item["limitedBy"] or matrix.NONE,
        *([said] if each else []),
        matrix.NONE if item["weight"] is None else str(item["weight"]),
        _part(item),
        str(item["score"]),
    ]


def _part(item: ClusterNumbers) -> str:
    """`3.40 → 3`; a decision that stands was not divided now."""
    share = item["replicas"]
    if item["part"] is not None:
        return f"{item['part']:.2f} → {share or 0}"
    return f"{share} kept" if share is not None and share == item["before"] else matrix.NONE


def _advice(story: PlacementNumbers) -> Iterator[tuple[str, str]]:
    for item in story["clusters"]:
        yield from ((item["name"], change) for change in item["wouldChange"])
