"""The door of the fleet: what Karmada's global proxy answers, with each caller's own rights."""

from __future__ import annotations

import asyncio
import io
import itertools
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gitfed.fleet_api import versions
from gitfed.hub.doors import member_queries, watch
from gitfed.model.fleet import ClusterFacts, Reach
from gitfed.model.keys import CACHED_FROM_CLUSTER
from kubesim.fleet import Fleet
from kubesim.server import watch as member_watch
from tests.hub import stage
from tests.hub.doors import members
from tests.hub.doors.members import ANYTHING, EVERYTHING, Exact, fleet_door
from tests.hub.stage import Recorded, Staged

MAPS = fleet_door("/api/v1/namespaces/default/configmaps")
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}


def put(fleet: Fleet, cluster: str, *names: str, namespace: str = "default") -> None:
    for name in names:
        metadata = {"name": name, "namespace": namespace, "labels": {"mine": "yes"}}
        fleet[cluster].api.create("configmaps", {"metadata": metadata, "data": {"in": cluster}})


async def ask(staged: Staged, method: str, path: str, **options: Any) -> tuple[int, Any]:
    status, text, _ = await stage.ask(staged, method, path, token="ann", **options)
    return status, json.loads(text)


def where(body: Any) -> list[tuple[str, str]]:
    found = [one["metadata"] for one in body["items"] if one["metadata"]["name"] != "kube-root-ca.crt"]
    return [(one["annotations"][CACHED_FROM_CLUSTER], one["name"]) for one in found]


def fleet_of(tmp_path: Path, *names: str) -> Any:
    return members.embedded(tmp_path, names or ("m1", "m2"), ANYTHING)


async def test_an_object_that_one_cluster_has_is_found(tmp_path: Path) -> None:
    async with fleet_of(tmp_path) as (staged, fleet):
        for name in ("m1", "m2"):
            members.allow(fleet, name, "ann", EVERYTHING)
        put(fleet, "m2", "one")
        status, body = await ask(staged, "GET", f"{MAPS}/one")
        assert status == 200
        assert body["metadata"]["annotations"] == {CACHED_FROM_CLUSTER: "m2"}
        own = fleet["m2"].api.get("configmaps", "default", "one")["metadata"]["resourceVersion"]
        assert versions.decode(body["metadata"]["resourceVersion"]) == {"m2": own}
        status, body = await ask(staged, "GET", f"{MAPS}/one", headers=TABLE)
        assert (body["kind"], body["rows"][0]["cells"][:2]) == ("Table", ["one", "m2"])

        put(fleet, "m1", "one")
        status, body = await ask(staged, "GET", f"{MAPS}/one")
        assert (status, body["reason"], body["message"]) == (
            409, "Conflict",
            'Operation cannot be fulfilled on configmaps "one": ambiguous objects in clusters [m1, m2]',
        )  # fmt: skip
        status, body = await ask(staged, "GET", f"{MAPS}/none")
        assert (status, body["message"]) == (404, 'configmaps "none" not found')


async def test_a_list_has_the_objects_of_all_clusters_in_order(tmp_path: Path) -> None:
    async with fleet_of(tmp_path) as (staged, fleet):
        for name in ("m1", "m2"):
            members.allow(fleet, name, "ann", EVERYTHING)
        put(fleet, "m2", "a", "c")
        put(fleet, "m1", "a", "b")
        status, body = await ask(staged, "GET", MAPS)
        assert (status, body["kind"]) == (200, "ConfigMapList")
        assert where(body) == [("m1", "a"), ("m1", "b"), ("m2", "a"), ("m2", "c")]
        assert versions.decode(body["metadata"]["resourceVersion"]).keys() == {"m1", "m2"}
        _, chosen = await ask(staged, "GET", f"{MAPS}?fieldSelector=metadata.name%3Da")
        assert where(chosen) == [("m1", "a"), ("m2", "a")]
        _, at_hand = await ask(staged, "GET", f"{MAPS}?resourceVersion=0")
        assert where(at_hand) == where(body)
        _, table = await ask(staged, "GET", MAPS, headers=TABLE)
        assert [one["name"] for one in table["columnDefinitions"]][:2] == ["Name", "Cluster"]
        assert {tuple(row["cells"][:2]) for row in table["rows"]} >= {
            ("a", "m1"),
            ("b", "m1"),
            ("a", "m2"),
            ("c", "m2"),
        }


