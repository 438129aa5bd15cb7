"""The ledger on disk: one file in the hub's folder, beside its authority, readable by its owner alone.

The hub and `gitfed token` on the same machine both change it: whoever does holds a lock, reads, and replaces the file.
Who only reads looks whether it is another file now, so what a command writes counts at once.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from gitfed.edges import files
from gitfed.errors import InputError, UsageError
from gitfed.hub.enrolment.bootstrap_tokens import Spent, Token
from gitfed.hub.enrolment.ledger import Enrolled, Issued, Ledger

T = TypeVar("T")
_VERSION = 1


class LedgerFile:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "enrolment.json"
        self._lock = folder / "enrolment.lock"
        self._read: tuple[object, Ledger] = (None, Ledger())

    def read(self) -> Ledger:
        """Cheap while nobody changes it. Raises InputError when it holds something else, UsageError."""
        try:
            found = self.path.stat()
            # It is replaced, never written into: another content is another file.
            seen = found.st_ino, found.st_mtime_ns, found.st_size
            if seen != self._read[0]:
                self._read = seen, _ledger(self.path.read_bytes(), self.path)
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
                files.write_atomically(self.path, _bytes(after), durable=True)
        except OSError as error:
            raise UsageError(f"{self.path} cannot be written: {error.strerror}") from error
        finally:
            os.close(handle)
        return result


def _bytes(ledger: Ledger) -> bytes:
    value = {
        "version": _VERSION,
        "tokens": {name: _of_token(one) for name, one in sorted(ledger.tokens.items())},
        "clusters": {name: _of_enrolled(one) for name, one in sorted(ledger.clusters.items())},
    }
    return json.dumps(value, indent=1).encode() + b"\n"


def _of_token(token: Token) -> dict[str, Any]:
    return {
        "salt": token.salt,
        "scrypt": token.digest,
        "created": token.created.isoformat(),
        "expires": token.expires.isoformat() if token.expires else None,
        "description": token.description,
        "cluster": token.cluster,
        "spent": {"cluster": token.spent.cluster, "key": token.spent.key} if token.spent else None,
    }


def _of_enrolled(enrolled: Enrolled) -> dict[str, Any]:
    return {
        "since": enrolled.since.isoformat(),
        "token": enrolled.token,
        "certificates": [
            {"serial": one.serial, "key": one.key, "begins": one.begins.isoformat(), "ends": one.ends.isoformat()}
            for one in enrolled.certificates
        ],
    }


def _ledger(content: bytes, path: Path) -> Ledger:
    """Raises InputError: a ledger that says less than it did would let somebody in, or nobody."""
    try:
        value = json.loads(content)
        if value["version"] != _VERSION:
            raise InputError(f"{path} was written by another version of gitfed")
        return Ledger(
            {name: _token(name, one) for name, one in value["tokens"].items()},
            {name: _enrolled(name, one) for name, one in value["clusters"].items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path} is no ledger of tokens and certificates",
            hint="put back a copy of it; without one every agent has to be registered again",
        ) from error


def _token(name: str, value: dict[str, Any]) -> Token:
    spent = value["spent"]
    return Token(
        name, value["salt"], value["scrypt"], _time(value["created"]),
        _time(value["expires"]) if value["expires"] else None, value["description"], value["cluster"],
        Spent(spent["cluster"], spent["key"]) if spent else None,
    )  # fmt: skip


def _enrolled(name: str, value: dict[str, Any]) -> Enrolled:
    return Enrolled(
        name, _time(value["since"]), value["token"],
        tuple(
            Issued(one["serial"], one["key"], _time(one["begins"]), _time(one["ends"]))
            for one in value["certificates"]
        ),
    )  # fmt: skip


def _time(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError(text)
    return found
