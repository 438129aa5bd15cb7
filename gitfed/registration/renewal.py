"""The next certificate of an agent, asked for with the one it has.

This runs in the agent, which keeps what signs requests out of its memory: a process of its own makes the request, once
in a certificate's life.
"""

from __future__ import annotations

import asyncio
import subprocess
from datetime import UTC, datetime

from gitfed import errors
from gitfed.edges import own_certificate, signing_process
from gitfed.model import agent_identity
from gitfed.model.agent_identity import AgentName
from gitfed.registration import hub_client
from gitfed.registration.agent_manifests import AgentCredentials

_LIFE_LEFT = 0.2
"""The part of its life that is left when the next certificate is asked for (Karmada: certRotation)."""


def due(certificate: bytes, now: datetime) -> bool:
    """Whether it is time for the next one. Raises InputError."""
    own = own_certificate.read(certificate)
    return now >= own.ends - (own.ends - own.begins) * _LIFE_LEFT


async def renewed(hub: str, agent: AgentName, identity: AgentCredentials) -> bytes | None:
    """The next certificate in exchange for a valid one; None: there is none. Raises HubUnreachable, HubError."""
    if not identity.certificate or not identity.key:
        return None
    try:
        own = own_certificate.read(identity.certificate)
        if own.ends <= datetime.now(UTC):
            return None
        request = await _request(identity.key, agent)
        answer = await hub_client.next_certificate(hub, identity, request)
    except errors.InputError:
        return None
    return checked(answer.body, request) if answer.status == 201 else None


def checked(certificate: bytes, request: bytes) -> bytes:
    """Raises HubError for what is no certificate of our key."""
    try:
        if own_certificate.read(certificate).key == own_certificate.key_of_request(request):
            return certificate
    except errors.InputError as error:
        raise errors.HubError("the hub answers with what is no certificate") from error
    raise errors.HubError("the hub answers with a certificate of another key")


async def _request(key: bytes, agent: AgentName) -> bytes:
    """Raises InputError for a key that is none of ours, HubError when there is no request."""
    name, group = agent_identity.common_name(agent), agent_identity.group(agent)
    try:
        return await asyncio.to_thread(signing_process.request, key, name, group)
    except (OSError, subprocess.SubprocessError) as error:
        raise errors.HubError("the process that makes the signing request gives no answer") from error
