"""Which credential is used for a cluster, which are refused, and where they go."""

from __future__ import annotations

import base64
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
import trustme
from aiohttp import web

from gitfed import errors
from gitfed.edges.kube.connection import credentials
from gitfed.edges.kube.connection.session import Session
from tests.edges.kube.answering import always, body, serving
from tests.edges.kube.declared import cluster
from tests.edges.kube.kubeconfigs import authority as authority
from tests.edges.kube.kubeconfigs import kubeconfig, refusal, secret, sources, tls, with_secret

# Which source


def test_the_secret_goes_before_the_kubeconfig(tmp_path: Path) -> None:
    directory = secret(tmp_path, token="t", caBundle="ca", server="https://m1:6443")
    found = credentials.resolve(with_secret(), sources(kubeconfig(tmp_path / "k"), credentials_dir=tmp_path))
    assert (found.server, found.source) == ("https://m1:6443", f"Secret {directory}")


def test_the_kubeconfig_serves_a_cluster_whose_secret_is_not_mounted(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "k")
    found = credentials.resolve(with_secret(), sources(path, credentials_dir=tmp_path))
    assert (found.server, found.source) == ("https://m1.example.com:6443", f"context m1 of {path}")


def test_another_context_is_named_by_annotation(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "k", name="prod-eu")
    declared = cluster("m1", annotations={"gitfed.io/context": "prod-eu"})
    assert credentials.resolve(declared, sources(path)).source == f"context prod-eu of {path}"


def test_of_two_kubeconfigs_the_first_that_names_it_counts(tmp_path: Path) -> None:
    first, second = kubeconfig(tmp_path / "1", name="other"), kubeconfig(tmp_path / "2", user={"token": "second"})
    found = credentials.resolve(cluster("m1"), sources(tmp_path / "missing", first, second))
    assert found.source == f"context m1 of {second}"


def test_a_kubeconfig_may_be_yaml(tmp_path: Path) -> None:
    path = tmp_path / "k"
    path.write_text(
        "apiVersion: v1\nkind: Config\ncontexts:\n- {name: m1, context: {cluster: c}}\n"
        "clusters:\n- name: c\n  cluster:\n    server: https://h:1/\nusers: null\n"
    )
    assert credentials.resolve(cluster("m1"), sources(path)).server == "https://h:1"


def test_the_pods_account_serves_an_annotated_cluster(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t\n")
    environment = {
        "KUBERNETES_SERVICE_HOST": "fd00::1",
        "KUBERNETES_SERVICE_PORT": "443",
        "GITFED_SERVICE_ACCOUNT_DIR": str(tmp_path),
    }
    declared = cluster("m1", annotations={"gitfed.io/in-cluster": "true"})
    assert credentials.resolve(declared, sources(environment=environment)).server == "https://[fd00::1]:443"
    assert refusal(declared, sources()) == "cluster m1: annotated gitfed.io/in-cluster, but this process runs in no pod"
    assert "the pod's own service account may not be used" in refusal(declared, sources(in_cluster=False))


def test_without_any_credential_all_that_was_tried_is_told(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "k", name="m11")
    assert refusal(with_secret(), sources(path, credentials_dir=tmp_path / "c")) == (
        f"cluster m1: no credentials: no Secret karmada-cluster/m1 under {tmp_path / 'c'}; kubeconfig {path} has no "
        "context m1 (did you mean m11?) (give --kubeconfig with a context of that name (or annotation "
        "gitfed.io/context), or --credentials-dir)"
    )
    assert refusal(cluster("m1"), sources()).startswith("cluster m1: no credentials: no kubeconfig (")


def test_a_context_that_was_named_must_exist(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "k")
    assert refusal(cluster("m1", annotations={"gitfed.io/context": "m2"}), sources(path)) == (
        f"cluster m1: kubeconfig {path} has no context m2 (it has m1) (it is named by the annotation gitfed.io/context)"
    )


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (5, "c0, c1, c2, c3, c4"),
        (6, "c0, c1, c2, c3, c4 and 1 more"),
        (8, "c0, c1, c2, c3, c4 and 3 more"),
    ],
)
def test_of_many_contexts_a_few_are_named(tmp_path: Path, count: int, said: str) -> None:
    path = kubeconfig(tmp_path / "k")
    config = json.loads(path.read_text())
    config["contexts"] = [{"name": f"c{number}", "context": {"cluster": "c", "user": "u"}} for number in range(count)]
    path.write_text(json.dumps(config))
    refused = refusal(cluster("m1", annotations={"gitfed.io/context": "m2"}), sources(path))
    assert f" has no context m2 (it has {said}) (it is named" in refused


