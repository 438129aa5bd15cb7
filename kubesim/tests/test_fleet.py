"""Clusters together, and what can be made to go wrong with one of them."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from kubesim import control
from kubesim.fleet import ClusterSpec, Fleet

Body = dict[str, Any]


@pytest.fixture
async def fleet() -> AsyncIterator[Fleet]:
    specs = [
        ClusterSpec(name="one", nodes=2, region="eu", zones=("a", "b"), controllers=False),
        ClusterSpec(name="two", nodes=1, cpu="2", memory="4Gi", pods=10, controllers=False),
    ]
    async with Fleet(specs, seed=1) as running:
        yield running


@pytest.fixture
async def web() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


CONFIG = "/api/v1/namespaces/default/configmaps"


def config_map(name: str = "a", **data: str) -> Body:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


async def answer(web: aiohttp.ClientSession, fleet: Fleet, path: str, body: Body | None = None) -> tuple[int, Body]:
    async with web.request("POST" if body else "GET", fleet["one"].url + path, json=body) as response:
        return response.status, await response.json()


async def test_nodes_are_as_declared(fleet: Fleet) -> None:
    first, second = fleet["one"].api.list("nodes")
    labels = [node["metadata"]["labels"] for node in (first, second)]
    assert [one["topology.kubernetes.io/zone"] for one in labels] == ["a", "b"]
    assert {one["topology.kubernetes.io/region"] for one in labels} == {"eu"}
    (node,) = fleet["two"].api.list("nodes")
    assert node["status"]["allocatable"] == {"cpu": "2", "ephemeral-storage": "100Gi", "memory": "4Gi", "pods": "10"}
    assert "taints" not in node["spec"]


async def test_a_kubeconfig_has_a_context_for_each_and_the_first_is_current(fleet: Fleet, tmp_path: Path) -> None:
    path = fleet.write_kubeconfig(tmp_path / "deep" / "config")
    config = json.loads(path.read_text())
    assert [one["name"] for one in config["contexts"]] == ["one", "two"]
    assert config["current-context"] == "one"
    assert [one["cluster"]["server"] for one in config["clusters"]] == [fleet["one"].url, fleet["two"].url]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_two_clusters_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two clusters are called a"):
        Fleet([ClusterSpec(name="a"), ClusterSpec(name="a")])


async def test_clusters_share_nothing(fleet: Fleet, web: aiohttp.ClientSession) -> None:
    assert (await answer(web, fleet, CONFIG, config_map()))[0] == 201
    assert fleet["one"].api.find("configmaps", "default", "a") is not None
    assert fleet["two"].api.find("configmaps", "default", "a") is None


async def test_a_cluster_that_is_down_refuses_and_comes_back_with_what_it_knew(
    fleet: Fleet, web: aiohttp.ClientSession
) -> None:
    await answer(web, fleet, CONFIG, config_map())
    url = fleet["one"].url
    await fleet["one"].faults.down()
    with pytest.raises(aiohttp.ClientConnectorError):
        await web.get(url + CONFIG)
    assert (await web.get(fleet["two"].url + CONFIG)).status == 200, "the others are not disturbed"
    await fleet["one"].faults.up()
    assert fleet["one"].url == url
    assert (await answer(web, fleet, CONFIG))[1]["items"][0]["metadata"]["name"] == "a"


async def test_connections_can_be_reset(fleet: Fleet, web: aiohttp.ClientSession) -> None:
    await fleet["one"].faults.down("reset")
    with pytest.raises(aiohttp.ClientConnectionError):
        await web.get(fleet["one"].url + CONFIG)
    await fleet["one"].faults.up()
    assert (await answer(web, fleet, CONFIG))[0] == 200


async def test_a_share_of_requests_is_told_to_come_back_later(fleet: Fleet, web: aiohttp.ClientSession) -> None:
    fleet["one"].faults.fail(429, share=0.5, retry_after=3, verb="list", resource="configmaps")
    codes = [(await answer(web, fleet, CONFIG))[0] for _ in range(6)]
    assert codes == [200, 429, 200, 429, 200, 429]
    assert (await answer(web, fleet, "/api/v1/namespaces/default/secrets"))[0] == 200
    async with web.get(fleet["one"].url + CONFIG), web.get(fleet["one"].url + CONFIG) as refused:
        assert refused.headers["Retry-After"] == "3"
        assert (await refused.json())["details"] == {"retryAfterSeconds": 3}


async def test_a_failure_may_pass_by_itself(fleet: Fleet, web: aiohttp.ClientSession) -> None:
    fleet["one"].faults.fail(500, times=2)
    codes = [(await answer(web, fleet, CONFIG))[0] for _ in range(3)]
    assert codes == [500, 500, 200]


async def test_writes_can_be_denied_by_name(fleet: Fleet, web: aiohttp.ClientSession) -> None:
    fleet["one"].faults.reject("no entry", resource="configmaps", name="b")
    assert (await answer(web, fleet, CONFIG, config_map("a")))[0] == 201
    code, body = await answer(web, fleet, CONFIG, config_map("b"))
    assert (code, body["message"]) == (403, 'admission webhook "faults.kubesim.io" denied the request: no entry')
    fleet["one"].faults.clear()
    assert (await answer(web, fleet, CONFIG, config_map("b")))[0] == 201


async def test_slow_requests_are_answered_all_the_same(fleet: Fleet, web: aiohttp.ClientSession) -> None:
    fleet["one"].faults.slow(30.0, resource="configmaps")
    with pytest.raises(TimeoutError):
        await web.get(fleet["one"].url + CONFIG, timeout=aiohttp.ClientTimeout(total=0.2))
    assert (await answer(web, fleet, "/api/v1/namespaces/default/secrets"))[0] == 200
    fleet["one"].faults.clear()
    fleet["one"].faults.slow(0.01)
    assert (await answer(web, fleet, CONFIG))[0] == 200


async def test_who_waits_in_a_slow_server_is_answered_once_it_is_slow_no_more(
    fleet: Fleet, web: aiohttp.ClientSession
) -> None:
    fleet["one"].faults.slow(3600.0, resource="configmaps")
    waiting = asyncio.create_task(answer(web, fleet, CONFIG))
    while not fleet["one"].faults.requests:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    fleet["one"].faults.clear()
    assert (await waiting)[0] == 200


async def test_watches_can_be_dropped(fleet: Fleet, web: aiohttp.ClientSession) -> None:
    async with web.get(fleet["one"].url + CONFIG, params={"watch": "true", "resourceVersion": "0"}) as stream:
        fleet["one"].api.create("configmaps", {**config_map(), "metadata": {"name": "a", "namespace": "default"}})
        assert json.loads(await stream.content.readline())["type"] == "ADDED"
        fleet["one"].faults.drop_watches()
        assert await stream.content.read() == b""


async def test_somebody_else_may_write_after_each_of_our_writes(fleet: Fleet, web: aiohttp.ClientSession) -> None:
    fleet["one"].faults.overwrite("configmaps", ("data", "x"), "theirs", manager="intruder", names=("a",))
    await answer(web, fleet, CONFIG, config_map("a", x="ours"))
    await answer(web, fleet, CONFIG, config_map("b", x="ours"))
    found = {one["metadata"]["name"]: one["data"]["x"] for one in (await answer(web, fleet, CONFIG))[1]["items"]}
    assert found == {"a": "theirs", "b": "ours"}
    managers = [
        one["manager"] for one in fleet["one"].api.get("configmaps", "default", "a")["metadata"]["managedFields"]
    ]
    assert "intruder" in managers


async def test_another_process_can_take_a_cluster_away_and_bring_it_back(fleet: Fleet) -> None:
    port, name = control.port_of(fleet.kubeconfig()), next(iter(fleet)).name
    assert port is not None
    before = fleet[name].url
    assert await control.order(port, "fail", name) == f"{name} is away"
    assert await control.order(port, "fail", name) == f"{name} is away already"
    assert fleet[name].url == ""
    assert await control.order(port, "recover", name) == f"{name} is back"
    assert await control.order(port, "recover", name) == f"{name} is there"
    assert fleet[name].url == before


async def test_an_order_that_cannot_be_carried_out_says_why(fleet: Fleet) -> None:
    port = control.port_of(fleet.kubeconfig())
    assert port is not None
    with pytest.raises(control.ControlError, match="there is no cluster 'nobody', only "):
        await control.order(port, "fail", "nobody")
    with pytest.raises(control.ControlError, match="there is no order 'sing'"):
        await control.order(port, "sing", "a")


def test_a_kubeconfig_of_something_else_takes_no_orders() -> None:
    assert control.port_of({"clusters": []}) is None
