"""CloudEvents by HTTP: one POST for each event, in the structured JSON form.

The address is the operator's. Even so, redirects are not followed, no proxy is used, addresses that only make sense to
a machine itself are refused (`resolve`), and a token is never sent without TLS but to this machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import ssl
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Final

import aiohttp
import orjson
import yarl

from gitfed.edges import no_answer, resolve
from gitfed.edges.http import client
from gitfed.edges.notify import NotificationTarget
from gitfed.errors import DeliveryError

_CONNECT: Final = 5.0
_ANSWER: Final = 15.0
_LONGEST_PAUSE: Final = 3600.0


async def send(target: NotificationTarget, events: Sequence[Mapping[str, Any]]) -> AsyncGenerator[str, None]:
    """The ids of events that were taken, as they are taken. Raises DeliveryError; what was not taken yet is not."""
    url = _url(target)
    headers = {"Content-Type": "application/cloudevents+json; charset=UTF-8"}
    if target.token:
        headers["Authorization"] = f"Bearer {target.token}"
    timeout = aiohttp.ClientTimeout(total=_ANSWER, connect=_CONNECT)
    async with client.session(client.connector(_context(target), limit=1), timeout) as session:
        for event in events:
            await _post(session, target, url, headers, event)
            yield str(event["id"])


async def _post(
    session: aiohttp.ClientSession,
    target: NotificationTarget,
    url: yarl.URL,
    headers: Mapping[str, str],
    event: Mapping[str, Any],
) -> None:
    try:
        async with session.post(url, data=orjson.dumps(event), headers=headers, allow_redirects=False) as answer:
            if 200 <= answer.status < 300:
                return
            pause = _seconds(answer.headers.get("Retry-After", ""))
            status = no_answer.status_text(answer.status)
            raise DeliveryError(f"the target {target.name} answers HTTP {status}", retry_after=pause)
    except TimeoutError as error:
        raise DeliveryError(f"the target {target.name} does not answer in time") from error
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise DeliveryError(no_answer.why(error, f"the target {target.name}")) from error
    finally:
        await asyncio.sleep(0)  # aborted transports leave with the next turn of the loop


def _url(target: NotificationTarget) -> yarl.URL:
    try:
        url = yarl.URL(target.url)
        host = url.raw_host or ""
    except ValueError:
        host = ""
    if not host or url.scheme not in ("http", "https"):
        raise DeliveryError(
            f"the target {target.name} has no http or https address", hint="provider Apprise has others"
        )
    if resolve.check_host(host):
        raise DeliveryError(f"the target {target.name} is at an address that is not contacted")
    if url.scheme == "http" and (target.token or url.user or url.password) and not _is_here(host):
        raise DeliveryError(f"the token of the target {target.name} is not sent without TLS", hint="https://")
    return url


def _is_here(host: str) -> bool:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def _context(target: NotificationTarget) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cadata=target.authorities or None)
    except (ssl.SSLError, ValueError) as error:
        raise DeliveryError(f"ca.crt of the target {target.name} holds no certificates in PEM form") from error


def _seconds(text: str) -> float | None:
    return min(float(text), _LONGEST_PAUSE) if text.isascii() and text.isdecimal() and len(text) < 10 else None
