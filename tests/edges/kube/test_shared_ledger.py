"""Replicas have one ledger of tokens and certificates: whoever changes it, it counts at all of them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from gitfed.edges import certificates
from gitfed.edges.kube.connection import credentials
from gitfed.edges.kube.connection.session import Session
from gitfed.edges.kube.secret_document import SecretDocument, Written
from gitfed.errors import ClusterUnreachable, InputError, Unauthorized
from gitfed.hub import routes
from gitfed.hub.enrolment import bootstrap_tokens, shared_ledger
from gitfed.hub.enrolment.bootstrap_tokens import Token
from gitfed.hub.enrolment.ledger import Enrolled, Issued, Ledger
from gitfed.hub.enrolment.ledger_file import LedgerFile
from gitfed.hub.enrolment.shared_ledger import SharedLedger
from gitfed.hub.routes import Capability, Route
from tests.cli.world import gitfed
from tests.edges.kube import declared
from tests.edges.kube.conftest import Place
from tests.hub.enrolment.site import Site
from tests.hub.stage import EVERYWHERE, Staged, ask, staged

NOW = datetime.now(UTC)


async def _stay(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    async for message in socket:
        await socket.send_str(message.data)
    return socket


async def _whose(request: web.Request) -> web.Response:
    return web.Response(text=routes.agent(request))


AGENTS = Capability(
    routes=(
        Route("GET", "/agents/v1/whose", _whose, agents=True),
        Route("GET", "/agents/v1/lasting", _stay, agents=True, lasting=True),
    )
)


def _document(place: Place) -> SecretDocument:
    return SecretDocument(place.session, namespace=place.namespace, name=shared_ledger.NAME, key=shared_ledger.KEY)


def _token(name: str) -> Token:
    return Token(name, "00", "11", NOW, NOW + timedelta(hours=1))


def _enrolled(cluster: str, serial: str, since: datetime = NOW) -> Enrolled:
    return Enrolled(cluster, since, "aaaaaa", (Issued(serial, "key", since, since + timedelta(days=30)),))


@contextlib.asynccontextmanager
async def _replicas(place: Place, folder: Path) -> AsyncIterator[list[Staged]]:
    """Two hubs, each with a folder and a connection of its own; the authority is the same."""
    certificates.Authority.open(folder / "0" / "hub")
    shutil.copytree(folder / "0", folder / "1")
    sources = credentials.CredentialSources(kubeconfig=(place.kubeconfig,), environment={})
    async with contextlib.AsyncExitStack() as stack:
        hubs = []
        for number in range(2):
            session = Session("m1", credentials.resolve(declared.cluster("m1"), sources))
            shared = SharedLedger(
                SecretDocument(session, namespace=place.namespace, name=shared_ledger.NAME, key=shared_ledger.KEY)
            )
            home = folder / str(number)
            ledger = await shared_ledger.settle(home / "hub", shared)
            assert ledger is shared
            stage = staged(home, options=EVERYWHERE, more=[AGENTS], ledger=ledger)
            hubs.append(await stack.enter_async_context(stage))
        yield hubs


async def _new_token(hub: Staged) -> str:
    name, secret = bootstrap_tokens.new()
    token = Token(name, *bootstrap_tokens.hashed(secret), NOW, NOW + timedelta(hours=1))
    assert hub.hub.authentication.agents is not None
    await hub.hub.authentication.agents.ledger.changed(lambda found: (found.with_token(token), None))
    return f"{name}.{secret}"


async def test_what_one_replica_signs_and_revokes_counts_at_the_other(place: Place, tmp_path: Path) -> None:
    async with _replicas(place, tmp_path) as (first, second):
        site = Site("edge-1", tmp_path)
        bearer = await _new_token(first)
        assert (await site.register(second, bearer))[0] == 201
        other = Site("edge-2", tmp_path)
        assert (await other.register(first, bearer))[0] == 403, "spent at the other replica"
        file = site.file()
        assert (await ask(first, "GET", "/agents/v1/whose", certificate=file))[:2] == (200, "edge-1")
        async with aiohttp.ClientSession() as session:
            at_second = f"{second.url}/agents/v1/lasting"
            async with session.ws_connect(at_second, ssl=second.context(file)) as socket:
                await socket.send_str("still here")
                assert (await socket.receive()).data == "still here"
                left = await ask(first, "DELETE", "/agents/v1/registration", certificate=file)
                assert left[0] == 204
                assert (await socket.receive()).type in (aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.ERROR)
        assert (await ask(second, "GET", "/agents/v1/whose", certificate=file))[0] == 401


async def test_a_name_goes_to_one_of_two_who_register_at_two_replicas(place: Place, tmp_path: Path) -> None:
    async with _replicas(place, tmp_path) as hubs:
        bearers = [await _new_token(hub) for hub in hubs]
        rivals = [Site("edge-1", tmp_path), Site("edge-1", tmp_path)]
        answers = await asyncio.gather(
            *(site.register(hub, bearer) for site, hub, bearer in zip(rivals, hubs, bearers, strict=True))
        )
        assert sorted(status for status, _ in answers) == [201, 409]


async def test_of_changes_at_once_none_is_lost(place: Place) -> None:
    ledgers = [SharedLedger(_document(place)) for _ in range(4)]
    names = [f"tok{number:03}" for number in range(24)]
    await asyncio.gather(
        *(
            ledgers[number % 4].changed(lambda found, name=name: (found.with_token(_token(name)), None))
            for number, name in enumerate(names)
        )
    )
    for ledger in ledgers:
        await ledger.look()
        assert sorted(ledger.read().tokens) == names


async def test_what_replicas_had_of_their_own_comes_together_once(place: Place, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in "ab"]
    for number, folder in enumerate(folders):
        folder.mkdir()
        own = Ledger(
            {f"token{number}": _token(f"token{number}")},
            {
                f"edge-{number}": _enrolled(f"edge-{number}", "01"),
                "twice": _enrolled("twice", f"0{number}", NOW + timedelta(hours=number)),
            },
        )
        LedgerFile(folder).change(lambda _, own=own: (own, None))
    for folder in folders:
        await shared_ledger.settle(folder, SharedLedger(_document(place)))
    ledger = SharedLedger(_document(place))
    await ledger.look()
    assert sorted(ledger.read().tokens) == ["token0", "token1"]
    assert sorted(ledger.read().clusters) == ["edge-0", "edge-1", "twice"]
    assert ledger.read().clusters["twice"].certificates[0].serial == "01", "the later registration counts"
    await ledger.changed(lambda found: (found.without_cluster("edge-0"), None))
    again = await shared_ledger.settle(folders[0], SharedLedger(_document(place)))
    await again.look()
    assert "edge-0" not in again.read().clusters, "a restart brings back nothing that was revoked"


async def test_a_ledger_of_ten_thousand_clusters_has_room(place: Place) -> None:
    import hashlib

    def digest(number: int) -> str:
        return hashlib.sha256(str(number).encode()).hexdigest()

    clusters = {
        f"edge-{number}": Enrolled(
            f"edge-{number}", NOW, digest(number)[:6],
            (Issued(digest(number)[:40], digest(-number), NOW, NOW + timedelta(days=30)),),
        )
        for number in range(10_000)
    }  # fmt: skip
    one, other = SharedLedger(_document(place)), SharedLedger(_document(place))
    await one.changed(lambda _: (Ledger({}, clusters), None))
    await other.look()
    assert other.read() == one.read()
    more = {f"more-{number}": _enrolled(f"more-{number}", digest(number) + digest(-number)) for number in range(9000)}
    with pytest.raises(InputError, match="has no room for"):
        await one.changed(lambda found: (Ledger({}, {**found.clusters, **more}), None))


async def test_a_secret_of_something_else_lets_nobody_in(place: Place, tmp_path: Path) -> None:
    body = {
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": shared_ledger.NAME},
        "data": {shared_ledger.KEY: "eA=="},
    }  # fmt: skip
    await place.session.json("POST", f"/api/v1/namespaces/{place.namespace}/secrets", body=body)
    with pytest.raises(InputError) as refused:
        await shared_ledger.settle(tmp_path, SharedLedger(_document(place)))
    assert str(refused.value) == (
        f"Secret {place.namespace}/gitfed-hub-agents holds no enrolment.json.gz (put back a copy of it)"
    )


class Refusing(SecretDocument):
    """It answers as told."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error
        self.namespace = "gitfed"

    def __str__(self) -> str:
        return "Secret gitfed/gitfed-hub-agents"

    async def version(self) -> tuple[str, str] | None:
        if self.error is not None:
            raise self.error
        return None

    async def read(self) -> Written | None:
        return None


