"""The numbers behind a placement, and what would change it, as lines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import compress

from gitfed.cli.output import matrix, plain, table
from gitfed.cli.output.table import Cell
from gitfed.views.explanations import ClusterNumbers, PlacementNumbers


def lines(story: PlacementNumbers, paint: plain.Paint, *, width: int | None = None) -> Iterator[str]:
    """Nothing where there is nothing to count and nothing to change."""
    counted = [
        item
        for item in story["clusters"]
        if item["weight"] is not None or item["base"] is not None or item["estimates"]
    ]
    if counted:
        yield from table.lines([[Cell("Numbers", paint.strong), story["division"] + _of(story)]], gap=2, width=width)
        # Where only one estimator was asked, it is the one that limits.
        each = any(len(item["estimates"]) > 1 for item in counted)
        tiers, bases = len(story["amounts"]) > 1, any(item["base"] for item in counted)
        titles = ["CLUSTER", "ROOM", "LIMITED BY", "ESTIMATES", "TIER", "WEIGHT", "BASE", "PART", "SCORE"]
        shown = [True, True, True, each, tiers, True, bases, True, True]
        rows: list[list[Cell | str]] = [[Cell(title, paint.faint) for title in titles], *map(_row, counted)]
        yield from table.lines([list(compress(row, shown)) for row in rows], indent=2, width=width)
    if advice := [*(("", change) for change in story["wouldChange"]), *_advice(story)]:
        yield paint.strong("What would change the answer")
        yield from table.lines([[cluster or "workload", change] for cluster, change in advice], indent=2, width=width)


def _of(story: PlacementNumbers) -> str:
    room = "" if story["room"] is None else f", {story['wanted']} wanted, room for {story['room']}"
    divided = [item for item in story["clusters"] if item["part"] is not None]
    if not story["amounts"] or not divided:
        return room
    if not any(story["amounts"]):
        return f"{room}, nothing divided beside the base"
    amounts, order = [str(amount) for amount in story["amounts"]], "last" if story["lastNameFirst"] else "first"
    if len(story["amounts"]) > 1:
        tiers = sorted({item["tier"] or 0 for item in divided})
        # Of a caller who does not see the whole fleet some tiers may be hidden, and the amounts cannot be matched.
        amounts = [f"{amount} in tier {tier}" for amount, tier in zip(amounts, tiers, strict=False)]
    beside = " beside the base" if any(item["base"] for item in divided) else ""
    return f"{room}, {' and '.join(amounts)} divided by weight{beside}, of equals the {order} by name"


def _row(item: ClusterNumbers) -> list[Cell | str]:
    estimates = (
        ", ".join(f"{estimate['estimator']} {estimate['replicas']}" for estimate in item["estimates"]) or matrix.NONE
    )
    numbers = (item["tier"], item["weight"], item["base"])
    return [
        item["name"],
        matrix.NONE if item["room"] is None else str(item["room"]),
        item["limitedBy"] or matrix.NONE,
        estimates,
        *(matrix.NONE if number is None else str(number) for number in numbers),
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
