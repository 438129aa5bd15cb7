"""Clusters behind a SOCKS5 proxy: a real one of a few lines, with a login or without."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
import trustme

from gitfed import errors
from gitfed.edges.kube.connection import credentials
from gitfed.edges.kube.connection.session import Session
from gitfed.edges.kube.leases.fence import Fence
from tests.edges.kube.answering import always, body, serving
from tests.edges.kube.declared import cluster
from tests.edges.kube.kubeconfigs import kubeconfig, secret, sources, tls, with_secret
from tests.support.ports import free_port
from tests.support.socks import proxying

PASSWORD = "pr0xy-passw0rd"


async def ask(path: Path) -> None:
    async with Session("m1", credentials.resolve(cluster("m1"), sources(path))) as session:
        await session.request("GET", "/readyz")


@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
async def test_a_cluster_behind_a_socks_proxy_is_asked_by_its_name(tmp_path: Path, scheme: str) -> None:
    async with serving(always(lambda: body({}))) as server, proxying(server.url) as proxy:
        given = {"server": "http://m1.example.com:8080", "proxy-url": f"{scheme}://{proxy.address}"}
        await ask(kubeconfig(tmp_path / "k", cluster=given))
        assert proxy.asked == ["m1.example.com:8080"]
        assert [request.headers["Host"] for request in server.asked] == ["m1.example.com:8080"]


async def test_the_certificate_behind_a_socks_proxy_is_checked(tmp_path: Path) -> None:
    authority, stranger = trustme.CA(), trustme.CA()
    async with serving(always(lambda: body({})), tls=tls(authority)) as server, proxying(server.url) as proxy:
        given = {"server": server.url, "proxy-url": f"socks5://{proxy.address}"}
        for one in (authority, stranger):
            (tmp_path / "ca").write_bytes(one.cert_pem.bytes())
            path = kubeconfig(tmp_path / "k", cluster={**given, "certificate-authority": str(tmp_path / "ca")})
            if one is authority:
                await ask(path)
            else:
                with pytest.raises(errors.ClusterUnreachable, match="the server's certificate is not trusted"):
                    await ask(path)
        assert len(server.asked) == 1


async def test_the_login_of_a_socks_proxy_stands_beside_the_token(tmp_path: Path) -> None:
    async with serving(always(lambda: body({}))) as server, proxying(server.url, password=PASSWORD) as proxy:
        address = f"socks5://u:{PASSWORD}@{proxy.address}"
        secret(tmp_path, token="t", server="http://m1.example.com:80", proxy=address + "\n")
        declared = with_secret(api_endpoint="http://m1.example.com:80", proxy_url=f"socks5://{proxy.address}")
        connection = credentials.resolve(declared, sources(credentials_dir=tmp_path))
        async with Session("m1", connection) as session:
            await session.request("GET", "/readyz")
        assert [request.headers["Authorization"] for request in server.asked] == ["Bearer t"]


@pytest.mark.parametrize(
    ("reply", "password", "said"),
    [
        (2, "", "it does not connect: its rules do not allow it"),
        (5, "", "it does not connect: the connection is refused there"),
        (99, "", "it does not connect: the login is wrong, or it is no SOCKS5 proxy"),
        (0, PASSWORD, "it does not connect: the login is wrong, or it is no SOCKS5 proxy"),
    ],
)
async def test_a_socks_proxy_that_does_not_connect_says_why(
    tmp_path: Path, reply: int, password: str, said: str
) -> None:
    async with proxying("http://127.0.0.1:1", reply=reply, password=password) as proxy:
        given = {"server": "https://m1.example.com", "proxy-url": f"socks5://u:wrong@{proxy.address}"}
        with pytest.raises(errors.ClusterUnreachable) as caught:
            await ask(kubeconfig(tmp_path / "k", cluster=given))
        assert str(caught.value) == f"cluster m1: the proxy {proxy.address}: {said}"


async def test_a_socks_proxy_that_is_not_there_is_named(tmp_path: Path) -> None:
    port = free_port()
    given = {"server": "https://m1.example.com", "proxy-url": f"socks5://127.0.0.1:{port}"}
    with pytest.raises(errors.ClusterUnreachable) as caught:
        await ask(kubeconfig(tmp_path / "k", cluster=given))
    assert str(caught.value) == f"cluster m1: the proxy 127.0.0.1:{port} refuses the connection"


async def test_a_socks_proxy_at_an_address_of_no_business_is_not_contacted(tmp_path: Path) -> None:
    given = {"server": "https://m1.example.com", "proxy-url": "socks5://169.254.169.254:1080"}
    with pytest.raises(errors.CredentialsError, match="a link-local or metadata address, which is not contacted"):
        await ask(kubeconfig(tmp_path / "k", cluster=given))


async def test_connections_through_a_socks_proxy_end_with_the_lead(tmp_path: Path) -> None:
    async with serving(always(lambda: body({}))) as server, proxying(server.url) as proxy:
        given = {"server": "http://m1.example.com", "proxy-url": f"socks5://{proxy.address}"}
        fence = Fence(5)
        connection = credentials.resolve(cluster("m1"), sources(kubeconfig(tmp_path / "k", cluster=given)))
        async with Session("m1", connection, fence=fence) as session:
            await session.request("GET", "/readyz")
            (opened,) = fence._sockets
            fence.close()
            assert opened.recv(1, socket.MSG_DONTWAIT) == b"", "shut down, and not only forgotten"
