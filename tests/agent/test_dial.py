"""What an agent says when it finds no hub."""

from __future__ import annotations

import asyncio
import errno
import re
import ssl
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest

from gitfed.agent.dial import Dial
from gitfed.agent.hub_endpoint import HubEndpoint, why_not_connected
from gitfed.daemon.fleet.pulled import member as pulled
from gitfed.edges.certificates import Authority
from gitfed.errors import LinkCut, LinkError
from tests.support.ports import free_port

WHERE: Any = SimpleNamespace(host="hub.example", port=8443, ssl=object())


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (TimeoutError(), "the hub does not answer"),
        (
            ssl.SSLCertVerificationError("self-signed certificate in certificate chain"),
            "the hub's certificate is not of the authority in ca.crt, or of another address",
        ),
        (
            aiohttp.ClientConnectorError(WHERE, OSError(errno.ECONNREFUSED, "Connect call failed ('10.0.0.1', 8443)")),
            "the hub cannot be reached: Connection refused",
        ),
        (
            aiohttp.ClientConnectorDNSError(WHERE, OSError(-2, "Name or service not known")),
            "the hub cannot be reached: Name or service not known",
        ),
        (ssl.SSLError(1, "PEM lib"), "tls.crt and tls.key are no certificate with its key, or the hub speaks no TLS"),
        (
            FileNotFoundError(errno.ENOENT, "No such file or directory", "/etc/gitfed/hub/ca.crt"),
            "/etc/gitfed/hub/ca.crt cannot be read: No such file or directory",
        ),
        (ConnectionResetError(errno.ECONNRESET, "anything"), "the connection broke: Connection reset by peer"),
        (aiohttp.ClientError("anything"), "the hub does not answer as one does (ClientError)"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_why_there_is_no_connection_is_said_in_our_words(error: Exception, said: str) -> None:
    assert why_not_connected(error) == said


async def test_a_hub_that_nobody_listens_for_is_told_alike_at_every_attempt(tmp_path: Path) -> None:
    authority = Authority.open(tmp_path)
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    keeper: Any = SimpleNamespace(heard=None)
    dial = Dial(HubEndpoint(f"http://127.0.0.1:{free_port()}", tmp_path), keeper)
    for _ in range(2):
        with pytest.raises(aiohttp.ClientError) as caught:
            await dial._connect()
        assert why_not_connected(caught.value) == "the hub cannot be reached: Connection refused"


async def test_a_server_that_ends_the_handshake_is_told_in_openssl_s_words(tmp_path: Path) -> None:
    authority = Authority.open(tmp_path)
    pair = authority.client("gitfed:agent:m1", [], timedelta(days=1))
    for name, content in (("ca.crt", authority.certificate), ("tls.crt", pair.certificate), ("tls.key", pair.key)):
        (tmp_path / name).write_bytes(content)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    keeper: Any = SimpleNamespace(heard=None)
    async with server:
        dial = Dial(HubEndpoint(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}", tmp_path), keeper)
        with pytest.raises(aiohttp.ClientError) as caught:
            await dial._connect()
    said = why_not_connected(caught.value)
    assert re.fullmatch(
        r"there is no connection over TLS to the hub \((wrong version number|record layer failure)\)", said
    )


def dial_with(lease: float, folder: Path) -> Dial:
    keeper: Any = SimpleNamespace(heard=None)
    dial = Dial(HubEndpoint("https://hub.example", folder), keeper)
    dial._lease = lease
    return dial


@pytest.mark.parametrize("refusal", [None, LinkCut("gone"), LinkError("no"), LinkError("never", final=True)])
@pytest.mark.parametrize("lease", [2.0, 40.0, 600.0])
def test_an_agent_asks_again_within_the_lease_whatever_it_was_refused_for(
    tmp_path: Path, lease: float, refusal: LinkError | None
) -> None:
    dial = dial_with(lease, tmp_path)
    pauses = [dial.pause(attempt, refusal) for attempt in range(1, 20)]
    assert max(pauses) <= lease / 2
    assert min(pauses) >= 0.25


def test_a_refusal_for_good_is_asked_about_rarely(tmp_path: Path) -> None:
    dial = dial_with(40.0, tmp_path)
    assert min(dial.pause(attempt, LinkError("never", final=True)) for attempt in range(1, 20)) >= 12


def test_who_lost_its_hub_comes_back_before_that_plans_without_it(tmp_path: Path) -> None:
    for lease in (40.0, 600.0):
        dial = dial_with(lease, tmp_path)
        assert max(dial.pause(attempt, None) for attempt in range(1, 200)) < pulled._FIRST - 2.0
