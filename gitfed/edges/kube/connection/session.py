"""One cluster's HTTP: every request that gitfed sends to a cluster goes through a `Session`.

It adds the credential, holds back what exceeds the cluster's request budget, ends every wait, and raises
`gitfed.errors` (by `translate`). Bodies go out and come in as plain JSON through orjson. It knows no kinds (that is
`discovery`) and tries nothing twice but one request after a 401, when the credential can be renewed.

TLS, client certificates, tokens and proxies are as the connection's `ClientSettings` say; the connections are
aiohttp's, kept open and shared by all requests. Redirects are never followed: the credential belongs to one
scheme, host and port.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterable, AsyncIterator, Callable, Container, Iterable, Mapping
from functools import lru_cache
from types import TracebackType
from typing import Any, NamedTuple, Self, TypedDict, Unpack
from urllib.parse import urlencode

import aiohttp
import orjson
import yarl
from multidict import CIMultiDict

from gitfed import errors
from gitfed.edges.kube.connection import dialling, translate, watch_lines
from gitfed.edges.kube.connection.client_settings import ClientSettings
from gitfed.edges.kube.connection.credentials import ClusterConnection
from gitfed.edges.kube.leases.fence import Fence
from gitfed.model.base import ClusterName
from gitfed.text.values import dataclass

JSON = "application/json"
APPLY = "application/apply-patch+yaml"
MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"

TIMEOUT = 32.0
"""Seconds for one request (Karmada: the member client's timeout)."""
CONCURRENCY = 16
"""Requests to one cluster at a time. Watches do not count: they are open nearly always."""
_CONNECT = 10.0
_LARGEST = 256 << 20
"""Bytes of one answer; a list is read in pages far below. A member must not be able to exhaust our memory."""
_AHEAD = 256 << 10
"""Bytes, or twice as many, of an answer to a caller that are read before they are wanted: they may be slow."""


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """An answer below 300, or with a status that the caller allowed."""

    status: int
    data: bytes
    headers: Mapping[str, str]

    def json(self) -> Any:
        """The body's value. Raises ValueError when it is no JSON."""
        return orjson.loads(self.data)


@dataclass(frozen=True, slots=True)
class Relay:
    """What is otherwise for a session that passes requests of others on."""

    as_sent: bool = False
    """Bodies that are compressed stay so, for the caller that reads them."""
    connector: Callable[[], aiohttp.BaseConnector] | None = None
    """Makes connections in place of ours: the agent at their other end adds the credential."""
    acts_as: str = ""
    """The user in whose name our own requests go; what `begin` sends names its own user."""


_NO_RELAY = Relay()


class _Sending(NamedTuple):
    """A request as it goes out, maybe twice."""

    method: str
    path: str
    query: Mapping[str, str] | None
    data: bytes | None
    headers: dict[str, str]
    seconds: float


class RequestOptions(TypedDict, total=False):
    """How one request differs from a plain one."""

    query: Mapping[str, str] | None
    """Not encoded yet."""
    body: object
    """JSON, or bytes that are sent as they are."""
    content_type: str
    accept: str
    headers: Mapping[str, str] | None
    timeout: float | None
    """Seconds; None: as the session has it."""
    allow: Container[int]
    """Statuses of 300 and above that do not raise."""
    redact: translate.Redact | None
    """Applied to the texts of a refusal."""
    at_once: bool
    """It takes no place of the request budget, and waits for none."""


class Session:
    """Use as `async with Session(name, connection) as session`, or call `close`. Opens with the first request."""

    def __init__(
        self,
        cluster: ClusterName,
        connection: ClusterConnection,
        *,
        concurrency: int = CONCURRENCY,
        fence: Fence | None = None,
        tally: Counter[tuple[str, str, str]] | None = None,
        relay: Relay = _NO_RELAY,
    ) -> None:
        """`fence`: until when may be written; None: as long as this process lives. `tally` counts requests by cluster,
        method and status."""
        self._relay = relay
        self._own = {"Accept-Encoding": "identity"} if relay.as_sent else {}
        """Headers of our own requests: their answers are read here, whatever `as_sent` says."""
        if relay.acts_as:
            self._own["Impersonate-User"] = relay.acts_as
        self.tally = tally if tally is not None else Counter()
        self.fence = fence
        self.cluster = cluster
        self.connection = connection
        self.concurrency = concurrency
        self._slots = asyncio.Semaphore(concurrency)
        self._opening = asyncio.Lock()
        self._ended = False
        self._http: aiohttp.ClientSession | None = None
        self._settings: ClientSettings | None = None
        self._options: dict[str, Any] = {"allow_redirects": False, "timeout": _endless(None)}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self, *, for_good: bool = False) -> None:
        """Close all connections; watches that are still open end with ClusterUnreachable. The next request opens again,
        unless it is `for_good`: where others may hold the session still, and none would close it once more."""
        self._ended = self._ended or for_good
        http, self._http = self._http, None
        if http is not None:
            await http.close()
            await asyncio.sleep(0)  # aborted transports leave with the next turn of the loop

    async def request(self, method: str, path: str, **options: Unpack[RequestOptions]) -> ServerAnswer:
        """Send one request and read the whole answer. `path` is percent-encoded and begins with "/".

        Raises the classes of `errors.ClusterError`, and NotOwned for a write that the fence forbids.
        """
        body, allow = options.get("body"), options.get("allow", ())
        data = body if body is None or isinstance(body, bytes) else orjson.dumps(body)
        headers = {"Accept": options.get("accept", JSON)}
        if data is not None:
            headers["Content-Type"] = options.get("content_type", JSON)
        headers |= options.get("headers") or {}
        seconds = options.get("timeout")
        sending = _Sending(method, path, options.get("query"), data, headers, TIMEOUT if seconds is None else seconds)
        async with contextlib.nullcontext() if options.get("at_once") else self._slots:
            answer = await self._fenced(sending)
            if answer.status == 401 and 401 not in allow and await self._renewed():
                answer = await self._fenced(sending)
        if answer.status >= 300 and answer.status not in allow:
            redact = options.get("redact")
            raise translate.failure(self.cluster, answer.status, answer.data, answer.headers, redact=redact)
        return answer

    async def json(self, method: str, path: str, **options: Unpack[RequestOptions]) -> dict[str, Any]:
        """`request`, and the answer's JSON object. Raises ClusterFailed when the answer is none."""
        answer = await self.request(method, path, **options)
        try:
            value = answer.json()
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise translate.broken(self.cluster, f"{method} {path}: the answer is no JSON object")
        return value

    async def _fenced(self, sending: _Sending) -> ServerAnswer:
        if self.fence is None or sending.method == "GET":
            return await self._send(sending)
        return await self.fence.within(self._send(sending), cluster=self.cluster)

    async def _send(self, sending: _Sending) -> ServerAnswer:
        method = sending.method
        try:
            async with asyncio.timeout(sending.seconds):
                http = self._http or await self._open()
                async with http.request(
                    method,
                    self._url(sending.path, sending.query),
                    data=sending.data,
                    headers={**sending.headers, **self._own, **await self._identity()},
                    **self._options,
                ) as response:
                    self._count(method, str(response.status))
                    return ServerAnswer(response.status, await self._read(response), response.headers)
        except translate.NO_ANSWER as error:
            self._count(method, "none")
            raise translate.unreachable(self.cluster, error, server=self.connection.server) from error

    def _count(self, method: str, status: str) -> None:
        self.tally[self.cluster, method, status] += 1

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        content = response.content
        parts: list[bytes] = []
        size = 0
        while part := await content.readany():
            parts.append(part)
            size += len(part)
            if size > _LARGEST:
                raise translate.broken(self.cluster, f"an answer of more than {_LARGEST >> 20} MiB is not read")
        return parts[0] if len(parts) == 1 else b"".join(parts)

    @contextlib.asynccontextmanager
    async def lines(self, path: str, query: Mapping[str, str], *, idle: float) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a watch: an iterator of its lines (JSON texts without the newline), ended by the server.

        `idle` seconds without a byte raise ClusterUnreachable, as does a broken connection; a refusal raises its class.
        Takes no slot of the request budget.
        """
        try:
            async with asyncio.timeout(TIMEOUT):
                http = self._http or await self._open()
                response = await http.request(
                    "GET",
                    self._url(path, query),
                    headers={"Accept": JSON, **self._own, **await self._identity()},
                    **{**self._options, "timeout": _endless(idle)},
                )
        except translate.NO_ANSWER as error:
            self._count("WATCH", "none")
            raise translate.unreachable(self.cluster, error, server=self.connection.server) from error
        self._count("WATCH", str(response.status))
        try:
            if response.status >= 300:
                try:
                    async with asyncio.timeout(TIMEOUT):
                        data = await self._read(response)
                except translate.NO_ANSWER as error:
                    raise translate.unreachable(self.cluster, error, server=self.connection.server) from error
                if response.status == 401:
                    await self._renewed()
                raise translate.failure(self.cluster, response.status, data, response.headers)
            yield watch_lines.each(response, self.cluster, self.connection.server)
        finally:
            give_up(response)

    async def begin(
        self,
        method: str,
        target: str,
        headers: Iterable[tuple[str, str]],
        data: AsyncIterable[bytes] | bytes | None = None,
        *,
        seconds: float | None,
        idle: float | None = None,
    ) -> aiohttp.ClientResponse:
        """Send a caller's request as it is, and return when its answer begins; the caller closes that.

        `target`: path and query, encoded. `seconds` until it begins (None: for ever), `idle` between its parts.
        Takes no slot of the request budget. Raises CredentialsError, ClusterUnreachable.
        """
        sent = list(headers)
        try:
            async with asyncio.timeout(seconds):
                response = await self._begin(method, target, sent, data, idle)
                if response.status == 401 and not isinstance(data, AsyncIterable) and await self._renewed():
                    response.close()
                    response = await self._begin(method, target, sent, data, idle)
        except translate.NO_ANSWER as error:
            self._count(method, "none")
            raise translate.unreachable(self.cluster, error, server=self.connection.server) from error
        self._count(method, str(response.status))
        return response

    async def _begin(
        self,
        method: str,
        target: str,
        headers: list[tuple[str, str]],
        data: AsyncIterable[bytes] | bytes | None,
        idle: float | None,
    ) -> aiohttp.ClientResponse:
        http = self._http or await self._open()
        return await http.request(
            method,
            yarl.URL(f"{self.connection.server}{target}", encoded=True),
            headers=CIMultiDict([*headers, *(await self._identity()).items()]),
            data=data,
            skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
            read_bufsize=_AHEAD,
            **{**self._options, "timeout": _endless(idle)},
        )

    def parts(self, response: aiohttp.ClientResponse) -> AsyncIterator[list[bytes]]:
        """The lines of a watch that `begin` opened, as many at a time as came together. Raises ClusterFailed,
        ClusterUnreachable."""
        return watch_lines.together(response, self.cluster, self.connection.server)

    def _url(self, path: str, query: Mapping[str, str] | None) -> yarl.URL:
        # `encoded`: names hold characters (a colon in a role's name) that a second quoting would change.
        text = f"{self.connection.server}{path}"
        return yarl.URL(f"{text}?{_encoded(tuple(query.items()))}" if query else text, encoded=True)

    async def _identity(self) -> dict[str, str]:
        extra = self.connection.headers
        if self._settings is None:
            return dict(extra)
        token = await self._settings.authorization()
        return {**extra, "Authorization": token} if token else dict(extra)

    async def _renewed(self) -> bool:
        """Read the credential anew after a 401; whether it can be."""
        if self.connection.renew is None or self._settings is None:
            return False
        await self.connection.renew(self._settings)
        return True

    async def _open(self) -> aiohttp.ClientSession:
        async with self._opening:
            if self._http is None:
                connector = await self._dial()
                if self._ended:
                    await connector.close()
                    raise errors.ClusterUnreachable(
                        f"cluster {self.cluster}: its connection was closed", cluster=self.cluster
                    )
                self._http = aiohttp.ClientSession(
                    connector=connector,
                    # Proxies of the environment are the connection's business; the other thing that aiohttp would take
                    # from there is a password for this host from a .netrc file.
                    trust_env=False,
                    cookie_jar=aiohttp.DummyCookieJar(),
                    headers={"User-Agent": "gitfed"},
                    read_bufsize=1 << 20,
                    auto_decompress=not self._relay.as_sent,
                )
            return self._http

    async def _dial(self) -> aiohttp.BaseConnector:
        if self._relay.connector is not None:
            return self._relay.connector()
        settings = await self.connection.configure()
        connector, options = await dialling.connector(
            settings, self.fence, cluster=self.cluster, source=self.connection.source
        )
        self._settings = settings
        self._options |= options
        return connector


def give_up(response: aiohttp.ClientResponse) -> None:
    """A stream that is given up needs no parting words; TLS would wait for the server's."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
    response.close()


def end(response: aiohttp.ClientResponse) -> None:
    """Keep the connection for other requests if the answer was read, and give it up if not."""
    if response.content.is_eof():
        response.release()
    else:
        give_up(response)


def _endless(idle: float | None) -> aiohttp.ClientTimeout:
    """`idle`: seconds between two parts of the answer."""
    return aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT, sock_read=idle)


@lru_cache(maxsize=256)
def _encoded(query: tuple[tuple[str, str], ...]) -> str:
    """Thousands of requests ask with the same few words."""
    return urlencode(query)
