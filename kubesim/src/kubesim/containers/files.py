"""The files of one container, in memory; and what ``tar`` does with them, which is all that ``kubectl cp`` needs."""

from __future__ import annotations

import io
import posixpath
import tarfile
from collections.abc import Iterable


class Files:
    """Absolute, normal paths. Directories are those of files, and a few that are always there."""

    def __init__(self, hostname: str) -> None:
        self.files: dict[str, bytes] = {
            "/etc/hostname": f"{hostname}\n".encode(),
            "/etc/os-release": b'ID=kubesim\nPRETTY_NAME="a container that is only said to run"\n',
        }
        self._directories = {"/", "/etc", "/root", "/tmp", "/var"}  # noqa: S108 -- of the container, not of this machine

    def is_directory(self, path: str) -> bool:
        return path in self._directories or any(name.startswith(f"{path.rstrip('/')}/") for name in self.files)

    def write(self, path: str, data: bytes) -> bool:
        """``False`` if there is no directory for it."""
        if self.is_directory(path) or not self.is_directory(posixpath.dirname(path)):
            return False
        self.files[path] = data
        return True

    def pack(self, paths: Iterable[str]) -> tuple[bytes, list[str]]:
        """(an archive, the paths that are not there)."""
        made, missing = io.BytesIO(), []
        with tarfile.open(fileobj=made, mode="w") as archive:
            for path in paths:
                found = [name for name in self.files if name == path or name.startswith(f"{path.rstrip('/')}/")]
                if not found and not self.is_directory(path):
                    missing.append(path)
                if path not in self.files and self.is_directory(path):
                    entry = tarfile.TarInfo(path.lstrip("/") or ".")
                    entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                    archive.addfile(entry)
                for name in sorted(found):
                    entry = tarfile.TarInfo(name.lstrip("/"))
                    entry.size = len(self.files[name])
                    archive.addfile(entry, io.BytesIO(self.files[name]))
        return made.getvalue(), missing

    def unpack(self, archive: bytes, directory: str) -> None:
        """Raises ``tarfile.TarError`` for what is no archive."""
        with tarfile.open(fileobj=io.BytesIO(archive)) as found:
            for entry in found:
                path = posixpath.normpath(posixpath.join(directory, entry.name.lstrip("/")))
                if entry.isdir():
                    self._directories.add(path)
                elif (content := found.extractfile(entry)) is not None:
                    self.files[path] = content.read()
                parent = posixpath.dirname(path)
                while parent not in self._directories:
                    self._directories.add(parent)
                    parent = posixpath.dirname(parent)
