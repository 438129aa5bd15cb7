"""Tokens of a GitHub App: a key that stays here is exchanged for a token that lasts an hour.

GitHub: "Generating an installation access token". The app signs a short statement (a JSON Web Token, RS256) and sends
it to the API of its own base URL, which comes from the same folder as the key and never from a repository.
"""

from __future__ import annotations

import base64
import json
import ssl
import time
from dataclasses import field
from datetime import datetime
from pathlib import Path
from typing import Any

from gitfed.edges import no_answer
from gitfed.edges.git import git_errors
from gitfed.edges.http import NoAnswer, Request, blocking
from gitfed.errors import SourceError, SourceUnreachable
from gitfed.text.values import dataclass

_SECONDS = 30.0
_LARGEST = 64 * 1024
_EARLY = 300.0
"""Seconds before its end from which on a token is not used any more: a fetch takes its time."""


@dataclass(frozen=True, slots=True)
class Token:
    value: str = field(repr=False)
    ends: float
    """Seconds since the epoch."""

    def fresh(self) -> bool:
        return time.time() < self.ends - _EARLY


def usual_base(host: str) -> str:
    """Where the API of a forge is: github.com has a host of its own for it, a server at home a path."""
    return "https://api.github.com" if host == "github.com" else f"https://{host}/api/v3"


def installation_token(
    identity: str, installation: str, key: str, *, base: str, authority: Path | None = None
) -> Token:
    """Ask for a token. Raises SourceError for a key or an answer that is none, SourceUnreachable for no answer."""
    if not base.startswith("https://"):
        raise SourceError(f"githubAppBaseURL {base} is no https URL")
    if not installation.isdecimal():
        raise SourceError("githubAppInstallationID is not a number")
    statement = _statement(identity, key)
    without = f"{base} gives app {identity} no token"
    try:
        context = ssl.create_default_context(cafile=authority)
    except OSError as error:
        raise SourceUnreachable(f"{without}: {no_answer.why(error)}") from error
    request = Request(
        f"{base.rstrip('/')}/app/installations/{installation}/access_tokens",
        context,
        "POST",
        {"Authorization": f"Bearer {statement}", "Accept": "application/vnd.github+json", "User-Agent": "gitfed"},
        total=_SECONDS,
    )
    try:
        answer = blocking.ask(request, most=_LARGEST)
    except NoAnswer as error:
        raise SourceUnreachable(f"{without}: {error.why()}") from error
    if not answer.is_good:
        message = f"{without}: HTTP {answer.status}"
        if answer.status in (429, 503):
            wait = git_errors.retry_after(answer.headers.get("Retry-After", ""))
            raise SourceUnreachable(message, retry_after=wait)
        if answer.status >= 500:
            raise SourceUnreachable(message)
        raise SourceError(message, hint="compare app id, installation id and key")
    try:
        content = json.loads(answer.body)
        return Token(str(content["token"]), datetime.fromisoformat(content["expires_at"]).timestamp())
    except (ValueError, KeyError, TypeError) as error:
        raise SourceError(f"{without}: its answer is not GitHub's") from error


def _statement(identity: str, key: str) -> str:
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import padding, rsa

    try:
        private: Any = serialization.load_pem_private_key(key.encode(), password=None)
    except (ValueError, TypeError) as error:
        raise SourceError("githubAppPrivateKey is not a private key in PEM form") from error
    if not isinstance(private, rsa.RSAPrivateKey):
        raise SourceError("githubAppPrivateKey is not an RSA key")
    now = int(time.time())
    # A minute back, for clocks that differ (GitHub's advice); it lasts ten minutes at most.
    parts = [{"alg": "RS256", "typ": "JWT"}, {"iat": now - 60, "exp": now + 540, "iss": identity}]
    text = ".".join(_encoded(json.dumps(part, separators=(",", ":")).encode()) for part in parts)
    return f"{text}.{_encoded(private.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
