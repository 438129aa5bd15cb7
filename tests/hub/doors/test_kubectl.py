"""The real kubectl in containers of a pulled cluster, through the hub's door and the agent's, with TLS.

Of the other doors: `tests/e2e/test_door_commands.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from gitfed.fleet_api import doors
from kubesim.controllers import Settings
from kubesim.fleet import ClusterSpec, Fleet
from tests.hub import stage
from tests.hub.doors import members, pulled
from tests.hub.doors.members import ANYTHING, EVERYTHING
from tests.support import needs, patience

pytestmark = needs.program("kubectl")

POD = {
    "metadata": {"name": "web"},
    "spec": {
        "containers": [{
            "name": "web", "image": "nginx:1", "ports": [{"containerPort": 80}],
            "env": [{"name": "GREETING", "value": "hello"}],
        }]
    },
}  # fmt: skip


class Kubectl:
    def __init__(self, home: Path, server: str, authority: str) -> None:
        (home / "ca.crt").write_text(authority)
        config = {
            "apiVersion": "v1", "kind": "Config", "current-context": "x",
            "clusters": [{"name": "x", "cluster": {"server": server, "certificate-authority": str(home / "ca.crt")}}],
            "users": [{"name": "x", "user": {"token": "ann"}}],
            "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        }  # fmt: skip
        self._config = home / "door.conf"
        self._config.write_text(json.dumps(config))
        self._environment = {**os.environ, "HOME": str(home), "KUBECONFIG": str(self._config)}

    async def start(self, line: str, *more: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            str(needs.path_of("kubectl")), *line.split(), *more, env=self._environment,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip

    @contextlib.asynccontextmanager
    async def following(self, line: str) -> AsyncIterator[asyncio.subprocess.Process]:
        """The running program; it may end by itself, and is gone afterwards in any case."""
        process = await self.start(line)
        try:
            async with asyncio.timeout(patience.SECONDS):
                yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def __call__(self, line: str, *more: str, text: str = "") -> str:
        process = await self.start(line, *more)
        async with asyncio.timeout(patience.SECONDS):
            printed, _ = await process.communicate(text.encode())
        assert process.returncode == 0, f"kubectl {line}: {printed.decode()}"
        return printed.decode()


async def line_with(text: bytes, process: asyncio.subprocess.Process) -> bytes:
    """Its first line that holds this text; a program that ends without one fails the test."""
    assert process.stdout is not None
    printed = []
    async for line in process.stdout:
        if text in line:
            return line
        printed.append(line)
    raise AssertionError(f"it ended without {text!r}: {b''.join(printed)!r}")


async def forwarded_port(process: asyncio.subprocess.Process) -> int:
    said = await line_with(b"Forwarding from 127.0.0.1:", process)
    return int(said.partition(b"127.0.0.1:")[2].partition(b" ")[0])


@pytest.fixture
async def kubectl(tmp_path: Path) -> AsyncIterator[Kubectl]:
    """The pod web runs in m2, which is pulled."""
    quick = Settings(start_seconds=0.05, stop_seconds=0.02, job_seconds=0.05)
    async with Fleet([ClusterSpec(name="m2", nodes=1)], settings=quick) as fleet:
        fleet.write_kubeconfig(tmp_path / "kubeconfig")
        async with stage.staged(tmp_path, ANYTHING, pulled.cluster("m2"), options=stage.EVERYWHERE) as staged:
            members.allow(fleet, "m2", "ann", EVERYTHING)
            fleet["m2"].api.create("pods", {**POD, "metadata": {"name": "web", "namespace": "default"}})
            made = Kubectl(tmp_path, staged.url + doors.of_cluster("m2"), staged.authority)
            async with pulled.agent(staged, tmp_path, fleet, "m2"):
                await made("wait pod/web --for=condition=Ready --timeout=120s")
                yield made


async def test_containers_of_a_pulled_cluster_are_reached_through_its_door(kubectl: Kubectl, tmp_path: Path) -> None:
    assert (await kubectl("logs web")).splitlines()[0].startswith("web of default/web starts on m2-node-")
    assert "GREETING=hello\n" in await kubectl("exec web -- env")
    assert await kubectl("exec -i web -- cat", text="typed\n") == "typed\n"
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("some text " * 100_000)
    await kubectl(f"cp {tmp_path}/in web:/srv")
    await kubectl(f"cp web:/srv/a.txt {tmp_path}/out.txt")
    assert (tmp_path / "out.txt").read_text() == "some text " * 100_000

    async with (
        kubectl.following("port-forward pod/web :80 --address 127.0.0.1") as forward,
        aiohttp.ClientSession() as session,
    ):
        port = await forwarded_port(forward)
        for _ in range(2):
            async with session.get(f"http://127.0.0.1:{port}/") as answer:
                assert await answer.text() == "default/web answers on port 80\n"

    async with kubectl.following("attach web") as attached, kubectl.following("logs -f web --tail=1") as logs:
        for one in (attached, logs):
            await line_with(b"web of web is alive", one)
        await kubectl("delete pod web --now")
        for one in (attached, logs):
            assert await one.wait() == 0
