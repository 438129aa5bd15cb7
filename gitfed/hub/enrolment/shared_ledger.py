"""The ledger of all replicas of a hub in a cluster: it is kept in a Secret beside their authority.

A replica writes over the version that it read, and begins again when another one was faster. All look once
a second whether there is another version, so a certificate that one revokes ends at the others within seconds; a
replica that could not look for a while lets no agent in.

A replica remembers in its folder that the ledger is shared, and `gitfed token` beside it goes to the Secret by that.
Once it is, no replica goes back to a ledger of its own: what was revoked since would count again.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from gitfed.edges import files
from gitfed.edges.kube.secret_document import SecretDocument, Written
from gitfed.errors import ClusterBusy, ClusterError, ClusterUnreachable, GitfedError, UsageError
from gitfed.hub.enrolment import ledger_format
from gitfed.hub.enrolment.ledger import Ledger
from gitfed.hub.enrolment.ledger_file import LedgerFile

T = TypeVar("T")
log = logging.getLogger("gitfed.hub")

NAME = "gitfed-hub-agents"
KEY = "enrolment.json.gz"
_MARK = "enrolment.shared"
_STALE = 15.0
"""Seconds that what was read counts for, when the API server does not answer."""
_ATTEMPTS = 40


class LedgerStore(Protocol):
    """Where the ledger is kept. These raise GitfedError when it cannot be known."""

    def read(self) -> Ledger:
        """Cheap, as it was found last."""

    async def changed(self, how: Callable[[Ledger], tuple[Ledger, T]]) -> T:
        """`how` may be called more than once, each time for a newer ledger."""

    async def look(self) -> None:
        """Find out what other processes wrote."""

    async def close(self) -> None: ...


class SharedLedger:
    """Implements `LedgerStore`."""

    def __init__(self, document: SecretDocument, clock: Callable[[], float] = time.monotonic) -> None:
        self._document = document
        self._clock = clock
        self._one = asyncio.Lock()
        self._written: Written | None = None
        self._ledger = Ledger()
        self._looked: float | None = None
        self._said = ""

    def __str__(self) -> str:
        return str(self._document)

    @property
    def namespace(self) -> str:
        return self._document.namespace

    async def close(self) -> None:
        await self._document.close()

    def read(self) -> Ledger:
        if self._looked is None or self._clock() - self._looked > _STALE:
            raise ClusterUnreachable(f"{self} could not be read for a while", cluster="host")
        return self._ledger

    async def look(self) -> None:
        """What fails is told in the log, once, and tried again with the next look."""
        try:
            async with self._one:
                await self._refresh()
            self._said = ""
        except GitfedError as error:
            if error.message != self._said:
                log.error("the ledger of agents cannot be read", extra={"secret": str(self), "error": error.message})
            self._said = error.message

    async def changed(self, how: Callable[[Ledger], tuple[Ledger, T]]) -> T:
        """Raises ClusterError, InputError."""
        async with self._one:
            if self._looked is None:
                await self._refresh()
            for _ in range(_ATTEMPTS):
                after, result = how(self._ledger)
                if after == self._ledger:
                    await self._refresh()  # to refuse, or find nothing to do, one must have looked
                    after, result = how(self._ledger)
                if after == self._ledger:
                    return result
                written = await self._document.write(ledger_format.write(after), self._written)
                if written is not None:
                    self._is(written, after)
                    return result
                await asyncio.sleep(random.uniform(0, 0.05))
                await self._refresh()
        raise ClusterBusy(f"{self} is written by others all the time", cluster="host")

    async def _refresh(self) -> None:
        began = self._clock()
        version = await self._document.version()
        if version != (self._written and (self._written.uid, self._written.version)):
            written = await self._document.read()
            ledger = ledger_format.read(written.content, self._document) if written else Ledger()
            self._written, self._ledger = written, ledger
        self._looked = began

    def _is(self, written: Written, ledger: Ledger) -> None:
        self._written, self._ledger, self._looked = written, ledger, self._clock()


def namespace(folder: Path) -> str:
    """Where the hub of this folder shares its ledger; "" when it does not. Raises UsageError."""
    try:
        return (folder / _MARK).read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise UsageError(f"{folder / _MARK} cannot be read: {error.strerror}", hint="is it another user's?") from error


async def settle(folder: Path, shared: SharedLedger) -> LedgerStore:
    """The ledger of this replica: the Secret's, with what the folder had before. Where the Secret may not be used, and
    never was, it is the folder's, and the log says so. Raises InputError when the Secret or the folder holds something
    else, and when the API server gives no answer to one that does not know whether the ledger is shared."""
    own, used = LedgerFile(folder), bool(namespace(folder))
    try:
        before = own.read()
        if own.path.exists() or not used:
            await shared.changed(lambda ledger: (ledger.with_what_is_newer(before), None))
    except ClusterError as error:
        if used:
            log.warning("the ledger of agents is not known yet", extra={"secret": str(shared), "error": error.message})
            return shared
        if error.retry:
            raise
        log.warning("the ledger of agents is not shared", extra={"secret": str(shared), "error": error.message})
        return own
    try:
        files.write_atomically(folder / _MARK, f"{shared.namespace}\n".encode(), durable=True)
        if own.path.exists():
            own.path.rename(own.path.with_suffix(".json.moved"))
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}") from error
    return shared
