"""gitfed simulate, as a person calls it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.world import commit, gitfed, golden


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
    text = gitfed("simulate", "--fail", "cluster/eu-1", "--until", "20m")
    assert text.code == 0, text.err
    assert text.out.splitlines()[0] == "Timeline"
    assert "+0s  ! cluster/eu-1: fails" in text.out
    assert text.out.splitlines()[-1].startswith("Total:  ")
    found = gitfed("simulate", "--fail", "cluster/eu-1", "-o", "json")
    document = json.loads(found.out)
    assert document["schema"] == "gitfed.io/simulation/v1"
    assert document["timeline"][0] == {"after": 0.0, "kind": "event", "text": "cluster/eu-1: fails"}
    assert set(document) == {
        "schema", "commit", "until", "timeline", "placement", "pending", "deletedOnRecovery", "losses", "fallsDue",
        "loadNotPlayed",
    }  # fmt: skip


def test_the_words_of_a_rehearsal(fleet: Path) -> None:
    """Golden: read each line when it changes."""
    arguments = ("--now", "2026-03-01T12:00:00Z", "--fail", "cluster/eu-1@1m", "--recover", "cluster/eu-1@20m")
    golden("simulate.txt", gitfed("simulate", *arguments).out)
    golden("simulate-early.txt", gitfed("simulate", *arguments[:4], "--until", "4m").out)
    golden("simulate-each.txt", gitfed("simulate", *arguments[:2], "--n-minus-one").out)


def test_the_reason_of_a_taint_is_told_once_at_a_moment_and_whole_in_json(fleet: Path) -> None:
    arguments = ("--taint", "cluster/eu-1:drain=now:NoExecute", "--now", "2026-03-01T12:00:00Z")
    lines = gitfed("simulate", *arguments).out.splitlines()
    why = "taint drain=now:NoExecute since 2026-03-01T12:00:00Z"
    assert [line for line in lines if why in line] == [
        f"       +0s    ConfigMap/shop/settings leaves eu-1 (Gracefully, TaintUntolerated: {why})"
    ]
    assert "       +0s    ConfigMap/shop/settings → eu-2 us-1 (by PropagationPolicy/shop/rest)" in lines
    assert "       +0s    Secret/shop/database leaves eu-1 (Gracefully, TaintUntolerated)" in lines
    told = json.loads(gitfed("simulate", *arguments, "-o", "json").out)
    texts = [one["text"] for one in told["timeline"]]
    assert f"Secret/shop/database leaves eu-1 (Gracefully, TaintUntolerated: {why})" in texts
    assert f"ConfigMap/shop/settings → eu-2 us-1 (leaves eu-1: {why} by PropagationPolicy/shop/rest)" in texts


def test_the_page_names_every_member(fleet: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "simulation-json.md").read_text()
    commit(fleet, {"policies/pinned.json": json.dumps(pinned("eu-1"))})
    told = json.loads(gitfed("simulate", "--fail", "cluster/eu-1", "--until", "12m", "-o", "json").out)
    each = json.loads(gitfed("simulate", "--n-minus-one", "-o", "json").out)

    lost = [loss for one in each["targets"] for loss in one["losses"]] or told["losses"]
    resource = {"group", "kind", "namespace", "name"}
    for text, members in zip(
        page.split("\n## "), (set(told), set(told["placement"][0]), set(lost[0]), set(each) | set(each["targets"][0])),
        strict=True,
    ):  # fmt: skip
        named = {word.removesuffix("[]") for word in re.findall(r"`([^` ]+)`", text)}
        assert members <= named
    assert set(told["pending"][0]) == {*resource, "reason"}


def test_a_cluster_that_is_recorded_as_away_is_away_from_the_start_and_may_come_back(
    fleet: Path, tmp_path: Path
) -> None:
    facts = tmp_path / "fleet.yaml"
    facts.write_text(
        "apiVersion: cluster.karmada.io/v1alpha1\nkind: Cluster\nmetadata: {name: eu-1}\nspec: {syncMode: Push}\n"
        'status: {conditions: [{type: Ready, status: "False"}]}\n'
    )
    found = gitfed("simulate", "--fleet", str(facts), "--recover", "cluster/eu-1@1m", "--until", "5m")
    assert found.code == 0, found.err
    assert found.out.splitlines()[1:3] == [
        "       +0s  ! cluster/eu-1: is away, as recorded",
        "     +1m0s  ! cluster/eu-1: comes back",
    ]


def test_n_minus_one_leaves_with_5_when_something_would_lose_replicas(fleet: Path) -> None:
    commit(fleet, {"policies/pinned.json": json.dumps(pinned("eu-1"))})
    found = gitfed("simulate", "--n-minus-one")
    assert found.code == 5, found.err
    assert "cluster/eu-1: 1 workload would lose replicas" in found.out
    document = json.loads(gitfed("simulate", "--n-minus-one", "-o", "json").out)
    assert document["schema"] == "gitfed.io/n-minus-one/v1"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "nothing happens"),
        (("--fail", "eu-1"), "--fail 'eu-1' is not TARGET or TARGET@TIME"),
        (
            ("--fail", "cluster/nowhere"),
            "cluster/nowhere names no declared cluster\nhint: gitfed get clusters -o wide lists them",
        ),
        (("--fail", "cluster/eu1"), "cluster/eu1 names no declared cluster\nhint: did you mean cluster/eu-1?"),
        (("--fail", "cluster/eu-1@40m"), "--fail cluster/eu-1 at +40m0s is after the end, +30m0s\nhint: raise --until"),
        (("--fail", "cluster/eu-1@-5m"), "'-5m' of 'cluster/eu-1@-5m' is not a duration"),
        (
            ("--fail", "cluster/eu-1", "--until", "999999999h"),
            "--until +999999999h0m0s is more than a rehearsal plays, +720h0m0s\nhint: such as 30m or 24h",
        ),
        (("--fail", "cluster/eu-1", "--until", "-5m"), "'-5m' is not a duration, such as 90s, 10m or 1h30m"),
        (("--recover", "cluster/eu-1"), "--recover cluster/eu-1: nothing of it has failed by +15m0s"),
        (
            ("--fail", "cluster/eu-1@2m", "--recover", "cluster/eu-1@1m"),
            "--recover cluster/eu-1: nothing of it has failed by +1m0s\nhint: name --fail with an earlier time",
        ),
        (("--fail", "cluster/eu-1@soon"), "'soon' of 'cluster/eu-1@soon' is not a duration"),
        (("--taint", "cluster/eu-1:drain"), "--taint 'cluster/eu-1:drain' is not TARGET:KEY[=VALUE]:EFFECT[@TIME]"),
        (("--n-minus-one", "--fail", "cluster/eu-1"), "--n-minus-one takes no events"),
    ],
)
def test_what_cannot_be_meant_is_refused(fleet: Path, arguments: tuple[str, ...], said: str) -> None:
    found = gitfed("simulate", *arguments)
    assert found.code == 2
    assert said in found.err
