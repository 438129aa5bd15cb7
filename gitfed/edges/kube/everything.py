"""All objects of a cluster at once, for commands that take a cluster over: every kind that can be listed, in pages."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Collection
from urllib.parse import quote

from gitfed import errors
from gitfed.edges.kube import reflect
from gitfed.edges.kube.connection import translate
from gitfed.edges.kube.connection.session import Session
from gitfed.edges.kube.discovery import Discovery, Resource
from gitfed.model.base import Body
from gitfed.model.counting import Count, unheard
from gitfed.text.values import dataclass

_ALIASES = frozenset({("events.k8s.io/v1", "Event"), ("extensions/v1beta1", "Ingress")})
"""Kinds that show the objects of another one."""
_CONCURRENCY = 8


@dataclass(frozen=True, slots=True)
class Everything:
    bodies: tuple[Body, ...]
    """By kind, namespace and name."""
    unread: tuple[str, ...] = ()
    """What could not be read, one sentence for each."""


async def read(
    session: Session,
    *,
    namespaces: Collection[str] = (),
    wanted: Callable[[Resource], bool] = lambda resource: True,
    count: Count = unheard,
) -> Everything:
    """`namespaces`: only these and what lies in them; empty: everything.

    What one kind refuses is told and leaves out that kind. Raises ClusterError when the cluster tells no kinds at all.
    """
    served, complete = await Discovery(session).preferred()
    slots = asyncio.Semaphore(_CONCURRENCY)
    unread = [] if complete else ["some groups of kinds did not answer"]

    async def listed(resource: Resource, namespace: str) -> list[Body]:
        async with slots:
            try:
                bodies, _ = await reflect.read(session, resource.path(namespace), "")
            except errors.ClusterError as error:
                unread.append(f"{resource.kind}: {translate.said(error)}")
                return []
            return bodies

    resources = [
        resource
        for resource in served
        if (not resource.verbs or "list" in resource.verbs)
        and (resource.api_version, resource.kind) not in _ALIASES
        and (resource.namespaced or not namespaces)
        and wanted(resource)
    ]
    places = [(resource, namespace) for resource in resources for namespace in (sorted(set(namespaces)) or ("",))]
    done = itertools.count(1)

    async def counted(resource: Resource, namespace: str) -> list[Body]:
        bodies = await listed(resource, namespace)
        count("lists of objects read", next(done), len(places))
        return bodies

    lists = await asyncio.gather(*(counted(resource, namespace) for resource, namespace in places))
    bodies = [body for listing in lists for body in listing]
    for namespace in sorted(set(namespaces)):
        try:
            bodies.append(await session.json("GET", f"/api/v1/namespaces/{quote(namespace, safe='')}"))
        except errors.ClusterError as error:
            unread.append(f"Namespace {namespace}: {translate.said(error)}")
    return Everything(tuple(sorted(bodies, key=_place)), tuple(sorted(unread)))


def _place(body: Body) -> tuple[str, str, str, str]:
    metadata = body["metadata"]
    return str(body["kind"]), str(metadata.get("namespace") or ""), str(metadata["name"]), str(body["apiVersion"])
