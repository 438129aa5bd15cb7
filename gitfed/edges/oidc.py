"""Tokens of an OpenID Connect issuer: whose they are, when their signature, audience and times are right.

Which keys sign is asked of the issuer that the operator named, by its discovery document, and remembered; a token
decides nothing of that, neither the key's address nor the algorithm. Kubernetes' `--oidc-*` flags mean the same.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import ssl
import time
import urllib.parse
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

import jwt
import orjson
import yarl

from gitfed.edges import no_answer, resolve
from gitfed.edges.http import NoAnswer, Request, client
from gitfed.errors import IdentityError, IdentityUnreachable, UsageError
from gitfed.text.values import dataclass

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Those with a public key. What a token says of its algorithm only chooses among them."""
_LEEWAY = 60.0
"""Seconds by which clocks may differ."""
_TIMEOUT = 10.0
_LARGEST = 1 << 20
_LONGEST_TOKEN = 16 << 10
_KEEP = 3600.0
"""Seconds after which keys are asked for again."""
_AGAIN = 10.0
"""Seconds between two questions for a key that nobody knew."""
_LONGEST_NAME = 253
_MOST_EXCHANGES = 4
"""Codes that are exchanged at a time: strangers must not keep the issuer busy through us."""


@dataclass(frozen=True, slots=True)
class OidcSettings:
    issuer: str
    client_id: str
    username_claim: str = "sub"
    groups_claim: str = "groups"
    authority: Path | None = None
    """A file of certificates to trust instead of the machine's."""
    secret_file: Path | None = None
    """Holds the client secret, for an issuer that wants one when a browser's code is exchanged. Read each time."""


@dataclass(frozen=True, slots=True)
class OidcIdentity:
    name: str
    groups: tuple[str, ...]


@dataclass(slots=True)
class _Keys:
    by_id: Mapping[str, jwt.PyJWK] = field(default_factory=dict)
    asked: float = -_KEEP


