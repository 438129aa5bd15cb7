"""Bitbucket Cloud, API 2.0: comments of a pull request, and build statuses of a commit.

Comments hold no HTML, so the marker is a link definition, which Markdown does not print. A build status needs an
address, and its key less than 40 characters. The token (a repository or workspace access token) needs
`pullrequest:write` and `repository`.
"""

from __future__ import annotations

import hashlib
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from gitfed.edges.forge.call import ForgeClient, segment
from gitfed.edges.forge.place import CommitState, CommitStatus, Posted, one_line
from gitfed.errors import ForgeError, UsageError
from gitfed.model.base import Commit

_KEY = 39
_NAME = 255
_DESCRIPTION = 255
_MOST_PAGES = 100


def headers(token: str) -> Mapping[str, str]:
    return {"Authorization": f"Bearer {token}"}


class Bitbucket:
    longest: ClassVar[int] = 32_000
    html: ClassVar[bool] = False

    def __init__(self, client: ForgeClient, project: str) -> None:
        if not urllib.parse.urlsplit(client.api).path.endswith("/2.0"):
            raise UsageError(
                f"{client.api} is not Bitbucket Cloud, whose API is https://api.bitbucket.org/2.0",
                hint="of Bitbucket Data Center gitfed knows no comments and statuses: print the comment with gitfed "
                "review --dry-run=client",
            )
        self._client = client
        workspace, _, name = project.partition("/")
        self._workspace, self._name = workspace, name
        self._repo = f"/repositories/{segment(workspace)}/{segment(name)}"

    def comment(self, number: int, marker: str, text: str, *, otherwise: str = "") -> Posted:
        comments = f"{self._repo}/pullrequests/{number}/comments"
        known = self._find(comments, marker)
        if known is None:
            if not text:
                return Posted.NOTHING
            self._client.send("POST", comments, {"content": {"raw": text}})
            return Posted.CREATED
        wanted = text or otherwise
        if not wanted or _raw(known).strip() == wanted.strip():
            return Posted.UNCHANGED
        self._client.send("PUT", f"{comments}/{int(known['id'])}", {"content": {"raw": wanted}})
        return Posted.UPDATED

    def set_status(self, commit: Commit, status: CommitStatus) -> None:
        states = {
            CommitState.PENDING: "INPROGRESS",
            CommitState.SUCCESS: "SUCCESSFUL",
            CommitState.FAILURE: "FAILED",
            CommitState.ERROR: "FAILED",
        }
        body = {
            "key": key(status.name),
            "state": states[status.state],
            "name": one_line(status.name, _NAME),
            "description": one_line(status.description, _DESCRIPTION),
            "url": status.url
            or f"https://bitbucket.org/{segment(self._workspace)}/{segment(self._name)}/commits/" + segment(commit),
        }
        self._client.send("POST", f"{self._repo}/commit/{segment(commit)}/statuses/build", body)

    def _find(self, comments: str, marker: str) -> dict[str, Any] | None:
        me = self._identity()
        for one in self._comments(comments):
            # A token of a repository may not ask who it is; it comments as an app user.
            user = one.get("user") or {}
            mine = user.get("uuid") == me if me else user.get("type") == "app_user"
            if mine and not one.get("deleted") and _raw(one).startswith(marker):
                return one
        return None

    def _comments(self, comments: str) -> Iterator[dict[str, Any]]:
        path = f"{comments}?pagelen=100"
        for _ in range(_MOST_PAGES):
            page = self._client.get(path) or {}
            yield from page.get("values") or []
            if not page.get("next"):
                return
            path = self._client.below(str(page["next"]))

    def _identity(self) -> str:
        try:
            return str((self._client.get("/user") or {}).get("uuid") or "")
        except ForgeError as error:
            if error.status in (401, 403, 404):
                return ""
            raise


def key(name: str) -> str:
    """Less than 40 characters, still one for each name."""
    return name if len(name) <= _KEY else f"gitfed-{hashlib.sha256(name.encode()).hexdigest()[:32]}"


def _raw(comment: Mapping[str, Any]) -> str:
    return str((comment.get("content") or {}).get("raw") or "").replace("\r\n", "\n")
