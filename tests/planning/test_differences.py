"""What docs/differences-from-karmada.md says about objects that an API server filled in or a person edited."""

from __future__ import annotations

from typing import Any

import pytest

from gitfed.model.base import BindingId
from gitfed.model.declared.policy import Override
from gitfed.model.fleet import ClusterFacts
from gitfed.placement.scheduling import cluster as candidates
from gitfed.planning.objects import diff
from gitfed.render import manifest, override
from kubesim.client import Client
from kubesim.cluster import Cluster

POD = {"containers": [{"name": "app", "image": "r.io/app:1"}], "restartPolicy": "Never"}
CRONJOB: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "CronJob",
    "metadata": {"name": "nightly", "namespace": "shop"},
    "spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": {"spec": POD}}}},
}
JOB: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "migrate", "namespace": "shop"},
    "spec": {"template": {"metadata": {"labels": {"app": "migrate"}}, "spec": POD}},
}


@pytest.fixture
def server() -> Client:
    client = Cluster("m1", seed=1).client("gitfed")
    client.create("namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    return client


def apply(server: Client, resource: str, body: dict[str, Any]) -> dict[str, Any]:
    return server.patch(resource, "shop", body["metadata"]["name"], body, type="apply", force=True)


def test_a_cronjob_that_was_suspended_by_hand_stays_so(server: Client) -> None:
    apply(server, "cronjobs.batch", CRONJOB)
    live = server.patch("cronjobs.batch", "shop", "nightly", {"spec": {"suspend": True}}, type="merge")
    assert live["spec"]["suspend"] is True
    assert diff.diff(CRONJOB, live, owned=diff.owned_fields(live, "gitfed")) == ()
    named = {**CRONJOB, "spec": {**CRONJOB["spec"], "suspend": False}}
    (change,) = diff.diff(named, live, owned=diff.owned_fields(live, "gitfed"))
    assert change.pointer == "/spec/suspend"


def test_a_key_that_leaves_string_data_leaves_the_clusters(server: Client) -> None:
    def secret(**texts: str) -> dict[str, Any]:
        metadata = {"name": "login", "namespace": "shop"}
        return manifest.as_stored({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": texts})

    live = apply(server, "secrets", secret(user="ada", password="hunter22"))
    found = diff.diff(secret(user="ada"), live, owned=diff.owned_fields(live, "gitfed"))
    assert [(change.pointer, change.absent_after) for change in found] == [("/data/password", True)]
    assert set(apply(server, "secrets", secret(user="ada"))["data"]) == {"user"}


def test_a_job_that_says_whose_it_is_gets_no_labels_of_its_template(server: Client) -> None:
    plain = apply(server, "jobs.batch", {**JOB, "metadata": {**JOB["metadata"], "name": "plain"}})
    assert plain["metadata"]["labels"]["app"] == "migrate"
    stamped = apply(server, "jobs.batch", manifest.stamp(JOB, "fleet", BindingId("b")))
    assert stamped["metadata"]["labels"] == {"gitfed.io/binding": "b", "gitfed.io/federation": "fleet"}


def test_an_override_replaces_only_what_the_file_names() -> None:
    policy = Override.read(
        {
            "apiVersion": "policy.karmada.io/v1alpha1",
            "kind": "OverridePolicy",
            "metadata": {"name": "p", "namespace": "shop"},
            "spec": {
                "resourceSelectors": [{"apiVersion": "batch/v1", "kind": "CronJob"}],
                "overrideRules": [
                    {"overriders": {"plaintext": [{"path": "/spec/suspend", "operator": "replace", "value": True}]}}
                ],
            },
        }
    )
    with pytest.raises(override.OverrideError, match="/spec/suspend does not exist"):
        override.Overrides([policy]).apply(CRONJOB, candidates.candidate(None, ClusterFacts("m1")))
