"""A pool of agents, each member a process of its own, and the hub that they find."""

from __future__ import annotations

import contextlib
import shlex
import signal
from typing import Any

from tests.e2e.world import Daemon, World
from tests.support import patience
from tests.support.ports import free_port

LEASES = "/apis/coordination.k8s.io/v1/namespaces/gitfed-system/leases"


def cluster(name: str) -> str:
    """Its file."""
    return (
        "apiVersion: cluster.karmada.io/v1alpha1\nkind: Cluster\n"
        f"metadata: {{name: {name}, annotations: {{gitfed.io/pool: east}}}}\nspec: {{syncMode: Push}}\n"
    )


class Member:
    """`gitfed agent --pool` as a process; the Leases are in m1."""

    def __init__(self, pool: Pool, number: int) -> None:
        world = pool.world
        self.log_path = world.directory / f"member-{number}.log"
        self.process = world.begin(
            [
                "agent", "--pool", "east", "--hub-url", pool.url,
                "--hub-credentials", str(pool.credentials), "--kubeconfig", str(world.kubeconfig),
                "--lease-kubeconfig", str(world.kubeconfig), "--lease-context", "m1", "--lease-duration", "5s",
                "--logging-format", "json", "--cluster-status-update-frequency", "1s",
            ],
            self.log_path,
        )  # fmt: skip

    @property
    def name(self) -> str:
        """How its Leases begin."""
        return f"_{self.process.pid}_"

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(patience.SECONDS)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(patience.SECONDS)


class Pool:
    def __init__(self, world: World) -> None:
        self.world = world
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self.credentials = world.directory / "pool-east"
        self.members: list[Member] = []

    def daemon(self) -> Daemon:
        return self.world.daemon("--hub-address", f"127.0.0.1:{self.port}", "--hub-url", self.url)

    def register(self) -> None:
        """As a person does."""
        ours = ("--repo", str(self.world.bare), "--data-dir", str(self.world.data))
        line = self.world.gitfed("token", "create", "--pool", "east", "--print-register-command", *ours).stdout
        command = [
            str(self.credentials) if one == "pool-east" else one for one in shlex.split(line.removeprefix("gitfed"))
        ]
        self.world.gitfed(*command)

    def member(self) -> Member:
        made = Member(self, len(self.members))
        self.members.append(made)
        return made

    def holders(self) -> dict[str, Member]:
        """By cluster, of those that live."""
        found = {}
        for lease in self.leases():
            name, holder = lease["metadata"]["name"], lease["spec"].get("holderIdentity") or ""
            by = [one for one in self.members if one.name in holder]
            if ".cluster." in name and by:
                found[name.rpartition(".")[2]] = by[0]
        return found

    def leases(self) -> list[dict[str, Any]]:
        with contextlib.suppress(Exception):
            return list(self.world.ask("m1", "GET", LEASES)["items"])
        return []

    def close(self) -> None:
        for one in self.members:
            if one.process.poll() is None:
                one.kill()
