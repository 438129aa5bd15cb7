"""gitfed unjoin"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from gitfed.cli import complete, desired, exits, load, options, parameters
from gitfed.cli.commands.clusters import cluster_session
from gitfed.cli.commands.clusters.cluster_session import KubeconfigContext
from gitfed.cli.output import plain, progress
from gitfed.cli.parameters import Command
from gitfed.errors import ClusterError, SourceError, StateError, UsageError
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.model.base import ObjectKey
    from gitfed.offline.leaving import Left


DELETE_OBJECTS = parameters.option(
    "--delete-objects", "objects", shared=False, flag_value="delete", help="Delete what gitfed put there."
)
KEEP_OBJECTS = parameters.option(
    "--keep-objects", "objects", shared=False, flag_value="keep", help="Leave it there, no longer managed by gitfed."
)


def wait(about: str) -> Callable[[Command], Command]:
    """--wait, with this help."""
    return parameters.option(
        "--wait",
        shared=False,
        type=parameters.Duration(),
        default="60s",
        show_default=True,
        metavar="DURATION",
        help=about,
    )


def force(about: str) -> Callable[[Command], Command]:
    """--force, with this help."""
    return parameters.option("--force", shared=False, is_flag=True, help=about)


@dataclass(frozen=True, slots=True)
class Leaving:
    """What becomes of the objects of a cluster that leaves. Raises UsageError unless that is said."""

    objects: str | None
    wait: float
    """Seconds."""
    force: bool

    def __post_init__(self) -> None:
        if self.objects is None:
            raise UsageError("what of its objects?", hint="--delete-objects or --keep-objects")

    @property
    def deletes(self) -> bool:
        return self.objects == "delete"


@click.command("unjoin")
@click.argument("name", metavar="CLUSTER", type=complete.CLUSTER, shell_complete=complete.clusters)
@DELETE_OBJECTS
@KEEP_OBJECTS
@cluster_session.way(about="Reach the cluster by this kubeconfig.  [default: as the daemon does]")
@wait("How long deleted objects may take to go.")
@force("Also when the cluster cannot be reached: what runs there stays there.")
@options.credentials
@options.PROGRESS
@desired.writing
@parameters.value("leaving", Leaving)
def command(
    name: str,
    leaving: Leaving,
    way: KubeconfigContext,
    credentials: options.Credentials,
    writing: desired.WriteOptions,
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
    checkout = desired.open_checkout(writing.repo)
    if name not in checkout.repo.clusters and way.kubeconfig is None:
        checkout.cluster(name)
    if name in checkout.repo.clusters and checkout.cluster(name).spec.sync_mode == "Pull":
        raise UsageError(f"cluster {name} is pulled by an agent", hint=f"gitfed unregister {name}")
    if writing.dry_run:
        preview(checkout, name, way, credentials, leaving)
    else:
        left = clean(checkout, name, way, credentials, leaving)
        if left is not None:
            if left.remaining:
                return exits.UNREACHABLE
            forget(checkout, name, cleaned=leaving.deletes or not left.present)
    if name in checkout.repo.clusters:
        checkout.drop_cluster(name)
        desired.finish(checkout, f"Unjoin {name}", writing)
    if not writing.dry_run:
        click.echo(f"cluster({plain.clean(name)}) is unjoined")
    return 0


def preview(
    checkout: desired.Checkout,
    name: str,
    way: KubeconfigContext,
    credentials: options.Credentials,
    leaving: Leaving,
) -> None:
    """What would become of each object in the cluster."""
    from gitfed.offline import leaving as offline
    from gitfed.offline import state_inputs

    async def work() -> Left:
        async with cluster_session.opened(checkout, name, way, credentials) as session:
            return await offline.look(
                session,
                federation=checkout.repo.settings.metadata.name,
                repository_id=state_inputs.decisions(checkout.opened, checkout.repo).repository_id,
                delete=leaving.deletes,
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
        click.echo(f"would leave {_shown(key)} there, unmanaged", err=True)
    for key, why in sorted(left.kept.items()):
        click.echo(f"would keep {_shown(key)}: {why}", err=True)


def clean(
    checkout: desired.Checkout,
    name: str,
    way: KubeconfigContext,
    credentials: options.Credentials,
    leaving: Leaving,
) -> Left | None:
    """What became of its objects; None: it could not be reached, and leaves by force."""
    from gitfed.offline import leaving as offline
    from gitfed.offline import state_inputs

    count = progress.of_command().count

    async def work() -> Left:
        async with cluster_session.opened(checkout, name, way, credentials) as session:
            return await offline.leave(
                session,
                federation=checkout.repo.settings.metadata.name,
                repository_id=state_inputs.decisions(checkout.opened, checkout.repo).repository_id,
                delete=leaving.deletes,
                wait=leaving.wait,
                count=count,
            )

    try:
        left = asyncio.run(work())
    except ClusterError as error:
        if not leaving.force:
            raise
        click.echo(f"warning: {plain.clean(str(error))}: what runs there stays there", err=True)
        return None
    _show(left, name)
    return left


def forget(checkout: desired.Checkout, name: str, *, cleaned: bool) -> None:
    """A courtesy: without it plans go on saying that the cluster still holds something."""
    from datetime import UTC, datetime

    from gitfed.offline import order_book

    try:
        book = order_book.OrderBook(checkout.opened, checkout.repo)
        order_book.forget(book, name, now=datetime.now(UTC), cleaned=cleaned)
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
