"""Problems beside lines: exact forms, because a forge drops silently what it does not understand."""

from __future__ import annotations

import json
from pathlib import Path

from gitfed.cli.output import annotations
from gitfed.model.base import Origin, Problem, Severity
from tests.cli.world import commit, gitfed

PROBLEMS = [
    Problem(Origin("apps/a b,c:d.yaml", 3, 5), "50% of it\nis wrong: ::error::x", "mend it"),
    Problem(Origin("gitfed.yaml"), "no settings", severity=Severity.WARNING),
]


def test_workflow_commands_are_escaped() -> None:
    assert annotations.github(PROBLEMS) == (
        "::error file=apps/a b%2Cc%3Ad.yaml,line=3,col=5,title=gitfed::50%25 of it\\nis wrong: ::error::x (mend it)\n"
        "::warning file=gitfed.yaml,line=1,col=1,title=gitfed::no settings\n"
    )


def test_sarif_has_what_the_standard_asks_for() -> None:
    document = json.loads(annotations.sarif(PROBLEMS))
    (run,) = document["runs"]
    assert document["version"] == "2.1.0"
    assert run["tool"]["driver"]["name"] == "gitfed"
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert {result["ruleId"] for result in run["results"]} == rules
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "apps/a%20b%2Cc%3Ad.yaml"
    assert place["region"] == {"startLine": 3, "startColumn": 5}
    assert run["results"][1]["locations"][0]["physicalLocation"]["region"] == {"startLine": 1, "startColumn": 1}
    assert [result["level"] for result in run["results"]] == ["error", "warning"]


def test_the_code_quality_report_has_stable_fingerprints() -> None:
    first, second = json.loads(annotations.gitlab(PROBLEMS))
    assert set(first) == {"description", "check_name", "fingerprint", "severity", "location"}
    assert first["location"] == {"path": "apps/a b,c:d.yaml", "lines": {"begin": 3}}
    assert first["severity"] in ("info", "minor", "major", "critical", "blocker")
    assert first["fingerprint"] != second["fingerprint"]
    moved = [Problem(Origin(PROBLEMS[0].origin.path, 30, 5), PROBLEMS[0].message, PROBLEMS[0].hint)]
    assert json.loads(annotations.gitlab(moved))[0]["fingerprint"] == first["fingerprint"]


def test_without_problems_every_form_is_complete(fleet: Path) -> None:
    assert gitfed("validate", "--format", "github").out == ""
    assert json.loads(gitfed("validate", "--format", "gitlab").out) == []
    assert json.loads(gitfed("validate", "--format", "sarif").out)["runs"][0]["results"] == []


def test_validate_annotates_and_leaves_with_the_same_code(fleet: Path) -> None:
    commit(fleet, {"apps/web.yaml": "a: [\n"})
    result = gitfed("validate", "--format", "github")
    assert result.code == 3
    assert result.out.startswith("::error file=apps/web.yaml,line=")
