"""gitfed join"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from gitfed.cli import desired, options, parameters
from gitfed.cli.commands.clusters import cluster_session, declaration
from gitfed.cli.commands.clusters.cluster_session import KubeconfigContext
from gitfed.cli.output import plain
from gitfed.errors import UsageError
from gitfed.model.declared import names
from gitfed.model.declared.cluster import LONGEST_NAME
from gitfed.model.keys import CONTEXT
from gitfed.text import emit
from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True)
class _ClusterAccess:
    """Which cluster it is, and how gitfed reaches it."""

    identity: str
    server: str
    authority: str = ""
    token: str = ""
    expires: str = ""


@dataclass(frozen=True, slots=True)
class FileOptions:
    """Where the declaration is written, and with which labels."""

    labels: str
    file: str


@dataclass(frozen=True, slots=True)
class Account:
    """The account that gitfed gets in the cluster."""

    cluster_namespace: str
    cluster_role: str


@click.command("join")
@click.argument("name", metavar="CLUSTER")
@cluster_session.way(about="An administrator's kubeconfig.  [default: as the daemon does]")
@declaration.REGION
@declaration.ZONES
@declaration.PROVIDER
@parameters.option(
    "--labels",
    shared=False,
    metavar="KEY=VALUE[,KEY=VALUE]",
    default="",
    help="metadata.labels, which policies select clusters by.",
)
@parameters.option(
    "--cluster-namespace",
    shared=False,
    metavar="NAME",
    default="gitfed-system",
    show_default=True,
    help="Namespace of the account that is made there.",
)
@parameters.option(
    "--cluster-role",
    shared=False,
    metavar="NAME",
    default="cluster-admin",
    show_default=True,
    help="ClusterRole of that account.",
)
@parameters.option(
    "--file",
    shared=False,
    metavar="PATH",
    default="",
    help="File of the declaration.  [default: clusters/CLUSTER.yaml]",
)
@options.credentials_to_keep
@desired.writing
@parameters.value("topology", declaration.Topology)
@parameters.value("file_options", FileOptions)
@parameters.value("account", Account)
def command(
    name: str,
    way: KubeconfigContext,
    topology: declaration.Topology,
    file_options: FileOptions,
    account: Account,
    credentials: options.Credentials,
    writing: desired.WriteOptions,
) -> int:
    """Bring CLUSTER into the fleet: look at it, and write its file.

    With --credentials-dir an account for gitfed is made in the cluster, and its token is kept in that folder, where the
    daemon finds it (NAMESPACE/NAME/token, caBundle, server). Without it nothing is made there, and the daemon needs a
    kubeconfig with that context. A credential is never written into the repository. For a cluster that joined so, the
    same command only renews the token.

    \b
    gitfed join eu-1 --cluster-kubeconfig admin.conf --credentials-dir /etc/gitfed/credentials --commit
    gitfed join eu-1 --kubeconfig fleet.conf --cluster-region eu --labels tier=edge,arch=arm64

    \b
    Exit codes: 0 done · 2 bad usage, or the cluster is in the fleet already · 4 the cluster cannot be reached.
    """
    checkout = desired.open_checkout(writing.repo)
    if name in checkout.repo.clusters and credentials.credentials_dir is not None and not writing.dry_run:
        if file_options.labels:
            raise UsageError(
                f"cluster {name} is declared already: {checkout.origin(name).path}",
                hint="its labels are changed in that file; without --labels only the token is renewed",
            )
        _renew(checkout, name, way, credentials, account.cluster_namespace)
        return 0
    _check_name(checkout, name)
    labels = _labels(file_options.labels)
    path = file_options.file or f"clusters/{name}.yaml"
    if checkout.text(path) is not None:
        raise UsageError(f"{path} exists already", hint="name another one with --file")
    folder = credentials.credentials_dir
    way = replace(way, kubeconfig=way.kubeconfig or credentials.kubeconfig)
    if way.kubeconfig is None:
        raise UsageError("how is it reached?", hint="--cluster-kubeconfig FILE, or --kubeconfig FILE")
    makes = folder is not None and not writing.dry_run
    access = asyncio.run(_look(checkout, name, way, credentials, account if makes else None))
    check_identity(checkout, access.identity, name)
    metadata: dict[str, Any] = {"name": name}
    spec: dict[str, Any] = {"syncMode": "Push", "id": access.identity}
    if folder is not None:
        secret = {"namespace": account.cluster_namespace, "name": name}
        spec |= {"apiEndpoint": access.server, "secretRef": secret}
    elif way.context and way.context != name:
        metadata["annotations"] = {CONTEXT: way.context}
    if labels:
        metadata["labels"] = labels
    body = declaration.document(metadata, spec | topology.spec())
    checkout.put(path, emit.dump(body))
    if makes and folder is not None:
        _keep(folder / account.cluster_namespace / name, access)
    desired.finish(checkout, f"Join {name}", writing)
    if not writing.dry_run:
        click.echo(f"cluster({plain.clean(name)}) is joined successfully")
    return 0


def _renew(
    checkout: desired.Checkout, name: str, way: KubeconfigContext, credentials: options.Credentials, namespace: str
) -> None:
    """A new token where the old one is kept. Its rights and the file of the cluster stay as they are."""
    cluster, folder = checkout.repo.clusters[name].spec, credentials.credentials_dir
    path = checkout.origin(name).path
    if cluster.secret_ref is None or folder is None:
        raise UsageError(
            f"cluster {name} is declared already, without spec.secretRef: {path}",
            hint="a token in a folder would not be read",
        )
    # Without an administrator's kubeconfig the token itself may make the next one, as long as it counts.
    way = replace(way, kubeconfig=way.kubeconfig or credentials.kubeconfig)
    access = asyncio.run(_look(checkout, name, way, credentials, Account(namespace, "")))
    _keep(folder / cluster.secret_ref.namespace / cluster.secret_ref.name, access)
    click.echo(f"the token of cluster({plain.clean(name)}) is renewed")


def _check_name(checkout: desired.Checkout, name: str) -> None:
    if why := names.why_not_dns_label(name, LONGEST_NAME):
        raise UsageError(f"the cluster name {name} {why}")
    if name in checkout.repo.clusters:
        raise UsageError(f"cluster {name} is declared already: {checkout.origin(name).path}")


def _labels(text: str) -> dict[str, str]:
    """`tier=edge,arch=arm64`. Raises UsageError."""
    labels: dict[str, str] = {}
    for part in filter(None, (item.strip() for item in text.split(","))):
        key, sign, value = part.partition("=")
        if not sign:
            raise UsageError(f"{part!r} is no label", hint="--labels KEY=VALUE,KEY=VALUE")
        if why := names.why_not_label_key(key):
            raise UsageError(f"{part!r}: the key {key} {why}")
        if why := names.why_not_label_value(value):
            raise UsageError(f"{part!r}: the value {value} {why}")
        if key in labels:
            raise UsageError(f"label {key} is given twice")
        labels[key] = value
    return labels


def check_identity(checkout: desired.Checkout, identity: str, name: str) -> None:
    """Karmada: joining is refused if the name or the id is registered."""
    for declared_name, cluster in checkout.repo.clusters.items():
        if declared_name == name and cluster.spec.id and cluster.spec.id != identity:
            raise UsageError(
                f"this is not {name}: its id is {identity}, in {checkout.origin(name).path} it is {cluster.spec.id}"
            )
        if identity and cluster.spec.id == identity and declared_name != name:
            raise UsageError(
                f"this cluster is in the fleet already, as {declared_name}: {checkout.origin(declared_name).path}"
            )


async def _look(
    checkout: desired.Checkout,
    name: str,
    way: KubeconfigContext,
    credentials: options.Credentials,
    account: Account | None,
) -> _ClusterAccess:
    """`account`: the one to make, or to make a new token for; None: nothing is made."""
    from gitfed.offline import joining

    async with cluster_session.opened(checkout, name, way, credentials) as session:
        identity = await joining.identity(session)
        check_identity(checkout, identity, name)
        server = session.connection.server
        authority = await joining.authority(session)
        if account is None:
            return _ClusterAccess(identity, server, authority)
        made = await joining.make_account(session, namespace=account.cluster_namespace, role=account.cluster_role)
        return _ClusterAccess(identity, server, authority or made.authority, made.token, made.expires)


def _keep(folder: Path, access: _ClusterAccess) -> None:
    """The layout of a mounted Secret, and the address that the token belongs to."""
    from gitfed.edges import files

    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name, text in (("token", access.token), ("caBundle", access.authority), ("server", access.server)):
        if text:
            files.write_atomically(folder / name, text.encode())
    click.echo(f"wrote {plain.clean(str(folder))}", err=True)
    if access.expires:
        click.echo(f"the token counts until {access.expires}: join again before", err=True)
