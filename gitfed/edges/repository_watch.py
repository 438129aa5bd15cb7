"""The watch on a repository of this machine that changes under gitfed. Which refs matter is the caller's affair.

The threads of the watch may end: watchdog's stumbles when Git removes an empty folder below `refs` and makes it again
at once. Then the watch begins anew, and what may have been missed meanwhile counts as a move.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
import warnings
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver
from watchdog.observers.polling import PollingObserver
from watchdog.utils import BaseThread

from gitfed.errors import SourceError
from gitfed.text.values import dataclass

log = logging.getLogger(__name__)

_LOOK = 2.0
"""Seconds between two looks whether the watch still lives."""


async def watch_repository(path: Path) -> AsyncIterator[None]:
    """Yields whenever a ref of a local repository may have moved: HEAD, packed-refs, anything below refs.

    Several moves may come as one; a move that changes nothing may come too: the caller looks at what it wants. The
    first item comes at once, when the watch is in place, so that nothing that happens after a first look is missed.
    Raises SourceError when there is no repository, or none any more.
    """
    loop = asyncio.get_running_loop()
    moved = asyncio.Event()

    def wake(path: str) -> None:
        # The observer's thread may see something after the loop has ended, and is no less right to.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(moved.set)

    watch = _observe(_ref_folders(path), wake)
    try:
        yield
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(moved.wait(), _LOOK)
            if not watch.is_alive():
                log.warning("the watch on the repository ended, and begins anew")
                await asyncio.to_thread(watch.stop)
                watch = _observe(_ref_folders(path), wake)
                moved.set()
            if moved.is_set():
                moved.clear()
                yield
    finally:
        await asyncio.to_thread(watch.stop)


def _ref_folders(path: Path) -> dict[Path, bool]:
    """Folder → whether with all below. A linked worktree has its HEAD in one place and its refs in another."""
    own = path / ".git" if (path / ".git").exists() else path
    if own.is_file():
        own = (path / own.read_text().removeprefix("gitdir:").strip()).resolve()
    if not (own / "HEAD").is_file():
        raise SourceError(f"no Git repository at {path}")
    pointer = own / "commondir"
    shared = (own / pointer.read_text().strip()).resolve() if pointer.is_file() else own
    folders = {own: False, shared: False}
    for name in ("refs", "reftable"):
        if (shared / name).is_dir():
            folders[shared / name] = True
    return folders


_READING = ("opened", "closed_no_write", "attrib")
"""Looking at a repository is not a change; taking it for one would make every look cause the next."""
_NOISE = ("FETCH_HEAD", "ORIG_HEAD", "COMMIT_EDITMSG", "index", "gc.log", "gc.pid")


@dataclass(frozen=True, slots=True)
class _Watch:
    observer: BaseObserver
    threads: tuple[threading.Thread, ...]
    """All that it needs, the observer's own among them."""

    def is_alive(self) -> bool:
        return all(thread.is_alive() for thread in self.threads)

    def stop(self) -> None:
        self.observer.stop()
        self.observer.join()


class _Handler(FileSystemEventHandler):
    def __init__(self, moved: Callable[[str], object]) -> None:
        self._moved = moved

    def on_any_event(self, event: FileSystemEvent) -> None:
        if event.event_type in _READING:
            return
        for path in map(os.fsdecode, (event.src_path, event.dest_path)):
            if path and not path.endswith(".lock") and Path(path).name not in _NOISE:
                self._moved(path)


def _observe(folders: dict[Path, bool], moved: Callable[[str], object]) -> _Watch:
    """Starts watching; `moved` gets paths, from another thread.

    Where the system has no watches left, the folders are polled.
    """
    # Two folders made at once (`refs/heads/team/one`) are both announced and found: watchdog adds the inner one twice
    # and warns about itself. Nothing is missed.
    warnings.filterwarnings("ignore", message="Callback with id", category=RuntimeWarning)
    for kind in (Observer, PollingObserver):
        before = set(_threads())
        observer = kind()
        try:
            for folder, below in folders.items():
                observer.schedule(_Handler(moved), str(folder), recursive=below)
            observer.start()
        except OSError as error:
            log.warning("no file watches left, polling", extra={"error": error.strerror})
            continue
        return _Watch(observer, tuple(thread for thread in _threads() if thread not in before))
    raise SourceError("the repository cannot be watched", hint="raise fs.inotify.max_user_watches")


def _threads() -> Iterable[threading.Thread]:
    return (thread for thread in threading.enumerate() if isinstance(thread, BaseThread))
