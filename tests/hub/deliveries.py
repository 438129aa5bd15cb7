"""What forges send, in the form that their documentation gives: headers, payloads, and how each signs."""

from __future__ import annotations

import base64
import hashlib
import hmac
import itertools
import json
import time
import urllib.parse
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

SECRET = "4f1c9e0d7a2b48d8a5f6c3e2b1907d6e"
SIGNING_TOKEN = "whsec_" + base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()
BEFORE = "95790bf891e76fee5e1747ab589903a6a1f80f22"
AFTER = "da1560886d4f094c3e6c9ef40349f7d38b5d27d7"
NONE = "0" * 40
_MOMENTS = itertools.count(1772442847)
"""No two pushes are one."""


@dataclass(frozen=True)
class Sent:
    forge: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    def but(self, **headers: str) -> Sent:
        """With other headers; _ stands for -."""
        return replace(self, headers={**self.headers, **{name.replace("_", "-"): one for name, one in headers.items()}})

    def without(self, name: str) -> Sent:
        return replace(self, headers={key: one for key, one in self.headers.items() if key != name})


def digest(body: bytes, secret: str = SECRET) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def _commit(identity: str) -> dict[str, Any]:
    who = {"name": "Ann Chen", "email": "ann@example.com", "username": "ann"}
    return {
        "id": identity, "tree_id": NONE[:39] + "1", "distinct": True, "message": "web: two more replicas\n",
        "timestamp": "2026-03-02T10:14:07+01:00", "url": f"https://forge.example/ops/fleet/commit/{identity}",
        "author": who, "committer": who, "added": [], "removed": [], "modified": ["apps/web.yaml"],
    }  # fmt: skip


def _github_like(ref: str, repository: str, after: str) -> dict[str, Any]:
    owner, _, name = repository.partition("/")
    return {
        "ref": ref, "before": BEFORE, "after": after, "created": False, "deleted": after == NONE, "forced": False,
        "base_ref": None, "compare": f"https://forge.example/{repository}/compare/{BEFORE[:12]}...{after[:12]}",
        "commits": [] if after == NONE else [_commit(after)],
        "head_commit": None if after == NONE else _commit(after),
        "repository": {
            "id": 186853002, "name": name, "full_name": repository, "private": True, "default_branch": "main",
            "owner": {"login": owner, "id": 21031067}, "html_url": f"https://forge.example/{repository}",
            "clone_url": f"https://forge.example/{repository}.git", "ssh_url": f"git@forge.example:{repository}.git",
            "pushed_at": next(_MOMENTS),
        },
        "pusher": {"name": "ann", "email": "ann@example.com"}, "sender": {"login": "ann", "id": 21031067},
    }  # fmt: skip


def _json(document: object) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def github(
    ref: str = "refs/heads/main", repository: str = "ops/fleet", *, after: str = AFTER, event: str = "push",
    form: bool = False, secret: str = SECRET,
) -> Sent:  # fmt: skip
    document = _github_like(ref, repository, after)
    if event == "ping":
        document = {"zen": "Keep it logically awesome.", "hook_id": 109948940,
                    "hook": {"type": "Repository", "id": 109948940, "active": True, "events": ["push"]},
                    "repository": document["repository"], "sender": document["sender"]}  # fmt: skip
    body = _json(document)
    if form:
        body = urllib.parse.urlencode({"payload": body.decode()}).encode()
    headers = {
        "Content-Type": "application/x-www-form-urlencoded" if form else "application/json",
        "User-Agent": "GitHub-Hookshot/044aadd", "Accept": "*/*",
        "X-GitHub-Event": event, "X-GitHub-Delivery": str(uuid.uuid4()), "X-GitHub-Hook-ID": "109948940",
        "X-GitHub-Hook-Installation-Target-ID": "186853002",
        "X-GitHub-Hook-Installation-Target-Type": "repository",
        "X-Hub-Signature": "sha1=" + hmac.new(secret.encode(), body, hashlib.sha1).hexdigest(),
        "X-Hub-Signature-256": f"sha256={digest(body, secret)}",
    }  # fmt: skip
    return Sent("github", body, headers)


