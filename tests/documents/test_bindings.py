"""Documents of the state branch that somebody edited by hand: read as far as they can be, and what cannot is said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.documents import bindings
from gitfed.errors import InputError
from gitfed.model.base import ObjectKey
from gitfed.model.keys import APPLIED_PLACEMENT, DESCHEDULED, PRUNE_ANNOTATION, REBALANCED_BY
from tests.support import spoil

BINDING: dict[str, Any] = {
    "apiVersion": "work.karmada.io/v1alpha2",
    "kind": "ResourceBinding",
    "metadata": {
        "name": "web-deployment", "namespace": "shop",
        "annotations": {
            APPLIED_PLACEMENT: "{}", bindings.UNHEALTHY: '{"m1":"2026-03-01T12:00:00Z"}',
            bindings.PRESERVED: '{"m1":{"job":"9c"}}', bindings.INJECTED: '{"m2":{"job":"9c"}}',
            PRUNE_ANNOTATION: "disabled", bindings.CLEARED: "m1", bindings.RELEASED: "m3", REBALANCED_BY: "a,b",
            DESCHEDULED: "2026-03-01T12:00:00Z 2 replicas",
            "propagationpolicy.karmada.io/namespace": "shop", "propagationpolicy.karmada.io/name": "web",
        },
    },
    "spec": {
        "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web"},
        "replicas": 2,
        "components": [{"name": "main", "replicas": 1}],
        "clusters": [{"name": "m2", "replicas": 2, "components": [{"name": "main", "replicas": 1}]}],
        "gracefulEvictionTasks": [
            {"fromCluster": "m1", "purgeMode": "Directly", "reason": "TaintUntolerated", "producer": "TaintManager",
             "creationTimestamp": "2026-03-01T12:00:00Z", "gracePeriodSeconds": 30,
             "preservedLabelState": {"job": "9c"}, "clustersBeforeFailover": ["m1"]},
        ],
        "rescheduleTriggeredAt": "2026-03-01T12:00:00Z",
        "preserveResourcesOnDeletion": True,
        "requiredBy": [{"name": "x", "resource": "Deployment.apps/shop/x", "clusters": [{"name": "m1"}]}],
        "suspension": {"scheduling": True},
    },
    "status": {
        "schedulerObservingAffinityName": "a", "lastScheduledTime": "2026-03-01T12:00:00Z",
        "conditions": [{"type": "Scheduled", "status": "True", "reason": "r", "message": "m"}],
        "aggregatedStatus": [{"clusterName": "m2"}],
    },
}  # fmt: skip


@given(st.sampled_from(spoil.places(BINDING)), spoil.JUNK)
def test_whatever_stands_in_a_member_the_document_is_read_or_refused_in_words(path: spoil.Path, value: object) -> None:
    document = spoil.spoiled(BINDING, path, value)
    try:
        decision = bindings.from_document(document)
    except InputError:
        return
    assert all(isinstance(message, str) for message in bindings.complaints(document))
    bindings.status_of(document)
    assert decision.key == bindings.from_document(bindings.to_document(decision)).key
    sorted([decision.key, bindings.from_document(BINDING).key])
    for task in decision.failover.evictions:
        _ = (task.purge_mode, task.created, task.grace, task.suppress_deletion, task.preserved, task.clusters_before)


def task(**members: Any) -> dict[str, Any]:
    return {"fromCluster": "m1", "purgeMode": "Gracefully", **members}


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        ([task(), task(fromCluster="m2", creationTimestamp="2026-03-01T12:00:00Z")], []),
        (7, ["spec.gracefulEvictionTasks: not a list: there is no task"]),
        (["m1"], ["spec.gracefulEvictionTasks[0]: not an object: no task"]),
        ([{"purgeMode": "Directly"}], ["spec.gracefulEvictionTasks[0].fromCluster: missing: no task"]),
        (
            [task(), task(suppressDeletion=False)],
            ["spec.gracefulEvictionTasks[1].fromCluster: m1 has a task already: the first counts"],
        ),
        (
            [task(purgeMode="Directy")],
            ["spec.gracefulEvictionTasks[0].purgeMode: unknown mode Directy: Gracefully counts, "
             "did you mean Directly?"],
        ),
        (
            [task(purgeMode=7, creationTimestamp="yesterday")],
            ["spec.gracefulEvictionTasks[0].purgeMode: unknown mode 7: Gracefully counts",
             "spec.gracefulEvictionTasks[0].creationTimestamp: no time: it begins now"],
        ),
        (
            [task(gracePeriodSeconds="30", suppressDeletion="no")],
            ["spec.gracefulEvictionTasks[0].gracePeriodSeconds: not a number of seconds: "
             "failover.gracefulEvictionTimeout counts",
             "spec.gracefulEvictionTasks[0].suppressDeletion: neither true nor false: nothing is suppressed"],
        ),
        (
            [task(gracePeriodSeconds=30, suppressDeletion=True)],
            ["spec.gracefulEvictionTasks[0]: gracePeriodSeconds means nothing beside suppressDeletion"],
        ),
    ],
    ids=str,
)  # fmt: skip
def test_what_of_an_eviction_task_is_not_acted_upon_is_said(tasks: object, said: list[str]) -> None:
    assert list(bindings.complaints(spoil.spoiled(BINDING, ("spec", "gracefulEvictionTasks"), tasks))) == said


def test_a_cluster_stands_once_among_the_targets() -> None:
    document = spoil.spoiled(BINDING, ("spec", "clusters"), [{"name": "m2"}, {"name": "m2", "replicas": 2}])
    with pytest.raises(InputError, match=r"^spec\.clusters names m2 twice$"):
        bindings.from_document(document)


def test_of_two_tasks_for_one_cluster_the_first_counts() -> None:
    """Otherwise the end of the one would let go of a copy that the other one keeps."""
    tasks = [task(suppressDeletion=True), task(suppressDeletion=False)]
    read = bindings.from_document(spoil.spoiled(BINDING, ("spec", "gracefulEvictionTasks"), tasks)).failover.evictions
    assert [one.raw for one in read] == tasks[:1]


def test_that_a_template_keeps_its_copies_is_read_again() -> None:
    decision = bindings.from_document(BINDING)
    assert decision.ownership.kept
    assert bindings.from_document(bindings.to_document(decision)).ownership.kept
    forgotten = bindings.to_document(replace(decision, ownership=replace(decision.ownership, kept=False)))
    assert not bindings.from_document(forgotten).ownership.kept


def test_what_was_left_behind_is_read_again() -> None:
    decision = replace(
        bindings.from_document(BINDING),
        ownership=replace(bindings.from_document(BINDING).ownership, left_behind=("eu-1", "us-1")),
    )
    assert bindings.from_document(bindings.to_document(decision)).ownership.left_behind == ("eu-1", "us-1")
    assert not bindings.from_document(
        bindings.to_document(replace(decision, ownership=replace(decision.ownership, left_behind=())))
    ).ownership.left_behind


@pytest.mark.parametrize(
    "key",
    [
        ObjectKey("apps", "Deployment", "shop", "web"),
        ObjectKey("", "ConfigMap", "shop", "kube-root-ca.crt"),
        ObjectKey("rbac.authorization.k8s.io", "ClusterRole", "", "a-b-c"),
    ],
)
def test_a_path_says_whose_binding_stands_there(key: ObjectKey) -> None:
    assert bindings.key_of_path(bindings.path_of(key)) == key


@pytest.mark.parametrize(
    "path",
    ["state.yaml", "bindings/shop", "bindings/shop/web.yaml", "bindings/a/b/web-X.y.yaml", "bindings/a/-X.y.yaml"],
)
def test_a_path_that_is_no_bindings_says_so(path: str) -> None:
    assert bindings.key_of_path(path) is None
