"""gitfed unjoin"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitfed.cli import complete, desired, exits, load, options, parameters
from gitfed.cli.output import plain, progress
from gitfed.errors import ClusterError, CredentialsError, SourceError, StateError, UsageError
from gitfed.model.keys import CONTEXT

if TYPE_CHECKING:
    from gitfed.edges.kube.connection.session import Session
    from gitfed.model.base import ObjectKey
    from gitfed.offline.leaving import Left


@click.command("unjoin")
@click.argument("name", metavar="CLUSTER", type=complete.CLUSTER, shell_complete=complete.clusters)
@parameters.option(
    "--delete-objects", "objects", shared=False, flag_value="delete", help="Delete what gitfed put there."
)
@parameters.option(
    "--keep-objects", "objects", shared=False, flag_value="keep", help="Leave it there, as nobody's of gitfed."
)
@parameters.option(
    "--cluster-kubeconfig",
    shared=False,
    type=parameters.Files(exists=True, dir_okay=False),
    metavar="FILE",
    help="Reach the cluster by this kubeconfig.  [default: as the daemon does]",
)
@parameters.option(
    "--cluster-context", shared=False, metavar="NAME", default="", help="Its context.  [default: the cluster's name]"
)
@parameters.option(
    "--wait",
    shared=False,
    type=parameters.Duration(),
    default="60s",
    show_default=True,
    metavar="DURATION",
    help="How long deleted objects may take to go.",
)
@parameters.option(
    "--force", shared=False, is_flag=True, help="Also when the cluster cannot be reached: what runs there stays there."
)
@options.credentials
@options.PROGRESS
@desired.writing
def command(
    name: str,
    objects: str | None,
    cluster_kubeconfig: Path | None,
    cluster_context: str,
    wait: float,
    force: bool,
    credentials: options.Credentials,
    writing: desired.Writing,
) -> int:
    """Take CLUSTER out of the fleet: its objects, gitfed's inventory there, and its file.

    The cluster is cleaned up first, then its file is removed. What is not gitfed's is never touched, and namespaces are
    never deleted. A daemon that still knows the cluster stops writing there at once; push the commit before it starts
    again.

    \b
    gitfed unjoin eu-1 --delete-objects --commit && git push
    gitfed unjoin eu-1 --keep-objects

    \b
    Exit codes: 0 done · 2 bad usage, no such cluster · 4 the cluster cannot be reached, or objects are still there
    when the time is over (do it again).
    """
    if objects is None:
        raise UsageError("what of its objects?", hint="--delete-objects or --keep-objects")
    checkout = desired.open_checkout(writing.repo)
    if name not in checkout.repo.clusters and cluster_kubeconfig is None:
        checkout.cluster(name)
    if name in checkout.repo.clusters and checkout.cluster(name).spec.sync_mode == "Pull":
        raise UsageError(f"cluster {name} is pulled by an agent", hint=f"gitfed unregister {name}")
    if writing.dry_run:
        preview(checkout, name, objects, cluster_kubeconfig, cluster_context, credentials)
    else:
        left = clean(checkout, name, objects, cluster_kubeconfig, cluster_context, wait, force, credentials)
        if left is not None:
            if left.remaining:
                return exits.UNREACHABLE
            forget(checkout, name, cleaned=objects == "delete" or not left.present)
    if name in checkout.repo.clusters:
        checkout.drop_cluster(name)
        desired.finish(checkout, f"Unjoin {name}", writing)
    if not writing.dry_run:
        click.echo(f"cluster({plain.clean(name)}) is unjoined")
    return 0


def preview(
    checkout: desired.Checkout,
    name: str,
    objects: str,
    kubeconfig: Path | None,
    context: str,
    credentials: options.Credentials,
) -> None:
    """What would become of each object in the cluster."""
    from gitfed.offline import leaving, state_inputs

    async def work() -> Left:
        async with session_of(checkout, name, kubeconfig, context, credentials) as session:
            return await leaving.look(
                session,
                federation=checkout.repo.settings.metadata.name,
                repository_id=state_inputs.decisions(checkout.opened, checkout.repo).repository_id,
                delete=objects == "delete",
            )

    try:
        left = asyncio.run(work())
    except ClusterError as error:
        load.note(f"{error}: what would become of its objects is not known")
        return
    if not left.present:
        click.echo(f"{plain.clean(name)} holds nothing of this federation", err=True)
    for key in sorted(left.deleted):
        click.echo(f"would delete {_shown(key)}", err=True)
    for key in sorted(left.released):
        click.echo(f"would leave {_shown(key)} there, as nobody's", err=True)
    for key, why in sorted(left.kept.items()):
        click.echo(f"would keep {_shown(key)}: {why}", err=True)


def clean(
    checkout: desired.Checkout,
    name: str,
    objects: str,
    kubeconfig: Path | None,
    context: str,
    wait: float,
    force: bool,
    credentials: options.Credentials,
) -> Left | None:
    """What became of its objects; None: it could not be reached, and leaves by force."""
    from gitfed.offline import leaving, state_inputs

    count = progress.of_command().count

    async def work() -> Left:
        async with session_of(checkout, name, kubeconfig, context, credentials) as session:
            return await leaving.leave(
                session,
                federation=checkout.repo.settings.metadata.name,
                repository_id=state_inputs.decisions(checkout.opened, checkout.repo).repository_id,
                delete=objects == "delete",
                wait=wait,
                count=count,
            )

    try:
        left = asyncio.run(work())
    except ClusterError as error:
        if not force:
            raise
        click.echo(f"warning: {plain.clean(str(error))}: what runs there stays there", err=True)
        return None
    _show(left, name)
    return left


def forget(checkout: desired.Checkout, name: str, *, cleaned: bool) -> None:
    """A courtesy: without it plans go on saying that the cluster still holds something."""
    from datetime import UTC, datetime

    from gitfed.offline import operator_orders

    try:
        book = operator_orders.OrderBook(checkout.opened, checkout.repo)
        operator_orders.forget(book, name, now=datetime.now(UTC), cleaned=cleaned)
    except (StateError, SourceError) as error:
        load.note(f"the state branch still tells of {name}: {error}")


def _show(left: Left, name: str) -> None:
    if not left.present:
        click.echo(f"{plain.clean(name)} holds nothing of this federation", err=True)
        return
    if left.deleted:
        click.echo(f"{len(left.deleted)} object{'s' if len(left.deleted) > 1 else ''} deleted", err=True)
    if left.released:
        click.echo(f"{len(left.released)} object{'s' if len(left.released) > 1 else ''} left there", err=True)
    for key, why in sorted(left.kept.items()):
        click.echo(f"kept {_shown(key)}: {why}", err=True)
    for key, what in sorted(left.remaining.items()):
        click.echo(f"still there: {_shown(key)} waits for {plain.clean(what)}", err=True)
    if left.remaining:
        click.echo("Nothing else was changed. Do it again when they are gone.", err=True)


def _shown(key: ObjectKey) -> str:
    return plain.clean(str(key))


def session_of(
    checkout: desired.Checkout, name: str, kubeconfig: Path | None, context: str, credentials: options.Credentials
) -> Session:
    """A way into a cluster: by the kubeconfig named for it, else as the daemon finds it. Raises CredentialsError."""
    from gitfed.daemon import wiring

    if kubeconfig is None:
        declared = checkout.cluster(name)
        made = wiring.Options(
            "",
            kubeconfig=load.kubeconfig_paths(credentials),
            credentials_dir=credentials.credentials_dir,
            allow_exec=credentials.allow_exec,
        )
        return wiring.open_sessions(made)(declared)
    return session_by(kubeconfig, name, context, allow_exec=credentials.allow_exec)


def session_by(kubeconfig: Path, name: str, context: str, *, allow_exec: bool) -> Session:
    """By a context of this kubeconfig, that with the cluster's name unless one is named. Raises CredentialsError."""
    from gitfed.daemon import wiring
    from gitfed.model.declared.cluster import Cluster

    annotations = {CONTEXT: context} if context else {}
    declared = Cluster.model_validate(
        {
            "apiVersion": "cluster.karmada.io/v1alpha1",
            "kind": "Cluster",
            "metadata": {"name": name, "annotations": annotations},
            "spec": {"syncMode": "Push"},
        }
    )
    made = wiring.Options("", kubeconfig=(kubeconfig,), allow_exec=allow_exec)
    try:
        return wiring.open_sessions(made)(declared)
    except CredentialsError as error:
        if CONTEXT in error.hint:
            # There is no file yet that could bear the annotation.
            hint = "name the context that leads to this cluster: --cluster-context NAME"
            raise CredentialsError(error.message, cluster=name, hint=hint) from error
        raise
