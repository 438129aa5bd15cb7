"""Files that gitfed keeps for itself.

The parse cache remembers what a blob said, by blob id: a second start parses nothing. It is a convenience. A broken
entry counts as absent, and a full disk or a read-only home directory is logged once and then ignored. Entries may hold
what a repository holds, Secrets too, so directory and files are readable by their owner alone.

What the bytes mean is the reader's affair (`source`).
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import logging
import os
import re
import stat
import tempfile
from pathlib import Path

from gitfed.errors import CacheError

log = logging.getLogger(__name__)

_NAME = re.compile(r"[0-9a-z][0-9A-Za-z._-]{3,200}")
_SEAL = 64
"""Every entry begins with the sha256 of its content: half an entry (power lost, disk full) is no entry."""


def cache_directory(environment: dict[str, str] | None = None) -> Path:
    """Where this user's caches stand: `$XDG_CACHE_HOME/gitfed`, else `~/.cache/gitfed`."""
    configured = (os.environ if environment is None else environment).get("XDG_CACHE_HOME", "")
    # The XDG rules: a relative path is invalid and is to be ignored.
    root = (
        Path(configured) if configured and Path(configured).is_absolute() else Path(os.path.expanduser("~")) / ".cache"
    )
    return root / "gitfed"


def write_atomically(path: Path, content: bytes, *, mode: int = 0o600, durable: bool = False) -> None:
    """Readers see the old content or the new one, never half of it; `durable`: after a power cut too. Raises OSError.

    Only a regular file is replaced: root could put an ordinary file in the place of /dev/null for all programs.
    """
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(kind := path.stat().st_mode):
            if stat.S_ISDIR(kind):
                raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    descriptor, scratch = tempfile.mkstemp(dir=path.parent, prefix=".gitfed-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), mode)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(scratch, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(scratch)
        raise


class DiskCache:
    """Bytes by blob id in a directory. Never raises: what cannot be read is absent, what cannot be written is lost.

    `trouble` is the first failure to write; after it nothing more is written by this process.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._root = str(directory)
        self.trouble: CacheError | None = None

    def get(self, blob_id: str) -> bytes | None:
        if not _NAME.fullmatch(blob_id):
            return None
        try:
            # A large repository has ten thousand of these, and a Path takes as long to make as the file to read.
            with open(f"{self._root}/{blob_id[:2]}/{blob_id}", "rb", buffering=0) as file:
                raw = file.readall()
        except OSError:
            return None
        seal, content = raw[:_SEAL], raw[_SEAL:]
        return content if hashlib.sha256(content).hexdigest().encode() == seal else None

    def put(self, blob_id: str, content: bytes) -> None:
        path = self._path(blob_id)
        if path is None or self.trouble is not None:
            return
        try:
            if not path.parent.is_dir():
                self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
                path.parent.mkdir(mode=0o700, exist_ok=True)
            write_atomically(path, hashlib.sha256(content).hexdigest().encode() + content)
        except OSError as error:
            self.trouble = CacheError(
                f"the parse cache {self.directory} cannot be written: {error.strerror}", hint="work goes on without it"
            )
            log.warning("parse cache cannot be written", extra={"path": str(self.directory), "error": error.strerror})

    def _path(self, blob_id: str) -> Path | None:
        if not _NAME.fullmatch(blob_id):
            return None  # not a name that we made: never let one become a path
        return self.directory / blob_id[:2] / blob_id
