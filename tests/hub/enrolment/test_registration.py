"""A token opens the way to one certificate, which is renewed, replaced and revoked."""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import pytest

from gitfed.edges import certificate_pins
from gitfed.edges.certificates import Authority
from gitfed.edges.signing_request import SigningRequest, read
from gitfed.hub.options import HubOptions
from gitfed.hub.running import Running
from gitfed.model import agent_identity
from tests.hub import stage
from tests.hub.enrolment.group import AGENTS
from tests.hub.enrolment.site import Site, ledger, registered, token
from tests.hub.stage import EVERYWHERE, ask, staged, until

SPENT = (403, "the token was used already, with another key\n")
UNKNOWN = (401, "the token is not accepted\n")
TAKEN = (409, "a cluster of this name exists already\n")


async def test_a_token_gives_a_certificate_for_one_cluster(tmp_path: Path) -> None:
    async with staged(tmp_path, options=EVERYWHERE, more=[AGENTS]) as hub:
        site = await registered(hub, "edge-1", tmp_path)
        made = certificate_pins.read(site.certificate)
        assert made.common_name == "system:gitfed:agent:edge-1"
        assert timedelta(days=29) < made.ends - datetime.now(UTC) <= timedelta(days=30)
        assert timedelta(minutes=9) < datetime.now(UTC) - made.begins
        answer = await ask(hub, "GET", "/agents/v1/whose", certificate=site.file())
        assert answer[:2] == (200, "edge-1")


async def test_a_token_works_once(tmp_path: Path) -> None:
    async with staged(tmp_path, options=EVERYWHERE) as hub:
        bearer = token(hub)
        assert (await Site("edge-1", tmp_path).register(hub, bearer))[0] == 201
        assert await Site("edge-2", tmp_path).register(hub, bearer) == SPENT
        assert await Site("edge-1", tmp_path).register(hub, bearer) == SPENT


async def test_whoever_lost_the_answer_asks_again_with_the_same_key(tmp_path: Path) -> None:
    async with staged(tmp_path, options=EVERYWHERE, more=[AGENTS]) as hub:
        bearer, site = token(hub), Site("edge-1", tmp_path)
        assert (await site.register(hub, bearer))[0] == 201
        first = site.file()
        assert (await site.register(hub, bearer))[0] == 201
        assert (await ask(hub, "GET", "/agents/v1/whose", certificate=site.file()))[0] == 200
        assert (await ask(hub, "GET", "/agents/v1/whose", certificate=first))[0] == 401


async def test_a_token_that_is_over_wrong_or_deleted_gives_nothing(tmp_path: Path) -> None:
    async with staged(tmp_path, options=EVERYWHERE) as hub:
        site = Site("edge-1", tmp_path)
        assert await site.register(hub, token(hub, ttl=timedelta(0))) == UNKNOWN
        bearer = token(hub)
        wrong = bearer[:-1] + ("a" if bearer[-1] != "a" else "b")
        assert await site.register(hub, wrong) == UNKNOWN
        assert await site.register(hub, "no token") == UNKNOWN
        ledger(hub).change(lambda found: (found.without_token(bearer[:6]), None))
        assert await site.register(hub, bearer) == UNKNOWN
        assert not ledger(hub).read().clusters


async def test_a_name_that_exists_is_refused(tmp_path: Path) -> None:
    async with staged(tmp_path, stage.cluster("eu-1"), options=EVERYWHERE) as hub:
        bearer = token(hub)
        assert await Site("eu-1", tmp_path).register(hub, bearer) == TAKEN
        await registered(hub, "edge-1", tmp_path)
        assert await Site("edge-1", tmp_path).register(hub, bearer) == TAKEN
        # The token was not spent by that.
        assert (await Site("edge-2", tmp_path).register(hub, bearer))[0] == 201


async def test_of_two_registrations_of_one_name_in_a_race_one_wins(tmp_path: Path) -> None:
    async with staged(tmp_path, options=EVERYWHERE, more=[AGENTS]) as hub:
        bearers = [token(hub), token(hub)]
        sites = [Site("edge-1", tmp_path), Site("edge-1", tmp_path)]
        answers = await asyncio.gather(*(site.register(hub, one) for site, one in zip(sites, bearers, strict=True)))
        assert sorted(answer[0] for answer in answers) == [201, 409]
        loser = answers.index(TAKEN)
        # Who lost keeps the token, and may take another name.
        assert (await Site("edge-2", tmp_path).register(hub, bearers[loser]))[0] == 201


async def test_a_token_for_a_known_cluster_replaces_its_certificate(tmp_path: Path) -> None:
    async with staged(tmp_path, stage.cluster("eu-1"), options=EVERYWHERE, more=[AGENTS]) as hub:
        old = await registered(hub, "edge-1", tmp_path)
        new, bearer = Site("edge-1", tmp_path), token(hub, cluster="edge-1")
        other = (403, "the token is for another cluster\n")
        assert await Site("eu-1", tmp_path).register(hub, bearer) == other
        assert (await new.register(hub, bearer))[0] == 201
        assert (await ask(hub, "GET", "/agents/v1/whose", certificate=old.file()))[0] == 401
        assert (await ask(hub, "GET", "/agents/v1/whose", certificate=new.file()))[0] == 200
        assert (await Site("eu-1", tmp_path).register(hub, token(hub, cluster="eu-1")))[0] == 201


