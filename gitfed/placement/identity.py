"""The name under which a template's decision is kept: stable for as long as its key is."""

from __future__ import annotations

import base64
import hashlib

from gitfed.model.base import BindingId, ObjectKey

_BYTES = 10
"""80 bits, 16 characters: short enough for a label's value and an inventory entry."""


def binding_id(key: ObjectKey) -> BindingId:
    digest = hashlib.sha256(f"{key.group}/{key.kind}/{key.namespace}/{key.name}".encode()).digest()
    return BindingId(base64.b32encode(digest[:_BYTES]).decode().lower())
