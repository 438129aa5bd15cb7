"""Waiting for a kind to be served: a definition and its objects are often written within one roll-out.

An API server accepts a CustomResourceDefinition, establishes it a moment later, and serves its kind another moment
after that. A client that writes an object in between meets a 404.
"""

from __future__ import annotations

import asyncio

from gitfed import errors
from gitfed.edges.kube.connection.session import Session
from gitfed.edges.kube.discovery import Discovery, Resource
from gitfed.model import definition
from gitfed.model.base import Kind

DEFINITION = Kind("apiextensions.k8s.io", "CustomResourceDefinition")
AFTER = (0.05, 0.1, 0.2, 0.4, 0.8, 1.5, 3.0, 4.0)
"""Seconds between looks."""


async def resource(
    discovery: Discovery, kind: Kind, api_version: str | None, waits: tuple[float, ...] = AFTER
) -> Resource:
    """The kind's path, in the version that the cluster prefers if none is named; looks again after each of `waits`.

    Raises KindUnknown, and what discovery raises.
    """
    served = discovery.known(kind, api_version)
    if served is not None:
        return served
    for pause in waits:
        try:
            return await discovery.resource(kind, api_version)
        except errors.KindUnknown:
            await asyncio.sleep(pause)
    return await discovery.resource(kind, api_version)


async def established(session: Session, discovery: Discovery, path: str, waits: tuple[float, ...] = AFTER) -> None:
    """Return when the definition at `path` serves its kind, or after `waits`: then its objects will say so."""
    for pause in waits:
        body = await session.json("GET", path)
        conditions = (body.get("status") or {}).get("conditions") or ()
        if any(
            condition.get("type") == "Established" and condition.get("status") == "True" for condition in conditions
        ):
            await discovery.refresh()
            defined = definition.read(body)
            if defined is None or discovery.known(defined.kind) is not None:
                return
        await asyncio.sleep(pause)
