"""Carry out one change in one cluster: the only module that writes users' objects.

**Create** is one server-side apply that cannot touch an existing object. The configuration carries
`metadata.resourceVersion: "1"`, a version that no stored object has (a store's first write gets a higher one).
Kubernetes ignores it where the apply creates, and answers 409 where the object exists. So there is no gap between
looking and writing, and the object begins with an entry of operation Apply: a POST would begin with one of operation
Update, which a later apply with the same name neither replaces nor removes from.

**Update** is a forced apply that names the uid we decided about: if that object is gone, or another has its name, the
server refuses (409, 422) and the plan looks again. A retained value arrives with the `resourceVersion` it was read
at, and a 409 means that another client was faster: again, look again.

**Adopt** (`work.karmada.io/conflict-resolution: overwrite`, or `Change.adopt`) reads the object, makes the fields of
earlier writers ours (`adopt`), and applies. Without it an existing foreign object is left alone and the change fails.

**Delete** names the uid, in the background; what is gone already is deleted. An object that the plan does not know to
be ours is refused here once more.

A namespace is deleted when nothing is left in it, a definition when there is no object of its kind
(`emptiness`).

**Replace**: a field is immutable, and the template allows deleting and creating again. It is tried only after the
server has refused the update for that reason alone.

Nothing is retried here but what the next request needs (a definition that is not served yet, a deletion that takes its
time). `ApplyResult.retry` says that looking again can help. Inventory entries are written around this call, not in it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import field, replace
from typing import Any

from gitfed import errors
from gitfed.edges.kube import adopt, deletion_check, wait_served
from gitfed.edges.kube.connection import error_text, session, translate
from gitfed.edges.kube.connection.session import Session
from gitfed.edges.kube.discovery import Discovery, Resource
from gitfed.model.base import Body, Kind, ObjectKey
from gitfed.model.fleet import INVALID, ApplyResult, Health, LiveObject
from gitfed.model.keys import CONFLICT_ANNOTATION, FEDERATION_LABEL, MANAGER, REPLACE_ANNOTATION
from gitfed.model.plan import Action, Change
from gitfed.model.reason import Reason, ReasonCode
from gitfed.text.values import dataclass

NOT_EMPTY = "NotEmpty"
"""The reason of what was not deleted because something would go with it: to be looked at again later."""

_NEVER_STORED = "1"
_GONE_AFTER = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 2.0, 4.0, 5.0, 5.0, 10.0)
"""Seconds between looks whether a replaced object is gone: a Deployment's takes no time, a finalizer's may."""
_NAMESPACE = Kind("", "Namespace")

Observed = Callable[[ObjectKey, str, Body | None], None]
"""(key, uid, body as answered; None: gone). The observer learns of our own writes from their answers."""


Retained = Callable[[Body, Body], Awaitable[Body]]
"""What to send in place of a manifest, now that the object it is for (the second) was read. Raises NotRetained."""


@dataclass(frozen=True, slots=True)
class ApplyTarget:
    """Where changes of one cluster go: made once per cluster, used for each change."""

    session: Session
    discovery: Discovery
    federation: str
    redact: error_text.RedactText | None = None
    """None: a refusal of a Secret names its fields only."""
    observed: Observed | None = None
    retained: Retained | None = None
    """None: nothing belongs to the cluster."""
    dry_run: bool = False
    """The server does everything but storing it."""
    served_after: tuple[float, ...] = field(default=wait_served.AFTER)
    gone_after: tuple[float, ...] = field(default=_GONE_AFTER)


async def carry_out(target: ApplyTarget, change: Change) -> ApplyResult:
    """Do it, and say how it went. A refusal or failure is an outcome; only CredentialsError, Unauthorized,
    ClusterUnreachable and ClusterBusy are raised: they are about the cluster, not about this object.
    """
    started = time.monotonic()
    try:
        result = await _act(target, change)
    except (errors.CredentialsError, errors.Unauthorized, errors.ClusterUnreachable, errors.ClusterBusy):
        raise
    except errors.ClusterError as error:
        if isinstance(error, errors.ObjectNotFound) and not error.reason:
            # No Status but the server's "page not found": the path itself is gone, so what we know is old.
            await target.discovery.refresh()
        retry = error.retry or isinstance(error, errors.ObjectNotFound) or error.reason == translate.TERMINATING
        message, reason = error_text.explain(error), error.reason
        if isinstance(error, errors.ObjectInvalid):
            reason = reason or INVALID
            message += change.write.rendered.made_by if change.write.rendered is not None else ""
        result = replace(
            _failed(change, message, retry=retry, reason=reason),
            permanent=not retry and translate.is_permanent(error),
        )
    return replace(result, took=time.monotonic() - started)


async def _act(target: ApplyTarget, change: Change) -> ApplyResult:
    if change.action in (Action.KEEP, Action.SKIP):
        return ApplyResult(change.cluster, change.key, "skipped", str(change.reason))
    # Its definition may have been created just before. A deletion has no need to wait for that.
    waits = () if change.action is Action.DELETE or target.dry_run else target.served_after
    # Of an object that is only known from the inventory the version is unknown: any serves to delete it.
    resource = await wait_served.resource(target.discovery, _kind(change), change.api_version or None, waits)
    if change.action is Action.DELETE:
        return await _delete(target, change, resource)
    body = _body(change)
    if change.live is None or not change.live.uid:
        return await _create(target, change, resource, body)
    if not change.live.ours and not _listed(change.live):
        return await _exists(target, change, resource, body)
    try:
        return await _update(target, change, resource, body)
    except errors.ObjectInvalid as error:
        if error.reason == translate.OTHER_UID:
            return _failed(change, "another object has its name now", retry=True)
        # For that reason alone: an object that is invalid as well could not be created again, and would be lost.
        if error.reason != translate.IMMUTABLE or not (
            change.write.replaces or _annotation(body, REPLACE_ANNOTATION) == "allowed"
        ):
            raise
        return await _replace(target, change, resource, body)


async def _create(target: ApplyTarget, change: Change, resource: Resource, body: Body) -> ApplyResult:
    try:
        stored = await _apply(target, change, resource, _with_metadata(body, resourceVersion=_NEVER_STORED))
    except errors.ObjectConflict as error:
        if error.causes:
            raise
        return await _exists(target, change, resource, body)
    if change.key[:2] == wait_served.DEFINITION and not target.dry_run:
        path = resource.path(name=change.key.name)
        await wait_served.established(target.session, target.discovery, path, target.served_after)
    return _done(target, change, "created", stored)


async def _exists(target: ApplyTarget, change: Change, resource: Resource, body: Body) -> ApplyResult:
    """The object that was to be created is there. Ours after all (a crash before the answer, a late watch), or not?"""
    try:
        live = await _read(target, change, resource)
    except errors.ObjectNotFound:
        return _failed(change, "existed a moment ago and is gone again", retry=True)
    if live["metadata"].get("deletionTimestamp"):
        return _failed(change, "an older object of this name is still being deleted", retry=True)
    if _written_by_us(target, live):
        if target.observed is not None:
            target.observed(change.key, live["metadata"]["uid"], live)
        return _failed(change, "exists already with our label; looking again", retry=True)
    if change.write.adopt or _annotation(body, CONFLICT_ANNOTATION).lower() == "overwrite":
        return await _adopt(target, change, resource, body, live)
    if change.key[:2] == _NAMESPACE:
        message = "another client made it: it is used as it is"
        return ApplyResult(change.cluster, change.key, "skipped", message, details={"reason": "Exists"})
    return _failed(
        change,
        f"{change.key} exists in cluster {change.cluster} and is not managed by this federation; to take it over, "
        f"annotate its template with {CONFLICT_ANNOTATION}: overwrite (or conflictResolution: Overwrite in the policy)",
        reason="Exists",
    )


async def _adopt(
    target: ApplyTarget, change: Change, resource: Resource, body: Body, live: Body | None = None
) -> ApplyResult:
    try:
        live = live or await _read(target, change, resource)
        migration = adopt.patch(live, manager=MANAGER)
        if target.retained is not None:
            # The earlier writers' fields are about to be ours: what is left out of those goes.
            observed = adopt.migrated(live, migration)
            body = await target.retained(change.write.rendered.body if change.write.rendered else body, observed)
        uid, version = live["metadata"]["uid"], live["metadata"]["resourceVersion"]
        # A dry run cannot build on a migration that was not stored; its result differs in removed fields only.
        if migration is not None and not target.dry_run:
            migrated = await target.session.json(
                "PATCH",
                resource.path(change.key.namespace, change.key.name),
                body=migration,
                content_type=session.JSON_PATCH,
                query={"fieldManager": MANAGER},
                redact=error_text.redactor(target.redact, live),
            )
            if "resourceVersion" in body["metadata"]:  # of the same state, but for the migration
                body = _with_metadata(body, resourceVersion=migrated["metadata"]["resourceVersion"])
            version = migrated["metadata"]["resourceVersion"]
        stored = await _apply(target, change, resource, _with_metadata(body, uid=uid))
    except errors.ObjectNotFound:
        return _failed(change, "was deleted while it was taken over", retry=True)
    except errors.ObjectInvalid as error:
        if error.reason == translate.OTHER_UID:
            return _failed(change, "was replaced while it was taken over", retry=True)
        raise
    unchanged = not target.dry_run and stored["metadata"].get("resourceVersion") == version
    return _done(target, change, "unchanged" if unchanged else "configured", stored)


async def _update(target: ApplyTarget, change: Change, resource: Resource, body: Body) -> ApplyResult:
    live = change.live
    assert live is not None
    try:
        stored = await _apply(target, change, resource, _with_metadata(body, uid=live.uid))
    except errors.ObjectNotFound as error:
        return _failed(change, translate.said(error), retry=True)
    if change.key[:2] == wait_served.DEFINITION and not target.dry_run:
        await target.discovery.refresh()  # its versions may have changed
    unchanged = stored["metadata"].get("resourceVersion") == live.resource_version
    if target.dry_run:
        # A dry run moves no version, so the objects have to be compared.
        unchanged = live.body is not None and _without_managers(stored) == _without_managers(live.body)
    return _done(target, change, "unchanged" if unchanged else "configured", stored)


async def _apply(target: ApplyTarget, change: Change, resource: Resource, body: Body) -> Body:
    # What we send was parsed strictly, and an apply refuses unknown fields whatever this says: otherwise the server
    # would read every body twice, for warnings.
    query = {"fieldManager": MANAGER, "force": "true", "fieldValidation": "Ignore"}
    if target.dry_run:
        query["dryRun"] = "All"
    answer = await target.session.request(
        "PATCH",
        resource.path(change.key.namespace, change.key.name),
        body=body,
        content_type=session.APPLY,
        query=query,
        redact=error_text.redactor(target.redact, body),
    )
    stored: Body = answer.json()
    return stored


async def _read(target: ApplyTarget, change: Change, resource: Resource) -> dict[str, Any]:
    return await target.session.json("GET", resource.path(change.key.namespace, change.key.name))


async def _delete(target: ApplyTarget, change: Change, resource: Resource) -> ApplyResult:
    live = change.live
    if live is None or not live.ours:
        return _failed(change, "not deleted: inventory and label do not both say that it is ours", reason="NotOurs")
    if not live.uid:
        return ApplyResult(change.cluster, change.key, "deleted", "was gone already", Health.NOT_FOUND)
    if left := await deletion_check.goes_with(target.session, target.discovery, resource, change.key):
        message = str(Reason(ReasonCode.IN_USE_BY_OTHERS, detail=left))
        details = {"reason": NOT_EMPTY, "left": left}
        return ApplyResult(change.cluster, change.key, "skipped", message, details=details)
    options: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": "Background",
        "preconditions": {"uid": live.uid},
    }
    if target.dry_run:
        options["dryRun"] = ["All"]  # with a body the server looks at no query
    try:
        answer = await target.session.request(
            "DELETE", resource.path(change.key.namespace, change.key.name), body=options, timeout=60.0
        )
    except errors.ObjectNotFound as error:
        if not translate.is_gone(error):
            raise
        _tell(target, change.key, live.uid, None)
        return ApplyResult(change.cluster, change.key, "deleted", "was gone already", Health.NOT_FOUND)
    except errors.ObjectConflict as error:
        if "UID in the precondition" not in error.message:
            raise
        _tell(target, change.key, live.uid, None)
        message = "was gone already; another object has its name now"
        return ApplyResult(change.cluster, change.key, "deleted", message, Health.NOT_FOUND)
    marked = answer.json()
    metadata = marked.get("metadata") or {}
    # Some kinds answer the object that is gone, some a Status; what still has to be finalized says when it was marked.
    if marked.get("kind") == change.key.kind and metadata.get("deletionTimestamp"):
        _tell(target, change.key, live.uid, marked)
        held = ", ".join(metadata.get("finalizers") or ()) or "its grace period"
        return ApplyResult(change.cluster, change.key, "deleted", f"waits for {held}", Health.TERMINATING)
    _tell(target, change.key, live.uid, None)
    return ApplyResult(change.cluster, change.key, "deleted", "", Health.NOT_FOUND)


async def _replace(target: ApplyTarget, change: Change, resource: Resource, body: Body) -> ApplyResult:
    if target.dry_run:
        return ApplyResult(change.cluster, change.key, "configured", "would be deleted and created again")
    deleted = await _delete(target, change, resource)
    if deleted.outcome != "deleted":
        return deleted
    for pause in target.gone_after:
        try:
            left = await _read(target, change, resource)
        except errors.ObjectNotFound as error:
            if not translate.is_gone(error):
                raise
            break
        if change.live is None or left["metadata"]["uid"] != change.live.uid:
            return _failed(change, "another object has its name now", retry=True)
        await asyncio.sleep(pause)
    else:
        return _failed(change, "its deletion, to create it again, is not finished", retry=True)
    created = await _create(target, change, resource, _with_metadata(body, resourceVersion=None))
    if created.outcome != "created":
        return created
    return ApplyResult(created.cluster, created.key, "configured", "deleted and created again", details=created.details)


def _kind(change: Change) -> Kind:
    return Kind(change.key.group, change.key.kind)


def _written_by_us(target: ApplyTarget, live: Body) -> bool:
    """Label and manager: labels are copied by people and controllers, managed fields are not."""
    metadata = live["metadata"]
    labelled = (metadata.get("labels") or {}).get(FEDERATION_LABEL) == target.federation
    return labelled and any(entry.get("manager") == MANAGER for entry in metadata.get("managedFields") or ())


def _listed(live: LiveObject) -> bool:
    """Whether the inventory lists this very object: then it is ours though another client took its label away."""
    return live.entry is not None and bool(live.uid) and live.entry.uid == live.uid


def _body(change: Change) -> Body:
    if change.write.body is not None:
        return change.write.body
    if change.write.rendered is None:
        raise ValueError(f"{change.action} of {change.key} without a manifest")
    return change.write.rendered.body


def _with_metadata(body: Body, **members: str | None) -> Body:
    """A copy with these members of metadata; None leaves one out. What a retained value brought along stays."""
    metadata = {**body["metadata"], **members}
    return {**body, "metadata": {name: value for name, value in metadata.items() if value is not None}}


def _annotation(body: Body, name: str) -> str:
    return str((body["metadata"].get("annotations") or {}).get(name) or "")


def _without_managers(body: Body) -> Body:
    return _with_metadata(body, managedFields=None)


def _done(target: ApplyTarget, change: Change, outcome: str, stored: Body) -> ApplyResult:
    metadata = stored["metadata"]
    _tell(target, change.key, str(metadata.get("uid") or ""), stored)
    details = {"uid": metadata.get("uid", ""), "resourceVersion": metadata.get("resourceVersion", "")}
    return ApplyResult(change.cluster, change.key, outcome, details=details)


def _tell(target: ApplyTarget, key: ObjectKey, uid: str, body: Body | None) -> None:
    if target.observed is not None and not target.dry_run:
        target.observed(key, uid, body)


def _failed(change: Change, message: str, *, retry: bool = False, reason: str = "") -> ApplyResult:
    details = {"reason": reason} if reason else {}
    return ApplyResult(change.cluster, change.key, "failed", message, retry=retry, details=details)
