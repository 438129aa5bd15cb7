"""What an agent says when it finds no hub."""

from __future__ import annotations

import errno
import ssl
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest

from gitfed.agent.dial import Dial, Hub, why_not_connected
from gitfed.edges.certificates import Authority
from tests.e2e.pulled import free_port

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
    dial = Dial(Hub(f"http://127.0.0.1:{free_port()}", tmp_path), keeper)
    for _ in range(2):
        with pytest.raises(aiohttp.ClientError) as caught:
            await dial._connect()
        assert why_not_connected(caught.value) == "the hub cannot be reached: Connection refused"
