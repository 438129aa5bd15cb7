"""Accepting connections, within limits: of an unknown client only the address is known.

aiohttp serves requests; what comes before a request is ours. A connection that shakes no hands, or sends no complete
request head, is closed after some seconds, however slowly it dribbles. One address may have half of all connections at
most, and all together fewer than the process has file descriptors: Git and the clusters need theirs. At a limit,
the connection that has waited longest for its first request is closed: a client that asks at once is answered, however
many others hold connections open and ask nothing, even from the same address (behind a load balancer all have one).
Agents that were let in are no strangers: each cluster has one connection, and they count towards neither limit.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import resource
import socket
import ssl
from collections import Counter
from typing import Any

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from gitfed.text.values import dataclass

log = logging.getLogger("gitfed.hub")

_BACKLOG = 256
_NO_ROOM = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_MOST_DESCRIPTORS = 1 << 16
_PAUSE = 1.0
"""Seconds without accepting, when the system has no descriptor left."""
_SHUTDOWN = 5.0
"""Seconds that requests under way have to end in."""


def _most_connections() -> int:
    """A third of the process's descriptors."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1024 if soft == resource.RLIM_INFINITY else max(16, min(1024, soft // 3))


def raise_descriptor_limit() -> None:
    """To what the system lets this process have. Many systems begin with 1,024, fewer than a fleet has agents."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _MOST_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    connections: int = 0
    """0: what the process can afford."""
    per_address: int = 0
    """0: half of that."""
    handshake: float = 10.0
    """Seconds for TLS."""
    head: float = 10.0
    """Seconds from one answer, or from the handshake, until the next request's head is complete."""

    def resolved(self) -> ConnectionLimits:
        most = self.connections or _most_connections()
        return ConnectionLimits(most, self.per_address or max(1, most // 2), self.handshake, self.head)


class Listener:
    """`start` it with an application that is set up (`web.AppRunner`); `stop` ends every connection."""

    def __init__(self, app: web.Application, limits: ConnectionLimits | None = None) -> None:
        self.limits = (limits or ConnectionLimits()).resolved()
        self.port = 0
        self.plain_port = 0
        """Of the second socket, which has no TLS; 0: there is none."""
        self.open = 0
        """Connections, with those that are still shaking hands."""
        self.refused: Counter[str] = Counter()
        """Connections that were closed at once or cut off, by reason."""
        self._runner = web.AppRunner(
            app,
            access_log=None,
            handle_signals=False,
            auto_decompress=False,
            keepalive_timeout=self.limits.head,
            shutdown_timeout=_SHUTDOWN,
        )
        self._strangers: dict[asyncio.Task[None], str] = {}
        """Connections that count, by address."""
        self._by_address: Counter[str] = Counter()
        self._sockets: list[socket.socket] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._silent: dict[asyncio.Task[None], str] = {}
        """Connections without a first request, by address, the longest wait first."""

    async def start(
        self, host: str, port: int, context: ssl.SSLContext | None = None, *, plain_too: bool = False
    ) -> None:
        """Raises OSError when the address cannot be used. Port 0 chooses one; see `port`. `plain_too`: a port of the
        system's choice on 127.0.0.1 answers without TLS."""
        await self._runner.setup()
        loop = asyncio.get_running_loop()
        addresses = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        contexts: dict[socket.socket, ssl.SSLContext | None] = {}
        try:
            for family, _, _, _, address in dict.fromkeys(addresses):
                place = (address[0], self.port or address[1], *address[2:])
                self._sockets.append(_bound(family, place))
                self.port = self._sockets[0].getsockname()[1]
            contexts = dict.fromkeys(self._sockets, context)
            if plain_too:
                plain = _bound(socket.AF_INET, ("127.0.0.1", 0))
                self._sockets.append(plain)
                self.plain_port = plain.getsockname()[1]
                contexts[plain] = None
        except OSError:
            await self.stop()
            raise
        for listening, its in contexts.items():
            self._keep(asyncio.create_task(self._accept(listening, its), name="hub-accept"))

    async def stop(self) -> None:
        for listening in self._sockets:
            with contextlib.suppress(OSError):
                asyncio.get_running_loop().remove_reader(listening)
            listening.close()
        self._sockets.clear()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._runner.cleanup()

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accept(self, listening: socket.socket, context: ssl.SSLContext | None) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, address = await loop.sock_accept(listening)
            except OSError as error:
                if error.errno not in _NO_ROOM:
                    continue  # it was gone before we looked
                log.warning("no connection can be accepted", extra={"error": error.strerror})
                await asyncio.sleep(_PAUSE)
                continue
            self._keep(loop.create_task(self._take(connection, str(address[0]), context)))

    async def _take(self, connection: socket.socket, address: str, context: ssl.SSLContext | None) -> None:
        if not await self._room(address):
            self.refused["too many"] += 1
            connection.close()
            return
        limits = self.limits
        task = asyncio.current_task()
        assert task is not None
        self.open += 1
        self._by_address[address] += 1
        self._strangers[task] = self._silent[task] = address
        server = self._runner.server
        assert server is not None
        gone = asyncio.Event()
        made: list[_Connection] = []

        def protocol() -> _Connection:
            made.append(_Connection(self, gone, task, server, loop=loop, **server._kwargs))
            return made[0]

        loop = asyncio.get_running_loop()
        secured = {"ssl_handshake_timeout": limits.handshake, "ssl_shutdown_timeout": 2.0} if context else {}
        try:
            connection.setblocking(False)
            with contextlib.suppress(OSError):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await loop.connect_accepted_socket(protocol, connection, ssl=context, **secured)
            await gone.wait()
        except asyncio.CancelledError:
            for accepted in made:
                accepted.force_close()
            raise
        except (OSError, ssl.SSLError, EOFError):
            self.refused["handshake"] += 1
            connection.close()
        finally:
            self._silent.pop(task, None)
            self.open -= 1
            self.no_stranger(task)

    def no_stranger(self, connection: asyncio.Task[None]) -> None:
        """It counts no more towards the limits."""
        address = self._strangers.pop(connection, None)
        if address is None:
            return
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]

    def asked(self, connection: asyncio.Task[None]) -> None:
        """It is not silent any more: nothing but its own time-outs ends it."""
        self._silent.pop(connection, None)

    async def _room(self, address: str) -> bool:
        """Whether one more from there is within the limits, once the longest silent one is closed."""
        while True:
            crowded = self._by_address[address] >= self.limits.per_address
            if not crowded and len(self._strangers) < self.limits.connections:
                return True
            longest = next((task for task, where in self._silent.items() if not crowded or where == address), None)
            if longest is None:
                return False
            del self._silent[longest]
            self.refused["made way"] += 1
            longest.cancel()
            await asyncio.wait([longest])


class _Connection(RequestHandler):
    """aiohttp's side of one connection; it ends those whose next request takes too long to begin."""

    __slots__ = ("_head_due", "_listener", "_task", "gone")

    def __init__(
        self, listener: Listener, gone: asyncio.Event, task: asyncio.Task[None], server: Any, **options: Any
    ) -> None:
        super().__init__(server, **options)
        self._listener = listener
        self._task = task
        self.gone = gone
        self._head_due: asyncio.TimerHandle | None = None
        make = self._request_factory

        def request(*parts: Any) -> Any:
            self._head_is_there()
            listener.asked(task)
            return make(*parts)  # type: ignore[misc]

        self._request_factory = request

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._head_due = self._loop.call_later(self._listener.limits.head, self._give_up)
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._head_is_there()
        self.gone.set()
        super().connection_lost(exc)

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """What is no HTTP is the client's mistake: it gets no echo, and no traceback in our log."""
        if status >= 500:
            return super().handle_error(request, status, exc, message)
        self._listener.refused["no HTTP"] += 1
        answer = web.Response(status=status, text="this is no HTTP request\n", headers={"Server": "gitfed"})
        answer.force_close()
        return answer

    def _head_is_there(self) -> None:
        if self._head_due is not None:
            self._head_due.cancel()
            self._head_due = None

    def is_no_stranger(self) -> None:
        self._listener.no_stranger(self._task)

    def _give_up(self) -> None:
        self._listener.refused["no request"] += 1
        self.force_close()


def gone(request: web.Request) -> asyncio.Event:
    """Set when the caller has hung up."""
    connection = request.protocol
    assert isinstance(connection, _Connection)
    return connection.gone


def is_no_stranger(request: web.Request) -> None:
    """An agent's connection, of which each cluster has one, counts towards no limit."""
    connection = request.protocol
    if isinstance(connection, _Connection):
        connection.is_no_stranger()


def _bound(family: int, address: Any) -> socket.socket:
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind(address)
        bound.listen(_BACKLOG)
        bound.setblocking(False)
    except OSError:
        bound.close()
        raise
    return bound
