"""The example webhook over real HTTPS in this process, and one that misbehaves in every way a test can think of."""

from __future__ import annotations

import base64
import contextlib
import importlib.util
import json
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import trustme

from tests.support import patience

EXAMPLE = Path(__file__).parents[2] / "examples" / "webhook" / "server.py"


def example() -> ModuleType:
    """examples/webhook/server.py, which is no package."""
    known = sys.modules.get("example_webhook")
    if known is not None:
        return known
    spec = importlib.util.spec_from_file_location("example_webhook", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["example_webhook"] = module
    spec.loader.exec_module(module)
    return module


class Authority:
    """Signs for servers; `bundle` is what a configuration's caBundle holds."""

    def __init__(self) -> None:
        self._ca = trustme.CA()
        self.bundle = base64.b64encode(self._ca.cert_pem.bytes()).decode()

    def write(self, folder: Path, *names: str) -> None:
        """tls.crt and tls.key of a server."""
        issued = self._ca.issue_cert(*names)
        (folder / "tls.crt").write_bytes(b"".join(one.bytes() for one in issued.cert_chain_pems))
        (folder / "tls.key").write_bytes(issued.private_key_pem.bytes())

    def server_context(self, *names: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._ca.issue_cert(*names).configure_cert(context)
        return context


Reaction = Callable[[Any, dict[str, Any]], None]
"""(the request's handler, the context it received): answers however it likes."""


class Running:
    """A server on 127.0.0.1. `react` None: as the example does. `received`: every context, in order."""

    def __init__(self, port: int, react: Reaction | None) -> None:
        self.port = port
        self.url = f"https://localhost:{port}/interpret"
        self.react = react
        self.received: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []

    def asked(self, operation: str) -> list[dict[str, Any]]:
        return [one["request"] for one in self.received if one["request"]["operation"] == operation]


@contextlib.contextmanager
def serving(
    authority: Authority, *, names: tuple[str, ...] = ("localhost",), react: Reaction | None = None, port: int = 0
) -> Iterator[Running]:
    module = example()
    connections: list[socket.socket] = []

    class Handler(module.Handler):  # type: ignore[name-defined, misc]
        def do_POST(self) -> None:
            running.paths.append(self.path)
            running.headers.append(dict(self.headers))
            content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            context = json.loads(content)
            running.received.append(context)
            if running.react is not None:
                running.react(self, context)
            else:
                reply(self, module.respond(context))

        def log_message(self, *ignored: object) -> None:
            pass

    class Server(module.Server):  # type: ignore[name-defined, misc]
        def get_request(self) -> tuple[Any, Any]:
            connection, address = super().get_request()
            connections.append(connection)
            return connection, address

        def handle_error(self, *ignored: object) -> None:
            """A client that hangs up is what many of these tests are about."""

    with Server(("127.0.0.1", port), authority.server_context(*names)) as server:
        server.RequestHandlerClass = Handler
        running = Running(server.server_address[1], react)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield running
        finally:
            server.shutdown()
            thread.join(patience.SECONDS)
            for connection in connections:  # those that are kept open too, or the server would go on answering
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


def reply(handler: Any, document: Any, status: int = 200, **headers: str) -> None:
    raw(handler, document if isinstance(document, bytes) else json.dumps(document).encode(), status, **headers)


def raw(handler: Any, data: bytes, status: int = 200, **headers: str) -> None:
    handler.send_response(status)
    for name, value in {"Content-Length": str(len(data)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(data)


def answering(**members: Any) -> Reaction:
    """A successful response with these members."""

    def react(handler: Any, context: dict[str, Any]) -> None:
        reply(handler, {"response": {"uid": context["request"]["uid"], "successful": True, **members}})

    return react
