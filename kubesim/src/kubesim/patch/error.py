"""Why a patch was refused, and in which of the four ways the server answers that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(eq=False)
class PatchError(Exception):
    """A patch that cannot be carried out.

    ``kind`` tells the answer: ``bad_request`` is 400 with the message; ``unprocessable`` is 422 with Kubernetes'
    unspecific text (which operation failed is not told); ``internal`` is 500 with the message and no reason;
    ``invalid`` is 422 about the field ``patch``, whose value the server prints beside the message.
    """

    kind: Literal["bad_request", "unprocessable", "internal", "invalid"]
    message: str

    def __str__(self) -> str:
        return self.message