async def test_whoever_could_not_look_for_a_while_lets_nobody_in(caplog: pytest.LogCaptureFixture) -> None:
    now, document = 0.0, Refusing(None)
    ledger = SharedLedger(document, lambda: now)
    with pytest.raises(ClusterUnreachable, match="could not be read for a while"):
        ledger.read()
    await ledger.look()
    assert ledger.read() == Ledger()
    document.error = ClusterUnreachable("no answer", cluster="host")
    with caplog.at_level(logging.ERROR):
        for moment in (10.0, 14.0):
            now = moment
            await ledger.look()
            assert ledger.read() == Ledger()
    assert caplog.messages == ["the ledger of agents cannot be read"]
    now = 16.0
    with pytest.raises(ClusterUnreachable):
        ledger.read()
    document.error = None
    await ledger.look()
    assert ledger.read() == Ledger()


async def test_without_the_right_a_replica_keeps_its_own_ledger_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        found = await shared_ledger.settle(tmp_path, SharedLedger(Refusing(Unauthorized("secrets is forbidden"))))
    assert isinstance(found, LedgerFile)
    assert caplog.messages == ["the ledger of agents is not shared"]


async def test_a_ledger_that_was_shared_is_never_the_folders_again(place: Place, tmp_path: Path) -> None:
    await shared_ledger.settle(tmp_path, SharedLedger(_document(place)))
    found = await shared_ledger.settle(tmp_path, SharedLedger(Refusing(Unauthorized("secrets is forbidden"))))
    with pytest.raises(ClusterUnreachable):
        found.read()


