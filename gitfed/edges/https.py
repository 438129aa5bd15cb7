"""HTTPS by urllib to servers that may be contacted (`address`): what is looked at is what is connected to.

A name is looked up once, by the very step that connects; so it cannot stand for another machine a moment later. Behind
a proxy it is the proxy's address that is looked at, and the name is the proxy's to know.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import urllib.request
from email.message import Message
from typing import IO, Any

from gitfed.edges import address


def opener(context: ssl.SSLContext, *handlers: urllib.request.BaseHandler) -> urllib.request.OpenerDirector:
    """For http:// too, which callers allow for this machine only."""
    return urllib.request.build_opener(_Https(context=context), _Http(), *handlers)


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the token to another host: its status is the answer."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        return None


def _connect(place: tuple[str, int], timeout: Any = None, source: Any = None) -> socket.socket:
    """As `socket.create_connection`, which is what http.client calls here. Raises OSError."""
    host, port = place
    found, refused = address.resolved(host, port)
    if refused and not found:
        itself = refused.removeprefix(f"{host}, ")
        raise address.NotContacted(f"{host} is {itself}")
    trouble: OSError | None = None
    for one in found or (host,):
        try:
            return socket.create_connection((one, port), timeout, source)
        except OSError as error:
            trouble = error
    assert trouble is not None
    raise trouble


class _HttpsConnection(http.client.HTTPSConnection):
    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._create_connection = _connect


class _HttpConnection(http.client.HTTPConnection):
    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._create_connection = _connect


class _Https(urllib.request.HTTPSHandler):
    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(context=context)
        self._with = context

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_HttpsConnection, req, context=self._with)


class _Http(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_HttpConnection, req)
