"""The smaller kinds: data, claims, names, budgets, endpoints, and objects with two faces."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim.kinds import metadata
from kubesim.status import ApiError
from tests.kinds import made
from tests.kinds.made import Body, Cluster, body, context, created, refused, refused_change, texts


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


# metadata


def judged(name: str = "a", rule: str = "dns-subdomain", **meta: Any) -> list[str]:
    given = body("ConfigMap", metadata={"name": name, **meta})
    return texts(metadata.validate(given, namespaced=True, name_rule=rule))


@pytest.mark.parametrize(
    ("meta", "complaint"),
    [
        ({"labels": {"a": "b c"}}, 'metadata.labels: Invalid value: "b c": a valid label must be an empty string or'),
        ({"labels": {"": "b"}}, 'metadata.labels: Invalid value: "": name part must be non-empty'),
        ({"annotations": {"a b": ""}}, 'metadata.annotations: Invalid value: "a b": name part must consist of'),
        ({"finalizers": ["a"]}, 'metadata.finalizers[0]: Invalid value: "a": name is neither a standard finalizer'),
        (
            {"ownerReferences": [{}]},
            'metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty',
        ),
    ],
)
def test_bad_metadata_is_refused(meta: Body, complaint: str) -> None:
    assert judged(**meta)[0].startswith(complaint)


@given(st.from_regex(r"[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True))
def test_what_looks_like_a_label_is_a_name_everywhere(name: str) -> None:
    assert judged(name) == judged(name, "dns-label") == judged(name, "path-segment") == []


def test_an_object_under_deletion_gets_no_more_finalizers() -> None:
    old = body("ConfigMap", metadata={"deletionTimestamp": "2024-05-06T07:00:00Z", "finalizers": ["a/b"]})
    new = {**old, "metadata": {**old["metadata"], "finalizers": ["a/b", "c/d"]}}
    assert any(
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new"
        in text
        for text in texts(metadata.validate_update(new, old))
    )


# configuration


def test_plain_data_of_a_secret_is_encoded_and_forgotten() -> None:
    found = created(body("Secret", data={"a": encoded("old"), "b": None}, stringData={"a": "new"}))
    assert (found["data"], found["type"], "stringData" in found) == ({"a": encoded("new"), "b": ""}, "Opaque", False)


@pytest.mark.parametrize(
    ("kind", "data", "complaints"),
    [
        ("kubernetes.io/tls", {}, ["data[tls.crt]: Required value", "data[tls.key]: Required value"]),
        ("kubernetes.io/basic-auth", {"password": encoded("x")}, []),
        (
            "kubernetes.io/dockerconfigjson",
            {".dockerconfigjson": encoded("[]")},
            [
                'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": json: cannot unmarshal array'
                " into Go value of type map[string]interface {}"
            ],
        ),
        ("example.com/own", {}, []),
    ],
)
def test_a_secret_holds_what_its_type_promises(kind: str, data: Body, complaints: list[str]) -> None:
    assert refused(body("Secret", type=kind, data=data)) == complaints


def test_what_is_immutable_stays_so() -> None:
    old = body("ConfigMap", immutable=True, data={"a": "1"})
    new = {**old, "immutable": False, "data": {"a": "2"}}
    assert texts(made.kind("ConfigMap").validate_update(new, old)) == [
        "immutable: Forbidden: field is immutable when `immutable` is set",
        "data: Forbidden: field is immutable when `immutable` is set",
    ]


def test_a_config_map_has_an_end() -> None:
    assert refused(body("ConfigMap", data={"a": "x" * (1024 * 1024 + 1)})) == [
        "[]: Too long: may not be more than 1048576 bytes"
    ]


# volumes


def claim(size: str = "1Gi", **spec: Any) -> Body:
    given = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec}
    return body("PersistentVolumeClaim", spec=given)


def storage_class(name: str, *, default: bool = False, grows: bool = False, made_at: str = "") -> Body:
    notes = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    meta = {"name": name, "annotations": notes, "creationTimestamp": made_at}
    return body("StorageClass", metadata=meta, provisioner="x", allowVolumeExpansion=grows)


def test_the_youngest_default_class_is_taken() -> None:
    classes = [storage_class(name, default=True, made_at=f"202{name}-01-01T00:00:00Z") for name in "132"]
    found = created(claim(), Cluster(storageclasses__storage__k8s__io=classes))
    assert found["spec"]["storageClassName"] == "3"


def test_a_claim_grows_only_where_its_class_lets_it() -> None:
    kind = made.kind("PersistentVolumeClaim")
    old = {**created(claim(storageClassName="s")), "status": {"phase": "Bound"}}
    new = {**old, "spec": claim("2Gi", storageClassName="s")["spec"]}
    assert kind.allocate is not None
    grows = Cluster(storageclasses__storage__k8s__io=[storage_class("s", grows=True)])
    assert kind.allocate(new, old, context(grows)) == new
    with pytest.raises(ApiError) as caught:
        kind.allocate(new, old, context())
    assert str(caught.value) == (
        'persistentvolumeclaims "a" is forbidden: only dynamically provisioned pvc can be resized and the storageclass'
        " that provisions the pvc must support resize"
    )


def test_a_claim_does_not_shrink_below_what_it_has() -> None:
    kind = made.kind("PersistentVolumeClaim")
    old = {**created(claim("2Gi")), "status": {"phase": "Bound", "capacity": {"storage": "2Gi"}}}
    new = {**old, "spec": {**old["spec"], "resources": {"requests": {"storage": "1Gi"}}}}
    assert texts(kind.validate_update(new, old)) == [
        "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"
    ]


# the rest of the cluster


def test_a_namespace_carries_its_name_and_a_finalizer() -> None:
    found = created(body("Namespace"))
    assert found["metadata"]["labels"] == {"kubernetes.io/metadata.name": "a"}
    assert (found["spec"], found["status"]) == ({"finalizers": ["kubernetes"]}, {"phase": "Active"})


def test_a_node_has_one_range_of_each_family() -> None:
    assert refused(body("Node", spec={"podCIDRs": ["10.0.0.0/24", "10.0.1.0/24"]})) == [
        'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.0.1.0/24"]: may specify no more than one CIDR for each IP'
        " family"
    ]


def test_there_is_one_default_priority() -> None:
    kind = made.kind("PriorityClass")
    others = Cluster(
        priorityclasses__scheduling__k8s__io=[body("PriorityClass", metadata={"name": "b"}, globalDefault=True)]
    )
    assert kind.allocate is not None
    with pytest.raises(ApiError) as caught:
        kind.allocate(body("PriorityClass", value=1, globalDefault=True), None, context(others))
    assert str(caught.value) == (
        'priorityclasses.scheduling.k8s.io "a" is forbidden: PriorityClass b is already marked as default. Only one'
        " default can exist"
    )


def test_a_budget_says_one_of_two_things() -> None:
    (complaint,) = refused(body("PodDisruptionBudget", spec={"selector": {}, "minAvailable": 1, "maxUnavailable": 1}))
    assert complaint.endswith("minAvailable and maxUnavailable cannot be both set")


def test_a_condition_of_a_budget_is_whole() -> None:
    old = body("PodDisruptionBudget", spec={"selector": {}})
    new = {**old, "status": {"conditions": [{"type": "A", "status": "Maybe", "reason": "not good"}]}}
    found = texts(made.kind("PodDisruptionBudget").validate_status(new, old))
    assert found[:2] == [
        'status.conditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"',
        "status.conditions[0].lastTransitionTime: Required value",
    ]
    assert found[2].startswith('status.conditions[0].reason: Invalid value: "not good": a condition reason must start')


def test_a_slice_holds_addresses_of_its_family() -> None:
    given = body("EndpointSlice", addressType="IPv6", endpoints=[{"addresses": ["1.2.3.4"]}, {"addresses": []}])
    assert refused(given) == [
        'endpoints[0].addresses: Invalid value: "1.2.3.4": must be an IPv6 address',
        "endpoints[1].addresses: Required value: must contain at least 1 address",
    ]


def test_a_role_reference_does_not_change() -> None:
    kind = made.kind("RoleBinding")
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    old = body("RoleBinding", roleRef=reference)
    new = {**old, "roleRef": {**reference, "name": "s"}}
    assert texts(kind.validate_update(new, old)) == [
        'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"s"}: cannot change'
        " roleRef"
    ]


# two faces of one object


def scaler(**spec: Any) -> Body:
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "w"}
    return body(
        "HorizontalPodAutoscaler", "autoscaling/v2", spec={"scaleTargetRef": reference, "maxReplicas": 3, **spec}
    )


def written(metric: Body) -> str:
    return json.dumps(metric, sort_keys=True)


METRICS = st.lists(
    st.one_of(
        st.builds(
            lambda name, load: {
                "type": "Resource",
                "resource": {"name": name, "target": {"type": "Utilization", "averageUtilization": load}},
            },
            st.sampled_from(["cpu", "memory"]),
            st.integers(1, 100),
        ),
        st.builds(
            lambda load: {
                "type": "Pods",
                "pods": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": str(load)}},
            },
            st.integers(1, 9),
        ),
        st.builds(
            lambda load: {
                "type": "ContainerResource",
                "containerResource": {
                    "name": "cpu",
                    "container": "c",
                    "target": {"type": "Utilization", "averageUtilization": load},
                },
            },
            st.integers(1, 100),
        ),
    ),
    max_size=3,
    # Two targets for one load mean nothing, and the old version has room for one.
    unique_by=lambda metric: (metric["type"], metric.get("resource", {}).get("name")),
)


@given(METRICS)
def test_the_old_version_of_an_autoscaler_loses_nothing(metrics: list[Body]) -> None:
    old, new = (
        made.kind("HorizontalPodAutoscaler", "autoscaling/v1"),
        made.kind("HorizontalPodAutoscaler", "autoscaling/v2"),
    )
    stored = new.default(scaler(metrics=metrics))
    back = old.to_storage(old.from_storage(stored))
    kept = back["spec"].pop("metrics")
    assert sorted(kept, key=written) == sorted(stored["spec"]["metrics"], key=written)
    assert back["spec"] == {key: value for key, value in stored["spec"].items() if key != "metrics"}


def test_an_autoscaler_scales_something() -> None:
    assert refused(scaler(maxReplicas=0)) == [
        "spec.maxReplicas: Required value: must be set and greater than 0",
        "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`",
    ]


def test_an_event_has_the_same_content_in_both_groups() -> None:
    new = made.kind("Event", "events.k8s.io/v1")
    stored = new.to_storage(
        body(
            "Event",
            "events.k8s.io/v1",
            note="hello",
            regarding={"kind": "Pod", "name": "p", "namespace": "n"},
            reportingController="a/b",
            deprecatedCount=2,
        )
    )
    assert (stored["apiVersion"], stored["message"], stored["involvedObject"]["name"]) == ("v1", "hello", "p")
    assert (stored["reportingComponent"], stored["count"]) == ("a/b", 2)
    shown = new.from_storage(stored)
    assert (shown["note"], shown["deprecatedCount"], shown["regarding"]["name"]) == ("hello", 2, "p")


def test_an_update_keeps_what_belongs_to_the_status() -> None:
    assert refused_change(scaler(), maxReplicas=9) == []