async def test_without_an_answer_a_new_replica_does_not_guess(tmp_path: Path) -> None:
    with pytest.raises(ClusterUnreachable):
        await shared_ledger.settle(tmp_path, SharedLedger(Refusing(ClusterUnreachable("no answer"))))


async def test_tokens_of_a_shared_ledger_are_made_and_deleted_in_the_secret(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificates.Authority.open(tmp_path / "hub")
    ledger = await shared_ledger.settle(tmp_path / "hub", SharedLedger(_document(place)))
    sources = credentials.CredentialSources(kubeconfig=(place.kubeconfig,), environment={})
    monkeypatch.setattr(
        "gitfed.daemon.wiring.open_host",
        lambda options, purpose: Session(purpose, credentials.resolve(declared.cluster("m1"), sources)),
    )
    outside = await asyncio.to_thread(gitfed, "token", "list", "--data-dir", tmp_path)
    assert (outside.code, outside.err) == (
        2,
        f"error: the hub of {tmp_path / 'hub'} keeps its ledger in a Secret beside its pod\n"
        "hint: kubectl exec into a replica\n",
    )
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    made = await asyncio.to_thread(gitfed, "token", "create", "--data-dir", tmp_path)
    assert made.code == 0, made.err
    await ledger.look()
    assert set(ledger.read().tokens) == {made.out[:6]}
    gone = await asyncio.to_thread(gitfed, "token", "delete", made.out.strip(), "--data-dir", tmp_path)
    assert gone.out == f'bootstrap token "{made.out[:6]}" deleted\n'
    await ledger.look()
    assert not ledger.read().tokens
    assert not (tmp_path / "hub" / "enrolment.json").exists()
