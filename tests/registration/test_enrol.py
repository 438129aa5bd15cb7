"""From a pin and a token to the agent's objects, whatever cut an earlier attempt short."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from gitfed import errors
from gitfed.edges import certificate_pins
from gitfed.edges.certificates import Authority
from gitfed.registration import agent_manifests, enrol, hub_client, hub_discovery, member_steps, renewal
from gitfed.registration.agent_manifests import Agent, AgentCredentials
from tests.clusters.embedded import EmbeddedFleet
from tests.hub.enrolment.site import ledger, token
from tests.hub.stage import EVERYWHERE, staged
from tests.registration.enrolling import KINDS, Told, asked, made, session
from tests.support import patience


async def test_a_cluster_registers(tmp_path: Path, member: EmbeddedFleet) -> None:
    async with staged(tmp_path, options=EVERYWHERE) as hub, session(member) as at:
        told = Told([])
        await enrol.register(at, asked(hub, token(hub)), told)
        assert told.lines == [
            "[preflight] Running pre-flight checks",
            "[preflight] All pre-flight checks were passed",
            f"[discovery] Asking 127.0.0.1:{hub.port} for its authority",
            "[certificate] Asking for a certificate of system:gitfed:agent:edge-1",
            "[agent-start] Applying the agent's objects in namespace gitfed-system",
        ]
        found = await made(at)
        assert tuple(found) == KINDS
        data = {name: base64.b64decode(text) for name, text in found["Secret"]["data"].items()}
        assert data.keys() == {"ca.crt", "tls.crt", "tls.key"}
        assert data["ca.crt"].decode() == hub.authority
        issued = certificate_pins.read(data["tls.crt"])
        assert ledger(hub).read().certificate("edge-1", issued.serial) is not None
        arguments = found["Deployment"]["spec"]["template"]["spec"]["containers"][0]["args"]
        assert arguments[:3] == [
            "agent", f"--hub-url=https://127.0.0.1:{hub.port}", "--hub-credentials=/etc/gitfed/hub",
        ]  # fmt: skip


_STEPS: dict[str, tuple[Any, str, bool]] = {
    "before the token is shown": (hub_client, "first_certificate", False),
    "before the certificate is kept": (hub_client, "first_certificate", True),
    "before the agent is started": (member_steps, "put_workload", False),
}


@pytest.mark.parametrize("where", _STEPS.values(), ids=_STEPS)
async def test_what_is_cut_short_goes_on_with_the_same_key_and_token(
    tmp_path: Path, member: EmbeddedFleet, monkeypatch: pytest.MonkeyPatch, where: tuple[Any, str, bool]
) -> None:
    async with staged(tmp_path, options=EVERYWHERE) as hub, session(member) as at:
        wanted = asked(hub, token(hub))
        _cut(monkeypatch, *where)
        with pytest.raises(RuntimeError, match="the power is gone"):
            await enrol.register(at, wanted, Told([]))
        monkeypatch.undo()
        key = (await made(at))["Secret"]["data"]["tls.key"]
        told = Told([])
        await enrol.register(at, wanted, told)
        assert "[preflight] Continuing an earlier registration of edge-1" in told.lines
        found = await made(at)
        assert tuple(found) == KINDS
        assert found["Secret"]["data"]["tls.key"] == key
        serial = certificate_pins.read(base64.b64decode(found["Secret"]["data"]["tls.crt"])).serial
        assert ledger(hub).read().certificate("edge-1", serial) is not None


def _cut(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, afterwards: bool) -> None:
    """End the process before this step, or after it."""
    whole: Callable[..., Any] = getattr(module, name)

    async def cut(*arguments: Any, **named: Any) -> None:
        if afterwards:
            await whole(*arguments, **named)
        raise RuntimeError("the power is gone")

    monkeypatch.setattr(module, name, cut)


async def test_registering_again_needs_no_token_that_counts_and_renews(tmp_path: Path, member: EmbeddedFleet) -> None:
    async with staged(tmp_path, options=EVERYWHERE) as hub, session(member) as at:
        await enrol.register(at, asked(hub, token(hub)), Told([]))
        before = (await made(at))["Secret"]["data"]["tls.crt"]
        await enrol.register(at, asked(hub, "abcdef.0123456789abcdef"), Told([]))
        after = (await made(at))["Secret"]["data"]["tls.crt"]
        assert after != before


async def test_a_revoked_agent_needs_a_new_token_for_its_name(tmp_path: Path, member: EmbeddedFleet) -> None:
    async with staged(tmp_path, options=EVERYWHERE) as hub, session(member) as at:
        bearer = token(hub)
        await enrol.register(at, asked(hub, bearer), Told([]))
        ledger(hub).change(lambda found: (found.without_token(bearer[:6]), None))
        with pytest.raises(errors.HubError) as refused:
            await enrol.register(at, asked(hub, bearer), Told([]))
        assert refused.value.message == f"the hub 127.0.0.1:{hub.port} refuses: the token is not accepted"
        await enrol.register(at, asked(hub, token(hub)), Told([]))


async def test_another_clusters_agent_stays(tmp_path: Path, member: EmbeddedFleet) -> None:
    async with staged(tmp_path, options=EVERYWHERE) as hub, session(member) as at:
        await enrol.register(at, asked(hub, token(hub)), Told([]))
        before = await made(at)
        with pytest.raises(errors.UsageError) as refused:
            await enrol.register(at, asked(hub, token(hub), "edge-2"), Told([]))
        assert refused.value.message == (
            "[preflight] in namespace gitfed-system there is an agent already: Secret gitfed-agent, ServiceAccount "
            f"gitfed-agent, Deployment gitfed-agent, of cluster edge-1 at 127.0.0.1:{hub.port}"
        )
        assert await made(at) == before
        assert not ledger(hub).read().clusters.keys() - {"edge-1"}


async def test_a_refused_token_leaves_no_agent_running(tmp_path: Path, member: EmbeddedFleet) -> None:
    async with staged(tmp_path, options=EVERYWHERE) as hub, session(member) as at:
        with pytest.raises(errors.HubError) as refused:
            await enrol.register(at, asked(hub, "abcdef.0123456789abcdef"), Told([]))
        assert refused.value.hint == "it is over, or was deleted, or is mistyped: gitfed token create makes another"
        assert tuple(await made(at)) == ("Secret",)


# -- whom the hub's authority is believed by --------------------------------------------------------------------


async def test_an_authority_that_is_not_the_pinned_one_is_refused_before_the_token_is_sent(
    tmp_path: Path, member: EmbeddedFleet
) -> None:
    async with staged(tmp_path, options=EVERYWHERE) as hub, session(member) as at:
        bearer, wrong = token(hub), "sha256:" + "0" * 64
        with pytest.raises(errors.HubError, match=r"^the authority of .* is not the one that is pinned: it is sha256:"):
            await enrol.register(at, replace(asked(hub, bearer), pins=(wrong,)), Told([]))
        assert ledger(hub).read().tokens[bearer[:6]].spent is None
        assert hub.hub.requests["/agents/v1/registration", "POST", "201"] == 0
        assert not await made(at)


async def test_any_one_of_several_pins_is_enough(tmp_path: Path) -> None:
    async with staged(tmp_path, options=EVERYWHERE) as hub:
        pins = ("sha256:" + "0" * 64, *certificate_pins.pins(hub.authority.encode()))
        assert await hub_discovery.discover(f"127.0.0.1:{hub.port}", pins, timeout=0) == hub.authority.encode()


async def test_a_server_that_shows_the_right_authority_and_has_not_its_key_is_refused(tmp_path: Path) -> None:
    """Whoever stands between can copy the authority's certificate, and no more."""
    other = Authority.open(tmp_path / "other")
    async with staged(tmp_path, options=EVERYWHERE) as hub:
        assert hub.hub.identity is not None
        hub.hub.identity.authority = other  # what it tells is another's
        with pytest.raises(errors.HubUnreachable, match="its certificate is not trusted"):
            await hub_discovery.discover(f"127.0.0.1:{hub.port}", certificate_pins.pins(other.certificate), timeout=0)


