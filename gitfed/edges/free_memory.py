"""Giving memory back to the system that much work took and that is not needed any more."""

from __future__ import annotations

import ctypes
from contextlib import suppress


def give_back() -> None:
    """The C library keeps what was freed between what was not, which after a large roll-out is half of all. Blocks for
    a moment; only glibc has a way."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
