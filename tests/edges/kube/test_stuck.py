"""From pods without a node to the Deployments that want them."""

from __future__ import annotations

from typing import Any

import pytest

from gitfed.edges.kube import unschedulable
from gitfed.edges.kube.connection.session import Session
from gitfed.model.base import ObjectKey
from gitfed.model.capacity import Owner
from gitfed.model.fleet import Stuck
from tests.edges.kube.conftest import Place

REVISION = "deployment.kubernetes.io/revision"
MERGE = "application/merge-patch+json"
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}
SPEC = {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE}


async def make(session: Session, namespace: str, **status: int) -> dict[str, Any]:
    """A Deployment `web` at revision 2, with the ReplicaSets of both revisions; it is returned."""
    base = f"/apis/apps/v1/namespaces/{namespace}"
    body = {"metadata": {"name": "web", "annotations": {REVISION: "2"}}, "spec": SPEC}
    made = await session.json("POST", f"{base}/deployments", body=body)
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": made["metadata"]["uid"],
             "controller": True}  # fmt: skip
    for number in ("1", "2"):
        metadata = {"name": f"web-{number}", "annotations": {REVISION: number}, "labels": {"app": "web"},
                    "ownerReferences": [owner]}  # fmt: skip
        await session.json("POST", f"{base}/replicasets", body={"metadata": metadata, "spec": SPEC})
    if status:
        await session.json("PATCH", f"{base}/deployments/web/status", body={"status": status}, content_type=MERGE)
    return dict(made)


async def test_only_the_newest_replica_set_of_our_own_deployment_counts(place: Place) -> None:
    session, namespace = place.session, place.namespace
    uid = (await make(session, namespace, replicas=3, readyReplicas=1))["metadata"]["uid"]
    key = ObjectKey("apps", "Deployment", namespace, "web")
    waiting = {Owner(namespace, "web-1"): 4, Owner(namespace, "web-2"): 2, Owner(namespace, "gone"): 1}
    asked: list[tuple[ObjectKey, str]] = []

    def is_ours(which: ObjectKey, whose: str) -> bool:
        asked.append((which, whose))
        return True

    assert await unschedulable.look(session, waiting, is_ours) == {key: (3, Stuck(1, 2))}
    assert asked == [(key, uid), (key, uid)]
    assert await unschedulable.look(session, waiting, lambda *_: False) == {}


@pytest.mark.parametrize(("status", "ready"), [({"replicas": 3}, 0), ({}, -1)])
async def test_a_status_that_counts_none_ready_is_another_matter_than_no_status(
    place: Place, status: dict[str, int], ready: int
) -> None:
    await make(place.session, place.namespace, **status)
    found = await unschedulable.look(place.session, {Owner(place.namespace, "web-2"): 2}, lambda *_: True)
    assert [one for _, one in found.values()] == [Stuck(ready, 2)]


async def test_a_replica_set_of_its_own_belongs_to_no_deployment(place: Place) -> None:
    path = f"/apis/apps/v1/namespaces/{place.namespace}/replicasets"
    await place.session.json("POST", path, body={"metadata": {"name": "alone", "labels": {"app": "web"}}, "spec": SPEC})
    assert await unschedulable.look(place.session, {Owner(place.namespace, "alone"): 2}, lambda *_: True) == {}
