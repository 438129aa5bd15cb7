"""How connections to a cluster are opened: TLS, proxies, and which addresses may be asked."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from gitfed import errors
from gitfed.edges import no_answer, resolve, socks
from gitfed.edges.http import client
from gitfed.edges.kube.connection.client_settings import ClientSettings
from gitfed.edges.kube.leases.fence import Fence
from gitfed.model.base import ClusterName


async def connector(
    settings: ClientSettings, fence: Fence | None, *, cluster: ClusterName, source: str
) -> tuple[aiohttp.BaseConnector, dict[str, Any]]:
    """What makes connections, and what every request by it has to say. `source` names the credential in messages.

    Raises CredentialsError.
    """
    try:
        # Reading the system's authorities takes tens of milliseconds, in which the loop has others to serve.
        context = await asyncio.to_thread(settings.ssl_context)
    except OSError as error:  # ssl.SSLError among them: certificates that do not parse or match
        raise errors.CredentialsError(
            f"cluster {cluster}: {source}: unusable certificates: {no_answer.unusable_certificates(error)}",
            cluster=cluster,
        ) from error
    proxy = settings.proxy or ""
    for server in (settings.host, proxy):
        host = urlsplit(server).hostname or ""
        if why := resolve.check_host(host):
            raise errors.CredentialsError(f"cluster {cluster}: {source}: {host} is {why}", cluster=cluster)
    options: dict[str, Any] = {}
    if settings.tls_server_name:
        options["server_hostname"] = settings.tls_server_name
    if settings.proxy_headers:
        options["proxy_headers"] = settings.proxy_headers
    if proxy and not socks.is_one(proxy):
        options["proxy"] = proxy
    # No limit: watches hold connections of their own beside the `concurrency` requests.
    return client.connector(context, by=proxy, opens=fence.open_socket if fence else None), options
