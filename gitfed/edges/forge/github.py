"""GitHub, api.github.com and GitHub Enterprise Server. API version 2022-11-28.

Comments of a pull request are comments of its issue ("REST API endpoints for issue comments"); statuses are those of
"REST API endpoints for commit statuses". The token needs `pull-requests: write` and `statuses: write`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from gitfed.edges.forge.call import Client, segment
from gitfed.edges.forge.place import Posted, State, Status, one_line
from gitfed.errors import ForgeError
from gitfed.model.base import Commit

_DESCRIPTION = 140


def headers(token: str) -> Mapping[str, str]:
    return {
        "Authorization": f"Bearer {token}",
        "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": "2022-11-28",
    }


class GitHub:
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
        if not wanted or known["body"] == wanted:
            return Posted.UNCHANGED
        self._client.send("PATCH", f"{self._repo}/issues/comments/{int(known['id'])}", {"body": wanted})
        return Posted.UPDATED

    def set_status(self, commit: Commit, status: Status) -> None:
        body: dict[str, Any] = {
            "state": {
                State.PENDING: "pending", State.SUCCESS: "success", State.FAILURE: "failure", State.ERROR: "error",
            }[status.state],
            "context": status.name,
            "description": one_line(status.description, _DESCRIPTION),
        }  # fmt: skip
        if status.url:
            body["target_url"] = status.url
        self._client.send("POST", f"{self._repo}/statuses/{segment(commit)}", body)

    def _find(self, number: int, marker: str) -> dict[str, Any] | None:
        me = self._login()
        for one in self._client.pages(f"{self._repo}/issues/{number}/comments?per_page=100"):
            user = one.get("user") or {}
            mine = user.get("login") == me if me else user.get("type") == "Bot"
            if mine and str(one.get("body") or "").startswith(marker):
                return {**one, "body": _as_sent(one["body"])}
        return None

    def _login(self) -> str:
        """Who the token is; "" for the token of a workflow or an app, which may not ask and comments as a bot."""
        try:
            return str((self._client.get("/user") or {}).get("login") or "")
        except ForgeError as error:
            if error.status in (401, 403, 404):
                return ""
            raise


def _as_sent(body: str) -> str:
    """Line ends come back as browsers send them."""
    return body.replace("\r\n", "\n")