async def test_a_hub_that_does_not_answer_is_named() -> None:
    with pytest.raises(errors.HubUnreachable, match=r"^the hub 127\.0\.0\.1:1"):
        await hub_discovery.discover("127.0.0.1:1", (), timeout=0)


# -- leaving ----------------------------------------------------------------------------------------------------


async def test_an_agent_that_is_removed_leaves_nothing_but_the_namespace(tmp_path: Path, member: EmbeddedFleet) -> None:
    async with staged(tmp_path, options=EVERYWHERE) as hub, session(member) as at:
        await enrol.register(at, asked(hub, token(hub)), Told([]))
        present = await member_steps.look(at, "gitfed-system")
        assert present.identity is not None
        assert (await hub_client.unregister(present.hub, present.identity)).status == 204
        assert (await hub_client.unregister(present.hub, present.identity)).status == 401
        for _ in range(2):
            await member_steps.remove(at, "gitfed-system")
            assert not await made(at)
        assert await member_steps._get(at, "Namespace", "", "gitfed-system") is not None


async def test_an_agent_has_stopped_when_its_pods_have_ended(member: EmbeddedFleet) -> None:
    async with session(member) as at:
        await at.request(
            "POST", "/api/v1/namespaces", body=agent_manifests.namespace(Agent("edge-1", "", "gitfed-system", ""))
        )
        pods = "/api/v1/namespaces/gitfed-system/pods"
        labels = {"app.kubernetes.io/name": "gitfed-agent"}
        for name, own in (("gitfed-agent-1", labels), ("another", {})):
            body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": own},
                    "spec": {"containers": [{"name": "agent", "image": "gitfed:1"}]}}  # fmt: skip
            await at.request("POST", pods, body=body)
        with pytest.raises(errors.ClusterError) as refused:
            await member_steps.stop(at, "gitfed-system", 0.0)
        assert refused.value.message == "cluster edge-1: the agent's pod gitfed-agent-1 has not ended yet"
        stopping = asyncio.create_task(member_steps.stop(at, "gitfed-system", patience.SECONDS))
        await at.request("DELETE", f"{pods}/gitfed-agent-1", query={"gracePeriodSeconds": "0"})
        await stopping


def test_a_certificate_is_renewed_when_a_fifth_of_its_life_is_left(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    pair = Authority.open(tmp_path).client("ann", [], timedelta(days=10), now=now)
    assert not renewal.due(pair.certificate, now + timedelta(days=7, hours=23))
    assert renewal.due(pair.certificate, now + timedelta(days=8))


async def test_a_certificate_that_is_over_is_not_shown(tmp_path: Path) -> None:
    pair = Authority.open(tmp_path).client("ann", [], timedelta(hours=1), now=datetime.now(UTC) - timedelta(days=1))
    identity = AgentCredentials(pair.certificate, pair.certificate, pair.key)
    assert await renewal.renewed("127.0.0.1:1", "edge-1", identity) is None


def test_what_is_shown_of_the_secret_has_no_key() -> None:
    shown = agent_manifests.secret(
        Agent("edge-1", "h:1", "n", "i"), AgentCredentials(b"ca", b"crt", b"private"), shown=True
    )
    assert shown["data"]["tls.key"] == "REDACTED"
    assert base64.b64encode(b"private").decode() not in str(shown)
    assert "private" not in repr(AgentCredentials(b"ca", b"crt", b"private"))
