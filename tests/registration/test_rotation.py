"""The agent's certificate is renewed in time, and kept where the next connection finds it."""

from __future__ import annotations

import asyncio
import base64
import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitfed import errors
from gitfed.edges.backoff import Backoff
from gitfed.registration import agent_manifests, enrol, renewal, rotation
from gitfed.registration.rotation import Rotation, in_folder, in_secret
from tests.clusters.cable import Cables
from tests.clusters.embedded import EmbeddedFleet
from tests.hub.enrolment.group import AGENTS
from tests.hub.enrolment.site import Site, ledger, registered, token
from tests.hub.stage import EVERYWHERE, Staged, ask, staged, until
from tests.registration.enrolling import Told, asked, made, session

NOW = datetime.now(UTC)
LATER = NOW + timedelta(days=25)
"""Of thirty."""


def credentials(hub: Staged, site: Site) -> Path:
    folder = site.folder / "credentials"
    folder.mkdir()
    (folder / "ca.crt").write_text(hub.authority)
    (folder / "tls.crt").write_bytes(site.certificate)
    (folder / "tls.key").write_bytes(site.key)
    return folder


async def test_a_certificate_is_renewed_in_its_folder_when_its_time_comes(tmp_path: Path) -> None:
    async with staged(tmp_path, options=EVERYWHERE, more=[AGENTS]) as hub:
        site = await registered(hub, "edge-1", tmp_path)
        folder = credentials(hub, site)
        renewals = Rotation(f"127.0.0.1:{hub.port}", "edge-1", folder, in_folder(folder))
        assert not await renewals.once(NOW)
        assert await renewals.once(LATER)
        new = (folder / "tls.crt").read_bytes()
        assert new != site.certificate
        answer = await ask(hub, "GET", "/agents/v1/whose", certificate=site.file(new))
        assert answer[:2] == (200, "edge-1")


async def test_a_certificate_is_renewed_in_its_secret_and_asked_for_once(tmp_path: Path, member: EmbeddedFleet) -> None:
    async with staged(tmp_path, options=EVERYWHERE) as hub, session(member) as at:
        await enrol.register(at, asked(hub, token(hub)), Told([]))
        before = (await made(at))["Secret"]["data"]
        site = Site("edge-1", tmp_path, base64.b64decode(before["tls.key"]), base64.b64decode(before["tls.crt"]))
        folder = credentials(hub, site)
        renewals = Rotation(
            f"127.0.0.1:{hub.port}", "edge-1", folder, in_secret(at, "gitfed-system", agent_manifests.NAME)
        )
        assert await renewals.once(LATER)
        after = (await made(at))["Secret"]["data"]
        assert after["tls.crt"] != before["tls.crt"]
        assert {name: after[name] for name in ("ca.crt", "tls.key")} == {
            name: before[name] for name in ("ca.crt", "tls.key")
        }
        # The folder, a mount, has the old one still: the new one, which is not due, was not yet shown.
        assert not await renewals.once(NOW)
        assert len(ledger(hub).read().clusters["edge-1"].certificates) == 2


async def test_a_hub_that_is_away_is_asked_again_later(tmp_path: Path) -> None:
    async with staged(tmp_path, options=EVERYWHERE) as hub:
        folder = credentials(hub, await registered(hub, "edge-1", tmp_path))
    before = (folder / "tls.crt").read_bytes()
    with pytest.raises(errors.HubUnreachable):
        await Rotation(f"127.0.0.1:{hub.port}", "edge-1", folder, in_folder(folder)).once(LATER)
    assert (folder / "tls.crt").read_bytes() == before


async def test_a_renewal_that_fails_is_tried_again_soon_and_then_less_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failures: list[int] = []

    class Brief(Backoff):
        def after(self, so_many: int) -> float:
            failures.append(so_many)
            return 0.01

    assert rotation.AGAIN.pauses[0] < rotation.AGAIN.longest == rotation.LOOK
    monkeypatch.setattr(rotation, "AGAIN", Brief((0.01,)))
    monkeypatch.setattr(renewal, "_LIFE_LEFT", 1.0)  # it is due from its first moment
    caplog.set_level(logging.INFO, "gitfed.agent")
    with Cables() as cables:
        way = cables.to()
        async with staged(tmp_path, options=EVERYWHERE, more=[AGENTS]) as hub:
            site = await registered(hub, "edge-1", tmp_path)
            folder = credentials(hub, site)
            renewals = Rotation(f"127.0.0.1:{way.port}", "edge-1", folder, in_folder(folder))
            running = asyncio.create_task(renewals.run())
            await until(lambda: len(failures) >= 3)
            assert (folder / "tls.crt").read_bytes() == site.certificate
            way.targets.append(hub.port)
            await until(lambda: "the agent's certificate is renewed" in caplog.messages)
            running.cancel()
        assert (folder / "tls.crt").read_bytes() != site.certificate
        assert failures == list(range(1, len(failures) + 1))


async def test_a_revoked_certificate_is_not_renewed(tmp_path: Path) -> None:
    async with staged(tmp_path, options=EVERYWHERE) as hub:
        folder = credentials(hub, await registered(hub, "edge-1", tmp_path))
        ledger(hub).change(lambda found: (found.without_cluster("edge-1"), None))
        renewals = Rotation(f"127.0.0.1:{hub.port}", "edge-1", folder, in_folder(folder))
        with pytest.raises(errors.HubError, match="the hub renews no certificate for this agent"):
            await renewals.once(LATER)
