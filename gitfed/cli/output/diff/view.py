"""What every printer of a diff shows, and the words that they have in common."""

from __future__ import annotations

from typing import NamedTuple

from gitfed.cli.output import declared_text, formatting, matrix, plain
from gitfed.cli.output.diff import compare
from gitfed.model.base import Problem, Severity
from gitfed.model.plan import Change
from gitfed.model.reason import Reason
from gitfed.offline.preview import Preview
from gitfed.planning import retained_objects
from gitfed.planning.review import predict
from gitfed.planning.review.review import Flow, Review
from gitfed.views import names

EARLIER = "Left by earlier commits"
"""What is done about objects that no difference of manifests shows."""


class DiffView(NamedTuple):
    preview: Preview
    titles: tuple[str, str]

    @property
    def review(self) -> Review:
        return self.preview.review

    @property
    def rows(self) -> list[matrix.MatrixRow]:
        return compare.placement(self.review)

    @property
    def clusters(self) -> list[str]:
        return sorted({*self.review.base.clusters, *self.review.head.clusters})


def earlier(shown: DiffView) -> list[Change]:
    return [change for change in shown.review.changes if predict.is_of_earlier(change)]


def not_accepted(shown: DiffView) -> str:
    return f"a daemon would not apply {shown.titles[1]} as it is: {shown.preview.refused}"


def total(review: Review) -> str:
    """`Total:  1 create, 2 update, 0 move, 0 delete in 3 of 4 clusters.`"""
    totals = review.totals
    parts = [f"{getattr(totals, name)} {name}" for name in ("create", "update", "move", "delete")]
    parts += [f"{number} {name}" for name, number in (("keep", totals.keep), ("skip", totals.skip)) if number]
    return f"Total:  {', '.join(parts)} in {totals.clusters} of {formatting.count(totals.of_clusters, 'cluster')}."


def flow(move: Flow) -> str:
    """`shop/Deploy/web: 4 replicas move: eu-1 (4) → us-1 (2), us-2 (2)`."""
    sides = (", ".join(f"{name} ({count})" for name, count in side) for side in (move.leaving, move.arriving))
    verb = "replica moves" if move.replicas == 1 else "replicas move"
    return f"{names.shown(move.key)}: {move.replicas} {verb}: {' → '.join(sides)}"


def title(item: compare.Difference) -> str:
    return f"{plain.clean(names.shown(item.key))} {item.verb}"


def where(item: compare.Difference, of: int, *, wide: bool = False) -> str:
    """`in eu-1`, `same in 41 clusters, differs in 2: …`, `alike in 3 clusters, shown for eu-1: …`; then in brackets
    why nothing is written."""
    silent = "means the same there: not written"
    if item.kept:
        silent = "; ".join(sorted({_why_kept(reason) for reason in item.kept.values()}))
    return _clusters(item, of, wide=wide) + ("" if item.written else f" ({silent})")


def _why_kept(reason: Reason) -> str:
    return "not managed any more" if reason.code in retained_objects.UNMANAGED else str(reason)


def _clusters(item: compare.Difference, of: int, *, wide: bool) -> str:
    names = [plain.clean(name) for name in item.clusters]
    number = len(names)
    like = f", as in {plain.clean(item.like)}" if item.like and item.verb == "new" else ""
    if item.like and item.verb == "kept":
        like = f", still placed in {plain.clean(item.like)}"
    if item.like and item.verb == "gone":
        like = f", stays in {plain.clean(item.like)}"
    differing = f", differs in {item.of - number}" if item.of > number else ""
    if number == 1:
        others = formatting.count(item.of - 1, "other cluster")
        return f"in {names[0]}{like}" + (f", and otherwise in {others}" if differing and not item.like else "")
    listed = " ".join(names) if wide else formatting.some(names, most=declared_text.LISTED)
    if differing:
        listed += f"; {differing.removeprefix(', ')}"
    quantifier = "all " if number == of else ""
    if quantifier and number > declared_text.LISTED and not wide:
        shown = "" if item.exact else f", shown for {names[0]}"
        return f"{'same' if item.exact else 'alike'} in all {number} clusters{like}{shown}"
    if item.exact:
        return f"same in {quantifier}{number} clusters{like}: {listed}"
    return f"alike in {quantifier}{number} clusters{like}, shown for {names[0]}: {listed}"


def lines(item: compare.Difference, titles: tuple[str, str]) -> list[str]:
    """A unified diff with its two title lines; nothing where there is nothing to read."""
    if item.hunks:
        return [*_titles(item, titles), *item.hunks]
    if item.verb == "changed":
        return ["  (only masked values differ)"]
    return []


def _titles(item: compare.Difference, titles: tuple[str, str]) -> list[str]:
    name = plain.clean(str(item.key))
    old = f"{titles[0]}/{name}" if item.before is not None else "/dev/null"
    new = f"{titles[1]}/{name}" if item.after is not None else "/dev/null"
    if item.before is None and item.like:
        # Two clusters are compared, perhaps of one commit: what differs is theirs, not what the commit changes.
        old = f"{titles[item.like_after]}/{name} in {plain.clean(item.like)}"
        new = f"{new} in {plain.clean(item.clusters[0])}"
    return [f"--- {old}", f"+++ {new}"]


def problems(shown: DiffView) -> list[Problem]:
    """Every error, and what else is new: a warning that the base has too is not this change's."""
    new = new_problems(shown)
    return [problem for problem in shown.review.head.problems if problem.severity is Severity.ERROR or problem in new]


def new_problems(shown: DiffView) -> list[Problem]:
    """What the head says and the base did not."""
    in_base = {(problem.origin.path, problem.message) for problem in shown.review.base.problems}
    return [problem for problem in shown.review.head.problems if (problem.origin.path, problem.message) not in in_base]
