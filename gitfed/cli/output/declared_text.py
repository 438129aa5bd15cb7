"""What is declared otherwise (policies, overrides, clusters, settings), as diffs, reviews and plans print it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gitfed.cli.output import formatting, markdown, plain, table
from gitfed.cli.output.table import Cell
from gitfed.model.plan import FieldChange
from gitfed.planning.review import declared_changes
from gitfed.planning.review.declared_changes import Declaration

LISTED = 12
"""Clusters, or others, that are listed by name; all of more than these are just all."""
_MOST_FIELDS = 20
_ALIKE = 3
"""New or gone declarations of one kind that still get a line each."""


def lines(declared: Sequence[Declaration], paint: plain.Paint, fold: int | None, *, limits: str = "") -> Iterator[str]:
    """`limits`: what is to be said where limits change, "" for nothing."""
    signs = {"new": Cell("+", paint.added), "gone": Cell("-", paint.removed), "changed": Cell("~", paint.changed)}

    def below(*parts: Cell | str) -> list[str]:
        return table.flow(parts, indent=6, hang=2, width=fold)

    for group in alike(declared):
        declaration = group[0]
        concerns = concerned(group)
        what = f" {declaration.verb}  {where_declared(group)}{f'  {concerns}' if concerns else ''}"
        name = Cell(label(group), paint.strong)
        yield from table.flow([signs[declaration.verb], " ", name, what], indent=2, hang=6, width=fold)
        if several := named(group):
            yield from below(several)
        for field in declaration.fields[:_MOST_FIELDS]:
            yield from below(field_text(field))
        if len(declaration.fields) > _MOST_FIELDS:
            yield from below(f"and {len(declaration.fields) - _MOST_FIELDS} more fields")
        if limits and loosens(declaration):
            yield from below(Cell("limits change", paint.changed), f": {limits}")


def loosens(declaration: Declaration) -> bool:
    return bool(declared_changes.loosened(declaration))


def alike(declared: Sequence[Declaration]) -> list[list[Declaration]]:
    """Declarations that one line can say: more than a few new or gone ones of one kind, and each other by itself."""
    groups: dict[tuple[str, str, str], list[Declaration]] = {}
    for declaration in declared:
        if not declaration.fields:
            groups.setdefault((declaration.key.kind, declaration.key.namespace, declaration.verb), []).append(
                declaration
            )
    many = {id(declaration): members for members in groups.values() if len(members) > _ALIKE for declaration in members}
    return [
        many.get(id(declaration), [declaration])
        for declaration in declared
        if id(declaration) not in many or many[id(declaration)][0] is declaration
    ]


def label(group: Sequence[Declaration]) -> str:
    """`PropagationPolicy/shop/web`, `Cluster (60)`."""
    key = group[0].key
    space = f"/{key.namespace}" if key.namespace else ""
    if len(group) == 1:
        return f"{key.kind}{space}/{key.name}"
    return f"{key.kind}{space} ({len(group)})"


def named(group: Sequence[Declaration]) -> str:
    """`edge-00 edge-01 … and 49 more`; "" for one that is named already."""
    return formatting.some([declaration.key.name for declaration in group], most=LISTED) if len(group) > 1 else ""


def where_declared(group: Sequence[Declaration]) -> str:
    paths = {declaration.origin.path for declaration in group}
    if len(group) == 1:
        return str(group[0].origin)
    return paths.pop() if len(paths) == 1 else f"in {len(paths)} files"


def concerned(group: Sequence[Declaration]) -> str:
    """`concerns 9 objects, 3 of them differ`; "" when it concerns none."""
    objects = {key for declaration in group for key in declaration.concerns}
    differing = {key for declaration in group for key in declaration.differing}
    if not objects:
        return ""
    verb = "concerns" if len(group) == 1 else "concern"
    if len(objects) == 1:
        return f"{verb} 1 object, which {'differs' if differing else 'stays as it is'}"
    many = "all" if differing == objects else str(len(differing)) if differing else "none"
    return f"{verb} {len(objects)} objects, {many} of them {'differs' if many == '1' else 'differ'}"


def field_text(field: FieldChange) -> str:
    """`spec.priority: 1 → 2`, `spec.placement.spreadConstraints: none → […]`."""
    path = field.pointer.removeprefix("/").replace("/", ".").replace("~1", "/").replace("~0", "~")
    before = "none" if field.absent_before else _short(field.before)
    after = "none" if field.absent_after else _short(field.after)
    return f"{path}: {before} → {after}"


def _short(value: Any) -> str:
    text = formatting.value(value)
    return text if len(text) <= 120 else f"{text[:117]}…"


def in_markdown(group: Sequence[Declaration]) -> list[str]:
    """The same in a pull request. A list, not a table: paths are long, and only a list breaks them."""
    first = group[0]
    objects = concerned(group)
    fields = [f"  - {markdown.code(field_text(field))}" for field in first.fields[:6]]
    if len(first.fields) > 6:
        fields.append(f"  - and {len(first.fields) - 6} more fields")
    if several := named(group):
        fields.append(f"  - {markdown.code(several)}")
    place = where_declared(group).removeprefix("in ")
    where = f"{markdown.code(label(group))} in {markdown.code(place)}{f': {objects}' if objects else ''}"
    return [f"- **{first.verb}** {where}", *fields]
