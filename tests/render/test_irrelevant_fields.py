"""What a template must not carry to a cluster (Karmada: policies §5.3). The rules by kind are in the recorded cases."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from gitfed.render import irrelevant_fields

CONFIG: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}}


def test_a_body_without_server_fields_is_returned_as_it_is() -> None:
    assert irrelevant_fields.strip(CONFIG) is CONFIG


def test_what_an_api_server_wrote_goes_and_the_rest_is_shared() -> None:
    metadata = {
        "name": "c",
        "generateName": "c-",
        "uid": "u",
        "resourceVersion": "1",
        "creationTimestamp": None,
        "managedFields": [],
        "ownerReferences": [],
        "finalizers": ["x"],
    }
    body = {**CONFIG, "metadata": metadata, "status": {"x": 1}}
    before = copy.deepcopy(body)
    pruned = irrelevant_fields.strip(body)
    assert pruned == {**CONFIG, "metadata": {"name": "c", "generateName": "c-"}}
    assert pruned["data"] is CONFIG["data"]
    assert body == before


def test_all_token_secrets_of_an_account_go() -> None:
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "robot"},
        "secrets": [{"name": f"robot-token-{index}"} for index in range(3)] + [{"name": "other"}],
    }
    assert irrelevant_fields.strip(account)["secrets"] == [{"name": "other"}]


@pytest.mark.parametrize(
    ("spec", "left"),
    [
        ({"clusterIP": "10.0.0.7", "clusterIPs": ["10.0.0.7"]}, {}),
        ({"clusterIP": "None", "clusterIPs": ["None"]}, {"clusterIP": "None", "clusterIPs": ["None"]}),
        ({"clusterIPs": ["None"]}, {"clusterIPs": ["None"]}),
    ],
)
def test_an_address_goes_but_a_headless_service_stays_headless(spec: dict[str, Any], left: dict[str, Any]) -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec}
    assert irrelevant_fields.strip(service)["spec"] == left


def test_entries_that_are_no_secrets_are_no_token_secrets() -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}, "secrets": [None, {}, []]}
    assert irrelevant_fields.strip(account) is account


@pytest.mark.parametrize("kind", ["Deployment", "Job", "Secret", "ServiceAccount", "Service", "PersistentVolumeClaim"])
@pytest.mark.parametrize("odd", [5, "x", [], None, True])
def test_what_is_no_map_is_left_for_the_server_to_refuse(kind: str, odd: object) -> None:
    body = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "n", "annotations": odd}, "spec": odd}
    assert irrelevant_fields.strip(body) == body


def test_pruning_twice_is_pruning_once() -> None:
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "uid": "u"},
        "spec": {
            "ttlSecondsAfterFinished": 5,
            "selector": {"matchLabels": {"controller-uid": "u", "a": "b"}},
            "template": {"metadata": {"labels": {"job-name": "j", "a": "b"}}},
        },
    }
    once = irrelevant_fields.strip(job)
    assert once["spec"] == {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}},
    }
    assert irrelevant_fields.strip(once) is once
