"""What holding a value against a schema has shown so far: complaints, and how many checks held.

``validate`` and ``scalars`` add to it; of the branches of an anyOf the complaints of the one that fitted best are told.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from kubesim import status
from kubesim.status import FieldError

PATHLESS: Final = "\0"
"""Field of such complaints."""


@dataclass(slots=True)
class Result:
    """Complaints, each with the path inside the value, and how many checks held."""

    errors: list[FieldError] = field(default_factory=list)
    matches: int = 0

    def add(self, error: FieldError) -> None:
        if error not in self.errors:
            self.errors.append(error)

    def merge(self, other: Result) -> None:
        for error in other.errors:
            self.add(error)
        self.matches += other.matches


def pathless(detail: str) -> FieldError:
    """A complaint that names no field itself."""
    return status.invalid_value(PATHLESS, "", detail)