# Refusals


@pytest.mark.parametrize(
    ("user", "said"),
    [
        ({"exec": {"command": "/bin/sh"}}, "credentials by exec are refused"),
        ({"auth-provider": {"name": "gcp"}}, "credentials by auth-provider are refused"),
    ],
)
def test_programs_are_not_run(tmp_path: Path, user: dict[str, Any], said: str) -> None:
    path = kubeconfig(tmp_path / "k", user=user)
    assert refusal(cluster("m1"), sources(path)) == (
        f"cluster m1: context m1 of {path}: {said} "
        "(use a token or a client certificate, or allow it with --allow-exec-credentials)"
    )
    assert credentials.resolve(cluster("m1"), sources(path, allow_exec=True)).renew is not None


@pytest.mark.parametrize(
    ("server", "said"),
    [
        ("file:///etc/passwd", "server 'file:///etc/passwd' is refused (only https and http)"),
        ("unix:/run/x", "server 'unix:/run/x' is refused (only https and http)"),
        ("", "server '' is refused (only https and http)"),
        (
            "https://user:hunter2@host",
            "the server's address must be scheme://host:port[/path] and nothing else",
        ),
        ("https://host?x=1", "the server's address must be scheme://host:port[/path] and nothing else"),
        ("https://host:99999", "the server's address must be scheme://host:port[/path] and nothing else"),
        ("https://host:x", "the server's address must be scheme://host:port[/path] and nothing else"),
        ("https://[::1", "the server's address must be scheme://host:port[/path] and nothing else"),
        ("https:///path", "the server's address must be scheme://host:port[/path] and nothing else"),
    ],
)
def test_odd_servers_are_refused(tmp_path: Path, server: str, said: str) -> None:
    path = kubeconfig(tmp_path / "k", cluster={"server": server})
    assert refusal(cluster("m1"), sources(path)) == f"cluster m1: context m1 of {path}: {said}"


def test_a_proxy_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "k", cluster={"proxy-url": "socks4://proxy:1080"})
    assert refusal(cluster("m1"), sources(path)) == (
        f"cluster m1: context m1 of {path}: proxy scheme 'socks4' is not supported (use an http, https or socks5 proxy)"
    )


def test_a_token_file_is_read_only_where_that_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "tokens").mkdir()
    (tmp_path / "tokens" / "m1").write_text("from-file\n")
    path = kubeconfig(tmp_path / "k", user={"tokenFile": "tokens/m1"})
    assert refusal(cluster("m1"), sources(path)) == (
        f"cluster m1: context m1 of {path}: tokenFile tokens/m1 is refused "
        "(put the content into the kubeconfig, or allow its directory)"
    )
    assert credentials.resolve(cluster("m1"), sources(path, file_roots=(tmp_path / "tokens",)))


