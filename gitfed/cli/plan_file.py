"""A reviewed plan in a file: what was decided and what would change, with a digest, and no manifest bodies.

`gitfed apply FILE` builds the plan again from the same commit and refuses when decisions or changes are not the
reviewed ones. The digest says *whether*; what stands beside it says *what* is different.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from gitfed.edges import files
from gitfed.errors import InputError, UsageError
from gitfed.model.base import Commit, Digest
from gitfed.model.plan import Plan
from gitfed.text.values import dataclass
from gitfed.views import plans

SCHEMA = "gitfed.io/planfile/v1"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Saved:
    path: Path
    commit: Commit
    digest: Digest
    decisions: dict[str, dict[str, Any]]
    changes: dict[str, str]


def write(path: Path, plan: Plan) -> None:
    """Readable by its owner alone. Raises UsageError."""
    content = {
        "schema": SCHEMA,
        "schemaVersion": VERSION,
        "commit": plan.commit,
        "digest": plan.digest,
        "facts": plans.document(plan)["facts"],
        **_compared(plan),
    }
    check_folder(path)
    try:
        files.write_atomically(path, orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


def check_folder(path: Path) -> None:
    """Raises UsageError: better said before the clusters are asked."""
    if not path.parent.is_dir():
        raise UsageError(f"{path}: no such folder {path.parent}")


def read(path: Path) -> Saved:
    """Raises InputError."""
    try:
        content = orjson.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path}: this is not a plan file: {error}") from error
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise InputError(f"{path}: this is not a plan file", hint="made by: gitfed plan --out FILE")
    version = content.get("schemaVersion")
    if not isinstance(version, int) or version > VERSION:
        raise InputError(f"{path}: schemaVersion {version} is newer than this gitfed", hint=f"it reads up to {VERSION}")
    for member, shape in (("commit", str), ("digest", str), ("decisions", dict), ("changes", dict)):
        if not isinstance(content.get(member), shape):
            raise InputError(f"{path}: {member} is missing")
    return Saved(path, Commit(content["commit"]), Digest(content["digest"]), content["decisions"], content["changes"])


def differences(saved: Saved, plan: Plan) -> list[str]:
    """What is not as reviewed; empty when the plan is the reviewed one."""
    if saved.digest == plan.digest:
        return []
    lines = []
    if saved.commit != plan.commit:
        lines.append(f"commit: {saved.commit[:12]} → {plan.commit[:12]}")
    now = _compared(plan)
    for title, before, after in (
        ("decision", saved.decisions, now["decisions"]),
        ("change", saved.changes, now["changes"]),
    ):
        for name in sorted(before.keys() | after.keys()):
            if before.get(name) != after.get(name):
                lines.append(f"{title} {name}: {_text_of(before.get(name))} → {_text_of(after.get(name))}")
    return lines or ["the rendered manifests"]


def _compared(plan: Plan) -> dict[str, Any]:
    return {
        "decisions": {
            str(key): {share.cluster: share.replicas for share in binding.scheduled.shares}
            for key, binding in plan.bindings.items()
        },
        "changes": {
            f"{change.cluster} {change.key}": f"{change.action.value}{f': {change.reason}' if change.reason else ''}"
            for change in plan.changes or ()
        },
    }


def _text_of(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return " ".join(name if number is None else f"{name}={number}" for name, number in value.items()) or "nowhere"
    return str(value)
