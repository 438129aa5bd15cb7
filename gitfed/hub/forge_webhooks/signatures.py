"""Whether the sender of a delivery knows the secret, judged over the bytes as they came, before they are parsed.

    GitHub             X-Hub-Signature-256: sha256=<hex>                      HMAC-SHA256 of the body
    Gitea, Forgejo     X-Gitea-Signature, X-Forgejo-Signature: <hex>          the same
    Bitbucket          X-Hub-Signature: sha256=<hex>                          the same, Cloud and Data Center
    GitLab             webhook-signature: v1,<base64>                         HMAC-SHA256 of `<id>.<timestamp>.<body>`
                       X-Gitlab-Token: <secret>                               the secret itself, from older ones
    anything else      X-Signature: sha256=<hex>                              HMAC-SHA256 of the body

Every secret is compared, in a time that depends on none of them.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from pathlib import Path

from gitfed.errors import UsageError

SHORTEST = 16
"""Characters of a secret: what is shorter can be guessed with one delivery in hand."""
_SIGNING_TOKEN = "whsec_"  # noqa: S105
"""What GitLab's signing tokens begin with: a key in base64 follows."""
_OLDEST = 300.0
"""Seconds by which a signed time may differ from ours."""
_MOST_SIGNATURES = 8
"""In one header: GitLab sends one for each key while it replaces one."""
_PREFIX = "sha256="
_HMAC = {
    "github": (("X-Hub-Signature-256", _PREFIX),),
    "gitea": (("X-Gitea-Signature", ""),),
    "forgejo": (("X-Forgejo-Signature", ""), ("X-Gitea-Signature", "")),
    "bitbucket": (("X-Hub-Signature", _PREFIX),),
    "generic": (("X-Signature", _PREFIX),),
}
"""By forge: headers, the first that is there decides, and what stands before the digest."""
_GITLAB = ("webhook-signature", "webhook-id", "webhook-timestamp", "X-Gitlab-Token")


class Secrets:
    """What a file holds, one secret a line: several while one is replaced. Read again when the file is another one."""

    def __init__(self, path: Path) -> None:
        """Raises UsageError when it cannot be used."""
        self._path = path
        self._read: tuple[object, tuple[str, ...]] = (None, ())
        self.now()

    def now(self) -> tuple[str, ...]:
        """Raises UsageError."""
        try:
            stat = self._path.stat()
            version = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
            if version != self._read[0]:
                self._read = version, _secrets(self._path.read_text(encoding="utf-8"), self._path)
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            raise UsageError(f"the secret of forge webhooks cannot be read from {self._path}: {reason}") from error
        return self._read[1]


def _secrets(text: str, path: Path) -> tuple[str, ...]:
    secrets = tuple(line.strip() for line in text.splitlines() if line.strip())
    if not secrets or any(len(secret) < SHORTEST for secret in secrets):
        what = "holds a secret of fewer than 16 characters" if secrets else "is empty"
        raise UsageError(f"the file of secrets {path} {what}", hint="openssl rand -hex 32")
    if any(_is_signing_token(secret) and not _key(secret) for secret in secrets):
        raise UsageError(f"the file of secrets {path} holds a GitLab signing token whose key is not base64")
    return secrets


def headers_of(forge: str) -> tuple[str, ...]:
    """What may stand in a delivery's head once at most."""
    return _GITLAB if forge == "gitlab" else tuple(name for name, _ in _HMAC[forge])


def holds(forge: str, headers: Mapping[str, str], body: bytes, secrets: Sequence[str], now: float) -> bool:
    """Whether the sender knows one of the secrets. `now`: seconds since the epoch."""
    if forge == "gitlab":
        return _of_gitlab(headers, body, secrets, now)
    for name, prefix in _HMAC[forge]:
        header = headers.get(name)
        if header is not None:
            return _is_one_of(header, [prefix + _digest(secret.encode(), body).hex() for secret in secrets])
    return False


def _of_gitlab(headers: Mapping[str, str], body: bytes, secrets: Sequence[str], now: float) -> bool:
    signature = headers.get("webhook-signature")
    if signature is None:
        # A signing token never goes along with a delivery; what does go along is no signing token.
        return _is_one_of(
            headers.get("X-Gitlab-Token", ""), [secret for secret in secrets if not _is_signing_token(secret)]
        )
    sent = headers.get("webhook-timestamp", "")
    if not (sent.isascii() and sent.isdecimal() and len(sent) < 16) or abs(now - int(sent)) > _OLDEST:
        return False
    signed = _bytes(f"{headers.get('webhook-id', '')}.{sent}.") + body
    keys = [_key(secret) for secret in secrets if _is_signing_token(secret)]
    expected = [f"v1,{base64.b64encode(_digest(key, signed)).decode()}" for key in keys]
    return any(
        _is_one_of(candidate, expected) for candidate in signature.split(" ", _MOST_SIGNATURES)[:_MOST_SIGNATURES]
    )


def _is_one_of(candidate: str, expected: Sequence[str]) -> bool:
    """All are compared, whichever it is."""
    return sum(hmac.compare_digest(_bytes(candidate), signature.encode()) for signature in expected) > 0


def _digest(key: bytes, content: bytes) -> bytes:
    return hmac.new(key, content, hashlib.sha256).digest()


def _bytes(header: str) -> bytes:
    return header.encode("utf-8", "surrogateescape")


def _is_signing_token(secret: str) -> bool:
    return secret.startswith(_SIGNING_TOKEN)


def _key(token: str) -> bytes:
    """b"" where there is none."""
    try:
        return base64.b64decode(token.removeprefix(_SIGNING_TOKEN), validate=True)
    except binascii.Error:
        return b""
