"""What happens in a cluster when it leaves the fleet: its objects are deleted, or let go, and the inventory with them.

The term is raised first, so that a daemon which still knows the cluster stops writing there. *Ours* is what it always
is: listed in the inventory, by that uid, and labelled. Namespaces are never deleted: others may live in them.
Definitions go last, and only those of whose kind nobody has an object any more. Whatever is cut short can be done
again: an entry is taken out of the inventory only after its object was seen gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import field
from typing import Any

from gitfed import errors
from gitfed.edges.kube import deletion_check
from gitfed.edges.kube.connection.session import MERGE_PATCH, Session
from gitfed.edges.kube.discovery import Discovery
from gitfed.edges.kube.inventory import Inventory
from gitfed.model import leader as leaders
from gitfed.model.base import Kind, ObjectKey
from gitfed.model.counting import Count, unheard
from gitfed.model.fleet import InventoryEntry
from gitfed.model.keys import BINDING_LABEL, FEDERATION_LABEL, PRUNE_ANNOTATION
from gitfed.text.values import dataclass

_AT_ONCE = 16
_LOOK_AGAIN = 0.5
_NAMESPACE = Kind("", "Namespace")
_DEFINITION = Kind("apiextensions.k8s.io", "CustomResourceDefinition")


@dataclass(slots=True)
class Left:
    """What became of the objects that the inventory listed."""

    present: bool = True
    """False: this cluster had no inventory of this federation."""
    deleted: list[ObjectKey] = field(default_factory=list)
    released: list[ObjectKey] = field(default_factory=list)
    """Still there, and nobody's of ours any more."""
    kept: dict[ObjectKey, str] = field(default_factory=dict)
    """Not deleted although asked for, and why."""
    remaining: dict[ObjectKey, str] = field(default_factory=dict)
    """Not gone in time, and what they wait for: the inventory still lists them."""


async def leave(
    session: Session,
    *,
    federation: str,
    repository_id: str,
    delete: bool,
    wait: float,
    count: Count = unheard,
) -> Left:
    """Take everything of `federation` out of the cluster. `repository_id` "": whoever it belongs to.

    Raises NotOwned when another repository owns the inventory, ClusterError.
    """
    inventory = Inventory(session, federation=federation, repository_id="")
    snapshot = await inventory.read(expected=0)
    left = Left(present=snapshot.present)
    if not snapshot.present:
        return left
    inventory.repository_id = repository_id or snapshot.repository_id
    await inventory.raise_term(snapshot.term + 1)
    # Whoever led until now may have intended more since it was read, and may have begun a shard that no header names.
    await inventory.outdate()
    listed = await inventory.read(expected=0)
    leaving = _Leaving(session, Discovery(session), federation, delete, left)
    entries = list(listed.entries.values())
    done = 0

    def one_more() -> None:
        nonlocal done
        done += 1
        count("objects taken out", done, len(entries))

    definitions = [entry for entry in entries if Kind(*entry.key[:2]) == _DEFINITION]
    others = [entry for entry in entries if Kind(*entry.key[:2]) != _DEFINITION]
    end = asyncio.get_running_loop().time() + wait
    for stage in (others, definitions):
        await leaving.each(stage, one_more)
        await leaving.until_gone(stage, end)
        if left.remaining:
            break
    if leaders.kind(snapshot.leader) == leaders.DAEMON and not left.remaining:
        await leaving.undo_late_writes(entries, end)
    if left.remaining:
        gone = [entry.key for entry in entries if entry.key not in left.remaining]
        await inventory.record(remove=[key for key in gone if key in left.deleted])
    else:
        await inventory.discard()
    return left


async def look(session: Session, *, federation: str, repository_id: str, delete: bool) -> Left:
    """What `leave` would do, with nothing changed: what would be deleted counts as deleted. Raises as `leave` does."""
    inventory = Inventory(session, federation=federation, repository_id="")
    snapshot = await inventory.read(expected=0)
    left = Left(present=snapshot.present)
    if not snapshot.present:
        return left
    inventory.repository_id = repository_id or snapshot.repository_id
    inventory.check_repository()
    leaving = _Leaving(session, Discovery(session), federation, delete, left, looks=True)
    await leaving.each(snapshot.entries.values(), lambda: None)
    left.deleted += leaving.marked
    return left


