"""Addresses of API servers and of proxies: which ones are taken, and what a credential is bound to."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

from gitfed import errors
from gitfed.edges import socks

_PORTS = {"https": 443, **dict.fromkeys(socks.SCHEMES, socks.PORT)}


def origin(server: str) -> tuple[str, str, int]:
    """What a credential is bound to: scheme, host and port."""
    parts = urlsplit(server)
    return parts.scheme, parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 80)


def check_server(cluster: str, where: str, server: str) -> str:
    parts = _split(cluster, where, server)
    if parts.scheme not in ("https", "http"):
        raise errors.CredentialsError(
            f"cluster {cluster}: {where}: server {server!r} is refused", cluster=cluster, hint="only https and http"
        )
    if not parts.hostname or parts.username or parts.password or parts.query or parts.fragment:
        raise _odd_address(cluster, where)
    return server.rstrip("/")


def check_proxy(cluster: str, where: str, proxy: str) -> str:
    parts = _split(cluster, where, proxy)
    if proxy and parts.scheme not in ("http", "https", *socks.SCHEMES):
        raise errors.CredentialsError(
            f"cluster {cluster}: {where}: proxy scheme {parts.scheme!r} is not supported",
            cluster=cluster,
            hint="use an http, https or socks5 proxy",
        )
    if proxy and not parts.hostname:
        raise _odd_address(cluster, where)
    return proxy


def _split(cluster: str, where: str, address: str) -> SplitResult:
    try:
        parts = urlsplit(address)
        _ = parts.port  # out of range, or no number
    except ValueError as error:
        raise _odd_address(cluster, where) from error
    return parts


def _odd_address(cluster: str, where: str) -> errors.CredentialsError:
    # The address is not quoted: it may hold a password.
    return errors.CredentialsError(
        f"cluster {cluster}: {where}: the server's address must be scheme://host:port[/path] and nothing else",
        cluster=cluster,
    )
