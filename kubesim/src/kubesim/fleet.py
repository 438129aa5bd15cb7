"""Several clusters in one process: declared, started together, reached through one kubeconfig file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from kubesim.cluster import Cluster
from kubesim.control import Control
from kubesim.controllers import Controllers, Settings, nodes
from kubesim.door import Door
from kubesim.faults import Faults
from kubesim.kind import Clock

Body = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSpec:
    """One cluster: so many equal nodes, where they are said to stand, and whether anything happens in it by itself."""

    name: str
    nodes: int = 3
    cpu: str = "4"
    memory: str = "8Gi"
    pods: int = 110
    region: str = ""
    zones: tuple[str, ...] = ()
    """Nodes are spread over them in turn."""
    controllers: bool = True
    port: int = 0
    """0: any free one."""


class Member:
    """A running cluster of a fleet."""

    def __init__(self, spec: ClusterSpec, clock: Clock | None, settings: Settings | None, seed: int | None) -> None:
        self.spec = spec
        self._settings = settings
        self.cluster = Cluster(spec.name, clock=clock, controllers=spec.controllers, seed=seed)
        self.faults = Faults(self.cluster)
        self.cluster.handler = self.door = Door(self.cluster.handler, self.faults)
        self.api = self.cluster.api
        """The cluster from within: no faults, no port."""
        self._controllers: Controllers | None = None
        for number in range(spec.nodes):
            self._add_node(number)

    def _add_node(self, number: int) -> None:
        spec, name = self.spec, f"{self.spec.name}-node-{number + 1}"
        labels = {"topology.kubernetes.io/region": spec.region} if spec.region else {}
        if spec.zones:
            labels["topology.kubernetes.io/zone"] = spec.zones[number % len(spec.zones)]
        body = self.api.create("nodes", nodes.new(name, number, labels=labels))
        now = self.cluster.world.now()
        status = nodes.status(name, number, now, cpu=spec.cpu, memory=spec.memory, pods=spec.pods)
        kubelet = self.cluster.client("kubelet")
        kubelet.update("nodes", {**body, "status": status}, subresource="status")
        # New nodes are marked as not ready; without controllers nobody else would take the mark away.
        kubelet.patch("nodes", "", name, {"spec": {"taints": None}})

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def url(self) -> str:
        return self.cluster.url

    async def start(self) -> None:
        await self.cluster.start(self.spec.port)
        if self.spec.controllers:
            self._controllers = Controllers(self.cluster.world, self._settings)

    async def stop(self) -> None:
        if self._controllers is not None:
            self._controllers.stop()
            self._controllers = None
        await self.cluster.stop()


class Fleet:
    """``async with Fleet([ClusterSpec(name="a"), …]) as fleet: fleet["a"].api.list("pods")``.

    ``clock`` gives the times in objects; ``settings`` how long pods take; ``seed`` makes uids and generated names
    repeatable.
    """

    def __init__(
        self,
        specs: Iterable[ClusterSpec],
        *,
        clock: Clock | None = None,
        settings: Settings | None = None,
        seed: int | None = None,
    ) -> None:
        self._members: dict[str, Member] = {}
        for number, spec in enumerate(specs):
            if spec.name in self._members:
                raise ValueError(f"two clusters are called {spec.name}")
            self._members[spec.name] = Member(spec, clock, settings, None if seed is None else seed + number)
        self._control = Control({"fail": self._fail, "recover": self._recover})

    async def _fail(self, name: str) -> str:
        member = self._named(name)
        if not member.url:
            return f"{name} is away already"
        await member.faults.down()
        return f"{name} is away"

    async def _recover(self, name: str) -> str:
        member = self._named(name)
        if member.url:
            return f"{name} is there"
        await member.faults.up()
        return f"{name} is back"

    def _named(self, name: str) -> Member:
        if name not in self._members:
            raise LookupError(f"there is no cluster {name!r}, only {' '.join(self._members)}")
        return self._members[name]

    def __getitem__(self, name: str) -> Member:
        return self._members[name]

    def __iter__(self) -> Iterator[Member]:
        return iter(self._members.values())

    async def start(self) -> None:
        for member in self:
            await member.start()
        await self._control.start()

    async def stop(self) -> None:
        """Closes all ports. Nothing is kept."""
        await self._control.stop()
        for member in self:
            await member.stop()

    async def __aenter__(self) -> Fleet:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    def kubeconfig(self) -> Body:
        """One context for each cluster, of its name; the first one is current. Only while started. Its extension says
        where the fleet takes orders (``control``)."""
        merged: Body = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [],
            "users": [],
            "contexts": [],
            "current-context": "",
        }
        for member in self:
            one = member.cluster.kubeconfig()
            for part in ("clusters", "users", "contexts"):
                merged[part] += one[part]
            merged["current-context"] = merged["current-context"] or member.name
        extension = self._control.extension()
        return {**merged, "extensions": [extension]} if extension is not None else merged

    def write_kubeconfig(self, path: Path) -> Path:
        """As JSON, which kubeconfig files may be; readable by the user alone."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_bytes(orjson.dumps(self.kubeconfig(), option=orjson.OPT_INDENT_2))
        return path
