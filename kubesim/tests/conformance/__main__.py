"""python -m tests.conformance [--only ID,ID] FILE.jsonl …

Holds recorded conversations with a cluster of this package and prints what differs: the id, then each difference. Ends
with the line `N passed, N failed`; exit code 1 if any failed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.conformance import apiserver


def cases(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description="Hold recorded conversations.")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.jsonl")
    parser.add_argument("--only", help="ids, separated by commas")
    given = parser.parse_args(argv)
    only = set(given.only.split(",")) if given.only else None
    failed = total = 0
    for path in given.files:
        chosen = [case for case in cases(path) if only is None or case["id"] in only]
        for case, differences in zip(chosen, apiserver.run_many(chosen), strict=True):
            total += 1
            failed += bool(differences)
            for line in [f"{path.name}: {case['id']}", *(f"  {line}" for line in differences)] if differences else []:
                print(line)
    print(f"{total - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