async def test_as_long_as_no_commit_was_read_no_name_is_free(tmp_path: Path) -> None:
    async with staged(tmp_path, options=EVERYWHERE, running=Running(None)) as hub:
        bearer = token(hub)
        assert await Site("edge-1", tmp_path).register(hub, bearer) == (503, "the hub has read no commit yet\n")


@pytest.mark.parametrize(
    ("site", "request_", "said"),
    [
        (
            "Edge", {},
            "the cluster name must be lowercase letters, digits and - only, with a letter or digit at both ends",
        ),
        ("e" * 45, {}, "the cluster name has 45 characters, at most 44 are allowed"),
        (
            "edge-1", {"cluster": "edge-2"},
            "the signing request is not for system:gitfed:agent:edge-1 in system:gitfed:agents",
        ),
        (
            "edge-1", {"group": "system:masters"},
            "the signing request is not for system:gitfed:agent:edge-1 in system:gitfed:agents",
        ),
    ],
    ids=["a name in capitals", "a name that is too long", "another cluster's", "another group's"],
)  # fmt: skip
async def test_a_request_for_anything_else_is_refused(
    tmp_path: Path, site: str, request_: dict[str, str], said: str
) -> None:
    async with staged(tmp_path, options=EVERYWHERE) as hub:
        asks = Site(site, tmp_path)
        sent = asks.request(**{"cluster": "edge-1", **request_})
        assert await asks.register(hub, token(hub), request=sent) == (400, f"{said}\n")


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"cluster": 1, "request": 2}', b"\xff", b"[" * 9000,
                                  b'{"cluster": "edge-1", "request": "\\ud800"}'])  # fmt: skip
async def test_a_body_that_asks_nothing_is_refused(tmp_path: Path, body: bytes) -> None:
    async with staged(tmp_path, options=EVERYWHERE) as hub:
        status, text, _ = await ask(hub, "POST", "/agents/v1/registration", token=token(hub), data=body)
        assert status == 400
        assert text.startswith(("the body is to be JSON", "cluster or pool, and request, are"))


async def test_whoever_guesses_has_to_wait(tmp_path: Path) -> None:
    async with staged(tmp_path, options=EVERYWHERE) as hub:
        site, bearer = Site("edge-1", tmp_path), token(hub)
        for _ in range(10):
            assert await site.register(hub, "abcdef.0123456789abcdef") == UNKNOWN
        body = json.dumps({"cluster": "edge-1", "request": site.request().decode()})
        status, text, headers = await ask(hub, "POST", "/agents/v1/registration", token=bearer, data=body)
        assert (status, text) == (429, "too many attempts\n")
        assert 0 < int(headers["Retry-After"]) <= 61


async def test_a_hub_without_tls_registers_nobody(tmp_path: Path) -> None:
    async with staged(tmp_path, names=("ann",)) as hub:
        status, _, _ = await ask(hub, "POST", "/agents/v1/registration", token="ann", data="{}")
        assert status == 404


async def test_a_ledger_that_cannot_be_read_lets_nobody_in(tmp_path: Path) -> None:
    async with staged(tmp_path, options=EVERYWHERE, more=[AGENTS]) as hub:
        site, bearer = await registered(hub, "edge-1", tmp_path), token(hub)
        ledger(hub).path.write_text("{}")
        assert await Site("edge-2", tmp_path).register(hub, bearer) == (503, "no agent can be registered now\n")
        assert (await ask(hub, "GET", "/agents/v1/whose", certificate=site.file()))[0] == 503


# -- the certificate's life -------------------------------------------------------------------------------------


async def test_an_agent_renews_its_certificate_and_the_old_one_ends_with_its_use(tmp_path: Path) -> None:
    async with staged(tmp_path, options=EVERYWHERE, more=[AGENTS]) as hub:
        site = await registered(hub, "edge-1", tmp_path)
        old = site.file()
        status, lost = await site.renew(hub)
        assert status == 201
        # The answer was lost: the old one counts still, and what was lost does not, once another is there.
        status, text = await site.renew(hub)
        assert status == 201
        assert (await ask(hub, "GET", "/agents/v1/whose", certificate=old))[0] == 200
        assert (await ask(hub, "GET", "/agents/v1/whose", certificate=site.file(lost.encode())))[0] == 401
        assert (await ask(hub, "GET", "/agents/v1/whose", certificate=site.file(text.encode())))[0] == 200
        assert (await ask(hub, "GET", "/agents/v1/whose", certificate=old))[0] == 401


