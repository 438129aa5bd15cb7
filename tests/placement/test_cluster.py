"""A cluster as the filters see it."""

from __future__ import annotations

import pytest

from gitfed.model.declared.cluster import Cluster
from gitfed.model.fleet import ClusterFacts, Reach
from gitfed.placement.capacity.estimate import Capacity
from gitfed.placement.scheduling.cluster import Taint, candidate

DOCUMENT = {
    "metadata": {"name": "m1", "labels": {"env": "prod"}},
    "spec": {
        "provider": "acme",
        "region": "eu",
        "zone": "z1",
        "taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}],
    },
}


def test_a_cluster_known_from_facts_only_is_described_by_its_document() -> None:
    seen = candidate(None, ClusterFacts("m1", declared=DOCUMENT))
    assert (seen.name, seen.labels, seen.provider, seen.region, seen.zones) == (
        "m1",
        {"env": "prod"},
        "acme",
        "eu",
        ("z1",),
    )
    assert seen.taints == (Taint("gpu", "yes", "NoSchedule"),)


@pytest.mark.parametrize(
    ("reach", "taint"),
    [
        (Reach.NOT_READY, "cluster.karmada.io/not-ready:NoSchedule"),
        (Reach.UNKNOWN, "cluster.karmada.io/unreachable:NoSchedule"),
    ],
)
def test_a_cluster_that_is_not_ready_takes_no_new_work(reach: Reach, taint: str) -> None:
    seen = candidate(None, ClusterFacts("m1", reach=reach))
    assert [str(item) for item in seen.taints] == [taint]


def test_the_taint_of_a_recovered_cluster_is_gone_even_if_the_document_still_has_it() -> None:
    document = {"spec": {"taints": [{"key": "cluster.karmada.io/not-ready", "effect": "NoSchedule"}]}}
    assert candidate(None, ClusterFacts("m1", declared=document)).taints == ()
    assert len(candidate(None, ClusterFacts("m1", reach=Reach.NOT_READY, declared=document)).taints) == 1


def test_a_taint_set_for_eviction_stays() -> None:
    document = {"spec": {"taints": [{"key": "cluster.karmada.io/not-ready", "effect": "NoExecute"}]}}
    assert candidate(None, ClusterFacts("m1", declared=document)).taints == (
        Taint("cluster.karmada.io/not-ready", "", "NoExecute"),
    )


def test_a_declared_cluster_is_described_by_its_declaration() -> None:
    declared = Cluster.read(
        {
            "apiVersion": "cluster.karmada.io/v1alpha1",
            "kind": "Cluster",
            "metadata": {"name": "m1", "labels": {"env": "prod"}},
            "spec": {
                "syncMode": "Push",
                "provider": "acme",
                "region": "eu",
                "zones": ["z1", "z2"],
                "taints": [{"key": "gpu", "effect": "NoSchedule"}],
                "resourceModels": [
                    {"grade": 0, "ranges": [{"name": "cpu", "min": "0", "max": "2"}]},
                    {"grade": 1, "ranges": [{"name": "cpu", "min": "2", "max": "9223372036854775807"}]},
                ],
            },
        }
    )
    seen = candidate(declared, ClusterFacts("m1", resource_summary={"allocatable": {}}, declared=DOCUMENT))
    assert (seen.provider, seen.region, seen.zones) == ("acme", "eu", ("z1", "z2"))
    assert seen.taints == (Taint("gpu", "", "NoSchedule"),)
    assert seen.capacity == Capacity({"allocatable": {}}, {0: {"cpu": "0"}, 1: {"cpu": "2"}})


def test_a_cluster_that_reports_no_resources_has_unknown_room() -> None:
    assert candidate(None, ClusterFacts("m1")).capacity is None
