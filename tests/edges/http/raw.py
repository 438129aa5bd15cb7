"""Servers and a proxy of bare sockets: they note what they were sent, byte for byte, and answer what they are told."""

from __future__ import annotations

import base64
import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

HEAD = b"HTTP/1.1 %s\r\nContent-Length: %d\r\n%s\r\n"


def answer(body: bytes = b"", status: str = "200 OK", *headers: str) -> bytes:
    return HEAD % (status.encode(), len(body), "".join(f"{one}\r\n" for one in headers).encode()) + body


@dataclass
class Server:
    port: int
    secure: bool = False
    asked: list[bytes] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"{'https' if self.secure else 'http'}://127.0.0.1:{self.port}"


Serves = Callable[[socket.socket, bytes], None]


def says(content: bytes) -> Serves:
    return lambda connection, request: connection.sendall(content)


def breaks_off(content: bytes = b"", *, reset: bool = False) -> Serves:
    def serve(connection: socket.socket, request: bytes) -> None:
        connection.sendall(content)
        if reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return serve


@contextlib.contextmanager
def serving(serve: Serves, tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    def each(connection: socket.socket) -> None:
        secured = tls.wrap_socket(connection, server_side=True) if tls is not None else connection
        with secured:
            request = _head(secured)
            server.asked.append(request)
            serve(secured, request)

    with _listening(each) as port:
        server = Server(port, tls is not None)
        yield server


@dataclass
class Proxy:
    """Of HTTP: every name leads to one port of this machine. `status`: what CONNECT is answered."""

    to: int
    status: str = "200 OK"
    port: int = 0
    asked: list[bytes] = field(default_factory=list)

    @property
    def logins(self) -> list[str]:
        lines = [line for request in self.asked for line in request.decode().splitlines()]
        sent = [line.rpartition(" ")[2] for line in lines if line.startswith("Proxy-Authorization: Basic ")]
        return [base64.b64decode(login).decode() for login in sent]

    def serve(self, connection: socket.socket) -> None:
        with connection:
            self.asked.append(_head(connection))
            connection.sendall(f"HTTP/1.1 {self.status}\r\n\r\n".encode())
            if not self.status.startswith("200"):
                return
            with socket.create_connection(("127.0.0.1", self.to)) as there:
                back = threading.Thread(target=_copy, args=(there, connection))
                back.start()
                _copy(connection, there)
                back.join()


@contextlib.contextmanager
def proxying(to: int, status: str = "200 OK") -> Iterator[Proxy]:
    proxy = Proxy(to, status)
    with _listening(proxy.serve) as proxy.port:
        yield proxy


@contextlib.contextmanager
def _listening(each: Callable[[socket.socket], None]) -> Iterator[int]:
    def serve(connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            each(connection)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                thread = threading.Thread(target=serve, args=(connection,))
                threads.append(thread)
                thread.start()

    threads: list[threading.Thread] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            accepting.join()
            for thread in threads:
                thread.join()


def _head(connection: socket.socket) -> bytes:
    head = b""
    while not head.endswith(b"\r\n\r\n") and (part := connection.recv(1)):
        head += part
        if head == b"\x16":  # TLS, for a server that speaks none: its greeting ends differently
            return connection.recv(65536)
    return head


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while part := source.recv(65536):
            target.sendall(part)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
