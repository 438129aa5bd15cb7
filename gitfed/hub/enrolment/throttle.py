"""How often one client may be wrong: guesses cost the hub a scrypt hash each, and a name's owner their privacy."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict, deque
from collections.abc import Callable

_FAILURES = 10
_WITHIN = 60.0
_MOST_CLIENTS = 10_000


class Throttle:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()

    def wait(self, address: str) -> float:
        """Seconds until this client may try again; 0: now."""
        times = self._failures.get(_client(address))
        if times is None:
            return 0.0
        now = self._clock()
        while times and now - times[0] >= _WITHIN:
            times.popleft()
        return _WITHIN - (now - times[0]) if len(times) >= _FAILURES else 0.0

    def failed(self, address: str) -> None:
        client = _client(address)
        self._failures.setdefault(client, deque(maxlen=_FAILURES)).append(self._clock())
        self._failures.move_to_end(client)
        while len(self._failures) > _MOST_CLIENTS:
            self._failures.popitem(last=False)


def _client(address: str) -> str:
    """Of an IPv6 address its /64 network: a client that has one address has all of them."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((ip, 64), strict=False))
    return str(ip)
