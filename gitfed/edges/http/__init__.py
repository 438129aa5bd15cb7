"""The one HTTP client: a request, what became of it, and (elsewhere) the two ways to make one.

`client` is for callers with an event loop, `blocking` for those without one; both are aiohttp. What holds for every
request: redirects are not followed, no cookie is kept, nothing is unpacked, nothing is read from a `.netrc` file,
addresses that nobody has business with are not contacted (`address`), and a proxy is the one that `proxies` names.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import field
from email.message import Message

from gitfed.edges import no_answer
from gitfed.text.values import dataclass

LARGEST_REFUSAL = 64 << 10
"""Bytes that are read of an answer that is not good, where a caller does not say."""


@dataclass(frozen=True, slots=True)
class Request:
    url: str
    """Sent as it is written: callers have encoded what needs it."""
    context: ssl.SSLContext = field(repr=False)
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = field(default=None, repr=False)
    silence: float = 30.0
    """Seconds for a connection, and between two parts of an answer."""
    total: float | None = None
    """Seconds for all of it."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    """Their names are found in either case. Of several with one name, `get` gives the first."""
    body: bytes = b""

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300

    @property
    def content_type(self) -> str:
        """Without parameters; `text/plain` where there is none that could be read."""
        message = Message()
        message["Content-Type"] = self.headers.get("Content-Type", "")
        return message.get_content_type()


class NoAnswer(Exception):
    """Nothing came, or not all of it. Its text is a class's name: `why` tells a person what happened."""

    def __init__(self, reason: BaseException) -> None:
        super().__init__(type(reason).__name__)
        self.reason = no_answer.inner(reason)
        """What the system raised where a library wrapped it: of ssl, a ConnectionError, a TimeoutError, …"""
        self._whole = reason

    def why(self, server: str = "the server") -> str:
        """`server` is how the message calls it."""
        return no_answer.why(self._whole, server)

    def certificate(self) -> str | None:
        return no_answer.certificate(self._whole)
