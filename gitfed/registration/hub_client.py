"""What a cluster asks of the hub before and beside its agent: whom to trust, and for certificates.

The first question goes to a server that nobody has vouched for yet, so it carries nothing, and its answer counts only
as far as the pin goes. Everything after it, the token first of all, goes over TLS that this answer verifies.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
import tempfile
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from gitfed import errors
from gitfed.edges import certificate_pins, no_answer
from gitfed.model import agent_identity
from gitfed.model.agent_identity import AgentName
from gitfed.registration.agent_manifests import Identity

_AGAIN = 5.0
"""Seconds between two attempts (Karmada: register's discovery)."""
_TIMEOUT = 20.0
_LARGEST = 256 << 10
_NO_ANSWER = (aiohttp.ClientError, OSError, TimeoutError)


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace").strip()


async def discover(hub: str, pins: Collection[str], *, timeout: float) -> bytes:
    """The hub's authorities in PEM form, those alone that a pin is of; without pins whatever it says.

    A hub that does not answer is asked again for `timeout` seconds. Raises HubUnreachable, HubError.
    """
    strangers = ssl.create_default_context()
    strangers.check_hostname = False
    strangers.verify_mode = ssl.CERT_NONE
    end = asyncio.get_running_loop().time() + timeout
    while True:
        try:
            answer = await _ask(hub, strangers, "GET", "/agents/v1/authority")
            break
        except errors.HubUnreachable:
            if asyncio.get_running_loop().time() + _AGAIN > end:
                raise
            await asyncio.sleep(_AGAIN)
    if answer.status != 200:
        raise errors.HubError(
            f"{hub} is no hub that registers clusters: it answers {answer.status}",
            hint="is it the address of gitfed run --hub-address, with TLS?",
        )
    try:
        trusted = certificate_pins.pinned(answer.body, pins) if pins else answer.body
        told = certificate_pins.pins(answer.body)
    except errors.InputError as error:
        raise errors.HubError(f"{hub} names no authority", hint="is it a hub of gitfed?") from error
    if not trusted:
        raise errors.HubError(
            f"the authority of {hub} is not the one that is pinned: it is {', '.join(told) or 'none'}",
            hint="compare with what gitfed token create --print-register-command prints; somebody may stand between",
        )
    again = await _ask(hub, context(trusted), "GET", "/agents/v1/authority")
    if again.body != answer.body:
        raise errors.HubError(f"{hub} told two authorities", hint="somebody may stand between: try again, and look")
    return trusted


async def first_certificate(hub: str, authorities: bytes, token: str, agent: AgentName, request: bytes) -> Answer:
    """201 and the certificate, or why not. Raises HubUnreachable."""
    pool = agent_identity.pool_in(agent)
    whose = {"pool": pool} if pool else {"cluster": agent}
    return await _ask(
        hub,
        context(authorities),
        "POST",
        "/agents/v1/registration",
        json={**whose, "request": request.decode()},
        headers={"Authorization": f"Bearer {token}"},
    )


async def next_certificate(hub: str, identity: Identity, request: bytes) -> Answer:
    """201 and the certificate, or why not. Raises HubUnreachable, InputError for an identity that cannot be used."""
    async with _known_by(identity) as known:
        return await _ask(hub, known, "POST", "/agents/v1/certificate", data=request)


async def unregister(hub: str, identity: Identity) -> Answer:
    """204, or 401 when it counts no more already. Raises HubUnreachable, InputError."""
    async with _known_by(identity) as known:
        return await _ask(hub, known, "DELETE", "/agents/v1/registration")


def context(authorities: bytes) -> ssl.SSLContext:
    """Trusts these and nobody else; one that another authority signed is trusted for itself."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    made.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    made.load_verify_locations(cadata=authorities.decode("ascii", "ignore"))
    return made


@contextlib.asynccontextmanager
async def _known_by(identity: Identity) -> AsyncIterator[ssl.SSLContext]:
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


async def _ask(hub: str, tls: ssl.SSLContext, method: str, path: str, **options: object) -> Answer:
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
            return Answer(answer.status, bytes(body))
    except _NO_ANSWER as error:
        raise errors.HubUnreachable(no_answer.why(error, f"the hub {hub}")) from error
