"""An open TLS connection holds little memory."""

from __future__ import annotations

import asyncio
import ssl
from asyncio import sslproto

import pytest

from gitfed.edges import tls_buffers


async def test_a_tls_connection_holds_a_small_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sslproto.SSLProtocol, "max_size", sslproto.SSLProtocol.max_size)
    tls_buffers.keep_small()
    loop = asyncio.get_running_loop()
    protocol = sslproto.SSLProtocol(loop, asyncio.Protocol(), ssl.create_default_context(), None)
    try:
        assert len(protocol._ssl_buffer) == tls_buffers.SIZE
    finally:
        protocol._get_app_transport().close()
