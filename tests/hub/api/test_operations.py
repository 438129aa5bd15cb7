"""Who may order what through the API, and what is refused before anything is written."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gitfed.errors import NotAllowed
from gitfed.hub.access.caller import Caller
from gitfed.hub.access.rights import Rights, Rulebook
from gitfed.hub.orders import Giver, Orders
from gitfed.hub.running import Running
from gitfed.model.base import Commit
from gitfed.model.decisions import Decisions
from gitfed.model.repo import RepoSnapshot
from gitfed.offline import inputs
from gitfed.offline.order_book import OrderBook
from tests.cli.world import commit, git, repository
from tests.e2e.world import settings
from tests.hub import fleet
from tests.hub.stage import Recorded, Staged, ask, policy, staged, user

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGXfQ7r5x7u7x5p0vH8R3zJ0n3p1x4xR0kq3mQv3b1cX ann"
NAMES = ("ann", "bob", "eve", "kim")
SHOP = (
    fleet.workload("shop", "web"), fleet.workload("bank", "ledger", 9),
    policy("kim", subjects=[user("kim")], clusters={"clusterNames": ["eu-1"]}, allow=["view", "operate"]),
)  # fmt: skip


class Taken(Exception):
    """The order was allowed: it was about to be written."""


def _leading() -> Running:
    """A daemon that leads, as far as orders see it."""
    found = fleet.planned(*SHOP)
    engine = SimpleNamespace(
        repo=found.repo, plan=found.plan, decisions=found.decisions, source_changed=lambda: None,
        fleet=SimpleNamespace(facts=lambda: found.facts),
    )  # fmt: skip
    running = Running(found)
    running.engine = cast(Any, engine)
    return running


def _book(repo: RepoSnapshot) -> OrderBook:
    raise Taken


async def _order(hub: Staged, name: str, body: Any, *, token: str, **headers: str) -> tuple[int, str]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", **headers}
    status, text, answered = await ask(hub, "POST", f"/api/v1/{name}", token=token, data=data, headers=headers)
    if "text/plain" in answered["Content-Type"]:  # aiohttp's own answer to an exception
        return status, text
    return status, json.loads(text)["detail"]


async def _try(tmp_path: Path, cases: list[tuple[str, str, Any, bool | str]]) -> None:
    running = _leading()
    async with staged(tmp_path, names=NAMES, running=running) as hub:
        hub.hub.orders = Orders(running, _book)
        for token, name, body, expected in cases:
            found = await _order(hub, name, body, token=token)
            wanted = 500 if expected is True else 403
            assert found[0] == wanted or (found[0] == 404 and expected is False), (token, name, body, found)
            if isinstance(expected, str):
                assert found[1] == expected


async def test_an_order_needs_the_right_wherever_it_has_effect(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Ann may everything, eve the namespace shop, kim the cluster eu-1, bob only looks."""
    caplog.set_level(logging.CRITICAL, "aiohttp.server")
    web, ledger = {"what": "deploy/shop/web"}, {"what": "deploy/bank/ledger"}
    await _try(
        tmp_path,
        [
            ("ann", "suspend", web, True),
            ("ann", "suspend", {"what": "cluster/eu-1"}, True),
            ("ann", "suspend", {"what": "all"}, True),
            ("ann", "reconcile", {}, True),
            ("ann", "approve", {"what": "deletions"}, True),
            ("eve", "suspend", web, True),
            ("eve", "reconcile", {"what": ["deploy/shop/web"]}, True),
            ("eve", "suspend", ledger, False),
            ("eve", "suspend", {"what": "cluster/eu-1"}, "no AccessPolicy lets eve operate cluster/eu-1"),
            ("eve", "suspend", {"what": "all"}, "no AccessPolicy lets eve operate everything"),
            ("eve", "resume", {"what": "all"}, "no AccessPolicy lets eve operate everything"),
            ("eve", "reconcile", {}, "no AccessPolicy lets eve operate everything"),
            ("eve", "reconcile", {"what": ["deploy/shop/web", "cluster/eu-1"]}, False),
            ("eve", "approve", {"what": "deletions"}, "no AccessPolicy lets eve operate everything"),
            ("kim", "suspend", {"what": "cluster/eu-1"}, True),
            ("kim", "suspend", {"what": "cluster/us-1"}, False),
            ("kim", "suspend", web, "no AccessPolicy lets kim operate Deployment.apps/shop/web"),
            ("bob", "suspend", web, "no AccessPolicy lets bob operate"),
        ],
    )


