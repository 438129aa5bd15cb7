"""Kubeconfig files: merge them, and pick one context out as the settings of a client.

What may stand in a kubeconfig is `credentials`' question; here lie its format and the files it names. A kubeconfig
may name certificate files beside itself. Others must lie in a directory that the operator allowed, and a `tokenFile`
always: its content is sent to the server, which the same kubeconfig chooses.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gitfed import errors
from gitfed.edges.kube.connection import tokens, translate
from gitfed.edges.kube.connection.client_settings import ClientSettings
from gitfed.text import yaml
from gitfed.text.construct import YamlError
from gitfed.text.values import dataclass

_LARGEST = 4 << 20
_FILES = {
    "cluster": ("certificate-authority",),
    "user": ("client-certificate", "client-key", "tokenFile"),
}


@dataclass(frozen=True, slots=True)
class KubeconfigEntry:
    """One context with its cluster and user; paths are absolute and allowed."""

    name: str
    file: Path
    """The file that holds the context."""
    cluster: Mapping[str, Any]
    user: Mapping[str, Any]
    for_cluster: str
    """The declared cluster, for messages."""

    @property
    def server(self) -> str:
        return str(self.cluster.get("server") or "")

    @property
    def token_file(self) -> str:
        """ "" when the entry has a token beside it, which goes first."""
        return "" if self.user.get("token") else str(self.user.get("tokenFile") or "")


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """All files together. Each entry remembers its file: relative paths in it start there."""

    for_cluster: str
    files: str
    contexts: Mapping[str, tuple[Path, Mapping[str, Any]]]
    clusters: Mapping[str, tuple[Path, Mapping[str, Any]]]
    users: Mapping[str, tuple[Path, Mapping[str, Any]]]

    def pick(self, name: str, *, allowed: tuple[Path, ...] = ()) -> KubeconfigEntry:
        """The context `name`, which must exist. Raises CredentialsError for what it refers to: missing or refused."""
        file, context = self.contexts[name]
        where = f"cluster {self.for_cluster}: context {name} of {file}"
        target = str(context.get("cluster") or "")
        if target not in self.clusters:
            raise errors.CredentialsError(
                f"{where} refers to cluster {target!r}, which the kubeconfig does not have", cluster=self.for_cluster
            )
        who = str(context.get("user") or "")
        if who and who not in self.users:
            raise errors.CredentialsError(
                f"{where} refers to user {who!r}, which the kubeconfig does not have", cluster=self.for_cluster
            )
        return KubeconfigEntry(
            name=name,
            file=file,
            cluster=self._with_files("cluster", where, *self.clusters[target], allowed),
            user=self._with_files("user", where, *self.users[who], allowed) if who else {},
            for_cluster=self.for_cluster,
        )

    def _with_files(
        self, what: str, where: str, file: Path, members: Mapping[str, Any], allowed: tuple[Path, ...]
    ) -> Mapping[str, Any]:
        resolved = dict(members)
        for member in _FILES[what]:
            named = members.get(member)
            if not named or (member != "tokenFile" and members.get(f"{member}-data")):
                resolved.pop(member, None)
                continue
            # Symbolic links are followed before the question is asked where the file lies.
            path = (file.parent / str(named)).expanduser().resolve()
            roots = [root.resolve() for root in allowed]
            if member != "tokenFile":
                roots.append(file.parent.resolve())
            if not any(path.is_relative_to(root) for root in roots):
                raise errors.CredentialsError(
                    f"{where}: {member} {named} is refused",
                    cluster=self.for_cluster,
                    hint="put the content into the kubeconfig, or allow its directory",
                )
            resolved[member] = str(path)
        return resolved


def read(cluster: str, paths: tuple[Path, ...]) -> Kubeconfig:
    """Merge the files: of two entries with one name the first counts (Kubernetes: merging kubeconfig files).

    Of several files those that do not exist are passed over. Raises CredentialsError.
    """
    sections: dict[str, dict[str, tuple[Path, Mapping[str, Any]]]] = {"contexts": {}, "clusters": {}, "users": {}}
    existing = [path for path in paths if path.exists()]
    if not existing:
        names = ", ".join(map(str, paths))
        raise errors.CredentialsError(f"cluster {cluster}: kubeconfig {names} does not exist", cluster=cluster)
    for path in existing:
        content = _parse(cluster, path)
        for section, entries in sections.items():
            listed = content.get(section) or []
            for entry in listed if isinstance(listed, list) else [listed]:
                member = section.removesuffix("s")
                inner = entry.get(member) if isinstance(entry, dict) else None
                if not isinstance(entry, dict) or not entry.get("name") or not isinstance(inner, dict | None):
                    raise errors.CredentialsError(
                        f"cluster {cluster}: kubeconfig {path}: {section} must be a list of names with a {member} each",
                        cluster=cluster,
                    )
                entries.setdefault(str(entry["name"]), (path, inner or {}))
    return Kubeconfig(
        cluster, ", ".join(map(str, existing)), sections["contexts"], sections["clusters"], sections["users"]
    )


def _parse(cluster: str, path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        raise errors.CredentialsError(
            f"cluster {cluster}: kubeconfig {path}: {error.strerror}", cluster=cluster
        ) from error
    if len(data) > _LARGEST:
        raise errors.CredentialsError(f"cluster {cluster}: kubeconfig {path} is larger than 4 MiB", cluster=cluster)
    try:
        documents = yaml.load_all(data)
    except YamlError as error:
        raise errors.CredentialsError(f"cluster {cluster}: kubeconfig {path}:{error}", cluster=cluster) from error
    content = documents[0] if documents else {}
    if not isinstance(content, dict):
        raise errors.CredentialsError(f"cluster {cluster}: kubeconfig {path} is no mapping", cluster=cluster)
    return content


def act_as(entry: KubeconfigEntry) -> dict[str, str]:
    """Impersonation headers of a user entry. Left out, gitfed would act with more rights than the file grants.

    Raises CredentialsError for what cannot be said in single headers: several groups, extra attributes.
    """
    user = entry.user
    groups = user.get("as-groups") or []
    if len(groups) > 1 or user.get("as-user-extra"):
        raise errors.CredentialsError(
            f"cluster {entry.for_cluster}: context {entry.name} of {entry.file}: acting as a user with several groups "
            "or extra attributes is not supported",
            cluster=entry.for_cluster,
        )
    told = {
        "Impersonate-User": user.get("as"),
        "Impersonate-Uid": user.get("as-uid"),
        "Impersonate-Group": groups[0] if groups else None,
    }
    return {name: str(value) for name, value in told.items() if value}


async def load(entry: KubeconfigEntry, settings: ClientSettings, *, runs_program: bool) -> None:
    """Put the context's TLS settings and credential there. Raises CredentialsError.

    Runs the `exec` program or asks the login service when the entry has one; the caller has decided that it may.
    """
    where = f"cluster {entry.for_cluster}: context {entry.name} of {entry.file}"
    if runs_program:
        await _load_by_library(entry, settings, where)
    else:
        _load(entry, settings, where)
    if entry.token_file:
        tokens.TokenFile(entry.for_cluster, Path(entry.token_file)).attach(settings)


def _load(entry: KubeconfigEntry, settings: ClientSettings, where: str) -> None:
    cluster, user = entry.cluster, entry.user
    settings.verify_ssl = cluster.get("insecure-skip-tls-verify") is not True
    settings.tls_server_name = str(cluster.get("tls-server-name") or "") or None
    if user.get("token"):
        settings.set_authorization(f"Bearer {user['token']}")
    elif user.get("username") is not None and user.get("password") is not None:
        login = f"{user['username']}:{user['password']}"
        settings.set_authorization(f"Basic {base64.b64encode(login.encode()).decode()}")
    if not entry.server.startswith("https"):
        return
    settings.ssl_ca_cert = str(cluster.get("certificate-authority") or "") or None
    settings.cert_file = str(user.get("client-certificate") or "") or None
    settings.key_file = str(user.get("client-key") or "") or None
    settings.ca_cert_data = _pem(entry, cluster, "certificate-authority-data", where) or None
    certificate = _decoded(entry, user, "client-certificate-data", where)
    key = _decoded(entry, user, "client-key-data", where)
    if certificate or key:
        settings.client_certificate = (
            certificate or _content(settings.cert_file, where, entry),
            key or _content(settings.key_file, where, entry),
        )


def _pem(entry: KubeconfigEntry, members: Mapping[str, Any], name: str, where: str) -> str:
    try:
        return _decoded(entry, members, name, where).decode("ascii")
    except UnicodeDecodeError as error:
        raise errors.CredentialsError(f"{where}: {name} is no PEM", cluster=entry.for_cluster) from error


def _decoded(entry: KubeconfigEntry, members: Mapping[str, Any], name: str, where: str) -> bytes:
    try:
        return base64.b64decode("".join(str(members.get(name) or "").split()), validate=True)
    except ValueError as error:
        raise errors.CredentialsError(f"{where}: {name} is no base64", cluster=entry.for_cluster) from error


def _content(file: str | None, where: str, entry: KubeconfigEntry) -> bytes:
    """Of the one half of a certificate and its key that stands in a file."""
    try:
        return Path(file).read_bytes() if file else b""
    except OSError as error:
        raise errors.CredentialsError(
            f"{where}: {translate.unusable_context(error)}", cluster=entry.for_cluster
        ) from error


async def _load_by_library(entry: KubeconfigEntry, settings: ClientSettings, where: str) -> None:
    """The client library runs programs and asks login services."""
    from kubernetes.aio.config import ConfigException
    from kubernetes.aio.config.kube_config import KubeConfigLoader

    proxy = settings.proxy
    user = {name: value for name, value in entry.user.items() if name != "tokenFile" and value not in (None, "")}
    document = {
        "contexts": [{"name": entry.name, "context": {"cluster": "cluster", "user": "user"}}],
        "clusters": [{"name": "cluster", "cluster": dict(entry.cluster)}],
        "users": [{"name": "user", "user": user}],
    }
    try:
        loader = KubeConfigLoader(document, active_context=entry.name)
        await loader.load_and_set(settings)
    except (ConfigException, ValueError, TypeError, KeyError, OSError) as error:
        raise errors.CredentialsError(
            f"{where}: {translate.unusable_context(error)}", cluster=entry.for_cluster
        ) from error
    settings.proxy = settings.proxy or proxy
    if not settings.has_credential:
        # The library logs why, and goes on without a credential.
        raise errors.CredentialsError(f"{where}: its program gave no credential", cluster=entry.for_cluster)
    if hasattr(loader, "exec_plugin_expiry"):

        async def before_it_expires(current: ClientSettings) -> None:
            await loader.load_from_exec_plugin()  # asks the program only when the token is about to expire
            current.set_authorization(loader.token)

        settings.refresh_api_key_hook = before_it_expires
