"""From a declared Cluster to a way into it, or to a refusal that says what, where and what to do.

Three places are asked in this order, and the first that knows the cluster is used (a mistake there is an error, not a
reason to ask the next):

1. the Secret of `spec.secretRef`, mounted under the credentials directory as `<namespace>/<name>/` with the files
   `token`, `server`, `caBundle` and perhaps `proxy`;
2. the kubeconfig's context that has the cluster's name (another by annotation `gitfed.io/context`);
3. the pod's own service account, for a cluster annotated `gitfed.io/in-cluster: "true"`.

A Cluster file comes from the repository, and a kubeconfig is often handed around. Neither may make gitfed run a
program, read a file somewhere on this machine and send it away, or send a credential to another server: hence the
refusals in `_check_user` and `addresses`, and the files beside a mounted token that say where it may go: `server`,
`proxy`, and `caBundle`, against which the server is then checked whatever the Cluster file says.

`resolve` is quick and works offline; files are read and programs run by `Connection.configure`.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gitfed import errors
from gitfed.edges.http import proxies
from gitfed.edges.kube.connection import addresses, kubeconfig, tokens
from gitfed.edges.kube.connection.client_settings import ClientSettings
from gitfed.model.keys import CONTEXT, IN_CLUSTER
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.model.declared import cluster as declared

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")

_FEW = 5
_LONGEST = 4096
"""Bytes of an address."""
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class CredentialSources:
    """Where this process may look for credentials, and what it may do to get them."""

    kubeconfig: tuple[Path, ...] = ()
    """`--kubeconfig`, or the parts of KUBECONFIG; of two entries with one name the first file's counts."""
    credentials_dir: Path | None = None
    in_cluster: bool = True
    allow_exec: bool = False
    """Run `exec` and `auth-provider` entries of kubeconfigs (`--allow-exec-credentials`)."""
    file_roots: tuple[Path, ...] = ()
    """Directories whose files a kubeconfig may name besides its own; a `tokenFile` must lie in one of these."""
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)


@dataclass(frozen=True, slots=True)
class ClusterConnection:
    """A way into one cluster. The credential belongs to `server`'s scheme, host and port and goes nowhere else."""

    cluster: str
    server: str
    """`scheme://host:port` and perhaps a path, without a trailing slash."""
    source: str
    """For messages, e.g. `context m1 of /home/me/.kube/config`."""
    configure: Callable[[], Awaitable[ClientSettings]]
    """Raises CredentialsError."""
    renew: Callable[[ClientSettings], Awaitable[None]] | None = None
    """Called after a 401 with these settings: reads the token again."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Sent with every request: whom to act as."""
    warnings: tuple[str, ...] = ()
    is_door: bool = False
    """A hub's: that it leads nowhere is no fact about the cluster."""


def check_acts_as_itself(connection: ClusterConnection) -> None:
    """Raises CredentialsError for a way on which gitfed is taken for another user: it could not act as callers."""
    if connection.headers:
        raise errors.CredentialsError(
            f"cluster {connection.cluster}: {connection.source} acts as another user, so it cannot act as callers",
            cluster=connection.cluster,
            hint="a context of its own for gitfed, without `as`",
        )


def way_to(cluster: declared.Cluster) -> object:
    """What decides how a cluster is reached, to be compared; another region or taint is no reason to connect anew."""
    spec = cluster.spec
    annotations = cluster.metadata.annotations or {}
    return (
        spec.api_endpoint,
        spec.secret_ref,
        spec.insecure_skip_tls_verification,
        spec.proxy_url,
        spec.proxy_header,
        [annotations.get(name) for name in (CONTEXT, IN_CLUSTER)],
    )


def resolve(cluster: declared.Cluster, sources: CredentialSources) -> ClusterConnection:
    """The connection for a declared cluster. Raises CredentialsError; makes no request and runs nothing."""
    name = cluster.metadata.name
    annotations = cluster.metadata.annotations or {}
    tried: list[str] = []

    secret = cluster.spec.secret_ref
    if secret is not None:
        directory = _secret_directory(name, sources.credentials_dir, secret.namespace, secret.name)
        if directory is not None and directory.is_dir():
            return _from_secret(cluster, directory)
        tried.append(
            f"no Secret {secret.namespace}/{secret.name} under {sources.credentials_dir}"
            if sources.credentials_dir
            else "no credentials directory for its secretRef"
        )

    if sources.kubeconfig:
        merged = kubeconfig.read(name, sources.kubeconfig)
        context = annotations.get(CONTEXT) or name
        if context in merged.contexts:
            return _from_context(name, merged, context, sources)
        near = difflib.get_close_matches(context, merged.contexts, n=1)
        guess = f" (did you mean {near[0]}?)" if near else _named(merged.contexts)
        missing = f"kubeconfig {merged.files} has no context {context}{guess}"
        if CONTEXT in annotations:
            raise errors.CredentialsError(
                f"cluster {name}: {missing}", cluster=name, hint=f"it is named by the annotation {CONTEXT}"
            )
        tried.append(missing)
    else:
        tried.append("no kubeconfig")

    if annotations.get(IN_CLUSTER) == "true":
        if sources.in_cluster:
            return _from_pod(name, sources.environment)
        tried.append("the pod's own service account may not be used")
    raise errors.CredentialsError(
        f"cluster {name}: no credentials: " + "; ".join(tried),
        cluster=name,
        hint=f"give --kubeconfig with a context of that name (or annotation {CONTEXT}), or --credentials-dir",
    )


