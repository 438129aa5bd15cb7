"""What can be done with a bootstrap token that leaked, and with an agent's certificate: one claim, one test."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from gitfed.edges.certificates import Authority
from gitfed.hub import capabilities
from gitfed.hub.enrolment import registration
from tests.hub import stage
from tests.hub.enrolment.site import Site, ledger, registered, token
from tests.hub.stage import EVERYWHERE, ask, policy, staged
from tests.hub.stage import user as subject

EVERYTHING = policy(
    "everything",
    subjects=[{"kind": "Group", "name": "system:gitfed:agents"}, subject("system:gitfed:agent:edge-1")],
    allow=["view", "operate", "proxy"],
)
"""Somebody's mistake: it must not help."""


def _routes(hub: stage.Staged) -> list[tuple[str, str]]:
    """Every route that is neither open nor for agents."""
    return [
        (route.method, route.path.replace("{", "").replace("}", ""))
        for one in capabilities.all_of(hub.hub)
        for route in one.routes
        if not route.open and not route.agents
    ]


async def test_its_holder_registers_one_cluster_which_gets_nothing_until_it_is_declared(
    tmp_path: Path,
) -> None:
    async with staged(tmp_path, options=EVERYWHERE) as hub:
        leaked = token(hub)
        assert (await Site("mine", tmp_path).register(hub, leaked))[0] == 201
        assert hub.hub.running.repo is not None
        assert not hub.hub.running.repo.clusters


async def test_its_holder_cannot_register_a_second_cluster(tmp_path: Path) -> None:
    async with staged(tmp_path, options=EVERYWHERE) as hub:
        leaked = token(hub)
        assert (await Site("mine", tmp_path).register(hub, leaked))[0] == 201
        assert (await Site("mine-too", tmp_path).register(hub, leaked))[0] == 403


async def test_a_used_token_gives_its_thief_nothing(tmp_path: Path) -> None:
    async with staged(tmp_path, options=EVERYWHERE) as hub:
        leaked = token(hub)
        assert (await Site("edge-1", tmp_path).register(hub, leaked))[0] == 201
        assert (await Site("edge-1", tmp_path).register(hub, leaked))[0] == 403


async def test_its_holder_cannot_take_the_place_of_a_cluster(tmp_path: Path) -> None:
    async with staged(tmp_path, stage.cluster("eu-1"), options=EVERYWHERE) as hub:
        leaked = token(hub)
        await registered(hub, "edge-1", tmp_path)
        for name in ("eu-1", "edge-1"):
            assert (await Site(name, tmp_path).register(hub, leaked))[0] == 409


async def test_its_holder_can_find_out_by_trying_whether_a_name_exists_and_only_slowly(tmp_path: Path) -> None:
    async with staged(tmp_path, stage.cluster("eu-1"), options=EVERYWHERE) as hub:
        leaked, site = token(hub), Site("eu-1", tmp_path)
        answers = [(await site.register(hub, leaked))[0] for _ in range(11)]
        assert answers == [409] * 10 + [429]


async def test_a_token_is_no_credential_of_the_hub(tmp_path: Path) -> None:
    async with staged(tmp_path, EVERYTHING, options=EVERYWHERE) as hub:
        leaked = token(hub)
        for method, path in _routes(hub):
            assert (await ask(hub, method, path, token=leaked))[0] == 401, path


async def test_the_hub_keeps_no_token(tmp_path: Path) -> None:
    async with staged(tmp_path, options=EVERYWHERE) as hub:
        leaked = token(hub)
        await Site("edge-1", tmp_path).register(hub, leaked)
        secret = leaked.partition(".")[2].encode()
        kept = [path for path in hub.hub.folder.rglob("*") if path.is_file()]
        assert [path.name for path in kept if secret in path.read_bytes()] == []
        mode = (hub.hub.folder / "enrolment.json").stat().st_mode
        assert stat.S_IMODE(mode) == 0o600


async def test_no_log_line_names_a_token(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    async with staged(tmp_path, options=EVERYWHERE) as hub:
        leaked = token(hub)
        await Site("edge-1", tmp_path).register(hub, leaked)
        await Site("edge-2", tmp_path).register(hub, leaked)
    secret = leaked.partition(".")[2]
    assert caplog.records
    assert not [one for one in caplog.records if secret in json.dumps(vars(one), default=str)]


async def test_an_agents_certificate_opens_no_page_and_no_api_whatever_a_policy_says(tmp_path: Path) -> None:
    async with staged(tmp_path, EVERYTHING, options=EVERYWHERE) as hub:
        site = await registered(hub, "edge-1", tmp_path)
        closed = _routes(hub)
        assert len(closed) > 20
        for method, path in [*closed, ("GET", "/nowhere")]:
            assert (await ask(hub, method, path, certificate=site.file()))[0] == 403, path


async def test_what_is_for_agents_is_closed_to_everybody_else(tmp_path: Path) -> None:
    async with staged(tmp_path, EVERYTHING, options=EVERYWHERE) as hub:
        mine = [route for route in registration.capability(hub.hub).routes if route.agents]
        assert mine
        for route in mine:
            assert (await ask(hub, route.method, route.path, token="ann"))[0] == 403
            assert (await ask(hub, route.method, route.path))[0] == 401


async def test_no_certificate_of_the_hub_is_an_agents_unless_the_ledger_lists_it(tmp_path: Path) -> None:
    from datetime import timedelta

    async with staged(tmp_path, options=EVERYWHERE) as hub:
        await registered(hub, "edge-1", tmp_path)
        authority = Authority.open(hub.hub.folder)
        for name, groups in (
            ("system:gitfed:agent:edge-1", ["system:gitfed:agents"]),
            ("system:gitfed:agent:edge-1", []),
            ("ann", ["system:gitfed:agents"]),
        ):
            pair = authority.client(name, groups, timedelta(hours=1))
            path = tmp_path / "forged.pem"
            path.write_bytes(pair.certificate + pair.key)
            assert (await ask(hub, "DELETE", "/agents/v1/registration", certificate=path))[0] == 401
        assert "edge-1" in ledger(hub).read().clusters
