"""Ask one cluster of a kubeconfig by plain HTTP, with nothing of gitfed in between.

The tests' own eyes: what they look at must not come through the client under test. Only what our kubeconfigs hold is
understood: `certificate-authority-data` and a token, or a plain http server.
"""

from __future__ import annotations

import base64
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_TIMEOUT_SECONDS = 60


class RefusedError(AssertionError):
    """The server answered with an error, or could not be reached."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a cluster listens and what it wants to see. No token or no authority is the empty string."""

    server: str
    token: str = ""
    authority: str = ""

    @classmethod
    def of(cls, kubeconfig: Mapping[str, Any], context: str) -> Endpoint:
        """The endpoint behind a context. LookupError if the kubeconfig has no such context or cluster."""
        chosen = _named(kubeconfig["contexts"], context)["context"]
        cluster = _named(kubeconfig["clusters"], chosen["cluster"])["cluster"]
        user = _named(kubeconfig["users"], chosen["user"])["user"] if chosen.get("user") else {}
        authority = base64.b64decode(cluster.get("certificate-authority-data", "")).decode()
        return cls(cluster["server"].rstrip("/"), user.get("token", ""), authority)

    def answers(self, path: str) -> bool:
        """Whether a GET succeeds now."""
        try:
            self._ask("GET", path, None, {})
        except RefusedError:
            return False
        return True

    def request(self, method: str, path: str, body: object = None, content_type: str = "application/json") -> Any:
        """The JSON that the server answers; RefusedError with its words if it refuses."""
        data = None if body is None else json.dumps(body).encode()
        return json.loads(self._ask(method, path, data, {"Content-Type": content_type} if data else {}))

    def _ask(self, method: str, path: str, data: bytes | None, headers: dict[str, str]) -> bytes:
        if self.token:
            headers = {**headers, "Authorization": f"Bearer {self.token}"}
        # A proxy set for this machine must not come between us and loopback.
        handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
        if self.authority:
            handlers.append(urllib.request.HTTPSHandler(context=ssl.create_default_context(cadata=self.authority)))
        request = urllib.request.Request(self.server + path, data, headers, method=method)
        try:
            with urllib.request.build_opener(*handlers).open(request, timeout=_TIMEOUT_SECONDS) as response:
                return bytes(response.read())
        except urllib.error.HTTPError as refusal:
            with refusal:
                said = refusal.read().decode(errors="replace")
            raise RefusedError(f"{method} {path}: {refusal.code} {said}") from None
        except OSError as failure:
            raise RefusedError(f"{method} {path}: {failure}") from failure


def _named(entries: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    for entry in entries:
        if entry["name"] == name:
            return entry
    raise LookupError(f"the kubeconfig has no entry {name!r}")
