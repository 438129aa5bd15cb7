"""Requests without an event loop."""

from __future__ import annotations

import gc
import socket
import ssl
import sys
import threading

import pytest
import trustme

from gitfed.edges.http import NoAnswer, Request, blocking
from tests.edges.http import raw

CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
EVENTS = "Content-Type: text/event-stream"


def test_a_name_is_looked_up_without_a_thread_that_an_exit_would_wait_for() -> None:
    at_work: list[str] = []

    def serve(connection: socket.socket, request: bytes) -> None:
        at_work.extend(thread.name for thread in threading.enumerate() if thread.name.startswith("asyncio"))
        raw.says(raw.answer())(connection, request)

    with raw.serving(serve) as server:
        assert blocking.ask(Request(f"http://localhost:{server.port}", CONTEXT), most=10).is_good
    assert at_work == []


@pytest.mark.parametrize(
    "content",
    [raw.answer(b"x"), raw.answer(b"x", "200 OK", "Connection: close"), raw.answer()],
    ids=["kept", "closed", "empty"],
)
def test_no_connection_is_left_open_to_a_server_that_keeps_it(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """TLS has parting words, and nobody is left to wait for the server's."""
    authority = trustme.CA()
    serving, asking = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority.issue_cert("127.0.0.1").configure_cert(serving)
    authority.configure_trust(asking)
    left: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda raised: left.append(raised.exc_value))
    over = threading.Event()

    def serve(connection: socket.socket, request: bytes) -> None:
        connection.sendall(content)
        over.wait(20)

    with raw.serving(serve, serving) as server:
        assert blocking.ask(Request(server.url, asking), most=10).is_good
        gc.collect()
        over.set()
    assert left == []


def test_several_threads_ask_at_a_time() -> None:
    together = threading.Barrier(3, timeout=20)
    told: list[int] = []

    def serve(connection: socket.socket, request: bytes) -> None:
        together.wait()
        raw.says(raw.answer())(connection, request)

    with raw.serving(serve) as server:
        request = Request(server.url, CONTEXT)
        asking = [threading.Thread(target=lambda: told.append(blocking.ask(request, most=10).status)) for _ in range(3)]
        for thread in asking:
            thread.start()
        for thread in asking:
            thread.join()
    assert told == [200, 200, 200]


def test_lines_come_as_the_server_sends_them() -> None:
    seen = threading.Event()

    def serve(connection: socket.socket, request: bytes) -> None:
        say = connection.sendall
        say(f"HTTP/1.1 200 OK\r\n{EVENTS}\r\n\r\nfirst\n\nsec".encode())
        assert seen.wait(20)
        say(b"ond\r\n" + b"x" * (3 << 20) + b"\nlast")

    with raw.serving(serve) as server, blocking.stream(Request(server.url, CONTEXT)) as stream:
        assert (stream.answer.status, stream.answer.content_type) == (200, "text/event-stream")
        assert [next(stream.lines), next(stream.lines)] == [b"first\n", b"\n"]
        seen.set()
        assert next(stream.lines) == b"second\r\n"
        rest = list(stream.lines)
    assert rest[-1] == b"last"
    assert b"".join(rest[:-1]) == b"x" * (3 << 20) + b"\n"
    assert max(map(len, rest)) < 2 << 20


@pytest.mark.parametrize("ends", ["breaks off", "falls silent"])
def test_a_stream_without_an_end_says_why(ends: str) -> None:
    seen = threading.Event()

    def serve(connection: socket.socket, request: bytes) -> None:
        head = f"HTTP/1.1 200 OK\r\n{EVENTS}\r\nTransfer-Encoding: chunked\r\n\r\n"
        connection.sendall(f"{head}6\r\nfirst\n\r\n".encode())
        seen.wait(20)

    with (
        raw.serving(serve) as server,
        blocking.stream(Request(server.url, CONTEXT, silence=20.0 if ends == "breaks off" else 0.5)) as stream,
    ):
        assert next(stream.lines) == b"first\n"
        if ends == "breaks off":
            seen.set()
        with pytest.raises(NoAnswer) as raised:
            next(stream.lines)
        seen.set()
    told = {"breaks off": "the server cut the connection", "falls silent": "the server does not answer in time"}
    assert raised.value.why() == told[ends]


def test_a_refused_stream_has_the_refusal_in_its_answer() -> None:
    with (
        raw.serving(raw.says(raw.answer(b"because", "403 Forbidden"))) as server,
        blocking.stream(Request(server.url, CONTEXT)) as stream,
    ):
        assert (stream.answer.status, stream.answer.body, list(stream.lines)) == (403, b"because", [])
    with pytest.raises(NoAnswer), blocking.stream(Request("http://127.0.0.1:1", CONTEXT)):
        pass


def test_what_a_caller_raises_while_it_reads_is_its_own() -> None:
    def read(url: str) -> None:
        with blocking.stream(Request(url, CONTEXT)) as stream:
            next(stream.lines)
            raise ValueError("mine")

    with raw.serving(raw.says(raw.answer(b"a\nb\n"))) as server, pytest.raises(ValueError, match="mine"):
        read(server.url)
