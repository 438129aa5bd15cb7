"""Git behind real servers on this machine: https (`git http-backend`), ssh (OpenSSH's sshd) and the git protocol."""

from __future__ import annotations

import base64
import contextlib
import getpass
import http.server
import os
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import trustme

from tests.support import needs, patience
from tests.support.ports import free_port


def git_program(name: str) -> Path:
    found = subprocess.run(["git", "--exec-path"], check=True, capture_output=True, text=True).stdout.strip()
    return Path(found) / name


def needs_git_program(name: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not git_program(name).exists(), reason=f"needs {name}")


@dataclass
class HttpsGit:
    """`git http-backend` behind TLS of a private authority, misbehaving on demand."""

    root: Path
    authority: Path
    port: int = 0
    status: int = 0
    """Answer everything with it; 0: the truth."""
    location: str = ""
    retry_after: str = "1"
    wanted: str = ""
    """The Authorization without which the answer is 401; "": none is needed."""
    cut_after: int = 0
    """Bytes of an answer after which the connection is reset; 0: never."""
    other: Callable[[http.server.BaseHTTPRequestHandler, bytes], bool] | None = None
    """Answers what is not Git's; True: it did."""
    asked: list[tuple[str, str]] = field(default_factory=list)
    """(path, Authorization)"""

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}/fleet.git"

    def answer(self, handler: http.server.BaseHTTPRequestHandler, body: bytes) -> None:
        self.asked.append((handler.path, handler.headers.get("Authorization", "")))
        if self.status or self.location:
            handler.send_response(self.status or 302)
            if self.retry_after:
                handler.send_header("Retry-After", self.retry_after)
            if self.location:
                handler.send_header("Location", self.location + handler.path)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        if self.wanted and handler.headers.get("Authorization") != self.wanted:
            handler.send_response(401)
            handler.send_header("WWW-Authenticate", 'Basic realm="git"')
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        if self.other is not None and self.other(handler, body):
            return
        path, _, query = handler.path.partition("?")
        done = subprocess.run(
            [str(git_program("git-http-backend"))], input=body, capture_output=True, check=True,
            env={"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(self.root), "GIT_HTTP_EXPORT_ALL": "1",
                 "PATH_INFO": path, "QUERY_STRING": query, "REQUEST_METHOD": handler.command,
                 "REMOTE_USER": "somebody" if self.wanted else "",
                 "CONTENT_TYPE": handler.headers.get("Content-Type", ""),
                 "GIT_PROTOCOL": handler.headers.get("Git-Protocol", ""),
                 "HTTP_CONTENT_ENCODING": handler.headers.get("Content-Encoding", "")},
        )  # fmt: skip
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        handler.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        if self.cut_after and path.endswith("git-upload-pack"):
            handler.wfile.write(content[: self.cut_after])
            handler.wfile.flush()
            handler.connection.shutdown(socket.SHUT_RDWR)
            return
        handler.wfile.write(content)


def basic(login: str) -> str:
    """The header of a name and password."""
    return "Basic " + base64.b64encode(login.encode()).decode()


@contextlib.contextmanager
def serving(root: Path, directory: Path) -> Iterator[HttpsGit]:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(directory / "ca.pem"))
    git = HttpsGit(root, directory / "ca.pem")

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            self._answer(self._body())

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body

        def _answer(self, body: bytes) -> None:
            with contextlib.suppress(OSError):
                git.answer(self, body)
            self.close_connection = True

        def log_message(self, *ignored: object) -> None:
            pass

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", "git.example").configure_cert(context)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *ignored: None  # type: ignore[method-assign,assignment]
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    git.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield git
    finally:
        server.shutdown()
        thread.join(patience.SECONDS)
        server.server_close()


@contextlib.contextmanager
def git_daemon(root: Path, port: int, *, push: bool = False) -> Iterator[str]:
    pushing = ("--enable=receive-pack",) if push else ()
    process = subprocess.Popen(
        [str(git_program("git-daemon")), "--reuseaddr", "--export-all", f"--base-path={root}", "--listen=127.0.0.1",
         *pushing, f"--port={port}", str(root)], stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        until_listening(port)
        yield f"git://127.0.0.1:{port}/fleet.git"
    finally:
        process.terminate()
        process.wait(patience.SECONDS)


def until_listening(port: int) -> None:
    end = time.monotonic() + patience.SECONDS
    while not _listens(port):
        assert time.monotonic() < end, f"nothing listens on {port}"
        time.sleep(0.02)


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


@dataclass
class SshGit:
    """sshd for the user who runs the tests; `host_key` is what belongs into known_hosts, `key` logs in."""

    port: int
    root: Path
    host_key: str
    key: Path

    @property
    def url(self) -> str:
        return f"ssh://{getpass.getuser()}@127.0.0.1:{self.port}{self.root}/fleet.git"

    @property
    def known_hosts(self) -> str:
        return f"[127.0.0.1]:{self.port} {self.host_key}"


@contextlib.contextmanager
def sshd(root: Path, directory: Path) -> Iterator[SshGit]:
    """Skips the test where OpenSSH's server is missing."""
    program = needs.path_of("sshd")
    keygen = needs.path_of("ssh-keygen")
    directory.mkdir()
    for name in ("host", "user"):
        subprocess.run([keygen, "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(directory / name)], check=True)
    (directory / "authorized").write_text((directory / "user.pub").read_text())
    port = free_port()
    (directory / "config").write_text(
        f'Port {port}\nListenAddress 127.0.0.1\nHostKey "{directory}/host"\n'
        f'AuthorizedKeysFile "{directory}/authorized"\n'
        f"PidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\n"
    )
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # sshd started by root insists on its empty folder
    process = subprocess.Popen(
        [program, "-D", "-e", "-f", str(directory / "config")], stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL
    )
    try:
        until_listening(port)
        kind, key = (directory / "host.pub").read_text().split()[:2]
        yield SshGit(port, root, f"{kind} {key}", directory / "user")
    finally:
        process.terminate()
        process.wait(patience.SECONDS)
