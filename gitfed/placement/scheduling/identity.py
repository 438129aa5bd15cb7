"""The name under which a template's decision is kept: stable for as long as its key is."""

from __future__ import annotations

import hashlib

from gitfed.model.base import BindingId, ObjectKey

_BYTES = 10
"""80 bits, 16 characters: short enough for a label's value and an inventory entry."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
_PAIRS = tuple(first + second for first in _LETTERS for second in _LETTERS)
"""Ten bits at a time: the standard library's base32 takes longer than the hash."""


def binding_id(key: ObjectKey) -> BindingId:
    digest = hashlib.sha256(f"{key.group}/{key.kind}/{key.namespace}/{key.name}".encode()).digest()
    bits = int.from_bytes(digest[:_BYTES], "big")
    return BindingId("".join([_PAIRS[bits >> shift & 1023] for shift in range(70, -1, -10)]))