@pytest.mark.parametrize(
    ("name", "body", "status", "detail"),
    [
        ("suspend", b"{", 400, "the body is no JSON"),
        ("suspend", b"[" * 5000, 400, "the body is no JSON"),
        ("suspend", b"\xff", 400, "the body is no JSON"),
        ("suspend", [], 400, "Input should be a valid dictionary"),
        ("suspend", {}, 400, "what: Field required"),
        ("suspend", {"what": 1}, 400, "what: Input should be a valid string"),
        ("suspend", {"what": "all", "by": "root"}, 400, "by: Extra inputs are not permitted"),
        ("suspend", {"what": "all", "scheduling": "yes"}, 400, "scheduling: Input should be a valid boolean"),
        ("suspend", {"what": "web"}, 400, "'web' does not name an object"),
        ("suspend", {"what": "cluster/eu-1", "scheduling": True}, 400,
         "scheduling is suspended for an object or for all, not for a cluster"),
        ("suspend", {"what": "cluster/nowhere"}, 404, "no cluster 'nowhere'"),
        ("reconcile", {"what": "all"}, 400, "what: Input should be a valid list"),
        ("reconcile", {"what": ["all"] * 101}, 400, "101 things are more than one order names, 100"),
    ],
)  # fmt: skip
async def test_a_malformed_order_is_refused(tmp_path: Path, name: str, body: Any, status: int, detail: str) -> None:
    running = _leading()
    async with staged(tmp_path, names=NAMES, running=running) as hub:
        hub.hub.orders = Orders(running, _book)
        assert await _order(hub, name, body, token="ann") == (status, detail)


async def test_a_large_body_and_another_content_type_are_refused(tmp_path: Path) -> None:
    async with staged(tmp_path, names=NAMES, running=_leading()) as hub:
        assert (await _order(hub, "suspend", b"x" * (17 << 10), token="ann"))[0] == 413
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        assert (await _order(hub, "suspend", b"what=all", token="ann", **form))[0] == 415


async def test_who_does_not_lead_takes_no_order(tmp_path: Path) -> None:
    running = Running(fleet.planned(*SHOP))
    said = "this gitfed does not lead, so it takes no orders"
    async with staged(tmp_path, names=NAMES, running=running) as hub:
        assert await _order(hub, "suspend", {"what": "all"}, token="ann") == (503, said)
        hub.hub.orders = Orders(running, _book)
        assert await _order(hub, "suspend", {"what": "all"}, token="ann") == (503, said)


def test_a_commit_that_waits_cannot_say_who_lets_it_through(tmp_path: Path) -> None:
    files = {f"{number}.yaml": text for number, text in enumerate(fleet.CLUSTERS)}
    path = repository(tmp_path / "repo", {**files, "gitfed.yaml": settings()})
    before = git(path, "rev-parse", "HEAD").strip()
    commit(path, {"access.yaml": fleet.ADMIN})
    opened = inputs.open_repository(str(path))
    repo = inputs.read(opened).repo
    past = Decisions(applied_commit=Commit(before))
    orders = Orders(Running(Recorded(repo, decisions=past)), _book)
    giver = Giver(Caller("ann"), Rulebook(repo).of(Caller("ann")))
    with pytest.raises(NotAllowed) as refused:
        orders._approve(OrderBook(opened, repo), giver, "deletions")
    assert refused.value.message == f"no AccessPolicy of {before[:12]} lets ann operate everything"
    commit(path, {"gitfed.yaml": settings(guards={"approvers": [KEY]})})
    repo = inputs.read(inputs.open_repository(str(path))).repo
    assert not repo.problems
    orders = Orders(Running(Recorded(repo, decisions=Decisions(applied_commit=repo.commit))), _book)
    with pytest.raises(NotAllowed, match=r"spec.guards.approvers says whose signature consents"):
        orders._approve(OrderBook(opened, repo), giver, "deletions")
    opened.repository.close()


async def test_a_session_repeats_its_token_for_an_order(tmp_path: Path) -> None:
    async with staged(tmp_path, names=NAMES, running=_leading()) as hub:
        cookie = {"Cookie": f"gitfed-session={hub.hub.sessions.begin(Caller('ann'))}"}
        found = await _order(hub, "suspend", {"what": "all"}, token="", **cookie)
        assert found == (403, "the form is too old: load the page again")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("ann", "ann"),
        ("ann\n\nGitfed-Order: trust", "ann Gitfed-Order: trust"),
        ("a\x1b[31m\u202eb\x00", "a [31m b"),
        ("x" * 1000, "x" * 256),
    ],
)
def test_what_a_caller_is_called_is_one_line_of_the_record(text: str, line: str) -> None:
    assert Giver(Caller(text), Rights()).name == line
