"""A commit cannot send a cluster's token elsewhere, and no password of a proxy gets out through an error."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trustme

from gitfed import errors
from gitfed.edges.kube.connection import credentials, translate
from gitfed.edges.kube.connection.session import Session
from tests.edges.kube.answering import always, body, serving
from tests.edges.kube.declared import cluster
from tests.edges.kube.kubeconfigs import kubeconfig, refusal, secret, sources, tls, with_secret
from tests.safety.foreign import PASSWORD, foreign

TOKEN = "t0p-s3cret"


async def ask(declared: Any, given: credentials.CredentialSources) -> None:
    async with Session("m1", credentials.resolve(declared, given)) as session:
        await session.request("GET", "/readyz")


# The server


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_token_without_a_server_beside_it_goes_nowhere(tmp_path: Path, scheme: str) -> None:
    async with serving(always(lambda: body({})), tls=tls(trustme.CA()) if scheme == "https" else None) as thief:
        directory = secret(tmp_path, token=TOKEN)
        declared = with_secret(api_endpoint=thief.url, insecure_skip_tls_verification=True)
        assert refusal(declared, sources(credentials_dir=tmp_path)) == (
            f"cluster m1: Secret {directory} has no server "
            "(write the address that the token is for into a file `server` beside it)"
        )
        assert thief.asked == []


def test_a_token_for_https_is_not_sent_in_clear(tmp_path: Path) -> None:
    directory = secret(tmp_path, token=TOKEN, caBundle="ca", server="https://m1:6443")
    assert refusal(with_secret(api_endpoint="http://m1:6443"), sources(credentials_dir=tmp_path)) == (
        f"cluster m1: Secret {directory} belongs to https://m1:6443, not to spec.apiEndpoint http://m1:6443 "
        "(a credential is sent only to the scheme, host and port it was made for)"
    )


@pytest.mark.parametrize("content", [b"", b"https://m1:6443\nhttps://m2", b"\xff\xfe", b"h" * 70_000, b"m1:6443"])
def test_a_server_file_that_is_none_is_a_refusal(tmp_path: Path, content: bytes) -> None:
    directory = secret(tmp_path, token=TOKEN, caBundle="ca", server=content)
    assert refusal(with_secret(), sources(credentials_dir=tmp_path)).startswith(
        (f"cluster m1: {directory / 'server'}", f"cluster m1: Secret {directory} has no server")
    )


# TLS


async def test_a_commit_cannot_turn_off_verification_where_an_authority_is_known(tmp_path: Path) -> None:
    ours = trustme.CA()
    async with serving(always(lambda: body({})), tls=tls(trustme.CA())) as man_in_the_middle:
        secret(tmp_path, token=TOKEN, caBundle=ours.cert_pem.bytes(), server=man_in_the_middle.url)
        declared = with_secret(api_endpoint=man_in_the_middle.url, insecure_skip_tls_verification=True)
        given = sources(credentials_dir=tmp_path)
        assert credentials.resolve(declared, given).warnings == (
            "cluster m1: spec.insecureSkipTLSVerification is not obeyed: the server's certificate is checked against "
            "the caBundle of its Secret",
        )
        with pytest.raises(errors.ClusterUnreachable, match="the server's certificate is not trusted"):
            await ask(declared, given)
        assert man_in_the_middle.asked == []


# The proxy


async def test_a_commit_cannot_put_a_proxy_before_a_token(tmp_path: Path) -> None:
    async with serving(always(lambda: body({}))) as thief:
        server = "http://m1.example.com:8080"
        directory = secret(tmp_path, token=TOKEN, server=server)
        given = sources(credentials_dir=tmp_path)
        proxied = with_secret(api_endpoint=server, proxy_url=thief.url)
        assert refusal(proxied, given) == (
            f"cluster m1: Secret {directory} has no proxy, and spec.proxyURL names one "
            "(write the address of the proxy into a file `proxy` beside the token)"
        )
        (directory / "proxy").write_text("http://proxy.example.com:3128")
        assert refusal(proxied, given) == (
            f"cluster m1: Secret {directory} allows the proxy http://proxy.example.com:3128, not that of spec.proxyURL "
            "(a credential is sent only through the scheme, host and port it was made for)"
        )
        assert thief.asked == []


async def test_the_proxy_beside_a_token_is_used_with_its_own_login(tmp_path: Path) -> None:
    async with serving(always(lambda: body({}))) as proxy:
        server = "http://m1.example.com:8080"
        secret(tmp_path, token=TOKEN, server=server, proxy=proxy.url.replace("://", f"://u:{PASSWORD}@") + "\n")
        await ask(with_secret(api_endpoint=server, proxy_url=proxy.url), sources(credentials_dir=tmp_path))
        assert [request.headers.get("Proxy-Authorization", "")[:6] for request in proxy.asked] == ["Basic "]


# Errors


@contextlib.asynccontextmanager
async def refusing_proxy() -> AsyncIterator[str]:
    """The address of a proxy that wants another login, with one in it."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 407 no " + PASSWORD.encode() + b"\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://u:{PASSWORD}@127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.parametrize("target", ["https://m1.example.com", "http://m1.example.com"])
async def test_a_proxys_password_is_in_no_error(tmp_path: Path, target: str) -> None:
    async with refusing_proxy() as proxy:
        path = kubeconfig(tmp_path / "k", cluster={"server": target, "proxy-url": proxy})
        with pytest.raises(errors.GitfedError) as raised:
            await ask(cluster("m1"), sources(path))
        assert PASSWORD not in str(raised.value)
    for address in (proxy, f"http://u:{PASSWORD}@[", f"x://u:{PASSWORD}@h:1",
                    f"http://u:{PASSWORD}@h:port", f"http://{PASSWORD}@not..a..name:1"):  # fmt: skip
        path = kubeconfig(tmp_path / "k", cluster={"server": target, "proxy-url": address})
        with pytest.raises(errors.GitfedError) as raised:
            await ask(cluster("m1"), sources(path))
        assert PASSWORD not in str(raised.value)


async def test_a_407_of_a_proxy_says_what_to_do(tmp_path: Path) -> None:
    async with refusing_proxy() as proxy:
        path = kubeconfig(tmp_path / "k", cluster={"server": "https://m1.example.com", "proxy-url": proxy})
        with pytest.raises(errors.ClusterUnreachable) as raised:
            await ask(cluster("m1"), sources(path))
        assert str(raised.value) == (
            f"cluster m1: the proxy {proxy.rpartition('@')[2]} answers HTTP 407 Proxy Authentication Required"
        )


def test_no_text_of_a_foreign_exception_leaves_translate() -> None:
    known = foreign()
    assert len(known) > 20
    for error in known:
        assert PASSWORD not in str(translate.unreachable("m1", error, server="https://h:1")), type(error)