async def test_pages_of_a_list_go_on_in_the_next_cluster(tmp_path: Path) -> None:
    async with fleet_of(tmp_path) as (staged, fleet):
        for name in ("m1", "m2"):
            members.allow(fleet, name, "ann", EVERYTHING)
            fleet[name].api.create("namespaces", {"metadata": {"name": "shop"}})
        maps = fleet_door("/api/v1/namespaces/shop/configmaps?labelSelector=mine&limit=")
        put(fleet, "m1", "a", "b", "c", namespace="shop")
        put(fleet, "m2", "a", "b", "c", "d", namespace="shop")
        for limit, expected in ((5, [5, 2]), (3, [3, 3, 1]), (2, [2, 2, 2, 1])):
            token, sizes, found = "", [], []
            while True:
                _, body = await ask(staged, "GET", f"{maps}{limit}&continue={token}")
                assert versions.decode(body["metadata"]["resourceVersion"]).keys() == {"m1", "m2"}
                sizes.append(len(body["items"]))
                found += where(body)
                token = body["metadata"].get("continue", "")
                if not token:
                    break
            assert sizes == expected
            assert found == [*(("m1", name) for name in "abc"), *(("m2", name) for name in "abcd")]
        status, body = await ask(staged, "GET", f"{maps}1&continue=odd")
        assert (status, body["reason"]) == (410, "Expired")


async def test_a_list_that_breaks_off_in_the_middle_of_a_cluster_is_begun_anew(tmp_path: Path) -> None:
    async with fleet_of(tmp_path) as (staged, fleet):
        for name in ("m1", "m2"):
            members.allow(fleet, name, "ann", EVERYTHING)
        for name in "abc":
            put(fleet, "m1", name)
        _, body = await ask(staged, "GET", f"{MAPS}?limit=2")
        await fleet["m1"].faults.down()
        status, refused = await ask(staged, "GET", f"{MAPS}?limit=2&continue={body['metadata']['continue']}")
        assert (status, refused["reason"]) == (410, "Expired"), "what was told of m1 would stay for ever"
        assert refused["message"].endswith("the list goes on in the middle of that cluster: begin it anew")


async def test_writes_go_to_the_cluster_that_has_the_object(tmp_path: Path) -> None:
    async with fleet_of(tmp_path) as (staged, fleet):
        for name in ("m1", "m2"):
            members.allow(fleet, name, "ann", EVERYTHING)
        put(fleet, "m2", "one")
        status, body = await ask(staged, "POST", MAPS, json={"metadata": {"name": "new"}})
        assert (status, body["reason"], body["message"]) == (
            405, "MethodNotAllowed", "POST without a name is for one cluster: use its own door, /clusters/NAME/proxy",
        )  # fmt: skip
        assert (await ask(staged, "DELETE", MAPS))[0] == 405

        _, body = await ask(staged, "GET", f"{MAPS}/one")
        body["data"] = {"x": "1"}
        status, _ = await ask(staged, "PUT", f"{MAPS}/one", json=body)
        stored = fleet["m2"].api.get("configmaps", "default", "one")
        assert (status, stored["data"]) == (200, {"x": "1"})
        assert CACHED_FROM_CLUSTER not in (stored["metadata"].get("annotations") or {})
        body["data"] = {"x": "2"}  # with the version of before
        status, refused = await ask(staged, "PUT", f"{MAPS}/one", json=body)
        assert (status, refused["reason"]) == (409, "Conflict")

        patch = {"data": b'{"data": {"y": "2"}}', "headers": {"Content-Type": "application/merge-patch+json"}}
        assert (await ask(staged, "PATCH", f"{MAPS}/one", **patch))[0] == 200
        assert fleet["m2"].api.get("configmaps", "default", "one")["data"] == {"x": "1", "y": "2"}
        assert (await ask(staged, "DELETE", f"{MAPS}/one"))[0] == 200
        assert (await ask(staged, "DELETE", f"{MAPS}/one"))[0] == 404
        put(fleet, "m1", "two")
        put(fleet, "m2", "two")
        assert (await ask(staged, "DELETE", f"{MAPS}/two"))[0] == 409


