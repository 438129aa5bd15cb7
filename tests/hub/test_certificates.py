"""The hub's own authority, and who gets in with its certificates."""

from __future__ import annotations

import asyncio
import gc
import os
import ssl
from asyncio.sslproto import SSLProtocol
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import pytest

from gitfed.edges import certificate_pins
from gitfed.edges.certificates import Authority, Pair
from gitfed.errors import InputError, UsageError
from gitfed.hub.options import HubOptions
from gitfed.hub.tls import TlsIdentity
from tests.hub.stage import EVERYWHERE, get, policy, staged, user

_HOUR = timedelta(hours=1)
_VIEWERS = policy("viewers", subjects=[{"kind": "Group", "name": "platform"}, user("ann")], allow=["view"])


def _file(folder: Path, pair: Pair) -> Path:
    path = folder / f"{len(list(folder.iterdir()))}.pem"
    path.write_bytes(pair.certificate + pair.key)
    return path


async def test_a_client_certificate_says_name_and_groups(tmp_path: Path) -> None:
    async with staged(tmp_path, _VIEWERS, options=EVERYWHERE) as hub:
        authority = Authority.open(hub.hub.folder)
        ann = _file(tmp_path, authority.client("ann", [], _HOUR))
        member = _file(tmp_path, authority.client("carl", ["other", "platform"], _HOUR))
        stranger = _file(tmp_path, authority.client("dora", ["plat"], _HOUR))
        assert (await get(hub, "/metrics", certificate=ann))[0] == 200
        assert (await get(hub, "/metrics", certificate=member))[0] == 200
        refused = (403, "no AccessPolicy lets dora view everything\n")
        assert await get(hub, "/metrics", certificate=stranger) == refused
        assert (await get(hub, "/metrics"))[0] == 401
        assert await get(hub, "/livez") == (200, "ok\n")


@pytest.mark.parametrize(
    ("ends", "begins"), [(-_HOUR, -2 * _HOUR), (3 * _HOUR, 2 * _HOUR)], ids=["it is over", "it has not begun"]
)
async def test_a_certificate_counts_in_its_time_only(tmp_path: Path, ends: timedelta, begins: timedelta) -> None:
    async with staged(tmp_path, _VIEWERS, options=EVERYWHERE) as hub:
        authority = Authority.open(hub.hub.folder)
        made = authority.client("ann", [], ends - begins, now=datetime.now(UTC) + begins)
        with pytest.raises((aiohttp.ClientError, ssl.SSLError, ConnectionError)):
            await get(hub, "/metrics", certificate=_file(tmp_path, made))


async def test_an_open_connection_holds_little_memory(tmp_path: Path) -> None:
    def open_now() -> list[SSLProtocol]:
        return [one for one in gc.get_objects() if isinstance(one, SSLProtocol)]

    async with staged(tmp_path, _VIEWERS, options=EVERYWHERE) as hub:
        before = open_now()  # of other tests, which opened theirs with other settings
        _, writer = await asyncio.open_connection("127.0.0.1", hub.port, ssl=hub.context(), server_hostname="localhost")
        held = [len(one._ssl_buffer) for one in open_now() if one not in before]
        assert len(held) == 2, "both sides of it"
        assert max(held) <= 32 << 10
        writer.close()
        await writer.wait_closed()


async def test_clocks_may_differ_by_ten_minutes(tmp_path: Path) -> None:
    async with staged(tmp_path, _VIEWERS, options=EVERYWHERE) as hub:
        ahead = datetime.now(UTC) + timedelta(minutes=9)
        made = Authority.open(hub.hub.folder).client("ann", [], _HOUR, now=ahead)
        assert (await get(hub, "/metrics", certificate=_file(tmp_path, made)))[0] == 200


async def test_the_hubs_certificates_count_for_clocks_that_are_ten_minutes_behind(tmp_path: Path) -> None:
    async with staged(tmp_path, options=EVERYWHERE) as hub:
        shown = await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", hub.port))
        for certificate in (shown.encode(), hub.authority.encode()):
            assert certificate_pins.read(certificate).begins <= datetime.now(UTC) - timedelta(minutes=9)


async def test_certificates_of_others_let_nobody_in(tmp_path: Path) -> None:
    async with staged(tmp_path, _VIEWERS, options=EVERYWHERE) as hub:
        forged = Authority.open(tmp_path / "elsewhere").client("ann", [], _HOUR)
        server = Authority.open(hub.hub.folder).server(["ann"])
        for pair in (forged, server):
            with pytest.raises((aiohttp.ClientError, ssl.SSLError, ConnectionError)):
                await get(hub, "/metrics", certificate=_file(tmp_path, pair))


async def test_a_renewed_certificate_of_a_secret_is_shown_without_a_restart(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    others = Authority.open(tmp_path / "others")

    def renew() -> None:
        pair = others.server(["127.0.0.1"])
        (secret / "tls.crt").write_bytes(pair.certificate)
        (secret / "tls.key").write_bytes(pair.key)

    renew()
    identity = TlsIdentity(HubOptions("127.0.0.1", 0, tls_dir=secret), tmp_path / "hub")
    assert not identity.renew()
    renew()
    assert identity.renew()
    (secret / "tls.key").write_text("none")
    with pytest.raises(UsageError, match=r"the hub cannot use .*tls\.crt and .*tls\.key: "):
        identity.renew()


def test_an_authority_is_made_once_and_its_key_is_private(tmp_path: Path) -> None:
    folder = tmp_path / "hub"
    assert Authority.open(folder).certificate == Authority.open(folder).certificate
    assert os.stat(folder).st_mode & 0o777 == 0o700
    assert os.stat(folder / "ca.key").st_mode & 0o777 == 0o600


def test_an_authority_of_two_halves_is_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        Authority.open(tmp_path / name)
    (tmp_path / "a" / "ca.key").write_bytes((tmp_path / "b" / "ca.key").read_bytes())
    with pytest.raises(InputError) as caught:
        Authority.open(tmp_path / "a")
    assert caught.value.message == f"ca.key and ca.crt in {tmp_path / 'a'} do not belong together"
    (tmp_path / "b" / "ca.crt").write_text("none")
    with pytest.raises(InputError) as caught:
        Authority.open(tmp_path / "b")
    assert caught.value.message == f"{tmp_path / 'b'} holds no usable certificate authority"
