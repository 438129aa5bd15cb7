"""Things that go wrong on demand: a cluster that is away, slow, overloaded, or that somebody else writes to as well.

One ``Faults`` belongs to one cluster and stands between its port and its pipeline; code inside the process
(controllers, tests through ``cluster.api``) is not disturbed. Faults last until they are cleared, or for so many
requests. Which requests of a share fail is counted, not drawn, so that a test sees the same ones every time.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
from aiohttp import web

from kubesim import status
from kubesim.cluster import Cluster
from kubesim.server import api as pipeline
from kubesim.server import request as requests
from kubesim.server.request import Request, Response
from kubesim.store import Event

Body = dict[str, Any]

_REASONS: Final = {429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout"}
_TEXTS: Final = {
    429: "the server has received too many requests and has asked us to try again later",
    500: "an error on the server has prevented the request from succeeding",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Which requests are meant. Empty fields mean all. ``verb`` is Kubernetes' (get, list, watch, create, update,
    patch, delete); ``resource`` the plural without group."""

    verb: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""

    def holds(self, address: requests.Address | None) -> bool:
        if address is None:
            return not (self.verb or self.resource or self.namespace or self.name)
        pairs = (
            (self.verb, address.verb),
            (self.resource, address.resource),
            (self.namespace, address.namespace),
            (self.name, address.name),
        )
        return all(not wanted or wanted == actual for wanted, actual in pairs)


@dataclass(slots=True)
class _Failure:
    match: Match
    code: int
    share: float
    retry_after: int
    times: int | None
    _due: float = 0.0

    def strikes(self) -> bool:
        if self.times == 0:
            return False
        self._due += self.share
        if self._due < 1.0 - 1e-9:
            return False
        self._due -= 1.0
        if self.times is not None:
            self.times -= 1
        return True


@dataclass(slots=True)
class _Intruder:
    resource: str
    path: tuple[str, ...]
    value: Any
    manager: str
    names: frozenset[str]
    times: int | None
    busy: set[str] = field(default_factory=set)