def test_certificate_files_must_lie_beside_the_kubeconfig(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    path = kubeconfig(tmp_path / "here" / "k", cluster={"certificate-authority": "../ca.crt"})
    assert f"context m1 of {path}: certificate-authority ../ca.crt is refused" in refusal(cluster("m1"), sources(path))
    (tmp_path / "here" / "link.crt").symlink_to("/etc/hostname")
    path = kubeconfig(tmp_path / "here" / "k", cluster={"certificate-authority": "link.crt"})
    assert "certificate-authority link.crt is refused" in refusal(cluster("m1"), sources(path))
    path = kubeconfig(tmp_path / "here" / "k", cluster={"certificate-authority": "ca.crt"})
    assert credentials.resolve(cluster("m1"), sources(path))


@pytest.mark.parametrize("name", ["..", "a/b", "/etc", "", "A"])
def test_a_secrets_name_cannot_leave_the_directory(tmp_path: Path, name: str) -> None:
    declared = cluster("m1", secret_ref={"namespace": "ns", "name": name})
    assert refusal(declared, sources(credentials_dir=tmp_path)) == f"cluster m1: secretRef: {name!r} is no name"


def test_a_mounted_token_is_bound_to_its_server(tmp_path: Path) -> None:
    directory = secret(tmp_path, token="t", caBundle="ca", server="https://m1.example.com:6443\n")
    given = sources(credentials_dir=tmp_path)
    assert credentials.resolve(with_secret(api_endpoint="https://m1.example.com:6443/"), given)
    assert refusal(with_secret(api_endpoint="https://evil.example.com:6443"), given) == (
        f"cluster m1: Secret {directory} belongs to https://m1.example.com:6443, not to spec.apiEndpoint "
        "https://evil.example.com:6443 (a credential is sent only to the scheme, host and port it was made for)"
    )


def test_a_secret_must_be_complete(tmp_path: Path) -> None:
    directory = secret(tmp_path, token="t", server="https://m1:6443")
    given = sources(credentials_dir=tmp_path)
    assert refusal(with_secret(), given) == f"cluster m1: Secret {directory} has no caBundle"
    assert refusal(with_secret(api_endpoint=""), given) == (
        f"cluster m1: Secret {directory} needs an address (set spec.apiEndpoint)"
    )
    assert credentials.resolve(with_secret(insecure_skip_tls_verification=True), given).warnings == (
        "cluster m1: the server's certificate is not checked (spec.insecureSkipTLSVerification)",
    )
    (directory / "token").write_text("two\nlines")
    assert refusal(with_secret(insecure_skip_tls_verification=True), given) == (
        f"cluster m1: {directory / 'token'} holds no token"
    )
    (directory / "token").unlink()
    assert refusal(with_secret(insecure_skip_tls_verification=True), given) == (
        f"cluster m1: {directory / 'token'}: No such file or directory"
    )


def test_what_is_unsafe_but_stated_is_warned_of(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "k", cluster={"server": "http://m1:8080"})
    assert credentials.resolve(cluster("m1"), sources(path)).warnings == (
        "cluster m1: credentials travel in clear to http://m1:8080",
    )
    path = kubeconfig(tmp_path / "k", cluster={"insecure-skip-tls-verify": True})
    assert credentials.resolve(cluster("m1"), sources(path)).warnings == (
        f"cluster m1: the server's certificate is not checked (insecure-skip-tls-verify in context m1 of {path})",
    )
    path = kubeconfig(tmp_path / "k", cluster={"server": "http://127.0.0.1:8080"})
    assert credentials.resolve(cluster("m1"), sources(path)).warnings == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "is no mapping"),
        ("contexts: [{name: m1, context: x}]", "contexts must be a list of names with a context each"),
        ("contexts: [{context: {}}]", "contexts must be a list of names with a context each"),
        ("contexts: [{name: m1, context: {cluster: c}}]", "refers to cluster 'c', which the kubeconfig does not have"),
        (
            "contexts: [{name: m1, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: x}}]",
            "refers to user 'u', which the kubeconfig does not have",
        ),
        ("a: [", ":"),
    ],
)
def test_broken_kubeconfigs_are_told(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "k"
    path.write_text(text)
    message = refusal(cluster("m1"), sources(path))
    assert str(path) in message
    assert said in message


def test_a_missing_kubeconfig_is_told(tmp_path: Path) -> None:
    assert refusal(cluster("m1"), sources(tmp_path / "k")) == f"cluster m1: kubeconfig {tmp_path / 'k'} does not exist"


# What is sent


async def sent(connection: credentials.ClusterConnection) -> dict[str, str]:
    async with Session("m1", connection) as session:
        return dict((await session.request("GET", "/x")).json())


def echo() -> Any:
    async def answer(request: web.Request) -> web.Response:
        return body({str(name): value for name, value in request.headers.items()})

    return answer


@pytest.mark.parametrize(
    ("user", "authorization"),
    [
        ({"token": "t0ken"}, "Bearer t0ken"),
        ({"username": "me", "password": "pw"}, "Basic " + base64.b64encode(b"me:pw").decode()),
        ({}, None),
    ],
)
async def test_the_users_credential_is_sent(tmp_path: Path, user: dict[str, Any], authorization: str | None) -> None:
    async with serving(echo()) as server:
        path = kubeconfig(tmp_path / "k", cluster={"server": server.url}, user=user)
        headers = await sent(credentials.resolve(cluster("m1"), sources(path)))
        assert headers.get("Authorization") == authorization


async def test_whom_to_act_as_is_sent(tmp_path: Path) -> None:
    async with serving(echo()) as server:
        user = {"token": "t", "as": "alice", "as-uid": "7", "as-groups": ["dev"]}
        path = kubeconfig(tmp_path / "k", cluster={"server": server.url}, user=user)
        headers = await sent(credentials.resolve(cluster("m1"), sources(path)))
        assert headers["Impersonate-User"] == "alice"
        assert headers["Impersonate-Uid"] == "7"
        assert headers["Impersonate-Group"] == "dev"


@pytest.mark.parametrize("more", [{"as-groups": ["dev", "ops"]}, {"as-user-extra": {"scope": ["x"]}}])
def test_acting_as_somebody_is_refused_rather_than_told_in_part(tmp_path: Path, more: dict[str, Any]) -> None:
    path = kubeconfig(tmp_path / "k", user={"token": "t", "as": "alice", **more})
    assert refusal(cluster("m1"), sources(path)) == (
        f"cluster m1: context m1 of {path}: acting as a user with several groups or extra attributes is not supported"
    )


async def test_a_program_that_is_allowed_gives_the_token(tmp_path: Path) -> None:
    program = tmp_path / "login"
    program.write_text(
        "#!/bin/sh\necho '"
        '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"by-program"}}'
        "'\n"
    )
    program.chmod(0o755)
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(program)}}
    async with serving(echo()) as server:
        path = kubeconfig(tmp_path / "k", cluster={"server": server.url}, user=user)
        headers = await sent(credentials.resolve(cluster("m1"), sources(path, allow_exec=True)))
        assert headers["Authorization"] == "Bearer by-program"
        program.write_text("#!/bin/sh\nexit 1\n")
        with pytest.raises(errors.CredentialsError, match=r"its program gave no credential$"):
            await sent(credentials.resolve(cluster("m1"), sources(path, allow_exec=True)))


