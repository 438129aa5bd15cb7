"""What `/api/v1` answers: the described values, in pages, once, and only for whom they are meant."""

from __future__ import annotations

import asyncio
import gzip
import json
import runpy
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate
from yarl import URL

from gitfed.hub.api import openapi, resources
from gitfed.hub.running import Running
from tests.hub import fleet
from tests.hub.stage import Recorded, Staged, ask, staged

NAMES = ("ann", "bob", "eve", "tom")
SHOP = (fleet.workload("shop", "web"), fleet.workload("shop", "cache", 3), fleet.workload("bank", "ledger", 9))
EXAMPLES = {
    "readObject": "/objects/deploy/shop/web",
    "explain": "/explain/Deployment.apps/shop/web",
    "simulate": "/simulate?fail=cluster/eu-1@1m&recover=cluster/eu-1&until=20m",
}
"""Of paths that need something."""


def _running(*documents: str) -> Running:
    return Running(fleet.planned(*(documents or SHOP)))


async def _json(hub: Staged, path: str, *, token: str = "ann", **options: Any) -> Any:
    status, text, headers = await ask(hub, "GET", f"/api/v1{path}", token=token, **options)
    assert (status, headers["Content-Type"]) == (200, "application/json"), text
    return json.loads(text)


async def _refused(hub: Staged, path: str, *, token: str = "ann", method: str = "GET", **options: Any) -> Any:
    status, text, headers = await ask(hub, method, f"/api/v1{path}", token=token, **options)
    assert headers["Content-Type"] == "application/problem+json", (status, text)
    found = json.loads(text)
    _check({"$ref": "#/components/schemas/ProblemDetails"}, found)
    assert found["status"] == status
    return found


def _check(schema: dict[str, Any], value: Any) -> None:
    Draft202012Validator({**schema, "components": openapi.document()["components"]}).validate(value)


def test_the_description_is_valid_openapi() -> None:
    validate(openapi.document())
    operations = [one["get"]["operationId"] for one in openapi.document()["paths"].values() if "get" in one]
    assert len(set(operations)) == len(operations)


def test_the_page_of_the_api_is_up_to_date() -> None:
    tool = runpy.run_path(str(Path(__file__).parents[3] / "tools" / "api_reference.py"))
    assert tool["PAGE"].read_text(encoding="utf-8") == tool["page"](), "run: python tools/api_reference.py"


