"""The operations on kinds of the catalogue."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gitfed.interpret import bundled
from gitfed.interpret.registry import Interpreter
from tests.conformance import lua, native

ROOT = Path(__file__).parents[2] / "interpreters"


@functools.cache
def interpreter() -> Interpreter:
    files = {path.relative_to(ROOT).as_posix(): path.read_text() for path in ROOT.rglob("*") if path.is_file()}
    return Interpreter([bundled.source(files, lua.runtime().run_all)])


def matches(case: Mapping[str, Any]) -> bool:
    """The id begins with the kind, then the operation."""
    return f"/{case.get('operation')}-" in case["id"] and "script" not in case and "scripts" not in case


def run(case: Mapping[str, Any]) -> list[str]:
    return native.check(case, interpreter())
