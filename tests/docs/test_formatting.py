"""The formatter has the last word; only tables of data are set by hand."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import gitfed

ROOT = Path(gitfed.__file__).parent
_MARK = re.compile(r"# fmt: (skip|off)")


def is_data(value: ast.expr | None) -> bool:
    """A display of constants, names and plain calls, one inside the other."""
    match value:
        case ast.Constant() | ast.Name() | ast.Attribute() | ast.JoinedStr():
            return True
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            return all(map(is_data, parts))
        case ast.Dict(keys=keys, values=values):
            return all(key is None or is_data(key) for key in keys) and all(map(is_data, values))
        case ast.Call(args=arguments, keywords=named):
            return all(map(is_data, arguments)) and all(is_data(one.value) for one in named)
        case ast.Starred(value=inner) | ast.UnaryOp(operand=inner):
            return is_data(inner)
        case ast.BinOp(left=left, right=right):
            return is_data(left) and is_data(right)
        case _:
            return False


def tables(source: str) -> Iterator[range]:
    """Lines of the data that a module or a class defines."""
    module = ast.parse(source)
    for body in (module.body, *(one.body for one in module.body if isinstance(one, ast.ClassDef))):
        for statement in body:
            if isinstance(statement, ast.Assign | ast.AnnAssign) and is_data(statement.value):
                yield range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)


def test_only_tables_of_data_are_formatted_by_hand() -> None:
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        source = path.read_text()
        lines = [number for number, line in enumerate(source.splitlines(), 1) if _MARK.search(line)]
        if lines:
            data = list(tables(source))
            found += [f"{path.relative_to(ROOT)}:{line}" for line in lines if not any(line in rows for rows in data)]
    assert found == []
