"""The comparison against an API server: what it calls equal, an apply must not change, and the other way round.

The objects are the templates of the recorded cases. Those that a server refuses are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from gitfed.planning.objects import diff
from gitfed.render import irrelevant_fields
from kubesim import status
from kubesim.client import Client
from kubesim.cluster import Cluster
from tests.conformance.recorded import cases

RESOURCES = {
    ("apps/v1", "Deployment"): "deployments.apps",
    ("apps/v1", "ReplicaSet"): "replicasets.apps",
    ("apps/v1", "StatefulSet"): "statefulsets.apps",
    ("apps/v1", "DaemonSet"): "daemonsets.apps",
    ("batch/v1", "Job"): "jobs.batch",
    ("batch/v1", "CronJob"): "cronjobs.batch",
    ("v1", "Pod"): "pods",
    ("v1", "Service"): "services",
    ("v1", "ConfigMap"): "configmaps",
    ("v1", "Secret"): "secrets",
    ("v1", "ServiceAccount"): "serviceaccounts",
    ("v1", "PersistentVolumeClaim"): "persistentvolumeclaims",
    ("networking.k8s.io/v1", "Ingress"): "ingresses.networking.k8s.io",
    ("policy/v1", "PodDisruptionBudget"): "poddisruptionbudgets.policy",
}
Pool = dict[str, list[dict[str, Any]]]


def templates() -> Iterator[dict[str, Any]]:
    for name in ("overrides", "prune-retain", "native"):
        for case in cases(name):
            body = case.get("template") or case.get("desired") or case["object"]
            if (body["apiVersion"], body["kind"]) in RESOURCES:
                yield body


@pytest.fixture(scope="module")
def server() -> Client:
    client = Cluster("m1", seed=1).client("gitfed")
    client.create("namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    return client


def apply(server: Client, body: dict[str, Any]) -> dict[str, Any]:
    resource = RESOURCES[(body["apiVersion"], body["kind"])]
    return server.patch(resource, "shop", body["metadata"]["name"], body, type="apply", force=True)


def named(body: dict[str, Any], name: str) -> dict[str, Any]:
    return dict(irrelevant_fields.strip({**body, "metadata": {**body["metadata"], "namespace": "shop", "name": name}}))


def compared(desired: dict[str, Any], live: dict[str, Any]) -> tuple[diff.FieldChange, ...]:
    return diff.diff(desired, live, owned=diff.owned_fields(live, "gitfed"))


def content(body: dict[str, Any]) -> dict[str, Any]:
    hidden = ("managedFields", "resourceVersion", "generation")
    return {**body, "metadata": {name: value for name, value in body["metadata"].items() if name not in hidden}}


@pytest.fixture(scope="module")
def pool(server: Client) -> Pool:
    """Templates that the server takes, by kind."""
    found: Pool = {}
    for index, template in enumerate(templates()):
        members = found.setdefault(template["kind"], [])
        if len(members) == 25:
            continue
        body = named(template, f"n{index}")
        try:
            apply(server, body)
        except status.ApiError:
            continue
        members.append(body)
    return found


def test_what_was_applied_does_not_differ(server: Client, pool: Pool) -> None:
    assert sum(map(len, pool.values())) > 150
    for bodies in pool.values():
        for body in bodies:
            live = server.get(RESOURCES[(body["apiVersion"], body["kind"])], "shop", body["metadata"]["name"])
            assert compared(body, live) == ()


def test_a_difference_is_what_an_apply_changes_and_nothing_else_is(server: Client, pool: Pool) -> None:
    random, changed, unchanged = Random(5), 0, 0
    for bodies in pool.values():
        for body in bodies:
            desired = named(random.choice(bodies), body["metadata"]["name"])
            live = server.get(RESOURCES[(body["apiVersion"], body["kind"])], "shop", body["metadata"]["name"])
            predicted = compared(desired, live)
            try:
                after = apply(server, desired)
            except status.ApiError:
                continue  # an immutable field
            written = content(after) != content(live)
            if written:
                assert predicted
            else:  # an empty value that the server drops counts once: until it has recorded that we sent it
                assert not [change for change in predicted if change.after or change.absent_after]
            assert compared(desired, after) == ()
            changed, unchanged = changed + bool(predicted), unchanged + (not predicted)
    assert changed > 50
    assert unchanged > 5
