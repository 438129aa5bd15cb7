"""Rules of size and place for the source tree that a person would otherwise have to remember."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import gitfed

ROOT = Path(gitfed.__file__).parent.parent
_TEST = re.compile(r"^ *(?:async )?def (test_\w+)", re.MULTILINE)


def parameters(tree: ast.AST, inside: str = "") -> Iterator[tuple[str, int]]:
    """(name, number of parameters) of every function, without `self` and `cls`."""
    for node in ast.iter_child_nodes(tree):
        name = f"{inside}{getattr(node, 'name', '')}"
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args
            every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
            yield name, sum(one is not None and one.arg not in ("self", "cls") for one in every)
        yield from parameters(node, f"{name}." if isinstance(node, ast.ClassDef) else inside)


def test_a_tests_name_is_a_sentence_of_at_most_80_characters() -> None:
    folders = (ROOT / "tests", ROOT / "kubesim/tests")
    names = [name for folder in folders for path in folder.rglob("*.py") for name in _TEST.findall(path.read_text())]
    assert [name for name in names if len(name) > 80] == []


def test_no_folder_has_more_than_25_modules_of_its_own() -> None:
    folders = [path for path in (ROOT / "gitfed").rglob("*") if path.is_dir()]
    sizes = {path: sum(module.name != "__init__.py" for module in path.glob("*.py")) for path in folders}
    assert [str(path.relative_to(ROOT)) for path, modules in sizes.items() if modules > 25] == []


def test_a_module_has_at_most_400_lines() -> None:
    package = ROOT / "gitfed"
    lines = {str(path.relative_to(package)): len(path.read_text().splitlines()) for path in package.rglob("*.py")}
    assert [path for path, number in lines.items() if number > 400] == []


def test_a_function_has_at_most_seven_parameters() -> None:
    package = ROOT / "gitfed"
    many = [
        f"{path.relative_to(package)}: {name}"
        for path in package.rglob("*.py")
        for name, number in parameters(ast.parse(path.read_text()))
        if number > 7
    ]
    assert many == []


def test_what_tests_share_stands_outside_of_test_modules() -> None:
    taken = [
        f"{path.relative_to(ROOT)}: {node.module}.{name.name}"
        for path in (ROOT / "tests").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and re.fullmatch(r"tests\..*\.?test_\w+", node.module or "")
        for name in node.names
        if not name.name.startswith("test_")  # a test that is run again in other surroundings
    ]
    assert taken == []
