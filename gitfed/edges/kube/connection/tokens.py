"""A bearer token in a file that is renewed from outside: a mounted Secret, a pod's service account."""

from __future__ import annotations

import time
from pathlib import Path

from gitfed import errors
from gitfed.edges.kube.connection.client_settings import ClientSettings

REREAD = 300.0
"""Seconds after which a token is read again (Karmada: every 5 minutes, and at once after a 401)."""
_LARGEST = 64 << 10


class TokenFile:
    def __init__(self, cluster: str, path: Path) -> None:
        self._cluster = cluster
        self._path = path
        self._read_at = 0.0

    def read(self) -> str:
        """The token. Raises CredentialsError; the message names the file and never its content."""
        try:
            with self._path.open("rb") as file:
                data = file.read(_LARGEST + 1)
        except OSError as error:
            raise errors.CredentialsError(
                f"cluster {self._cluster}: {self._path}: {error.strerror}", cluster=self._cluster
            ) from error
        text = data.decode("latin-1").strip()
        if not text or len(data) > _LARGEST or not text.isprintable() or not text.isascii():
            raise errors.CredentialsError(
                f"cluster {self._cluster}: {self._path} holds no token", cluster=self._cluster
            )
        return text

    def attach(self, settings: ClientSettings) -> None:
        """Have it asked here before each request."""
        self._set(settings)
        settings.refresh_api_key_hook = self._when_old

    async def renew(self, settings: ClientSettings) -> None:
        self._set(settings)

    def _when_old(self, settings: ClientSettings) -> None:
        if time.monotonic() - self._read_at >= REREAD:
            self._set(settings)

    def _set(self, settings: ClientSettings) -> None:
        settings.set_authorization(f"Bearer {self.read()}")
        self._read_at = time.monotonic()
