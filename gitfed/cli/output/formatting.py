"""Small words of every printer: commits, times, counts."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from gitfed.model.base import Commit
from gitfed.model.fleet import FactsRef


def program() -> str:
    """How this program can be called again from a shell: by its name if that is on PATH, else by its path."""
    if shutil.which("gitfed"):
        return "gitfed"
    script = Path(sys.argv[0])
    if script.name == "gitfed" and script.is_file():
        return str(script.absolute())
    return f"{sys.executable} -m gitfed"


def commit(name: Commit | None) -> str:
    """`3f2c1a9`; a worktree has no commit."""
    if name is None:
        return "nothing"
    return name[:7] or "the worktree"


def facts(ref: FactsRef) -> str:
    """`facts 2026-08-22T10:04Z sha256:51c0…`, or where they come from when they were not observed."""
    if ref.source == "assumed":
        return "facts assumed"
    parts = ["facts"] if ref.source == "facts branch" else [f"facts {ref.source}"]
    if ref.taken_at is not None:
        parts.append(ref.taken_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%MZ"))
    if ref.digest:
        parts.append(f"sha256:{ref.digest.removeprefix('sha256:')[:4]}…")
    return " ".join(parts)


def time(when: datetime) -> str:
    """RFC 3339, UTC, whole seconds."""
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def count(number: int, noun: str, plural: str = "") -> str:
    """`1 cluster`, `4 clusters`."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def some(names: Sequence[str], *, most: int = 8) -> str:
    """`a b c`; of many the first ones and how many more."""
    if len(names) <= most:
        return " ".join(names)
    return f"{' '.join(names[: most - 1])} and {len(names) - most + 1} more"


def age(now: datetime, then: datetime) -> str:
    """kubectl's AGE: one or two units."""
    seconds = max(0, int((now - then).total_seconds()))
    for size, unit, limit in ((1, "s", 120), (60, "m", 180 * 60), (3600, "h", 48 * 3600)):
        if seconds < limit:
            return f"{seconds // size}{unit}"
    return f"{seconds // 86400}d"


def value(data: object) -> str:
    """As JSON: `true` and `"true"` are not the same."""
    return json.dumps(data, ensure_ascii=False, default=str)
