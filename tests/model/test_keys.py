"""Labels and annotations are spelled in one place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import gitfed
from gitfed.model import keys

PACKAGE = Path(gitfed.__file__).parent
KEY = re.compile(r"(?:[a-z0-9-]+\.)*(?:(?:gitfed|karmada)\.io|app\.kubernetes\.io)/[A-Za-z0-9._-]*")
VERSION = re.compile(r"/v[0-9]+((alpha|beta)[0-9]+)?$")
"""The end of an apiVersion, or of a schema of `-o json`."""
ELSEWHERE = {
    ("cli/commands/look/top.py", "gitfed.io/top-"): "the beginning of a schema's name",
    ("cli/output/listing.py", "gitfed.io/"): "the beginning of a schema's name",
    ("documents/facts.py", "cluster.karmada.io/"): "the group of an apiVersion",
    ("cli/demo/flink.py", "resourcebinding.karmada.io/failover-jobid"): "a name that the demo's own policy chose",
}


def literals(path: Path) -> Iterator[str]:
    """Strings of the program, without docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.value


def test_no_label_or_annotation_is_spelled_anywhere_else() -> None:
    known = {value for name, value in vars(keys).items() if name.isupper() and name != "MANAGER"}
    found = set()
    for path in PACKAGE.rglob("*.py"):
        if path == Path(keys.__file__):
            continue
        for text in literals(path):
            if text in known or (KEY.fullmatch(text) and not VERSION.search(text)):
                found.add((path.relative_to(PACKAGE).as_posix(), text))
    assert found == set(ELSEWHERE)


def test_each_of_them_has_one_name() -> None:
    values = [value for name, value in vars(keys).items() if name.isupper()]
    assert len(values) == len(set(values))
