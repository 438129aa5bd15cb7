"""OpenSearch: documents written and removed in bulk, by the library opensearch-py (`gitfed[search]`).

The addresses come from the repository. So the password goes only where its owner says: beside it, in the folder that
`secretRef` names below --credentials-dir, `server` lists the addresses (Clusters have the same file). Redirects are
not followed, and names stand for no address that gitfed does not contact.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import logging
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import aiohttp
import orjson

from gitfed.edges import resolve
from gitfed.edges.http import client
from gitfed.errors import SearchStoreError
from gitfed.model.declared.search import OpenSearchConfig
from gitfed.text.values import dataclass

TIMEOUT = 30.0
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_EXISTS = "resource_already_exists_exception"
_INDEX = {
    "mappings": {
        "properties": {
            "metadata": {
                "properties": {
                    "name": {"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": 256}}},
                    "namespace": {"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": 256}}},
                    "labels": {"type": "flat_object"},
                    "annotations": {"type": "flat_object"},
                    "creationTimestamp": {"type": "date"},
                    "deletionTimestamp": {"type": "date"},
                }
            },
            "spec": {"type": "text"},
            "status": {"type": "text"},
        }
    }
}
"""Labels are no fields of their own: `app` and `app.kubernetes.io/name` could not both be one."""


class BulkOperation(NamedTuple):
    into: str
    """The index."""
    uid: str
    document: bytes | None
    """None: it is to be removed."""


@dataclass(frozen=True, slots=True)
class Login:
    user: str
    password: str
    authorities: Path | None = None


def is_installed() -> bool:
    return importlib.util.find_spec("opensearchpy") is not None


def login(config: OpenSearchConfig, credentials_dir: Path | None) -> Login | None:
    """None where no Secret is named. Raises SearchStoreError."""
    secret = config.secret_ref
    if secret.is_empty:
        return None
    if credentials_dir is None:
        raise SearchStoreError("no credentials directory for the secretRef of OpenSearch", hint="--credentials-dir")
    if not (_NAME.fullmatch(secret.namespace) and _NAME.fullmatch(secret.name)):
        raise SearchStoreError("the secretRef of OpenSearch is no name")
    folder = credentials_dir / secret.namespace / secret.name
    allowed = {line.strip().rstrip("/") for line in _text(folder, "server").splitlines()}
    for address in config.addresses:
        if address.rstrip("/") not in allowed:
            raise SearchStoreError(
                f"the password of Secret {folder} may not go to {address}", hint=f"add a line to {folder}/server"
            )
    # Karmada's page says userName, its program reads username.
    user = _text(folder, "username" if (folder / "username").is_file() else "userName").strip()
    authorities = folder / "caBundle"
    return Login(user, _text(folder, "password").strip("\n"), authorities if authorities.is_file() else None)


def _text(folder: Path, name: str) -> str:
    try:
        return (folder / name).read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise SearchStoreError(f"Secret {folder}: {name} cannot be read", hint="it is a file in it") from error


class OpenSearch:
    """`write` opens it; `close` it."""

    def __init__(self, config: OpenSearchConfig, credentials_dir: Path | None) -> None:
        self._config = config
        self._credentials_dir = credentials_dir
        self._client: Any = None
        self._library: Any = None
        self._indices: set[str] = set()

    async def write(self, operations: Sequence[BulkOperation]) -> list[str]:
        """Why some were refused for good, by type. Raises SearchStoreError when all of them may be tried again."""
        client = self._client or await self._open()
        try:
            for index in sorted(
                {operation.into for operation in operations if operation.document is not None} - self._indices
            ):
                await self._make(client, index)
            answer = await client.bulk(body=b"".join(_lines(operations)).decode())
        except self._library.OpenSearchException as error:
            raise _failed(error) from error
        items = answer.get("items") or () if isinstance(answer, dict) else ()
        outcomes: list[Any] = [next(iter(item.values()), {}) for item in items if isinstance(item, dict)]
        if len(outcomes) != len(operations):
            raise SearchStoreError("OpenSearch answers a bulk request with something else")
        if any(_code(outcome) in (429, 503) for outcome in outcomes):
            raise SearchStoreError("OpenSearch is busy")
        return [_type(outcome) for outcome in outcomes if _code(outcome) >= 300 and _code(outcome) != 404]

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _make(self, client: Any, index: str) -> None:
        try:
            await client.indices.create(index=index, body=_INDEX)
        except self._library.RequestError as error:
            if error.error != _EXISTS:
                raise
        self._indices.add(index)

    async def _open(self) -> Any:
        if not is_installed():
            raise SearchStoreError("opensearch-py is not installed", hint="pip install 'gitfed[search]'")
        account = await asyncio.to_thread(login, self._config, self._credentials_dir)
        for address in self._config.addresses:
            if why := resolve.check_host(urlsplit(address).hostname or ""):
                raise SearchStoreError(f"{address} is not contacted: it is {why}")
        # It takes long to import, and the hub answers others meanwhile.
        library = self._library = await asyncio.to_thread(importlib.import_module, "opensearchpy")
        logging.getLogger("opensearch").setLevel(logging.CRITICAL + 1)  # it names addresses and quotes documents
        options: dict[str, Any] = {"timeout": TIMEOUT, "max_retries": 0, "connection_class": _connection(library)}
        if account is not None:
            options["http_auth"] = (account.user, account.password)
            if account.authorities is not None:
                options["ca_certs"] = str(account.authorities)
        try:
            self._client = library.AsyncOpenSearch(hosts=list(self._config.addresses), **options)
        except (OSError, ValueError) as error:
            raise SearchStoreError("OpenSearch: the caBundle of its Secret cannot be used") from error
        return self._client


def _connection(library: Any) -> Any:
    """The library's, but with our resolver and without redirects."""

    class Connection(library.AIOHttpConnection):  # type: ignore[misc]
        async def _create_aiohttp_session(self) -> None:
            self.loop: Any = asyncio.get_running_loop()
            self.session = aiohttp.ClientSession(
                headers=self.headers,
                cookie_jar=aiohttp.DummyCookieJar(),
                connector=client.connector(self._ssl_context or True, limit=4),
                middlewares=(_no_redirects,),
                trust_env=False,
            )

    return Connection


async def _no_redirects(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    response = await handler(request)
    if 300 <= response.status < 400:
        response.close()
        raise aiohttp.ClientConnectionError("a redirect, which is not followed")
    return response


def _lines(operations: Iterable[BulkOperation]) -> Iterable[bytes]:
    for operation in operations:
        verb = "delete" if operation.document is None else "index"
        yield orjson.dumps({verb: {"_index": operation.into, "_id": operation.uid}}) + b"\n"
        if operation.document is not None:
            yield operation.document + b"\n"


def _code(item: Any) -> int:
    status = item.get("status") if isinstance(item, dict) else None
    return status if isinstance(status, int) else 500


def _type(item: Any) -> str:
    error = item.get("error") if isinstance(item, dict) else None
    return str(error.get("type") or "unknown")[:100] if isinstance(error, dict) else "unknown"


def _failed(error: Any) -> SearchStoreError:
    """The library's texts quote what was sent: none of them is passed on."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return SearchStoreError(f"OpenSearch refuses what is written: HTTP {status}")
    return SearchStoreError(f"OpenSearch gives no answer ({type(error).__name__})")