class Issuer:
    """Use from one event loop."""

    def __init__(self, settings: OidcSettings) -> None:
        """Raises UsageError for settings that cannot be used."""
        self.settings = settings
        self._url = _checked(settings.issuer)
        self._context = _context(settings.authority)
        self._keys = _Keys()
        self._asking = asyncio.Lock()
        self._document: tuple[float, dict[str, Any]] | None = None
        self._silent: tuple[float, str] | None = None
        """When the issuer did not say where its endpoints are, and why."""
        self._exchanges = asyncio.Semaphore(_MOST_EXCHANGES)

    def may_be_ours(self, token: str) -> bool:
        """Whether a token says that it comes from this issuer. Nothing of it is believed yet."""
        if token.count(".") != 2 or len(token) > _LONGEST_TOKEN:
            return False
        try:
            claims = jwt.decode(token, options={"verify_signature": False})
        except (jwt.PyJWTError, ValueError, RecursionError):
            return False
        return claims.get("iss") == self.settings.issuer

    async def identity(self, token: str, *, nonce: str = "") -> OidcIdentity:
        """Whose token it is; with `nonce` one that was made for that login. Raises IdentityError,
        IdentityUnreachable."""
        try:
            header = jwt.get_unverified_header(token)
        except (jwt.PyJWTError, ValueError) as error:
            raise IdentityError("it is no token") from error
        if header.get("alg") not in ALGORITHMS:
            raise IdentityError(f"the algorithm {header.get('alg')!r:.40} is not accepted")
        key = await self._key(str(header.get("kid", "")))
        try:
            claims = jwt.decode(
                token,
                key,
                algorithms=list(ALGORITHMS),
                audience=self.settings.client_id,
                issuer=self.settings.issuer,
                leeway=_LEEWAY,
                options={"require": ["exp", "iss", "aud"]},
            )
        except (jwt.PyJWTError, ValueError, TypeError) as error:
            raise IdentityError(f"the token is not accepted: {_why_not(error)}") from error
        if nonce and not hmac.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
            raise IdentityError("the token was made for another login")
        return self._read(claims)

    # -- a browser's login: code flow with PKCE (RFC 6749 §4.1, RFC 7636, OpenID Connect Core §3.1) ---------------

    async def login_url(self, *, redirect: str, state: str, nonce: str, verifier: str) -> str:
        """Where a browser is sent to log in. Raises IdentityUnreachable."""
        digest = hashlib.sha256(verifier.encode()).digest()
        where = await self._endpoint("authorization_endpoint")
        return str(
            where.update_query(
                response_type="code",
                client_id=self.settings.client_id,
                redirect_uri=redirect,
                state=state,
                nonce=nonce,
                scope=" ".join(self._scopes()),
                code_challenge_method="S256",
                code_challenge=base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            )
        )

    async def exchange(self, code: str, *, redirect: str, nonce: str, verifier: str) -> OidcIdentity:
        """Who logged in, by the code that the issuer gave their browser. Raises IdentityError, IdentityUnreachable."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect,
            "code_verifier": verifier,
            "client_id": self.settings.client_id,
        }
        if self.settings.secret_file is not None:
            try:
                form["client_secret"] = self.settings.secret_file.read_text(encoding="utf-8").strip()
            except (OSError, ValueError) as error:
                said = error.strerror if isinstance(error, OSError) else "it is no text"
                raise IdentityUnreachable(f"{self.settings.secret_file} cannot be read: {said}") from error
        async with self._exchanges:
            answer = await self._ask("POST", await self._endpoint("token_endpoint"), form)
        token = answer.get("id_token")
        if not isinstance(token, str) or len(token) > _LONGEST_TOKEN:
            raise IdentityError("the issuer gave no ID token")
        return await self.identity(token, nonce=nonce)

    def _scopes(self) -> list[str]:
        """Those that bring the claims that we read."""
        wanted = {self.settings.username_claim, self.settings.groups_claim}
        usual = [("email", "email"), ("preferred_username", "profile"), ("name", "profile"), ("groups", "groups")]
        offered = self._document[1].get("scopes_supported") if self._document is not None else None
        more = [scope for claim, scope in usual if claim in wanted]
        known = offered if isinstance(offered, list) else ["email", "profile"]
        return ["openid", *dict.fromkeys(scope for scope in more if scope in known)]

    async def _endpoint(self, name: str) -> yarl.URL:
        now = time.monotonic()
        if self._document is None or now - self._document[0] >= _KEEP:
            if self._silent is not None and now - self._silent[0] < _AGAIN:
                raise IdentityUnreachable(self._silent[1])  # strangers must not make us hammer it
            try:
                self._document, self._silent = (now, await self.discover()), None
            except IdentityUnreachable as error:
                self._silent = now, error.message
                raise
        try:
            return _checked(str(self._document[1].get(name)))
        except UsageError as error:
            raise IdentityUnreachable(f"{name} of {self.settings.issuer}: {error.message}") from error

    async def discover(self) -> dict[str, Any]:
        """The issuer's discovery document. Raises IdentityUnreachable."""
        document = await self._get(self._url / ".well-known/openid-configuration")
        if document.get("issuer") != self.settings.issuer:
            raise IdentityUnreachable(f"{self.settings.issuer} says that it is {document.get('issuer')!r:.100}")
        return document

    def _read(self, claims: Mapping[str, Any]) -> OidcIdentity:
        settings = self.settings
        name = claims.get(settings.username_claim)
        if settings.username_claim == "email" and claims.get("email_verified") is False:
            raise IdentityError("the e-mail address was never verified")
        if not isinstance(name, str) or not _is_name(name):
            raise IdentityError(f"the claim {settings.username_claim} is no name that a person can have: {name!r:.100}")
        groups = claims.get(settings.groups_claim, [])
        listed = [groups] if isinstance(groups, str) else groups if isinstance(groups, list) else []
        return OidcIdentity(name, tuple(one for one in listed if isinstance(one, str) and _is_name(one)))

    async def _key(self, name: str) -> jwt.PyJWK:
        async with self._asking:
            keys = self._keys
            age = time.monotonic() - keys.asked
            if age > _KEEP or (name not in keys.by_id and age > _AGAIN):
                keys.asked = time.monotonic()  # also when nothing comes of it: callers must not make us hammer it
                try:
                    keys.by_id = await self._read_keys()
                except IdentityUnreachable:
                    if name not in keys.by_id:
                        raise
        key = self._keys.by_id.get(name)
        if key is None:
            raise IdentityError(f"the issuer knows no key {name!r:.60}")
        return key

    async def _read_keys(self) -> dict[str, jwt.PyJWK]:
        address = (await self.discover()).get("jwks_uri")
        try:
            where = _checked(str(address))
        except UsageError as error:
            raise IdentityUnreachable(f"jwks_uri of {self.settings.issuer}: {error.message}") from error
        listed = (await self._get(where)).get("keys")
        found: dict[str, jwt.PyJWK] = {}
        for one in listed if isinstance(listed, list) else ():
            if (
                not isinstance(one, dict)
                or one.get("use", "sig") != "sig"
                or one.get("kty") not in ("RSA", "EC", "OKP")
            ):
                continue
            try:
                found[str(one.get("kid", ""))] = jwt.PyJWK(one)
            except (jwt.PyJWTError, ValueError, TypeError):
                continue  # a key of a kind that we do not know: tokens with it are not accepted
        return found

    async def _get(self, url: yarl.URL) -> dict[str, Any]:
        return await self._ask("GET", url)

    async def _ask(self, method: str, url: yarl.URL, form: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Raises IdentityUnreachable; IdentityError where a form is refused."""
        headers = {"Accept": "application/json"}
        body = None
        if form is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            body = urllib.parse.urlencode(form).encode()
        request = Request(str(url), self._context, method, headers, body, silence=_TIMEOUT, total=_TIMEOUT)
        try:
            answer = await client.ask(request, most=_LARGEST)
        except NoAnswer as error:
            raise IdentityUnreachable(error.why(str(url))) from error
        if form is not None and answer.status in (400, 401, 403):
            raise IdentityError(f"the issuer refuses the code: it answers {answer.status}")
        if answer.status != 200:
            raise IdentityUnreachable(f"{url} answers {answer.status}")
        try:
            document = orjson.loads(answer.body)
        except ValueError as error:
            raise IdentityUnreachable(f"{url} answers no JSON") from error
        if not isinstance(document, dict):
            raise IdentityUnreachable(f"{url} answers no JSON object")
        return document


def _checked(address: str) -> yarl.URL:
    """Raises UsageError. http:// is for this machine only: the keys come from there."""
    try:
        url = yarl.URL(address)
        if url.host and (why := resolve.check_host(url.host)):
            raise UsageError(f"{address}: {url.host} is {why}")
        if url.scheme == "https" and url.host:
            return url
        if url.scheme == "http" and url.host in ("localhost", "127.0.0.1", "::1"):
            return url
    except ValueError:
        pass
    raise UsageError(f"{address} is no https URL", hint="the issuer's address, as its tokens spell it")


_REFUSALS: tuple[tuple[type[jwt.PyJWTError], str], ...] = (
    (jwt.ExpiredSignatureError, "it has expired"),
    (jwt.ImmatureSignatureError, "it is not valid yet"),
    (jwt.InvalidIssuedAtError, "it says that it was issued in the future"),
    (jwt.InvalidAudienceError, "it was issued for another audience"),
    (jwt.InvalidIssuerError, "it was issued by somebody else"),
    (jwt.InvalidSignatureError, "its signature is not the issuer's"),
)


def _why_not(error: Exception) -> str:
    """In words of ours: those of the library may quote the token."""
    if isinstance(error, jwt.MissingRequiredClaimError):
        return f"it lacks the claim {error.claim}"
    return next((words for kind, words in _REFUSALS if isinstance(error, kind)), "it cannot be verified")


def _context(authority: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=authority)
    except OSError as error:
        raise UsageError(f"{authority} holds no certificates: {no_answer.unusable_certificates(error)}") from error


def _is_name(text: str) -> bool:
    """Names that begin with `system:` belong to Kubernetes: no issuer gives them."""
    return bool(text) and len(text) <= _LONGEST_NAME and text.isprintable() and not text.startswith("system:")
