"""Claims on volumes that are deleted."""

from __future__ import annotations

from typing import Any

from tests.controllers.stage import Stage

Body = dict[str, Any]
CLAIMS = "persistentvolumeclaims"


def claim(namespace: str = "default") -> Body:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    meta = {"name": "data", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}


def user(name: str) -> Body:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    spec = {"containers": [{"name": "main", "image": "nginx:1"}], "volumes": volumes}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def test_a_deleted_claim_goes() -> None:
    stage = Stage(1)
    stage.api.create(CLAIMS, claim())
    stage.settle()
    stage.api.delete(CLAIMS, "default", "data")
    stage.settle()
    assert stage.api.find(CLAIMS, "default", "data") is None


def test_a_namespace_with_claims_is_not_terminating_for_ever() -> None:
    stage = Stage(1)
    stage.api.create("namespaces", {"metadata": {"name": "shop"}})
    stage.api.create(CLAIMS, claim("shop"))
    stage.settle()
    stage.api.delete("namespaces", "", "shop")
    stage.pass_time()
    assert stage.api.find("namespaces", "", "shop") is None


def test_a_claim_stays_while_a_pod_uses_it() -> None:
    stage = Stage(1)
    stage.api.create(CLAIMS, claim())
    stage.api.create("pods", user("a"))
    stage.pass_time()
    stage.api.delete(CLAIMS, "default", "data")
    stage.pass_time()
    assert stage.api.get(CLAIMS, "default", "data")["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    stage.api.delete("pods", "default", "a")
    stage.pass_time()
    assert stage.api.find(CLAIMS, "default", "data") is None


def test_a_claim_keeps_the_finalizers_of_others() -> None:
    stage = Stage(1)
    made = claim()
    made["metadata"]["finalizers"] = ["example.com/keep"]
    stage.api.create(CLAIMS, made)
    stage.settle()
    stage.api.delete(CLAIMS, "default", "data")
    stage.settle()
    assert stage.api.get(CLAIMS, "default", "data")["metadata"]["finalizers"] == ["example.com/keep"]
