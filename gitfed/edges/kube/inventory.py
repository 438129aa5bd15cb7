"""What we own in one cluster, and whose cluster it is: ConfigMaps `gitfed-inventory-<federation>-<0..15>`.

An entry is written *before* its object and removed after the object's deletion was observed, so that a crash between
any two steps loses nothing: an entry without an object is harmless, an object without an entry is not ours any more.

The inventory belongs to one repository, by its id, and to one leader at a time, by its *term*: whoever rolls out raises
it first, and who then meets a higher one stops. Every write is bound to the version it was decided on, so two daemons
cannot overwrite each other; a watch makes the loser notice at once.

Reading is all or nothing. A shard that is missing or was cut short, or an inventory that shrank to less than half
while we were not looking, is an error that names it: nothing is deleted on the word of a list that may be damaged.

Changes are collected: what many workers record while a write is under way goes out together with the next one, one
write per touched shard. How entries look as text is `ledger`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gitfed import errors
from gitfed.edges.kube import ledger, reflect, translate
from gitfed.edges.kube.session import MERGE_PATCH, Session
from gitfed.model.base import Body, ObjectKey
from gitfed.model.fleet import InventoryEntry

NAMESPACE = "gitfed-system"
LABEL = "gitfed.io/inventory"
MANAGER = "gitfed-inventory"
_PATH = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
NOT_READ = "inventory not read yet"
_ATTEMPTS = 5
_SMALL = 8
"""Below so many entries, half of them missing is no sign of damage."""

_log = logging.getLogger(__name__)

Listener = Callable[[frozenset[ObjectKey]], None]


@dataclass(frozen=True, slots=True)
class InventorySnapshot:
    """One complete reading. `present` False: this cluster has no inventory yet."""

    entries: Mapping[ObjectKey, InventoryEntry] = field(default_factory=dict)
    repository_id: str = ""
    term: int = 0
    present: bool = False


@dataclass(frozen=True, slots=True)
class _Shard:
    """A ConfigMap as last seen."""

    version: str
    entries: Mapping[ObjectKey, InventoryEntry]
    header: ledger.Header | None = None


class Inventory:
    """The inventory of one cluster for one federation and repository."""

    def __init__(self, session: Session, *, federation: str, repository_id: str) -> None:
        self.federation = federation
        self.repository_id = repository_id
        self.entries: dict[ObjectKey, InventoryEntry] = {}
        """The entries as last read or written. Not to be changed from outside."""
        self.problem = NOT_READ
        """Why it cannot be relied on; "" when it can."""
        self._session = session
        self._shards: dict[int, _Shard] = {}
        self._term = 0
        self._pending: dict[ObjectKey, InventoryEntry | None] = {}
        self._writing = asyncio.Lock()
        self._listeners: list[Listener] = []

    @property
    def cluster(self) -> str:
        return self._session.cluster

    @property
    def readable(self) -> bool:
        return not self.problem

    @property
    def snapshot(self) -> InventorySnapshot:
        header = self._header
        return InventorySnapshot(
            entries=self.entries,
            repository_id=header.repository_id if header else "",
            term=header.term if header else 0,
            present=bool(self._shards),
        )

    @property
    def _header(self) -> ledger.Header | None:
        return self._shards[0].header if 0 in self._shards else None

    def on_change(self, listener: Listener) -> None:
        """Have the keys told whose entries changed, by us or by somebody else; none: the inventory as a whole did."""
        self._listeners.append(listener)

    def off_change(self, listener: Listener) -> None:
        """Tell that listener no more; nothing happens if it was not told."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    # Reading

    async def read(self, *, expected: int | None = None) -> InventorySnapshot:
        """Read all shards, completely or not at all.

        `expected` is the number of entries that somebody remembers (the state branch, after a restart); without it,
        what this object knew before counts. Raises ClusterError when a shard is missing, broken or of a newer gitfed,
        or when less than half of the expected entries are left. `expected=0` accepts what is there.
        """
        try:
            items, _ = await reflect.read(self._session, _PATH, f"{LABEL}={self.federation}")
            return self._take(items, len(self.entries) if expected is None else expected)
        except errors.ClusterError as error:
            self.problem = translate.said(error)
            raise

    def _take(self, items: Iterable[Body], expected: int, *, accept_loss: bool = False) -> InventorySnapshot:
        shards: dict[int, _Shard] = {}
        for body in items:
            number = self._number(body)
            if number is not None:
                shards[number] = self._parse(number, body)
        header = shards[0].header if 0 in shards else None
        lost = sorted((header.shards if header else frozenset()) - set(shards))
        if (lost or (shards and header is None)) and not accept_loss:
            names = ", ".join(self._name(number) for number in (lost or [0]))
            raise self._damaged(f"{names} is missing")
        entries = {key: entry for shard in shards.values() for key, entry in shard.entries.items()}
        if expected >= _SMALL and 2 * len(entries) < expected:
            raise self._damaged(f"shrank from {expected} to {len(entries)} entries")
        self._shards = shards
        self._replace_entries(entries)
        self.problem = ""
        return self.snapshot

    def _parse(self, number: int, body: Body) -> _Shard:
        data = body.get("data") or {}
        try:
            entries = ledger.read_shard(number, data)
            header = ledger.read_header(data) if number == 0 else None
        except ledger.BrokenEntryError as error:
            raise self._damaged(f"{self._name(number)}: {error}") from error
        return _Shard(str(body["metadata"]["resourceVersion"]), entries, header)

    def _damaged(self, what: str) -> errors.ClusterError:
        return errors.ClusterError(
            f"cluster {self.cluster}: inventory in {NAMESPACE} cannot be relied on: {what}",
            cluster=self.cluster,
            reason="InventoryDamaged",
            hint="nothing is written or deleted there; restore the ConfigMap, or take over with gitfed adopt",
        )

    async def follow(self, *, wake: reflect.Wake, backoff: tuple[float, ...] = reflect.BACKOFF) -> None:
        """Watch the ConfigMaps until cancelled, so that another leader's term or a lost shard is noticed."""
        selector = f"{LABEL}={self.federation}"
        await reflect.follow(self._session, _PATH, selector, _Followed(self), wake=wake, backoff=backoff)

    # Whose it is

    def check_ours(self) -> None:
        """Raise NotOwned if another repository or a leader of a higher term owns this cluster."""
        self._check_repository()
        header = self._header
        if header is not None and header.term > self._term:
            raise errors.NotOwned(
                f"cluster {self.cluster}: another gitfed of this repository leads there (term {header.term}, "
                f"ours is {self._term})"
            )

    def _check_repository(self) -> None:
        header = self._header
        if header is not None and header.repository_id != self.repository_id:
            raise errors.NotOwned(
                f"cluster {self.cluster}: its inventory belongs to repository {header.repository_id}",
                hint=f"gitfed adopt {self.cluster} takes it over",
            )

    async def raise_term(self, term: int) -> None:
        """Become the one who writes here. `term` must be higher than the one in the inventory (`snapshot.term`).

        Raises NotOwned when the inventory belongs to another repository, or somebody has raised the term as high.
        """
        async with self._writing:
            await self._write_header(term, adopt=False)

    async def adopt(self, term: int) -> None:
        """Make the inventory ours, whichever repository it belonged to (a person asked for it).

        Shards that are missing are accepted as lost; a broken one has to be repaired or deleted first.
        """
        async with self._writing:
            items, _ = await reflect.read(self._session, _PATH, f"{LABEL}={self.federation}")
            self._take(items, 0, accept_loss=True)
            await self._write_header(term, adopt=True)

    async def _write_header(self, term: int, *, adopt: bool) -> None:
        for _ in range(_ATTEMPTS):
            if not adopt:
                self._check_repository()
            shard = self._shards.get(0)
            header = self._header
            if header is not None and header.term >= term and not adopt:
                if header.term == term == self._term:
                    return
                raise errors.NotOwned(
                    f"cluster {self.cluster}: term {header.term} is taken by another gitfed, ours would be {term}"
                )
            shards = frozenset(self._shards) if adopt or header is None else header.shards
            new = ledger.Header(self.repository_id, term, shards | {0})
            data: dict[str, str | None] = {**ledger.header_data(new), "count": str(len(shard.entries) if shard else 0)}
            try:
                await self._write(0, data, shard)
            except (errors.ObjectConflict, errors.ObjectExists, errors.ObjectNotFound):
                await self._reread(0)
                continue
            self._term = term
            return
        raise self._contested()

    # Writing

    async def record(self, add: Iterable[InventoryEntry] = (), remove: Iterable[ObjectKey] = ()) -> None:
        """Write entries down, and drop others; returns when they are stored.

        Calls that come while a write is under way share the next. Raises NotOwned when another repository or a higher
        term owns the inventory (`raise_term` comes first), and ClusterError when it cannot be written or relied on.
        """
        mine: dict[ObjectKey, InventoryEntry | None] = {entry.key: entry for entry in add}
        mine.update(dict.fromkeys(remove))
        self._pending.update(mine)
        async with self._writing:
            self._forget_known()
            if any(key in self._pending for key in mine):
                await self._write_pending()

    def _forget_known(self) -> None:
        for key, entry in list(self._pending.items()):
            if self.entries.get(key) == entry:
                del self._pending[key]

    async def _write_pending(self) -> None:
        if self.problem:
            raise errors.ClusterError(
                f"cluster {self.cluster}: {self.problem}", cluster=self.cluster, reason="InventoryDamaged"
            )
        self.check_ours()
        if self._header is None:
            # Shards without a header would look like an inventory that lost it.
            await self._write_header(max(self._term, 1), adopt=False)
        by_shard: dict[int, dict[ObjectKey, InventoryEntry | None]] = {}
        for key, entry in self._pending.items():
            by_shard.setdefault(ledger.shard_of(key), {})[key] = entry
        header = self._header
        known = header.shards if header else frozenset[int]()
        new = frozenset(by_shard) - known
        first = by_shard.pop(0, {})
        outcomes = await asyncio.gather(
            *(self._write_shard(number, changes) for number, changes in by_shard.items()), return_exceptions=True
        )
        # The header comes last: a shard that it names must exist, one that it does not name yet may.
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        if first or new:
            await self._write_shard(0, first, new)

    async def _write_shard(
        self,
        number: int,
        changes: Mapping[ObjectKey, InventoryEntry | None],
        new_shards: frozenset[int] = frozenset(),
    ) -> None:
        for _ in range(_ATTEMPTS):
            shard = self._shards.get(number)
            before = shard.entries if shard else {}
            after = {**before, **{key: entry for key, entry in changes.items() if entry is not None}}
            for key, entry in changes.items():
                if entry is None:
                    after.pop(key, None)
            data: dict[str, str | None] = {"count": str(len(after))}
            for key, entry in changes.items():
                if entry is not None:
                    name, value = ledger.encode(entry)
                    data[name] = value
                elif key in before:
                    data[ledger.data_key(key)] = None
            if number == 0:
                header = self._header
                shards = (header.shards if header else frozenset[int]()) | new_shards | {0}
                data.update(ledger.header_data(ledger.Header(self.repository_id, self._term, shards)))
            try:
                await self._write(number, data, shard)
            except (errors.ObjectConflict, errors.ObjectExists, errors.ObjectNotFound):
                await self._reread(number)
                if number != 0:
                    await self._reread(0)  # who wrote here may have raised the term there
                self.check_ours()
                continue
            for key, entry in changes.items():
                if key in self._pending and self._pending[key] == entry:
                    del self._pending[key]
            return
        raise self._contested()

    async def _write(self, number: int, data: Mapping[str, str | None], shard: _Shard | None) -> None:
        """One ConfigMap, bound to the version we know. Raises ObjectConflict, ObjectExists or ObjectNotFound."""
        if shard is None:
            body: dict[str, Any] = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": self._name(number), "labels": {LABEL: self.federation}},
                "data": data,
            }
            stored = await self._create(body)
        else:
            stored = await self._session.json(
                "PATCH",
                f"{_PATH}/{self._name(number)}",
                body={"metadata": {"resourceVersion": shard.version}, "data": data},
                content_type=MERGE_PATCH,
                query={"fieldManager": MANAGER},
            )
        self._took(number, stored)

    async def _create(self, body: Body) -> dict[str, Any]:
        try:
            return await self._session.json("POST", _PATH, body=body, query={"fieldManager": MANAGER})
        except errors.ObjectNotFound:
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
            with contextlib.suppress(errors.ObjectExists):
                await self._session.json("POST", "/api/v1/namespaces", body=namespace)
            return await self._session.json("POST", _PATH, body=body, query={"fieldManager": MANAGER})

    async def _reread(self, number: int) -> None:
        try:
            body = await self._session.json("GET", f"{_PATH}/{self._name(number)}")
        except errors.ObjectNotFound:
            if number in self._shards:
                raise self._damaged(f"{self._name(number)} is missing") from None
            return
        self._took(number, body)

    def _took(self, number: int, body: Body) -> None:
        """A ConfigMap came, by an answer or an event; older ones than we have are passed over."""
        known = self._shards.get(number)
        version = str(body["metadata"]["resourceVersion"])
        if known is not None and not reflect.newer(version, known.version):
            return
        shard = self._parse(number, body)
        self._shards[number] = shard
        before = known.entries if known else {}
        entries = {key: entry for key, entry in self.entries.items() if key not in before}
        self._replace_entries({**entries, **shard.entries})

    def _replace_entries(self, entries: dict[ObjectKey, InventoryEntry]) -> None:
        before = self.entries
        changed = frozenset(key for key in before.keys() | entries.keys() if before.get(key) != entries.get(key))
        self.entries = entries
        if changed:
            self._tell(changed)

    def _tell(self, changed: frozenset[ObjectKey]) -> None:
        for listener in self._listeners:
            listener(changed)

    def _contested(self) -> errors.ClusterError:
        return errors.ObjectConflict(
            f"cluster {self.cluster}: somebody else keeps writing the inventory", cluster=self.cluster
        )

    def _name(self, number: int) -> str:
        return f"gitfed-inventory-{self.federation}-{number}"

    def _number(self, body: Body) -> int | None:
        """The shard's number; None for a ConfigMap that bears our label and another name."""
        number = str(body["metadata"]["name"]).removeprefix(f"gitfed-inventory-{self.federation}-")
        return int(number) if number.isdecimal() and int(number) < ledger.SHARDS else None


