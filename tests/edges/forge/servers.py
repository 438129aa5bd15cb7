"""Forges on this machine: each checks every request against the documentation of its API before it answers.

What is not documented is refused and written down in `wrong`, which every test expects to be empty: a path, a header,
a member of a body, a value, a length. They hold comments and statuses, so a test sees what a person would see.
"""

from __future__ import annotations

import http.server
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

TOKEN = "tok-forge-0123456789"
SHA = "0123456789abcdef0123456789abcdef01234567"
ME, OTHER = 7, 8


@dataclass
class Fake:
    """What a forge holds: comments `{id, author, body}` of pull request 5, statuses by commit and name."""

    authorization: tuple[str, str]
    """Header and value that every request must have."""
    comments: list[dict[str, Any]] = field(default_factory=list)
    statuses: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)
    knows_me: bool = True
    """False: as for the token of a workflow, which may not ask who it is."""
    failures: list[tuple[int, dict[str, str], bytes]] = field(default_factory=list)
    """Answers to give before the true one."""
    api: str = ""
    per_page: int = 2

    def comment(self, author: int, body: str) -> dict[str, Any]:
        one = {"id": 100 + len(self.comments), "author": author, "body": body}
        self.comments.append(one)
        return one

    def change(self, number: int, body: str) -> dict[str, Any]:
        one = next(one for one in self.comments if one["id"] == number)
        assert one["author"] == ME, "only an own comment may be edited"
        one["body"] = body
        return one

    def only(self, body: Any, required: dict[str, type], optional: dict[str, type]) -> None:
        """A body has the documented members and no others."""
        assert isinstance(body, dict), f"no JSON object: {body!r}"
        for name, kind in required.items():
            assert isinstance(body.get(name), kind), f"{name} is missing or has another type"
        for name, value in body.items():
            assert name in required or name in optional, f"{name} is not documented"
            assert isinstance(value, {**required, **optional}[name]), f"{name} has another type"

    def answer(self, method: str, path: str, query: dict[str, str], body: Any) -> tuple[int, Any, dict[str, str]]:
        raise NotImplementedError

    def page(self, path: str, query: dict[str, str], items: list[Any]) -> tuple[int, Any, dict[str, str]]:
        """Small pages, whatever was asked for: the next one is found by the header alone."""
        assert 1 <= int(query.get("per_page", "30")) <= 100
        number = int(query.get("page", "1"))
        part = items[(number - 1) * self.per_page : number * self.per_page]
        more = number * self.per_page < len(items)
        link = f'<{self.api}{path}?per_page={self.per_page}&page={number + 1}>; rel="next", <{self.api}>; rel="last"'
        return 200, part, {"Link": link} if more else {}


class GitHub(Fake):
    def answer(self, method: str, path: str, query: dict[str, str], body: Any) -> tuple[int, Any, dict[str, str]]:
        if (method, path) == ("GET", "/user"):
            return (200, {"login": "me", "type": "User"}, {}) if self.knows_me else (403, {"message": "no"}, {})
        if path == "/repos/acme/fleet/issues/5/comments":
            if method == "GET":
                return self.page(path, query, [self.shown(one) for one in self.comments])
            assert method == "POST"
            self.only(body, {"body": str}, {})
            assert len(body["body"]) <= 65_536
            return 201, self.shown(self.comment(ME, body["body"])), {}
        if match := re.fullmatch(r"/repos/acme/fleet/issues/comments/(\d+)", path):
            assert method == "PATCH"
            self.only(body, {"body": str}, {})
            return 200, self.shown(self.change(int(match[1]), body["body"])), {}
        if match := re.fullmatch(r"/repos/acme/fleet/statuses/([0-9a-f]{40})", path):
            assert method == "POST"
            self.only(body, {"state": str}, {"target_url": str, "description": str, "context": str})
            assert body["state"] in ("error", "failure", "pending", "success")
            assert len(body.get("description", "")) <= 140
            self.statuses[match[1], body["context"]] = body
            return 201, {"id": 1}, {}
        return 404, {"message": "Not Found"}, {}

    def shown(self, one: dict[str, Any]) -> dict[str, Any]:
        user = {ME: {"login": "me", "type": "User"}, OTHER: {"login": "mallory", "type": "User"}}[one["author"]]
        if not self.knows_me and one["author"] == ME:
            user = {"login": "github-actions[bot]", "type": "Bot"}
        return {"id": one["id"], "body": one["body"].replace("\n", "\r\n"), "user": user}


