"""Deleting one object, or all that match.

A deletion is three questions in Kubernetes' order: may it be (preconditions)? does the kind take its time (grace)?
does something hold the object (finalizers, those of garbage collection included)? If nothing holds it, it is gone at
once; otherwise it is only marked, and an update that takes the last hold away removes it. Namespaces and definitions
are always marked first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from kubesim import admission, status
from kubesim.kind import Kind
from kubesim.server import forms, options, read
from kubesim.server.options import DeleteOptions
from kubesim.server.request import User
from kubesim.server.world import World, timestamp
from kubesim.store import Record

Body = dict[str, Any]

ORPHAN: Final = "orphan"
FOREGROUND: Final = "foregroundDeletion"


@dataclass(frozen=True, slots=True)
class Deletion:
    """``body`` is the object as it was or is now; ``removed`` whether it is gone."""

    body: Body
    removed: bool


def delete(
    world: World, kind: Kind, namespace: str, name: str, wanted: DeleteOptions, user: User, warnings: list[str]
) -> Deletion:
    """404 if it does not exist, 409 if a precondition fails, 403 if admission refuses."""
    _warn(kind, wanted, warnings)
    record = world.record(kind, namespace, name)
    if record is None:
        raise status.not_found(kind.group, kind.plural, name)
    admission.check_deletion(kind, name)
    _check_preconditions(kind, name, record, wanted)
    if _is_namespace(kind):
        return _mark_namespace(world, kind, record, wanted)
    if _is_definition(kind):
        return _mark_definition(world, kind, record, wanted)
    return _delete(world, kind, record, wanted)


def _warn(kind: Kind, wanted: DeleteOptions, warnings: list[str]) -> None:
    """Before it is known whether there is anything to delete."""
    if kind.orphans_by_default and not wanted.policy and wanted.orphan is None:
        warnings.append(kind.orphans_by_default)


def _check_preconditions(kind: Kind, name: str, record: Record, wanted: DeleteOptions) -> None:
    live = record.body["metadata"]
    if wanted.uid is not None and wanted.uid != live["uid"]:
        text = (
            f"the UID in the precondition ({wanted.uid}) does not match the UID in record ({live['uid']}). "
            "The object might have been deleted and then recreated"
        )
        raise status.conflict(kind.group, kind.kind, name, text)
    if wanted.resource_version is not None and wanted.resource_version != str(record.version):
        text = (
            f"the ResourceVersion in the precondition ({wanted.resource_version}) does not match "
            f"the ResourceVersion in record ({record.version}). The object might have been modified"
        )
        raise status.conflict(kind.group, kind.kind, name, text)


def _delete(world: World, kind: Kind, record: Record, wanted: DeleteOptions) -> Deletion:
    meta = dict(record.body["metadata"])
    graceful, pending = _grace(kind, record.body, meta, wanted, world.clock.now())
    if pending:
        return Deletion(forms.view(record, kind), False)
    finalizers = _finalizers(kind, list(meta.get("finalizers") or ()), wanted)
    if finalizers:
        meta["finalizers"] = finalizers
    else:
        meta.pop("finalizers", None)
    if finalizers and not graceful:
        _mark(meta, world.clock.now())
    body = {**record.body, "metadata": meta}
    if finalizers or (graceful and meta["deletionGracePeriodSeconds"] > 0):
        return Deletion(_stored(world, kind, record, body, wanted), False)
    if graceful and not wanted.dry_run:
        # A graceful deletion writes its last mark before it removes: watchers see MODIFIED, then DELETED.
        record = world.store.put(kind.storage_key, record.key, body)
    elif meta != record.body["metadata"] and not wanted.dry_run:
        record = world.store.put(kind.storage_key, record.key, body)
    if wanted.dry_run:
        return Deletion(kind.from_storage(body if graceful else record.body), True)
    return Deletion(kind.from_storage(world.store.delete(kind.storage_key, record.key).body), True)


def _stored(world: World, kind: Kind, record: Record, body: Body, wanted: DeleteOptions) -> Body:
    if wanted.dry_run:
        return kind.from_storage(body)
    if body["metadata"] == record.body["metadata"] and body == record.body:
        return forms.view(record, kind)
    return forms.view(world.store.put(kind.storage_key, record.key, body), kind)


def _grace(kind: Kind, body: Body, meta: Body, wanted: DeleteOptions, now: datetime) -> tuple[bool, bool]:
    """(the deletion is graceful and ``meta`` is marked so, a graceful one is already under way). Kubernetes:
    rest.BeforeDelete."""
    requested = wanted.grace
    if requested is not None and requested < 0:
        requested = 1
    if kind.grace is None:
        return False, False
    if meta.get("deletionTimestamp"):
        current = meta.get("deletionGracePeriodSeconds")
        if not current:
            return False, False
        if requested is None or requested >= current:
            return False, True
        began = datetime.fromisoformat(meta["deletionTimestamp"]) - timedelta(seconds=current)
        meta["deletionTimestamp"] = timestamp(began + timedelta(seconds=requested))
        meta["deletionGracePeriodSeconds"] = requested
        return True, False
    seconds = kind.grace(body, requested)
    meta["deletionTimestamp"] = timestamp(now + timedelta(seconds=seconds))
    meta["deletionGracePeriodSeconds"] = seconds
    if meta.get("generation"):
        meta["generation"] += 1
    return True, False


def _mark(meta: Body, now: datetime) -> None:
    """For kinds without grace: deleted now, as soon as nothing holds it."""
    if not meta.get("deletionTimestamp"):
        meta["deletionTimestamp"] = timestamp(now)
        if meta.get("generation"):
            meta["generation"] += 1
    meta["deletionGracePeriodSeconds"] = 0


def _finalizers(kind: Kind, held: list[str], wanted: DeleteOptions) -> list[str]:
    """Finalizers after a deletion: garbage collection's two follow from the policy, the others stay."""
    kept = [name for name in held if name not in (ORPHAN, FOREGROUND)]
    if _orphans(kind, held, wanted):
        kept.append(ORPHAN)
    if _foreground(held, wanted):
        kept.append(FOREGROUND)
    return kept if set(kept) != set(held) else held


