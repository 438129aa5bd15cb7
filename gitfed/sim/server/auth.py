"""Who is asking: static tokens, service accounts' tokens, nobody; and whom they may act as.

A token that is not known is 401, no token at all is ``system:anonymous``. Impersonation needs the right to it, which
is asked of the real user.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import unquote

from gitfed.sim import status
from gitfed.sim.server import rbac
from gitfed.sim.server.rbac import Attributes
from gitfed.sim.server.request import ANONYMOUS, Request, User
from gitfed.sim.server.tokens import ISSUER, Signer
from gitfed.sim.server.world import World

Body = dict[str, Any]

AUTHENTICATED: Final = "system:authenticated"
_EXTRA: Final = "impersonate-extra-"
_CREDENTIAL: Final = "authentication.kubernetes.io/credential-id"


class Authenticator:
    def __init__(self, world: World) -> None:
        self._world = world
        self.signer = Signer()

    def user(self, req: Request) -> User:
        """401 for a token nobody knows."""
        scheme, _, token = str(req.headers.get("Authorization", "")).partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            return ANONYMOUS
        found, _ = self.whose(token.strip(), [ISSUER])
        if found is None:
            raise status.unauthorized()
        return found

    def whose(self, token: str, audiences: list[str]) -> tuple[User | None, list[str]]:
        """The user, and which of ``audiences`` the token is for; nobody if it is for none of them."""
        static = self._world.tokens.get(token)
        claims = self.signer.claims(token) if static is None else None
        meant = [ISSUER] if static is not None else claims["aud"] if claims is not None else []
        heard = [audience for audience in audiences if audience in meant]
        if not heard:
            return None, []
        if static is not None:
            return replace(static, groups=(*static.groups, AUTHENTICATED)), heard
        return (self._account(claims) if claims is not None else None), heard

    def _account(self, claims: Body) -> User | None:
        """The service account of a token, while it exists and the token has not run out."""
        account = claims["kubernetes.io"]["serviceaccount"]
        namespace = claims["kubernetes.io"]["namespace"]
        live = self._world.lookup.get("serviceaccounts", namespace, account["name"])
        now = self._world.clock.now().astimezone(UTC)
        if live is None or live["metadata"]["uid"] != account["uid"]:
            return None
        if now >= datetime.fromtimestamp(claims["exp"], UTC):
            return None
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", AUTHENTICATED)
        extra = {_CREDENTIAL: (f"JTI={claims['jti']}",)}
        return User(f"system:serviceaccount:{namespace}:{account['name']}", account["uid"], groups, extra)

    def token(self, account: Body, audiences: list[str], seconds: int) -> str:
        meta, now = account["metadata"], int(self._world.clock.now().timestamp())
        namespace, name = meta["namespace"], meta["name"]
        return self.signer.sign(
            {
                "aud": audiences,
                "exp": now + seconds,
                "iat": now,
                "iss": ISSUER,
                "jti": self._world.uid(),
                "kubernetes.io": {"namespace": namespace, "serviceaccount": {"name": name, "uid": meta["uid"]}},
                "nbf": now,
                "sub": f"system:serviceaccount:{namespace}:{name}",
            }
        )


def impersonated(world: World, req: Request, user: User, wanted: Attributes) -> User:
    """The user a request acts as. ``wanted`` is what it asks for, which a refusal names."""
    name = str(req.headers.get("Impersonate-User", ""))
    groups = tuple(str(value) for value in req.headers.getall("Impersonate-Group", []))
    uid = str(req.headers.get("Impersonate-Uid", ""))
    extra: dict[str, tuple[str, ...]] = {}
    for key, value in req.headers.items():
        if key.lower().startswith(_EXTRA):
            field = unquote(key[len(_EXTRA) :].lower())
            extra[field] = (*extra.get(field, ()), str(value))
    if not name:
        if not (groups or uid or extra):
            return user
        raise status.bad_request(f"requested {_go_user(uid, groups, extra)} without impersonating a user name")
    _check_right(world, user, name, groups, uid, extra, wanted)
    return User(name, uid, _completed(name, groups), extra)


def _completed(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    """With the groups that follow from the name."""
    if name == ANONYMOUS.name:
        return groups or ANONYMOUS.groups
    if not groups and name.startswith("system:serviceaccount:"):
        namespace = name.split(":")[2]
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return groups if AUTHENTICATED in groups or "system:unauthenticated" in groups else (*groups, AUTHENTICATED)


def _go_user(uid: str, groups: tuple[str, ...], extra: dict[str, tuple[str, ...]]) -> str:
    listed = "[]string{" + ", ".join(status.quote(group) for group in groups) + "}" if groups else "[]string(nil)"
    entries = ", ".join(
        f"{status.quote(key)}:[]string{{{', '.join(status.quote(value) for value in values)}}}"
        for key, values in sorted(extra.items())
    )
    shown = f"map[string][]string{{{entries}}}" if extra else "map[string][]string(nil)"
    return f'&user.DefaultInfo{{Name:"", UID:{status.quote(uid)}, Groups:{listed}, Extra:{shown}}}'


def _check_right(
    world: World,
    user: User,
    name: str,
    groups: tuple[str, ...],
    uid: str,
    extra: dict[str, tuple[str, ...]],
    wanted: Attributes,
) -> None:
    account = name.split(":") if name.startswith("system:serviceaccount:") and name.count(":") == 3 else None
    asked = [
        Attributes("impersonate", resource="serviceaccounts", namespace=account[2], name=account[3])
        if account
        else Attributes("impersonate", resource="users", name=name)
    ]
    asked += [Attributes("impersonate", resource="groups", name=group) for group in groups]
    authentication = "authentication.k8s.io"
    if uid:
        asked.append(Attributes("impersonate", group=authentication, resource="uids", name=uid))
    for key, values in extra.items():
        asked += [
            Attributes("impersonate", group=authentication, resource="userextras", subresource=key, name=value)
            for value in values
        ]
    permitted: Callable[[Attributes], bool] = lambda entry: rbac.decide(world, user, entry).allowed  # noqa: E731
    if not all(permitted(entry) for entry in asked):
        # The refusal speaks of the narrower right that would have been enough (constrained impersonation).
        kind = "serviceaccount" if account else "user-info"
        raise rbac.refusal(user, replace(wanted, verb=f"impersonate-on:{kind}:{wanted.verb}"))
