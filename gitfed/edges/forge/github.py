"""GitHub, api.github.com and GitHub Enterprise Server. API version 2022-11-28.

Comments of a pull request are comments of its issue ("REST API endpoints for issue comments"); statuses are those of
"REST API endpoints for commit statuses". The token needs `pull-requests: write` and `statuses: write`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from gitfed.edges.forge.issues import IssueForge


def headers(token: str) -> Mapping[str, str]:
    return {
        "Authorization": f"Bearer {token}",
        "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": "2022-11-28",
    }


class GitHub(IssueForge):
    description: ClassVar[int] = 140

    def _find(self, number: int, marker: str) -> dict[str, Any] | None:
        me = self._login()
        for one in self._client.pages(f"{self._repo}/issues/{number}/comments?per_page=100"):
            user = one.get("user") or {}
            mine = user.get("login") == me if me else user.get("type") == "Bot"
            if mine and str(one.get("body") or "").startswith(marker):
                return dict(one)
        return None
