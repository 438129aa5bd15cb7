"""Acting as somebody else.

There are two sorts of right to it. The old one is the verb ``impersonate`` on users, groups, service accounts, uids
and extras. The constrained ones come in modes by who is impersonated (a node, a service account, another user) and
ask for two things: to impersonate him so (``impersonate:MODE``), and to do what the request does while impersonating
(``impersonate-on:MODE:VERB``). The modes are tried before the old right, and the mode that last worked for somebody
before all others; the refusal is the first one's. (Kubernetes: constrained impersonation.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final
from urllib.parse import unquote

from kubesim import status
from kubesim.server import rbac
from kubesim.server.rbac import Attributes
from kubesim.server.request import ANONYMOUS, AUTHENTICATED, Request, User
from kubesim.server.world import World

_EXTRA: Final = "impersonate-extra-"
_AUTHENTICATION: Final = "authentication.k8s.io"
_UNAUTHENTICATED: Final = "system:unauthenticated"
_LEGACY: Final = ""


class Impersonation:
    def __init__(self, world: World) -> None:
        self._world = world
        self._worked: dict[str, str] = {}
        """User → mode that last let him impersonate."""

    def user(self, req: Request, requestor: User, wanted: Attributes) -> User:
        """Whom the request acts as; 403 without the right to. ``wanted`` is what the request asks for."""
        target = _target(req)
        if target is None:
            return requestor
        first: status.ApiError | None = None
        for mode in self._modes(requestor, target):
            lacking = self._lacking(requestor, target, wanted, mode)
            if lacking is None:
                self._worked[requestor.name] = mode
                return _completed(target, mode)
            first = first or rbac.refusal(requestor, lacking)
        assert first is not None
        raise first

    def _modes(self, requestor: User, target: User) -> list[str]:
        modes: list[str] = []
        plain = not (target.uid or target.groups or target.extra)
        if _node(target.name):
            modes += ["arbitrary-node"] if plain else []
        elif _account(target.name):
            modes += ["serviceaccount"] if plain else []
        else:
            modes.append("user-info")
        modes.append(_LEGACY)
        last = self._worked.get(requestor.name)
        return [last, *(mode for mode in modes if mode != last)] if last in modes else modes

    def _lacking(self, requestor: User, target: User, wanted: Attributes, mode: str) -> Attributes | None:
        """The first right that is missing."""
        asked = list(_rights(target, mode))
        if mode != _LEGACY:
            asked.insert(0, replace(wanted, verb=f"impersonate-on:{mode}:{wanted.verb}"))
        return next((entry for entry in asked if not rbac.decide(self._world, requestor, entry).allowed), None)


def _target(req: Request) -> User | None:
    """Whom the headers name; 400 for anything without a user."""
    name = str(req.headers.get("Impersonate-User", ""))
    groups = tuple(str(value) for value in req.headers.getall("Impersonate-Group", []))
    uid = str(req.headers.get("Impersonate-Uid", ""))
    extra: dict[str, tuple[str, ...]] = {}
    for key, value in req.headers.items():
        if key.lower().startswith(_EXTRA):
            field = unquote(key[len(_EXTRA) :].lower())
            extra[field] = (*extra.get(field, ()), str(value))
    if not name and (groups or uid or extra):
        raise status.bad_request(f"requested {_go_user(uid, groups, extra)} without impersonating a user name")
    return User(name, uid, groups, extra) if name else None


def _go_user(uid: str, groups: tuple[str, ...], extra: dict[str, tuple[str, ...]]) -> str:
    listed = "[]string{" + ", ".join(status.quote(group) for group in groups) + "}" if groups else "[]string(nil)"
    entries = ", ".join(
        f"{status.quote(key)}:[]string{{{', '.join(status.quote(value) for value in values)}}}"
        for key, values in sorted(extra.items())
    )
    shown = f"map[string][]string{{{entries}}}" if extra else "map[string][]string(nil)"
    return f'&user.DefaultInfo{{Name:"", UID:{status.quote(uid)}, Groups:{listed}, Extra:{shown}}}'


def _node(name: str) -> str:
    return name.removeprefix("system:node:") if name.startswith("system:node:") else ""


def _account(name: str) -> tuple[str, str] | None:
    parts = name.split(":")
    return (parts[2], parts[3]) if len(parts) == 4 and parts[:2] == ["system", "serviceaccount"] else None


def _rights(target: User, mode: str) -> Iterator[Attributes]:
    """What has to be allowed to be this user, in the order it is asked."""
    verb = f"impersonate:{mode}" if mode else "impersonate"
    # The constrained rights have users and groups in a group of their own.
    group = _AUTHENTICATION if mode else ""
    account = _account(target.name)
    if mode == "arbitrary-node":
        yield Attributes(verb, group, resource="nodes", name=_node(target.name))
    elif account:
        yield Attributes(verb, group, resource="serviceaccounts", namespace=account[0], name=account[1])
    else:
        yield Attributes(verb, group, resource="users", name=target.name)
    if target.uid:
        yield Attributes(verb, _AUTHENTICATION, resource="uids", name=target.uid)
    for name in target.groups:
        yield Attributes(verb, group, resource="groups", name=name)
    for key, values in target.extra.items():
        for value in values:
            yield Attributes(verb, _AUTHENTICATION, resource="userextras", subresource=key, name=value)


def _completed(target: User, mode: str) -> User:
    """With the groups that follow from the name."""
    groups, account = target.groups, _account(target.name)
    if mode == "arbitrary-node":
        groups = ("system:nodes",)
    if account and not groups:
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{account[0]}")
    implied = _UNAUTHENTICATED if target.name == ANONYMOUS.name else AUTHENTICATED
    if implied not in groups and _UNAUTHENTICATED not in groups:
        groups = (*groups, implied)
    return replace(target, groups=groups)
