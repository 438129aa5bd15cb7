"""gitfed unregister"""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from gitfed.cli import complete, desired, exits, options, parameters
from gitfed.cli.commands.clusters import unjoin
from gitfed.cli.output import plain
from gitfed.errors import HubError, HubUnreachable, UsageError


@click.command("unregister")
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
    required=True,
    help="An administrator's kubeconfig of the cluster.",
)
@parameters.option(
    "--cluster-context", shared=False, metavar="NAME", default="", help="Its context.  [default: the cluster's name]"
)
@parameters.option(
    "-n",
    "--namespace",
    shared=False,
    metavar="NAME",
    default="gitfed-system",
    show_default=True,
    help="Where the agent lives.",
)
@parameters.option(
    "--wait",
    shared=False,
    type=parameters.Duration(),
    default="60s",
    show_default=True,
    metavar="DURATION",
    help="How long the agent's pod may take to end, and then deleted objects to go.",
)
@parameters.option(
    "--force", shared=False, is_flag=True, help="Also when the hub cannot be reached: the certificate counts on then."
)
@parameters.option(
    "--allow-exec-credentials",
    is_flag=True,
    help="Let a kubeconfig start programs (exec, auth-provider) on this machine.",
)
@options.PROGRESS
@desired.writing
def command(
    name: str,
    objects: str | None,
    cluster_kubeconfig: Path,
    cluster_context: str,
    namespace: str,
    wait: float,
    force: bool,
    allow_exec_credentials: bool,
    writing: desired.Writing,
) -> int:
    """Take a cluster out of the fleet that an agent pulls for: its objects, the agent, its certificate, and its file.

    The agent is stopped first. Then the cluster is cleaned up as by gitfed unjoin, the hub is told, with the agent's
    own certificate, that it counts no more, and what the agent was goes. Cut short, the same command goes on.

    \b
    gitfed unregister edge-7 --cluster-kubeconfig admin.conf --delete-objects --commit && git push

    \b
    Exit codes: 0 done · 2 bad usage, no such cluster · 4 the cluster or the hub cannot be reached, or the agent's
    pod or objects are still there when the time is over (do it again).
    """
    if objects is None:
        raise UsageError("what of its objects?", hint="--delete-objects or --keep-objects")
    checkout = desired.open_checkout(writing.repo)
    known = name in checkout.repo.clusters
    if known and checkout.cluster(name).spec.sync_mode != "Pull":
        raise UsageError(f"cluster {name} is not pulled by an agent", hint=f"gitfed unjoin {name}")
    credentials = options.Credentials(allow_exec=allow_exec_credentials)
    if writing.dry_run:
        unjoin.preview(checkout, name, objects, cluster_kubeconfig, cluster_context, credentials)
    else:
        _stop(name, cluster_kubeconfig, cluster_context, credentials, namespace, wait)
        left = unjoin.clean(checkout, name, objects, cluster_kubeconfig, cluster_context, wait, False, credentials)
        if left is not None and left.remaining:
            return exits.UNREACHABLE
        asyncio.run(_remove(name, cluster_kubeconfig, cluster_context, credentials, namespace, force))
        if left is not None:
            unjoin.forget(checkout, name, cleaned=objects == "delete" or not left.present)
    if known:
        checkout.drop_cluster(name)
        desired.finish(checkout, f"Unregister {name}", writing)
    if not writing.dry_run:
        click.echo(f"cluster({plain.clean(name)}) is unregistered")
    return 0


def _stop(
    name: str, kubeconfig: Path, context: str, credentials: options.Credentials, namespace: str, wait: float
) -> None:
    """Stop the agent, once it is known to be that of this cluster."""
    from gitfed.registration import member_steps

    async def work() -> None:
        async with unjoin.session_by(kubeconfig, name, context, allow_exec=credentials.allow_exec) as session:
            present = await member_steps.look(session, namespace)
            if present.cluster and present.cluster != name:
                raise UsageError(
                    f"the agent in namespace {namespace} is that of cluster {present.cluster}",
                    hint="name the cluster's own context with --cluster-context",
                )
            await member_steps.stop(session, namespace, wait)

    asyncio.run(work())


async def _remove(
    name: str, kubeconfig: Path, context: str, credentials: options.Credentials, namespace: str, force: bool
) -> None:
    from gitfed.registration import hub_client, member_steps

    async with unjoin.session_by(kubeconfig, name, context, allow_exec=credentials.allow_exec) as session:
        present = await member_steps.look(session, namespace)
        if present.identity is not None and present.identity.certificate and present.hub:
            try:
                answer = await hub_client.unregister(present.hub, present.identity)
                if answer.status not in (204, 401):
                    raise HubError(f"the hub {present.hub} answers {answer.status}: {answer.text}")
            except HubUnreachable as error:
                if not force:
                    raise HubUnreachable(
                        f"{error.message}: the agent's certificate still counts",
                        hint="do it again when the hub answers, or with --force and then gitfed token delete ID there",
                    ) from error
                click.echo(f"warning: {plain.clean(error.message)}: the agent's certificate still counts", err=True)
        await member_steps.remove(session, namespace)
    click.echo(f"the agent is gone from namespace {plain.clean(namespace)}", err=True)
