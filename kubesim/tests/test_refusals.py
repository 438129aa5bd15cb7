"""What a request is refused with, in the words a kube-apiserver 1.36 was seen to use."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.asking import APPLY, Asker, fresh_cluster

MAPS = "/api/v1/namespaces/default/configmaps"
MAP: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "1"}}
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "x"}]}}


@pytest.fixture
async def ask() -> AsyncIterator[Asker]:
    async with fresh_cluster() as asker:
        assert (await asker("POST", MAPS, MAP)).status == 201
        yield asker


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("uid=other", "the UID in the precondition (other) does not match the UID in record"),
        (
            "resourceVersion=0",
            "the ResourceVersion in the precondition (0) does not match the ResourceVersion in record",
        ),
    ],
)
async def test_a_deletion_may_name_its_preconditions_in_the_query(ask: Asker, query: str, said: str) -> None:
    answer = await ask("DELETE", f"{MAPS}/a?{query}")
    assert (answer.status, said in answer.message) == (409, True)
    assert (await ask("GET", f"{MAPS}/a")).status == 200


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kind": 1}, "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field "
                      ".kind of type string"),
        ({"gracePeriodSeconds": 2**63}, "json: cannot unmarshal number 9223372036854775808 into Go struct field "
                                        "DeleteOptions.gracePeriodSeconds of type int64"),
        ({"gracePeriodSeconds": 1.5}, "json: cannot unmarshal number 1.5 into Go struct field "
                                      "DeleteOptions.gracePeriodSeconds of type int64"),
        ({"propagationPolicy": 1}, "json: cannot unmarshal number into Go struct field "
                                   "DeleteOptions.propagationPolicy of type v1.DeletionPropagation"),
        ({"dryRun": [1]}, "json: cannot unmarshal number into Go struct field DeleteOptions.dryRun of type string"),
        ({"preconditions": {"uid": 3}}, "json: cannot unmarshal number into Go struct field "
                                        "Preconditions.preconditions.uid of type types.UID"),
    ],
)  # fmt: skip
async def test_options_of_a_deletion_have_types(ask: Asker, options: dict[str, Any], said: str) -> None:
    answer = await ask("DELETE", f"{MAPS}/a", options)
    assert (answer.status, answer.message) == (400, said)
    assert (await ask("GET", f"{MAPS}/a")).status == 200


async def test_a_trial_deletion_of_a_pod_shows_it_as_deleted(ask: Asker) -> None:
    await ask("POST", "/api/v1/namespaces/default/pods", POD)
    shown = (await ask("DELETE", "/api/v1/namespaces/default/pods/p?dryRun=All")).body["metadata"]
    assert (shown["deletionGracePeriodSeconds"], shown["generation"], "deletionTimestamp" in shown) == (0, 2, True)
    kept = (await ask("GET", "/api/v1/namespaces/default/pods/p")).body["metadata"]
    assert (kept["generation"], "deletionTimestamp" in kept) == (1, False)


@pytest.mark.parametrize(
    ("part", "status", "said"),
    [
        ({"apiVersion": 1}, 400, "invalid object type: /, Kind=ConfigMap"),
        ({"kind": {}}, 400, "invalid object type: /v1, Kind="),
        (
            {"metadata": {"name": 3}},
            500,
            "failed to create typed patch object (/; /v1, Kind=ConfigMap): .metadata.name: expected string, got "
            "&value.valueUnstructured{Value:3}",
        ),
    ],
)
async def test_an_apply_of_a_strange_type_is_refused(ask: Asker, part: dict[str, Any], status: int, said: str) -> None:
    answer = await ask("PATCH", f"{MAPS}/a?fieldManager=one", MAP | part, APPLY)
    assert (answer.status, answer.message) == (status, said)


async def test_unknown_fields_are_told_also_of_a_version_that_is_refused(ask: Asker) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    old = {"apiVersion": "apps/v1beta1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {"x": 1}}
    answer = await ask("POST", path, old)
    assert answer.warnings == ['299 - "unknown field \\"spec.x\\""']
    assert answer.message == (
        "the API version in the data (apps/v1beta1) does not match the expected API version (apps/v1)"
    )
    answer = await ask("POST", path + "?fieldValidation=Strict", old)
    assert answer.message == (
        'Deployment in version "v1beta1" cannot be handled as a Deployment: strict decoding error: '
        'unknown field "spec.x"'
    )


async def test_a_scale_is_read_before_its_object_is_looked_for(ask: Asker) -> None:
    path = "/apis/apps/v1/namespaces/default/replicasets/none/scale"
    answer = await ask("PUT", path, {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {}})
    said = "the name of the object (none based on URL) was undeterminable: name must be provided"
    assert (answer.status, answer.message) == (400, said)


async def test_a_binding_to_no_node_is_refused_before_its_pod_is_looked_for(ask: Asker) -> None:
    path = "/api/v1/namespaces/default/pods/none/binding"
    answer = await ask("POST", path, {"metadata": {"name": "none"}, "target": {}})
    assert (answer.status, answer.message) == (500, "target.name: Required value")


@pytest.mark.parametrize(("version", "status"), [("web", 201), ("0", 201), ("1.5", 201), ("12", 500)])
async def test_only_a_number_counts_as_the_version_of_a_new_object(ask: Asker, version: str, status: int) -> None:
    new = {"metadata": {"name": "new", "resourceVersion": version}}
    assert (await ask("POST", MAPS, new)).status == status


async def test_what_an_eviction_answers_has_one_form(ask: Asker) -> None:
    await ask("POST", "/api/v1/namespaces/default/pods", POD)
    path, eviction = "/api/v1/namespaces/default/pods/p/eviction", {"metadata": {"name": "p"}}
    partial = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
    answer = await ask("POST", path + "?dryRun=All", eviction, accept=partial)
    assert (answer.status, answer.body["kind"]) == (201, "Status")
    answer = await ask("POST", path, eviction, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    assert answer.status == 406
    assert answer.message == (
        "only the following media types are accepted: application/json, application/yaml, "
        "application/vnd.kubernetes.protobuf"
    )