class Gitea(Fake):
    def answer(self, method: str, path: str, query: dict[str, str], body: Any) -> tuple[int, Any, dict[str, str]]:
        if (method, path) == ("GET", "/user"):
            return (200, {"login": "me"}, {}) if self.knows_me else (403, {"message": "no"}, {})
        if path == "/repos/acme/fleet/issues/5/comments":
            if method == "GET":
                return 200, [self.shown(one) for one in self.comments], {}
            assert method == "POST"
            self.only(body, {"body": str}, {"updated_at": str})
            return 201, self.shown(self.comment(ME, body["body"])), {}
        if match := re.fullmatch(r"/repos/acme/fleet/issues/comments/(\d+)", path):
            assert method == "PATCH"
            self.only(body, {"body": str}, {"updated_at": str})
            return 200, self.shown(self.change(int(match[1]), body["body"])), {}
        if match := re.fullmatch(r"/repos/acme/fleet/statuses/([0-9a-f]{40})", path):
            assert method == "POST"
            self.only(body, {"state": str}, {"target_url": str, "description": str, "context": str})
            assert body["state"] in ("pending", "success", "error", "failure", "warning")
            self.statuses[match[1], body["context"]] = body
            return 201, {"id": 1}, {}
        return 404, {"message": "not found"}, {}

    def shown(self, one: dict[str, Any]) -> dict[str, Any]:
        mine = "me" if self.knows_me else "gitea-actions"
        return {"id": one["id"], "body": one["body"], "user": {"login": mine if one["author"] == ME else "mallory"}}


class GitLab(Fake):
    def answer(self, method: str, path: str, query: dict[str, str], body: Any) -> tuple[int, Any, dict[str, str]]:
        if (method, path) == ("GET", "/user"):
            return 200, {"id": ME, "username": "me"}, {}
        notes = "/projects/group%2Fsub%2Ffleet/merge_requests/5/notes"
        if path == notes:
            if method == "GET":
                assert query.get("sort", "desc") in ("asc", "desc")
                return self.page(path, query, [self.shown(one) for one in self.comments])
            assert method == "POST"
            self.only(body, {"body": str}, {"internal": bool, "created_at": str})
            return 201, self.shown(self.comment(ME, body["body"])), {}
        if match := re.fullmatch(re.escape(notes) + r"/(\d+)", path):
            assert method == "PUT"
            self.only(body, {"body": str}, {"confidential": bool})
            return 200, self.shown(self.change(int(match[1]), body["body"])), {}
        if match := re.fullmatch(r"/projects/group%2Fsub%2Ffleet/statuses/([0-9a-f]{40})", path):
            assert method == "POST"
            optional = {"name": str, "context": str, "description": str, "target_url": str, "ref": str,
                        "coverage": float, "pipeline_id": int}  # fmt: skip
            self.only(body, {"state": str}, optional)
            assert body["state"] in ("pending", "running", "success", "failed", "canceled", "skipped")
            assert len(body.get("description", "")) <= 255
            known = self.statuses.get((match[1], body["name"]), {}).get("state")
            if body["state"] == "pending" and known in ("pending", "running"):  # one that is over is begun anew
                said = (
                    f"Cannot transition status via :enqueue from :{known} "
                    '(Reason(s): Status cannot transition via "enqueue")'
                )
                return 400, {"message": said}, {}
            self.statuses[match[1], body["name"]] = body
            return 201, {"id": 1}, {}
        return 404, {"message": "404 Not found"}, {}

    def shown(self, one: dict[str, Any]) -> dict[str, Any]:
        return {"id": one["id"], "body": one["body"], "author": {"id": one["author"]}, "system": False}


