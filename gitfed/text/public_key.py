"""What names a public key: an SSH key, or the fingerprint of an SSH or PGP key.

Only the form is looked at. Whether a signature was made with such a key is `edges.git.signature`'s to find out.
"""

from __future__ import annotations

import re

PGP_FINGERPRINT = re.compile(r"[0-9A-F]{40}|[0-9A-F]{64}")
SSH_FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")
SSH_KEY = re.compile(
    r"(?:(?P<name>\S+) )?(?P<kind>(?:sk-)?(?:ssh|ecdsa)-[a-z0-9@.-]+) (?P<key>[A-Za-z0-9+/=]+)(?: (?P<note>.*))?"
)
"""A line of a `.pub` file, or of `allowed_signers` without options."""


def pgp_fingerprint(text: str) -> str:
    """The fingerprint in capital hexadecimal digits, however it is grouped; "" if it is none."""
    plain = text.replace(" ", "").removeprefix("0x").upper()
    return plain if PGP_FINGERPRINT.fullmatch(plain) else ""


def is_key(text: str) -> bool:
    """Whether a text is a key or a fingerprint. Else it can only be the path of a file with keys."""
    return bool(SSH_FINGERPRINT.fullmatch(text) or pgp_fingerprint(text) or SSH_KEY.fullmatch(text))
