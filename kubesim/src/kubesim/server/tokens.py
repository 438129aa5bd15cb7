"""Tokens of service accounts: signed by the cluster, bound to an account that still exists.

A JSON Web Token with RS256, as the API server makes them. The key is made when the first token is asked for; nothing
outside the cluster trusts it, so a small pure implementation of RSA (key, PKCS #1 v1.5 signature) does: no further
package is needed to run an embedded fleet.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import random
from typing import Any, Final

import orjson

Body = dict[str, Any]

ISSUER: Final = "https://kubernetes.default.svc"
_BITS: Final = 2048
_EXPONENT: Final = 65537
_SHA256_PREFIX: Final = bytes.fromhex("3031300d060960864801650304020105000420")
_SMALL_PRIMES: Final = tuple(n for n in range(3, 2000, 2) if all(n % d for d in range(3, int(n**0.5) + 1, 2)))


class Signer:
    """Signs and checks tokens. ``source`` of randomness is the operating system's."""

    def __init__(self) -> None:
        self._key: tuple[int, int] | None = None

    def sign(self, claims: Body) -> str:
        modulus, private = self._pair()
        header = {"alg": "RS256", "kid": self._key_id(modulus)}
        text = f"{_encode(orjson.dumps(header))}.{_encode(orjson.dumps(claims))}"
        size = modulus.bit_length() // 8
        signature = pow(int.from_bytes(_padded(text.encode(), size), "big"), private, modulus)
        return f"{text}.{_encode(signature.to_bytes(size, 'big'))}"

    def claims(self, token: str) -> Body | None:
        """``None`` if we did not sign this."""
        text, _, signature = token.rpartition(".")
        if self._key is None or text.count(".") != 1:
            return None
        modulus, _ = self._key
        size = modulus.bit_length() // 8
        try:
            number = int.from_bytes(_decode(signature), "big")
            claims = orjson.loads(_decode(text.partition(".")[2]))
        except ValueError:
            return None
        if number >= modulus:
            return None
        opened = pow(number, _EXPONENT, modulus).to_bytes(size, "big")
        if not hmac.compare_digest(opened, _padded(text.encode(), size)):
            return None
        return claims if isinstance(claims, dict) else None

    def _pair(self) -> tuple[int, int]:
        if self._key is None:
            self._key = _generate(random.SystemRandom())
        return self._key

    def _key_id(self, modulus: int) -> str:
        return _encode(hashlib.sha256(modulus.to_bytes(_BITS // 8, "big")).digest())


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def _padded(message: bytes, size: int) -> bytes:
    """EMSA-PKCS1-v1_5 (RFC 8017 §9.2)."""
    digest = _SHA256_PREFIX + hashlib.sha256(message).digest()
    return b"\x00\x01" + b"\xff" * (size - len(digest) - 3) + b"\x00" + digest


def _generate(source: random.Random) -> tuple[int, int]:
    """(modulus, private exponent)."""
    while True:
        one, other = _prime(source), _prime(source)
        if one == other or (one * other).bit_length() != _BITS:
            continue
        return one * other, pow(_EXPONENT, -1, (one - 1) * (other - 1))


def _prime(source: random.Random) -> int:
    while True:
        candidate = source.getrandbits(_BITS // 2) | (3 << (_BITS // 2 - 2)) | 1
        if (
            all(candidate % prime for prime in _SMALL_PRIMES)
            and candidate % _EXPONENT != 1
            and _is_prime(candidate, source)
        ):
            return candidate


def _is_prime(number: int, source: random.Random) -> bool:
    """Miller-Rabin; for random numbers of this size five rounds are far more than needed."""
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for _ in range(5):
        value = pow(source.randrange(2, number - 1), odd, number)
        if value in (1, number - 1):
            continue
        for _ in range(twos - 1):
            value = value * value % number
            if value == number - 1:
                break
        else:
            return False
    return True
