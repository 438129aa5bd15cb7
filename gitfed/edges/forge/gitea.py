"""Gitea and Forgejo, API v1.

Their calls are like GitHub's under another name; comments come in one list. The token needs `write:issue` and
`write:repository`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from gitfed.edges.forge.call import Client, segment
from gitfed.edges.forge.place import Posted, State, Status, one_line
from gitfed.errors import ForgeError
from gitfed.model.base import Commit

_DESCRIPTION = 255


def headers(token: str) -> Mapping[str, str]:
    return {"Authorization": f"token {token}"}


class Gitea:
    longest: ClassVar[int] = 65_000
    html: ClassVar[bool] = True

    def __init__(self, client: Client, project: str) -> None:
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
        if not wanted or str(known["body"]).replace("\r\n", "\n").strip() == wanted.strip():
            return Posted.UNCHANGED
        self._client.send("PATCH", f"{self._repo}/issues/comments/{int(known['id'])}", {"body": wanted})
        return Posted.UPDATED

    def set_status(self, commit: Commit, status: Status) -> None:
        states = {State.PENDING: "pending", State.SUCCESS: "success", State.FAILURE: "failure", State.ERROR: "error"}
        body: dict[str, Any] = {
            "state": states[status.state],
            "context": status.name,
            "description": one_line(status.description, _DESCRIPTION),
        }
        if status.url:
            body["target_url"] = status.url
        self._client.send("POST", f"{self._repo}/statuses/{segment(commit)}", body)

    def _find(self, number: int, marker: str) -> dict[str, Any] | None:
        me = self._login()
        found = self._client.get(f"{self._repo}/issues/{number}/comments")
        for one in found if isinstance(found, list) else []:
            login = (one.get("user") or {}).get("login")
            # The token of a workflow may not ask who it is; it comments under one of these names.
            mine = login == me if me else login in ("gitea-actions", "forgejo-actions")
            if mine and str(one.get("body") or "").startswith(marker):
                return dict(one)
        return None

    def _login(self) -> str:
        try:
            return str((self._client.get("/user") or {}).get("login") or "")
        except ForgeError as error:
            if error.status in (401, 403, 404):
                return ""
            raise