@pytest.mark.parametrize("kind", ["secret", "token file"])
async def test_a_token_that_was_renewed_is_read_again_after_a_401(tmp_path: Path, kind: str) -> None:
    valid = "old"

    async def answer(request: web.Request) -> web.Response:
        good = request.headers.get("Authorization") == f"Bearer {valid}"
        return body({}) if good else body({"kind": "Status", "message": "Unauthorized"}, 401)

    async with serving(answer) as server:
        directory = secret(tmp_path, token="old\n", server=server.url)
        if kind == "secret":
            declared, given = with_secret(api_endpoint=server.url), sources(credentials_dir=tmp_path)
        else:
            user = {"tokenFile": str(directory / "token")}
            path = kubeconfig(tmp_path / "k", cluster={"server": server.url}, user=user)
            declared, given = cluster("m1"), sources(path, file_roots=(tmp_path,))
        async with Session("m1", credentials.resolve(declared, given)) as session:
            await session.request("GET", "/x")
            valid = "new"
            (directory / "token").write_text("new\n")
            await session.request("GET", "/x")
            assert len(server.asked) == 3
            valid = "newer"
            with pytest.raises(errors.Unauthorized, match=r"^cluster m1: Unauthorized$"):
                await session.request("GET", "/x")


@pytest.mark.parametrize(
    ("environment", "proxied"),
    [
        ({"HTTP_PROXY": "PROXY"}, True),
        ({"http_proxy": "PROXY", "no_proxy": "elsewhere.example.com"}, True),
        ({"http_proxy": "PROXY", "NO_PROXY": "m1.example.com"}, False),
        ({}, False),
    ],
)
async def test_proxies_of_the_environment_are_used(tmp_path: Path, environment: dict[str, str], proxied: bool) -> None:
    async with serving(echo()) as proxy:
        path = kubeconfig(tmp_path / "k", cluster={"server": "http://m1.example.com:8080"})
        given = {name: proxy.url if value == "PROXY" else value for name, value in environment.items()}
        configuration = await credentials.resolve(cluster("m1"), sources(path, environment=given)).configure()
        assert configuration.proxy == (proxy.url if proxied else None)
        if proxied:
            headers = await sent(credentials.resolve(cluster("m1"), sources(path, environment=given)))
            assert headers["Host"] == "m1.example.com:8080"


async def test_loopback_needs_no_proxy(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "k", cluster={"server": "http://127.0.0.1:8080"})
    given = sources(path, environment={"HTTP_PROXY": "http://proxy:1"})
    assert (await credentials.resolve(cluster("m1"), given).configure()).proxy is None


# TLS


def pem(authority: trustme.CA) -> str:
    return base64.b64encode(authority.cert_pem.bytes()).decode()


async def test_a_server_of_the_authority_is_trusted(tmp_path: Path, authority: trustme.CA) -> None:
    async with serving(always(lambda: body({})), tls=tls(authority)) as server:
        trusted = {"server": server.url, "certificate-authority-data": pem(authority)}
        path = kubeconfig(tmp_path / "k", cluster=trusted)
        assert await sent(credentials.resolve(cluster("m1"), sources(path))) == {}
        secret(tmp_path, token="t", caBundle=authority.cert_pem.bytes(), server=server.url)
        declared = with_secret(api_endpoint=server.url)
        assert await sent(credentials.resolve(declared, sources(credentials_dir=tmp_path))) == {}


