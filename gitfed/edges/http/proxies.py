"""Which proxy the environment names for an address."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]  # noqa: TID251  (sends nothing)


def of_environment(url: str, environment: Mapping[str, str]) -> str | None:
    """HTTPS_PROXY, HTTP_PROXY and NO_PROXY as kubectl, curl and Git read them: never for this machine's own addresses.

    The small spelling of a name counts before the large one, and an address without a scheme is that of an HTTP proxy.
    Raises ValueError for a URL that is none.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    large_first = sorted(environment, key=str.islower)
    proxies = {
        name.lower().removesuffix("_proxy"): environment[name]
        for name in large_first
        if name.lower().endswith("_proxy")
    }
    proxy = proxies.get(parts.scheme)
    if not proxy or is_loopback(host):
        return None
    if proxy_bypass_environment(f"{host}:{port}", proxies):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