def gitlab(
    ref: str = "refs/heads/main", repository: str = "ops/fleet", *, after: str = AFTER, signed: bool = False,
    token: str = SECRET, sent: float | None = None, kind: str = "push",
) -> Sent:  # fmt: skip
    kind = "tag_push" if ref.startswith("refs/tags/") else kind
    document = {
        "object_kind": kind, "event_name": kind, "before": BEFORE, "after": after, "ref": ref, "ref_protected": True,
        "checkout_sha": None if after == NONE else after, "user_id": 4, "user_username": "ann", "project_id": 15,
        "project": {
            "id": 15, "name": "Fleet", "web_url": f"https://gitlab.example/{repository}", "default_branch": "main",
            "git_ssh_url": f"git@gitlab.example:{repository}.git", "path_with_namespace": repository,
            "git_http_url": f"https://gitlab.example/{repository}.git", "visibility_level": 0,
        },
        "commits": [_commit(after)], "total_commits_count": 1, "push_options": {},
        "repository": {"name": "Fleet", "url": f"git@gitlab.example:{repository}.git", "visibility_level": 0},
    }  # fmt: skip
    event = {"push": "Push Hook", "tag_push": "Tag Push Hook"}.get(kind, "Issue Hook")
    body, key = _json(document), str(uuid.uuid4())
    headers = {
        "Content-Type": "application/json", "User-Agent": "GitLab/19.1.0-ee", "X-Gitlab-Event": event,
        "X-Gitlab-Event-UUID": str(uuid.uuid4()), "X-Gitlab-Webhook-UUID": str(uuid.uuid4()),
        "X-Gitlab-Instance": "https://gitlab.example", "Idempotency-Key": key,
    }  # fmt: skip
    if not signed:
        return Sent("gitlab", body, {**headers, "X-Gitlab-Token": token})
    moment = str(int(time.time() if sent is None else sent))
    secret = base64.b64decode(SIGNING_TOKEN.removeprefix("whsec_"))
    made = hmac.new(secret, f"{key}.{moment}.".encode() + body, hashlib.sha256).digest()
    signature = f"v1,{base64.b64encode(made).decode()}"
    return Sent(
        "gitlab", body,
        {**headers, "webhook-id": key, "webhook-timestamp": moment, "webhook-signature": signature},
    )  # fmt: skip


def gitea(ref: str = "refs/heads/main", repository: str = "ops/fleet", *, name: str = "Gitea") -> Sent:
    document = _github_like(ref, repository, AFTER)
    document |= {"compare_url": document.pop("compare"), "total_commits": 1}
    body = _json(document)
    # Both send what the other, GitHub and Gogs would, so that older receivers go on.
    headers = {"Content-Type": "application/json", "X-GitHub-Event": "push", "X-Gogs-Event": "push",
               "X-Hub-Signature-256": f"sha256={digest(body)}", "X-Gogs-Signature": digest(body)}  # fmt: skip
    for one in ("Gitea",) if name == "Gitea" else ("Gitea", "Forgejo"):
        headers |= {
            f"X-{one}-Event": "push", f"X-{one}-Event-Type": "push", f"X-{one}-Delivery": str(uuid.uuid4()),
            f"X-{one}-Signature": digest(body),
        }  # fmt: skip
    return Sent(name.lower(), body, headers)


def forgejo(ref: str = "refs/heads/main", repository: str = "ops/fleet") -> Sent:
    return gitea(ref, repository, name="Forgejo")


def _bitbucket(body: bytes, event: str, **more: str) -> Sent:
    headers = {"Content-Type": "application/json", "X-Event-Key": event, "X-Hub-Signature": f"sha256={digest(body)}"}
    return Sent("bitbucket", body, {**headers, **{name.replace("_", "-"): value for name, value in more.items()}})


def bitbucket_cloud(
    name: str = "main", repository: str = "ops/fleet", *, gone: bool = False, tag: bool = False
) -> Sent:
    state = {"type": "tag" if tag else "branch", "name": name, "target": {"type": "commit", "hash": AFTER}}
    document = {
        "push": {"changes": [{"old": state, "new": None if gone else state, "created": False, "closed": gone,
                              "forced": False, "truncated": False, "commits": []}]},
        "repository": {"type": "repository", "full_name": repository, "name": "fleet", "is_private": True,
                       "uuid": "{b2f1b8c3-6d2e-4c9e-8a59-0e0f3d9c1a77}"},
        "actor": {"type": "user", "display_name": "Ann Chen", "nickname": "ann"},
    }  # fmt: skip
    return _bitbucket(
        _json(document), "repo:push", X_Request_UUID=str(uuid.uuid4()), X_Hook_UUID=str(uuid.uuid4()),
        X_Attempt_Number="1", User_Agent="Bitbucket-Webhooks/2.0",
    )  # fmt: skip


def bitbucket_server(ref: str = "refs/heads/main", *, event: str = "repo:refs_changed") -> Sent:
    document: dict[str, Any] = {
        "eventKey": event, "date": "2026-03-02T10:14:07+0100", "actor": {"name": "ann", "id": 1},
        "repository": {"slug": "fleet", "id": 84, "name": "fleet", "scmId": "git", "state": "AVAILABLE",
                       "project": {"key": "OPS", "id": 84, "name": "Operations", "type": "NORMAL"}},
        "changes": [{"ref": {"id": ref, "displayId": ref.rpartition("/")[2], "type": "BRANCH"}, "refId": ref,
                     "fromHash": BEFORE, "toHash": AFTER, "type": "UPDATE"}],
    }  # fmt: skip
    if event == "diagnostics:ping":
        document = {"test": True}
    return _bitbucket(_json(document), event, X_Request_Id=str(uuid.uuid4()))


def generic(ref: str | None = "refs/heads/main", *, identity: str = "", secret: str = SECRET) -> Sent:
    body = _json({"id": identity or str(uuid.uuid4()), **({"ref": ref} if ref is not None else {})})
    return Sent("generic", body, {"Content-Type": "application/json", "X-Signature": f"sha256={digest(body, secret)}"})


def resigned(sent: Sent, body: bytes) -> Sent:
    """GitHub's, with another body."""
    return replace(sent, body=body).but(X_Hub_Signature_256=f"sha256={digest(body)}")