@pytest.mark.parametrize("why", ["another authority", "another name"])
async def test_another_server_is_not_trusted(tmp_path: Path, authority: trustme.CA, why: str) -> None:
    served = tls(trustme.CA()) if why == "another authority" else tls(authority, "m2.example.com")
    async with serving(always(lambda: body({})), tls=served) as server:
        path = kubeconfig(tmp_path / "k", cluster={"server": server.url, "certificate-authority-data": pem(authority)})
        with pytest.raises(errors.ClusterUnreachable, match="the server's certificate is not trusted: "):
            await sent(credentials.resolve(cluster("m1"), sources(path)))
        assert server.asked == []


async def test_verification_is_skipped_only_where_it_is_stated(tmp_path: Path) -> None:
    async with serving(always(lambda: body({})), tls=tls(trustme.CA())) as server:
        skipped = {"server": server.url, "insecure-skip-tls-verify": True}
        path = kubeconfig(tmp_path / "k", cluster=skipped)
        assert await sent(credentials.resolve(cluster("m1"), sources(path))) == {}
        secret(tmp_path, token="t", server=server.url)
        declared = with_secret(api_endpoint=server.url, insecure_skip_tls_verification=True)
        assert await sent(credentials.resolve(declared, sources(credentials_dir=tmp_path))) == {}


async def test_another_server_name_can_be_expected(tmp_path: Path, authority: trustme.CA) -> None:
    async with serving(always(lambda: body({})), tls=tls(authority, "api.internal")) as server:
        named = {
            "server": server.url,
            "certificate-authority-data": pem(authority),
            "tls-server-name": "api.internal",
        }
        path = kubeconfig(tmp_path / "k", cluster=named)
        assert await sent(credentials.resolve(cluster("m1"), sources(path))) == {}


@pytest.mark.parametrize("how", ["data", "files"])
async def test_a_client_certificate_is_shown(tmp_path: Path, authority: trustme.CA, how: str) -> None:
    mine = authority.issue_cert("gitfed@example.com")
    certificate, key = mine.cert_chain_pems[0].bytes(), mine.private_key_pem.bytes()
    if how == "data":
        user = {
            "client-certificate-data": base64.b64encode(certificate).decode(),
            "client-key-data": base64.b64encode(key).decode(),
        }
    else:
        (tmp_path / "my.crt").write_bytes(certificate)
        (tmp_path / "my.key").write_bytes(key)
        user = {"client-certificate": "my.crt", "client-key": "my.key"}
    async with serving(always(lambda: body({})), tls=tls(authority, clients=True)) as server:
        trusted = {"server": server.url, "certificate-authority-data": pem(authority)}
        path = kubeconfig(tmp_path / "k", cluster=trusted, user=user)
        assert await sent(credentials.resolve(cluster("m1"), sources(path))) == {}
        path = kubeconfig(tmp_path / "k", cluster=trusted)
        with pytest.raises(errors.ClusterUnreachable):
            await sent(credentials.resolve(cluster("m1"), sources(path)))


async def test_unusable_certificates_are_told(tmp_path: Path) -> None:
    broken = {"server": "https://127.0.0.1:1", "certificate-authority-data": base64.b64encode(b"nope").decode()}
    path = kubeconfig(tmp_path / "k", cluster=broken)
    with pytest.raises(errors.CredentialsError, match=f"^cluster m1: context m1 of {path}: unusable certificates: "):
        await sent(credentials.resolve(cluster("m1"), sources(path)))
    for data, said in (("%%%", "no base64"), (base64.b64encode("é".encode()).decode(), "no PEM")):
        path = kubeconfig(tmp_path / "k", cluster={**broken, "certificate-authority-data": data})
        with pytest.raises(errors.CredentialsError) as told:
            await sent(credentials.resolve(cluster("m1"), sources(path)))
        assert told.value.message == f"cluster m1: context m1 of {path}: certificate-authority-data is {said}"


async def test_a_key_that_stands_in_the_kubeconfig_is_left_in_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    authority = trustme.CA()
    mine = authority.issue_cert("gitfed@example.com")
    user = {
        "client-certificate-data": base64.b64encode(mine.cert_chain_pems[0].bytes()).decode(),
        "client-key-data": base64.b64encode(mine.private_key_pem.bytes()).decode(),
    }
    trusted = {"server": "https://127.0.0.1:1", "certificate-authority-data": pem(authority)}
    path = kubeconfig(tmp_path / "k", cluster=trusted, user=user)
    settings = await credentials.resolve(cluster("m1"), sources(path)).configure()
    settings.ssl_context()
    assert list((tmp_path / "tmp").iterdir()) == []
