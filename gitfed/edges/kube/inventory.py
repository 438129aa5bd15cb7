"""What we own in one cluster, and whose cluster it is: ConfigMaps `gitfed-inventory-<federation>-<0..15>`.

An entry is written *before* its object and removed after the object's deletion was observed, so that a crash between
any two steps loses nothing: an entry without an object is harmless, an object without an entry is not ours any more.

The inventory belongs to one repository, by its id, and to one leader at a time, by its *term*: a process that rolls out
raises it first, and one that then meets a higher term stops. Every write is bound to the version it was decided on, so
two daemons cannot overwrite each other; a watch makes the loser notice at once.

Changes are collected: what many workers record while a write is under way goes out together with the next one, one
write per touched shard. The ConfigMaps and their completeness are `shards`, how entries look as text is
`inventory_format`.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import field, replace

from gitfed import errors
from gitfed.edges.backoff import Backoff
from gitfed.edges.kube import inventory_format, reflect, shards
from gitfed.edges.kube.connection import translate
from gitfed.edges.kube.connection.session import Session
from gitfed.edges.kube.shards import NOT_READ as NOT_READ
from gitfed.model import leader as leaders
from gitfed.model.base import Body, ObjectKey
from gitfed.model.fleet import InventoryEntry
from gitfed.text.values import dataclass

_ATTEMPTS = 5

_log = logging.getLogger(__name__)

Listener = Callable[[frozenset[ObjectKey]], None]


@dataclass(frozen=True, slots=True)
class InventorySnapshot:
    """One complete reading. `present` False: this cluster has no inventory yet."""

    entries: Mapping[ObjectKey, InventoryEntry] = field(default_factory=dict)
    repository_id: str = ""
    term: int = 0
    leader: str = field(default="", compare=False)
    """Who raised the term (`model.leader`)."""
    present: bool = False


class Inventory:
    """The inventory of one cluster for one federation and repository."""

    def __init__(self, session: Session, *, federation: str, repository_id: str = "", leader: str = "") -> None:
        """`leader`: who writes, the same name as long as it is the same process; by default one of its own."""
        self.leader = leader or uuid.uuid4().hex
        self.federation = federation
        self.repository_id = repository_id
        self.entries: dict[ObjectKey, InventoryEntry] = {}
        """The entries as last read or written; the last good ones while there is a problem. Not to be changed."""
        self._session = session
        self._shards = shards.Shards(session, federation)
        self._counted: dict[int, Mapping[ObjectKey, InventoryEntry]] = {}
        """What of each shard is in `entries`: one write must not cost a walk over all shards."""
        self._term = 0
        self._pending: dict[ObjectKey, InventoryEntry | None] = {}
        self._writing = asyncio.Lock()
        self._listeners: list[Listener] = []

    @property
    def cluster(self) -> str:
        return self._session.cluster

    @property
    def problem(self) -> str:
        """Why it cannot be relied on; "" when it can."""
        return self._shards.problem

    @property
    def readable(self) -> bool:
        return not self.problem

    @property
    def snapshot(self) -> InventorySnapshot:
        header = self._shards.header
        return InventorySnapshot(
            entries=self.entries,
            repository_id=header.repository_id if header else "",
            term=header.term if header else 0,
            leader=header.leader if header else "",
            present=bool(self._shards.known),
        )

    def on_change(self, listener: Listener) -> None:
        """Have the keys told whose entries changed, by us or by another client; none: the inventory as a whole did."""
        self._listeners.append(listener)

    def off_change(self, listener: Listener) -> None:
        """Tell that listener no more; nothing happens if it was not told."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    # Reading

    async def read(self, *, expected: int | None = None) -> InventorySnapshot:
        """Read all shards, completely or not at all.

        `expected` is the number of entries that is remembered (by the state branch, after a restart); without it,
        what this object knew before counts. Raises ClusterError when a shard is missing, broken or of a newer gitfed,
        or when less than half of the expected entries are left. `expected=0` accepts what is there.
        """
        await self._shards.read(len(self.entries) if expected is None else expected)
        self._take_entries()
        return self.snapshot

    async def follow(self, *, wake: reflect.Wake, backoff: Backoff = reflect.BACKOFF) -> None:
        """Watch the ConfigMaps until cancelled, so that another leader's term or a lost shard is noticed."""
        collection = reflect.Collection(shards.PATH, self._shards.selector)
        await reflect.follow(self._session, collection, _Followed(self), wake=wake, backoff=backoff)

    def _take_entries(self) -> None:
        """Let what the shards hold count, unless they are damaged."""
        if self.problem:
            return
        changed: dict[ObjectKey, InventoryEntry | None] = {}
        for number in self._shards.touched:
            shard = self._shards.known.get(number)
            before, after = self._counted.pop(number, {}), shard.entries if shard is not None else {}
            if shard is not None:
                self._counted[number] = after
            for key in before.keys() | after.keys():
                old, new = before.get(key), after.get(key)
                if old is not new and old != new:
                    changed[key] = new
        self._shards.touched.clear()
        if changed:
            entries = {**self.entries, **changed}
            self.entries = {key: entry for key, entry in entries.items() if entry is not None}
            self._tell(frozenset(changed))

    def _tell(self, changed: frozenset[ObjectKey]) -> None:
        for listener in self._listeners:
            listener(changed)

    # Whose it is

    def check_ours(self) -> None:
        """Raise NotOwned if another repository or a leader of a higher term owns this cluster."""
        self.check_repository()
        header = self._shards.header
        if header is not None and header.term > self._term:
            raise errors.NotOwned(
                f"cluster {self.cluster}: another gitfed of this repository leads there (term {header.term}, "
                f"ours is {self._term})"
            )

    def check_repository(self) -> None:
        """Raise NotOwned if another repository owns this cluster."""
        header = self._shards.header
        if header is not None and header.repository_id != self.repository_id:
            raise errors.NotOwned(
                f"cluster {self.cluster}: its inventory belongs to repository {header.repository_id}",
                hint=f"gitfed apply --adopt {self.cluster} takes it over",
            )

    async def raise_term(self, term: int) -> None:
        """Become the process that writes here. `term` must be higher than the one in the inventory (`snapshot.term`).

        Raises NotOwned when the inventory belongs to another repository, or another process has raised the term as
        high.
        """
        async with self._writing:
            await self._write_header(term, adopt=False)

    async def resign(self) -> None:
        """Say that we write here no more, if it is we who lead. Raises ClusterError."""
        async with self._writing:
            header = self._shards.header
            if header is None or header.term != self._term or header.leader != self.leader:
                return
            ended = replace(header, leader=leaders.done(self.leader))
            count = len(self._shards.known[0].entries)
            await self._shards.write(0, {**inventory_format.header_data(ended), "count": str(count)})

    async def adopt(self, term: int) -> None:
        """Make the inventory ours, whichever repository it belonged to (a person asked for it).

        Shards that are missing are accepted as lost; a broken one has to be repaired or deleted first.
        """
        async with self._writing:
            await self._shards.read(0, accept_loss=True)
            await self._write_header(term, adopt=True)
        self._take_entries()

    async def _write_header(self, term: int, *, adopt: bool) -> None:
        for _ in range(_ATTEMPTS):
            if not adopt:
                self.check_repository()
            header = self._shards.header
            if header is not None and header.term >= term and not adopt:
                if header.term == term == self._term:
                    return
                if header.term == term and header.leader == self.leader:
                    self._term = term  # raised by ourselves, in a write whose answer never came
                    break
                raise errors.NotOwned(
                    f"cluster {self.cluster}: term {header.term} is taken by another gitfed, ours would be {term}"
                )
            existing = frozenset(self._shards.known) if adopt or header is None else header.shards
            new = inventory_format.Header(self.repository_id, term, existing | {0}, self.leader)
            count = len(self._shards.known[0].entries) if 0 in self._shards.known else 0
            if await self._shards.write(0, {**inventory_format.header_data(new), "count": str(count)}):
                self._term = term
                break
        else:
            raise self._contested()
        if self._session.fence is not None:
            await self._outdate()

    async def outdate(self) -> None:
        """After `raise_term`: make every write of an earlier leader that is still on its way one to an old version.

        The term stands in shard 0 alone. After this, what we know of all shards is all that there is: no other
        process's intention arrives later, and so no object that we do not know of. Raises ClusterError.
        """
        async with self._writing:
            await self._outdate()

    async def _outdate(self) -> None:
        outcomes = await asyncio.gather(
            *(self._outdate_shard(number) for number in self._shards.known if number), return_exceptions=True
        )
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        self._take_entries()

    async def _outdate_shard(self, number: int) -> None:
        for _ in range(_ATTEMPTS):
            shard = self._shards.known.get(number)
            if shard is None or await self._shards.write(number, {"term": str(self._term)}, shard.entries):
                return
        raise self._contested()

    async def discard(self) -> None:
        """Delete it: this cluster is of no fleet of ours any more. Raises NotOwned, ClusterError."""
        async with self._writing:
            self.check_ours()
            await self._shards.delete()
        self._take_entries()

    # Writing

    async def record(
        self,
        add: Iterable[InventoryEntry] = (),
        remove: Iterable[ObjectKey] = (),
        *,
        first: Collection[ObjectKey] = (),
    ) -> None:
        """Write entries down, and drop others; returns when they are stored. The shards of `first` go before the rest.

        Calls that come while a write is under way share the next. Raises NotOwned when another repository or a higher
        term owns the inventory (`raise_term` comes first), and ClusterError when it cannot be written or relied on.
        """
        mine: dict[ObjectKey, InventoryEntry | None] = {entry.key: entry for entry in add}
        mine.update(dict.fromkeys(remove))
        self._pending.update(mine)
        async with self._writing:
            for key, entry in list(self._pending.items()):
                if self.entries.get(key) == entry:
                    del self._pending[key]
            if any(key in self._pending for key in mine):
                await self._write_pending({inventory_format.shard_of(key) for key in first})

    async def _write_pending(self, first: Collection[int]) -> None:
        if self.problem:
            raise self._shards.damaged()
        self.check_ours()
        if self._shards.header is None:
            # Shards without a header would look like an inventory that lost it.
            await self._write_header(max(self._term, 1), adopt=False)
        by_shard: dict[int, dict[ObjectKey, InventoryEntry | None]] = {}
        for key, entry in self._pending.items():
            by_shard.setdefault(inventory_format.shard_of(key), {})[key] = entry
        header = self._shards.header
        new = frozenset(by_shard) - (header.shards if header else frozenset[int]())
        await self._write_shards({number: by_shard.pop(number) for number in first if number in by_shard})
        with_header = by_shard.pop(0, {})
        await self._write_shards(by_shard)
        # The header comes last: a shard that it names must exist, one that it does not name yet may.
        if with_header or new:
            await self._write_shard(0, with_header, new)

    async def _write_shards(self, by_shard: Mapping[int, Mapping[ObjectKey, InventoryEntry | None]]) -> None:
        outcomes = await asyncio.gather(
            *(self._write_shard(number, changes) for number, changes in by_shard.items()), return_exceptions=True
        )
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome

    async def _write_shard(
        self,
        number: int,
        changes: Mapping[ObjectKey, InventoryEntry | None],
        new_shards: frozenset[int] = frozenset(),
    ) -> None:
        for _ in range(_ATTEMPTS):
            data, after = self._data(number, changes, new_shards)
            if await self._shards.write(number, data, after):
                self._take_entries()
                for key, entry in changes.items():
                    if key in self._pending and self._pending[key] == entry:
                        del self._pending[key]
                return
            if number != 0:
                await self._shards.reread(0)  # the process that wrote here may have raised the term there
            self._take_entries()
            self.check_ours()
        raise self._contested()

    def _data(
        self, number: int, changes: Mapping[ObjectKey, InventoryEntry | None], new_shards: frozenset[int]
    ) -> tuple[dict[str, str | None], Mapping[ObjectKey, InventoryEntry]]:
        """The data keys to change for these entries in the shard as it is known now, and what it holds then."""
        shard = self._shards.known.get(number)
        before = shard.entries if shard else {}
        after = {key: entry for key, entry in ({**before, **changes}).items() if entry is not None}
        data: dict[str, str | None] = {"count": str(len(after))}
        for key, entry in changes.items():
            if entry is not None:
                name, value = inventory_format.encode(entry)
                data[name] = value
            elif key in before:
                data[inventory_format.data_key(key)] = None
        if number == 0:
            header = self._shards.header
            existing = (header.shards if header else frozenset[int]()) | new_shards | {0}
            data.update(
                inventory_format.header_data(
                    inventory_format.Header(self.repository_id, self._term, existing, self.leader)
                )
            )
        return data, after

    def _contested(self) -> errors.ClusterError:
        return errors.ObjectConflict(
            f"cluster {self.cluster}: another client keeps writing the inventory", cluster=self.cluster
        )


@dataclass(frozen=True, slots=True)
class _Followed:
    """The ConfigMaps' `reflect.Follower`. Damage that is seen here marks the inventory; nothing is raised."""

    inventory: Inventory

    def listed(self, items: list[Body], version: str) -> None:
        inventory = self.inventory
        inventory._shards.take_list(items, version, len(inventory.entries))
        self._took()

    def event(self, kind: str, body: Body) -> None:
        held = self.inventory._shards
        number = held.number(body)
        if number is None:
            return
        if kind == "DELETED":
            held.drop(number)
        else:
            held.take(number, body)
        self._took()

    def resumed(self) -> None:
        pass

    def lost(self, error: errors.GitfedError) -> None:
        # What was read stays true until a newer answer says otherwise; whether the cluster answers is asked elsewhere.
        if self.inventory.problem == NOT_READ:
            self.inventory._shards.problem = f"inventory cannot be read: {translate.said(error)}"
            self.inventory._tell(frozenset())

    def _took(self) -> None:
        inventory = self.inventory
        if inventory.problem:
            _log.warning("inventory damaged", extra={"cluster": inventory.cluster, "error": inventory.problem})
        inventory._take_entries()
        inventory._tell(frozenset())  # the term may have been raised, or the problem be over
