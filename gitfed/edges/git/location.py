"""Where a repository is: a URL that Git may be asked to reach, or a folder on this machine.

URLs come from people and from files. What Git would take for an option or for a program to start (`ext::`) is refused
here, before any command line is built; what may be a password is left out of whatever is shown.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from gitfed.errors import SourceError, UsageError

_LEAKY = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
          "GIT_NAMESPACE", "GIT_CEILING_DIRECTORIES", "GIT_PREFIX", "GIT_QUARANTINE_PATH")  # fmt: skip
_URL = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://")
_SCHEMES = ("file", "git", "http", "https", "ssh")
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

    Raises UsageError for schemes that start programs (`ext::`) or could be read as an option.
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
    return url


def shown(url: str) -> str:
    """A URL as a message may hold it: without what stands before the host, which may be a password or a token."""
    scheme, separator, rest = url.partition("://")
    place, slash, path = rest.partition("/")
    return f"{scheme}{separator}{place.rpartition('@')[2]}{slash}{path}" if separator else url


def find_root(start: Path) -> Path:
    """The repository that `start` is in, walking up; a bare repository is its own root.

    Raises SourceError when there is none.
    """
    here = start.resolve()
    for candidate in (here, *here.parents):
        if (candidate / ".git").exists() or is_git_dir(candidate):
            return candidate
    raise SourceError(
        f"no Git repository at {start} or above it", hint="name one with --repo, or make one: gitfed init"
    )


def is_git_dir(path: Path) -> bool:
    return (path / "HEAD").is_file() and (path / "objects").is_dir() and (path / "refs").is_dir()
