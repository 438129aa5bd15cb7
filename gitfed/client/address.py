"""Which URLs are one of a hub: nothing is sent to others."""

from __future__ import annotations

import ipaddress
import urllib.parse

from gitfed.errors import UsageError


def checked(url: str) -> str:
    """`scheme://host:port`, as it may be shown. Raises UsageError."""
    shown = _shown(url)
    try:
        parts = urllib.parse.urlsplit(url)
        parts.port  # noqa: B018  (says whether it is one)
    except ValueError:
        raise _wrong(f"{shown} is no address") from None
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            f"{shown} holds a user or a password, which would be in the history of your shell",
            hint="--token-file, --client-certificate or --kubeconfig say who you are",
        )
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise _wrong(f"{shown} is no address of a hub")
    if parts.scheme == "http" and not _is_here(parts.hostname):
        raise UsageError(
            f"{shown} has no TLS: a credential is sent to another machine only with it",
            hint=f"https://{parts.netloc}",
        )
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        raise UsageError(f"{shown} has more than host and port", hint=f"--server {parts.scheme}://{parts.netloc}")
    return f"{parts.scheme}://{parts.netloc.lower()}"


def _wrong(message: str) -> UsageError:
    return UsageError(message, hint="such as https://gitfed.example:8443")


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _shown(url: str) -> str:
    """Without what stands in front of the host, and without a query, which may hold a token."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return repr(url.rpartition("@")[2][:100])
    host, slash, path = rest.partition("?")[0].partition("#")[0].partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"[:200]
