"""The inventory's ConfigMaps themselves: read, written bound to a version, and checked for being complete.

Whose inventory it is and what goes in is `inventory`'s question, how entries look as text `inventory_format`'s. Here
one rule holds: all or nothing. A shard that the header names and that is missing, one that does not parse, or a list
that is much shorter than it was make a `problem`, and while there is one, the inventory cannot be relied on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from typing import Any

from gitfed import errors
from gitfed.edges.kube import inventory_format, reflect
from gitfed.edges.kube.connection import translate
from gitfed.edges.kube.connection.session import MERGE_PATCH, Session
from gitfed.model.base import Body, ObjectKey
from gitfed.model.fleet import InventoryEntry
from gitfed.model.keys import INVENTORY_LABEL
from gitfed.text.values import dataclass

NAMESPACE = "gitfed-system"
MANAGER = "gitfed-inventory"
PATH = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
NOT_READ = "inventory not read yet"
_UNRELIABLE = f"inventory in {NAMESPACE} cannot be relied on"
_SMALL = 8
"""Below so many entries, half of them missing is no sign of damage."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A ConfigMap as last seen."""

    version: str
    entries: Mapping[ObjectKey, InventoryEntry]
    header: inventory_format.Header | None = None


class Shards:
    def __init__(self, session: Session, federation: str) -> None:
        self.known: dict[int, Shard] = {}
        self.touched: set[int] = set()
        """Shards that were read, written or lost since the inventory last looked here and emptied it."""
        self.problem = NOT_READ
        """Why these cannot be relied on; "" when they can."""
        self._session = session
        self._federation = federation
        self._broken: dict[int, str] = {}

    @property
    def selector(self) -> str:
        return f"{INVENTORY_LABEL}={self._federation}"

    @property
    def header(self) -> inventory_format.Header | None:
        return self.known[0].header if 0 in self.known else None

    def entries(self) -> dict[ObjectKey, InventoryEntry]:
        return {key: entry for shard in self.known.values() for key, entry in shard.entries.items()}

    # Taking in

    async def read(self, expected: int, *, accept_loss: bool = False) -> None:
        """Read all of them. Raises ClusterError, and remembers the problem, when they are not complete."""
        try:
            items, version = await reflect.read(self._session, PATH, self.selector)
        except errors.ClusterError as error:
            self.problem = f"inventory cannot be read: {translate.said(error)}"
            raise
        self.take_list(items, version, expected, accept_loss=accept_loss)
        if self.problem:
            raise self.damaged()

    def take_list(self, items: Iterable[Body], version: str, expected: int, *, accept_loss: bool = False) -> None:
        """All ConfigMaps as they were at `version`. What an answer to our own write told later stays."""
        before = self.known
        self._broken = {}
        self.known = {}
        self.touched.update(before)
        for body in items:
            number = self.number(body)
            if number is not None:
                self.take(number, body)
        for number, shard in before.items():
            listed = self.known.get(number)
            if reflect.newer(shard.version, listed.version if listed else version):
                self.known[number] = shard
        missing = self._missing()
        if accept_loss and not self._broken:
            self.problem = ""
        elif not missing and not self._broken and expected >= _SMALL and 2 * len(self.entries()) < expected:
            self.problem = _unreliable(f"shrank from {expected} to {len(self.entries())} entries")

    def take(self, number: int, body: Body, written: Mapping[ObjectKey, InventoryEntry] | None = None) -> None:
        """One ConfigMap, by an answer or an event; an older one than is known is passed over.

        `written`: the entries that it is known to hold, because we wrote it just so.
        """
        before = self.known.get(number)
        version = str(body["metadata"]["resourceVersion"])
        if before is not None and not reflect.newer(version, before.version):
            return
        self.touched.add(number)
        data = body.get("data") or {}
        try:
            if not isinstance(data, dict) or not all(isinstance(value, str) for value in data.values()):
                raise inventory_format.BrokenEntryError("holds data that is no text")
            header = inventory_format.read_header(data) if number == 0 else None
            entries = inventory_format.read_shard(number, data) if written is None else written
            self.known[number] = Shard(version, entries, header)
            self._broken.pop(number, None)
        except inventory_format.BrokenEntryError as error:
            self._broken[number] = f"{self.name(number)}: {error}"
        except ValueError:  # a number with more digits than Python reads
            self._broken[number] = f"{self.name(number)}: holds a number that is none"
        self._missing()

    def drop(self, number: int) -> None:
        """The ConfigMap was deleted."""
        self.touched.add(number)
        self.known.pop(number, None)
        self._missing()

    def _missing(self) -> list[int]:
        """Set `problem` from what is missing or broken; the missing shards."""
        header = self.header
        # Shards that hold intentions alone are no inventory that lost its header: nothing in them was ever made. A
        # write that was under way while the cluster was made anew leaves them behind in the new one.
        lost = header is None and any(entry.uid for shard in self.known.values() for entry in shard.entries.values())
        named = header.shards if header else frozenset({0} if lost else ())
        missing = sorted(named - set(self.known) - set(self._broken))
        if self._broken:
            self.problem = _unreliable(self._broken[min(self._broken)])
        elif missing:
            self.problem = _unreliable(", ".join(self.name(number) for number in missing) + " is missing")
        else:
            self.problem = ""
        return missing

    def damaged(self) -> errors.ClusterError:
        """The exception for `problem`."""
        command = f"gitfed apply --adopt {self._session.cluster}"
        repair = f"nothing is written or deleted there; restore the ConfigMap, or take it over: {command}"
        return errors.ClusterError(
            f"cluster {self._session.cluster}: {self.problem}",
            cluster=self._session.cluster,
            reason="InventoryDamaged",
            hint=repair if self.problem.startswith(_UNRELIABLE) else "",
        )

    # Writing

    async def write(
        self, number: int, data: Mapping[str, str | None], after: Mapping[ObjectKey, InventoryEntry] | None = None
    ) -> bool:
        """Change data keys (None: drop) of one ConfigMap, if it is still as known. False: it is not; it was read again.

        `after`: the entries that it holds then; None: they are read from the answer. Raises ClusterError, also when the
        ConfigMap is lost.
        """
        shard = self.known.get(number)
        try:
            if shard is None:
                stored = await self._create(number, data)
            else:
                stored = await self._session.json(
                    "PATCH",
                    f"{PATH}/{self.name(number)}",
                    body={"metadata": {"resourceVersion": shard.version}, "data": data},
                    content_type=MERGE_PATCH,
                    query={"fieldManager": MANAGER},
                )
        except (errors.ObjectConflict, errors.ObjectExists, errors.ObjectNotFound):
            await self.reread(number)
            return False
        # Bound to the version, the write changed what is known and nothing else, unless an admission webhook changed it
        # on its way.
        held = stored.get("data") or {}
        as_sent = all(held.get(name) == value for name, value in data.items())
        self.take(number, stored, after if as_sent else None)
        return True

    async def delete(self) -> None:
        """Delete all ConfigMaps; the one with the header goes last, so that a half deleted inventory is still known."""
        for number in sorted(self.known, reverse=True):
            with contextlib.suppress(errors.ObjectNotFound):
                await self._session.request("DELETE", f"{PATH}/{self.name(number)}")
            if number:
                self.drop(number)
        self.known.clear()
        self.problem = ""

    async def reread(self, number: int) -> None:
        """Read one ConfigMap. Raises ClusterError when it is lost, or broken."""
        try:
            self.take(number, await self._session.json("GET", f"{PATH}/{self.name(number)}"))
        except errors.ObjectNotFound:
            self.drop(number)
        if self._missing() and not self._broken:
            # The header may name one that was made since all were read; a list tells whether that is so.
            await self.read(len(self.entries()))
        if self.problem:
            raise self.damaged()

    async def _create(self, number: int, data: Mapping[str, str | None]) -> dict[str, Any]:
        metadata = {"name": self.name(number), "labels": {INVENTORY_LABEL: self._federation}}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
        try:
            return await self._session.json("POST", PATH, body=body, query={"fieldManager": MANAGER})
        except errors.ObjectNotFound:
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
            with contextlib.suppress(errors.ObjectExists):
                await self._session.json("POST", "/api/v1/namespaces", body=namespace)
            return await self._session.json("POST", PATH, body=body, query={"fieldManager": MANAGER})

    def name(self, number: int) -> str:
        return f"gitfed-inventory-{self._federation}-{number}"

    def number(self, body: Body) -> int | None:
        """The shard's number; None for a ConfigMap that bears our label and another name."""
        number = str(body["metadata"]["name"]).removeprefix(f"gitfed-inventory-{self._federation}-")
        return int(number) if number.isdecimal() and int(number) < inventory_format.SHARDS else None


def _unreliable(what: str) -> str:
    return f"{_UNRELIABLE}: {what}"