class Faults:
    """``cluster`` must not be started yet. ``door.Door`` asks ``refusal`` about each request."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._failures: list[_Failure] = []
        self._rejections: list[tuple[Match, str]] = []
        self._delays: list[tuple[Match, float]] = []
        self._intruders: list[_Intruder] = []
        self._cuts: list[_Failure] = []
        self._cleared = asyncio.Event()
        self._resets = False
        self._port = 0
        self.requests = 0
        """Requests that came in over the port."""
        cluster.gate = self._gate
        cluster.world.store.observers.append(self._observe)

    # being away

    async def down(self, how: str = "refuse") -> None:
        """``refuse``: nobody listens on the port. ``reset``: connections are cut as soon as they ask for something."""
        if how == "reset":
            self._resets = True
        elif self._cluster.url:
            self._port = int(self._cluster.url.rpartition(":")[2])
            await self._cluster.stop()

    async def up(self) -> None:
        """Back under the same address, with everything it knew."""
        self._resets = False
        if not self._cluster.url:
            await self._cluster.start(self._port)

    def drop_watches(self) -> None:
        """Ends all open watches; their clients have to come back."""
        for name in self._cluster.world.store.names():
            self._cluster.world.store.cut(name)

    # answers

    def slow(self, seconds: float, **match: str) -> None:
        """Requests that match (fields of ``Match``) are kept waiting first, until the faults are cleared at most."""
        self._delays.append((Match(**match), seconds))

    def fail(
        self, code: int, *, share: float = 1.0, retry_after: int = 1, times: int | None = None, **match: str
    ) -> None:
        """``share`` of the requests that match are answered so; with ``times`` no more than that many."""
        self._failures.append(_Failure(Match(**match), code, share, retry_after, times))

    def reject(self, message: str = "not allowed here", **match: str) -> None:
        """Writes that match are refused, as by an admission webhook; deletions only where ``verb`` names them."""
        self._rejections.append((Match(**match), message))

    def cut(self, *, times: int | None = None, **match: str) -> None:
        """What matching requests ask for is done, and the connection is reset in the middle of the answer."""
        self._cuts.append(_Failure(Match(**match), 0, 1.0, 0, times))

    def overwrite(
        self,
        resource: str,
        path: Sequence[str],
        value: Any,
        *,
        manager: str = "kubectl-edit",
        names: Sequence[str] = (),
        times: int | None = None,
    ) -> None:
        """Somebody else who wants ``value`` at ``path`` of each such object (``deployments.apps``), and writes it at
        once whenever it is not."""
        self._intruders.append(_Intruder(resource, tuple(path), value, manager, frozenset(names), times))

    def clear(self) -> None:
        """No more faults but being away (``up``)."""
        self._failures.clear()
        self._cuts.clear()
        self._rejections.clear()
        self._delays.clear()
        self._intruders.clear()
        self._cleared.set()
        self._cleared = asyncio.Event()

    # at work

    async def _gate(self, raw: web.BaseRequest) -> bool:
        self.requests += 1
        if self._resets:
            if raw.transport is not None:
                raw.transport.abort()
            return False
        if self._delays:
            query: dict[str, list[str]] = {}
            for key, value in raw.query.items():
                query.setdefault(key, []).append(value)
            address = requests.locate(raw.method, raw.rel_url.raw_path, query)
            waits = [seconds for match, seconds in self._delays if match.holds(address)]
            if waits:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._cleared.wait(), max(waits))
        return True

    def refusal(self, req: Request) -> Response | None:
        """What to answer instead of the truth."""
        if not (self._failures or self._rejections):
            return None
        address = requests.locate(req.method, req.path, req.query)
        for failure in self._failures:
            if failure.match.holds(address) and failure.strikes():
                return _failed(failure)
        if address is not None and address.verb in ("create", "update", "patch", "delete"):
            for match, message in self._rejections:
                if address.verb == "delete" and match.verb != "delete":
                    continue
                name = address.name or _sent_name(req)
                if match.holds(requests.Address(**{**_fields(address), "name": name})):
                    return pipeline.refusal(_denied(address, name, message))
        return None

    def spoiled(self, req: Request, response: Response) -> Response:
        """The true answer, of which not all may arrive."""
        if self._cuts and response.stream is None:
            address = requests.locate(req.method, req.path, req.query)
            cuts = [cut for cut in self._cuts if cut.match.holds(address)]
            response.breaks_off = bool(cuts) and cuts[0].strikes()
        return response

    def _observe(self, collection: str, event: Event) -> None:
        for intruder in self._intruders:
            if intruder.resource == collection and event.new is not None:
                self._cluster.world.later(functools.partial(self._intrude, intruder, event.key))

    def _intrude(self, intruder: _Intruder, key: str) -> None:
        record = self._cluster.world.store.get(intruder.resource, key)
        namespace, _, name = key.rpartition("/")
        if record is None or intruder.times == 0 or (intruder.names and name not in intruder.names):
            return
        value: Any = record.body
        for part in intruder.path:
            value = value.get(part) if isinstance(value, dict) else None
        if value == intruder.value:
            return
        if intruder.times is not None:
            intruder.times -= 1
        patch: Any = intruder.value
        for part in reversed(intruder.path):
            patch = {part: patch}
        # Refused, or on its way out: nothing left to disturb.
        with contextlib.suppress(status.ApiError):
            self._cluster.client(intruder.manager).patch(intruder.resource, namespace, name, patch)


def _failed(failure: _Failure) -> Response:
    details: Body = {"retryAfterSeconds": failure.retry_after} if failure.code in (429, 503, 504) else {}
    text = _TEXTS.get(failure.code, "the request failed")
    return pipeline.refusal(status.ApiError(failure.code, _REASONS.get(failure.code, ""), text, details))


def _denied(address: requests.Address, name: str, message: str) -> status.ApiError:
    text = f'admission webhook "faults.kubesim.io" denied the request: {message}'
    return status.ApiError(403, "Forbidden", text, {})


def _sent_name(req: Request) -> str:
    try:
        body = orjson.loads(req.body)
    except orjson.JSONDecodeError:
        return ""
    return str(((body if isinstance(body, dict) else {}).get("metadata") or {}).get("name") or "")


def _fields(address: requests.Address) -> Body:
    return {one.name: getattr(address, one.name) for one in dataclasses.fields(address)}
