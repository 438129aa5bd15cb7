"""One document in a Secret that several processes change: each write is bound to the version that was read."""

from __future__ import annotations

import base64
import binascii
import zlib
from typing import Any

from gitfed.edges.kube.connection.session import Session
from gitfed.errors import InputError, ObjectConflict, ObjectExists, ObjectNotFound
from gitfed.model.keys import NAME_LABEL
from gitfed.text.values import dataclass

_METADATA_ONLY = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
_LARGEST = 1 << 20
"""Bytes of data that Kubernetes takes in a Secret."""
_LARGEST_UNPACKED = 64 << 20


@dataclass(frozen=True, slots=True)
class Written:
    """The document as it stands in the Secret."""

    content: bytes
    uid: str
    version: str


class SecretDocument:
    """It is kept compressed, under one key."""

    def __init__(self, session: Session, *, namespace: str, name: str, key: str) -> None:
        self._session = session
        self._folder = f"/api/v1/namespaces/{namespace}/secrets"
        self.namespace = namespace
        self._name = name
        self._key = key

    def __str__(self) -> str:
        return f"Secret {self.namespace}/{self._name}"

    async def close(self) -> None:
        await self._session.close()

    async def version(self) -> tuple[str, str] | None:
        """Uid and version; None: there is no such Secret. Cheap however long the document is. Raises ClusterError."""
        try:
            secret = await self._session.json("GET", f"{self._folder}/{self._name}", accept=_METADATA_ONLY)
        except ObjectNotFound:
            return None
        return _version(secret)

    async def read(self) -> Written | None:
        """None: there is no such Secret. Raises ClusterError, InputError when it holds no document."""
        try:
            secret = await self._session.json("GET", f"{self._folder}/{self._name}")
        except ObjectNotFound:
            return None
        try:
            packed = base64.b64decode(secret["data"][self._key], validate=True)
            unpacking = zlib.decompressobj(wbits=31)
            content = unpacking.decompress(packed, _LARGEST_UNPACKED)
            if not unpacking.eof:
                raise ValueError("cut off")
        except (KeyError, TypeError, ValueError, binascii.Error, zlib.error) as error:
            raise InputError(f"{self} holds no {self._key}", hint="put back a copy of it") from error
        return Written(content, *_version(secret))

    async def write(self, content: bytes, before: Written | None) -> Written | None:
        """As it stands then; None: another client wrote since `before`. Raises ClusterError, InputError when it is too
        long."""
        packed = zlib.compress(content, 9, wbits=31)
        if len(packed) > _LARGEST:
            raise InputError(f"{self} has no room for {len(packed)} bytes", hint=f"Kubernetes takes {_LARGEST}")
        metadata: dict[str, Any] = {"name": self._name, "labels": {NAME_LABEL: "gitfed"}}
        body = {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "Opaque",
            "metadata": metadata,
            "data": {self._key: base64.b64encode(packed).decode()},
        }
        try:
            if before is None:
                secret = await self._session.json("POST", self._folder, body=body)
            else:
                metadata.update(uid=before.uid, resourceVersion=before.version)
                secret = await self._session.json("PUT", f"{self._folder}/{self._name}", body=body)
        except (ObjectConflict, ObjectExists):
            return None
        except ObjectNotFound:
            if before is None:
                raise  # the namespace
            return None
        return Written(content, *_version(secret))


def _version(secret: dict[str, Any]) -> tuple[str, str]:
    metadata = secret.get("metadata") or {}
    return str(metadata.get("uid") or ""), str(metadata.get("resourceVersion") or "")
