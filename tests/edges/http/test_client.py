"""Requests over real sockets: what is sent, what is made of answers, and what is not contacted."""

from __future__ import annotations

import ssl
import threading
from pathlib import Path

import aiohttp
import pytest
import trustme

from gitfed.edges import address
from gitfed.edges.http import Answer, NoAnswer, Request, blocking, client
from tests.edges.http import raw

NOBODY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Trusts no certificate."""


def ask(url: str, context: ssl.SSLContext = NOBODY, *, most: int = 1000, seconds: float = 10.0) -> Answer:
    return blocking.ask(Request(url, context, silence=seconds), most=most, of_refusal=most)


def test_an_answer_is_read_to_its_limit_and_one_byte_more() -> None:
    with raw.serving(raw.says(raw.answer(b"x" * 50, "201 Created", "X-One: a", "x-one: b"))) as server:
        answer = ask(server.url, most=50)
        assert (answer.status, answer.body, answer.headers.get("X-ONE")) == (201, b"x" * 50, "a")
        assert ask(server.url, most=49).body == b"x" * 50
        assert ask(server.url, most=10).body == b"x" * 11


@pytest.mark.parametrize("status", ["302 Found", "404 Not Found", "503 Service Unavailable"])
def test_a_refusal_is_an_answer_even_where_its_body_breaks_off(status: str) -> None:
    with raw.serving(raw.breaks_off(raw.answer(b"because", status)[:-4])) as server:
        answer = ask(server.url)
        assert (answer.status, answer.is_good, answer.body) == (int(status[:3]), False, b"")
    with raw.serving(raw.says(raw.answer(b"because", status))) as server:
        assert ask(server.url, most=3).body == b"bec"


def test_a_redirect_is_an_answer_and_not_followed() -> None:
    with (
        raw.serving(raw.says(raw.answer(b"here"))) as there,
        raw.serving(raw.says(raw.answer(b"", "307 Temporary Redirect", f"Location: {there.url}/x"))) as server,
    ):
        assert ask(server.url).headers["location"] == f"{there.url}/x"
        assert there.asked == []


def test_a_path_is_sent_as_it_is_written() -> None:
    with raw.serving(raw.says(raw.answer())) as server:
        ask(f"{server.url}/a/../b%2e%2E/%2Fc;d?e=%20f+g#not-this")
        assert server.asked[0].startswith(b"GET /a/../b%2e%2E/%2Fc;d?e=%20f+g HTTP/1.1\r\n")


def test_no_password_of_a_netrc_file_and_no_cookie_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with raw.serving(raw.says(raw.answer(b"", "200 OK", "Set-Cookie: a=b"))) as server:
        for _ in range(2):
            ask(server.url)
        sent = b"".join(server.asked).lower()
    assert b"authorization" not in sent
    assert b"cookie" not in sent


def test_an_answer_is_passed_on_as_it_came() -> None:
    with raw.serving(raw.says(raw.answer(b"no gzip", "200 OK", "Content-Encoding: gzip"))) as server:
        assert ask(server.url).body == b"no gzip"
        assert b"Accept-Encoding: identity\r\n" in server.asked[0]


def test_a_header_as_long_as_some_forges_send_is_read() -> None:
    with raw.serving(raw.says(raw.answer(b"x", "200 OK", f"Link: {'a' * 30_000}"))) as server:
        assert len(ask(server.url).headers["Link"]) == 30_000


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("Application/JSON; charset=utf-8", "application/json"),
        ("nonsense", "text/plain"),
        ("", "text/plain"),
    ],
)
def test_a_type_of_content_is_told_without_its_parameters(given: str, told: str) -> None:
    assert Answer(200, {"Content-Type": given}).content_type == told
    assert Answer(200, {}).content_type == "text/plain"


@pytest.mark.parametrize(
    ("serve", "told", "reason"),
    [
        (raw.breaks_off(), "the server cut the connection", ConnectionError),
        (raw.breaks_off(reset=True), "the server cut the connection", ConnectionError),
        (raw.breaks_off(raw.answer(b"half")[:-2]), "the server cut the connection", ConnectionError),
        (raw.says(b"SSH-2.0-OpenSSH\r\n\r\n"), "the server: its answer is not HTTP", Exception),
        (raw.says(raw.answer(b"", "200 OK", f"A: {'a' * 200_000}")), "the server: its answer is not HTTP", Exception),
    ],
    ids=["nothing", "reset", "half", "another protocol", "an endless header"],
)
def test_what_is_no_whole_answer_is_told_in_words_of_ours(
    serve: raw.Serves, told: str, reason: type[Exception]
) -> None:
    with raw.serving(serve) as server, pytest.raises(NoAnswer) as raised:
        ask(server.url)
    assert raised.value.why() == told
    assert isinstance(raised.value.reason, reason)


def test_a_server_that_says_nothing_is_waited_for_so_long() -> None:
    end = threading.Event()
    with raw.serving(lambda connection, request: bool(end.wait(20)) and None) as server:
        with pytest.raises(NoAnswer) as raised:
            ask(server.url, seconds=0.1)
        end.set()
    assert raised.value.why("the forge") == "the forge does not answer in time"
    assert isinstance(raised.value.reason, TimeoutError)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://127.0.0.1:1/", "the server refuses the connection"),
        ("https://nowhere.invalid/", "the server: its host name is not known"),
        *((url, "the address of the server, or of its proxy, is not valid") for url in (
            "http://127.0.0.1:1/a b", "http://127.0.0.1:1/\r\nX: y", "http://127.0.0.1:port/", "https:///x",
            f"https://{'a' * 70}.example/", "nonsense", "https://[::1/")),
    ],
)  # fmt: skip
def test_an_address_that_leads_nowhere_is_told(url: str, told: str) -> None:
    with pytest.raises(NoAnswer) as raised:
        ask(url)
    assert raised.value.why() == told


def test_what_is_wrong_with_tls_is_told() -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("other.example").configure_cert(context)
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority.configure_trust(trusting)
    with raw.serving(raw.says(raw.answer()), context) as server:
        for trusted, told in ((NOBODY, "unable to get local issuer"), (trusting, "IP address mismatch")):
            with pytest.raises(NoAnswer) as raised:
                ask(server.url, trusted)
            assert raised.value.why().startswith("the server: its certificate is not trusted: ")
            assert told in str(raised.value.certificate())
    with raw.serving(raw.says(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as plain, pytest.raises(NoAnswer) as raised:
        ask(plain.url.replace("http:", "https:"))
    assert raised.value.why() == "the server: no connection over TLS (wrong version number)"
    assert raised.value.certificate() is None


# What is not contacted


@pytest.mark.parametrize("host", ["169.254.169.254", "[fe80::1]", "[::ffff:169.254.169.254]", "１６９.254.169.254"])
def test_an_address_that_nobody_has_business_with_is_not_contacted(host: str) -> None:
    with pytest.raises(NoAnswer) as raised:
        ask(f"https://{host}/latest")
    assert raised.value.why().endswith(" is a link-local or metadata address, which is not contacted")
    assert isinstance(raised.value.reason, address.NotContacted)


@pytest.mark.parametrize("host", ["169.254.169.254", "[fd00:ec2::254]", "１６９.254.169.254"])
async def test_no_connection_is_opened_there_either_however_it_is_written(host: str) -> None:
    """Those with sessions of their own check an address before; this is where the connection takes it from."""
    timeout = aiohttp.ClientTimeout(total=5)
    async with client.session(client.connector(), timeout) as http:
        with pytest.raises(aiohttp.ClientConnectorError) as raised:
            await http.get(f"https://{host}/latest")
    assert isinstance(raised.value.os_error, address.NotContacted)


def test_a_socket_of_the_callers_own_is_opened_only_where_allowed() -> None:
    opened = []
    opens = client._only_where_allowed(lambda place: opened.append(place))  # type: ignore[arg-type, func-returns-value]
    opens((2, 1, 6, "", ("127.0.0.1", 80)))
    with pytest.raises(address.NotContacted):
        opens((2, 1, 6, "", ("169.254.169.254", 80)))
    assert [place[4] for place in opened] == [("127.0.0.1", 80)]
