"""What the command line says about the hub."""

from __future__ import annotations

import ipaddress
from datetime import timedelta
from pathlib import Path

from gitfed.edges import oidc
from gitfed.errors import UsageError
from gitfed.text.values import dataclass

EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104
"""Every address of this machine: none that a client could call."""


@dataclass(frozen=True, slots=True)
class HubOptions:
    host: str
    port: int
    url: str = ""
    """Where others reach it; "" means by its address."""
    tls_dir: Path | None = None
    """A mounted Secret: tls.crt, tls.key. None: certificates of our own authority."""
    oidc: oidc.OidcSettings | None = None
    agent_life: timedelta = timedelta(days=30)
    """How long a certificate of an agent counts; it is renewed when a fifth of it is left."""
    hook_secret_file: Path | None = None
    """What deliveries of forges are signed with; None: there are none."""
    plain_too: bool = False
    """TLS also on a loopback address, for kubectl, which sends no credential without; and a second port of that address
    without TLS, for browsers, which do not know our own authority."""

    @property
    def loopback(self) -> bool:
        """Only this machine can call: then there is plain HTTP, unless TLS is asked for."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def secure(self) -> bool:
        return self.tls_dir is not None or not self.loopback or self.plain_too or self.url.startswith("https://")


def address(text: str) -> tuple[str, int]:
    """`HOST:PORT`, an IPv6 address in brackets. Raises UsageError."""
    host, colon, port = text.rpartition(":")
    host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not colon or not host or not port.isdecimal() or int(port) > 65535 or (":" in host and not _is_address(host)):
        raise UsageError(f"--hub-address {text!r} is not HOST:PORT", hint="for example 0.0.0.0:8443 or 127.0.0.1:8443")
    return host, int(port)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