async def test_what_one_may_in_the_fleet_is_what_one_may_in_any_cluster(tmp_path: Path) -> None:
    reviews = fleet_door("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
    about = {"spec": {"resourceAttributes": {"verb": "delete", "resource": "pods", "namespace": "default"}}}
    asked = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", **about}
    async with fleet_of(tmp_path) as (staged, fleet):
        status, body = await ask(staged, "POST", reviews, json=asked)
        assert (status, body["kind"], body["status"]["allowed"]) == (201, "SelfSubjectAccessReview", False)
        members.allow(fleet, "m2", "ann", EVERYTHING)
        _, body = await ask(staged, "POST", reviews, json=asked)
        assert body["status"] == {"allowed": True, "reason": "in m2, not in m1"}
        who = fleet_door("/apis/authentication.k8s.io/v1/selfsubjectreviews")
        named = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        _, body = await ask(staged, "POST", who, json=named)
        assert body["status"]["userInfo"]["username"] == "ann"
        other = fleet_door("/apis/authorization.k8s.io/v1/subjectaccessreviews")
        assert (await ask(staged, "POST", other, json={}))[0] == 405
        assert (await ask(staged, "POST", reviews, data=io.BytesIO(bytes(17 << 20))))[0] == 413
        await fleet["m1"].faults.down()
        status, text, headers = await stage.ask(staged, "POST", reviews, token="ann", json=asked)
        assert (status, json.loads(text)["status"]) == (201, {"allowed": True})
        assert headers["Warning"].startswith('299 gitfed "cluster m1: ')


async def test_a_read_shows_what_the_caller_may_see_in_each_cluster(tmp_path: Path) -> None:
    async with fleet_of(tmp_path) as (staged, fleet):
        put(fleet, "m1", "a")
        put(fleet, "m2", "b")
        status, body = await ask(staged, "GET", MAPS)
        assert (status, body["reason"]) == (403, "Forbidden")
        assert 'User "ann" cannot list resource "configmaps"' in body["message"]
        members.allow(fleet, "m2", "ann", EVERYTHING)
        status, text, headers = await stage.ask(staged, "GET", MAPS, token="ann")
        assert (status, where(json.loads(text))) == (200, [("m2", "b")])
        assert headers["Warning"].startswith(
            '299 gitfed "cluster m1: configmaps is forbidden: User \\"ann\\" cannot list'
        )
        only = stage.policy("m1", subjects=[stage.user("ann")], clusters={"clusterNames": ["m1"]}, allow=["proxy"])
        members.commit(staged, stage.snapshot(stage.cluster("m1"), stage.cluster("m2"), only))
        assert (await ask(staged, "GET", MAPS))[0] == 403
        status, body = await ask(staged, "GET", f"{MAPS}/b")
        assert status == 403


async def test_clusters_that_cannot_be_asked_are_left_out_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with fleet_of(tmp_path, "m1", "m2", "m3") as (staged, fleet):
        for name in ("m1", "m2", "m3"):
            members.allow(fleet, name, "ann", EVERYTHING)
            put(fleet, name, "a")
        await fleet["m2"].faults.down()
        assert isinstance(staged.hub.running.recorded, Recorded)
        staged.hub.running.recorded.facts = {"m3": ClusterFacts("m3", reach=Reach.UNKNOWN)}
        status, text, headers = await stage.ask(staged, "GET", MAPS, token="ann")
        assert (status, where(json.loads(text))) == (200, [("m1", "a")])
        assert [one.partition('"')[2].partition(":")[0] for one in headers.getall("Warning")] == [
            "cluster m3 is not ready", "cluster m2"
        ]  # fmt: skip
        status, body = await ask(staged, "GET", f"{MAPS}/none")
        assert (status, body["reason"]) == (503, "ServiceUnavailable")  # what cannot be seen is not gone
        assert (await ask(staged, "GET", f"{MAPS}/a"))[0] == 200
        monkeypatch.setattr(member_queries, "ANSWER", 0.3)
        await fleet["m2"].faults.up()
        fleet["m2"].faults.slow(30, verb="list")
        status, text, headers = await stage.ask(staged, "GET", MAPS, token="ann")
        assert (status, where(json.loads(text))) == (200, [("m1", "a")])
        assert "cluster m2: no answer in time: what it has is left out" in headers.getall("Warning")[1]


async def _events(got: aiohttp.ClientResponse, count: int) -> list[tuple[str, str, str, dict[str, str]]]:
    found = []
    async with asyncio.timeout(60):
        while len(found) < count:
            event = json.loads(await got.content.readline())
            metadata = event["object"]["metadata"]
            if metadata["name"] == "kube-root-ca.crt":
                continue
            cluster = metadata["annotations"][CACHED_FROM_CLUSTER]
            found.append((event["type"], cluster, metadata["name"], versions.decode(metadata["resourceVersion"])))
    return found


async def test_a_watch_tells_of_all_clusters_and_goes_on_from_its_last_version(tmp_path: Path) -> None:
    async with (
        fleet_of(tmp_path) as (staged, fleet),
        aiohttp.ClientSession(headers={"Authorization": "Bearer ann"}) as http,
    ):
        for name in ("m1", "m2"):
            members.allow(fleet, name, "ann", EVERYTHING)
        _, body = await ask(staged, "GET", MAPS)
        begin = versions.decode(body["metadata"]["resourceVersion"])
        url = f"{staged.url}{MAPS}?watch=true&resourceVersion="
        async with http.get(url + body["metadata"]["resourceVersion"]) as got:
            put(fleet, "m1", "a")
            first = await _events(got, 1)
            put(fleet, "m2", "b")
            second = await _events(got, 1)
        assert [one[:3] for one in first + second] == [("ADDED", "m1", "a"), ("ADDED", "m2", "b")]
        assert first[0][3]["m2"] == begin["m2"]
        assert second[0][3]["m1"] == first[0][3]["m1"]
        put(fleet, "m1", "c")
        async with http.get(url + versions.encode(second[0][3])) as got:
            assert [one[:3] for one in await _events(got, 1)] == [("ADDED", "m1", "c")]
        missing = versions.encode({"m1": second[0][3]["m1"]})
        async with http.get(url + missing) as got:  # m2 begins with everything it has
            assert {one[:3] for one in await _events(got, 2)} == {("ADDED", "m1", "c"), ("ADDED", "m2", "b")}


async def test_the_version_of_a_quiet_cluster_moves_on_also_without_bookmarks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.setattr(member_watch, "_BOOKMARK_EVERY", 0.1)  # a minute, elsewhere
    async with (
        fleet_of(tmp_path) as (staged, fleet),
        aiohttp.ClientSession(headers={"Authorization": "Bearer ann"}) as http,
    ):
        for name in ("m1", "m2"):
            members.allow(fleet, name, "ann", EVERYTHING)
        put(fleet, "m2", "stays", "goes")
        fleet["m2"].api.delete("configmaps", "default", "goes")
        ended = fleet["m2"].cluster.world.store.version
        begin = {"m1": str(fleet["m1"].cluster.world.store.version)}
        async with http.get(f"{staged.url}{MAPS}?watch=true&resourceVersion={versions.encode(begin)}") as got:
            await _events(got, 1)
            put(fleet, "m1", "a")
            [(kind, _, name, told)] = await _events(got, 1)
            assert (kind, name) == ("ADDED", "a")
            assert int(told["m2"]) >= ended, "it would be told of the end of what it never had"
            fleet["m2"].api.create("secrets", {"metadata": {"name": "other", "namespace": "default"}})
            later = fleet["m2"].cluster.world.store.version
            for number in itertools.count():
                put(fleet, "m1", f"b{number}")
                [(kind, _, _, told)] = await _events(got, 1)
                assert kind == "ADDED", "nobody asked for bookmarks"
                if int(told["m2"]) >= later:
                    break
                await asyncio.sleep(0.02)


async def test_what_a_member_tells_at_once_is_told_in_order_up_to_its_error(tmp_path: Path) -> None:
    def line(kind: str, name: str, version: str) -> bytes:
        body = {"kind": "ConfigMap", "metadata": {"name": name, "resourceVersion": version}}
        return json.dumps({"type": kind, "object": body}).encode() + b"\n"

    said = line("ADDED", "a", "5") + line("MODIFIED", "a", "6") + line("ADDED", "b", "7")
    gone = b'{"type":"ERROR","object":{"kind":"Status","code":410}}\n'
    for end, last in ((gone, ["ERROR"]), (b"no JSON\n", [])):
        whole = said + end + line("ADDED", "late", "9")

        async def serve(
            member: members.Exact, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, whole: bytes = whole
        ) -> None:
            await member.head(reader)
            # The second part begins in the middle of an event.
            parts = b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in (whole[:20], whole[20:]))
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + parts)
            await reader.read()

        folder = tmp_path / f"ends-with-{len(last)}"
        folder.mkdir()
        async with members.exact(folder, serve) as (staged, _):
            asked = f"{MAPS}?watch=true&resourceVersion={versions.encode({'m1': '4'})}"
            _, text = await stage.get(staged, asked, token="ann")
        events = [json.loads(one) for one in text.splitlines()]
        assert [one["type"] for one in events] == ["ADDED", "MODIFIED", "ADDED", *last]
        told = [versions.decode(one["object"]["metadata"]["resourceVersion"]) for one in events[:3]]
        assert told == [{"m1": "5"}, {"m1": "6"}, {"m1": "7"}]


