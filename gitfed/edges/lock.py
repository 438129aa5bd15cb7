"""One process at a time in one data directory; and a sign for others that a process follows a repository.

The lock keeps two processes from one clone. Two with directories of their own are allowed (the one that started last
leads, see the inventories' term), but a user should not find out only from a log that falls silent.
"""

from __future__ import annotations

import contextlib
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
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
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
        with contextlib.suppress(OSError):  # no room on the disk: the lock is held, without a name
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(handle)


@contextmanager
def sign(folder: Path) -> Iterator[list[str]]:
    """Put up a sign of this process in `folder`, and yield the ids of the processes whose sign is there already.

    Where no sign can be put up nothing is said: it is a courtesy, and no protection.
    """
    own = folder / str(os.getpid())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        others = [path.name for path in sorted(folder.iterdir()) if path != own and _is_held(path)]
        handle = os.open(own, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        yield []
        return
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield others
    finally:
        with contextlib.suppress(OSError):
            own.unlink()
        os.close(handle)


def _is_held(path: Path) -> bool:
    """The sign of a process that was killed holds nothing, and is taken down."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        path.unlink(missing_ok=True)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
