"""What a template must not carry to a cluster: what an API server wrote into it (Karmada: policies §5.3).

By kind alone, whatever the group: a Job of another group has the same generated labels.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from gitfed.model.base import Body
from gitfed.model.keys import REVISION, TOKEN_TYPE

_METADATA = frozenset(
    {
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "managedFields",
        "resourceVersion",
        "selfLink",
        "uid",
        "ownerReferences",
        "finalizers",
    }
)
_REVISION = frozenset({REVISION, "deployment.kubernetes.io/revision-history"})
_CONTROLLER_UID = frozenset({"controller-uid", "batch.kubernetes.io/controller-uid"})
_JOB_LABELS = _CONTROLLER_UID | {"job-name", "batch.kubernetes.io/job-name"}
_TOKEN_TYPE = TOKEN_TYPE


def strip(body: Body) -> Body:
    """The body without server-side fields; the very same one if it has none."""
    if "status" in body:
        body = {key: value for key, value in body.items() if key != "status"}
    metadata = _table(body, "metadata")
    if not _METADATA.isdisjoint(metadata):
        body = {**body, "metadata": _without(metadata, _METADATA)}
    special = _BY_KIND.get(body["kind"])
    return body if special is None else special(body)


def _deployment(body: Body) -> Body:
    return _trim(body, ("metadata", "annotations"), _REVISION)


def _job(body: Body) -> Body:
    body = _trim(body, ("spec",), frozenset({"ttlSecondsAfterFinished"}))
    if _table(body, "spec").get("manualSelector") is True:
        return body
    body = _trim(body, ("spec", "selector", "matchLabels"), _CONTROLLER_UID)
    return _trim(body, ("spec", "template", "metadata", "labels"), _JOB_LABELS)


def _secret(body: Body) -> Body:
    """The token belongs to the cluster whose controller made it."""
    if body.get("type") != _TOKEN_TYPE:
        return body
    body = _trim(body, ("metadata", "annotations"), frozenset({"kubernetes.io/service-account.uid"}))
    return {**body, "data": None} if body.get("data") is not None else body


def _service_account(body: Body) -> Body:
    """The token secrets that older clusters made; all of them."""
    secrets = body.get("secrets")
    if not isinstance(secrets, list):
        return body
    prefix = f"{body['metadata']['name']}-token-"
    kept = [item for item in secrets if not (isinstance(item, Mapping) and str(item.get("name")).startswith(prefix))]
    return body if len(kept) == len(secrets) else {**body, "secrets": kept}


def _service(body: Body) -> Body:
    """`None` makes a headless Service and is the user's, as are `clusterIPs` alone; an address comes from a cluster."""
    if not isinstance(address := _table(body, "spec").get("clusterIP"), str) or address == "None":
        return body
    return _trim(body, ("spec",), frozenset({"clusterIP", "clusterIPs"}))


def _claim(body: Body) -> Body:
    """Which node the volume was made for. An empty text names none and is left as it is."""
    if not _table(body, "metadata", "annotations").get("volume.kubernetes.io/selected-node"):
        return body
    return _trim(body, ("metadata", "annotations"), frozenset({"volume.kubernetes.io/selected-node"}))


_BY_KIND: Mapping[str, Callable[[Body], Body]] = {
    "Deployment": _deployment,
    "Job": _job,
    "Secret": _secret,
    "ServiceAccount": _service_account,
    "Service": _service,
    "PersistentVolumeClaim": _claim,
}


def _table(body: Body, *path: str) -> Mapping[str, Any]:
    """The map at `path`; empty when something else stands there, which the server will say better than we could."""
    value: Any = body
    for name in path:
        value = value.get(name)
        if not isinstance(value, Mapping):
            return {}
    return value  # type: ignore[no-any-return]


def _trim(value: Body, path: tuple[str, ...], names: Collection[str]) -> Body:
    """Without the members `names` of the map at `path`, by path-copy; the very same one if it has none."""
    if not path:
        return _without(value, names) if any(name in value for name in names) else value
    old = value.get(path[0])
    if not isinstance(old, Mapping):
        return value
    new = _trim(old, path[1:], names)
    return value if new is old else {**value, path[0]: new}


def _without(value: Body, names: Collection[str]) -> Body:
    return {key: child for key, child in value.items() if key not in names}