@dataclass(slots=True)
class _Leaving:
    session: Session
    discovery: Discovery
    federation: str
    delete: bool
    left: Left
    looks: bool = False
    """Nothing is changed."""
    marked: dict[ObjectKey, str] = field(default_factory=dict)
    """Asked to be deleted, not seen gone yet, with its uid: another one has only its name."""

    async def each(self, entries: Iterable[InventoryEntry], done: Callable[[], None]) -> None:
        slots = asyncio.Semaphore(_AT_ONCE)

        async def settle(entry: InventoryEntry) -> None:
            async with slots:
                await self.delete_or_release(entry)
            done()

        results = await asyncio.gather(*(settle(entry) for entry in entries), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result

    async def delete_or_release(self, entry: InventoryEntry) -> None:
        key = entry.key
        body = await self.read(key)
        if body is None:
            if not self.looks:
                self.left.deleted.append(key)
            return
        metadata = body["metadata"]
        labels = metadata.get("labels") or {}
        if labels.get(FEDERATION_LABEL) != self.federation or entry.uid not in ("", metadata["uid"]):
            self.left.kept[key] = "not ours any more: its label is gone, or another object has its name"
        elif not self.delete:
            await self.release(key)
        elif Kind(*key[:2]) == _NAMESPACE:
            self.left.kept[key] = "unjoin deletes no namespace, others may live in it"
            await self.release(key)
        elif (metadata.get("annotations") or {}).get(PRUNE_ANNOTATION) == "disabled":
            self.left.kept[key] = f"annotated {PRUNE_ANNOTATION}: disabled"
            await self.release(key)
        elif (
            Kind(*key[:2]) == _DEFINITION
            and not self.looks
            and (left := await deletion_check.first_of(self.session, body))
        ):
            self.left.kept[key] = f"{left} is still there, and would be deleted with it"
            await self.release(key)
        else:
            await self.ask("DELETE", key, _delete(metadata["uid"]))
            self.marked[key] = metadata["uid"]

    async def release(self, key: ObjectKey) -> None:
        labels = {FEDERATION_LABEL: None, BINDING_LABEL: None}
        await self.ask("PATCH", key, {"metadata": {"labels": labels}}, content_type=MERGE_PATCH)
        if key not in self.left.kept and key not in self.left.released:
            self.left.released.append(key)

    async def undo_late_writes(self, entries: Iterable[InventoryEntry], end: float) -> None:
        """A daemon hears of the higher term by its watch, and of what is gone by another: it may have repaired
        something in between. Look until nothing bears our label any more."""
        while asyncio.get_running_loop().time() < end:
            await asyncio.sleep(_LOOK_AGAIN)
            bodies = [(entry.key, await self.read(entry.key)) for entry in entries]
            ours = [
                (key, body["metadata"]["uid"])
                for key, body in bodies
                if body is not None and (body["metadata"].get("labels") or {}).get(FEDERATION_LABEL) == self.federation
            ]
            if not ours:
                return
            for key, uid in ours:
                if self.delete and key not in self.left.kept:
                    await self.ask("DELETE", key, _delete(uid))
                else:
                    await self.release(key)

    async def until_gone(self, entries: Iterable[InventoryEntry], end: float) -> None:
        waiting = [entry.key for entry in entries if entry.key in self.marked]
        while waiting:
            bodies = dict(zip(waiting, await asyncio.gather(*map(self.read, waiting)), strict=True))
            waiting = [
                key for key, body in bodies.items() if body is not None and body["metadata"]["uid"] == self.marked[key]
            ]
            self.left.deleted += [key for key in bodies if key not in waiting]
            if waiting and asyncio.get_running_loop().time() > end:
                for key in waiting:
                    finalizers = (bodies[key] or {}).get("metadata", {}).get("finalizers") or ()
                    self.left.remaining[key] = ", ".join(finalizers) or "its grace period"
                return
            if waiting:
                await asyncio.sleep(_LOOK_AGAIN)

    async def read(self, key: ObjectKey) -> dict[str, Any] | None:
        """None: it is not there, or its kind is not."""
        try:
            resource = await self.discovery.resource(Kind(*key[:2]))
            return await self.session.json("GET", resource.path(key.namespace, key.name))
        except (errors.ObjectNotFound, errors.KindUnknown):
            return None

    async def ask(self, method: str, key: ObjectKey, body: object, **options: Any) -> None:
        if self.looks:
            return
        resource = await self.discovery.resource(Kind(*key[:2]))
        try:
            await self.session.request(method, resource.path(key.namespace, key.name), body=body, **options)
        except errors.ObjectNotFound:
            pass
        except errors.ObjectConflict as error:
            if "UID in the precondition" not in error.message:
                raise


def _delete(uid: str) -> dict[str, Any]:
    """Of this very object, with what it owns."""
    return {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": "Background",
        "preconditions": {"uid": uid},
    }