class Bitbucket(Fake):
    def answer(self, method: str, path: str, query: dict[str, str], body: Any) -> tuple[int, Any, dict[str, str]]:
        if (method, path) == ("GET", "/user"):
            return (200, {"uuid": "{me}"}, {}) if self.knows_me else (403, {"type": "error"}, {})
        comments = "/repositories/acme/fleet/pullrequests/5/comments"
        if path == comments:
            if method == "GET":
                assert int(query.get("pagelen", "10")) <= 100
                number = int(query.get("page", "1"))
                part = self.comments[(number - 1) * self.per_page : number * self.per_page]
                page: dict[str, Any] = {"values": [self.shown(one) for one in part], "page": number}
                if number * self.per_page < len(self.comments):
                    page["next"] = f"{self.api}{path}?pagelen=100&page={number + 1}"
                return 200, page, {}
            assert method == "POST"
            return 201, self.shown(self.comment(ME, self.raw(body))), {}
        if match := re.fullmatch(re.escape(comments) + r"/(\d+)", path):
            assert method == "PUT"
            return 200, self.shown(self.change(int(match[1]), self.raw(body))), {}
        if match := re.fullmatch(r"/repositories/acme/fleet/commit/([0-9a-f]{40})/statuses/build", path):
            assert method == "POST"
            self.only(body, {"key": str, "state": str, "url": str}, {"name": str, "description": str, "refname": str})
            assert body["state"] in ("SUCCESSFUL", "FAILED", "INPROGRESS", "STOPPED")
            assert len(body["key"]) < 40
            assert body["url"].startswith("https://")
            self.statuses[match[1], body["name"]] = body
            return 201, {"key": body["key"]}, {}
        return 404, {"type": "error"}, {}

    def raw(self, body: Any) -> str:
        self.only(body, {"content": dict}, {"inline": dict, "parent": dict})
        self.only(body["content"], {"raw": str}, {})
        raw: str = body["content"]["raw"]
        assert len(raw) <= 32_768
        return raw

    def shown(self, one: dict[str, Any]) -> dict[str, Any]:
        user = {"uuid": "{me}" if one["author"] == ME else "{mallory}", "type": "user"}
        if not self.knows_me and one["author"] == ME:
            user["type"] = "app_user"
        return {"id": one["id"], "content": {"raw": one["body"]}, "user": user, "deleted": False}


KINDS: dict[str, tuple[Callable[..., Fake], str, tuple[str, str]]] = {
    "github": (GitHub, "acme/fleet", ("Authorization", f"Bearer {TOKEN}")),
    "gitlab": (GitLab, "group/sub/fleet", ("PRIVATE-TOKEN", TOKEN)),
    "gitea": (Gitea, "acme/fleet", ("Authorization", f"token {TOKEN}")),
    "bitbucket": (Bitbucket, "acme/fleet", ("Authorization", f"Bearer {TOKEN}")),
}


@contextmanager
def serving(kind: str, base: str = "/api/2.0") -> Iterator[Fake]:
    """The forge at `fake.api`, until the block ends; then everything it was asked must have been documented."""
    made, _, authorization = KINDS[kind]
    fake = made(authorization)

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            pass

        def serve(self) -> None:
            address = urlsplit(self.path)
            path = address.path.removeprefix(base)
            length = int(self.headers.get("Content-Length") or 0)
            raw = self.rfile.read(length)
            fake.asked.append((self.command, unquote(path)))
            headers: dict[str, str] = {}
            try:
                assert self.headers.get(fake.authorization[0]) == fake.authorization[1], "authorization"
                assert self.headers.get("User-Agent"), "GitHub refuses requests without a user agent"
                if raw:
                    assert self.headers.get("Content-Type") == "application/json"
                if kind == "github":
                    assert self.headers.get("Accept") == "application/vnd.github+json"
                    assert self.headers.get("X-GitHub-Api-Version") == "2022-11-28"
                query = {name: values[0] for name, values in parse_qs(address.query).items()}
                if fake.failures:
                    code, headers, content = fake.failures.pop(0)
                else:
                    code, answer, headers = fake.answer(self.command, path, query, json.loads(raw) if raw else None)
                    content = json.dumps(answer).encode()
            except AssertionError as error:
                fake.wrong.append(f"{self.command} {self.path}: {error}")
                code, content = 422, json.dumps({"message": str(error)}).encode()
            self.send_response(code)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = serve

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    fake.api = f"http://127.0.0.1:{server.server_address[1]}{base}"
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert fake.wrong == []
