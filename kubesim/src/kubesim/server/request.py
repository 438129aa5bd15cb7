"""A request and an answer without HTTP around them, and what an address means.

Addresses are read the way Kubernetes' RequestInfo does: ``/api/v1/…`` and ``/apis/GROUP/VERSION/…`` name resources,
everything else is a plain path. Whether such a resource exists is found out later, after the user has been
authorised: who may not see a thing must not learn whether there is one.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

from multidict import CIMultiDict

from kubesim.containers.streams import Session

Query = Mapping[str, list[str]]

JSON: Final = "application/json"
TEXT: Final = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class User:
    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


AUTHENTICATED: Final = "system:authenticated"
ANONYMOUS: Final = User("system:anonymous", groups=("system:unauthenticated",))


@dataclass(slots=True)
class Request:
    method: str
    path: str
    query: Query = field(default_factory=dict)
    headers: CIMultiDict[str] = field(default_factory=CIMultiDict)
    body: bytes = b""
    user: User = ANONYMOUS

    def first(self, name: str) -> str:
        """A query parameter, "" if it is not there."""
        values = self.query.get(name)
        return values[0] if values else ""

    def content_type(self) -> str:
        return str(self.headers.get("Content-Type", "")).partition(";")[0].strip()


@dataclass(slots=True)
class Response:
    """``stream`` gives the pieces of a watch; otherwise ``body`` is all."""

    status: int
    body: bytes = b""
    content_type: str = JSON
    headers: list[tuple[str, str]] = field(default_factory=list)
    stream: AsyncGenerator[bytes, None] | None = None
    session: Session | None = None
    """The connection is turned into a WebSocket, over which this runs."""
    breaks_off: bool = False
    """The connection is reset in the middle of the answer."""
    end: Callable[[], None] = lambda: None
    """To be called when nobody reads ``stream`` any more, also when nobody began to."""


@dataclass(frozen=True, slots=True)
class Address:
    """``verb`` is Kubernetes' own: get, list, watch, create, update, patch, delete, deletecollection."""

    group: str
    version: str
    resource: str
    namespace: str
    name: str
    subresource: str
    verb: str
    legacy_watch: bool = False
    """The old ``/watch/`` prefix."""
    stray: bool = False
    """Longer than any address the server has."""


_VERBS: Final = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def truth(values: list[str] | None) -> bool:
    """A boolean parameter: true for everything but ``false``, ``0`` and nothing given (Kubernetes:
    Convert_Slice_string_To_bool)."""
    return values is not None and values != [] and values[0].lower() not in ("false", "0")


def locate(method: str, path: str, query: Query) -> Address | None:
    """What resource an address means; ``None`` if it means none."""
    parts = [unquote(part) for part in path.split("/") if part]
    if len(parts) >= 3 and parts[0] == "api":
        group, version, rest = "", parts[1], parts[2:]
    elif len(parts) >= 4 and parts[0] == "apis":
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    legacy_watch = rest[0] == "watch" and len(rest) > 1
    if legacy_watch:
        rest = rest[1:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        # /namespaces/NAME/status and /finalize are of the namespace itself.
        if len(rest) > 2 and rest[2] not in ("status", "finalize"):
            rest = rest[2:]
    resource = rest[0]
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 else ""
    verb = _VERBS.get(method, "")
    if legacy_watch:
        verb = "watch"
    elif not name:
        if verb == "get":
            verb = "watch" if truth(query.get("watch")) else "list"
        elif verb == "delete":
            verb = "deletecollection"
    return Address(group, version, resource, namespace, name, subresource, verb, legacy_watch, len(rest) > 3)
