"""Who has it? The door of the fleet sends what is about one object to the cluster that has it, with everything that
`kubectl` does to a pod; and how it knows clusters that join."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from gitfed.hub.doors import watch
from kubesim.controllers import Settings
from kubesim.fleet import Fleet
from tests.hub import stage
from tests.hub.doors import members
from tests.hub.doors.members import ANYTHING, EVERYTHING, door, fleet_door
from tests.hub.stage import Staged
from tests.support import patience

PODS = "/api/v1/namespaces/default/pods"
QUICK = Settings(start_seconds=0.02, stop_seconds=0.02, job_seconds=0.02)
COMMANDS, PORTS = "v5.channel.k8s.io", "SPDY/3.1+portforward.k8s.io"


@contextlib.asynccontextmanager
async def clusters(folder: Path) -> AsyncIterator[tuple[Staged, Fleet]]:
    """m1 and m2, where ann may do everything."""
    async with members.embedded(folder, ("m1", "m2"), ANYTHING, settings=QUICK) as (staged, fleet):
        for name in ("m1", "m2"):
            members.allow(fleet, name, "ann", EVERYTHING)
        yield staged, fleet


async def run(fleet: Fleet, cluster: str, name: str) -> None:
    """A pod, until it runs."""
    container = {"name": "web", "image": "nginx:1", "env": [{"name": "IN", "value": cluster}]}
    metadata = {"name": name, "namespace": "default"}
    fleet[cluster].api.create("pods", {"metadata": metadata, "spec": {"containers": [container]}})
    await stage.until(lambda: fleet[cluster].api.get("pods", "default", name)["status"]["phase"] == "Running")


def message(text: str) -> str:
    return str(json.loads(text)["message"])


async def test_the_log_of_a_pod_is_that_of_the_cluster_that_runs_it(tmp_path: Path) -> None:
    async with clusters(tmp_path) as (staged, fleet):
        await run(fleet, "m2", "web")
        status, text = await stage.get(staged, fleet_door(f"{PODS}/web/log"), token="ann")
        assert (status, text.partition(" on ")[2][:3]) == (200, "m2-")
        await run(fleet, "m1", "web")
        status, text = await stage.get(staged, fleet_door(f"{PODS}/web/log"), token="ann")
        assert (status, message(text)) == (
            409, 'Operation cannot be fulfilled on pods "web": ambiguous objects in clusters [m1, m2]'
        )  # fmt: skip
        status, text = await stage.get(staged, fleet_door(f"{PODS}/none/log"), token="ann")
        assert (status, message(text)) == (404, 'pods "none" not found')


@pytest.mark.parametrize(
    ("what", "protocol", "expected"),
    [
        ("exec?container=web&stdout=true&command=env", COMMANDS, b"IN=m2\n"),
        ("attach?container=web&stdout=true", COMMANDS, b"web of web is alive"),
        ("portforward?ports=80", PORTS, b""),
    ],
    ids=["exec", "attach", "port-forward"],
)
async def test_a_container_is_entered_in_the_cluster_that_runs_it(
    tmp_path: Path, what: str, protocol: str, expected: bytes
) -> None:
    async with clusters(tmp_path) as (staged, fleet):
        await run(fleet, "m2", "web")
        await run(fleet, "m1", "twice")
        await run(fleet, "m2", "twice")
        async with aiohttp.ClientSession(headers={"Authorization": "Bearer ann"}) as http:
            url = f"{staged.url}{fleet_door(PODS)}"
            async with http.ws_connect(f"{url}/web/{what}", protocols=(protocol,)) as opened:
                assert opened.protocol == protocol
                printed = b""
                async with asyncio.timeout(patience.SECONDS):
                    while expected not in printed:
                        printed += (await opened.receive_bytes())[1:]
            for name, status in (("twice", 409), ("none", 404)):
                with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                    await http.ws_connect(f"{url}/{name}/{what}", protocols=(protocol,))
                assert refused.value.status == status


async def test_the_fleet_has_its_door_by_any_name(tmp_path: Path) -> None:
    async with clusters(tmp_path) as (staged, fleet):
        await run(fleet, "m2", "web")
        for name in ("karmada", "anything"):
            path = fleet_door(f"{PODS}/web").replace("/karmada/proxy", f"/{name}/proxy")
            status, text = await stage.get(staged, path, token="ann")
            assert (status, json.loads(text)["metadata"]["name"]) == (200, "web")
        status, text = await stage.get(staged, fleet_door(PODS), token="bob")
        assert (status, message(text)) == (403, "no AccessPolicy lets bob proxy")


async def test_a_star_finds_the_cluster_that_has_an_object(tmp_path: Path) -> None:
    async with clusters(tmp_path) as (staged, fleet):
        await run(fleet, "m2", "web")
        status, text = await stage.get(staged, door("*", f"{PODS}/web"), token="ann")
        assert (status, json.loads(text)["metadata"]["name"]) == (200, "web")
        status, text = await stage.get(staged, door("*", f"{PODS}/web/log"), token="ann")
        assert (status, text.partition(" on ")[2][:3]) == (200, "m2-")
        assert (await stage.get(staged, door("*", f"{PODS}/none"), token="ann"))[0] == 404
        status, text = await stage.get(staged, door("*", "/apis/apps/v1"), token="ann")
        assert (status, json.loads(text)["kind"]) == (200, "APIResourceList")
        status, text = await stage.get(staged, door("*", "/api/v1/namespaces/none/pods"), token="ann")
        assert (status, json.loads(text)["items"]) == (200, []), "an empty list is a list"

        await fleet["m1"].faults.down()
        status, text, headers = await stage.ask(staged, "GET", door("*", PODS), token="ann")
        assert (status, [one["metadata"]["name"] for one in json.loads(text)["items"]]) == (200, ["web"])
        assert headers["Warning"].startswith('299 gitfed "cluster m1: ')


async def test_a_watch_ends_when_a_cluster_joins_the_fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_LOOK", 0.05)
    async with clusters(tmp_path) as (staged, fleet):
        alone = stage.snapshot(ANYTHING, stage.cluster("m1"))
        members.commit(staged, alone)
        url = f"{staged.url}{fleet_door(PODS)}?watch=true"
        async with aiohttp.ClientSession(headers={"Authorization": "Bearer ann"}) as http, http.get(url) as got:
            await run(fleet, "m1", "web")
            assert json.loads(await got.content.readline())["object"]["metadata"]["name"] == "web"
            members.commit(staged, stage.snapshot(ANYTHING, stage.cluster("m1"), stage.cluster("m2")))
            async with asyncio.timeout(patience.SECONDS):
                await got.read()  # it ends
            await run(fleet, "m2", "other")
        async with aiohttp.ClientSession(headers={"Authorization": "Bearer ann"}) as http, http.get(url) as got:
            names = [json.loads(await got.content.readline())["object"]["metadata"]["name"] for _ in range(2)]
            assert sorted(names) == ["other", "web"]
