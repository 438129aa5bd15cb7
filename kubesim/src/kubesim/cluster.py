"""One embedded cluster: started, spoken to over loopback or from within, stopped; nothing of it stays."""

from __future__ import annotations

from typing import Any, Final

from kubesim import bootstrap, crd, kinds
from kubesim.client import Client
from kubesim.containers import metrics
from kubesim.definitions import Definitions
from kubesim.gc import GarbageCollector
from kubesim.kind import Clock, Kind
from kubesim.namespaces import NamespaceController
from kubesim.registry import Registry
from kubesim.server.api import Api
from kubesim.server.http import Gate, HttpServer
from kubesim.server.request import User
from kubesim.server.world import SystemClock, World

TOKEN: Final = "admintoken"
"""Of the user ``admin``, who may do everything. No secret: the cluster listens on loopback and lives as long as its
process."""


class Cluster:
    """``controllers`` adds the namespace controller, the garbage collector and the resource metrics; definitions are
    always acted on.

    ``clock`` gives all times in objects (tests advance their own); ``seed`` makes uids and generated names repeatable.
    """

    def __init__(
        self,
        name: str,
        *,
        clock: Clock | None = None,
        controllers: bool = False,
        token: str = TOKEN,
        seed: int | None = None,
    ) -> None:
        self.name = name
        self._token = token
        registry = Registry([*_all_kinds(), *(metrics.KINDS if controllers else ())])
        admin = User("admin", "admin", ("system:masters",))
        self.world = World(registry, clock or SystemClock(), tokens={token: admin}, seed=seed)
        self._definitions = Definitions(self.world)
        self.handler = Api(self.world)
        bootstrap.fill(self.world)
        if controllers:
            self._collector = GarbageCollector(self.world)
            self._namespaces = NamespaceController(self.world)
        self.gate: Gate | None = None
        """Set before ``start``: sees every connection's requests first (faults)."""
        self._http: HttpServer | None = None
        self._url = ""

    @property
    def url(self) -> str:
        """ "" while not started."""
        return self._url

    @property
    def api(self) -> Client:
        """The in-process door, for tests and faults. Controllers open their own with their own name."""
        return self.client("kubesim")

    def client(self, manager: str) -> Client:
        return Client(self.world, manager)

    async def start(self, port: int = 0) -> str:
        """The base address, ``http://127.0.0.1:PORT``. A cluster that was stopped may be started again and remembers
        everything."""
        self._http = HttpServer(self.handler, self.gate)
        self._url = f"http://127.0.0.1:{await self._http.start(port)}"
        return self._url

    async def stop(self) -> None:
        """Closes the port and all watches."""
        if self._http is not None:
            await self._http.stop()
            self._http = None
        self._url = ""

    def forget(self) -> None:
        """Drops all history: versions, continue tokens and watches from before are gone (410)."""
        self.world.store.forget()

    def kubeconfig(self) -> dict[str, Any]:
        """One context, named as the cluster. Only while started."""
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": self.name, "cluster": {"server": self._url}}],
            "users": [{"name": self.name, "user": {"token": self._token}}],
            "contexts": [{"name": self.name, "context": {"cluster": self.name, "user": self.name}}],
            "current-context": self.name,
        }


def _all_kinds() -> list[Kind]:
    """In the order of discovery, where definitions stand before scheduling."""
    builtin = kinds.builtin()
    place = next((index for index, kind in enumerate(builtin) if kind.group == "scheduling.k8s.io"), len(builtin))
    return [*builtin[:place], crd.definition_kind(), *builtin[place:]]
