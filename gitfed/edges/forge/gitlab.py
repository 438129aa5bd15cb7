"""GitLab, API v4: notes of a merge request, and the commit status API.

The token needs the scope `api` and the role Developer; a CI job token cannot write notes. A status that waits already
is refused when it is set to wait again, as an impossible transition: it stays what it should be.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from gitfed.edges.forge.call import ForgeClient, segment
from gitfed.edges.forge.place import CommitState, CommitStatus, Posted, one_line
from gitfed.errors import ForgeError
from gitfed.model.base import Commit

_DESCRIPTION = 255
_WAITS_ALREADY = tuple(f"Cannot transition status via :enqueue from :{state}" for state in ("pending", "running"))
"""GitLab changes the description of a status only with its state, so that of a waiting one stays the first. A status
that is over is begun anew instead; every other transition that is refused is a failure."""


def headers(token: str) -> Mapping[str, str]:
    return {"PRIVATE-TOKEN": token}


class GitLab:
    longest: ClassVar[int] = 65_000
    """GitLab takes a million; nobody reads that."""
    html: ClassVar[bool] = True

    def __init__(self, client: ForgeClient, project: str) -> None:
        self._client = client
        self._project = f"/projects/{segment(project)}"

    def comment(self, number: int, marker: str, text: str, *, otherwise: str = "") -> Posted:
        notes = f"{self._project}/merge_requests/{number}/notes"
        known = self._find(notes, marker)
        if known is None:
            if not text:
                return Posted.NOTHING
            self._client.send("POST", notes, {"body": text})
            return Posted.CREATED
        wanted = text or otherwise
        if not wanted or str(known["body"]).strip() == wanted.strip():
            return Posted.UNCHANGED
        self._client.send("PUT", f"{notes}/{int(known['id'])}", {"body": wanted})
        return Posted.UPDATED

    def set_status(self, commit: Commit, status: CommitStatus) -> None:
        states = {
            CommitState.PENDING: "pending",
            CommitState.SUCCESS: "success",
            CommitState.FAILURE: "failed",
            CommitState.ERROR: "failed",
        }
        body: dict[str, Any] = {
            "state": states[status.state],
            "name": status.name,
            "description": one_line(status.description, _DESCRIPTION),
        }
        if status.url:
            body["target_url"] = status.url
        try:
            self._client.send("POST", f"{self._project}/statuses/{segment(commit)}", body)
        except ForgeError as error:
            waits = error.status == 400 and any(said in error.message for said in _WAITS_ALREADY)
            if not (waits and status.state is CommitState.PENDING):
                raise

    def _find(self, notes: str, marker: str) -> dict[str, Any] | None:
        me = (self._client.get("/user") or {}).get("id")
        for one in self._client.pages(f"{notes}?per_page=100&sort=asc"):
            author = (one.get("author") or {}).get("id")
            mine = me is not None and author == me and not one.get("system")
            if mine and str(one.get("body") or "").startswith(marker):
                return dict(one)
        return None
