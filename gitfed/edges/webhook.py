"""Asks interpreter webhooks: one HTTPS request, one checked envelope (Karmada: interpreters §3).

What a question says and what an answer means is known in `interpret.webhooks`, when to ask, and when again, in
`daemon.webhook_queue`. Here stands what the network can do to us, and what a repository could make us do to the
network:

- A webhook proves who it is, always: by its `caBundle`, else by the authorities that the machine trusts. There is no
  way to turn that off, and no credential goes along.
- Redirects are not followed, proxies not used: the question goes to the address that was reviewed, or nowhere.
- Addresses that only make sense to a machine itself (link-local, where cloud metadata is; unspecified; multicast) are
  refused after the name was resolved, in the very place where the connection takes its address from. So a name that
  changes between a check and its use gains nothing. Loopback and private addresses are where webhooks live: allowed.
- Nothing of an answer is read past a limit, and compressed answers are not asked for nor accepted.

A Service is reached by its name in the cluster's DNS, `<name>.<namespace>.svc`, which is also the name in its
certificate. Outside of a cluster there is no such name: then it cannot be asked.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import ssl
import uuid
from collections.abc import Mapping
from typing import Any, Final

import aiohttp
import orjson
import yarl
from aiohttp import abc

from gitfed.edges import no_answer, pod, resolve
from gitfed.edges.http import client
from gitfed.errors import WebhookError, WebhookUnreachable
from gitfed.model.base import Body
from gitfed.model.webhook import GROUP, Webhook, WebhookQuestion

_LARGEST: Final = 4 << 20
"""Bytes of an answer: a patch of the largest object that a cluster can hold, twice over."""
_CONNECT: Final = 5.0
_CONNECTIONS: Final = 16
_SERVER: Final = "its server"
"""A webhook's name says whom we asked; where it leads is not told."""
"""At a time, to one webhook."""


class WebhookClient:
    """Use from one event loop; `close` at the end.

    `in_cluster` None: a Service can be asked where this process runs in a pod. `resolver` takes the place of the
    machine's own; its answers are checked all the same.
    """

    def __init__(self, *, in_cluster: bool | None = None, resolver: abc.AbstractResolver | None = None) -> None:
        self._in_cluster = pod.runs_here() if in_cluster is None else in_cluster
        self._resolver = resolver
        self._http: aiohttp.ClientSession | None = None
        self._contexts: dict[str, ssl.SSLContext] = {}

    async def close(self) -> None:
        http, self._http = self._http, None
        if http is not None:
            await http.close()
            await asyncio.sleep(0)  # aborted transports leave with the next turn of the loop

    async def ask(self, question: WebhookQuestion) -> Body:
        """The `response` of the webhook; what it says is not looked at, not even whether it is successful.

        Raises WebhookError, WebhookUnreachable.
        """
        webhook = question.webhook
        uid = str(uuid.uuid4())
        version = f"{GROUP}/{webhook.version}"
        sent = orjson.dumps(
            {
                "apiVersion": version,
                "kind": "ResourceInterpreterContext",
                "request": {"uid": uid, **question.request},
            }
        )
        try:
            async with asyncio.timeout(webhook.timeout):
                document = _document(await self._post(webhook, sent))
        except TimeoutError as error:
            raise WebhookUnreachable(f"did not answer within {webhook.timeout} s") from error
        if document.get("apiVersion", version) != version:
            raise WebhookError(f"answers in apiVersion {document['apiVersion']!r:.60}, {version} is wanted")
        response = document.get("response")
        if not isinstance(response, dict):
            raise WebhookError("answers without a response")
        if response.get("uid") != uid:
            raise WebhookError("answers another request than ours: the response must repeat the request's uid")
        return response

    async def _post(self, webhook: Webhook, sent: bytes) -> bytes:
        """The answer's body. Asked once more where a connection that was kept open turns out to be closed: a question
        changes nothing, and servers close idle connections just when they are used again."""
        try:
            return await self._once(webhook, sent)
        except _Closed:
            with contextlib.suppress(_Closed):
                return await self._once(webhook, sent)
            raise

    async def _once(self, webhook: Webhook, sent: bytes) -> bytes:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
        try:
            async with self._session().post(
                self._url(webhook),
                data=sent,
                headers=headers,
                params={"timeout": f"{webhook.timeout}s"},
                allow_redirects=False,
                ssl=self._context(webhook),
            ) as answer:
                if not 200 <= answer.status < 300:
                    raise WebhookError(f"answers with HTTP status {answer.status}")
                if answer.headers.get("Content-Encoding", "identity") != "identity":
                    raise WebhookError("answers compressed, which was not asked for")
                received = bytearray()
                async for part in answer.content.iter_any():
                    received += part
                    if len(received) > _LARGEST:
                        raise WebhookError(f"answers with more than {_LARGEST >> 20} MiB")
                return bytes(received)
        except aiohttp.ClientConnectorCertificateError as error:
            raise WebhookUnreachable(f"is not who it should be: {no_answer.certificate(error)}") from error
        except aiohttp.ClientConnectorError as error:
            raise WebhookUnreachable(f"cannot be reached: {no_answer.why(error, _SERVER)}") from error
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
            raise _Closed(f"cannot be asked: {no_answer.why(error, _SERVER)}") from error
        except ValueError as error:
            raise WebhookUnreachable("cannot be asked: its address is not valid") from error
        except (aiohttp.ClientError, OSError) as error:
            raise WebhookUnreachable(f"cannot be asked: {no_answer.why(error, _SERVER)}") from error

    def _url(self, webhook: Webhook) -> yarl.URL:
        service = webhook.service
        if service is None:
            url = yarl.URL(webhook.url)
            if why := resolve.check_host(url.raw_host or ""):
                raise WebhookUnreachable(f"cannot be asked: {url.raw_host} is {why}")
            return url
        if not self._in_cluster:
            raise WebhookUnreachable(
                f"is the Service {service.namespace}/{service.name}, and gitfed does not run in a cluster: "
                "give clientConfig.url"
            )
        host = f"{service.name}.{service.namespace}.svc"
        return yarl.URL.build(scheme="https", host=host, port=service.port, path=service.path or "/")

    def _session(self) -> aiohttp.ClientSession:
        if self._http is None:
            connector = client.connector(resolver=self._resolver, limit_per_host=_CONNECTIONS)
            self._http = client.session(connector, aiohttp.ClientTimeout(total=None, connect=_CONNECT))
        return self._http

    def _context(self, webhook: Webhook) -> ssl.SSLContext:
        """One for every bundle, so that connections are shared. Raises WebhookUnreachable."""
        known = self._contexts.get(webhook.ca_bundle)
        if known is not None:
            return known
        try:
            pem = base64.b64decode(webhook.ca_bundle, validate=True).decode("ascii") if webhook.ca_bundle else None
            context = ssl.create_default_context(cadata=pem)
        except (binascii.Error, ValueError, ssl.SSLError) as error:
            raise WebhookUnreachable("cannot be asked: its caBundle holds no certificates in base64 of PEM") from error
        # Kubernetes' own tools make authorities without a key identifier, which newer Pythons would refuse.
        context.verify_flags &= ~ssl.VerifyFlags.VERIFY_X509_STRICT
        self._contexts[webhook.ca_bundle] = context
        return context


class _Closed(WebhookUnreachable):
    """The connection ended before an answer began."""


def _document(data: bytes) -> Mapping[str, Any]:
    try:
        document = orjson.loads(data)
    except ValueError as error:
        raise WebhookError("answers with what is not JSON") from error
    if not isinstance(document, dict):
        raise WebhookError("answers with JSON that is not an object")
    return document
