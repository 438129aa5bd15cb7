"""`gitfed top` and the wide list of clusters: how full they are, by the facts that decisions are taken from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from gitfed.views import capacity
from tests.cli.world import gitfed
from tests.clusters.embedded import EmbeddedFleet
from tests.clusters.rest import Endpoint

FACTS = """\
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: eu-1}
status:
  conditions:
  - {type: Ready, status: "True", reason: ClusterReady}
  resourceSummary:
    allocatable: {cpu: "12", memory: 24Gi, pods: "330"}
    allocated: {cpu: 1850m, memory: 3Gi, pods: "12"}
    allocating: {cpu: "1", pods: "1"}
  nodeClasses:
  - {count: 2, allocatable: {cpu: "4", memory: 8Gi, pods: "110"}, free: {cpu: "3", memory: 8Gi, pods: "100"}}
  - count: 1
    name: eu-1-c
    allocatable: {cpu: "4", memory: 8Gi, pods: "110"}
    free: {cpu: "0", memory: 1536Mi, pods: "0"}
    ready: false
    unschedulable: true
    taints: [{key: dedicated, value: gpu, effect: NoSchedule}]
---
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: us-1}
status:
  conditions:
  - {type: Ready, status: "False", reason: ClusterNotReachable}
  - {type: CapacityKnown, status: "False", message: "pods: pods is forbidden"}
  resourceSummary:
    allocatable: {cpu: "2"}
    allocated: {cpu: "3"}
"""


@pytest.fixture
def facts(fleet: Path, tmp_path: Path) -> Path:
    path = tmp_path / "fleet.yaml"
    path.write_text(FACTS)
    return path


def test_clusters(facts: Path) -> None:
    result = gitfed("top", "clusters", "eu-1", "us-1", "--fleet", facts)
    assert result.code == 0
    assert result.out == (
        """\
NAME   READY   NODES   CPU       CPU%   MEMORY     MEMORY%   PODS     PODS%
eu-1   True    2/3     2.85/12   24%    3Gi/24Gi   13%       13/330   4%
us-1   False   –       3/2       150%   –          –         –        –
"""
    )
    assert result.err.splitlines() == [
        "note: us-1: last known, the cluster cannot be read now",
        "note: us-1: last known, pods: pods is forbidden",
    ]


def test_nodes_that_are_alike_stand_in_one_line(facts: Path) -> None:
    result = gitfed("top", "nodes", "eu-1", "--fleet", facts)
    assert result.out == (
        """\
CLUSTER   NAME      CPU   CPU%   MEMORY      MEMORY%   PODS      PODS%   MARKS
eu-1      2 alike   1/4   25%    0/8Gi       0%        10/110    10%     –
eu-1      eu-1-c    4/4   100%   6.5Gi/8Gi   82%       110/110   100%    cordoned not ready dedicated:NoSchedule
"""
    )


@pytest.mark.parametrize(("by", "first"), [("name", "eu-1"), ("cpu", "us-1"), ("memory", "eu-1"), ("pods", "eu-1")])
def test_the_fullest_first(facts: Path, by: str, first: str) -> None:
    out = gitfed("top", "clusters", "--fleet", facts, "--sort-by", by).out
    assert out.splitlines()[1].split()[0] == first


def test_clusters_of_which_no_room_is_known_are_named(facts: Path) -> None:
    result = gitfed("top", "clusters", "eu-2", "--fleet", facts)
    assert result.out.splitlines()[1].split() == ["eu-2", "assumed", *"–" * 7]
    assert result.err == (
        "note: room of eu-2 is not known: it is watched once a policy asks for it, and --live reads it now\n"
    )


def test_a_cluster_that_does_not_exist_is_an_error(facts: Path) -> None:
    result = gitfed("top", "nodes", "eu-7", "--fleet", facts)
    assert (result.code, result.err.splitlines()[0]) == (2, "error: no cluster 'eu-7' (did you mean eu-2?)")


def test_programs_get_exact_numbers(facts: Path) -> None:
    clusters = json.loads(gitfed("top", "clusters", "eu-1", "--fleet", facts, "-o", "json").out)
    assert clusters["schema"] == "gitfed.io/top-clusters/v1"
    assert clusters["items"][0]["nodes"] == {"total": 3, "ready": 2}
    assert clusters["items"][0]["room"]["cpu"] == {"allocatable": 12, "requested": 2.85}
    assert clusters["items"][0]["room"]["memory"] == {"allocatable": 24 * 2**30, "requested": 3 * 2**30}
    nodes = json.loads(gitfed("top", "nodes", "eu-1", "--fleet", facts, "-o", "json").out)["items"]
    assert [(node["name"], node["count"], node["room"]["pods"]["requested"]) for node in nodes] == [
        ("", 2, 10),
        ("eu-1-c", 1, 110),
    ]


def test_the_wide_list_of_clusters_shows_room(facts: Path) -> None:
    lines = gitfed("get", "clusters", "eu-1", "--fleet", facts, "-o", "wide").out.splitlines()
    head = [
        "PROVIDER",
        "ZONES",
        "REMEDY-ACTIONS",
        "API-ENDPOINT",
        "PROXY-URL",
        "NODES",
        "CPU",
        "MEMORY",
        "PODS",
        "FILE",
    ]
    assert lines[0].split()[-10:] == head
    assert lines[1].split()[-5:-1] == ["2/3", "2.85/12", "3Gi/24Gi", "13/330"]


@pytest.mark.parametrize(
    ("name", "nano", "text"),
    [
        ("cpu", 0, "0"), ("cpu", 100 * 10**9, "100"), ("cpu", 10**7, "0.01"), ("cpu", 10**6, "0"),
        ("memory", 512 * 10**9, "512"), ("memory", 3 * 2**29 * 10**9, "1.5Gi"), ("memory", 2**50 * 10**9, "1024Ti"),
        ("memory", -(2**30) * 10**9, "-1Gi"), ("pods", 110 * 10**9, "110"),
    ],
)  # fmt: skip
def test_amounts_are_short(name: str, nano: int, text: str) -> None:
    assert capacity.amount(name, nano) == text


@pytest.mark.e2e
def test_live_clusters_are_read_whether_a_policy_asks_for_their_room_or_not(
    fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with EmbeddedFleet(["eu-1", "eu-2", "us-1"], tmp_path) as clusters:
        monkeypatch.setenv("KUBECONFIG", str(clusters.kubeconfig))
        where = Endpoint.of(yaml.safe_load(clusters.kubeconfig.read_text()), "eu-1")
        where.request("POST", "/api/v1/nodes", {"metadata": {"name": "n1"}})
        status = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}
        where.request("PATCH", "/api/v1/nodes/n1/status", {"status": status}, "application/merge-patch+json")
        result = gitfed("top", "nodes", "eu-1", "--live")
        assert result.code == 0
        (line,) = result.out.splitlines()[1:]
        assert line.split()[:6] == ["eu-1", "n1", "0/4", "0%", "0/8Gi", "0%"]
        clusters.servers["us-1"].kill()
        result = gitfed("top", "clusters", "--live")
        assert result.code == 4
        assert [line.split()[:2] for line in result.out.splitlines()[1:]] == [
            ["eu-1", "True"],
            ["eu-2", "True"],
            ["us-1", "Unknown"],
        ]
