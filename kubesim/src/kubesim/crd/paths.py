"""Paths of fields as Kubernetes writes them: ``spec.items[0].key``, ``spec.labels[a.b/c]``; of the root ``<nil>``."""

from __future__ import annotations

from typing import Final

NIL: Final = "<nil>"


def child(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def key(path: str, name: str) -> str:
    return f"{path}[{name}]"


def index(path: str, number: int) -> str:
    return f"{path}[{number}]"


def shown(path: str) -> str:
    """For a message: the root has no name."""
    return path or NIL
