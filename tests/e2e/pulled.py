"""Agents of pulled clusters, each a process of its own, and a hub that they find."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from gitfed.edges import certificate_pins
from gitfed.edges.certificates import Authority
from gitfed.hub.enrolment.ledger import Enrolled, Issued
from gitfed.hub.enrolment.ledger_file import LedgerFile
from gitfed.model import agent_identity
from tests.e2e.world import Daemon, World
from tests.support import patience
from tests.support.ports import free_port


def cluster(name: str, **spec: object) -> str:
    fields = "".join(f"  {key}: {value}\n" for key, value in spec.items())
    return (
        "apiVersion: cluster.karmada.io/v1alpha1\nkind: Cluster\n"
        f"metadata:\n  name: {name}\nspec:\n  syncMode: Pull\n{fields}"
    )


class Agent:
    """`gitfed agent` as a process."""

    def __init__(self, world: World, url: str, credentials: Path, context: str, number: int) -> None:
        self.context, self.url, self.credentials = context, url, credentials
        self.log_path = world.directory / f"agent-{context}-{number}.log"
        self.process = world.begin(
            [
                "agent", "--hub-url", url, "--hub-credentials", str(credentials), "--kubeconfig", str(world.kubeconfig),
                "--context", context, "--logging-format", "json", "--cluster-status-update-frequency", "1s",
                "--cluster-failure-threshold", "1s", "--cluster-success-threshold", "1s",
            ],
            self.log_path,
        )  # fmt: skip

    def text(self) -> str:
        return self.log_path.read_text()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(patience.SECONDS)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(patience.SECONDS)


class Pulled:
    """A world whose clusters only their agents can reach."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self.folder = world.data / "hub"
        self.agents: list[Agent] = []
        self.nowhere = world.directory / "no-clusters.kubeconfig"
        self.nowhere.write_text("apiVersion: v1\nkind: Config\n")

    def clusters(self, names: list[str] | None = None) -> dict[str, str | None]:
        return {f"clusters/{name}.yaml": cluster(name) for name in names or self.world.names}

    def daemon(self, *arguments: str) -> Daemon:
        """It has no way into any cluster."""
        return self.world.daemon(
            "--hub-address", f"127.0.0.1:{self.port}", "--hub-url", self.url, "--cluster-lease-duration", "4s",
            *arguments, kubeconfig=self.nowhere,
        )  # fmt: skip

    def credentials(self, name: str, life: timedelta = timedelta(hours=1)) -> Path:
        """What an agent of that cluster is given; `life`: what is left of its certificate's."""
        self.world.data.mkdir(exist_ok=True)
        authority = Authority.open(self.folder)
        now = datetime.now(UTC)
        pair = authority.client(agent_identity.common_name(name), [agent_identity.GROUP], life)
        read = certificate_pins.read(pair.certificate)
        issued = Issued(read.serial, read.key, read.begins, read.ends)
        enrolled = Enrolled(name, now, "", (issued,))
        LedgerFile(self.folder).change(lambda found: (found._with(enrolled), None))
        folder = self.world.directory / f"credentials-{name}"
        folder.mkdir(exist_ok=True)
        files: Mapping[str, bytes] = {"ca.crt": authority.certificate, "tls.crt": pair.certificate, "tls.key": pair.key}
        for file, content in files.items():
            (folder / file).write_bytes(content)
        return folder

    def agent(self, name: str, *, context: str = "", port: int = 0) -> Agent:
        """`port`: another way to the hub."""
        url = f"https://127.0.0.1:{port}" if port else self.url
        agent = Agent(self.world, url, self.credentials(name), context or name, len(self.agents))
        self.agents.append(agent)
        return agent

    def close(self) -> None:
        for agent in self.agents:
            if agent.process.poll() is None:
                agent.kill()
