"""Forges whose API is shaped like GitHub's: comments of a pull request are those of its issue, statuses are a commit's.

What differs is whose comment it is and how comments are listed: `_find` of each.
"""

from __future__ import annotations

from typing import Any, ClassVar

from gitfed.edges.forge.call import ForgeClient, segment
from gitfed.edges.forge.place import CommitState, CommitStatus, Posted, one_line
from gitfed.errors import ForgeError
from gitfed.model.base import Commit

_STATES = {
    CommitState.PENDING: "pending",
    CommitState.SUCCESS: "success",
    CommitState.FAILURE: "failure",
    CommitState.ERROR: "error",
}


class IssueForge:
    longest: ClassVar[int] = 65_000
    html: ClassVar[bool] = True
    description: ClassVar[int]
    """The most characters of a status's description."""

    def __init__(self, client: ForgeClient, project: str) -> None:
        self._client = client
        owner, _, name = project.partition("/")
        self._repo = f"/repos/{segment(owner)}/{segment(name)}"

    def comment(self, number: int, marker: str, text: str, *, otherwise: str = "") -> Posted:
        known = self._find(number, marker)
        if known is None:
            if not text:
                return Posted.NOTHING
            self._client.send("POST", f"{self._repo}/issues/{number}/comments", {"body": text})
            return Posted.CREATED
        wanted = text or otherwise
        if not wanted or _plain(str(known["body"])) == _plain(wanted):
            return Posted.UNCHANGED
        self._client.send("PATCH", f"{self._repo}/issues/comments/{int(known['id'])}", {"body": wanted})
        return Posted.UPDATED

    def set_status(self, commit: Commit, status: CommitStatus) -> None:
        body: dict[str, Any] = {
            "state": _STATES[status.state],
            "context": status.name,
            "description": one_line(status.description, self.description),
        }
        if status.url:
            body["target_url"] = status.url
        self._client.send("POST", f"{self._repo}/statuses/{segment(commit)}", body)

    def _find(self, number: int, marker: str) -> dict[str, Any] | None:
        """Our comment with that marker, None when there is none."""
        raise NotImplementedError

    def _login(self) -> str:
        """Who the token is; "" for the token of a workflow or an app, which may not ask."""
        try:
            return str((self._client.get("/user") or {}).get("login") or "")
        except ForgeError as error:
            # A token of a person's own that lacks that one right would make a new comment each time.
            if error.status in (401, 403, 404) and "required scope" not in error.message:
                return ""
            raise


def _plain(body: str) -> str:
    """Line ends come back as browsers send them, and the last ones not at all."""
    return body.replace("\r\n", "\n").strip()
