"""What a cluster asks of the hub before and beside its agent: for certificates, and to be known no more.

Whom to trust is asked before (`hub_discovery`); everything here, the token first of all, goes over TLS which that
answer verifies.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp

from gitfed import errors
from gitfed.edges import no_answer
from gitfed.model import agent_identity
from gitfed.model.agent_identity import AgentName
from gitfed.registration.agent_manifests import AgentCredentials
from gitfed.text.values import dataclass

_TIMEOUT = 20.0
_LARGEST = 256 << 10
_NO_ANSWER = (aiohttp.ClientError, OSError, TimeoutError)


@dataclass(frozen=True, slots=True)
class HubAnswer:
    status: int
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace").strip()


async def first_certificate(hub: str, authorities: bytes, token: str, agent: AgentName, request: bytes) -> HubAnswer:
    """201 and the certificate, or why not. Raises HubUnreachable."""
    pool = agent_identity.pool_in(agent)
    whose = {"pool": pool} if pool else {"cluster": agent}
    return await ask(
        hub,
        context(authorities),
        "POST",
        "/agents/v1/registration",
        json={**whose, "request": request.decode()},
        headers={"Authorization": f"Bearer {token}"},
    )


async def next_certificate(hub: str, identity: AgentCredentials, request: bytes) -> HubAnswer:
    """201 and the certificate, or why not. Raises HubUnreachable, InputError for an identity that cannot be used."""
    async with _known_by(identity) as known:
        return await ask(hub, known, "POST", "/agents/v1/certificate", data=request)


async def unregister(hub: str, identity: AgentCredentials) -> HubAnswer:
    """204, or 401 when it counts no more already. Raises HubUnreachable, InputError."""
    async with _known_by(identity) as known:
        return await ask(hub, known, "DELETE", "/agents/v1/registration")


def context(authorities: bytes) -> ssl.SSLContext:
    """Trusts these and nobody else; one that another authority signed is trusted for itself."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    made.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    made.load_verify_locations(cadata=authorities.decode("ascii", "ignore"))
    return made


@contextlib.asynccontextmanager
async def _known_by(identity: AgentCredentials) -> AsyncIterator[ssl.SSLContext]:
    made = context(identity.authorities)

    def load() -> None:
        # The ssl module reads keys from files alone.
        handle, name = tempfile.mkstemp()
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(identity.certificate + b"\n" + identity.key)
            made.load_cert_chain(name)
        finally:
            Path(name).unlink()

    try:
        await asyncio.to_thread(load)
    except ssl.SSLError as error:
        raise errors.InputError("the agent's certificate and key do not belong together") from error
    yield made


async def ask(hub: str, tls: ssl.SSLContext, method: str, path: str, **options: object) -> HubAnswer:
    """Raises HubUnreachable, HubError."""
    timeout = aiohttp.ClientTimeout(total=_TIMEOUT)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.request(method, f"https://{hub}{path}", ssl=tls, allow_redirects=False, **options) as answer,  # type: ignore[arg-type]
        ):
            body = bytearray()
            async for part in answer.content.iter_any():
                body += part
                if len(body) > _LARGEST:
                    raise errors.HubError(f"{hub} answers more than {_LARGEST >> 10} KiB", hint="is it a hub?")
            return HubAnswer(answer.status, bytes(body))
    except _NO_ANSWER as error:
        raise errors.HubUnreachable(no_answer.why(error, f"the hub {hub}")) from error
