"""The cluster's API for code in the same process: controllers, faults, tests.

Every call takes the same pipeline as a request over HTTP, as a user of the group ``system:masters``, without bytes in
between. Resources are named ``deployments.apps`` (``pods`` in the core group) and spoken of in their preferred
version. Bodies that come back are shared with the store and must not be changed. Refusals are ``status.ApiError``.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from kubesim import status
from kubesim.kind import Kind
from kubesim.server import delete as deleting
from kubesim.server import forms, options, patching, read, scale, write
from kubesim.server.call import Call
from kubesim.server.options import DeleteOptions, ListOptions, WriteOptions
from kubesim.server.request import User
from kubesim.server.world import World

Body = dict[str, Any]

_PATCH_TYPES: Final = {
    "json": patching.JSON_PATCH,
    "merge": patching.MERGE_PATCH,
    "strategic": patching.STRATEGIC_PATCH,
    "apply": options.APPLY,
}


class Client:
    """``manager`` becomes the field manager of what is written."""

    def __init__(self, world: World, manager: str) -> None:
        self._world = world
        self._manager = manager
        self._user = User(f"system:{manager}", groups=("system:masters", "system:authenticated"))

    def kind(self, resource: str) -> Kind:
        """404 for a resource the cluster does not have."""
        found = self._world.registry.preferred(resource)
        if found is None:
            raise status.path_not_found()
        return found

    def get(self, resource: str, namespace: str, name: str) -> Body:
        kind = self.kind(resource)
        return forms.view(read.get(self._world, kind, namespace, name), kind)

    def find(self, resource: str, namespace: str, name: str) -> Body | None:
        """As ``get``, ``None`` for what is not there."""
        kind = self.kind(resource)
        record = self._world.record(kind, namespace, name)
        return forms.view(record, kind) if record else None

    def list(self, resource: str, namespace: str = "", *, labels: str = "", fields: str = "") -> list[Body]:
        """Ordered by namespace and name; selectors as in a query."""
        kind = self.kind(resource)
        page = read.listing(self._world, kind, namespace, ListOptions(labels, fields))
        return [forms.view(record, kind) for record in page.records]

    def create(self, resource: str, body: Body, *, dry_run: bool = False) -> Body:
        call = self._call(resource, body["metadata"].get("namespace", ""), "", "", dry_run=dry_run)
        return self._done(write.create(call, orjson.dumps(body), "application/json").body)

    def update(self, resource: str, body: Body, *, subresource: str = "") -> Body:
        """A PUT: with a resourceVersion in the body it is an optimistic lock."""
        meta = body["metadata"]
        call = self._call(resource, meta.get("namespace", ""), meta["name"], subresource)
        if subresource == "scale":
            return self._done(scale.replace(call, orjson.dumps(body), "application/json").body)
        return self._done(write.replace(call, orjson.dumps(body), "application/json").body)

    def patch(
        self,
        resource: str,
        namespace: str,
        name: str,
        patch: Any,
        *,
        type: str = "merge",  # noqa: A002 -- the name Kubernetes clients use
        subresource: str = "",
        force: bool = False,
    ) -> Body:
        """``type`` is json, merge, strategic or apply."""
        call = self._call(resource, namespace, name, subresource, force=force)
        data, content_type = orjson.dumps(patch), _PATCH_TYPES[type]
        if subresource == "scale":
            change = scale.applied(call, data) if type == "apply" else scale.patched(call, data, content_type)
        else:
            change = patching.applied(call, data) if type == "apply" else patching.patched(call, data, content_type)
        return self._done(change.body)

    def delete(
        self,
        resource: str,
        namespace: str,
        name: str,
        *,
        policy: str = "Background",
        grace: int | None = None,
        uid: str | None = None,
    ) -> None:
        """Marks or removes; with ``uid`` only that very object (409 otherwise)."""
        kind = self.kind(resource)
        wanted = DeleteOptions(grace=grace, policy=policy, uid=uid)
        deleting.delete(self._world, kind, namespace, name, wanted, self._user, [])
        self._world.proceed()

    def _call(
        self, resource: str, namespace: str, name: str, subresource: str, *, dry_run: bool = False, force: bool = False
    ) -> Call:
        kind = self.kind(resource)
        wanted = WriteOptions(dry_run, self._manager, "Ignore", force)
        where = namespace if kind.namespaced else ""
        return Call(self._world, self._user, kind, where, name, subresource, wanted)

    def _done(self, body: Body) -> Body:
        self._world.proceed()
        return body
