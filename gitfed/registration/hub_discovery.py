"""Whom a cluster trusts as its hub.

The question goes to a server that is not verified yet, so it carries nothing, and its answer counts only as far
as the pin goes.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Collection

from gitfed import errors
from gitfed.edges import certificate_pins
from gitfed.registration import hub_client

_AGAIN = 5.0
"""Seconds between two attempts (Karmada: register's discovery)."""


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
            answer = await hub_client.ask(hub, strangers, "GET", "/agents/v1/authority")
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
            hint="compare with what gitfed token create --print-register-command prints: another server may answer",
        )
    again = await hub_client.ask(hub, hub_client.context(trusted), "GET", "/agents/v1/authority")
    if again.body != answer.body:
        raise errors.HubError(
            f"{hub} told two authorities", hint="another server may be in between: try again, and look"
        )
    return trusted