async def test_a_watch_ends_with_any_of_its_clusters_and_when_one_comes(tmp_path: Path) -> None:
    async with (
        fleet_of(tmp_path) as (staged, fleet),
        aiohttp.ClientSession(headers={"Authorization": "Bearer ann"}) as http,
    ):
        for name in ("m1", "m2"):
            members.allow(fleet, name, "ann", EVERYTHING)
        url = f"{staged.url}{MAPS}?watch=true"
        async with http.get(url) as got:
            assert got.status == 200
            fleet["m2"].faults.drop_watches()
            async with asyncio.timeout(60):
                await got.read()
        assert isinstance(staged.hub.running.recorded, Recorded)
        staged.hub.running.recorded.facts = {"m2": ClusterFacts("m2", reach=Reach.NOT_READY)}
        async with http.get(url) as got:
            assert "cluster m2 is not ready" in got.headers["Warning"]
            staged.hub.running.recorded.facts = {}
            async with asyncio.timeout(60):
                await got.read()


async def test_a_watch_ends_when_a_cluster_answers_that_was_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.setattr(watch, "_LOOK", 0.05)
    async with (
        fleet_of(tmp_path) as (staged, fleet),
        aiohttp.ClientSession(headers={"Authorization": "Bearer ann"}) as http,
    ):
        for name in ("m1", "m2"):
            members.allow(fleet, name, "ann", EVERYTHING)
        await fleet["m2"].faults.down()
        async with http.get(f"{staged.url}{MAPS}?watch=true") as got:
            assert "cluster m2: " in got.headers["Warning"]
            put(fleet, "m1", "a")
            assert [one[:3] for one in await _events(got, 1)] == [("ADDED", "m1", "a")]
            await fleet["m2"].faults.up()  # nobody noticed that it was away
            async with asyncio.timeout(60):
                await got.read()


