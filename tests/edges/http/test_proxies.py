"""Proxies that the environment names: real ones, and which one counts."""

from __future__ import annotations

import ssl
from collections.abc import Iterator

import pytest
import trustme

from gitfed.edges.http import NoAnswer, Request, blocking, client, proxies
from tests.edges.http import raw
from tests.support import socks
from tests.support.ports import free_port

PASSWORD = "pr0xy-passw0rd"
NAME = "forge.example"


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def server(authority: trustme.CA) -> Iterator[raw.Server]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(NAME).configure_cert(context)
    with raw.serving(raw.says(raw.answer(b"hello")), context) as server:
        yield server


@pytest.fixture
def request_(authority: trustme.CA) -> Request:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority.configure_trust(context)
    return Request(f"https://{NAME}/x", context, headers={"Authorization": "Bearer t0ken"}, silence=10)


@pytest.mark.parametrize("spelling", ["http://u:{}@127.0.0.1:{}", "u:{}@127.0.0.1:{}"])
def test_a_request_goes_through_the_proxy_and_only_the_login_stays_there(
    server: raw.Server, request_: Request, spelling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with raw.proxying(server.port) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", spelling.format(PASSWORD, proxy.port))
        assert blocking.ask(request_, most=10).body == b"hello"
    assert proxy.asked[0].startswith(f"CONNECT {NAME}:443 HTTP/1.1\r\n".encode())
    assert proxy.logins == [f"u:{PASSWORD}"]
    assert b"t0ken" not in b"".join(proxy.asked)
    assert b"t0ken" in server.asked[0]
    assert b"Proxy-Authorization" not in server.asked[0]


def test_a_proxy_that_does_not_connect_is_named_without_its_login(
    request_: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    with raw.proxying(1, "407 Proxy Authentication Required") as proxy:
        monkeypatch.setenv("https_proxy", f"http://u:{PASSWORD}@127.0.0.1:{proxy.port}")
        with pytest.raises(NoAnswer) as refused:
            blocking.ask(request_, most=10)
    assert refused.value.why() == f"the proxy 127.0.0.1:{proxy.port} answers HTTP 407 Proxy Authentication Required"
    monkeypatch.setenv("https_proxy", f"http://u:{PASSWORD}@127.0.0.1:{(port := free_port())}")
    with pytest.raises(NoAnswer) as missing:
        blocking.ask(request_, most=10)
    assert missing.value.why() == f"the proxy 127.0.0.1:{port} refuses the connection"


@pytest.mark.parametrize("scheme", ["http", "socks5"])
def test_a_proxy_at_an_address_of_no_business_is_not_contacted(
    request_: Request, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"{scheme}://169.254.169.254:3128")
    with pytest.raises(NoAnswer) as raised:
        blocking.ask(request_, most=10)
    assert raised.value.why().startswith("169.254.169.254 is ")
    assert raised.value.why().endswith("a link-local or metadata address, which is not contacted")


async def test_a_socks_proxy_of_the_environment_is_used(
    server: raw.Server, request_: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with socks.proxying(f"http://127.0.0.1:{server.port}") as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"socks5://{proxy.address}")
        assert (await client.ask(request_, most=10)).body == b"hello"
    assert proxy.asked == [f"{NAME}:443"]


def test_what_is_sent_to_this_machine_goes_by_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    with raw.serving(raw.says(raw.answer(b"hello"))) as server, raw.proxying(server.port) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        for host in ("127.0.0.1", "localhost"):
            assert blocking.ask(Request(f"http://{host}:{server.port}", context), most=10).body == b"hello"
    assert proxy.asked == []


@pytest.mark.parametrize(
    ("url", "environment", "by"),
    [
        ("https://a.example", {}, None),
        ("https://a.example", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ("https://a.example", {"https_proxy": "p:1"}, "http://p:1"),
        ("https://a.example", {"https_proxy": "http://small:1", "HTTPS_PROXY": "http://large:1"}, "http://small:1"),
        ("https://a.example", {"HTTPS_PROXY": "http://large:1", "https_proxy": "http://small:1"}, "http://small:1"),
        ("https://a.example", {"HTTPS_PROXY": "http://large:1", "https_proxy": ""}, None),
        ("https://a.example", {"HTTP_PROXY": "http://p:1", "ALL_PROXY": "http://p:1"}, None),
        ("http://a.example", {"HTTP_PROXY": "http://p:1"}, "http://p:1"),
        ("https://a.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "b.example, a.example"}, None),
        ("https://a.b.example", {"HTTPS_PROXY": "http://p:1", "no_proxy": ".b.example"}, None),
        ("https://a.example", {"HTTPS_PROXY": "http://p:1", "no_proxy": "a.example:8443"}, "http://p:1"),
        ("https://a.example:8443", {"HTTPS_PROXY": "http://p:1", "no_proxy": "a.example:8443"}, None),
        ("https://a.example", {"HTTPS_PROXY": "http://p:1", "no_proxy": "*"}, None),
        ("https://127.0.0.1:1", {"HTTPS_PROXY": "http://p:1"}, None),
        ("https://[::1]:1", {"HTTPS_PROXY": "http://p:1"}, None),
        ("https://127.0.0.1.example", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
    ],
)
def test_which_proxy_counts(url: str, environment: dict[str, str], by: str | None) -> None:
    assert proxies.of_environment(url, environment) == by
