"""What every forge has in common: a project, a comment, statuses."""

from __future__ import annotations

import re
import urllib.parse
from enum import StrEnum
from typing import ClassVar, Protocol

from gitfed.model.base import Commit
from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True)
class ForgeProject:
    """A project on a forge. `project` is `owner/name`; on GitLab a path of any depth, or the project's number."""

    kind: str
    api: str
    """Base URL of the API: `https://api.github.com`, `https://gitlab.example/api/v4`, `https://forge.example/api/v1`."""
    project: str


_KNOWN = {
    "github.com": ("github", "https://api.github.com"),
    "gitlab.com": ("gitlab", "https://gitlab.com/api/v4"),
    "bitbucket.org": ("bitbucket", "https://api.bitbucket.org/2.0"),
    "codeberg.org": ("gitea", "https://codeberg.org/api/v1"),
}
_PATHS = {"github": "api/v3", "gitlab": "api/v4", "gitea": "api/v1", "forgejo": "api/v1"}


def of_url(url: str, kind: str = "") -> ForgeProject | None:
    """The project that a repository's URL names, on a public forge or on one of `kind`; None when it is neither."""
    match = _URL.fullmatch(url)
    if match is None:
        return None
    host, project = match["host"].lower(), match["path"].removesuffix("/").removesuffix(".git")
    known, api = _KNOWN.get(host, ("", ""))
    if not project or (kind and known and kind != known):
        return None
    if known:
        return ForgeProject(known, api, project)
    return ForgeProject(kind, f"https://{host}/{_PATHS[kind]}", project) if kind in _PATHS else None


_PAGES = {
    "github": "{project}/compare/{branch}?expand=1",
    "gitlab": "{project}/-/merge_requests/new?merge_request%5Bsource_branch%5D={branch}",
    "gitea": "{project}/compare/{branch}",
    "bitbucket": "{project}/pull-requests/new?source={branch}",
}


def proposal_page(url: str, branch: str) -> str:
    """Where a person opens a pull request of a branch that was pushed to a public forge; "" anywhere else."""
    match, place = _URL.fullmatch(url), of_url(url)
    if match is None or place is None:
        return ""
    page = _PAGES[place.kind].format(project=urllib.parse.quote(place.project), branch=urllib.parse.quote(branch))
    return f"https://{match['host'].lower()}/{page}"


_URL = re.compile(r"(?:(?:https|ssh)://(?:[^/@]*@)?|[^/@:]+@)(?P<host>[A-Za-z0-9.-]+)(?::\d+(?=/))?[:/]/?(?P<path>.+)")


class CommitState(StrEnum):
    PENDING = "pending"
    SUCCESS = "success"
    FAILURE = "failure"
    """What was asked for cannot be done: a mistake in the files, a gate."""
    ERROR = "error"
    """The world failed: a cluster cannot be reached."""


@dataclass(frozen=True, slots=True)
class CommitStatus:
    """What stands beside a commit. A later status of the same name replaces it; other names are left alone."""

    name: str
    state: CommitState
    description: str
    """One line; cut to what the forge takes."""
    url: str = ""


class Posted(StrEnum):
    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    NOTHING = "nothing to say"


class Forge(Protocol):
    longest: ClassVar[int]
    """Characters of a comment."""
    html: ClassVar[bool]
    """Whether comments may hold HTML: folded sections, hidden markers."""

    def comment(self, number: int, marker: str, text: str, *, otherwise: str = "") -> Posted:
        """Post `text`, or put it into the comment that bears `marker`. An empty text is not posted, but an earlier
        comment becomes `otherwise`: it would tell of changes that are no more.

        Raises ForgeError, ForgeUnreachable.
        """
        ...

    def set_status(self, commit: Commit, status: CommitStatus) -> None:
        """Raises ForgeError, ForgeUnreachable."""
        ...


def one_line(text: str, most: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1]}…"
