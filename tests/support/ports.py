"""Ports for servers whose address somebody has to know before they listen."""

from __future__ import annotations

import random
import socket

_FROM, _TO = 15_000, 32_000
"""Below those that Linux gives to who asks for any (net.ipv4.ip_local_port_range): so nobody else gets this one
between now and the moment when the server listens. Two tests at once hardly choose the same."""


def free_port() -> int:
    """Of 127.0.0.1, where nothing listens now."""
    while True:
        port = random.SystemRandom().randrange(_FROM, _TO)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