def of_host(purpose: str, sources: CredentialSources, context: str = "") -> ClusterConnection:
    """The cluster around this pod, or that of a context, which need not be one of the fleet's. Raises
    CredentialsError."""
    from gitfed.model.declared.cluster import Cluster

    host = {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": purpose, "annotations": {CONTEXT: context} if context else {IN_CLUSTER: "true"}},
        "spec": {"syncMode": "Push"},
    }
    return resolve(Cluster.model_validate(host), sources)


def _named(contexts: Iterable[str]) -> str:
    """What there is instead, as far as it fits into a line."""
    names = sorted(contexts)
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return f" (it has {', '.join(names[:_FEW])}{more})" if names else ""


def _secret_directory(cluster: str, root: Path | None, namespace: str, name: str) -> Path | None:
    if root is None:
        return None
    for part in (namespace, name):
        # Both come from the repository: "..", a slash or an absolute path must not leave the directory.
        if not _NAME.fullmatch(part):
            raise errors.CredentialsError(f"cluster {cluster}: secretRef: {part!r} is no name", cluster=cluster)
    return root / namespace / name


def _from_secret(cluster: declared.Cluster, directory: Path) -> ClusterConnection:
    """Karmada: the Secret of a Push cluster holds `token` and `caBundle`; address and proxy are in the Cluster."""
    name, spec = cluster.metadata.name, cluster.spec
    source = f"Secret {directory}"
    if not spec.api_endpoint:
        raise errors.CredentialsError(
            f"cluster {name}: {source} needs an address", cluster=name, hint="set spec.apiEndpoint"
        )
    server = addresses.check_server(name, "spec.apiEndpoint", spec.api_endpoint)
    _check_bound(name, source, directory / "server", server)
    authority = directory / "caBundle"
    insecure = bool(spec.insecure_skip_tls_verification) and not authority.is_file()
    if not insecure and not authority.is_file() and server.startswith("https:"):
        raise errors.CredentialsError(f"cluster {name}: {source} has no caBundle", cluster=name)
    token = tokens.TokenFile(name, directory / "token")
    token.read()
    proxy = _bound_proxy(name, source, directory / "proxy", spec.proxy_url or "")

    async def configure() -> ClientSettings:
        settings = _settings(server, proxy)
        settings.verify_ssl = not insecure
        if not insecure and authority.is_file():
            settings.ssl_ca_cert = str(authority)
        if proxy and spec.proxy_header:
            # Karmada: several values of one header are separated by commas, as HTTP has it.
            settings.proxy_headers = dict(spec.proxy_header)
        token.attach(settings)
        return settings

    warnings = _warnings(name, server, insecure, "spec.insecureSkipTLSVerification")
    if spec.insecure_skip_tls_verification and not insecure:
        warnings += (
            f"cluster {name}: spec.insecureSkipTLSVerification is not obeyed: the server's certificate is checked "
            "against the caBundle of its Secret",
        )
    return ClusterConnection(name, server, source, configure, token.renew, warnings=warnings)


def _check_bound(cluster: str, source: str, file: Path, server: str) -> None:
    """The address comes from the repository: it has to be the one that the token's owner wrote beside the token."""
    bound = _line(cluster, file)
    if not bound:
        raise errors.CredentialsError(
            f"cluster {cluster}: {source} has no server",
            cluster=cluster,
            hint="write the address that the token is for into a file `server` beside it",
        )
    bound = addresses.check_server(cluster, str(file), bound)
    if addresses.origin(bound) != addresses.origin(server):
        raise errors.CredentialsError(
            f"cluster {cluster}: {source} belongs to {bound}, not to spec.apiEndpoint {server}",
            cluster=cluster,
            hint="a credential is sent only to the scheme, host and port it was made for",
        )


