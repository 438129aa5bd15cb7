"""What goes in and out of a command in a container, and what becomes of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

Body = dict[str, Any]
Write = Callable[[bytes], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Streams:
    read: Callable[[], Awaitable[bytes]]
    """Some of what was typed; b"" when nothing more comes."""
    out: Write
    err: Write


Session = Callable[[Streams], Awaitable[Body]]
"""Runs until it is done or cancelled; answers a Status."""

SUCCESS: Final[Body] = {"metadata": {}, "status": "Success"}


def ended(code: int) -> Body:
    """The Status by which a client learns an exit code."""
    if not code:
        return SUCCESS
    causes = [{"reason": "ExitCode", "message": str(code)}]
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: exit status {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": causes},
    }


def failed(message: str) -> Body:
    return {"metadata": {}, "status": "Failure", "message": message, "reason": "InternalError", "code": 500}
