"""EndpointSlices that are followed, and those that are written beside what a plan says: one request each."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from typing import Any
from urllib.parse import quote

from gitfed import errors
from gitfed.edges.kube.connection.session import Session
from gitfed.model.base import Body
from gitfed.model.keys import DISPATCHED_BY, MANAGER, SERVICE_NAME

EVERYWHERE = "/apis/discovery.k8s.io/v1/endpointslices"
_LONGEST = 3000
"""Characters of a selector: proxies between us and a cluster take lines of 8 KiB."""


def of_services(names: Collection[str]) -> str:
    """Selects the slices of Services of these names; where they are too many to be named, those of all Services."""
    listed = f"{SERVICE_NAME} in ({','.join(sorted(names))}),!{DISPATCHED_BY}"
    return listed if len(listed) <= _LONGEST else f"{SERVICE_NAME},!{DISPATCHED_BY}"


def dispatched(federation: str) -> str:
    """Selects what this federation dispatched."""
    return f"{DISPATCHED_BY}={federation}"


async def create(session: Session, namespace: str, body: Body) -> Body:
    """Raises ObjectExists, ObjectNotFound (its namespace), ClusterError."""
    return await session.json("POST", _path(namespace), body=body, query={"fieldManager": MANAGER})


async def replace(session: Session, namespace: str, name: str, body: Body) -> Body:
    """Raises ObjectConflict where it is not the version that the body names any more, ObjectNotFound, ClusterError."""
    return await session.json("PUT", _path(namespace, name), body=body, query={"fieldManager": MANAGER})


async def delete(session: Session, namespace: str, name: str, uid: str) -> None:
    """What is gone already, and what another slice took the name of, needs no deletion. Raises ClusterError."""
    options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}}
    with contextlib.suppress(errors.ObjectNotFound, errors.ObjectConflict):
        await session.request("DELETE", _path(namespace, name), body=options)


def _path(namespace: str, name: str = "") -> str:
    path = f"/apis/discovery.k8s.io/v1/namespaces/{quote(namespace, safe='')}/endpointslices"
    return f"{path}/{quote(name, safe='')}" if name else path
