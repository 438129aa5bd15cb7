"""What is cached, in OpenSearch: the requests that a server gets, and what becomes of those it does not take."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web

from gitfed.edges import opensearch
from gitfed.errors import SearchStoreError
from gitfed.hub.search import copying
from gitfed.hub.search.collection import Budget, Collection
from gitfed.hub.search.copying import Copying
from gitfed.model.declared.search import OpenSearchConfig
from gitfed.model.keys import CACHED_FROM_CLUSTER, LAST_APPLIED
from tests.edges.kube.answering import Server, serving
from tests.hub import stage
from tests.hub.doors import members
from tests.hub.search.pods import listed, pod
from tests.support import patience

pytestmark = pytest.mark.skipif(not opensearch.is_installed(), reason="opensearch-py is not installed")
Document = dict[str, Any]


@dataclass
class Store:
    """As much of OpenSearch as is spoken to."""

    documents: dict[tuple[str, str], Document] = field(default_factory=dict)
    indices: dict[str, Document] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)
    authorization: set[str] = field(default_factory=set)
    status: int = 200
    refuse: str = ""
    """uid of a document that is refused."""

    async def __call__(self, request: web.Request) -> web.Response:
        self.seen.append(f"{request.method} {request.path}")
        self.authorization.add(request.headers.get("Authorization", ""))
        if self.status >= 300:
            return web.json_response({"error": "SECRET"}, status=self.status, headers={"Location": "/elsewhere"})
        if request.method == "PUT":
            name = request.path.strip("/")
            if name in self.indices:
                return web.json_response({"error": {"type": "resource_already_exists_exception"}}, status=400)
            self.indices[name] = orjson.loads(await request.read())
            return web.json_response({"acknowledged": True})
        assert request.path == "/_bulk"
        return web.json_response({"items": self._bulk((await request.read()).splitlines())})

    def _bulk(self, lines: list[bytes]) -> list[Document]:
        items = []
        while lines:
            [[verb, about]] = orjson.loads(lines.pop(0)).items()
            key = about["_index"], about["_id"]
            status = 200
            if verb == "delete":
                status = 200 if self.documents.pop(key, None) else 404
            elif key[1] == self.refuse:
                lines.pop(0)
                items.append({verb: {"status": 400, "error": {"type": "mapper_parsing_exception"}}})
                continue
            else:
                self.documents[key] = orjson.loads(lines.pop(0))
            items.append({verb: {"status": status}})
        return items


def config(server: Server, **more: Any) -> OpenSearchConfig:
    return OpenSearchConfig.model_validate({"addresses": [server.url], **more})


def secret(folder: Path, *addresses: str, **files: str) -> dict[str, Any]:
    place = folder / "search" / "opensearch"
    place.mkdir(parents=True)
    for name, text in {"server": "\n".join(addresses), "password": "pass\n", **files}.items():
        (place / name).write_text(text)
    return {"secretRef": {"namespace": "search", "name": "opensearch"}}


@contextlib.asynccontextmanager
async def copied(store: Store, folder: Path | None = None, **more: Any) -> AsyncIterator[tuple[Copying, Collection]]:
    async with serving(store) as server:
        found = Copying(folder)
        made = Collection("m1", "v1", "Pod", Budget(1 << 30), found.to(config(server, **more)))
        try:
            yield found, made
        finally:
            await found.keep_only(())


async def until_written(found: Copying, count: int) -> None:
    await stage.until(lambda: not found.waiting and found.outcomes["written"] + found.outcomes["refused"] >= count)


async def test_objects_are_documents_by_kind_and_uid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "_AT_ONCE", 2)
    store = Store(indices={"kubernetes-node": {}})
    annotations = {LAST_APPLIED: "SECRET", "note": "x"}
    async with copied(store) as (found, made):
        listed(made, pod("a", labels={"app": "web", "app.kubernetes.io/name": "web"}, annotations=annotations),
               pod("b"), {**pod("c"), "data": {"password": "SECRET"}})  # fmt: skip
        await until_written(found, 3)
        assert sorted(store.documents) == [("kubernetes-pod", f"uid-{name}") for name in "abc"]
        assert store.documents["kubernetes-pod", "uid-a"] == {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "a", "namespace": "shop", "annotations": {"note": "x", CACHED_FROM_CLUSTER: "m1"},
                         "labels": {"app": "web", "app.kubernetes.io/name": "web"}},
            "spec": orjson.dumps(pod("a")["spec"]).decode(), "status": "null",
        }  # fmt: skip
        assert "SECRET" not in str(store.documents)
        metadata = store.indices["kubernetes-pod"]["mappings"]["properties"]["metadata"]["properties"]
        assert metadata["labels"] == {"type": "flat_object"}  # both labels of `a` can be fields of one document
        assert store.seen.count("PUT /kubernetes-pod") == 1

        made.event("MODIFIED", pod("a", "11", annotations={"note": "y"}))
        made.event("DELETED", pod("b", "12"))
        made.event("DELETED", pod("never", "13"))
        await until_written(found, 6)
        assert sorted(uid for _, uid in store.documents) == ["uid-a", "uid-c"]
        assert store.documents["kubernetes-pod", "uid-a"]["metadata"]["annotations"]["note"] == "y"
        assert store.authorization == {""}


async def test_a_store_that_fails_gets_everything_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "BACKOFF", copying.Backoff((0.01,), 0.0, 0.0))
    store = Store(status=503)
    async with copied(store) as (found, made):
        listed(made, pod("a"), pod("b"))
        await stage.until(lambda: found.outcomes["failed"] >= 2)
        assert found.waiting == 2
        made.event("DELETED", pod("b", "12"))
        store.status = 302  # what it names is not asked
        failed = found.outcomes["failed"]
        await stage.until(lambda: found.outcomes["failed"] > failed)
        store.status = 200
        await until_written(found, 2)
        assert sorted(uid for _, uid in store.documents) == ["uid-a"]
    assert not any("elsewhere" in one for one in store.seen)


async def test_what_is_refused_for_good_holds_up_nothing(caplog: pytest.LogCaptureFixture) -> None:
    store = Store(refuse="uid-a")
    async with copied(store) as (found, made):
        listed(made, pod("a"), pod("b"))
        await until_written(found, 2)
        assert dict(found.outcomes) == {"refused": 1, "written": 1}
    [told] = [one for one in caplog.records if one.name == copying.__name__]
    assert (told.message, told.types) == ("OpenSearch refuses objects", "mapper_parsing_exception")  # type: ignore[attr-defined]


@pytest.mark.parametrize("member", ["username", "userName"])
async def test_a_password_goes_to_the_addresses_beside_it(tmp_path: Path, member: str) -> None:
    store = Store()
    async with serving(store) as server:
        more = secret(tmp_path, "https://other:9200", server.url + "/", **{member: "ann"})
        found = Copying(tmp_path)
        made = Collection("m1", "v1", "Pod", Budget(1 << 30), found.to(config(server, **more)))
        listed(made, pod("a"))
        await until_written(found, 1)
        await found.keep_only(())
    assert store.authorization == {"Basic " + base64.b64encode(b"ann:pass").decode()}


async def test_a_password_goes_nowhere_else(tmp_path: Path) -> None:
    store = Store()
    async with serving(store) as server:
        wanted = config(server, **secret(tmp_path, "https://other:9200", username="ann"))
        place = tmp_path / "search" / "opensearch"
        for folder, said in (
            (tmp_path, f"the password of Secret {place} may not go to {server.url} (add a line to {place}/server)"),
            (tmp_path / "x", f"Secret {tmp_path}/x/search/opensearch: server cannot be read (it is a file in it)"),
            (None, "no credentials directory for the secretRef of OpenSearch (--credentials-dir)"),
        ):  # fmt: skip
            with pytest.raises(SearchStoreError) as told:
                await opensearch.OpenSearch(wanted, folder).write([opensearch.BulkOperation("i", "1", b"{}")])
            assert str(told.value) == said
    assert store.seen == []


async def test_without_the_extra_the_log_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opensearch, "is_installed", lambda: False)
    wanted = OpenSearchConfig.model_validate({"addresses": ["http://127.0.0.1:1"]})
    with pytest.raises(SearchStoreError) as told:
        await opensearch.OpenSearch(wanted, None).write([opensearch.BulkOperation("i", "1", b"{}")])
    assert str(told.value) == "opensearch-py is not installed (pip install 'gitfed[search]')"


async def test_an_address_that_is_not_contacted_and_one_that_is_silent_are_told() -> None:
    for address, said in (
        ("http://169.254.169.254", "http://169.254.169.254 is not contacted: it is "),
        ("http://127.0.0.1:1", "OpenSearch gives no answer (ConnectionError)"),
    ):
        store = opensearch.OpenSearch(OpenSearchConfig.model_validate({"addresses": [address]}), None)
        with pytest.raises(SearchStoreError) as told:
            await store.write([opensearch.BulkOperation("i", "1", b"{}")])
        assert told.value.message.startswith(said)
        await store.close()


async def test_of_two_registries_the_one_with_a_store_alone_is_copied(tmp_path: Path) -> None:
    def registry(name: str, kind: str, **more: object) -> str:
        spec = {"targetCluster": {}, "resourceSelectors": [{"apiVersion": "v1", "kind": kind}], **more}
        body = {"apiVersion": "search.karmada.io/v1alpha1", "kind": "ResourceRegistry", "metadata": {"name": name}}
        return orjson.dumps({**body, "spec": spec}).decode()

    async def named(staged: stage.Staged, resource: str) -> set[tuple[str, str]]:
        path = f"/apis/search.karmada.io/v1alpha1/search/cache/api/v1/{resource}?labelSelector=mine"
        status, text = await stage.get(staged, path, token="ann")
        found = [one["metadata"] for one in orjson.loads(text)["items"]] if status == 200 else []
        return {(one["annotations"][CACHED_FROM_CLUSTER], one["name"]) for one in found}

    store = Store()
    async with serving(store) as server:
        documents = (
            stage.policy("view", subjects=[stage.user("ann")], allow=["view"]), registry("a", "Namespace"),
            registry("b", "ConfigMap", backendStore={"openSearch": {"addresses": [server.url]}}),
        )  # fmt: skip
        async with members.embedded(tmp_path, ("m1", "m2"), *documents) as (staged, fleet):
            for name in ("m1", "m2"):
                members.allow(fleet, name, "ann", members.EVERYTHING)
                fleet[name].api.create("namespaces", {"metadata": {"name": "shop", "labels": {"mine": "yes"}}})
                body = {"metadata": {"name": f"of-{name}", "namespace": "shop", "labels": {"mine": "yes"}}}
                fleet[name].api.create("configmaps", body)
            wanted = {"namespaces": {("m1", "shop"), ("m2", "shop")}, "configmaps": {("m1", "of-m1"), ("m2", "of-m2")}}
            async with asyncio.timeout(patience.SECONDS):
                while {name: await named(staged, name) for name in wanted} != wanted:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            await stage.until(lambda: {"of-m1", "of-m2"} <= {one["metadata"]["name"] for one in copies(store)})
            assert {index for index, _ in store.documents} == set(store.indices) == {"kubernetes-configmap"}


def copies(store: Store) -> list[Document]:
    return list(store.documents.values())