@dataclass(frozen=True, slots=True)
class _Followed:
    """The ConfigMaps' `reflect.Follower`. Damage that is seen here marks the inventory; nothing is raised."""

    inventory: Inventory

    def listed(self, items: list[Body]) -> None:
        inventory = self.inventory
        with self._marking():
            inventory._take(items, len(inventory.entries))
        inventory._tell(frozenset())

    def event(self, kind: str, body: Body) -> None:
        inventory = self.inventory
        number = inventory._number(body)
        if number is None:
            return
        with self._marking():
            if kind == "DELETED":
                raise inventory._damaged(f"{inventory._name(number)} is missing")
            inventory._took(number, body)
        if number == 0:
            inventory._tell(frozenset())  # the term may have been raised

    def resumed(self) -> None:
        pass

    def lost(self, error: errors.GitfedError) -> None:
        # What was read stays true until somebody says otherwise; whether the cluster answers is asked elsewhere.
        if self.inventory.problem == NOT_READ:
            self.inventory.problem = f"inventory cannot be read: {translate.said(error)}"
            self.inventory._tell(frozenset())

    @contextlib.contextmanager
    def _marking(self) -> Iterator[None]:
        try:
            yield
        except errors.ClusterError as error:
            self.inventory.problem = translate.said(error)
            self.inventory._tell(frozenset())
            _log.warning("inventory damaged", extra={"cluster": self.inventory.cluster, "error": str(error)})
