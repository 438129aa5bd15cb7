"""What else a workload needs to run: configuration, secrets, accounts, claims (Karmada: interpreters §4.5).

References are sorted, and unique in what has a Pod, so that nothing depends on the order in which a template mentions
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from gitfed.interpret.native import read
from gitfed.interpret.registry import InterpretError
from gitfed.model.base import Body
from gitfed.model.keys import SERVICE_NAME

_SECRET_REF_VOLUMES = ("cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos")


def _pod(body: Body) -> tuple[Body, ...]:
    return _sorted(body, _of_pod(read.table(body, "spec")))


def _template(body: Body) -> tuple[Body, ...]:
    return _sorted(body, _of_pod(read.table(body, "spec", "template", "spec")))


def _cron_job(body: Body) -> tuple[Body, ...]:
    return _sorted(body, _of_pod(read.table(body, "spec", "jobTemplate", "spec", "template", "spec")))


def _stateful_set(body: Body) -> tuple[Body, ...]:
    """Volumes of its own claim templates are made by the controller."""
    own = {read.text(claim, "metadata", "name") for claim in read.rows(body, "spec", "volumeClaimTemplates")}
    references = _of_pod(read.table(body, "spec", "template", "spec"))
    return _sorted(body, (item for item in references if item[0] != "PersistentVolumeClaim" or item[1] not in own))


def _ingress(body: Body) -> tuple[Body, ...]:
    names = [read.text(entry, "secretName") for entry in read.rows(body, "spec", "tls")]
    if not all(names):
        raise InterpretError("an entry of spec.tls has no secretName")
    # Karmada: a Secret of two hosts is listed twice. The caller drops duplicates.
    return tuple(_reference(body, "Secret", name) for name in sorted(names))


def _service_import(body: Body) -> tuple[Body, ...]:
    inside, derived = _inside(body), f"derived-{read.text(body, 'metadata', 'name')}"
    slices = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        **inside,
        "labelSelector": {"matchLabels": {SERVICE_NAME: derived}},
    }
    return (slices, {"apiVersion": "v1", "kind": "Service", **inside, "name": derived})


RULES: Mapping[tuple[str, str], Callable[[Body], tuple[Body, ...]]] = {
    ("v1", "Pod"): _pod,
    ("apps/v1", "Deployment"): _template,
    ("apps/v1", "ReplicaSet"): _template,
    ("apps/v1", "DaemonSet"): _template,
    ("apps/v1", "StatefulSet"): _stateful_set,
    ("batch/v1", "Job"): _template,
    ("batch/v1", "CronJob"): _cron_job,
    ("networking.k8s.io/v1", "Ingress"): _ingress,
    ("multicluster.x-k8s.io/v1alpha1", "ServiceImport"): _service_import,
}


def _of_pod(pod: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(kind, name), possibly repeated or with an empty name."""
    for member in ("initContainers", "containers", "ephemeralContainers"):
        for container in read.rows(pod, member):
            yield from _of_container(container)
    for entry in read.rows(pod, "imagePullSecrets"):
        yield "Secret", read.text(entry, "name")
    account = read.text(pod, "serviceAccountName")
    if account != "default":
        yield "ServiceAccount", account
    for volume in read.rows(pod, "volumes"):
        yield from _of_volume(volume)


def _of_container(container: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for source in read.rows(container, "envFrom"):
        yield "ConfigMap", read.text(source, "configMapRef", "name")
        yield "Secret", read.text(source, "secretRef", "name")
    for variable in read.rows(container, "env"):
        yield "ConfigMap", read.text(variable, "valueFrom", "configMapKeyRef", "name")
        yield "Secret", read.text(variable, "valueFrom", "secretKeyRef", "name")


def _of_volume(volume: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "ConfigMap", read.text(volume, "configMap", "name")
    yield "Secret", read.text(volume, "secret", "secretName")
    yield "Secret", read.text(volume, "azureFile", "secretName")
    yield "Secret", read.text(volume, "csi", "nodePublishSecretRef", "name")
    for member in _SECRET_REF_VOLUMES:
        yield "Secret", read.text(volume, member, "secretRef", "name")
    yield "PersistentVolumeClaim", read.text(volume, "persistentVolumeClaim", "claimName")
    for source in read.rows(volume, "projected", "sources"):
        yield "ConfigMap", read.text(source, "configMap", "name")
        yield "Secret", read.text(source, "secret", "name")


def _sorted(body: Body, references: Iterable[tuple[str, str]]) -> tuple[Body, ...]:
    return tuple(_reference(body, kind, name) for kind, name in sorted({item for item in references if item[1]}))


def _reference(body: Body, kind: str, name: str) -> Body:
    return {"apiVersion": "v1", "kind": kind, **_inside(body), "name": name}


def _inside(body: Body) -> dict[str, str]:
    """The namespace of the object, for what it refers to."""
    namespace = read.text(body, "metadata", "namespace")
    return {"namespace": namespace} if namespace else {}
