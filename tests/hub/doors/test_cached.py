"""The search cache behind its own door and behind that of the fleet, with each caller's own rights."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from gitfed.fleet_api import versions
from gitfed.hub.search import access_reviews
from gitfed.model.fleet import ClusterFacts, Reach
from gitfed.model.keys import CACHED_FROM_CLUSTER
from kubesim.fleet import Fleet
from kubesim.status import ApiError
from tests.hub import stage
from tests.hub.doors import members
from tests.hub.doors.members import EVERYTHING, door, fleet_door
from tests.hub.stage import Recorded, Staged
from tests.support import patience

MAPS = "/api/v1/namespaces/shop/configmaps"
READS_MAPS = {"apiGroups": [""], "resources": ["configmaps", "namespaces"], "verbs": ["get", "list"]}
DEPLOYMENT = {
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"selector": {"matchLabels": {"app": "web"}},
             "template": {"metadata": {"labels": {"app": "web"}},
                          "spec": {"containers": [{"name": "web", "image": "nginx:1"}]}}},
}  # fmt: skip
VIEW = stage.policy("view", subjects=[stage.user("ann")], allow=["view", "proxy"])


def registry(name: str, *selectors: dict[str, str], clusters: object = None) -> str:
    spec = {"targetCluster": clusters or {}, "resourceSelectors": list(selectors)}
    return (
        "apiVersion: search.karmada.io/v1alpha1\nkind: ResourceRegistry\n"
        f"metadata: {{name: {name}}}\nspec: {json.dumps(spec)}\n"
    )


def maps(namespace: str = "", kind: str = "ConfigMap", version: str = "v1") -> dict[str, str]:
    return {"apiVersion": version, "kind": kind, **({"namespace": namespace} if namespace else {})}


def search(path: str) -> str:
    return f"/apis/search.karmada.io/v1alpha1/search/cache{path}"


def fill(fleet: Fleet, *names: str) -> None:
    """Two ConfigMaps in each cluster, which ann may read, and one in another namespace."""
    for name in names or ("m1", "m2"):
        api = fleet[name].api
        members.allow(fleet, name, "ann", READS_MAPS)
        for namespace in ("shop", "office"):
            api.create("namespaces", {"metadata": {"name": namespace}})
        for one in ("a", "b"):
            put(fleet, name, one, tier=one)
        put(fleet, name, "c", namespace="office")


def put(fleet: Fleet, cluster: str, name: str, namespace: str = "shop", **labels: str) -> None:
    body = {"metadata": {"name": name, "namespace": namespace, "labels": {"mine": "yes", **labels}}}
    fleet[cluster].api.create("configmaps", {**body, "data": {"in": cluster}})


async def ask(staged: Staged, path: str, token: str = "ann", **options: Any) -> tuple[int, Any, list[str]]:
    status, text, headers = await stage.ask(staged, "GET", path, token=token, **options)
    return status, json.loads(text), headers.getall("Warning", [])  # type: ignore[attr-defined]


async def found(staged: Staged, path: str, *expected: str, token: str = "ann") -> Any:
    """The answer once it is complete and has these objects, `cluster/name`."""
    status, body, warnings = 0, {}, ["none yet"]
    try:
        async with asyncio.timeout(patience.SECONDS):
            while status != 200 or warnings or where(body) != list(expected):
                await asyncio.sleep(0.05)
                status, body, warnings = await ask(staged, search(path), token)
    except TimeoutError:
        pytest.fail(f"{status} {warnings} {where(body) or body}")
    return body


def where(body: Any) -> list[str]:
    listed = [one["metadata"] for one in body.get("items") or ()]
    return [f"{one['annotations'][CACHED_FROM_CLUSTER]}/{one['name']}" for one in listed
            if one["name"] != "kube-root-ca.crt"]  # fmt: skip


async def test_a_search_lists_what_registries_select_in_all_clusters(tmp_path: Path) -> None:
    async with members.embedded(tmp_path, ("m1", "m2"), VIEW, registry("maps", maps())) as (staged, fleet):
        fill(fleet)
        body = await found(staged, f"{MAPS}?limit=1", "m1/a", "m1/b", "m2/a", "m2/b")  # a limit is no limit here
        assert {name: body[name] for name in ("apiVersion", "kind", "metadata")} == {
            "apiVersion": "v1", "kind": "ConfigMapList", "metadata": {}
        }  # fmt: skip
        own = fleet["m1"].api.get("configmaps", "shop", "a")
        assert own["metadata"].pop("managedFields", None) != []
        own["metadata"]["annotations"] = {CACHED_FROM_CLUSTER: "m1"}
        assert body["items"][0] == own
        await found(staged, "/api/v1/configmaps?labelSelector=mine", *(f"{m}/{n}" for m in ("m1", "m2") for n in "cab"))
        await found(staged, f"{MAPS}?labelSelector=mine%3Dyes,tier!%3Da", "m1/b", "m2/b")
        await found(staged, f"{MAPS}?fieldSelector=metadata.name%3Db", "m1/b", "m2/b")
        office = "/api/v1/configmaps?labelSelector=mine&fieldSelector=metadata.namespace%3Doffice"
        await found(staged, office, "m1/c", "m2/c")
        await found(staged, f"{MAPS}/a", "m1/a", "m2/a")
        assert (await found(staged, f"{MAPS}/none"))["items"] == []

        put(fleet, "m2", "d")
        fleet["m1"].api.delete("configmaps", "shop", "a")
        await found(staged, MAPS, "m1/b", "m2/a", "m2/b", "m2/d")


async def test_what_is_not_cached_is_refused_with_the_reason(tmp_path: Path) -> None:
    async with members.embedded(tmp_path, ("m1",), VIEW, registry("maps", maps())) as (staged, fleet):
        fill(fleet, "m1")
        await found(staged, MAPS, "m1/a", "m1/b")
        for path, status, message in (
            ("/api/v1/pods", 404, "no matches for /v1, Resource=pods: no ResourceRegistry selects it"),
            ("/apis/apps/v1/deployments", 404,
             "no matches for apps/v1, Resource=deployments: no ResourceRegistry selects it"),
            (f"{MAPS}/a/status", 400, "configmaps/status is not cached: objects are, and nothing below them"),
            ("/api/v1", 400,
             "/api/v1 is about no resource: only kinds that a ResourceRegistry selects are cached"),
            ("", 400, "/ is about no resource: only kinds that a ResourceRegistry selects are cached"),
            (f"{MAPS}?watch=true", 400, "there is no watch here: use the door of the fleet"),
            (f"{MAPS}?labelSelector=a+in+b", 400, "'a in b' is no label key"),
            (f"{MAPS}?fieldSelector=data.in%3Dm1", 400,
             "field selector data.in=m1: only metadata.name and metadata.namespace can be asked for here"),
            ("/api/v1/namespaces/shop%2Fx/configmaps", 400, "the path must be in its plain form: no escaped slashes"),
        ):  # fmt: skip
            code, body, _ = await ask(staged, search(path))
            assert (code, body["kind"]) == (status, "Status"), path
            assert body["message"] == message
        opensearch = "/apis/search.karmada.io/v1alpha1/search/opensearch/api/v1/pods"
        assert (await stage.get(staged, opensearch, token="ann"))[0] == 404


async def test_registries_add_up_and_follow_the_commit(tmp_path: Path) -> None:
    shop = registry("shop", maps("shop"), maps("shop", kind="Namespace"))
    office = registry("office", maps("office"), clusters={"clusterNames": ["m2"]})
    async with members.embedded(tmp_path, ("m1", "m2"), VIEW, shop, office) as (staged, fleet):
        fill(fleet)
        everywhere = "/api/v1/configmaps?labelSelector=mine"
        await found(staged, everywhere, "m1/a", "m1/b", "m2/c", "m2/a", "m2/b")
        await found(staged, "/api/v1/namespaces/office/configmaps?labelSelector=mine", "m2/c")
        await found(staged, "/api/v1/namespaces/shop", "m1/shop", "m2/shop")
        body = (await ask(staged, search("/api/v1/namespaces")))[1]  # in no namespace, so it selects all of them
        assert {"m1/office", "m1/default"} < set(where(body))

        documents = [stage.cluster("m1"), stage.cluster("m2"), VIEW, office]
        members.commit(staged, stage.snapshot(*documents))
        await found(staged, everywhere, "m2/c")
        assert (await ask(staged, search("/api/v1/namespaces")))[0] == 404


async def test_a_kind_that_one_cluster_does_not_serve_is_left_out(tmp_path: Path) -> None:
    things = registry("things", maps(kind="Thing", version="example.com/v1"))
    rule = {"apiGroups": ["example.com"], "resources": ["things"], "verbs": ["get", "list"]}
    async with members.embedded(tmp_path, ("m1", "m2"), VIEW) as (staged, fleet):
        for name in ("m1", "m2"):
            members.allow(fleet, name, "ann", rule)
        path, made = "/apis/example.com/v1/namespaces/default/things", None
        fleet["m2"].api.create("customresourcedefinitions.apiextensions.k8s.io", DEFINITION)
        thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "one", "namespace": "default"}}
        async with asyncio.timeout(patience.SECONDS):
            while not made:
                with contextlib.suppress(ApiError):  # a definition takes a moment
                    made = fleet["m2"].api.create("things.example.com", thing)
                await asyncio.sleep(0.02)
        members.commit(staged, stage.snapshot(stage.cluster("m1"), stage.cluster("m2"), VIEW, things))
        body = await found(staged, path, "m2/one")
        assert body["kind"] == "ThingList"


DEFINITION = {
    "metadata": {"name": "things.example.com"},
    "spec": {
        "group": "example.com", "scope": "Namespaced",
        "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
        "versions": [{
            "name": "v1", "served": True, "storage": True,
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        }],
    },
}  # fmt: skip


async def test_a_caller_sees_what_each_member_lets_them_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = stage.policy("view", subjects=[stage.user("ann"), stage.user("bob")], allow=["view"])
    monkeypatch.setattr(access_reviews, "NO_HOLDS", 0.0)
    async with members.embedded(tmp_path, ("m1", "m2"), both, registry("maps", maps())) as (staged, fleet):
        fill(fleet)
        await found(staged, MAPS, "m1/a", "m1/b", "m2/a", "m2/b")
        status, body, _ = await ask(staged, search(MAPS), "bob")
        assert (status, body["reason"]) == (403, "Forbidden")
        members.allow(fleet, "m2", "bob", READS_MAPS)
        status, body, warnings = await ask(staged, search(MAPS), "bob")
        assert (status, where(body)) == (200, ["m2/a", "m2/b"])
        assert warnings == [
            '299 gitfed "cluster m1: user \\"bob\\" may not list configmaps in the namespace \\"shop\\": '
            'it is left out"'
        ]
        assert "m1/" not in json.dumps(body)
        status, body, _ = await ask(staged, search(f"{MAPS}/a"), "bob")
        assert where(body) == ["m2/a"]


async def test_an_access_policy_narrows_clusters_and_namespaces(tmp_path: Path) -> None:
    one = stage.policy(
        "shop", subjects=[stage.user("ann")], clusters={"clusterNames": ["m2"]}, namespaces=["shop"], allow=["view"]
    )
    clusters = [stage.cluster("m1"), stage.cluster("m2")]
    async with members.embedded(tmp_path, ("m1", "m2"), one, registry("maps", maps())) as (staged, fleet):
        fill(fleet)
        await found(staged, MAPS, "m2/a", "m2/b")
        for path in ("/api/v1/configmaps", "/api/v1/namespaces/office/configmaps"):
            status, body, _ = await ask(staged, search(path))
            assert (status, body["reason"]) == (403, "Forbidden")
        assert body["message"] == ("no AccessPolicy lets ann view configmaps in namespace office of any cached cluster")
        proxy = stage.policy("proxy", subjects=[stage.user("ann")], allow=["proxy"])
        members.commit(staged, stage.snapshot(*clusters, proxy, registry("maps", maps())))
        assert (await ask(staged, search(MAPS)))[0] == 403  # at once, whatever was reviewed


async def test_clusters_that_are_away_are_left_out_or_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_reviews, "ANSWER", 0.3)
    monkeypatch.setattr(access_reviews, "NO_HOLDS", 0.0)
    async with members.embedded(tmp_path, ("m1", "m2", "m3"), VIEW, registry("maps", maps())) as (staged, fleet):
        fleet["m3"].faults.slow(60, verb="list", resource="configmaps")  # it hangs
        fill(fleet, "m1", "m2", "m3")
        status, body, warnings = 0, {}, []
        async with asyncio.timeout(patience.SECONDS):
            while where(body) != ["m1/a", "m1/b", "m2/a", "m2/b"]:
                status, body, warnings = await ask(staged, search(MAPS))
        assert (status, warnings) == (200, ['299 gitfed "cluster m3: ConfigMap was not read yet"'])

        await fleet["m2"].faults.down()
        lost: list[str] = []
        async with asyncio.timeout(patience.SECONDS):
            while not any("configmaps" in one or "no answer" in one or "as of" in one for one in lost):
                status, body, lost = await ask(staged, search(MAPS))
        assert status == 200
        assert where(body)[:2] == ["m1/a", "m1/b"]
        assert isinstance(staged.hub.running.recorded, Recorded)
        staged.hub.running.recorded.facts = {"m2": ClusterFacts("m2", reach=Reach.NOT_READY)}
        status, body, warnings = await ask(staged, search(MAPS))
        assert where(body) == ["m1/a", "m1/b"]
        assert '299 gitfed "cluster m2 is not ready: what it has is left out"' in warnings
        staged.hub.running.recorded.facts = {
            one: ClusterFacts(one, reach=Reach.NOT_READY) for one in ("m1", "m2", "m3")
        }
        assert (await ask(staged, search(MAPS)))[0] == 503  # nothing can be told, which is not "nothing is there"


async def test_a_watch_that_expired_begins_with_a_list(tmp_path: Path) -> None:
    async with members.embedded(tmp_path, ("m1",), VIEW, registry("maps", maps())) as (staged, fleet):
        fill(fleet, "m1")
        await found(staged, MAPS, "m1/a", "m1/b")
        fleet["m1"].api.delete("configmaps", "shop", "a")
        put(fleet, "m1", "d")
        fleet["m1"].cluster.forget()  # the watch cannot go on: what was deleted meanwhile is told by nobody
        await found(staged, MAPS, "m1/b", "m1/d")


def passed_on(staged: Staged) -> float:
    metric = next(one for one in staged.hub.metrics if one.name == "gitfed_proxy_requests_total")
    return sum(value for _, value in metric.read())


async def test_reads_of_the_fleet_that_take_any_version_come_from_the_cache(tmp_path: Path) -> None:
    async with members.embedded(tmp_path, ("m1", "m2"), VIEW, registry("maps", maps())) as (staged, fleet):
        fill(fleet)
        put(fleet, "m2", "only")
        await found(staged, MAPS, "m1/a", "m1/b", "m2/a", "m2/b", "m2/only")
        at_hand = fleet_door(f"{MAPS}?resourceVersion=0")
        before = passed_on(staged)
        status, body, _ = await ask(staged, at_hand)
        assert (status, where(body)) == (200, ["m1/a", "m1/b", "m2/a", "m2/b", "m2/only"])
        assert (body["kind"], body["apiVersion"]) == ("ConfigMapList", "v1")
        assert versions.decode(body["metadata"]["resourceVersion"]).keys() == {"m1", "m2"}
        own = fleet["m2"].api.get("configmaps", "shop", "only")["metadata"]["resourceVersion"]
        assert versions.decode(body["items"][-1]["metadata"]["resourceVersion"]) == {"m2": own}
        status, one, _ = await ask(staged, fleet_door(f"{MAPS}/only?resourceVersion=0"))
        assert (status, one["metadata"], one["kind"]) == (200, body["items"][-1]["metadata"], "ConfigMap")
        assert passed_on(staged) == before, "members were asked"

        for path in (MAPS, f"{MAPS}?resourceVersion=0&limit=2", f"{MAPS}/a?resourceVersion=0"):
            before = passed_on(staged)
            status, body, _ = await ask(staged, fleet_door(path))
            assert (status, passed_on(staged) > before) == (409 if "/a?" in path else 200, True), path
        table = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}
        assert (await ask(staged, at_hand, headers=table))[1]["kind"] == "Table"
        watched = fleet_door(f"{MAPS}?resourceVersion={versions.encode({'m1': '1'})}")
        assert (await ask(staged, watched))[0] in (200, 410)
        assert (await ask(staged, door("m1", f"{MAPS}/a")))[0] == 200


async def test_what_is_not_cached_of_the_fleet_is_asked_of_its_clusters(tmp_path: Path) -> None:
    async with members.embedded(tmp_path, ("m1", "m2"), VIEW, registry("shop", maps("shop"))) as (staged, fleet):
        fill(fleet)
        put(fleet, "m2", "only", namespace="office")
        members.allow(fleet, "m1", "ann", READS_MAPS, EVERYTHING)
        await found(staged, MAPS, "m1/a", "m1/b", "m2/a", "m2/b")
        office = "/api/v1/namespaces/office/configmaps/only?resourceVersion=0"
        status, body, _ = await ask(staged, fleet_door(office))
        assert (status, body["metadata"]["annotations"]) == (200, {CACHED_FROM_CLUSTER: "m2"})
        fleet["m1"].api.create("deployments.apps", DEPLOYMENT)
        path = "/apis/apps/v1/namespaces/shop/deployments"
        status, body, _ = await ask(staged, fleet_door(f"{path}?resourceVersion=0"))
        assert (status, where(body)) == (200, ["m1/web"])


async def test_a_cached_read_of_the_fleet_shows_no_more_than_members_would(tmp_path: Path) -> None:
    both = stage.policy("all", subjects=[stage.user("ann"), stage.user("bob")], allow=["view", "proxy"])
    async with members.embedded(tmp_path, ("m1", "m2"), both, registry("maps", maps())) as (staged, fleet):
        fill(fleet)
        members.allow(fleet, "m2", "bob", READS_MAPS, EVERYTHING)
        await found(staged, MAPS, "m1/a", "m1/b", "m2/a", "m2/b")
        status, body, warnings = await ask(staged, fleet_door(f"{MAPS}?resourceVersion=0"), "bob")
        assert (status, where(body)) == (200, ["m2/a", "m2/b"])
        assert 'User \\"bob\\" cannot list resource' in warnings[0]


async def test_a_hub_that_reaches_no_clusters_does_not_deny_that_something_is_cached(tmp_path: Path) -> None:
    async with stage.staged(tmp_path, stage.cluster("m1"), VIEW, registry("maps", maps())) as staged:
        status, body = 404, {}
        async with asyncio.timeout(patience.SECONDS):
            while status == 404:  # the first look at the commit
                status, body, _ = await ask(staged, search(MAPS))
        assert (status, body["message"]) == (
            503, "whether configmaps is cached cannot be told yet: cluster m1: this hub reaches no clusters"
        )  # fmt: skip


async def test_a_cluster_that_was_never_reached_is_named(tmp_path: Path) -> None:
    async with members.embedded(tmp_path, ("m1", "m2"), VIEW) as (staged, fleet):
        fill(fleet)
        await fleet["m2"].faults.down()
        members.commit(staged, stage.snapshot(stage.cluster("m1"), stage.cluster("m2"), VIEW, registry("maps", maps())))
        body, warnings = {}, []
        async with asyncio.timeout(patience.SECONDS):
            while where(body) != ["m1/a", "m1/b"]:
                _, body, warnings = await ask(staged, search(MAPS))
        [told] = warnings
        assert told.startswith('299 gitfed "cluster m2')
        assert told.endswith('what it has is left out"')
