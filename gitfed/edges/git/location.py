"""Where a repository is: a URL that Git may be asked to reach, or a folder on this machine.

URLs come from people and from files. What Git would take for an option or for a program to start (`ext::`) is refused
here, before any command line is built; what may be a password is left out of whatever is shown.
"""

from __future__ import annotations

import ipaddress
import os
import re
import socket
from pathlib import Path
from typing import NamedTuple

from gitfed.edges import address
from gitfed.errors import SourceError, UsageError

_LEAKY = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
          "GIT_NAMESPACE", "GIT_CEILING_DIRECTORIES", "GIT_PREFIX", "GIT_QUARANTINE_PATH")  # fmt: skip
_URL = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://")
_SCHEMES = ("file", "git", "http", "https", "ssh")
_PORTS = {"https": 443, "http": 80, "ssh": 22, "git": 9418}
_SCP = re.compile(r"^[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:[^:]")


def forget_hook_environment() -> None:
    """Called once at start: a gitfed started from a Git hook inherits variables that would point every Git command
    at the hook's repository and index."""
    for name in _LEAKY:
        os.environ.pop(name, None)


def is_url(source: str) -> bool:
    """Whether `source` names a repository by URL rather than by a path on this machine."""
    return bool(_URL.match(source) or _SCP.match(source))


def check_url(url: str) -> str:
    """The URL, if Git may be asked to reach it.

    Raises UsageError for schemes that start programs (`ext::`) or could be read as an option, SourceError for an
    address that is not contacted, as `Access` does for a name of one.
    """
    if url.startswith("-"):
        raise UsageError(f"{url!r} is not a repository URL", hint="it begins with a dash")
    if _SCP.match(url) and not _URL.match(url):
        if url.partition("@")[2].startswith("-"):
            raise UsageError(f"{url!r} is not a repository URL", hint="its host begins with a dash")
        return url
    scheme = url.partition("://")[0].lower() if _URL.match(url) else url.partition("::")[0].lower()
    if scheme not in _SCHEMES:
        raise UsageError(f"{url!r} cannot be used as a repository", hint="use https, ssh, git or file URLs")
    place = url.split("://", 1)[1].split("/", 1)[0]
    if place.startswith("-") or place.rpartition("@")[2].startswith("-"):
        raise UsageError(f"{url!r} is not a repository URL", hint="its host begins with a dash")
    if scheme != "file" and (why := _why_not(origin(url).host)):
        raise SourceError(f"{shown(url)} cannot be used as a repository", hint=f"its address is {why}")
    return url


class Origin(NamedTuple):
    """What a credential is bound to."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


def origin(url: str) -> Origin:
    """Scheme, host and port of a URL, defaults filled in; host names in lower case. Raises UsageError."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return Origin("ssh", url.partition("@")[2].partition(":")[0].lower(), _PORTS["ssh"])
    place = rest.partition("/")[0].rpartition("@")[2]
    host, colon, port = place.rpartition(":")
    if not colon or "]" in port:
        host, port = place, ""
    if port and not port.isdecimal():
        raise UsageError(f"{shown(url)} is not a repository URL", hint=f"{port} is not a port")
    scheme = scheme.lower()
    return Origin(scheme, host.strip("[]").lower().rstrip("."), int(port) if port else _PORTS.get(scheme, 0))


def split_login(url: str) -> tuple[str, str]:
    """What stands before the host of an http URL, and the URL without it; ("", URL) for others."""
    scheme, separator, rest = url.partition("://")
    place, slash, path = rest.partition("/")
    login, at, host = place.rpartition("@")
    if not separator or not at or scheme.lower() not in ("http", "https"):
        return "", url
    return login, f"{scheme}://{host}{slash}{path}"


def _why_not(host: str) -> str:
    """Why a host that is written as an address, be it as one number, is not contacted; "" for others and for names."""
    try:
        written = str(ipaddress.ip_address(host.partition("%")[0]))
    except ValueError:
        try:
            written = str(ipaddress.ip_address(socket.inet_aton(host)))
        except (OSError, UnicodeError):
            return ""
    return address.why_not(written)


def shown(url: str) -> str:
    """A URL as a message may hold it: without what stands before the host, which may be a password or a token."""
    scheme, separator, rest = url.partition("://")
    place, slash, path = rest.partition("/")
    return f"{scheme}{separator}{place.rpartition('@')[2]}{slash}{path}" if separator else url


def find_root(start: Path) -> Path:
    """The repository that `start` is in, walking up; a bare repository is its own root.

    Raises SourceError when there is none.
    """
    folder = start.resolve()
    for candidate in (folder, *folder.parents):
        if (candidate / ".git").exists() or is_git_dir(candidate):
            return candidate
    raise SourceError(
        f"no Git repository at {start} or above it", hint="name one with --repo, or make one: gitfed init"
    )


def is_git_dir(path: Path) -> bool:
    return (path / "HEAD").is_file() and (path / "objects").is_dir() and (path / "refs").is_dir()
