"""gitfed simulate, as a person calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.world import commit, program


def pinned(name: str) -> dict[str, object]:
    return {
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"name": "pinned", "namespace": "shop"},
        "spec": {
            "priority": 100, "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}],
            "placement": {"clusterAffinity": {"clusterNames": [name]}},
        },
    }  # fmt: skip


def test_a_failure_as_text_and_as_json(fleet: Path) -> None:
    text = program("simulate", "--fail", "cluster/eu-1", "--until", "20m", cwd=fleet)
    assert text.code == 0, text.err
    assert text.out.splitlines()[0] == "Timeline"
    assert "+0s  ! cluster/eu-1: fails" in text.out
    assert text.out.splitlines()[-1].startswith("Total:  ")
    found = program("simulate", "--fail", "cluster/eu-1", "-o", "json", cwd=fleet)
    document = json.loads(found.out)
    assert document["schema"] == "gitfed.io/simulation/v1"
    assert document["timeline"][0] == {"after": 0.0, "kind": "event", "text": "cluster/eu-1: fails"}
    assert set(document) == {
        "schema", "commit", "until", "timeline", "placement", "pending", "deletedOnRecovery", "losses"
    }  # fmt: skip


def test_n_minus_one_leaves_with_5_when_something_would_lose_replicas(fleet: Path) -> None:
    commit(fleet, {"policies/pinned.json": json.dumps(pinned("eu-1"))})
    found = program("simulate", "--n-minus-one", cwd=fleet)
    assert found.code == 5, found.err
    assert "cluster/eu-1: 1 workload would lose replicas" in found.out
    document = json.loads(program("simulate", "--n-minus-one", "-o", "json", cwd=fleet).out)
    assert document["schema"] == "gitfed.io/n-minus-one/v1"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "nothing happens"),
        (("--fail", "eu-1"), "--fail 'eu-1' is not TARGET or TARGET@TIME"),
        (("--fail", "cluster/nowhere"), "cluster/nowhere names no declared cluster"),
        (("--fail", "cluster/eu-1@soon"), "'soon' of 'cluster/eu-1@soon' is not a duration"),
        (("--taint", "cluster/eu-1:drain"), "--taint 'cluster/eu-1:drain' is not TARGET:KEY[=VALUE]:EFFECT[@TIME]"),
        (("--n-minus-one", "--fail", "cluster/eu-1"), "--n-minus-one takes no events"),
    ],
)
def test_what_cannot_be_meant_is_refused(fleet: Path, arguments: tuple[str, ...], said: str) -> None:
    found = program("simulate", *arguments, cwd=fleet)
    assert found.code == 2
    assert said in found.err