async def test_a_watch_ends_when_a_cluster_leaves_and_the_client_lists_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.setattr(watch, "_LOOK", 0.05)
    async with (
        fleet_of(tmp_path) as (staged, fleet),
        aiohttp.ClientSession(headers={"Authorization": "Bearer ann"}) as http,
    ):
        for name in ("m1", "m2"):
            members.allow(fleet, name, "ann", EVERYTHING)
        _, body = await ask(staged, "GET", MAPS)
        url = f"{MAPS}?watch=true&resourceVersion={body['metadata']['resourceVersion']}"
        assert isinstance(staged.hub.running.recorded, Recorded)
        staged.hub.running.recorded.facts = {"m2": ClusterFacts("m2", reach=Reach.NOT_READY)}
        async with http.get(staged.url + url) as got:  # away is not gone: the client goes on from there
            assert got.status == 200
            members.commit(staged, stage.snapshot(ANYTHING, stage.cluster("m1")))
            async with asyncio.timeout(60):
                await got.read()
        status, refused = await ask(staged, "GET", url)
        assert (status, refused["reason"], refused["message"]) == (
            410, "Expired", "the version is one of a fleet with m2: begin with a list anew"
        )  # fmt: skip


async def test_a_cluster_that_hangs_in_the_middle_of_a_list_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.setattr(member_queries, "ANSWER", 0.3)

    async def serve(member: Exact, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await member.head(reader)
        writer.write(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"items":[')
        await reader.read()  # until the hub has gone

    async with members.exact(tmp_path, serve) as (staged, member):
        status, body = await ask(staged, "GET", MAPS)
        assert (status, body["reason"]) == (503, "ServiceUnavailable")
        assert body["message"].startswith("cluster m1: no answer in time")
        await asyncio.wait_for(member.ended.wait(), 60)


async def test_kinds_are_those_of_all_clusters(tmp_path: Path) -> None:
    async with fleet_of(tmp_path) as (staged, fleet):
        for name in ("m1", "m2"):
            members.allow(fleet, name, "ann", EVERYTHING)
        for path, kind in (("/api", "APIVersions"), ("/apis", "APIGroupList"), ("/api/v1", "APIResourceList"),
                           ("/apis/apps", "APIGroup"), ("/apis/apps/v1", "APIResourceList")):  # fmt: skip
            status, body = await ask(staged, "GET", fleet_door(path), headers={"Accept": "application/json"})
            assert (status, body["kind"]) == (200, kind)
        accept = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"}
        status, text, headers = await stage.ask(staged, "GET", fleet_door("/apis"), token="ann", headers=accept)
        assert json.loads(text)["kind"] in ("APIGroupDiscoveryList", "APIGroupList")
        assert ("as=APIGroupDiscoveryList" in headers["Content-Type"]) == (
            json.loads(text)["kind"] == "APIGroupDiscoveryList"
        )
        assert (await ask(staged, "GET", fleet_door("/version")))[1]["gitVersion"]
        assert (await ask(staged, "GET", fleet_door("/openapi/v3")))[1]["paths"]
        assert (await ask(staged, "GET", fleet_door("/apis/none.example/v1/things")))[0] == 404


async def test_all_clusters_by_a_star_are_the_fleet(tmp_path: Path) -> None:
    async with fleet_of(tmp_path) as (staged, fleet):
        for name in ("m1", "m2"):
            members.allow(fleet, name, "ann", EVERYTHING)
            put(fleet, name, "a")
        status, body = await ask(staged, "GET", members.door("*", "/api/v1/namespaces/default/configmaps"))
        assert (status, where(body)) == (200, [("m1", "a"), ("m2", "a")])
        assert (await ask(staged, "GET", members.door("*", "/api/v1/namespaces/default/configmaps/a")))[0] == 409
        assert (await ask(staged, "POST", members.door("*", "/api/v1/namespaces"), json={}))[0] == 405
