"""Who is asking: static tokens, service accounts' tokens, or nobody.

A token that is not known, or not meant for this server, is 401; no token at all is ``system:anonymous``.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from kubesim import status
from kubesim.server.request import ANONYMOUS, AUTHENTICATED, Request, User
from kubesim.server.tokens import ISSUER, Signer
from kubesim.server.world import World

Body = dict[str, Any]

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
