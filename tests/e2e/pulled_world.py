"""The world of any end-to-end test, with every cluster pulled (GITFED_TEST_PULLED=1).

What a test writes as a push cluster becomes a pulled one, and daemons have a hub that agents of the clusters find.
Daemons with a folder each are replicas of one hub; agents have one address for all of them, as a Service would give.
"""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.clusters.cable import Cable, Cables
from tests.e2e.pulled import Agent, Pulled
from tests.e2e.world import Daemon, World
from tests.support.ports import free_port


class PulledWorld(World):
    def __init__(self, directory: Path, kubeconfig: Path, names: list[str], servers: Mapping[str, Any]) -> None:
        super().__init__(directory, kubeconfig, names, servers)
        self.pulled = Pulled(self)
        self._ports = {self.data: self.pulled.port}
        """Of the replicas' hubs, by folder."""
        self._cables = Cables()
        self._services: dict[str, Cable] = {}
        """The hub's address, for the agent of each cluster."""
        self._ways: dict[Path, Mapping[str, Cable]] = {}
        """Those that can be cut, by the kubeconfig of the daemon that has them."""

    def write(self, files: Mapping[str, str | None]) -> None:
        super().write({name: _pulls(text) if text else text for name, text in files.items()})

    def ways(self, cables: Cables, kubeconfig: Path) -> Mapping[str, Cable]:
        """To such a daemon, from the agent of each cluster."""
        super().ways(cables, kubeconfig)
        self._ways[kubeconfig] = {name: cables.to() for name in self.names}
        return self._ways[kubeconfig]

    def daemon(self, *arguments: str, repo: str = "", kubeconfig: Path | None = None) -> Daemon:
        if not self._services:
            self._cables.__enter__()
            for name in self.names:
                self._services[name] = self._cables.to()
                self.pulled.agent(name, port=self._services[name].port)
        port = self._port(arguments)
        for name, service in self._services.items():
            way = self._ways[kubeconfig][name] if kubeconfig in self._ways else service
            for cable, target in ((way, port), (service, way.port)):
                if target not in (*cable.targets, service.port):
                    cable.targets.append(target)
        hub = ("--hub-address", f"127.0.0.1:{port}", "--hub-url", f"https://127.0.0.1:{port}")
        own = [re.sub(":0$", f":{port}", one) for one in arguments]  # any port, say the tests of hubs
        # A lock in a cluster is one that the daemon itself reaches, whoever else does.
        usual = self.kubeconfig if "--leader-elect-context" in arguments else self.pulled.nowhere
        return super().daemon(*hub, *own, repo=repo, kubeconfig=kubeconfig or usual)

    def restart_agent(self, name: str) -> Agent:
        """Another process; its first connection goes to the replica that was begun last."""
        (agent,) = [one for one in self.pulled.agents if one.context == name and one.process.poll() is None]
        agent.kill()
        service = self._services[name]
        service.begin_with(service.targets[-1])
        again = Agent(self, agent.url, agent.credentials, name, len(self.pulled.agents))
        self.pulled.agents.append(again)
        return again

    def _port(self, arguments: tuple[str, ...]) -> int:
        """That of the replica with this folder, which has the authority and the agents' keys of all."""
        asked = dict(itertools.pairwise(arguments))
        folder = Path(asked.get("--data-dir", self.data))
        if folder not in self._ports:
            self._ports[folder] = free_port()
            shutil.copytree(self.pulled.folder, folder / "hub")
        return int(asked.get("--hub-address", ":0").rpartition(":")[2]) or self._ports[folder]

    def apply(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        pytest.skip("agents listen to gitfed run alone: gitfed apply carries out nothing in pulled clusters")

    def forget(self) -> None:
        """All but the hub's authority: agents that were given another one register anew."""
        for place in self.data.iterdir():
            if place != self.pulled.folder:
                shutil.rmtree(place) if place.is_dir() else place.unlink()

    def close(self) -> None:
        super().close()
        self.pulled.close()
        if self._services:
            self._services.clear()
            self._cables.__exit__()


def _pulls(text: str) -> str:
    for quote in ("", '"'):
        name = f"{quote}syncMode{quote}: {quote}"
        text = text.replace(f"{name}Push{quote}", f"{name}Pull{quote}")
    return text
