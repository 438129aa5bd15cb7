"""Bootstrap tokens: `id.secret`, as kubeadm has them. The hub keeps the id, and of the secret only a scrypt hash."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import string
from datetime import datetime

from gitfed.model.agent_identity import AgentName
from gitfed.text.values import dataclass

_ALPHABET = string.ascii_lowercase + string.digits
_FORM = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")
_ID = re.compile(r"[a-z0-9]{6}")
_COST = {"n": 1 << 14, "r": 8, "p": 1, "dklen": 32}
"""16 MiB and some 50 ms of one core."""
_NOBODYS_SALT = secrets.token_bytes(16)


@dataclass(frozen=True, slots=True)
class Spent:
    """What a token was used for: it works again for nothing but this, with the same key."""

    cluster: AgentName
    key: str
    """SHA-256 of the agent's public key."""


@dataclass(frozen=True, slots=True)
class Token:
    id: str
    salt: str
    digest: str
    created: datetime
    expires: datetime | None = None
    """None: never."""
    description: str = ""
    cluster: AgentName = ""
    """The one cluster or pool that it is for, known already or not; "": a new cluster, whatever its name."""
    spent: Spent | None = None

    def over(self, now: datetime) -> bool:
        return self.expires is not None and now >= self.expires


def new() -> tuple[str, str]:
    """Id and secret."""
    return _random(6), _random(16)


def parse(text: str) -> tuple[str, str] | None:
    """Id and secret; None: this is no token."""
    match = _FORM.fullmatch(text)
    return (match[1], match[2]) if match else None


def id_of(text: str) -> str | None:
    """The id of an id or a whole token; None: it is neither."""
    if _ID.fullmatch(text):
        return text
    parsed = parse(text)
    return parsed[0] if parsed else None


def hashed(secret: str, salt: bytes | None = None) -> tuple[str, str]:
    """Salt and digest in hex. Slow on purpose."""
    salt = secrets.token_bytes(16) if salt is None else salt
    return salt.hex(), hashlib.scrypt(secret.encode(), salt=salt, **_COST).hex()


def proves(secret: str, token: Token | None) -> bool:
    """Whether it is the token's secret. It takes as long for a token that does not exist."""
    salt = _NOBODYS_SALT if token is None else bytes.fromhex(token.salt)
    _, digest = hashed(secret, salt)
    return hmac.compare_digest(digest, "" if token is None else token.digest) and token is not None


def _random(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))
