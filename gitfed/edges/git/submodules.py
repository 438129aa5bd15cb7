"""Submodules: other repositories inside of one. They are off; a person allows them by URL.

A commit names where a submodule comes from, so a person who may push could make us ask any server. Nothing is contacted
but what begins with a prefix that was given on the command line. The commit of a submodule is pinned by the one that
holds it, so its content is as much reviewed, and signed, as the rest.
"""

from __future__ import annotations

from collections.abc import Sequence

from gitfed.edges.git import location
from gitfed.edges.git.objects import SUBMODULE
from gitfed.edges.git.repository import Repository
from gitfed.errors import SourceError, UsageError
from gitfed.model.base import Commit

_DEEPEST = 5
_MOST = 100
_LARGEST = 1024 * 1024


def bring(repository: Repository, commit: Commit, source: str, allowed: Sequence[str]) -> None:
    """Fetch the submodules of a commit, and theirs, as far as they are allowed; `entries` then lists their files.

    `source` is where the commit came from: a submodule's URL may be relative to it. Raises SourceError for one that is
    allowed and cannot be had: a part of the commit must not look deleted.
    """
    todo = [(commit, source, 0)]
    count = 0
    while todo:
        owner, base, depth = todo.pop()
        listing = repository.listing(owner)
        links = [entry for entry in listing.values() if entry.mode == SUBMODULE]
        urls = _declared(repository, owner) if links else {}
        for link in links:
            url = _resolved(urls.get(link.path, ""), base)
            if not is_allowed(url, allowed):
                continue
            count += 1
            if depth >= _DEEPEST or count > _MOST:
                raise SourceError(f"more than {_MOST} submodules, or more than {_DEEPEST} in each other")
            child = Commit(link.blob_id)
            if not repository.has(child):
                try:
                    repository.fetch(url, [f"+{child}:refs/gitfed/submodules/{child}"])
                except (SourceError, UsageError) as error:
                    raise type(error)(f"the submodule {link.path}: {error.message}", hint=error.hint) from error
            repository.brought.add(child)
            todo.append((child, url, depth + 1))


def is_allowed(url: str, prefixes: Sequence[str]) -> bool:
    """Whether a URL is one of the prefixes or lies below one. Dots in its path could lead out of it."""
    if not url or ".." in url.split("/") or "%2e" in url.lower():
        return False
    return any(url == prefix.rstrip("/") or url.startswith(prefix.rstrip("/") + "/") for prefix in prefixes if prefix)


def _declared(repository: Repository, commit: Commit) -> dict[str, str]:
    """Path → URL, as `.gitmodules` says."""
    entry = repository.listing(commit).get(".gitmodules")
    if entry is None or entry.size > _LARGEST:
        return {}
    pattern = r"^submodule\..*\.(path|url)$"
    try:
        raw = repository.run("config", "--blob", entry.blob_id, "-z", "--get-regexp", pattern)
    except SourceError:
        return {}  # not a configuration, or nothing in it
    sections: dict[str, dict[str, str]] = {}
    for record in raw.decode("utf-8", "surrogateescape").split("\0"):
        key, _, value = record.partition("\n")
        name, _, member = key.rpartition(".")
        sections.setdefault(name, {})[member] = value
    return {section["path"]: section["url"] for section in sections.values() if "path" in section and "url" in section}


def _resolved(url: str, base: str) -> str:
    """A relative URL begins with ./ or ../ and is relative to the repository itself (Git: gitmodules)."""
    if not url.startswith(("./", "../")):
        return url
    scheme, separator, rest = location.split_login(base)[1].rpartition("://")
    parts = rest.rstrip("/").split("/")
    for part in url.split("/"):
        if part == "..":
            if len(parts) < 2:
                return ""
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return f"{scheme}{separator}{'/'.join(parts)}"