async def test_every_answer_is_as_the_description_says(tmp_path: Path) -> None:
    documents = (*SHOP, fleet.everywhere("Secret", "v1"), fleet.secret("shop", "vault", "correct-horse"))
    async with staged(tmp_path, names=NAMES, running=_running(*documents)) as hub:
        described = await _json(hub, "/openapi.json")
        for one in resources.ALL:
            path = resources.PREFIX + one.path
            schema = described["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
            for token in ("ann", "eve", "bob"):
                if one.whole_fleet and token != "ann":
                    continue
                _check(schema, await _json(hub, EXAMPLES.get(one.name, one.path), token=token))


async def test_a_value_that_the_description_does_not_know_would_be_found(tmp_path: Path) -> None:
    async with staged(tmp_path, names=NAMES, running=_running()) as hub:
        found = await _json(hub, "/clusters")
    found["items"][0]["colour"] = "blue"
    with pytest.raises(Exception, match="colour"):
        _check({"$ref": "#/components/schemas/ClusterList"}, found)


async def test_simulating_every_failure_alone(tmp_path: Path) -> None:
    async with staged(tmp_path, names=NAMES, running=_running()) as hub:
        found = await _json(hub, "/simulate?nMinusOne=true")
        assert [one["target"] for one in found["targets"]][:2] == ["cluster/eu-1", "cluster/eu-2"]
        assert (await _refused(hub, "/simulate?nMinusOne=true", token="bob"))["status"] == 403


async def test_pages_lead_to_everything(tmp_path: Path) -> None:
    async with staged(tmp_path, names=NAMES, running=_running()) as hub:
        for path, members in (("/bindings", "items"), ("/objects", "items"), ("/plan", "bindings")):
            whole = (await _json(hub, path))[members]
            found, after = [], ""
            while True:
                page = await _json(hub, f"{path}?limit=2{after and f'&continue={after}'}")
                found += page[members]
                after = page.get("next", "")
                if not after:
                    break
            assert found == whole
            assert len(found) > 2


async def test_who_has_the_newest_answer_does_not_get_it_again(tmp_path: Path) -> None:
    running, path = _running(), "/api/v1/bindings?kind=Deployment"
    async with staged(tmp_path, names=NAMES, running=running) as hub:
        _, _, headers = await ask(hub, "GET", path, token="ann")
        again = {"If-None-Match": f'W/"other", {headers["ETag"]}'}
        status, text, other = await ask(hub, "GET", path, token="ann", headers=again)
        assert (status, text, other["ETag"]) == (304, "", headers["ETag"])
        running.recorded = fleet.planned(fleet.workload("shop", "new"))
        found = 304
        while found == 304:  # an answer is given for another second
            found, text, _ = await ask(hub, "GET", path, token="ann", headers=again)
        assert (found, json.loads(text)["items"][0]["resource"]["name"]) == (200, "new")


async def test_answers_are_packed_for_who_takes_that(tmp_path: Path) -> None:
    async with (
        staged(tmp_path, names=NAMES, running=_running()) as hub,
        aiohttp.ClientSession(auto_decompress=False) as session,
    ):
        bodies = {}
        for offered in ("gzip", "identity", "gzip;q=0"):
            headers = {"Authorization": "Bearer ann", "Accept-Encoding": offered}
            async with session.get(f"{hub.url}/api/v1/plan", headers=headers) as answer:
                assert "Accept-Encoding" in answer.headers["Vary"]
                bodies[offered, answer.headers.get("Content-Encoding")] = await answer.read()
    assert gzip.decompress(bodies["gzip", "gzip"]) == bodies["identity", None] == bodies["gzip;q=0", None]


@pytest.mark.parametrize(
    ("path", "detail"),
    [
        ("/bindings?limit=0", "limit is a number from 1 to 1000"),
        ("/bindings?limit=100000", "limit is a number from 1 to 1000"),
        ("/bindings?limit=99999999999999999999", "limit is not a number: '99999999999999999999'"),
        ("/bindings?limit=-1", "limit is not a number: '-1'"),
        ("/bindings?limit=%D9%A1", "limit is not a number: '١'"),
        ("/bindings?limit=1&limit=2", "the parameter limit stands twice"),
        ("/bindings?continue=x", "continue does not come from a page of this list"),
        ("/bindings?namespaces=shop", "there is no parameter 'namespaces' here"),
        ("/bindings?state=odd", "state is one of unscheduled, unapplied, unhealthy, moving"),
        (f"/bindings?q={'x' * 600}", "text is longer than 512 characters"),
        ("/gates?limit=1", "there is no parameter 'limit' here"),
        ("/objects/web", "'web' does not name an object"),
        ("/simulate", "nothing happens"),
        ("/simulate?fail=cluster/nowhere", "cluster/nowhere names no declared cluster"),
        ("/simulate?fail=cluster/eu-1&until=720h", "until is 24h at most"),
        ("/simulate?fail=cluster/eu-1&until=1e9", "until is not a duration"),
        ("/simulate?nMinusOne=yes", "nMinusOne is true or false"),
        ("/simulate?" + "&".join(["fail=cluster/eu-1"] * 21), "that are 21 events, and 20 at most are played"),
    ],
)
async def test_a_malformed_request_is_told_what_is_wrong(tmp_path: Path, path: str, detail: str) -> None:
    async with staged(tmp_path, names=NAMES, running=_running()) as hub:
        found = await _refused(hub, path)
    assert (found["status"], found["detail"]) == (400, detail)


@pytest.mark.parametrize(
    "name", ["deploy/shop/nothing", "deploy/bank/ledger", "secret/shop/web", "deploy/shop/<script>", "deploy/x/'\";--"]
)
async def test_what_is_not_there_and_what_is_not_seen_answer_alike(tmp_path: Path, name: str) -> None:
    async with staged(tmp_path, names=NAMES, running=_running()) as hub:
        for door in ("objects", "explain"):
            found = await _refused(hub, f"/{door}/{quote(name)}", token="bob")
            assert (found["status"], found["detail"]) == (404, f"no object {name!r} in the repository")


@pytest.mark.parametrize(
    "path", ["/objects/../../etc/passwd", "/objects/%2e%2e/x", "/objects//deploy/shop/web", "/objects/a%5cb", "/a%00"]
)
async def test_tricks_with_paths_are_refused_as_problems(tmp_path: Path, path: str) -> None:
    async with (
        staged(tmp_path, names=NAMES, running=_running()) as hub,
        aiohttp.TCPConnector() as connector,
        aiohttp.ClientSession(connector=connector, requote_redirect_url=False) as session,
    ):
        address = URL(f"{hub.url}/api/v1{path}", encoded=True)
        async with session.get(address, headers={"Authorization": "Bearer ann"}) as answer:
            assert (answer.status, (await answer.json(content_type=None))["detail"]) == (
                400, "the path must be in its plain form",
            )  # fmt: skip


async def test_methods_paths_and_forms_that_are_not_served(tmp_path: Path) -> None:
    async with staged(tmp_path, names=NAMES, running=_running()) as hub:
        assert (await _refused(hub, "/clusters", method="DELETE"))["status"] == 405
        assert (await _refused(hub, "/cluster"))["status"] == 404
        assert (await _refused(hub, "/clusters", token="tom"))["detail"] == "no AccessPolicy lets tom view"
        assert (await _refused(hub, "/clusters", token=""))["status"] == 401
        for accept, status in (("text/html", 406), ("text/html, */*;q=0.1", 200), ("application/json;q=0", 406)):
            found, _, _ = await ask(hub, "GET", "/api/v1/clusters", token="ann", headers={"Accept": accept})
            assert found == status


async def test_before_the_first_plan_nothing_is_told(tmp_path: Path) -> None:
    async with staged(tmp_path, names=NAMES, running=Running(Recorded(fleet.planned().repo))) as hub:
        assert (await _refused(hub, "/plan"))["detail"] == "no commit was planned yet"


async def test_hostile_names_come_out_as_data(tmp_path: Path) -> None:
    text = fleet.workload("shop", "web").replace("web:1", "x</script><img src=x onerror=alert(1)>\u202e")
    async with staged(tmp_path, names=NAMES, running=_running(text)) as hub:
        status, body, headers = await ask(hub, "GET", "/api/v1/objects/deploy/shop/web", token="ann")
    assert (status, headers["X-Content-Type-Options"]) == (200, "nosniff")
    assert "onerror" in json.loads(body)["manifests"][0]["body"]["spec"]["template"]["spec"]["containers"][0]["image"]


async def test_many_who_ask_the_same_cost_as_much_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    formed = 0
    document = openapi.resources.plans.document

    def counted(*arguments: Any) -> Any:
        nonlocal formed
        formed += 1
        return document(*arguments)

    monkeypatch.setattr(openapi.resources.plans, "document", counted)
    async with staged(tmp_path, names=NAMES, running=_running()) as hub:
        await asyncio.gather(*(_json(hub, "/plan") for _ in range(40)))
        assert formed == 1
        await _json(hub, "/plan", token="eve")
        assert formed == 2, "what a caller sees is part of the question"
