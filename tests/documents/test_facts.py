"""Facts as documents: what is written reads back as the same facts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.documents import facts
from gitfed.model.fleet import ApiEnablements, ClusterCondition, ClusterFacts, NodeFacts, QuotaFacts, Reach
from gitfed.text import emit, yaml

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
TAINT = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}


def full() -> ClusterFacts:
    return ClusterFacts(
        "eu-1",
        Reach.READY,
        (
            ClusterCondition("CompleteAPIEnablements", "True", "Complete", "", NOW),
            ClusterCondition("Ready", "True", "ClusterReady", "cluster is healthy", NOW),
        ),
        ApiEnablements(frozenset({("v1", "Pod"), ("v1", "Node"), ("apps/v1", "Deployment")})),
        "v1.36.2",
        {"allocatable": {"cpu": "12"}, "allocatableModelings": [{"grade": 1, "count": 3}]},
        (
            NodeFacts("", {"cpu": "4", "memory": "8Gi"}, {"cpu": "1500m"}, {"zone": "a"}, count=2),
            NodeFacts("n3", {"cpu": "4"}, {"cpu": "5"}, {}, (TAINT,), unschedulable=True, ready=False),
        ),
        (QuotaFacts("shop", "q", {"cpu": "9"}, {"cpu": "2"}, (("In", ("high",)),)),),
    )


def test_a_whole_document() -> None:
    assert emit.dump(facts.to_document(full())) == (
        """\
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata:
  name: eu-1
status:
  apiEnablements:
  - groupVersion: apps/v1
    resources:
    - kind: Deployment
  - groupVersion: v1
    resources:
    - kind: Node
    - kind: Pod
  conditions:
  - lastTransitionTime: 2026-03-01T12:00:00Z
    reason: Complete
    status: "True"
    type: CompleteAPIEnablements
  - lastTransitionTime: 2026-03-01T12:00:00Z
    message: cluster is healthy
    reason: ClusterReady
    status: "True"
    type: Ready
  kubernetesVersion: v1.36.2
  nodeClasses:
  - allocatable:
      cpu: "4"
      memory: 8Gi
    count: 2
    free:
      cpu: 2500m
      memory: 8Gi
    labels:
      zone: a
  - allocatable:
      cpu: "4"
    count: 1
    free:
      cpu: "-1"
    name: n3
    ready: false
    taints:
    - effect: NoSchedule
      key: dedicated
      value: gpu
    unschedulable: true
  nodeSummary:
    readyNum: 2
    totalNum: 3
  resourceQuotas:
  - hard:
      cpu: "9"
    name: q
    namespace: shop
    priorityClasses:
    - operator: In
      values:
      - high
    used:
      cpu: "2"
  resourceSummary:
    allocatable:
      cpu: "12"
    allocatableModelings:
    - count: 3
      grade: 1
"""
    )


def again(known: ClusterFacts) -> ClusterFacts:
    (document,) = yaml.load_all(emit.dump(facts.to_document(known)).encode())
    return facts.from_document(document)


def told(known: ClusterFacts) -> list[object]:
    """Everything but the document that it was read from."""
    return [
        known.name, known.reach, known.conditions, known.apis, known.kubernetes_version, known.resource_summary,
        known.nodes, known.quotas,
    ]  # fmt: skip


def test_written_facts_read_back() -> None:
    assert told(again(full())) == told(full())


CONDITIONS = st.lists(
    st.builds(
        ClusterCondition,
        st.sampled_from(["Ready", "CompleteAPIEnablements", "Other"]),
        st.sampled_from(["True", "False", "Unknown"]),
        st.sampled_from(["", "Why"]),
        st.text(alphabet="ab: '\n", max_size=5),
        st.sampled_from([None, NOW]),
    ),
    unique_by=lambda condition: condition.type,
    max_size=3,
)
LABELS = st.dictionaries(st.sampled_from(["zone", "disk"]), st.sampled_from(["a", "", "1"]))
AMOUNTS = st.fixed_dictionaries({"cpu": st.sampled_from(["1", "250m", "4"]), "memory": st.sampled_from(["1Gi", "2Ti"])})
NODES = st.builds(
    NodeFacts,
    st.sampled_from(["", "n1"]),
    AMOUNTS,
    st.one_of(st.just({}), AMOUNTS),
    LABELS,
    st.sampled_from([(), (TAINT,)]),
    st.booleans(),
    st.booleans(),
    st.integers(0, 1000),
)


@given(
    st.builds(
        ClusterFacts,
        st.just("m1"),
        st.sampled_from(Reach),
        CONDITIONS.map(tuple),
        st.none(),
        st.sampled_from(["", "v1.36.2"]),
        st.sampled_from([None, {"allocatable": {"cpu": "1"}}]),
        st.lists(NODES, max_size=3).map(tuple),
    )
)
def test_any_facts_read_back(known: ClusterFacts) -> None:
    assert told(again(known)) == told(known)


@pytest.mark.parametrize("reach", list(Reach))
def test_reach_is_kept_where_conditions_would_tell_another(reach: Reach) -> None:
    condition = ClusterCondition("Ready", "False", "ClusterNotReachable", "no answer", NOW)
    document = facts.to_document(ClusterFacts("m1", reach, (condition,)))
    assert facts.from_document(document).reach is reach
    assert ("annotations" in document["metadata"]) is (reach is not Reach.NOT_READY)


@pytest.mark.parametrize(
    ("item", "requested"),
    [
        pytest.param({"allocatable": {"cpu": "4"}, "free": {"cpu": "1"}}, {"cpu": "3"}, id="free"),
        pytest.param({"allocatable": {"cpu": "4"}, "requested": {"cpu": "3"}}, {"cpu": "3"}, id="requested"),
        pytest.param({"free": {"cpu": "1"}}, {}, id="only free: all of it is there"),
        pytest.param({"allocatable": {"cpu": "4"}}, {}, id="neither: nothing is in use"),
        pytest.param({"allocatable": {"cpu": "4"}, "free": {"cpu": "x"}}, {}, id="no quantity"),
    ],
)
def test_a_class_written_by_hand(item: dict[str, Any], requested: dict[str, str]) -> None:
    document = {"metadata": {"name": "m1"}, "status": {"nodeClasses": [item]}}
    assert facts.from_document(document).nodes[0].requested == requested
