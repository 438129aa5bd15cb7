"""Credentials that must not leave."""

from __future__ import annotations

import inspect
import ssl

import aiohttp
from aiohttp import client_exceptions
from yarl import URL

PASSWORD = "pr0xy-passw0rd"


def foreign() -> list[BaseException]:
    """Every class of the client's and of the system's exceptions, with a password in all its texts."""
    request = aiohttp.RequestInfo(URL(f"http://u:{PASSWORD}@h"), "GET", {}, URL(f"http://u:{PASSWORD}@h"))  # type: ignore[arg-type]
    key = type("Key", (), {"host": "h", "port": 1, "ssl": True, "is_ssl": True})()
    made: list[BaseException] = []
    for _, kind in inspect.getmembers(client_exceptions, inspect.isclass):
        if not issubclass(kind, aiohttp.ClientError) or not kind.__module__.startswith("aiohttp"):
            continue
        error = kind.__new__(kind, PASSWORD)
        error.args = (PASSWORD,)
        error.__dict__.update(
            request_info=request, status=407, message=PASSWORD, headers=None, history=(), _conn_key=key,
            _os_error=OSError(PASSWORD), _certificate_error=ValueError(PASSWORD), host="h", port=1,
        )  # fmt: skip
        made.append(error)
    made += [OSError(PASSWORD), OSError(22, PASSWORD), ssl.SSLError(1, PASSWORD), ssl.SSLError(PASSWORD),
             ssl.SSLCertVerificationError(PASSWORD), TimeoutError(PASSWORD), ConnectionResetError(PASSWORD),
             UnicodeError(PASSWORD)]  # fmt: skip
    return made
