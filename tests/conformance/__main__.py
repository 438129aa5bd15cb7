"""python -m tests.conformance [--only ID,ID] FILE.jsonl[.gz] …

Runs recorded cases through this project and prints what differs: the id, then expected and actual. Ends with the line
`N passed, N failed`; exit code 1 if any failed. Which code runs a case is decided by the case's own shape: every
module of this package with `matches(case)` and `run(case)` is asked in the order of names.

Every line of a file counts as one case: what cannot be read, and what raises while it runs, is a failed one that says
so, and the next is run.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import pkgutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import tests.conformance


def backends() -> list[ModuleType]:
    """Every module of this package that can run cases."""
    names = sorted(entry.name for entry in pkgutil.iter_modules(tests.conformance.__path__))
    modules = [importlib.import_module(f"tests.conformance.{name}") for name in names if not name.startswith("_")]
    return [module for module in modules if hasattr(module, "matches") and hasattr(module, "run")]


def lines(path: Path) -> Iterator[tuple[int, str]]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield number, line


def run_file(path: Path, modules: list[ModuleType], only: set[str] | None) -> Iterator[tuple[str, list[str]]]:
    """(id, differences) of each case, in the order of the file. A case without an id is called by its line."""
    for number, line in lines(path):
        name = f"line {number}"
        try:
            case = json.loads(line)
            name = case["id"]
            if only is None or name in only:
                yield name, _run(case, modules)
        except Exception as error:  # noqa: BLE001 — whatever it is, it is the failure of this case and of no other
            yield name, [f"raised {type(error).__name__}: {error}"]


def _run(case: dict[str, Any], modules: list[ModuleType]) -> list[str]:
    module = next((module for module in modules if module.matches(case)), None)
    return module.run(case) if module else ["no code of this project runs a case of this shape"]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description="Run recorded cases.")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.jsonl[.gz]")
    parser.add_argument("--only", help="ids, separated by commas")
    given = parser.parse_args(argv)
    only = set(given.only.split(",")) if given.only else None
    modules = backends()
    passed = failed = 0
    for path in given.files:
        for name, differences in run_file(path, modules, only):
            if not differences:
                passed += 1
                continue
            failed += 1
            print(f"{path.name}: {name}")
            for line in differences:
                print(f"  {line}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
