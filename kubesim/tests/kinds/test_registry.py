"""What holds for every built-in kind, whatever it means."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import pytest

from kubesim.kind import Kind
from tests.kinds import made

Body = dict[str, Any]

POD_SPEC: Body = {
    "containers": [
        {
            "name": "c",
            "image": "nginx",
            "ports": [{"containerPort": 80}],
            "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
            "livenessProbe": {"httpGet": {"port": 80}},
            "resources": {"limits": {"cpu": "0.5"}},
        }
    ],
    "initContainers": [{"name": "i", "image": "x:1"}],
    "volumes": [{"name": "v", "configMap": {"name": "c"}}, {"name": "w", "emptyDir": {}}, {"name": "x"}],
}
TEMPLATE: Body = {"metadata": {"labels": {"app": "w"}}, "spec": POD_SPEC}
TASK: Body = {**TEMPLATE, "spec": {**POD_SPEC, "restartPolicy": "Never"}}
WORKLOAD: Body = {"selector": {"matchLabels": {"app": "w"}}, "template": TEMPLATE}
CLAIM: Body = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
REFERENCE: Body = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "w"}
SPECS: dict[str, Body] = {
    "Pod": POD_SPEC,
    "Deployment": WORKLOAD,
    "ReplicaSet": WORKLOAD,
    "DaemonSet": WORKLOAD,
    "StatefulSet": {**WORKLOAD, "volumeClaimTemplates": [{"metadata": {"name": "d"}, "spec": CLAIM}]},
    "ReplicationController": {"template": TEMPLATE},
    "Job": {"template": TASK},
    "CronJob": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": TASK}}},
    "Service": {"type": "LoadBalancer", "ports": [{"port": 80}], "sessionAffinity": "ClientIP"},
    "PersistentVolumeClaim": CLAIM,
    "PersistentVolume": {"capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x"}},
    "HorizontalPodAutoscaler": {"scaleTargetRef": REFERENCE, "maxReplicas": 3},
    "PodDisruptionBudget": {"selector": {"matchLabels": {"app": "w"}}, "minAvailable": 1},
    "LimitRange": {"limits": [{"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "0.1"}}]},
    "ResourceQuota": {"hard": {"cpu": "1000m"}},
    "NetworkPolicy": {"podSelector": {}, "egress": [{"ports": [{"port": 1}]}]},
    "Node": {"podCIDR": "10.0.0.0/24"},
}


def example(kind: Kind) -> Body:
    meta = {"name": "a", **({"namespace": "n"} if kind.namespaced else {})}
    given: Body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta}
    return {**given, "spec": SPECS[kind.kind]} if kind.kind in SPECS else given


EVERY = pytest.mark.parametrize("kind", made.every(), ids=lambda kind: f"{kind.api_version} {kind.plural}")


@EVERY
def test_defaults_leave_what_they_were_given_alone(kind: Kind) -> None:
    given = example(kind)
    before = copy.deepcopy(given)
    kind.default(given)
    assert given == before


@EVERY
def test_defaults_of_defaults_change_nothing(kind: Kind) -> None:
    once = kind.default(copy.deepcopy(example(kind)))
    assert kind.default(copy.deepcopy(once)) == once


@EVERY
def test_preparing_and_judging_change_nothing_that_is_stored(kind: Kind) -> None:
    stored = kind.prepare_create(kind.default(example(kind)), made.context())
    before = copy.deepcopy(stored)
    kind.prepare_update(stored, stored, made.context())
    kind.prepare_status(stored, stored)
    kind.validate(stored)
    kind.validate_update(stored, stored)
    kind.validate_status(stored, stored)
    kind.warnings(stored, None)
    assert stored == before


@EVERY
def test_an_update_that_changes_nothing_is_not_refused_for_what_changed(kind: Kind) -> None:
    stored = kind.prepare_create(kind.default(example(kind)), made.context())
    assert made.texts(kind.validate_update(stored, stored)) == []


@EVERY
def test_a_row_has_a_cell_for_every_column(kind: Kind) -> None:
    if kind.row is not None and kind.verbs != ("create",):
        assert len(kind.row(kind.default(example(kind)), made.NOW)) == len(kind.columns)


@EVERY
def test_other_versions_come_back_from_storage_as_they_went_in(kind: Kind) -> None:
    given = kind.default(example(kind))
    assert kind.from_storage(kind.to_storage(copy.deepcopy(given))) == kind.from_storage(kind.to_storage(given))
    again = kind.from_storage(kind.to_storage(given))
    assert kind.from_storage(kind.to_storage(again)) == again


@EVERY
def test_every_stored_kind_knows_its_fields(kind: Kind) -> None:
    assert kind.schema is not None


def test_no_two_kinds_share_an_address() -> None:
    addresses = Counter((kind.group, kind.version, kind.plural) for kind in made.every())
    assert [address for address, count in addresses.items() if count > 1] == []


def test_no_two_kinds_share_a_short_name_in_a_group() -> None:
    names = Counter((kind.group, kind.version, name) for kind in made.every() for name in kind.short_names)
    assert [name for name, count in names.items() if count > 1] == []


def test_scale_is_an_address_where_there_is_something_to_scale() -> None:
    for kind in made.every():
        assert (kind.scale is not None) == (kind.subresource("scale") is not None), kind.kind
