"""How one cluster's connections are made: address, proxy, TLS and credential, as `credentials` found them.

It has the names that the client library's configuration has, so that the library's loader can fill it for a context
whose credential a program gives (`kubeconfig.load`). For all others the library is not imported at all: with what it
brings along it takes as much memory as everything else that an agent holds, in every cluster of the fleet.
"""

from __future__ import annotations

import inspect
import ssl
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import field
from pathlib import Path

from gitfed.text.values import dataclass

_AUTHORIZATION = "BearerToken"
"""How the library calls it."""


@dataclass(slots=True, kw_only=True)
class ClientSettings:
    """Changes as long as it is used: a token is renewed in it."""

    host: str
    proxy: str | None = None
    proxy_headers: dict[str, str] | None = None
    verify_ssl: bool = True
    ssl_ca_cert: str | None = None
    """The file of an authority; without this and `ca_cert_data` those of the system are trusted."""
    ca_cert_data: str | None = None
    """PEM."""
    cert_file: str | None = None
    key_file: str | None = None
    client_certificate: tuple[bytes, bytes] | None = None
    """PEM of a certificate and its key, in place of the two files."""
    tls_server_name: str | None = None
    api_key: dict[str, str] = field(default_factory=dict)
    refresh_api_key_hook: Callable[[ClientSettings], Awaitable[None] | None] | None = None
    """Asked before each request; it may write another token."""

    def set_authorization(self, value: str) -> None:
        """The header of this name, with its scheme."""
        self.api_key[_AUTHORIZATION] = value

    @property
    def has_credential(self) -> bool:
        return bool(self.api_key.get(_AUTHORIZATION) or self.cert_file or self.client_certificate)

    async def authorization(self) -> str:
        """What to send in the header of this name; "" for nothing."""
        if self.refresh_api_key_hook is not None:
            refreshing = self.refresh_api_key_hook(self)
            if inspect.isawaitable(refreshing):
                await refreshing
        return self.api_key.get(_AUTHORIZATION, "")

    def authority(self) -> str:
        """PEM of the authority that is trusted for this address; "": those of the system. Raises OSError."""
        if self.ca_cert_data:
            return self.ca_cert_data
        return Path(self.ssl_ca_cert).read_text("utf-8") if self.ssl_ca_cert else ""

    def ssl_context(self) -> ssl.SSLContext:
        """Raises OSError (of which ssl.SSLError is one) for certificates that cannot be read or do not match."""
        context = ssl.create_default_context(cafile=self.ssl_ca_cert, cadata=self.ca_cert_data)
        if self.client_certificate is not None:
            _load(context, *self.client_certificate)
        elif self.cert_file:
            context.load_cert_chain(self.cert_file, keyfile=self.key_file)
        if not self.verify_ssl:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


def _load(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """OpenSSL reads a key from a file alone: from one that no other user may read, and that is gone at once."""
    with tempfile.TemporaryDirectory(prefix="gitfed-") as folder:
        files = Path(folder, "tls.crt"), Path(folder, "tls.key")
        for file, content in zip(files, (certificate, key), strict=True):
            file.touch(mode=0o600)
            file.write_bytes(content)
        context.load_cert_chain(*files)