async def test_an_agent_renews_for_its_own_cluster_only(tmp_path: Path) -> None:
    async with staged(tmp_path, options=EVERYWHERE) as hub:
        site = await registered(hub, "edge-1", tmp_path)
        await registered(hub, "edge-2", tmp_path)
        status, text, _ = await ask(
            hub, "POST", "/agents/v1/certificate", certificate=site.file(), data=site.request(cluster="edge-2")
        )
        assert status == 400
        assert text == "the signing request is not for system:gitfed:agent:edge-1 in system:gitfed:agents\n"


async def test_deleting_the_token_revokes_what_was_registered_with_it(tmp_path: Path) -> None:
    async with staged(tmp_path, options=EVERYWHERE, more=[AGENTS]) as hub:
        bearer, site = token(hub), Site("edge-1", tmp_path)
        await site.register(hub, bearer)
        other = await registered(hub, "edge-2", tmp_path)
        ledger(hub).change(lambda found: (found.without_token(bearer[:6]), None))
        assert (await ask(hub, "GET", "/agents/v1/whose", certificate=site.file()))[0] == 401
        assert (await ask(hub, "GET", "/agents/v1/whose", certificate=other.file()))[0] == 200


async def test_an_agent_that_unregisters_is_unknown_at_once(tmp_path: Path) -> None:
    async with staged(tmp_path, options=EVERYWHERE, more=[AGENTS]) as hub:
        site = await registered(hub, "edge-1", tmp_path)
        assert (await ask(hub, "DELETE", "/agents/v1/registration", certificate=site.file()))[0] == 204
        assert (await ask(hub, "GET", "/agents/v1/whose", certificate=site.file()))[0] == 401


async def test_an_open_connection_ends_when_another_process_revokes_its_certificate(tmp_path: Path) -> None:
    async with staged(tmp_path, options=EVERYWHERE, more=[AGENTS]) as hub:
        site = await registered(hub, "edge-1", tmp_path)
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(f"{hub.url}/agents/v1/lasting", ssl=hub.context(site.file())) as socket,
        ):
            await socket.send_str("still there")
            assert (await socket.receive()).data == "still there"
            ledger(hub).change(lambda found: (found.without_cluster("edge-1"), None))
            assert (await socket.receive()).type in (aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.CLOSE)


async def test_an_open_connection_ends_with_its_certificates_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with staged(tmp_path, options=EVERYWHERE, more=[AGENTS]) as hub:
        site = await registered(hub, "edge-1", tmp_path)
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(f"{hub.url}/agents/v1/lasting", ssl=hub.context(site.file())) as socket,
        ):
            await socket.send_str("still there")
            assert (await socket.receive()).data == "still there"
            later = time.time() + timedelta(days=31).total_seconds()
            monkeypatch.setattr("gitfed.hub.access.agents.time.time", lambda: later)
            assert (await socket.receive()).type in (aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.CLOSE)


@pytest.mark.parametrize(
    ("begins", "counts"),
    [
        (timedelta(minutes=9), True),
        (timedelta(minutes=11), False),
        (timedelta(hours=-2), False),
    ],
    ids=["clocks that differ by nine minutes", "it has not begun", "it is over"],
)
async def test_a_certificate_counts_in_its_time_and_ten_minutes_before(
    tmp_path: Path, begins: timedelta, counts: bool
) -> None:
    options = HubOptions("0.0.0.0", 0, agent_life=timedelta(hours=1))
    async with staged(tmp_path, options=options, more=[AGENTS]) as hub:
        site = await registered(hub, "edge-1", tmp_path)
        authority = Authority.open(hub.hub.folder)
        request: SigningRequest = read(site.request())
        name = agent_identity.common_name("edge-1")
        made = authority.for_request(
            request, name, [agent_identity.GROUP], timedelta(hours=1), now=datetime.now(UTC) + begins
        )
        found = certificate_pins.read(made)
        issued = ledger(hub).read().clusters["edge-1"].certificates[0]
        same = type(issued)(found.serial, found.key, found.begins, found.ends)
        ledger(hub).change(lambda all_: (all_.renewed("edge-1", issued.serial, same), None))
        asking = ask(hub, "GET", "/agents/v1/whose", certificate=site.file(made))
        if counts:
            assert (await asking)[0] == 200
        else:
            with pytest.raises((aiohttp.ClientError, ssl.SSLError, ConnectionError)):
                await asking


async def test_a_refused_subject_is_told_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "gitfed.audit")
    async with staged(tmp_path, options=EVERYWHERE) as hub:
        site = Site("edge-1", tmp_path)
        await site.register(hub, "abcdef.0123456789abcdef")
        await registered(hub, "edge-1", tmp_path)
        await until(lambda: len(caplog.records) >= 2)
    told = [(vars(one)["cluster"], vars(one)["result"]) for one in caplog.records if one.msg == "agent certificate"]
    assert told == [("edge-1", "refused: token"), ("edge-1", "registered")]
