"""The recorded cases of the reference, one after the other."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).parent


def cases(name: str) -> Iterator[dict[str, Any]]:
    with (HERE / f"{name}.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def failing(name: str, module: ModuleType) -> Mapping[str, list[str]]:
    found = {}
    for case in cases(name):
        assert module.matches(case), case["id"]
        if differences := module.run(case):
            found[case["id"]] = differences
    return found
