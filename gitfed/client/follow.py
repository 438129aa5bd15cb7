"""That something may have changed, by the hub's server-sent events (the HTML standard, 9.2).

An event only says that it is time to look again; a list says what is so now. A list is read after every new
connection, so nothing is lost while a hub is unreachable, and at most once a second however much happens. The
hub goes on after the last event that was seen if it still knows it, so a short interruption costs nothing more.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from gitfed.client.connection import HubConnection
from gitfed.edges.backoff import Backoff
from gitfed.errors import GitfedError, HubError, HubUnreachable

_SILENCE = 45.0
"""Seconds without even a sign of life: three of those that a hub sends."""
_PAUSES = Backoff((0.5, 1.0, 2.0, 5.0, 10.0, 30.0), 0.2, 0.2)
"""Seconds before another try."""
_BEAT = 1.0
"""Seconds between two looks."""


class Follower:
    """`start` it, then `wait` again and again."""

    def __init__(
        self, hub: HubConnection, told: Callable[[str], None] = lambda text: None, *, beat: float = _BEAT
    ) -> None:
        """`told` hears once of each outage that the hub is unreachable, and why."""
        self._hub = hub
        self._told = told
        self._beat = beat
        self._dirty = threading.Event()
        self._failed: GitfedError | None = None
        self._last = ""
        self._away = False
        self._looked = 0.0
        self.interrupted = False
        """The user pressed Ctrl-C: `wait` raises KeyboardInterrupt."""

    def start(self) -> None:
        threading.Thread(target=self._run, name="follow-hub", daemon=True).start()

    def wait(self) -> None:
        """Until it is time to look again. Raises HubError when the hub will tell nothing more, KeyboardInterrupt."""
        while not self.interrupted and not self._dirty.wait(1.0):  # a wait without end could not be interrupted
            pass
        time.sleep(max(0.0, self._looked + self._beat - time.monotonic()))
        if self.interrupted:
            raise KeyboardInterrupt
        self._dirty.clear()
        if self._failed is not None:
            raise self._failed
        self._looked = time.monotonic()

    def look_again(self, after: float = 1.0) -> None:
        """A look failed: the next one comes without an event."""
        time.sleep(after)
        self._dirty.set()

    # -- in its thread ------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        tries = 0
        while self._failed is None:
            try:
                began = time.monotonic()
                self._follow()
                tries = 0 if time.monotonic() - began > _PAUSES.longest else tries
            except HubUnreachable as error:
                if not self._away:
                    self._told(f"{error.message}: trying again")
                self._away = True
            except GitfedError as error:
                self._failed = error
                self._dirty.set()
                return
            tries += 1
            time.sleep(_PAUSES.after(tries))

    def _follow(self) -> None:
        """One stream, until it ends. Raises as `Connection.stream`."""
        headers = {"Last-Event-ID": self._last} if self._last else {}
        with self._hub.stream("/events", headers, _SILENCE) as lines:
            if self._away:
                self._told(f"the hub at {self._hub.server} is back")
            self._away = False
            self._dirty.set()
            name, data = "", ""
            for line in lines:
                text = line.decode("utf-8", "replace").rstrip("\r\n")
                if not text:
                    if name == "end":
                        self._ended(data)
                        return
                    if name:
                        self._dirty.set()
                    name, data = "", ""
                    continue
                member, _, value = text.partition(":")
                value = value.removeprefix(" ")
                if member == "event":
                    name = value
                elif member == "id" and "\0" not in value:
                    self._last = value[:256]
                elif member == "data":
                    data = value
                elif not member:
                    self._dirty.set()  # a sign of life: what told no event is seen by then

    def _ended(self, data: str) -> None:
        """Raises HubError where another try would end alike."""
        if '"denied"' in data:
            raise HubError("no AccessPolicy lets you view any more", status=403)
        # After a hub's stop, a slow stream or an expired credential another try follows; the hub refuses the last.
