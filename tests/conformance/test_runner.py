"""The runner counts every case: what raises is one failed case, not the end of the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import __main__ as runner
from tests.conformance import overrides

GOOD = {"id": "good", "jsonPath": "{.a}", "status": {"a": "x"}, "expect": {"value": "x"}}


def written(path: Path, *cases: Any) -> Path:
    path.write_text("".join((case if isinstance(case, str) else json.dumps(case)) + "\n" for case in cases))
    return path


def removed_text() -> dict[str, Any]:
    """A case whose override removes the YAML text that is compared by meaning."""
    policy = {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "ClusterOverridePolicy",
        "metadata": {"name": "p"},
        "spec": {
            "resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap"}],
            "overrideRules": [{"overriders": {"plaintext": [{"path": "/data/app.yaml", "operator": "remove"}]}}],
        },
    }
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "n"}}
    cluster = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "m"}}
    return {
        "id": "removed",
        "cluster": {**cluster, "spec": {"syncMode": "Push"}},
        "policies": [policy],
        "template": {**body, "data": {"app.yaml": "a: 1", "k": "v"}},
        "yamlText": ["/data/app.yaml"],
        "expect": {
            "applied": {"ClusterOverridePolicy": ["p"], "OverridePolicy": []},
            "manifest": {**body, "data": {"k": "v"}},
        },
    }


def test_a_case_passes_whose_override_removes_the_compared_text() -> None:
    assert overrides.run(removed_text()) == []


def test_a_case_fails_whose_override_should_have_removed_the_compared_text() -> None:
    case = removed_text()
    case["policies"][0]["spec"]["overrideRules"] = [
        {"overriders": {"plaintext": [{"path": "/data/k", "operator": "remove"}]}}
    ]
    (difference,) = overrides.run(case)
    assert difference.startswith("manifest: got")


def test_every_case_counts_also_where_one_raises(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(
        tmp_path / "cases.jsonl",
        GOOD,
        {"id": "no-expectation", "jsonPath": "{.a}", "status": {}},
        "{not json",
        {"jsonPath": "{.a}"},
        {"id": "unknown-shape"},
        {**GOOD, "id": "wrong", "status": {"a": "y"}},
        {**GOOD, "id": "last"},
    )
    assert runner.main([str(file)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "cases.jsonl: no-expectation",
        "  raised KeyError: 'expect'",
        "cases.jsonl: line 3",
        "  raised JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        "cases.jsonl: line 4",
        "  raised KeyError: 'id'",
        "cases.jsonl: unknown-shape",
        "  no code of this project runs a case of this shape",
        "cases.jsonl: wrong",
        "  expected 'x'",
        "  actual   'y'",
        "2 passed, 5 failed",
    ]
