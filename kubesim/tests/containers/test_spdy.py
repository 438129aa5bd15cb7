"""SPDY as a client of port-forward speaks it."""

from __future__ import annotations

import zlib

from kubesim.containers import spdy


def syn(stream: int, deflate: zlib._Compress, **headers: str) -> bytes:
    pairs = [text.encode() for pair in headers.items() for text in pair]
    block = len(headers).to_bytes(4, "big") + b"".join(len(one).to_bytes(4, "big") + one for one in pairs)
    packed = deflate.compress(block) + deflate.flush(zlib.Z_SYNC_FLUSH)
    body = stream.to_bytes(4, "big") + bytes(6) + packed
    return b"\x80\x03\x00\x01\x00" + len(body).to_bytes(3, "big") + body


def test_the_dictionary_is_the_one_that_all_the_world_uses() -> None:
    assert (len(spdy.DICTIONARY), zlib.adler32(spdy.DICTIONARY)) == (1423, 0xE3C6A7C2)


def test_headers_are_read_in_order_however_the_bytes_come() -> None:
    deflate, wire = zlib.compressobj(zdict=spdy.DICTIONARY), spdy.Wire()
    sent = syn(1, deflate, streamtype="error", port="80") + syn(3, deflate, streamtype="data", port="80")
    sent += spdy.data(3, b"GET", ends=True)
    frames = [frame for at in range(len(sent)) for frame in wire.feed(sent[at : at + 1])]
    assert [(one.kind, one.stream, one.ends) for one in frames] == [(1, 1, False), (1, 3, False), (spdy.DATA, 3, True)]
    assert [wire.headers(one) for one in frames[:2]] == [
        {"streamtype": "error", "port": "80"},
        {"streamtype": "data", "port": "80"},
    ]


def test_what_is_replied_can_be_read_by_the_other_side() -> None:
    wire, inflate = spdy.Wire(), zlib.decompressobj(zdict=spdy.DICTIONARY)
    for stream in (1, 3):
        reply = wire.accepted(stream)
        assert reply[:4] == b"\x80\x03\x00\x02"
        assert int.from_bytes(reply[8:12], "big") == stream
        assert inflate.decompress(reply[12:]) == bytes(4)
    assert spdy.pong(7) == b"\x80\x03\x00\x06\x00\x00\x00\x04\x00\x00\x00\x07"
