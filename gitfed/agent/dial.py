"""One connection to the hub, again and again: the agent dials, because the hub cannot reach into its network."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp

import gitfed
from gitfed import errors
from gitfed.agent import streams
from gitfed.agent.hub_endpoint import HubEndpoint, why_not_connected
from gitfed.agent.keeper import Keeper
from gitfed.agent.streams import Streams
from gitfed.agent_protocol import frames, link
from gitfed.agent_protocol.socket import WebSocket
from gitfed.edges.backoff import Backoff

log = logging.getLogger("gitfed.agent")

PATH = "/agents/v1/connection"
_PAUSES = Backoff((0.5, 1.0, 2.0, 5.0, 10.0), 0.2, 0.2)
_SOON = Backoff((0.5, 1.0, 2.0, 5.0), 0.2, 0.2)
"""The same after a hub that answers said to come again: it begins, or another one leads in a moment."""
_LEASE = 40.0
"""Seconds after which a hub gives up an agent, until it was heard how many those are (its default)."""
_STEADY = 30.0
"""Seconds that a connection has to hold for the next failure to be the first again."""
_HANDSHAKE = 15.0


class Dial:
    """`run` it until it is cancelled."""

    def __init__(
        self, hub: HubEndpoint, keeper: Keeper, streams: Streams | None = None, *, says: Mapping[str, str] | None = None
    ) -> None:
        """`streams`: None for an agent that opens no way into its cluster. `says`: what a member of a pool says of
        itself (`hub.agents.calling`)."""
        self._says = dict(says or {})
        self.error = "the hub was not reached yet"
        """Why there is no connection; "" while there is one."""
        self.connections = 0
        """That there were."""
        self._messages = 0
        """Of earlier connections."""
        self._hub = hub
        self._keeper = keeper
        self._streams = streams
        self._heard = 0.0
        """When there was a connection."""
        self._instance = uuid.uuid4().hex
        self._link: link.Link | None = None
        self._lease = _LEASE

    @property
    def messages(self) -> int:
        """To and from the hub."""
        return self._messages + (self._link.messages if self._link is not None else 0)

    async def run(self) -> None:
        attempt = 0
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            refusal: errors.LinkError | None = None
            try:
                await self._connect()
            except errors.LinkError as error:
                self._failed(str(error))
                refusal = error
            except (OSError, aiohttp.ClientError, TimeoutError) as error:
                self._failed(why_not_connected(error))
            if self._streams is not None and loop.time() - self._heard > self._lease:
                self._streams.drop()  # the hub has given them up, too
            attempt = 0 if loop.time() - began > _STEADY else attempt + 1
            await asyncio.sleep(self.pause(attempt, refusal))

    def pause(self, attempt: int, refusal: errors.LinkError | None) -> float:
        """Seconds until the next attempt. Half a lease at most, whatever the refusal was: the hub that refuses may be
        replaced by one that does not, and that one waits for a lease until it counts this cluster as lost. Half of that
        where the hub was away: when it is back it plans without agents that do not come soon."""
        if refusal is not None and refusal.final:
            return Backoff((self._lease / 2,), 0.4, 0.0).after(1)
        pauses = _PAUSES if refusal is None or isinstance(refusal, errors.LinkCut) else _SOON
        return min(pauses.after(attempt), Backoff((self._lease / 4,), 0.4, 0.0).after(1))

    def _failed(self, message: str) -> None:
        if message != self.error:
            log.warning("no connection to the hub", extra={"hub": self._hub.url, "error": message})
        self.error = message

    async def _connect(self) -> None:
        keeper = self._keeper
        async with self._socket() as socket:
            hello = frames.Hello(
                frames.OLDEST,
                frames.NEWEST,
                self._instance,
                f"gitfed {gitfed.__version__}",
                tuple(keeper.heard.connect()),
            )
            welcome = await link.greet(socket, hello, _HANDSHAKE)
            self._lease = welcome.lease
            keeper.reporter.told.connect(welcome.digests)
            self._link = connection = link.Link(
                socket,
                keeper.reporter.told,
                keeper.heard,
                link.LinkHandlers(keeper.taken, self._asked),
                lease=welcome.lease,
                life=link.SignsOfLife.of(welcome.version, agent=True),
            )
            keeper.poke, keeper.connected, self.error = connection.poke, True, ""
            self.connections += 1
            log.info("connected to the hub", extra={"hub": self._hub.url, "cluster": keeper.cluster})
            try:
                await connection.run()
            finally:
                keeper.poke, keeper.connected, self._link = _not_connected, False, None
                self._messages += connection.messages
                self._heard = asyncio.get_running_loop().time()

    async def _asked(self, what: str, about: Any) -> Any:
        """Raises LinkError."""
        if what != streams.ASKED:
            return await self._keeper.asked(what, about)
        if self._streams is None:
            raise errors.LinkError("this agent opens no way into its cluster")
        self._streams.dial_back(about)
        return None

    async def say_goodbye(self) -> None:
        """End it in good order: the hub need not wait for a sign of life."""
        if self._link is not None:
            await self._link.close(errors.LinkError("the agent ends"))

    @contextlib.asynccontextmanager
    async def _socket(self) -> AsyncIterator[WebSocket]:
        secure = self._hub.url.startswith("https://")
        context = await asyncio.to_thread(self._hub.context) if secure else None
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_HANDSHAKE)
        async with aiohttp.ClientSession(timeout=timeout, trust_env=False) as session:
            try:
                opened = await asyncio.wait_for(
                    session.ws_connect(
                        f"{self._hub.url.rstrip('/')}{PATH}",
                        params=self._says,
                        ssl=context or True,
                        max_msg_size=frames.LARGEST,
                        compress=0,
                        autoping=False,
                    ),
                    _HANDSHAKE,
                )
            except aiohttp.WSServerHandshakeError as error:
                raise errors.LinkError(_REFUSED.get(error.status, f"the hub answers {error.status}")) from error
            socket = WebSocket(opened)
            try:
                yield socket
            finally:
                await socket.close()


_REFUSED = {
    401: "the hub does not accept this certificate",
    403: "the hub takes this certificate for no agent's",
    404: "this hub has no door for agents: it is too old",
}


def _not_connected() -> None:
    """There is no connection to wake."""
