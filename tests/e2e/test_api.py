"""The API of a real daemon: what it tells, orders that it takes, and a hub alone beside it."""

from __future__ import annotations

import http.client
import json
import signal
import ssl
from typing import Any

import pytest

from tests.e2e.hub_port import Credential, listening_port
from tests.e2e.world import World, cluster, config_map, policy, settings
from tests.support import patience, ports

pytestmark = pytest.mark.e2e


def _access(name: str, **spec: Any) -> str:
    return json.dumps(
        {"apiVersion": "gitfed.io/v1alpha1", "kind": "AccessPolicy", "metadata": {"name": name}, "spec": spec}
    )


def _files() -> dict[str, str | None]:
    maps = {f"maps/{number}.json": config_map(f"c{number}", {"a": "b"}) for number in range(3)}
    return {
        "gitfed.json": settings(guards={"maxDeletions": 1}),
        "access.json": _access("ann", subjects=[{"kind": "User", "name": "ann"}], allow=["view", "operate"]),
        "clusters/m1.json": cluster("m1"),
        "clusters/m2.json": cluster("m2"),
        "policy.json": policy("maps", ["m1", "m2"], (("v1", "ConfigMap"),)),
        **maps,
    }


class Caller(Credential):
    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        context = ssl.create_default_context(cafile=self.files["ca"])
        context.load_cert_chain(self.files["certificate"], self.files["key"])
        connection = http.client.HTTPSConnection("127.0.0.1", int(self.url.rpartition(":")[2]), context=context)
        data = json.dumps(body).encode() if body is not None else None
        headers = {"Content-Type": "application/json"} if data is not None else {}
        connection.request(method, f"/api/v1{path}", data, headers)
        answer = connection.getresponse()
        found = json.loads(answer.read())
        connection.close()
        return answer.status, found


def _data(caller: Caller, number: int) -> Any:
    return caller.ask("GET", f"/objects/configmap/shop/c{number}")[1]


def test_a_caller_sees_the_fleet_and_gives_orders(world: World) -> None:
    world.push(_files())
    daemon = world.daemon("--hub-address", "0.0.0.0:0")
    ann = Caller(world, listening_port(world, daemon), "ann")

    def applied() -> bool:
        status, found = ann.ask("GET", "/objects?kind=ConfigMap")
        return status == 200 and [one["health"] for one in found["items"]] == ["Current"] * 6

    world.until(applied, "six objects are applied")
    well = [("m1", True, "Healthy"), ("m2", True, "Healthy")]

    def collected() -> bool:
        copies = _data(ann, 0)["binding"]["status"]["aggregatedStatus"]
        return [(one["clusterName"], one["applied"], one["health"]) for one in copies] == well

    world.until(collected, "the status of both copies")
    assert ann.ask("GET", "/decisions")[1]["entries"][0]["what"].startswith(("Applied", "Status at", "Decide for"))
    events = ann.ask("GET", "/decisions/events?object=configmap/shop/c0")[1]["items"]
    assert {one["name"] for one in events} == {"c0"}

    status, given = ann.ask("POST", "/suspend", {"what": "configmap/shop/c0", "reason": "somebody debugs it"})
    assert (status, given["order"], given["by"], given["of"]) == (202, "suspend", "ann", ["ConfigMap/shop/c0"])
    assert "suspended by ann since" in world.gitfed("log", "--repo", str(world.bare), "-n", "3").stdout
    world.push({"maps/0.json": config_map("c0", {"a": "new"}), "maps/1.json": config_map("c1", {"a": "new"})})

    def shown() -> list[str]:
        return [one["reasonCode"] for one in _data(ann, 0)["changes"]]

    world.until(lambda: shown() == ["SuspendedByOrder"] * 2, "the change of c0 is skipped")
    world.until(lambda: (world.get("m1", "ConfigMap", "shop", "c1") or {})["data"] == {"a": "new"}, "c1 has it")
    assert (world.get("m1", "ConfigMap", "shop", "c0") or {})["data"] == {"a": "b"}
    assert ann.ask("POST", "/resume", {"what": "configmap/shop/c0"})[0] == 202
    world.until(lambda: (world.get("m2", "ConfigMap", "shop", "c0") or {})["data"] == {"a": "new"}, "c0 has it")

    world.push({"maps/0.json": None, "maps/1.json": None})

    def held() -> list[dict[str, Any]]:
        return [one for one in ann.ask("GET", "/gates")[1]["gates"] if one["held"]]

    world.until(lambda: held() and len(held()[0]["changes"]) == 4, "deletions are held")
    digest = ann.ask("GET", "/gates")[1]["digest"]
    assert ann.ask("POST", "/approve", {"what": "0" * 12})[0] == 400
    world.until(lambda: ann.ask("POST", "/approve", {"what": digest})[0] == 202, "the daemon wrote down what is held")
    world.until(lambda: world.get("m1", "ConfigMap", "shop", "c0") is None, "c0 is deleted")
    given_orders = [one for one in daemon.said("request") if one["what"].startswith("POST")]
    assert (given_orders[0]["what"], given_orders[0]["who"], given_orders[0]["result"]) == (
        "POST /api/v1/suspend", "ann", "202",
    )  # fmt: skip
    _alone(world, ann)
    assert daemon.stop() == 0


def _alone(world: World, ann: Caller) -> None:
    """`gitfed hub`: it reads the repository and the state branch."""
    port, data = ports.free_port(), world.directory / "alone"
    log = world.directory / "alone.log"
    arguments = ["--repo", str(world.bare), "--hub-address", f"0.0.0.0:{port}", "--data-dir", str(data)]
    process = world.begin(["hub", *arguments, "--interval", "1s", "--logging-format", "json"], log)
    try:
        world.until(lambda: "the hub listens" in log.read_text(), "the hub alone listens")
        other = Caller(world, port, "ann", data)
        world.until(lambda: other.ask("GET", "/clusters")[0] == 200, "it has read the state branch")
        assert [one["name"] for one in other.ask("GET", "/clusters")[1]["items"]] == ["m1", "m2"]
        bindings = other.ask("GET", "/bindings?kind=ConfigMap")[1]["items"]
        assert [one["resource"]["name"] for one in bindings] == ["c2"]
        assert [one["applied"] for one in bindings[0]["status"]["aggregatedStatus"]] == [True, True]

        def decisions(caller: Caller) -> object:
            return caller.ask("GET", "/decisions")[1]["entries"]

        world.until(lambda: decisions(other) == decisions(ann), "both tell the same decisions")
        assert {one["state"] for one in other.ask("GET", "/objects")[1]["items"]} == {"not observed"}
        assert other.ask("POST", "/suspend", {"what": "all"})[0] == 503
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(patience.SECONDS) == 0
