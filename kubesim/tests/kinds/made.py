"""What the tests of kinds need: a kind by its name, and a small cluster to look into."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from typing import Any

from kubesim import kinds
from kubesim.kind import Context, Kind
from kubesim.status import FieldError

Body = dict[str, Any]
NOW = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)


@cache
def _all() -> tuple[Kind, ...]:
    return tuple(kinds.builtin())


def every() -> tuple[Kind, ...]:
    return _all()


def kind(name: str, version: str = "") -> Kind:
    """By kind, and by apiVersion where several have it."""
    return next(one for one in _all() if one.kind == name and version in ("", one.api_version))


class Cluster:
    """Objects by resource, in the order they came."""

    def __init__(self, **stored: list[Body]) -> None:
        self.stored = {name.replace("__", "."): bodies for name, bodies in stored.items()}

    def get(self, resource: str, namespace: str, name: str) -> Body | None:
        return next((one for one in self.list(resource, namespace) if one["metadata"]["name"] == name), None)

    def list(self, resource: str, namespace: str = "") -> Iterable[Body]:
        bodies = self.stored.get(resource, [])
        return [one for one in bodies if namespace in ("", one["metadata"].get("namespace"))]


def context(cluster: Cluster | None = None) -> Context:
    return Context(now=NOW, lookup=cluster or Cluster())


def body(name: str, version: str = "", /, **parts: Any) -> Body:
    """An object of a kind, with the metadata every test needs."""
    found = kind(name, version)
    meta: Body = {"name": "a", **({"namespace": "n"} if found.namespaced else {}), **parts.pop("metadata", {})}
    return {"apiVersion": found.api_version, "kind": found.kind, "metadata": meta, **parts}


def created(given: Body, cluster: Cluster | None = None) -> Body:
    """As the server would store it, its complaints aside."""
    found = kind(given["kind"], given["apiVersion"])
    given = found.default(copy.deepcopy(given))
    if found.admit:
        given = found.admit(given, None, context(cluster))
    return found.prepare_create(given, context(cluster))


def texts(errors: list[FieldError]) -> list[str]:
    return [error.message() for error in errors]


def refused(given: Body) -> list[str]:
    """The complaints about a creation."""
    found, settled = kind(given["kind"], given["apiVersion"]), created(given)
    return texts([*found.validate(settled), *found.validate_create(settled)])


def refused_change(old: Body, **spec: Any) -> list[str]:
    """The complaints about an update of parts of the spec."""
    found, before = kind(old["kind"], old["apiVersion"]), created(old)
    after = found.default({**before, "spec": {**before["spec"], **spec}})
    return texts(found.validate_update(found.prepare_update(after, before, context()), before))


CONTAINER: Body = {"name": "c", "image": "nginx:1"}


def pod(*containers: Body, metadata: Body | None = None, status: Body | None = None, **spec: Any) -> Body:
    parts: Body = {"spec": {"containers": list(containers) or [CONTAINER], **spec}}
    return body("Pod", metadata=metadata or {}, **parts, **({"status": status} if status else {}))


def template(*containers: Body, labels: Body | None = None, **spec: Any) -> Body:
    return {
        "metadata": {"labels": {"app": "w"} if labels is None else labels},
        "spec": {"containers": list(containers) or [CONTAINER], **spec},
    }


def deployment(**spec: Any) -> Body:
    return body("Deployment", spec={"selector": {"matchLabels": {"app": "w"}}, "template": template(), **spec})
