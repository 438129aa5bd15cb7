"""What names a public key: an SSH key, or the fingerprint of an SSH or PGP key.

Only the form is looked at. Whether a signature was made with such a key is `edges.git.signature`'s to find out.
"""

from __future__ import annotations

import re

PGP_FINGERPRINT = re.compile(r"[0-9A-F]{40}|[0-9A-F]{64}")
SSH_FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")
SSH_KEY = re.compile(
    r"(?:(?!(?:\S+,)?(?:cert-authority|restrict|verify-required|touch-required|no-touch-required|(?:no-)?[a-z0-9]+-forwarding|"
    r"(?:no-)?pty|(?:no-)?user-rc)[, ])(?P<name>[^\s=\"]+) )?"
    r"(?P<kind>(?:sk-)?(?:ssh|ecdsa)-(?![a-z0-9-]+-cert-v)[a-z0-9@.-]+) (?P<key>[A-Za-z0-9+/=]+)(?: (?P<note>.*))?",
    re.IGNORECASE,
)
"""A line of a `.pub` file, or of `allowed_signers` without options.

An option in front of a key says that it is not simply trusted: with `cert-authority` it signs no commits at all, only
other keys, and `namespaces="file"` lets it sign everything but commits. A certificate is no key either.
"""


def pgp_fingerprint(text: str) -> str:
    """The fingerprint in capital hexadecimal digits, however it is grouped; "" if it is none."""
    plain = text.replace(" ", "").removeprefix("0x").upper()
    return plain if PGP_FINGERPRINT.fullmatch(plain) else ""


def is_key(text: str) -> bool:
    """Whether a text is a key or a fingerprint. Else it can only be the path of a file with keys."""
    return bool(SSH_FINGERPRINT.fullmatch(text) or pgp_fingerprint(text) or SSH_KEY.fullmatch(text))
