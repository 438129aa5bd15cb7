"""The difference of two values as some refusals quote it: a unified diff of their JSON.

Kubernetes: apimachinery util/diff.
"""

from __future__ import annotations

import json
from difflib import unified_diff
from typing import Any


def diff(old: Any, new: Any) -> str:
    """Hunks with three lines of context, without the names of files."""
    before, after = (json.dumps(value, indent=1, ensure_ascii=False).split("\n") for value in (old, new))
    return "".join(f"{line}\n" for line in list(unified_diff(before, after, lineterm=""))[2:])
