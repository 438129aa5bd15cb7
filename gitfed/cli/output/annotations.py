"""Problems in the forms that forges and editors put beside lines of a file.

    sarif     SARIF 2.1.0 (OASIS): code scanning of GitHub and others, editors
    github    workflow commands ("Workflow commands for GitHub Actions"): annotations of a job without further rights
    gitlab    Code Quality report ("Code Quality report format"): annotations in a merge request

Paths are relative to the root of the repository. A problem of a file as a whole stands on its first line.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from gitfed import __version__
from gitfed.cli.output import plain, structured
from gitfed.model.base import Problem, Severity

_SARIF = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_RULES = {Severity.ERROR: "invalid", Severity.WARNING: "suspicious"}
_TEXTS = {
    "invalid": "The file cannot be used as it is: its objects stay at their last good version.",
    "suspicious": "Valid, but probably not meant.",
}


def sarif(problems: Sequence[Problem]) -> str:
    rules = [{"id": name, "shortDescription": {"text": text}} for name, text in _TEXTS.items()]
    driver = {"name": "gitfed", "version": __version__, "rules": rules}
    results = [
        {
            "ruleId": _RULES[problem.severity],
            "level": "error" if problem.severity is Severity.ERROR else "warning",
            "message": {"text": _message(problem)},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": quote(_path(problem)), "uriBaseId": "%SRCROOT%"},
                        "region": {
                            "startLine": max(1, problem.origin.line),
                            "startColumn": max(1, problem.origin.column),
                        },
                    }
                }
            ],
            "partialFingerprints": {"problem/v1": _fingerprint(problem)},
        }
        for problem in problems
    ]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return _json({"$schema": _SARIF, "version": "2.1.0", "runs": [run]})


def github(problems: Sequence[Problem]) -> str:
    lines = []
    for problem in problems:
        word = "error" if problem.severity is Severity.ERROR else "warning"
        place = (
            f"file={_property(_path(problem))},line={max(1, problem.origin.line)},col={max(1, problem.origin.column)}"
        )
        lines.append(f"::{word} {place},title=gitfed::{_data(_message(problem))}\n")
    return "".join(lines)


def gitlab(problems: Sequence[Problem]) -> str:
    return _json(
        [
            {
                "description": _message(problem),
                "check_name": f"gitfed-{_RULES[problem.severity]}",
                "fingerprint": _fingerprint(problem),
                "severity": "critical" if problem.severity is Severity.ERROR else "minor",
                "location": {"path": _path(problem), "lines": {"begin": max(1, problem.origin.line)}},
            }
            for problem in problems
        ]
    )


FORMS: Mapping[str, Callable[[Sequence[Problem]], str]] = {"sarif": sarif, "github": github, "gitlab": gitlab}


def _path(problem: Problem) -> str:
    return plain.clean(problem.origin.path)


def _message(problem: Problem) -> str:
    return plain.clean(problem.message + (f" ({problem.hint})" if problem.hint else ""))


def _fingerprint(problem: Problem) -> str:
    """The same while lines above it come and go, so that a forge knows it again."""
    return hashlib.sha256(f"{_path(problem)}\0{problem.severity}\0{_message(problem)}".encode()).hexdigest()[:40]


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _json(value: Any) -> str:
    return structured.json_text(value) + "\n"