def _orphans(kind: Kind, held: list[str], wanted: DeleteOptions) -> bool:
    if wanted.orphan is not None:
        return wanted.orphan
    if wanted.policy:
        return wanted.policy == "Orphan"
    if ORPHAN in held or FOREGROUND in held:
        return ORPHAN in held
    return bool(kind.orphans_by_default) or kind.orphans_silently


def _foreground(held: list[str], wanted: DeleteOptions) -> bool:
    if wanted.orphan is not None:
        return False
    if wanted.policy:
        return wanted.policy == "Foreground"
    return FOREGROUND in held


# kinds that are always marked first ---------------------------------------------------------------------------------


def _is_namespace(kind: Kind) -> bool:
    return kind.group == "" and kind.kind == "Namespace"


def _is_definition(kind: Kind) -> bool:
    return kind.group == "apiextensions.k8s.io" and kind.kind == "CustomResourceDefinition"


def _mark_namespace(world: World, kind: Kind, record: Record, wanted: DeleteOptions) -> Deletion:
    body, meta = record.body, record.body["metadata"]
    if not meta.get("deletionTimestamp"):
        meta = {**meta, "deletionTimestamp": world.now()}
        body = {**body, "metadata": meta, "status": {**(body.get("status") or {}), "phase": "Terminating"}}
        finalizers = _finalizers(kind, list(meta.get("finalizers") or ()), wanted)
        if finalizers:
            meta["finalizers"] = finalizers
        return Deletion(_stored(world, kind, record, body, wanted), False)
    if (body.get("spec") or {}).get("finalizers") or meta.get("finalizers"):
        return Deletion(body, False)
    if wanted.dry_run:
        return Deletion(body, True)
    return Deletion(world.store.delete(kind.storage_key, record.key).body, True)


def _mark_definition(world: World, kind: Kind, record: Record, wanted: DeleteOptions) -> Deletion:
    from kubesim import crd

    body, meta = record.body, dict(record.body["metadata"])
    if meta.get("deletionTimestamp"):
        return _delete(world, kind, record, wanted)
    meta["deletionTimestamp"] = world.now()
    marked = crd.begin_deletion({**body, "metadata": meta}, world.now())
    return Deletion(_stored(world, kind, record, marked, wanted), False)


# collections --------------------------------------------------------------------------------------------------------


def delete_collection(
    world: World,
    kind: Kind,
    namespace: str,
    listed: options.ListOptions,
    wanted: DeleteOptions,
    user: User,
    warnings: list[str],
) -> read.Page:
    """The list of what was there; each is deleted on the same terms."""
    _warn(kind, wanted, warnings)
    page = read.listing(world, kind, namespace, replace(listed, bookmarks=False))
    for record in page.records:
        meta = record.body["metadata"]
        if world.record(kind, meta.get("namespace", ""), meta["name"]) is record:
            delete(world, kind, meta.get("namespace", ""), meta["name"], wanted, user, warnings)
    return page
