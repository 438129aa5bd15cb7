"""The doors into a pulled cluster: through its agent, or not at all."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gitfed.daemon.fleet.member_context import MemberContext
from gitfed.daemon.fleet.pulled.member import PulledMember
from gitfed.errors import ClusterUnreachable
from gitfed.http_relay import reverse
from gitfed.hub import agent_streams
from gitfed.hub.enrolment.ledger_file import LedgerFile
from gitfed.model import agent_identity
from kubesim.fleet import ClusterSpec, Fleet
from tests.agent.site import declared
from tests.hub import stage
from tests.hub.doors import members, pulled
from tests.hub.doors.exec_answers import echo, says, status_of
from tests.hub.doors.members import ANYTHING, EVERYTHING, Exact, answer, door, fleet_door
from tests.hub.stage import Staged
from tests.support import patience

PODS = "/api/v1/namespaces/default/pods"


@dataclass
class Site:
    staged: Staged
    member: Exact
    agent: pulled.Agent
    fleet: Fleet

    async def get(self, path: str, **options: object) -> tuple[int, str]:
        return await stage.get(self.staged, door("m1", path), token="ann", **options)

    async def dialled(self, certificates: Path, key: str) -> int:
        """What the hub answers to somebody who dials back with this key."""
        context = ssl.create_default_context(cafile=str(certificates / "ca.crt"))
        context.load_cert_chain(certificates / "tls.crt", certificates / "tls.key")
        sent = {"Connection": "Upgrade", "Upgrade": reverse.PROTOCOL, reverse.KEY: key}
        url = f"{self.staged.url}/agents/v1/stream"
        async with aiohttp.ClientSession() as http, http.get(url, headers=sent, ssl=context) as found:
            return found.status


@contextlib.asynccontextmanager
async def site(folder: Path, serve: object, *, lease: float = 30.0, streams: bool = True) -> AsyncIterator[Site]:
    """A hub with the pulled cluster m1, whose agent finds such an API server there."""
    documents = (pulled.cluster("m1"), pulled.cluster("m2"), ANYTHING)
    async with (
        Fleet([ClusterSpec(name="m1", nodes=1, controllers=False)]) as fleet,
        members.exact(folder, serve, *documents, options=stage.EVERYWHERE) as (staged, member),  # type: ignore[arg-type]
        pulled.agent(staged, folder, fleet, "m1", lease=lease, streams=streams) as agent,
    ):
        yield Site(staged, member, agent, fleet)


async def _endless(member: Exact, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await member.head(reader)
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
    await reader.read()  # until the agent has gone


@contextlib.asynccontextmanager
async def watch(found: Site) -> AsyncIterator[aiohttp.ClientResponse]:
    """An answer of the cluster that has begun and does not end."""
    url = found.staged.url + door("m1", f"{PODS}?watch=true")
    async with (
        aiohttp.ClientSession() as http,
        http.get(url, headers={"Authorization": "Bearer ann"}, ssl=found.staged.context()) as got,
    ):
        assert await got.content.readany() == b"one"
        yield got


async def test_an_agent_acts_as_the_caller_whom_the_hub_names(tmp_path: Path) -> None:
    async with site(tmp_path, says(answer(b"{}", "200 OK", "X-Mine: kept"))) as found:
        sent = {
            "Impersonate-User": "root", "Impersonate-Group": "system:masters", "Impersonate-Uid": "0",
            "X-Remote-User": "root", "Accept": "application/json", "Connection": "keep-alive, X-Odd", "X-Odd": "1",
        }  # fmt: skip
        status, _, back = await stage.ask(
            found.staged, "GET", door("m1", f"{PODS}?a=%26&b"), token="ann", headers=sent
        )  # fmt: skip
        assert (status, back["X-Mine"]) == (200, "kept")
        lines = found.member.heads[0].split("\r\n")
        assert lines[0] == f"GET {PODS}?a=%26&b HTTP/1.1"
        told = {line.partition(": ")[0].lower(): line.partition(": ")[2] for line in lines[1:] if line}
        assert told.pop("host").startswith("127.0.0.1:")
        assert told.pop("user-agent").startswith("Python")
        told.pop("accept-encoding")
        assert told == {
            "accept": "application/json", "authorization": "Bearer the-daemons", "impersonate-user": "ann",
        }  # fmt: skip


async def test_requests_share_the_ways_that_are_open(tmp_path: Path) -> None:
    async with site(tmp_path, says(answer(b"{}"))) as found:
        for _ in range(3):
            assert (await found.get(PODS))[0] == 200
        assert (found.agent.streams.opened, len(found.member.heads)) == (1, 3)
        assert found.staged.hub.streams.count() == {"m1": 1}


async def test_bodies_and_answers_go_through_an_agent_as_they_come(tmp_path: Path) -> None:
    seen = asyncio.Event()

    async def serve(member: Exact, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await member.head(reader)
        assert await reader.readuntil(b"one") == b"3\r\none"
        seen.set()
        await reader.readuntil(b"0\r\n\r\n")
        writer.write(answer(b"done" * 100_000))

    async def parts() -> AsyncIterator[bytes]:
        yield b"one"
        await seen.wait()
        yield b"two"

    async with site(tmp_path, serve) as found:
        got = await stage.ask(found.staged, "POST", door("m1", PODS), token="ann", data=parts())
        assert got[:2] == (200, "done" * 100_000)


@pytest.mark.parametrize(("method", "protocol"), [("GET", "websocket"), ("POST", "SPDY/3.1")])
async def test_after_an_upgrade_bytes_go_both_ways_through_an_agent(tmp_path: Path, method: str, protocol: str) -> None:
    async with site(tmp_path, echo) as found:
        reader, writer = await asyncio.open_connection("127.0.0.1", found.staged.port, ssl=found.staged.context())
        path = door("m1", f"{PODS}/p/exec?command=sh")
        lines = [f"{method} {path} HTTP/1.1", "Host: hub", "Authorization: Bearer ann", "Connection: Upgrade",
                 f"Upgrade: {protocol}", "Content-Length: 0"]  # fmt: skip
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101 Switching Protocols\r\n")
        assert await reader.readexactly(6) == b"ready;"
        block = bytes(range(256)) * 4096
        for _ in range(2):
            writer.write(block)
            assert await reader.readexactly(len(block)) == block
        writer.transport.abort()  # somebody presses Ctrl-C
        await asyncio.wait_for(found.member.ended.wait(), 60)
        await stage.until(lambda: found.staged.hub.streams.count() == {"m1": 0})


async def test_the_fleets_door_reaches_pulled_clusters_too(tmp_path: Path) -> None:
    documents = (pulled.cluster("m1"), stage.cluster("m2"), ANYTHING)
    async with Fleet([ClusterSpec(name=name, nodes=1) for name in ("m1", "m2")]) as fleet:
        fleet.write_kubeconfig(tmp_path / "kubeconfig")
        async with stage.staged(tmp_path, *documents, options=stage.EVERYWHERE) as staged:
            members.reached(staged, tmp_path / "kubeconfig")
            for name in ("m1", "m2"):
                members.allow(fleet, name, "ann", EVERYTHING)
            async with pulled.agent(staged, tmp_path, fleet, "m1") as agent:
                _, text = await stage.get(staged, fleet_door("/api/v1/nodes"), token="ann")
                assert [one["metadata"]["name"] for one in json.loads(text)["items"]] == ["m1-node-1", "m2-node-1"]
                await agent.die()
                await stage.until(lambda: not agent.member.agent.connected)
                _, text, headers = await stage.ask(staged, "GET", fleet_door("/api/v1/nodes"), token="ann")
                assert [one["metadata"]["name"] for one in json.loads(text)["items"]] == ["m2-node-1"]
                assert headers["Warning"] == (
                    '299 gitfed "cluster m1: it is pulled, and its agent is not connected: what it has is left out"'
                )


SEARCHED = """
apiVersion: search.karmada.io/v1alpha1
kind: ResourceRegistry
metadata: {name: maps}
spec: {targetCluster: {}, resourceSelectors: [{apiVersion: v1, kind: ConfigMap, namespace: shop}]}
"""
MAPS = "/apis/search.karmada.io/v1alpha1/search/cache/api/v1/namespaces/shop/configmaps"


@contextlib.asynccontextmanager
async def searched(folder: Path, names: tuple[str, ...]) -> AsyncIterator[tuple[Staged, Fleet]]:
    """A hub with ConfigMaps of the pulled cluster m1 to be cached, which ann may read, and its agent."""
    view = stage.policy("view", subjects=[stage.user("ann")], allow=["view"])
    async with Fleet([ClusterSpec(name="m1", nodes=1)]) as fleet:
        fleet.write_kubeconfig(folder / "kubeconfig")
        api = fleet["m1"].api
        members.allow(fleet, "m1", "ann", {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]})
        api.create("namespaces", {"metadata": {"name": "shop"}})
        for name in names:
            api.create("configmaps", {"metadata": {"name": name, "namespace": "shop"}})
        async with (
            stage.staged(folder, pulled.cluster("m1"), view, SEARCHED, options=stage.EVERYWHERE) as staged,
            pulled.agent(staged, folder, fleet, "m1"),
        ):
            yield staged, fleet


async def said(staged: Staged, *wanted: str) -> str:
    """The warning of a search once it lists these objects."""
    names, warning = ["none yet"], ""
    async with asyncio.timeout(patience.SECONDS):
        while names != list(wanted):
            status, text, headers = await stage.ask(staged, "GET", MAPS, token="ann")
            items = json.loads(text).get("items") if status == 200 else None
            names = ["none"] if items is None else [one["metadata"]["name"] for one in items]
            names = [name for name in names if name != "kube-root-ca.crt"]
            warning = headers.get("Warning", "") or json.loads(text).get("message", "")
            await asyncio.sleep(0.05)
    return warning


async def test_the_search_reads_through_agents_as_a_user_of_its_own(tmp_path: Path) -> None:
    async with searched(tmp_path, ("a", "b")) as (staged, fleet):
        # As whom it asks has no right yet: what the cluster says is told, and the agent's own rights are not lent.
        assert await said(staged, "none")
        told = ""
        async with asyncio.timeout(patience.SECONDS):
            while agent_identity.SEARCH not in told:
                told = await said(staged, "none")
        assert 'configmaps is forbidden: User "system:gitfed:search" cannot list resource' in told

        rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]}
        members.allow(fleet, "m1", agent_identity.SEARCH, rule)
        assert await said(staged, "a", "b") == ""
        fleet["m1"].api.create("configmaps", {"metadata": {"name": "c", "namespace": "shop"}})
        fleet["m1"].api.delete("configmaps", "shop", "a")
        assert await said(staged, "b", "c") == ""  # by a watch
        # Who asks is asked about as themselves: nobody sees with the search's rights.
        assert (await stage.ask(staged, "GET", MAPS, token="bob"))[0] == 403


async def test_the_search_leaves_ways_through_an_agent_to_callers(tmp_path: Path) -> None:
    async with site(tmp_path, _endless) as found:
        spare = found.staged.hub.streams.connector("m1", spares=reverse.MOST - 1)
        named = {"Impersonate-User": agent_identity.SEARCH}
        async with (
            watch(found), aiohttp.ClientSession(connector=spare) as http,
        ):  # fmt: skip
            with pytest.raises(ClusterUnreachable) as refused:
                await http.get("http://m1/api", headers=named)
            assert refused.value.message == (
                "cluster m1: 1 connections to it through its agent are open, and no more may be"
            )
            async with watch(found):
                pass


# -- who is not let in ------------------------------------------------------------------------------------------------


async def test_a_key_counts_once_and_for_one_clusters_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with site(tmp_path, says(answer(b"{}"))) as found:
        keys: list[str] = []
        upward: Any = None
        monkeypatch.setattr(found.agent.streams, "dial_back", keys.append)
        waiting = asyncio.create_task(found.get(PODS))
        await stage.until(lambda: bool(keys))
        others = await asyncio.to_thread(pulled.credentials, tmp_path, "m2")
        other = PulledMember(declared("m2"), upward, MemberContext(federation="f"))
        there = found.agent.member.agent
        other.agent._link, other.agent._known = there._link, there._known
        pulled.lead(found.staged, found.agent.member, other)
        assert await found.dialled(others, keys[0]) == 403
        assert await found.dialled(found.agent.hub.credentials, "guessed") == 403
        monkeypatch.undo()
        found.agent.streams.dial_back(keys[0])
        assert (await waiting)[0] == 200
        assert await found.dialled(found.agent.hub.credentials, keys[0]) == 403


async def test_people_open_no_stream(tmp_path: Path) -> None:
    async with site(tmp_path, says(b"")) as found:
        upgrade = {"Connection": "Upgrade", "Upgrade": reverse.PROTOCOL, reverse.KEY: "k"}
        status, _ = await stage.get(found.staged, "/agents/v1/stream", token="ann", headers=upgrade)
        assert status == 403


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ([], "the agent asks its cluster only for callers of the hub, and the request names none"),
        ([("Impersonate-User", "ann"), ("Impersonate-Group", "shop"), ("Impersonate-Group", "system:masters")],
         "the agent acts for no caller as system:masters"),
    ],
    ids=["nobody", "as an administrator"],
)  # fmt: skip
async def test_an_agent_lends_its_own_rights_to_nobody(
    tmp_path: Path, named: list[tuple[str, str]], message: str
) -> None:
    async with site(tmp_path, says(answer(b"{}"))) as found:
        connector = found.staged.hub.streams.connector("m1")
        async with aiohttp.ClientSession(connector=connector) as http, http.get("http://m1/api", headers=named) as got:
            assert status_of(await got.text()) == (403, "Forbidden", message)
        assert found.member.heads == []


async def test_only_so_many_ways_are_open_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_streams, "MOST", 1)
    async with site(tmp_path, _endless) as found, watch(found):
        assert status_of((await found.get(PODS))[1]) == (
            503, "ServiceUnavailable",
            "cluster m1: 1 connections to it through its agent are open, and no more may be",
        )  # fmt: skip


# -- agents that fail -------------------------------------------------------------------------------------------------


async def test_a_cluster_whose_agent_is_away_says_so(tmp_path: Path) -> None:
    async with site(tmp_path, says(b"")) as found:
        said = "cluster m1: it is pulled, and its agent is not connected"
        await found.agent.die()
        await stage.until(lambda: not found.agent.member.agent.connected)
        assert status_of((await found.get(PODS))[1]) == (503, "ServiceUnavailable", said)
        assert status_of((await stage.get(found.staged, door("m2", "/api"), token="ann"))[1]) == (
            503, "ServiceUnavailable", "cluster m2: it is pulled, and the daemon has just begun: try again",
        )  # fmt: skip
        pulled.lead(found.staged, found.agent.member, abandoned=True)
        assert status_of((await found.get(PODS))[1])[2] == (
            "cluster m1: it is pulled, and its agent talks to the daemon that leads: this one does not"
        )


async def test_an_agent_of_an_earlier_version_is_not_asked(tmp_path: Path) -> None:
    async with site(tmp_path, says(b"")) as found:
        found.agent.member.agent._known = replace(found.agent.member.agent._known, protocol=1)
        assert status_of((await found.get(PODS))[1]) == (
            503, "ServiceUnavailable",
            "cluster m1: its agent is too old for this: it speaks version 1 of the protocol, and 2 is needed "
            "(install a newer agent)",
        )  # fmt: skip


async def test_an_agent_that_opens_nothing_is_told_of(tmp_path: Path) -> None:
    async with site(tmp_path, says(b""), streams=False) as found:
        assert status_of((await found.get(PODS))[1]) == (
            503, "ServiceUnavailable",
            "cluster m1: its agent opens no connection: this agent opens no way into its cluster",
        )  # fmt: skip


async def test_an_agent_that_does_not_dial_back_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_streams, "DIAL", 0.2)
    async with site(tmp_path, says(b"")) as found:
        monkeypatch.setattr(found.agent.streams, "dial_back", lambda key: None)
        assert status_of((await found.get(PODS))[1]) == (
            504, "Timeout", "cluster m1: its agent did not dial back in 0.2 s",
        )  # fmt: skip
        assert found.staged.hub.streams.count() == {"m1": 0}


async def test_an_api_server_that_an_agent_does_not_reach_is_told_of(tmp_path: Path) -> None:
    async def serve(member: Exact, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await member.head(reader)

    async with site(tmp_path, serve) as found:
        server = json.loads((tmp_path / "kubeconfig").read_text())["clusters"][0]["cluster"]["server"]
        assert status_of((await found.get(PODS))[1]) == (
            503, "ServiceUnavailable", f"cluster m1: {server} cut the connection (asked by its agent)",
        )  # fmt: skip


async def test_what_an_agent_carried_ends_with_it(tmp_path: Path) -> None:
    async with site(tmp_path, _endless) as found, watch(found) as got:
        await found.agent.die()
        with pytest.raises(aiohttp.ClientError):
            await got.read()
        await asyncio.wait_for(found.member.ended.wait(), 60)


async def test_streams_of_an_agent_that_falls_silent_end_with_its_lease(tmp_path: Path) -> None:
    async with site(tmp_path, _endless, lease=5.0) as found, watch(found) as got:
        found.agent.task.cancel()  # its streams are open still, as far as the network says
        with pytest.raises(aiohttp.ClientError):
            await got.read()
        await asyncio.wait_for(found.member.ended.wait(), 60)


async def test_an_agent_that_loses_its_hub_gives_up_what_that_asked(tmp_path: Path) -> None:
    async with site(tmp_path, _endless, lease=5.0) as found, watch(found):
        found.agent.hub.credentials.joinpath("tls.crt").write_text("none")
        link = found.agent.dial._link
        assert link is not None
        await link.close(agent_streams.LinkError("the network is gone"))
        await asyncio.wait_for(found.member.ended.wait(), 60)


async def test_a_certificate_that_is_revoked_ends_what_its_agent_carries(tmp_path: Path) -> None:
    async with site(tmp_path, _endless) as found, watch(found) as got:
        await asyncio.to_thread(
            LedgerFile(tmp_path / "hub").change, lambda ledger: (ledger.without_cluster("m1"), None)
        )
        with pytest.raises(aiohttp.ClientError):
            await got.read()
        await asyncio.wait_for(found.member.ended.wait(), 60)


async def test_who_hangs_up_is_not_waited_for_behind_an_agent(tmp_path: Path) -> None:
    async with site(tmp_path, _endless) as found:
        async with watch(found) as got:
            got.close()
        await asyncio.wait_for(found.member.ended.wait(), 60)
        await stage.until(lambda: found.staged.hub.streams.count() == {"m1": 0})
