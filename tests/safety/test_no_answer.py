"""What a client library says of a failure is told in words of ours: its own may hold a proxy's password, or a token."""

from __future__ import annotations

import ast
import inspect
import ssl
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import client_exceptions
from yarl import URL

import gitfed
from gitfed import errors
from gitfed.edges import download, no_answer, oidc
from gitfed.edges.forge.call import ForgeClient
from gitfed.edges.git import app
from gitfed.edges.http import NoAnswer
from tests.safety.foreign import PASSWORD, foreign

OURS = {name for name, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.GitfedError)}


def test_why_a_server_gave_no_answer_repeats_nothing_of_the_exception() -> None:
    for error in foreign():
        assert PASSWORD not in no_answer.why(error), repr(error)
        assert PASSWORD not in f"{NoAnswer(error)} {NoAnswer(error)!r} {NoAnswer(error).why()}"


def test_what_happened_is_told_from_class_and_number() -> None:
    said = {
        "the server refuses the connection": _connecting(ConnectionRefusedError(111, "x")),
        "the server does not answer in time": aiohttp.ServerTimeoutError("x"),
        "the server cut the connection": aiohttp.ServerDisconnectedError("x"),
        "the server: its answer is not HTTP": aiohttp.ClientResponseError(REQUEST, ()),
        "the address of the server, or of its proxy, is not valid": aiohttp.InvalidURL("nonnumeric port: 'x'"),
        "the proxy h:80 answers HTTP 407 Proxy Authentication Required": aiohttp.ClientHttpProxyError(
            REQUEST, (), status=407
        ),
        "the server: its certificate is not trusted: it cannot be verified": _connecting(
            ssl.SSLCertVerificationError("x")
        ),
        "the server: there is no way to it (No route to host)": _connecting(OSError(113, "x")),
    }
    assert {no_answer.why(error): None for error in said.values()} == dict.fromkeys(said)


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (ConnectionResetError(104, "x"), "the server cut the connection"),
        (BrokenPipeError(32, "x"), "the server cut the connection"),
        (ssl.SSLError(1, "x"), "the server: no connection over TLS (SSLError)"),
    ],
)
def test_what_ends_an_open_connection_is_told_by_its_own_class(raised: OSError, told: str) -> None:
    """aiohttp repeats its number alone, and OpenSSL's 1 is `Operation not permitted` elsewhere."""
    error = aiohttp.ClientOSError(*raised.args)
    error.__cause__ = raised
    assert no_answer.why(error) == told
    assert NoAnswer(error).reason is raised


REQUEST = aiohttp.RequestInfo(URL(f"http://u:{PASSWORD}@h"), "CONNECT", {}, URL(f"http://u:{PASSWORD}@h"))  # type: ignore[arg-type]


def _connecting(error: OSError) -> aiohttp.ClientConnectorError:
    return aiohttp.ClientConnectorError(type("Key", (), {"host": "h", "port": 1, "ssl": True})(), error)


@pytest.fixture(params=["http://u:{}@127.0.0.1:nowhere", "http://u:{}@127.0.0.1:9", "http://u:{}@nowhere.invalid:3128"])
def proxy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A proxy as people get it wrong: no port, nobody there, no such name."""
    address: str = request.param.format(PASSWORD)
    for name in ("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, address)
    return address


@pytest.mark.usefixtures("proxy")
def test_the_password_of_a_proxy_is_in_no_error_of_a_forge_or_a_download() -> None:
    with pytest.raises(errors.ForgeUnreachable) as of_forge:
        ForgeClient("https://forge.invalid/api", {"Authorization": "Bearer t0ken"}, again=()).get("/user")
    with pytest.raises(errors.SourceUnreachable) as of_file:
        download.fetch("https://files.invalid/rules.yaml", most=10)
    for raised in (of_forge, of_file):
        assert PASSWORD not in f"{raised.value} {raised.value.hint}"
        assert ".invalid" in str(raised.value)


@pytest.mark.usefixtures("proxy")
def test_the_password_of_a_proxy_is_in_no_error_of_a_github_app(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "_statement", lambda identity, key: "signed")
    with pytest.raises(errors.SourceUnreachable) as raised:
        app.installation_token("7", "8", "key", base="https://forge.invalid/api")
    assert PASSWORD not in str(raised.value)


@pytest.mark.usefixtures("proxy")
async def test_the_password_of_a_proxy_is_in_no_error_of_an_issuer() -> None:
    issuer = oidc.Issuer(oidc.OidcSettings("https://issuer.invalid", "gitfed"))
    with pytest.raises(errors.IdentityUnreachable) as raised:
        await issuer.discover()
    assert PASSWORD not in str(raised.value)


def test_the_address_of_a_proxy_with_a_password_is_in_none_of_the_clients_texts() -> None:
    error = aiohttp.InvalidURL(URL(f"http://u:{PASSWORD}@h"))
    assert PASSWORD in str(error), "the library does tell it"
    assert PASSWORD not in no_answer.why(error)
    assert isinstance(error, client_exceptions.InvalidURL)


def _told(handler: ast.ExceptHandler) -> Iterator[ast.AST]:
    """Where a handler makes a text of the exception itself: `f"{error}"`, `str(error)`, `repr(error)`."""
    for node in ast.walk(handler):
        value = node.value if isinstance(node, ast.FormattedValue) else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("str", "repr"):
            value = node.args[0] if node.args else None
        if isinstance(value, ast.Name) and value.id == handler.name:
            yield node


def _foreign_classes(handler: ast.ExceptHandler) -> list[str]:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = [ast.unparse(kind) for kind in kinds if kind is not None]
    return [name for name in names if name.startswith(_LIBRARIES) or hasattr(__builtins__, name) or name in _SYSTEM]


_LIBRARIES = (
    "aiohttp.",
    "client.FAILURES",
    "ssl.",
    "urllib.",
    "http.",
    "jwt.",
    "yarl.",
    "socket.",
    "subprocess.",
    "git.",
    "kubernetes.",
)
_SYSTEM = {"Exception", "BaseException", "OSError", "ValueError", "TypeError", "KeyError", "HTTPException",
           "UnicodeError", "RuntimeError", "EOFError", "AttributeError"}  # fmt: skip
"""TimeoutError is raised by asyncio.timeout and says nothing."""


def test_no_room_that_talks_to_the_world_passes_on_the_text_of_a_foreign_exception() -> None:
    root = Path(gitfed.__file__).parent
    found = [
        f"{path.relative_to(root)}:{node.lineno} {ast.unparse(node)} of {', '.join(_foreign_classes(handler))}"
        for room in ("edges", "daemon", "hub", "reading", "offline")
        for path in sorted((root / room).rglob("*.py"))
        for handler in ast.walk(ast.parse(path.read_text()))
        if isinstance(handler, ast.ExceptHandler) and handler.name and _foreign_classes(handler)
        for node in _told(handler)
        if isinstance(node, ast.expr)
    ]
    assert not found, "\n".join(found)
