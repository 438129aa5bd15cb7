"""A certificate authority in a Secret, for all replicas that serve under it: made once, by the first of them."""

from __future__ import annotations

import base64
import binascii

from gitfed.edges.kube.connection.session import Session
from gitfed.errors import InputError, ObjectExists, ObjectNotFound
from gitfed.model.keys import NAME_LABEL

_CERTIFICATE, _KEY = "tls.crt", "tls.key"


class AuthoritySecret:
    def __init__(self, session: Session, *, namespace: str, name: str) -> None:
        self._session = session
        self._folder = f"/api/v1/namespaces/{namespace}/secrets"
        self._namespace = namespace
        self._name = name

    def __str__(self) -> str:
        return f"Secret {self._namespace}/{self._name}"

    async def close(self) -> None:
        await self._session.close()

    async def read(self) -> tuple[bytes, bytes] | None:
        """Certificate and key; None: there is no such Secret. Raises ClusterError, InputError."""
        try:
            secret = await self._session.json("GET", f"{self._folder}/{self._name}")
        except ObjectNotFound:
            return None
        data = secret.get("data") or {}
        try:
            return base64.b64decode(data[_CERTIFICATE], validate=True), base64.b64decode(data[_KEY], validate=True)
        except (KeyError, TypeError, binascii.Error) as error:
            raise InputError(
                f"{self} holds no {_CERTIFICATE} and {_KEY}", hint="delete it to have a new authority made"
            ) from error

    async def create(self, certificate: bytes, key: bytes) -> tuple[bytes, bytes]:
        """What it holds then: these, or those of another replica that was faster. Raises ClusterError, InputError."""
        body = {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "kubernetes.io/tls",
            "metadata": {"name": self._name, "labels": {NAME_LABEL: "gitfed"}},
            "data": {_CERTIFICATE: base64.b64encode(certificate).decode(), _KEY: base64.b64encode(key).decode()},
        }
        try:
            await self._session.json("POST", self._folder, body=body)
        except ObjectExists:
            pass
        else:
            return certificate, key
        theirs = await self.read()
        if theirs is None:
            raise ObjectNotFound(f"{self} was deleted while it was being made")
        return theirs
