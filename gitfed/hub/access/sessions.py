"""Sessions of browsers: what a cookie stands for, and the token that each of its writes has to repeat.

They live in this process only; after a restart every person logs in again.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import field

from gitfed.hub.access.caller import Caller
from gitfed.text.values import dataclass

_LIFE = 8 * 3600.0
_IDLE = 3600.0
_MOST = 10_000


@dataclass(slots=True)
class BrowserSession:
    caller: Caller
    ends: float
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    used: float = 0.0


class Sessions:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._by_id: dict[str, BrowserSession] = {}

    def begin(self, caller: Caller, *, ends_in: float = _LIFE) -> str:
        """The id of a new session: the cookie's value."""
        now = self._clock()
        if len(self._by_id) >= _MOST:
            self._by_id = {name: session for name, session in self._by_id.items() if self._alive(session, now)}
            while len(self._by_id) >= _MOST:
                self._by_id.pop(next(iter(self._by_id)))
        name = secrets.token_urlsafe(32)
        self._by_id[name] = BrowserSession(caller, now + min(ends_in, _LIFE), used=now)
        return name

    def find(self, name: str) -> BrowserSession | None:
        session = self._by_id.get(name)
        now = self._clock()
        if session is None:
            return None
        if not self._alive(session, now):
            del self._by_id[name]
            return None
        session.used = now
        return session

    def end(self, name: str) -> None:
        session = self._by_id.pop(name, None)
        if session is not None:
            session.ends = 0.0

    def lives(self, session: BrowserSession) -> bool:
        """Whether it would still be found; to ask this is no use of it."""
        return self._alive(session, self._clock())

    @staticmethod
    def _alive(session: BrowserSession, now: float) -> bool:
        return now < session.ends and now - session.used < _IDLE


class LoginTokens:
    """Tokens that begin one session each: for a demo on this machine, printed where only its user reads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._by_token: dict[str, tuple[Caller, float]] = {}

    def issue(self, caller: Caller, *, life: float = 3600.0) -> str:
        token = secrets.token_urlsafe(32)
        self._by_token[token] = (caller, self._clock() + life)
        return token

    def redeem(self, token: str) -> Caller | None:
        """Whose it is, once."""
        caller, ends = self._by_token.pop(token, (None, 0.0))
        return caller if self._clock() < ends else None
