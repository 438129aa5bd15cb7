"""gitfed demo pull: a cluster that only an agent inside of it can reach joins the fleet, and outlasts its hub.

Here the daemon is a process of its own, so that it can be killed, and so is the agent: no container runs in these
clusters, so the act starts what the Deployment in edge-1 says.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import re
import shlex
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from gitfed.cli import exits
from gitfed.cli.commands.local import sim
from gitfed.cli.demo import invitation, stage
from gitfed.cli.demo.invitation import Hint
from gitfed.cli.demo.stage import Stage
from gitfed.cli.output import formatting
from gitfed.registration import agent_manifests
from gitfed.text.values import dataclass

_EDGE = "edge-1"
_SYSTEM = "gitfed-system"
_AGENT_FILE = "apps/monitoring/agent.yaml"
_CONFIG = ("configmaps", "monitoring", "node-agent")
_DAEMON_SET = ("daemonsets.apps", "monitoring", "node-agent")
_SPOILT = {"data": {"scrape.conf": "targets = []\n"}}


@dataclass(slots=True)
class Pull(Stage):
    """The third act."""

    outside: Sequence[str] = (_EDGE,)
    port: int = 0
    hub_process: asyncio.subprocess.Process | None = None
    processes: list[asyncio.subprocess.Process] = field(default_factory=list)
    register: list[str] = field(default_factory=list)
    """The command that `gitfed token create` printed."""

    async def before(self) -> None:
        self.say(f"The fleet of the first act, and {_EDGE}, behind a firewall")
        sim.write_kubeconfig(self.admin, self.fleet, [_EDGE])
        self.say(f"its administrator's kubeconfig  {self.admin}")

    @contextlib.asynccontextmanager
    async def daemon(self, kubeconfig: Path) -> AsyncIterator[asyncio.Future[Any]]:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        await self.start_hub()
        try:
            yield asyncio.get_running_loop().create_future()  # a signal ends the act, not the daemon
        finally:
            for process in self.processes:
                if process.returncode is None:
                    process.kill()
            await asyncio.gather(*(process.wait() for process in self.processes))

    async def guided(self) -> None:
        steps = (
            self.the_fleet,
            self.a_token,
            self.a_registration,
            self.an_agent,
            self.a_push,
            self.a_death,
            self.a_return,
        )
        for step in steps:
            await step()
            if self.failed:  # each stands on those before
                return

    # -- the steps ------------------------------------------------------------------------------------------------

    async def the_fleet(self) -> None:
        self.say("The daemon starts, with a hub for agents", head=True)
        inside = [name for name in self.names if name != _EDGE]
        rolled = await self.until(
            lambda: sum(self.replicas("web").values()) == 8 and all(self.agent_image(name) for name in inside)
        )
        self.check(f"{formatting.some(inside)} hold what belongs in them", rolled)
        kubeconfig = (self.place / "kubeconfig").read_text()
        unknown = self.fleet[_EDGE].cluster.url not in kubeconfig
        self.check(
            f"the daemon has no way into {_EDGE}, and nothing of the fleet is there",
            unknown and not self.agent_image(_EDGE),
        )

    async def a_token(self) -> None:
        self.say("Beside the daemon: a token lets one new cluster register, once", head=True)
        made = self.place / "register-command"
        code, _ = await self.gitfed("token", "create", "--print-register-command", *self.where, into=made)
        self.register = shlex.split(made.read_text())[1:]
        self.check("there is a command to copy", code == exits.OK and self.register[:1] == ["register"])

    async def a_registration(self) -> None:
        self.say(f"Beside {_EDGE}: its administrator runs that command", head=True)
        written = self.place / f"{_EDGE}.yaml"
        by = ("--cluster-name", _EDGE, "--cluster-kubeconfig", str(self.admin))
        code, _ = await self.gitfed(*self.register, *by, into=written)
        self.check(
            "the agent has its certificate, its rights and its Deployment",
            code == exits.OK and {"ca.crt", "tls.crt", "tls.key"} == self.secret().keys(),
        )
        again = ("--cluster-name", "edge-2", "--cluster-context", _EDGE, "--namespace", "elsewhere")
        code, printed = await self.gitfed(*self.register, *again, *by[2:])
        self.check(
            "the same token does not work a second time",
            code == exits.UNREACHABLE and "the token was used already" in printed,
        )
        declared = written.read_bytes()
        for line in declared.decode().splitlines():
            self.say(f"  {line}")
        self.push({f"clusters/{_EDGE}.yaml": declared}, f"Register {_EDGE}")

    async def an_agent(self) -> None:
        self.say("The agent starts, dials out to the hub, and gets its part of the plan", head=True)
        await self.start_agent()
        delivered = await self.until(
            lambda: bool(self.agent_image(_EDGE)) and self.fleet[_EDGE].api.find(*_CONFIG) is not None
        )
        self.check(f"what belongs in every cluster is in {_EDGE}", delivered)

    async def a_push(self) -> None:
        self.say("A developer pushes: node-agent 0.9.3", head=True)
        self.push_image("0.9.3")
        self.check("it arrives in all clusters, pushed or pulled", await self.rolled("0.9.3"))

    async def a_death(self) -> None:
        self.say("The daemon is killed, and with it the hub", head=True)
        assert self.hub_process is not None
        self.hub_process.kill()
        await self.hub_process.wait()
        for name in ("eu-1", _EDGE):
            self.fleet[name].cluster.client("operator").patch(*_CONFIG, _SPOILT)
        self.say(
            f"an operator spoils node-agent's ConfigMap in eu-1 and {_EDGE}, and a developer pushes node-agent 0.9.4"
        )
        self.push_image("0.9.4")
        repaired = await self.until(lambda: not self.spoilt(_EDGE))
        self.check(f"{_EDGE} is repaired by its agent alone", repaired)
        self.check("eu-1 waits for the daemon", self.spoilt("eu-1"))
        self.check("nothing new happens anywhere", all(self.agent_image(n).endswith(":0.9.3") for n in self.names))

    async def a_return(self) -> None:
        self.say("The daemon returns", head=True)
        before = self.marks()
        await self.start_hub()
        self.check("the push of meanwhile arrives in all clusters", await self.rolled("0.9.4"))
        self.check("eu-1 is repaired too", await self.until(lambda: not self.spoilt("eu-1")))
        expected = {
            name: (uid, version + 1 if name == _DAEMON_SET else version) for name, (uid, version) in before.items()
        }
        after = self.marks()
        self.check(
            f"in {_EDGE} nothing was made twice, and only what was pushed was written, once",
            after == expected,
            f"{before} → {after}",
        )
        code, printed = await self.gitfed("get", "clusters", *self.where[:2])
        self.check(
            f"{_EDGE} is a cluster like the others",
            code == exits.OK and re.search(rf"{_EDGE} +\S+ +Pull +True", printed) is not None,
        )

    # -- what the steps are made of -----------------------------------------------------------------------------

    @property
    def admin(self) -> Path:
        return self.place / f"{_EDGE}.conf"

    @property
    def where(self) -> tuple[str, ...]:
        return "--repo", str(self.place / "fleet.git"), "--data-dir", str(self.place / "data")

    @property
    def names(self) -> list[str]:
        return [member.name for member in self.fleet]

    async def start_hub(self) -> None:
        url = f"https://127.0.0.1:{self.port}"
        self.hub_process = await self.service(
            "daemon",
            "run",
            *self.where,
            "--kubeconfig",
            str(self.place / "kubeconfig"),
            "--health-address",
            "",
            "--hub-address",
            f"127.0.0.1:{self.port}",
            "--hub-url",
            url,
        )
        address = self.place / "data" / "hub" / "trusted.crt"
        await self.until(lambda: address.exists() and self.listens())

    def listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1.0).close()
        except OSError:
            return False
        return True

    async def start_agent(self) -> None:
        """What the Deployment says, with what its Secret holds in a folder."""
        folder = self.place / f"{_EDGE}-credentials"
        folder.mkdir(mode=0o700, exist_ok=True)
        for name, content in self.secret().items():
            (folder / name).write_bytes(content)
        body = self.fleet[_EDGE].api.get("deployments.apps", _SYSTEM, agent_manifests.NAME)
        local = {
            "--hub-credentials": str(folder),
            "--health-address": "",
            "--logging-format": "text",
            "--kubeconfig": str(self.admin),
        }
        first, *words = body["spec"]["template"]["spec"]["containers"][0]["args"]
        arguments = dict(word.split("=", 1) for word in words)
        await self.service("agent", first, *(f"{name}={value}" for name, value in {**arguments, **local}.items()))

    async def service(self, log: str, *arguments: str) -> asyncio.subprocess.Process:
        with (self.place / f"{log}.log").open("ab") as file:
            process = await self.start(*arguments, stdout=asyncio.subprocess.DEVNULL, stderr=file)
        self.processes.append(process)
        return process

    def secret(self) -> Mapping[str, bytes]:
        body = self.fleet[_EDGE].api.find("secrets", _SYSTEM, agent_manifests.NAME) or {}
        return {name: base64.b64decode(value) for name, value in (body.get("data") or {}).items()}

    def push_image(self, tag: str) -> None:
        text = self.files[_AGENT_FILE]
        at = text.index(b"node-agent:0.")
        self.push(
            {_AGENT_FILE: text[:at] + f"node-agent:{tag}".encode() + text[text.index(b"\n", at) :]}, f"node-agent {tag}"
        )

    async def rolled(self, tag: str) -> bool:
        return await self.until(lambda: all(self.agent_image(name).endswith(f":{tag}") for name in self.names))

    def agent_image(self, cluster: str) -> str:
        """What node-agent runs in a cluster; "": nothing."""
        body = self.fleet[cluster].api.find(*_DAEMON_SET)
        return str(body["spec"]["template"]["spec"]["containers"][0]["image"]) if body else ""

    def spoilt(self, cluster: str) -> bool:
        return bool(self.fleet[cluster].api.get(*_CONFIG)["data"] == _SPOILT["data"])

    def marks(self) -> dict[tuple[str, str, str], tuple[str, int]]:
        """What the fleet has in edge-1: which object, and how often it was written."""
        api = self.fleet[_EDGE].api
        marks: dict[tuple[str, str, str], tuple[str, int]] = {}
        for resource in ("configmaps", "daemonsets.apps", "deployments.apps"):
            for body in api.list(resource, "monitoring"):
                metadata = body["metadata"]
                version = metadata.get("generation") or metadata["resourceVersion"]
                marks[resource, "monitoring", metadata["name"]] = (metadata["uid"], int(version))
        return marks

    def hints(self, kubeconfig: Path) -> Sequence[Hint]:
        return (
            Hint(
                "The fleet, as the daemon has it:",
                (f"{formatting.program()} get clusters --repo {self.place / 'fleet.git'}",),
            ),
            Hint(
                f"{_EDGE}, as its administrator, and what its agent says:",
                (
                    f"kubectl --kubeconfig {self.admin} --namespace monitoring get all",
                    f"tail -f {self.place / 'agent.log'}",
                ),
            ),
            invitation.fleet_door(self.place, stage.USER),
        )
