"""The hub's TLS: which certificate it shows, whose client certificates it takes, and renewal of both.

A context takes a new certificate while it is in use; connections that are open keep theirs.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from asyncio import sslproto
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from gitfed.edges import certificate_pins, certificates, files, no_answer
from gitfed.errors import UsageError
from gitfed.hub.options import EVERYWHERE, HubOptions

log = logging.getLogger("gitfed.hub")

_BUFFER = 32 << 10
"""Bytes that a connection reads at a time: two records of TLS."""
_LOOK = 30.0
"""Seconds between two looks at whether a certificate was renewed, or has to be."""


class TlsIdentity:
    """The hub's certificate and its authority, in a folder of the data directory."""

    def __init__(self, options: HubOptions, folder: Path) -> None:
        """Raises InputError, UsageError."""
        _small_buffers()
        self.authority = certificates.Authority.open(folder)
        self._options = options
        self._folder = folder
        self._loaded: tuple[bytes, bytes] = b"", b""
        self._own: certificates.Pair | None = None
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.context.set_alpn_protocols(["http/1.1"])
        # Asked for, not insisted on: others have tokens. One that does not hold ends the handshake.
        self.context.verify_mode = ssl.CERT_OPTIONAL
        self.context.load_verify_locations(cadata=self.authority.certificate.decode())
        self.renew()

    @property
    def trusted(self) -> bytes:
        """The authorities that the hub's certificate is trusted by, in PEM form. Raises InputError, OSError."""
        folder = self._options.tls_dir
        if folder is None:
            return self.authority.certificate
        bundle = folder / "ca.crt"  # cert-manager puts it there
        return bundle.read_bytes() if bundle.exists() else certificate_pins.last((folder / "tls.crt").read_bytes())

    def renew(self) -> bool:
        """Load the certificate if it is another one now. Raises UsageError when it cannot be used."""
        chain, key = self._paths()
        try:
            loaded = chain.read_bytes(), key.read_bytes()
            if loaded == self._loaded:
                return False
            self.context.load_cert_chain(chain, key)
        except OSError as error:
            raise UsageError(
                f"the hub cannot use {chain} and {key}: {no_answer.unusable_certificates(error)}",
                hint="tls.crt and tls.key of one certificate, in PEM form",
            ) from error
        self._loaded = loaded
        return True

    def _paths(self) -> tuple[Path, Path]:
        if self._options.tls_dir is not None:
            return self._options.tls_dir / "tls.crt", self._options.tls_dir / "tls.key"
        chain, key = self._folder / "server.crt", self._folder / "server.key"
        now = datetime.now(UTC)
        if self._own is None or self._own.due(now):
            self._own = self.authority.server(_names(self._options), now=now)
            files.write_atomically(key, self._own.key, durable=True)
            files.write_atomically(chain, self._own.certificate, durable=True)
        return chain, key

    async def keep_fresh(self) -> None:
        """A service: a mounted Secret changes when its certificate is renewed."""
        reported = ""
        while True:
            await asyncio.sleep(_LOOK)
            try:
                if self.renew():
                    log.info("the hub's certificate was renewed")
                reported = ""
            except UsageError as error:
                if error.message != reported:
                    log.error("the hub's new certificate cannot be used", extra={"error": error.message})
                reported = error.message


def _small_buffers() -> None:
    """asyncio holds 256 KiB for each connection with TLS, for as long as it is open: two hundred people who have a page
    open would cost more than all that they look at. It has no option for that; a test sees whether this one counts."""
    sslproto.SSLProtocol.max_size = _BUFFER


def _names(options: HubOptions) -> list[str]:
    host = urlsplit(options.url).hostname if options.url else None
    own = socket.gethostname()
    hosts = [] if options.host in EVERYWHERE else [options.host]
    return list(dict.fromkeys([*([host] if host else []), *hosts, own, "localhost", "127.0.0.1", "::1"]))
