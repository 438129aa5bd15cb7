"""Single changes of the code that the tests should notice: apply one, run the nearest tests, undo it.

    python tools/mutations.py --count 60 --seed 1
    python tools/mutations.py gitfed/planning/ordering/gate.py

A change is one that a person makes by mistake: a comparison or a condition turned around, a bound off by one, a
condition left out, the smaller for the larger. It is made in a copy of the tree. The tests that import the changed
module are run first, those of its package and the recorded vectors after them, and the first failure ends it: a change
that no test notices is printed with its line. Some survive rightly, since they mean the same; a person tells.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("placement", "planning", "render", "interpret", "edges/kube")
_OPPOSITE: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}
_FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True, slots=True)
class Mutation:
    path: Path
    """Below the root."""
    line: int
    start: int
    """Offset in the text, in bytes as `ast` counts columns."""
    end: int
    text: str

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.text.encode() + source[self.end :]


class _Finder(ast.NodeVisitor):
    """Every place of a module that can be changed."""

    def __init__(self, path: Path, source: bytes) -> None:
        self.found: list[Mutation] = []
        self._path = path
        self._source = source
        self._starts = [0]
        for line in source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def _at(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column

    def _span(self, node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._at(node.lineno, node.col_offset), self._at(node.end_lineno, node.end_col_offset)

    def _add(self, node: ast.expr, start: int, end: int, text: str) -> None:
        self.found.append(Mutation(self._path, node.lineno, start, end, text))

    def _between(self, node: ast.expr, left: ast.expr, right: ast.expr, old: str, new: str) -> None:
        start, end = self._span(left)[1], self._span(right)[0]
        found = re.search(rb"(?<![\w<>=!])" + old.replace(" ", r"\s+").encode() + rb"(?![\w<>=])",
                          self._source[start:end])  # fmt: skip
        if found:
            self._add(node, start + found.start(), start + found.end(), new)

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
            old, new = _OPPOSITE[type(operator)]
            self._between(node, left, right, old, new)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._between(node, left, right, old, new)
        for index, value in enumerate(node.values):  # left out
            start, end = self._span(value)
            if index == 0:
                self._add(value, start, end, "True" if old == "and" else "False")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            start, _ = self._span(node)
            self._add(node, start, self._span(node.operand)[0], "")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        start, end = self._span(node)
        if node.value is True or node.value is False:
            self._add(node, start, end, str(not node.value))
        elif type(node.value) is int:
            self._add(node, start, end, str(node.value + 1))

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
            self._add(node, *self._span(node.func), _FUNCTIONS[node.func.id])
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if isinstance(node.op, ast.Add | ast.Sub) and not isinstance(node.left, ast.Constant):
            old, new = ("[+]", "-") if isinstance(node.op, ast.Add) else ("-", "+")
            self._between(node, node.left, node.right, old, new)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)  # a type is no behaviour

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for default in [*node.args.defaults, *(one for one in node.args.kw_defaults if one is not None)]:
            self.visit(default)
        for statement in node.body:
            self.visit(statement)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for statement in node.body:  # what decorates it is no behaviour
            self.visit(statement)

    def visit_If(self, node: ast.If) -> None:
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            self.generic_visit(node)


def mutations_of(path: Path) -> list[Mutation]:
    source = (ROOT / path).read_bytes()
    finder = _Finder(path, source)
    finder.visit(ast.parse(source))
    return finder.found


def modules(names: list[str]) -> Iterator[Path]:
    for name in names or [f"gitfed/{package}" for package in PACKAGES]:
        place = (ROOT / name).resolve()
        found = sorted(place.rglob("*.py")) if place.is_dir() else [place]
        yield from (one.relative_to(ROOT) for one in found)


def nearest_tests(path: Path) -> list[list[str]]:
    """Lists of test files, to be run one after the other: those that import the module, those of its package."""
    parts = path.with_suffix("").parts
    imported = re.compile(
        rf"from {re.escape('.'.join(parts[:-1]))} import [^\n]*\b{parts[-1]}\b|{re.escape('.'.join(parts))}\b"
    )
    folder = next((one for one in ("/".join(parts[1:3]), parts[1]) if (ROOT / "tests" / one).is_dir()), parts[1])
    everything = sorted((ROOT / "tests").rglob("test_*.py"))
    slow = ("e2e", "clusters", "hub", "conformance")
    vectors = [ROOT / "tests/conformance"] if parts[1] in ("placement", "planning", "render", "interpret") else []
    beside = [one for one in everything if imported.search(one.read_text()) and not set(slow) & set(one.parts)]
    of_package = [one for one in everything if one.is_relative_to(ROOT / "tests" / folder) and one not in beside]
    of_plans = [ROOT / "tests/planning"] if folder.startswith(("placement", "render")) else []
    lists = [beside, of_package, of_plans, vectors]
    return [[str(one.relative_to(ROOT)) for one in found] for found in lists if found]


def copy_of_the_tree(folder: Path) -> Path:
    """Everything as it is here, the package as a copy that can be changed."""
    for entry in ROOT.iterdir():
        if entry.name == "gitfed":
            shutil.copytree(entry, folder / entry.name, ignore=shutil.ignore_patterns("__pycache__"))
        elif entry.name not in (".git", ".venv", ".pytest_cache", ".mypy_cache", ".ruff_cache"):
            (folder / entry.name).symlink_to(entry)
    return folder


def is_noticed(mutation: Mutation, tree: Path, limit: float) -> bool:
    """Whether a test fails, or takes longer than the limit, as one does that waits for what never comes."""
    place = tree / mutation.path
    kept = place.read_bytes()
    place.write_bytes(mutation.apply(kept))
    try:
        for tests in nearest_tests(mutation.path):
            command = [sys.executable, "-B", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
            try:
                done = subprocess.run(command, cwd=tree, capture_output=True, timeout=limit, check=False)
            except subprocess.TimeoutExpired:
                return True
            if done.returncode not in (0, 5):
                return True
        return False
    finally:
        place.write_bytes(kept)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", help=f"Modules or folders; default: {', '.join(PACKAGES)} of gitfed/.")
    parser.add_argument("--count", type=int, default=60, help="How many changes to try, chosen at random.")
    parser.add_argument("--seed", type=int, default=0, help="The same seed chooses the same changes.")
    parser.add_argument("--limit", type=float, default=300.0, help="Seconds for the tests of one change.")
    given = parser.parse_args()
    if missing := [path for path in given.paths if not (ROOT / path).exists()]:
        parser.error(f"there is no {missing[0]} in {ROOT.name}/")
    possible = [mutation for path in modules(given.paths) for mutation in mutations_of(path)]
    chosen = random.Random(given.seed).sample(possible, min(given.count, len(possible)))
    survived = 0
    with tempfile.TemporaryDirectory() as scratch:
        tree = copy_of_the_tree(Path(scratch))
        for mutation in chosen:
            source = (ROOT / mutation.path).read_bytes()
            noticed = is_noticed(mutation, tree, given.limit)
            survived += not noticed
            lines = mutation.apply(source).decode().splitlines()
            line = lines[mutation.line - 1].strip() if mutation.line <= len(lines) else ""
            print("noticed " if noticed else "SURVIVED", f"{mutation.path}:{mutation.line}", line, sep="  ", flush=True)
    print(f"{len(chosen)} of {len(possible)} possible changes tried, {survived} survived")
    return 0


if __name__ == "__main__":
    sys.exit(main())
