"""What would go with an object that is to be deleted, whichever client made it: asked before that is done.

Deleting a namespace deletes everything in it. So every kind that the cluster serves in namespaces is asked for a few
objects; what any cluster puts into every namespace does not count. Deleting a definition deletes every object of its
kind, in all namespaces: it is asked for one. What cannot be read may hold something, and is not deleted. Between this
look and the deletion a client may still put something in; a server has no deletion that depends on emptiness, so that
moment is kept short and cannot be closed.
"""

from __future__ import annotations

import asyncio
from typing import Any

from gitfed import errors
from gitfed.edges.kube import wait_served
from gitfed.edges.kube.connection import translate
from gitfed.edges.kube.connection.session import Session
from gitfed.edges.kube.discovery import Discovery, Resource
from gitfed.model.base import Body, Kind, ObjectKey

_EVERYWHERE = frozenset({("ServiceAccount", "default"), ("ConfigMap", "kube-root-ca.crt")})
_NOT_CONTENT = frozenset({"Event", "PodMetrics"})
"""Told about others, or computed from them."""
_FEW = 5
"""Objects asked for of each kind: more than there are of those that do not count."""
_NAMESPACE = Kind("", "Namespace")


async def goes_with(session: Session, discovery: Discovery, resource: Resource, key: ObjectKey) -> str:
    """What the server would delete with an object, said as it stands after `stays: `; "" for nothing that a user has
    to miss. Raises as `first_left`."""
    if key[:2] == _NAMESPACE:
        left = await first_left(session, discovery, key.name)
        return f"{left} is still in it" if left else ""
    if key[:2] != wait_served.DEFINITION:
        return ""
    try:
        definition: Body = await session.json("GET", resource.path(key.namespace, key.name))
    except errors.ObjectNotFound:
        return ""
    left = await first_of(session, definition)
    return f"{left} is still there" if left else ""


async def first_left(session: Session, discovery: Discovery, namespace: str) -> str:
    """What is in a namespace, or why that is unknown; "" when it is empty. Raises what the session raises for a cluster
    that does not answer."""
    resources, complete = await discovery.namespaced()
    if not complete:
        return "a group of kinds that does not answer"
    listable = [resource for resource in resources if "list" in resource.verbs and resource.kind not in _NOT_CONTENT]
    answers = await asyncio.gather(*(_first(session, resource, namespace) for resource in listable))
    return next((answer for answer in answers if answer), "")


async def first_of(session: Session, definition: Body) -> str:
    """An object of the kind that a CustomResourceDefinition defines, or why that is unknown; "" when there is none."""
    spec = definition["spec"]
    version = next((declared["name"] for declared in spec["versions"] if declared.get("served")), None)
    if version is None:
        return "what no version of it serves"
    kind, plural = spec["names"]["kind"], spec["names"]["plural"]
    try:
        path = f"/apis/{spec['group']}/{version}/{plural}"
        listing: dict[str, Any] = await session.json("GET", path, query={"limit": "1"})
    except errors.ObjectNotFound:
        return ""  # it is not served (yet): no client can have made any
    except (errors.ClusterUnreachable, errors.ClusterBusy, errors.Unauthorized, errors.CredentialsError):
        raise
    except errors.ClusterError as error:
        return f"{kind} that cannot be listed ({translate.said(error)})"
    for item in listing.get("items") or ():
        metadata = item.get("metadata") or {}
        return "/".join(filter(None, (kind, metadata.get("namespace"), metadata.get("name"))))
    return ""


async def _first(session: Session, resource: Resource, namespace: str) -> str:
    try:
        listing: dict[str, Any] = await session.json("GET", resource.path(namespace), query={"limit": str(_FEW)})
    except errors.ObjectNotFound:
        return ""  # its definition has just gone, and its objects with it
    except (errors.ClusterUnreachable, errors.ClusterBusy, errors.Unauthorized, errors.CredentialsError):
        raise
    except errors.ClusterError as error:
        return f"{resource.kind} that cannot be listed ({translate.said(error)})"
    for item in listing.get("items") or ():
        name = str((item.get("metadata") or {}).get("name"))
        if (resource.kind, name) not in _EVERYWHERE:
            return f"{resource.kind}/{name}"
    return ""
