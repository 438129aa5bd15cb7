"""Which clusters a pool has: the hub is asked again and again, and what it said last counts while it is away."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable

import aiohttp
import orjson

from gitfed import errors
from gitfed.agent.hub_endpoint import HubEndpoint, why_not_connected
from gitfed.model.base import ClusterName

log = logging.getLogger("gitfed.agent")

PATH = "/agents/v1/pool"
_AGAIN = 5.0
_TIMEOUT = 15.0


class PoolClusters:
    """`run` it until it is cancelled; `told` hears each answer."""

    def __init__(
        self, hub: HubEndpoint, told: Callable[[frozenset[ClusterName]], None], *, again: float = _AGAIN
    ) -> None:
        self.error = "the hub was not reached yet"
        """Why the hub's list is not known, or may be old."""
        self._hub = hub
        self._told = told
        self._again = again

    async def run(self) -> None:
        while True:
            try:
                self._told(await self._ask())
                self._say("")
            except errors.LinkError as error:
                self._say(error.message)
            except (OSError, aiohttp.ClientError, TimeoutError) as error:
                self._say(why_not_connected(error))
            await asyncio.sleep(self._again)

    async def _ask(self) -> frozenset[ClusterName]:
        secure = self._hub.url.startswith("https://")
        context = await asyncio.to_thread(self._hub.context) if secure else None
        timeout = aiohttp.ClientTimeout(total=_TIMEOUT)
        async with aiohttp.ClientSession(timeout=timeout, trust_env=False) as http:
            answer = await http.get(f"{self._hub.url.rstrip('/')}{PATH}", ssl=context or True, allow_redirects=False)
            async with answer:
                data = await answer.read()
        if answer.status != 200:
            raise errors.LinkError(_REFUSED.get(answer.status, f"the hub answers {answer.status}"))
        with contextlib.suppress(ValueError, KeyError, TypeError):
            return frozenset(map(str, orjson.loads(data)["clusters"]))
        raise errors.LinkError("the hub does not say which clusters the pool has")

    def _say(self, error: str) -> None:
        if error and error != self.error:
            log.warning("the clusters of the pool are not known", extra={"hub": self._hub.url, "error": error})
        self.error = error


_REFUSED = {
    401: "the hub does not accept this certificate",
    403: "the hub takes this certificate for no pool's",
    404: "this hub knows no pools: it is too old",
    503: "the hub has read no commit yet",
}
