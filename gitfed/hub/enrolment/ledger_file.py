"""The ledger on disk: one file in the hub's folder, beside its authority, readable by its owner alone.

The hub and `gitfed token` on the same machine both change it: the writer holds a lock, reads, and replaces the file.
Who only reads looks whether it is another file now, so what a command writes counts at once.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from gitfed.edges import files
from gitfed.errors import UsageError
from gitfed.hub.enrolment import ledger_format
from gitfed.hub.enrolment.ledger import Ledger

T = TypeVar("T")


class LedgerFile:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "enrolment.json"
        self._lock = folder / "enrolment.lock"
        self._read: tuple[object, Ledger] = (None, Ledger())

    def read(self) -> Ledger:
        """Cheap while the file stays the same. Raises InputError when it holds something else, UsageError."""
        try:
            stat = self.path.stat()
            # It is replaced, never written into: another content is another file.
            seen = stat.st_ino, stat.st_mtime_ns, stat.st_size
            if seen != self._read[0]:
                self._read = seen, ledger_format.read(self.path.read_bytes(), self.path)
        except FileNotFoundError:
            self._read = None, Ledger()
        except OSError as error:
            raise UsageError(f"{self.path} cannot be read: {error.strerror}", hint="is it another user's?") from error
        return self._read[1]

    def change(self, how: Callable[[Ledger], tuple[Ledger, T]]) -> T:
        """Blocks for a moment. `how` may be called for a ledger that another process has just written. Raises as
        `read`."""
        try:
            handle = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UsageError(
                f"{self.path} cannot be changed: {error.strerror}", hint="is it another user's?"
            ) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            before = self.read()
            after, result = how(before)
            if after != before:
                files.write_atomically(self.path, ledger_format.write(after), durable=True)
        except OSError as error:
            raise UsageError(f"{self.path} cannot be written: {error.strerror}") from error
        finally:
            os.close(handle)
        return result

    async def changed(self, how: Callable[[Ledger], tuple[Ledger, T]]) -> T:
        return await asyncio.to_thread(self.change, how)

    async def look(self) -> None:
        """Each reading looks."""

    async def close(self) -> None:
        pass
