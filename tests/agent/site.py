"""A pulled cluster in one process: the hub's member, an agent's keeper, and a connection that can be cut."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from gitfed.agent.keeper import Keeper
from gitfed.agent_protocol.link import Link, LinkHandlers
from gitfed.daemon.fleet.callbacks import FleetCallbacks
from gitfed.daemon.fleet.member_context import MemberContext
from gitfed.daemon.fleet.member_protocol import Expected, unlike_in
from gitfed.daemon.fleet.pulled.member import PulledMember
from gitfed.edges.kube.connection.session import Session
from gitfed.errors import LinkCut, LinkError
from gitfed.interpret.native import Native
from gitfed.interpret.registry import Interpreter
from gitfed.model.agent_presence import BY_ITSELF, Holding
from gitfed.model.base import BindingId, Body, Digest, Kind, ObjectKey, Origin
from gitfed.model.decisions import Scheduled
from gitfed.model.declared.cluster import Cluster
from gitfed.model.fleet import ApplyResult
from gitfed.model.plan import Action, Binding, Change, RenderedManifest, Write
from gitfed.text import canonical
from kubesim import cluster as sim
from kubesim.fleet import ClusterSpec, Fleet
from tests.daemon.one_member import NOW, QUICK
from tests.edges.kube.answering import connection
from tests.support import patience


def declared(name: str, pool: str = "") -> Cluster:
    metadata = {"name": name, "annotations": {"gitfed.io/pool": pool}} if pool else {"name": name}
    return Cluster.model_validate(
        {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": metadata,
         "spec": {"syncMode": "Push" if pool else "Pull"}}
    )  # fmt: skip


DECLARED = declared("m1")
MAPS = "/api/v1/namespaces/default/configmaps"
LABELS = {"gitfed.io/federation": "acme", "gitfed.io/binding": "b"}
INTERPRETER = Interpreter((Native(),))


def key(name: str) -> ObjectKey:
    return ObjectKey("", "ConfigMap", "default", name)


def rendered(name: str, value: str) -> RenderedManifest:
    body: Body = {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default", "labels": LABELS},
        "data": {"value": value},
    }  # fmt: skip
    return RenderedManifest(
        key(name), BindingId("b"), body, Digest(canonical.digest(body)), ("m1",), None, Origin("a.yaml")
    )


def created(manifest: RenderedManifest) -> Change:
    return Change("m1", manifest.key, "v1", Action.CREATE, write=Write(rendered=manifest))


@dataclass(frozen=True)
class Planned:
    """What of a plan a slice reads."""

    bindings: Mapping[ObjectKey, Binding]
    changes: tuple[Change, ...] = ()


def expected(
    *manifests: RenderedManifest, changes: tuple[Change, ...] = (), repairs: bool = True,
    interpreter: Interpreter = INTERPRETER,
) -> Expected:  # fmt: skip
    bindings = {
        one.key: Binding(one.binding, one.key, "v1", one.origin, Scheduled()) for one in manifests
    }  # fmt: skip
    plan: Any = Planned(bindings, changes)
    return Expected(
        plan, interpreter, {"m1": {one.key: one for one in manifests}}, set(), [one.key for one in manifests],
        frozenset({Kind("", "ConfigMap")}), lambda cluster, key: repairs,
        frozenset({("v1", "ConfigMap")}), unlike_in({"m1"}, plan),
    )  # fmt: skip


class _End:
    """One end of a connection in memory."""

    def __init__(self) -> None:
        self.inbox: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.other: _End = self

    async def send(self, data: bytes) -> None:
        self.other.inbox.put_nowait(data)

    async def receive(self) -> bytes:
        data = await self.inbox.get()
        if data is None:
            self.inbox.put_nowait(None)
            raise LinkCut("the other side is gone")
        return data

    async def close(self) -> None:
        for end in (self, self.other):
            end.inbox.put_nowait(None)


@dataclass
class Site:
    fleet: Fleet
    name: str = "m1"
    hubs: list[PulledMember] = field(default_factory=list)
    keepers: list[Keeper] = field(default_factory=list)
    results: list[tuple[str, str]] = field(default_factory=list)
    """(object, outcome) that a hub heard."""
    messages: list[str] = field(default_factory=list)
    """Of these results."""
    _links: dict[Keeper, Link] = field(default_factory=dict)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def hub(
        self, *, lease: float = 5.0, changed: Callable[..., None] = lambda *_: None, pool: str = "", **options: Any
    ) -> PulledMember:
        def finished(change: Change, result: ApplyResult) -> None:
            self.results.append((result.key.name, result.outcome))
            self.messages.append(result.message)

        upward = FleetCallbacks(
            assess=lambda *_: (_ for _ in ()).throw(AssertionError("the agent compares")), changed=changed,
            relisted=lambda *_: None, facts_changed=lambda *_: None, finished=finished, now=lambda: NOW,
            redact=lambda body, text: text, troubled=lambda *_: None,
        )  # fmt: skip
        context = MemberContext(**{"federation": "acme", "repository_id": lambda: "id", **options})
        member = PulledMember(declared(self.name, pool), upward, context, lease=lease)
        member.want_capacity(False)
        member.claim()
        self.hubs.append(member)
        self._begin(member.run())
        return member

    def keeper(self, **options: Any) -> Keeper:
        def open_session(cluster: Cluster) -> Session:
            way = connection(self.fleet[self.name].url, headers={"Authorization": f"Bearer {sim.TOKEN}"})
            return Session(self.name, way)

        keeper = Keeper(self.name, open_session, timing=QUICK, **options)
        self.keepers.append(keeper)
        self._begin(keeper.run())
        return keeper

    async def connect(
        self, hub: PulledMember, keeper: Keeper, instance: str = "one", *, holding: Holding = BY_ITSELF
    ) -> Callable[[], Any]:
        """The handshake, and both ends begin. What is given back cuts it."""
        hub.agent.may_attach(instance, holding)
        if keeper.connected:  # an agent has one connection: it gave up the older one before
            await self._links[keeper].close(LinkError("half open"))
            await self._links[keeper].ended.wait()
        ours, theirs = _End(), _End()
        ours.other, theirs.other = theirs, ours
        at_hub = LinkHandlers(hub.taken, hub.answer, hub.heard)
        here = Link(ours, hub.told, hub.reports.heard, at_hub, lease=hub.lease)
        at_agent = LinkHandlers(keeper.taken, keeper.asked)
        there = Link(theirs, keeper.reporter.told, keeper.heard, at_agent, lease=hub.lease)
        hub.connected(changed_hands=await hub.agent.attach(here, instance, holding=holding))
        hub.told.connect(keeper.heard.connect())
        keeper.reporter.told.connect(hub.reports.heard.connect())
        keeper.poke, keeper.connected = there.poke, True
        self._links[keeper] = there

        async def serve(link: Link, over: Callable[[LinkError], None]) -> None:
            try:
                await link.run()
            except LinkError as error:
                await link.close(error)
                over(error)

        def lost(error: LinkError) -> None:
            keeper.connected = False
            self.ended.append(error.message)

        self._begin(serve(here, lambda error: hub.agent.detach(here, error)))
        self._begin(serve(there, lost))
        return ours.close

    ended: list[str] = field(default_factory=list)
    """Why an agent's connections ended."""

    def _begin(self, work: Any) -> None:
        self._tasks.append(asyncio.create_task(work))

    async def end(self, keeper: Keeper) -> None:
        """As SIGTERM does."""
        task = self._tasks[[*self.keepers].index(keeper)]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- the cluster itself -------------------------------------------------------------------------------------

    async def ask(self, method: str, path: str, body: object = None, content_type: str = "") -> Any:
        session = Session("m1", connection(self.fleet["m1"].url, headers={"Authorization": f"Bearer {sim.TOKEN}"}))
        try:
            return await session.json(method, path, body=body, **({"content_type": content_type} if body else {}))
        finally:
            await session.close()

    async def value(self, name: str) -> str | None:
        with suppress(Exception):
            return str((await self.ask("GET", f"{MAPS}/{name}"))["data"]["value"])
        return None

    async def edit(self, name: str, value: str) -> None:
        await self.ask("PATCH", f"{MAPS}/{name}", {"data": {"value": value}}, "application/merge-patch+json")


@asynccontextmanager
async def site(*, controllers: bool = False) -> AsyncIterator[Site]:
    """`controllers`: pods run there."""
    fleet = Fleet([ClusterSpec(name="m1", nodes=1, controllers=controllers)])
    await fleet.start()
    made = Site(fleet)
    try:
        yield made
    finally:
        await made.close()
        await fleet.stop()


async def holds(place: Site, name: str, value: str | None) -> None:
    async with asyncio.timeout(patience.SECONDS):
        while await place.value(name) != value:  # noqa: ASYNC110 - a cluster is asked
            await asyncio.sleep(0.02)
