"""SPDY/3 frames, as few of them as ``kubectl port-forward`` needs: it speaks them still, inside a WebSocket.

Draft 3 of the SPDY protocol. Header blocks are compressed, all of a direction in one stream, from a dictionary that
both sides know. Windows are not kept: the Go library at the other end does not keep them either.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

SYN_STREAM, _SYN_REPLY, RST_STREAM, PING, GOAWAY, DATA = 1, 2, 3, 6, 7, -1
FIN: Final = 0x01
_CONTROL: Final = 0x8003  # the mark of a control frame, and the version
_NAMES: Final = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow "
    "authorization cache-control connection content-base content-encoding content-language content-length "
    "content-location content-md5 content-range content-type date etag expect expires from host if-match "
    "if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma "
    "proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie "
    "keep-alive origin"
)
_TEXTS: Final = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative "
    "Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 "
    "Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec "
    "00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,"
    "application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset="
    "iso-8859-1,utf-,*,enq=0."
)


def _counted(text: bytes) -> bytes:
    return len(text).to_bytes(4, "big") + text


DICTIONARY: Final = b"".join(_counted(one.replace("_", " ").encode()) for one in _NAMES.split()) + _TEXTS.encode()


@dataclass(frozen=True, slots=True)
class Frame:
    kind: int
    stream: int
    """Of a PING its number."""
    data: bytes = b""
    ends: bool = False
    """The other side sends nothing more on the stream."""


class Wire:
    """Both directions of one connection."""

    def __init__(self) -> None:
        self._waiting = bytearray()
        self._inflate = zlib.decompressobj(zdict=DICTIONARY)
        self._deflate = zlib.compressobj(zdict=DICTIONARY)

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that are complete by now."""
        self._waiting += data
        while len(self._waiting) >= 8:
            size = 8 + int.from_bytes(self._waiting[5:8], "big")
            if len(self._waiting) < size:
                return
            head, body = bytes(self._waiting[:8]), bytes(self._waiting[8:size])
            del self._waiting[:size]
            ends = bool(head[4] & FIN)
            if head[0] & 0x80:
                yield Frame(int.from_bytes(head[2:4], "big"), int.from_bytes(body[:4], "big"), body[4:], ends)
            else:
                yield Frame(DATA, int.from_bytes(head[:4], "big"), body, ends)

    def headers(self, frame: Frame) -> dict[str, str]:
        """Of a SYN_STREAM. Every one has to be read, in order: each is compressed by those before."""
        block = self._inflate.decompress(frame.data[6:])
        texts, at = [], 4
        while at < len(block):
            end = at + 4 + int.from_bytes(block[at : at + 4], "big")
            texts.append(block[at + 4 : end].decode())
            at = end
        return dict(zip(texts[::2], texts[1::2], strict=True))

    def accepted(self, stream: int) -> bytes:
        """The reply to a SYN_STREAM, without headers."""
        block = self._deflate.compress(bytes(4)) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        return _control(_SYN_REPLY, stream.to_bytes(4, "big") + block)


def data(stream: int, content: bytes, *, ends: bool = False) -> bytes:
    return stream.to_bytes(4, "big") + bytes([FIN if ends else 0]) + len(content).to_bytes(3, "big") + content


def pong(number: int) -> bytes:
    return _control(PING, number.to_bytes(4, "big"))


def _control(kind: int, body: bytes) -> bytes:
    return _CONTROL.to_bytes(2, "big") + kind.to_bytes(2, "big") + bytes(1) + len(body).to_bytes(3, "big") + body
