"""What an API server would have filled in."""

from __future__ import annotations

from typing import Any

import pytest

from gitfed.interpret import defaults


def body(api_version: str, kind: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "ReplicaSet"])
def test_a_workload_without_replicas_has_one(kind: str) -> None:
    assert defaults.filled_in(body("apps/v1", kind))["spec"] == {"replicas": 1}


def test_zero_replicas_stay_zero() -> None:
    given = body("apps/v1", "Deployment", replicas=0)
    assert defaults.filled_in(given) is given


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, {"parallelism": 1, "completions": 1}),
        ({"completions": 5}, {"completions": 5, "parallelism": 1}),
        ({"parallelism": 3}, {"parallelism": 3}),
    ],
)
def test_a_job_runs_one_pod_unless_it_says_otherwise(spec: dict[str, int], expected: dict[str, int]) -> None:
    assert defaults.filled_in(body("batch/v1", "Job", **spec))["spec"] == expected


def test_other_kinds_of_the_same_name_are_left_alone() -> None:
    given = body("batch.volcano.sh/v1alpha1", "Job")
    assert defaults.filled_in(given) is given
