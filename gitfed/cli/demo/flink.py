"""Flink, as far as a failover cares: an operator that starts jobs, and an admission rule that resumes them.

Every FlinkDeployment gets a running job with an id of its own, as the Flink Kubernetes Operator reports it. The rule
is what a cluster's administrator writes for it (with Kyverno, for example): a deployment that arrives with the id of
an earlier job as a label starts from that job's last checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kubesim.client import Client
from kubesim.controllers.work import Loop
from kubesim.server.world import World
from kubesim.store import Record

Body = dict[str, Any]

RESOURCE = "flinkdeployments.flink.apache.org"
LABEL = "resourcebinding.karmada.io/failover-jobid"
CHECKPOINTS = "/flink-data/checkpoints"


def definition() -> Body:
    """The CustomResourceDefinition, as open as it can be."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": RESOURCE},
        "spec": {
            "group": "flink.apache.org",
            "scope": "Namespaced",
            "names": {"plural": "flinkdeployments", "singular": "flinkdeployment", "kind": "FlinkDeployment"},
            "versions": [
                {
                    "name": "v1beta1",
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                }
            ],
        },
    }


class Operator:
    """Starts the job of every FlinkDeployment of one cluster, from now on until `stop`."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._client = Client(world, "flink-kubernetes-operator")
        self._loop = Loop(world)
        self._loop.add(self, RESOURCE)
        world.mutators.append(resume)

    def stop(self) -> None:
        self._loop.stop()
        self._world.mutators.remove(resume)

    def keys(self, collection: str, record: Record) -> Iterable[str]:
        metadata = record.body["metadata"]
        return [f"{metadata['namespace']}/{metadata['name']}"]

    def reconcile(self, key: str) -> None:
        namespace, _, name = key.partition("/")
        body = self._client.find(RESOURCE, namespace, name)
        if body is None or body["metadata"].get("deletionTimestamp") or (body.get("status") or {}).get("jobStatus"):
            return
        job: Body = {
            "jobId": f"{self._world.random.getrandbits(128):032x}",
            "jobName": name,
            "state": "RUNNING",
            "startTime": self._world.now(),
        }
        if path := ((body.get("spec") or {}).get("job") or {}).get("initialSavepointPath"):
            job["upgradeSavepointPath"] = path
        status = {
            "jobManagerDeploymentStatus": "READY",
            "lifecycleState": "STABLE",
            "jobStatus": job,
            "observedGeneration": body["metadata"].get("generation", 1),
            "reconciliationStatus": {"state": "DEPLOYED"},
        }
        self._client.patch(RESOURCE, namespace, name, {"status": status}, subresource="status")


def resume(resource: str, body: Body) -> Body:
    """The admission rule: label → `spec.job.initialSavepointPath`."""
    job_id = (body["metadata"].get("labels") or {}).get(LABEL)
    if resource != RESOURCE or not job_id:
        return body
    spec = body.get("spec") or {}
    job = {**(spec.get("job") or {}), "initialSavepointPath": f"{CHECKPOINTS}/{job_id}"}
    return {**body, "spec": {**spec, "job": job}}
