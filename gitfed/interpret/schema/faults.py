"""What may be wrong with a field, before anybody says it of a file or a cluster."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

from gitfed.text import pointer
from gitfed.text.values import dataclass

Path: TypeAlias = tuple[str | int, ...]


class FaultCode(StrEnum):
    UNKNOWN_FIELD = "UnknownField"
    WRONG_TYPE = "WrongType"
    MISSING = "Missing"
    DUPLICATE = "Duplicate"
    INVALID = "Invalid"
    """A value that a definition of the repository excludes."""
    NOT_SERVED = "NotServed"
    """No such kind in this version of Kubernetes."""


@dataclass(frozen=True, slots=True)
class Fault:
    path: Path
    code: FaultCode
    message: str
    """Without the path, and without the value: it may be secret."""
    hint: str = ""

    def __str__(self) -> str:
        return f"{pointer.dotted(self.path)}: {self.message}" if self.path else self.message
