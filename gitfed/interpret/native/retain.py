"""What belongs to the cluster and must survive a write (Karmada: interpreters §4.3, policies §5.6).

Each rule takes the desired and the observed object and returns the desired one with the cluster's own values.
Desired members that these replace are lost on purpose: the observed ones are the truth for this cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gitfed.interpret.native import read
from gitfed.interpret.registry import InterpretError
from gitfed.model.base import Body
from gitfed.model.keys import RETAIN_REPLICAS, TOKEN_TYPE
from gitfed.text import pointer


def _deployment(desired: Body, observed: Body) -> Body:
    """Another controller scales it, usually an autoscaler in the cluster."""
    if read.table(desired, "metadata", "labels").get(RETAIN_REPLICAS) != "true":
        return desired
    replicas = read.optional(observed, "spec", "replicas")
    if replicas is None:
        raise InterpretError("the observed object has no spec.replicas to retain")
    return _set(desired, ("spec", "replicas"), replicas)


def _pod(desired: Body, observed: Body) -> Body:
    """Most of a Pod cannot change; what scheduler and admission filled in must be sent back as it is."""
    spec, seen = dict(read.table(desired, "spec")), read.table(observed, "spec")
    for member in ("nodeName", "serviceAccountName", "volumes"):
        _copy(spec, seen, member)
    for member in ("containers", "initContainers"):
        if spec.get(member):
            by_name = {read.text(item, "name"): item for item in read.rows(observed, "spec", member)}
            spec[member] = [
                _mounted(item, by_name.get(read.text(item, "name"))) for item in read.rows(desired, "spec", member)
            ]
    return {**desired, "spec": spec}


def _mounted(container: Mapping[str, Any], seen: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if seen is None:
        return container
    changed = dict(container)
    _copy(changed, seen, "volumeMounts")
    return changed


def _service(desired: Body, observed: Body) -> Body:
    if port := read.number(observed, "spec", "healthCheckNodePort"):
        desired = _set(desired, ("spec", "healthCheckNodePort"), port) if port > 0 else desired
    if address := read.text(observed, "spec", "clusterIP"):
        desired = _set(desired, ("spec", "clusterIP"), address)
    return desired


def _service_account(desired: Body, observed: Body) -> Body:
    """Token secrets are made in the cluster. Both lists are always set, to null when both sides have none."""
    merged: dict[str, Any] = dict(desired)
    for member in ("secrets", "imagePullSecrets"):
        items = list(read.rows(desired, member))
        names = {read.text(item, "name") for item in items}
        for item in read.rows(observed, member):
            if (name := read.text(item, "name")) not in names:
                names.add(name)
                items.append(item)
        merged[member] = items or None
    return merged


def _claim(desired: Body, observed: Body) -> Body:
    """An empty name is no volume yet."""
    return _take(desired, observed, ("spec", "volumeName")) if read.text(observed, "spec", "volumeName") else desired


def _volume(desired: Body, observed: Body) -> Body:
    return _take(desired, observed, ("spec", "claimRef"))


def _job(desired: Body, observed: Body) -> Body:
    """The generated selector and labels that tie a Job to its pods."""
    desired = _take(desired, observed, ("spec", "selector", "matchLabels"))
    return _take(desired, observed, ("spec", "template", "metadata", "labels"))


def _secret(desired: Body, observed: Body) -> Body:
    return _take(desired, observed, ("data",)) if desired.get("type") == TOKEN_TYPE else desired


RULES: Mapping[tuple[str, str], Callable[[Body, Body], Body]] = {
    ("apps/v1", "Deployment"): _deployment,
    ("v1", "Pod"): _pod,
    ("v1", "Service"): _service,
    ("v1", "ServiceAccount"): _service_account,
    ("v1", "PersistentVolumeClaim"): _claim,
    ("v1", "PersistentVolume"): _volume,
    ("batch/v1", "Job"): _job,
    ("v1", "Secret"): _secret,
}


def _copy(target: dict[str, Any], source: Mapping[str, Any], member: str) -> None:
    if source.get(member):
        target[member] = source[member]
    else:
        target.pop(member, None)


def _take(desired: Body, observed: Body, path: pointer.Pointer) -> Body:
    """The observed value, if there is one."""
    value = read.table(observed, *path[:-1]).get(path[-1])
    return desired if value is None else _set(desired, path, value)


def _set(body: Body, path: pointer.Pointer, value: Any) -> Body:
    try:
        return pointer.put(body, path, value)  # type: ignore[no-any-return]
    except pointer.PointerError as error:
        raise InterpretError(f"{'.'.join(path)} cannot be retained: {error}") from error
