"""One byte string for one JSON value: the ground under every digest, cache entry and comparison.

Canonical here means sorted members, no blanks, UTF-8, and numbers as orjson prints them. Whole numbers that arrive as
floats (`1.0`) keep their float form, so texts that become equal values must be normalised by whoever reads them
(`text/yaml.py` does).
"""

from __future__ import annotations

import math
from hashlib import sha256
from typing import Any

import orjson


class NotCanonical(ValueError):
    """The value has no canonical JSON: not a number, infinite, too large, a lone surrogate, or not JSON at all."""


def dumps(value: Any) -> bytes:
    """Canonical JSON. Raises `NotCanonical`.

    orjson would write NaN and infinity as `null`: silently another value. They are searched for only when the result
    has a `null` that could be one, which is rare in manifests.
    """
    try:
        text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (TypeError, UnicodeEncodeError) as problem:
        raise NotCanonical(str(problem)) from problem
    if b"null" in text and not _finite(value):
        raise NotCanonical("NaN and infinity have no JSON")
    return text


def to_keep(text: bytes) -> bytes:
    """The same bytes in a buffer of their exact size. What orjson returns keeps its buffer of 4 kB or more: a text for
    each object of a fleet would take ten times the memory that it needs."""
    return b"".join((text, b""))


def loads(text: bytes) -> Any:
    """The value of a JSON text. Raises `ValueError`."""
    return orjson.loads(text)


def digest(value: Any) -> str:
    """sha256 over canonical JSON, hexadecimal. Raises `NotCanonical`."""
    return digest_of(dumps(value))


def digest_of(text: bytes) -> str:
    """sha256 of bytes that are canonical JSON already."""
    return sha256(text).hexdigest()


def _finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(_finite(member) for member in value.values())
    if isinstance(value, list | tuple):
        return all(_finite(member) for member in value)
    return True
