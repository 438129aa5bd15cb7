"""Which headers go on: from a caller to a member, and back.

Headers that say who asks are never passed on: the caller's credential is for the hub, and only the hub says for whom
it acts in a member. Headers about one connection end there (RFC 9110, 7.6.1).
"""

from __future__ import annotations

from collections.abc import Iterable

from gitfed.model.declared.access import MASTERS

Headers = list[tuple[str, str]]

_HOP = frozenset(
    {"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
     "transfer-encoding", "upgrade"}
)  # fmt: skip
_FROM_CALLERS = frozenset(
    {"authorization", "cookie", "expect", "forwarded", "host", "origin", "referer", "via", "x-csrf-token", "x-real-ip"}
)
_OF_AGENTS = frozenset({"authorization", "expect", "host"})
"""They have their own."""
_PREFIXES = ("impersonate-", "x-forwarded-", "x-remote-", "sec-fetch-")
_FROM_MEMBERS = frozenset(
    {"alt-svc", "clear-site-data", "content-security-policy", "location", "refresh", "server", "set-cookie",
     "strict-transport-security", "www-authenticate", "x-content-type-options"}
)  # fmt: skip
"""A client would take them for the hub's own."""
_BEARER_PROTOCOL = "base64url.bearer.authorization.k8s.io."
_UNNAMED = frozenset({"system:authenticated", "system:unauthenticated", MASTERS})
"""Groups that a member gives by itself, and the one that no member asks for a permission."""


def to_member(headers: Iterable[tuple[str, str]], *, upgrade: str = "") -> Headers:
    """`upgrade`: the protocol that the connection is to change to, "" for none."""
    given = list(headers)
    dropped = _HOP | _FROM_CALLERS | _of_this_connection(given)
    kept: Headers = []
    for name, value in given:
        lower = name.lower()
        if lower in dropped or lower.startswith(_PREFIXES):
            continue
        if lower == "sec-websocket-protocol" and not (value := _protocols(value)):
            continue
        kept.append((name, value))
    if upgrade:
        kept += [("Connection", "Upgrade"), ("Upgrade", upgrade)]
    return kept


def by_agent(headers: Iterable[tuple[str, str]], *, upgrade: str = "") -> Headers:
    """From the hub through an agent to its cluster: what the hub says of who asks stands."""
    given = list(headers)
    dropped = _HOP | _OF_AGENTS | _of_this_connection(given)
    kept = [(name, value) for name, value in given if name.lower() not in dropped]
    return [*kept, ("Connection", "Upgrade"), ("Upgrade", upgrade)] if upgrade else kept


def to_caller(headers: Iterable[tuple[str, str]]) -> Headers:
    given = list(headers)
    dropped = _HOP | _FROM_MEMBERS | _of_this_connection(given)
    return [
        (name, value)
        for name, value in given
        if name.lower() not in dropped and not name.lower().startswith("access-control-")
    ]


def impersonation(user: str, groups: Iterable[str]) -> Headers:
    """Whom a member is to take the request for. A service account gets the groups that follow from its name there."""
    if user.startswith("system:serviceaccount:"):
        groups = [group for group in groups if not group.startswith("system:serviceaccounts")]
    named = dict.fromkeys(group for group in groups if group not in _UNNAMED)
    return [("Impersonate-User", user), *(("Impersonate-Group", group) for group in named)]


def _of_this_connection(headers: Headers) -> frozenset[str]:
    """Those that `Connection` names."""
    named = [value for name, value in headers if len(name) == len("connection") and name.lower() == "connection"]
    if not named:
        return frozenset()
    return frozenset(word.strip().lower() for value in named for word in value.split(","))


def _protocols(value: str) -> str:
    """Without a bearer token, which browsers that cannot send headers put among them."""
    offered = [protocol.strip() for protocol in value.split(",")]
    return ", ".join(protocol for protocol in offered if protocol and not protocol.startswith(_BEARER_PROTOCOL))
