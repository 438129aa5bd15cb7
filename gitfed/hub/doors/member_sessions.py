"""Connections from doors to members: kept open and shared by all callers, and none of them the daemon's.

What callers send takes nothing of the daemon's request budget, and a long answer to them holds up no repair.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import partial

from gitfed.edges.kube.connection import credentials
from gitfed.edges.kube.connection.client_settings import ClientSettings
from gitfed.edges.kube.connection.credentials import ClusterConnection
from gitfed.edges.kube.connection.session import Relay, Session
from gitfed.errors import CredentialsError, NotThere
from gitfed.hub.server import Hub
from gitfed.model.base import ClusterName
from gitfed.model.declared.cluster import Cluster


class MemberSessions:
    def __init__(self, hub: Hub, *, acts_as: str = "", spares: int = 0) -> None:
        """`acts_as`: the user that the hub's own requests act as in pulled clusters. `spares`: how many of an agent's
        streams are left to others."""
        self._hub = hub
        self._acts_as = acts_as
        self._spares = spares
        self.tally: Counter[tuple[str, str, str]] = Counter()
        """Requests by cluster, method and status."""
        self._open: dict[ClusterName, tuple[object, Session]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._ended = False

    def declared(self) -> dict[ClusterName, Cluster]:
        """The clusters of the commit in force, by name."""
        repo = self._hub.running.repo
        return dict(sorted(repo.clusters.items())) if repo is not None else {}

    def session(self, name: ClusterName) -> Session:
        """Raises NotThere for one that is not declared, CredentialsError for one that is not reached from here."""
        if self._ended:
            raise CredentialsError(f"cluster {name}: this hub is stopping", cluster=name)
        declared = self.declared().get(name)
        if declared is None:
            self._drop(name)
            raise NotThere(f"no cluster {name} is declared")
        pulled = declared.spec.sync_mode == "Pull"
        way = pulled or credentials.way_to(declared)
        if name in self._open and self._open[name][0] == way:
            return self._open[name][1]
        self._drop(name)
        if pulled:
            session = self._through_agent(name)
        elif self._hub.open_session is None:
            raise CredentialsError(f"cluster {name}: this hub reaches no clusters", cluster=name)
        else:
            session = self._hub.open_session(declared, self.tally)
        credentials.check_acts_as_itself(session.connection)
        self._open[name] = way, session
        return session

    def _through_agent(self, name: ClusterName) -> Session:
        """The agent adds its own account's credential to each request, and acts as the caller by impersonation."""

        server = f"http://{name}"

        async def configure() -> ClientSettings:
            """Nothing is dialled from here."""
            return ClientSettings(host=server)

        way = ClusterConnection(name, server, "its agent", configure)
        connector = partial(self._hub.streams.connector, name, spares=self._spares)
        return Session(name, way, tally=self.tally, relay=Relay(True, connector, self._acts_as))

    def _drop(self, name: ClusterName) -> None:
        opened = self._open.pop(name, None)
        if opened is not None:
            task = asyncio.create_task(opened[1].close(for_good=True))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def run(self) -> None:
        """A service: connections end with it."""
        try:
            await asyncio.Event().wait()
        finally:
            self._ended = True  # requests that go on a moment longer open no new session
            for name in list(self._open):
                self._drop(name)
            await asyncio.gather(*self._closing)
