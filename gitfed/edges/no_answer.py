"""Why a server gave no answer, in words of ours: for aiohttp, ssl and the system alike.

No text of a foreign exception is passed on. Client libraries put addresses into theirs, a proxy's among them, and such
an address may hold a password. What happened is told from the exception's class and number.
"""

from __future__ import annotations

import errno
import http
import os
import socket
import ssl

from gitfed.edges import address

_NO_WAY = frozenset({errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN, errno.ENETDOWN})


def why(error: BaseException, server: str = "the server") -> str:
    """`server` is how the message calls it."""
    raised = inner(error)
    if isinstance(raised, address.NotContacted):
        return str(raised)
    if (untrusted := certificate(error)) is not None:
        return f"{server}: its certificate is not trusted: {untrusted}"
    if _is_of_aiohttp(error) and (told := _of_aiohttp(error, server)):
        return told
    if isinstance(raised, ValueError):
        return f"the address of {server}, or of its proxy, is not valid"
    return _of_the_system(raised, server)


def inner(error: BaseException) -> BaseException:
    """What the system or the ssl module raised, where aiohttp wrapped it; a ConnectionError where that has classes of
    its own for a connection's end."""
    raised = getattr(error, "os_error", None)
    if isinstance(raised, BaseException):
        return raised
    if not _is_of_aiohttp(error):
        return error
    import aiohttp  # not small, and loaded already: it raised this

    if isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientPayloadError):
        return ConnectionResetError()
    # Its ClientOSError repeats the number alone, and OpenSSL's numbers are not the system's.
    return error.__cause__ if isinstance(error.__cause__, OSError) else error


def _is_of_aiohttp(error: BaseException) -> bool:
    return type(error).__module__.startswith("aiohttp.")


def _of_aiohttp(error: BaseException, server: str) -> str:
    """ "" for what it shares with others."""
    import aiohttp

    if isinstance(error, aiohttp.ClientHttpProxyError):
        proxy = error.request_info.real_url
        return f"the proxy {proxy.raw_host}:{proxy.port} answers HTTP {status_text(error.status)}"
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return _of_the_system(error.os_error, f"the proxy {error.host}:{error.port}")
    if isinstance(error, aiohttp.ClientResponseError):
        return f"{server}: its answer is not HTTP"
    return ""


def certificate(error: BaseException | None) -> str | None:
    """What is wrong with the server's certificate ("Hostname mismatch, …", "self-signed certificate"); None for other
    errors. aiohttp wraps the ssl module's exception; its words are OpenSSL's and name the certificate only.
    """
    while error is not None:
        wrapped = getattr(error, "certificate_error", None) or getattr(error, "os_error", None)
        if isinstance(wrapped, BaseException) and wrapped is not error:
            error = wrapped
        elif isinstance(error, ssl.SSLCertVerificationError):
            return str(getattr(error, "verify_message", "") or "it cannot be verified")
        else:
            error = error.__cause__
    return None


def tls_reason(error: ssl.SSLError) -> str:
    """OpenSSL's constant for it, e.g. `wrong version number`."""
    reason = getattr(error, "reason", None)
    return str(reason).replace("_", " ").lower() if reason else type(error).__name__


def unusable_certificates(error: OSError) -> str:
    """Why certificates and keys cannot be loaded for a connection."""
    if isinstance(error, ssl.SSLError):
        return tls_reason(error) if getattr(error, "reason", None) else "they are not in PEM form"
    return os.strerror(error.errno) if error.errno is not None else type(error).__name__


def status_text(status: int) -> str:
    """An HTTP status with the words of the standard, not with those that a server chose."""
    try:
        return f"{status} {http.HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _of_the_system(error: BaseException, server: str) -> str:
    if isinstance(error, address.ProxyRefused):
        return f"{server}: {error}"
    if isinstance(error, TimeoutError):
        return f"{server} does not answer in time"
    if isinstance(error, ConnectionRefusedError):
        return f"{server} refuses the connection"
    if isinstance(error, socket.gaierror):
        cannot = error.errno == socket.EAI_AGAIN
        return f"{server}: its host name {'cannot be looked up at present' if cannot else 'is not known'}"
    if isinstance(error, OSError) and error.errno in _NO_WAY:
        return f"{server}: there is no way to it ({os.strerror(error.errno)})"
    if isinstance(error, ConnectionError):
        return f"{server} cut the connection"
    if isinstance(error, ssl.SSLError):
        return f"{server}: no connection over TLS ({tls_reason(error)})"
    if isinstance(error, OSError) and error.errno is not None:
        return f"{server}: {os.strerror(error.errno)}"
    return f"{server}: {type(error).__name__}"
