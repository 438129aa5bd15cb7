"""One process at a time in one data directory."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gitfed.errors import UsageError


@contextmanager
def exclusive(directory: Path) -> Iterator[None]:
    """Hold the directory; the system lets go of it when the process ends, however it ends.

    Raises UsageError when another process holds it.
    """
    path = directory / "lock"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UsageError(f"{directory} cannot be used: {error.strerror}", hint="name another --data-dir") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(handle, 64, 0).decode("ascii", "replace").strip()
            raise UsageError(
                f"another gitfed{f' (process {holder})' if holder else ''} is using {directory}",
                hint="stop it, or give this one its own --data-dir",
            ) from error
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(handle)