def _bound_proxy(cluster: str, source: str, file: Path, proxy: str) -> str:
    """The proxy that a Cluster names, as it stands beside the token: with the login that it may need; "" for none."""
    if not proxy:
        return ""
    wanted = addresses.origin(addresses.check_proxy(cluster, "spec.proxyURL", proxy))
    bound = addresses.check_proxy(cluster, str(file), _line(cluster, file))
    if not bound:
        raise errors.CredentialsError(
            f"cluster {cluster}: {source} has no proxy, and spec.proxyURL names one",
            cluster=cluster,
            hint="write the address of the proxy into a file `proxy` beside the token",
        )
    if addresses.origin(bound) != wanted:
        scheme, host, port = addresses.origin(bound)
        raise errors.CredentialsError(
            f"cluster {cluster}: {source} allows the proxy {scheme}://{host}:{port}, not that of spec.proxyURL",
            cluster=cluster,
            hint="a credential is sent only through the scheme, host and port it was made for",
        )
    return bound


def _line(cluster: str, file: Path) -> str:
    """The one line of a mounted file; "" when there is none. Raises CredentialsError."""
    try:
        with file.open("rb") as content:
            data = content.read(_LONGEST + 1)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise errors.CredentialsError(f"cluster {cluster}: {file}: {error.strerror}", cluster=cluster) from error
    text = data.decode("latin-1").strip()
    if len(data) > _LONGEST or not text.isascii() or (text and not text.isprintable()):
        raise errors.CredentialsError(f"cluster {cluster}: {file} does not hold one line of text", cluster=cluster)
    return text


def _from_pod(cluster: str, environment: Mapping[str, str]) -> ClusterConnection:
    host, port = environment.get("KUBERNETES_SERVICE_HOST"), environment.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise errors.CredentialsError(
            f"cluster {cluster}: annotated {IN_CLUSTER}, but this process runs in no pod", cluster=cluster
        )
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    directory = Path(environment.get("GITFED_SERVICE_ACCOUNT_DIR") or SERVICE_ACCOUNT)
    token = tokens.TokenFile(cluster, directory / "token")
    token.read()

    async def configure() -> ClientSettings:
        settings = _settings(server, "", environment=environment)
        settings.ssl_ca_cert = str(directory / "ca.crt")
        token.attach(settings)
        return settings

    return ClusterConnection(cluster, server, "the pod's service account", configure, token.renew)


def _from_context(
    cluster: str, merged: kubeconfig.Kubeconfig, context: str, sources: CredentialSources
) -> ClusterConnection:
    entry = merged.pick(context, allowed=sources.file_roots)
    where = f"context {context} of {entry.file}"
    server = addresses.check_server(cluster, where, entry.server)
    proxy = addresses.check_proxy(cluster, where, str(entry.cluster.get("proxy-url") or ""))
    runs = _check_user(cluster, where, entry.user, sources.allow_exec)

    async def configure() -> ClientSettings:
        settings = _settings(server, proxy, environment=sources.environment)
        await kubeconfig.load(entry, settings, runs_program=runs)
        return settings

    insecure = entry.cluster.get("insecure-skip-tls-verify") is True
    return ClusterConnection(
        cluster,
        server,
        where,
        configure,
        # Without a program or a file the same token would come again.
        partial(kubeconfig.load, entry, runs_program=runs) if runs or entry.token_file else None,
        headers=kubeconfig.act_as(entry),
        warnings=_warnings(cluster, server, insecure, f"insecure-skip-tls-verify in {where}"),
    )


def _check_user(cluster: str, where: str, user: Mapping[str, Any], allow_exec: bool) -> bool:
    """True when the credential comes from a program or a login service. Refused unless allowed (CVE-2022-24817)."""
    for member in ("exec", "auth-provider"):
        if user.get(member):
            if allow_exec:
                return True
            raise errors.CredentialsError(
                f"cluster {cluster}: {where}: credentials by {member} are refused",
                cluster=cluster,
                hint="use a token or a client certificate, or allow it with --allow-exec-credentials",
            )
    return False


def _warnings(cluster: str, server: str, insecure: bool, stated: str) -> tuple[str, ...]:
    warnings = []
    scheme, host, _ = addresses.origin(server)
    if insecure:
        warnings.append(f"cluster {cluster}: the server's certificate is not checked ({stated})")
    if scheme == "http" and not proxies.is_loopback(host):
        warnings.append(f"cluster {cluster}: credentials travel in clear to {server}")
    return tuple(warnings)


def _settings(server: str, proxy: str, environment: Mapping[str, str] | None = None) -> ClientSettings:
    variables = os.environ if environment is None else environment
    return ClientSettings(host=server, proxy=proxy or proxies.of_environment(server, variables))
