"""The ports that a Pod declares: on each, a web server says whose it is. Reached by ``kubectl port-forward``.

Kubernetes: the portforward.k8s.io protocol. For each connection the client opens two streams with the same request
number: one for complaints, one for the bytes.
"""

from __future__ import annotations

from typing import Any

from kubesim.containers import spdy, streams
from kubesim.containers.streams import Session, Streams

Body = dict[str, Any]


def declared(pod: Body) -> set[int]:
    return {
        port["containerPort"]
        for container in pod["spec"]["containers"]
        for port in container.get("ports") or ()
        if port.get("protocol", "TCP") == "TCP"
    }


def answer(pod: Body, port: int) -> bytes:
    """To any HTTP request."""
    meta = pod["metadata"]
    text = f"{meta['namespace']}/{meta['name']} answers on port {port}\n".encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n"
    return head.encode() + text


def forwarding(pod: Body) -> Session:
    async def session(given: Streams) -> Body:
        connection = _Connection(pod, given)
        while received := await given.read():
            await connection.receive(received)
        return streams.SUCCESS

    return session


class _Connection:
    def __init__(self, pod: Body, given: Streams) -> None:
        self._pod, self._given, self._wire = pod, given, spdy.Wire()
        self._complaints: dict[str, int] = {}
        """Request → its stream for complaints."""
        self._asked: dict[int, tuple[str, int, bytearray]] = {}
        """Stream for bytes → (request, port, what was sent so far)."""

    async def receive(self, received: bytes) -> None:
        for frame in self._wire.feed(received):
            match frame.kind:
                case spdy.SYN_STREAM:
                    await self._open(frame)
                case spdy.DATA if frame.stream in self._asked:
                    await self._data(frame)
                case spdy.RST_STREAM:
                    self._asked.pop(frame.stream, None)
                case spdy.PING:
                    await self._given.out(spdy.pong(frame.stream))

    async def _open(self, frame: spdy.Frame) -> None:
        headers = self._wire.headers(frame)
        await self._given.out(self._wire.accepted(frame.stream))
        request, port = headers.get("requestid", ""), int(headers.get("port", "0"))
        if headers.get("streamtype") == "error":
            self._complaints[request] = frame.stream
        elif port in declared(self._pod):
            self._asked[frame.stream] = (request, port, bytearray())
        else:
            name = self._pod["metadata"]["name"]
            text = (
                f"error forwarding port {port} to pod {name}: dial tcp4 127.0.0.1:{port}: connect: connection refused"
            )
            await self._close(frame.stream, request, text.encode())

    async def _data(self, frame: spdy.Frame) -> None:
        request, port, sent = self._asked[frame.stream]
        sent += frame.data
        if b"\r\n\r\n" in sent:
            await self._given.out(spdy.data(frame.stream, answer(self._pod, port)))
        if b"\r\n\r\n" in sent or frame.ends:
            del self._asked[frame.stream]
            await self._close(frame.stream, request)

    async def _close(self, stream: int, request: str, complaint: bytes = b"") -> None:
        await self._given.out(spdy.data(stream, b"", ends=True))
        if (told := self._complaints.pop(request, None)) is not None:
            await self._given.out(spdy.data(told, complaint, ends=True))
