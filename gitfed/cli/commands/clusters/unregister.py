"""gitfed unregister"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from gitfed.cli import complete, desired, exits, options, parameters
from gitfed.cli.commands.clusters import cluster_session, unjoin
from gitfed.cli.commands.clusters.cluster_session import KubeconfigContext
from gitfed.cli.commands.clusters.register import AGENT_NAMESPACE
from gitfed.cli.output import plain
from gitfed.errors import HubError, HubUnreachable, UsageError

if TYPE_CHECKING:
    from gitfed.edges.kube.connection.session import Session


@click.command("unregister")
@click.argument("name", metavar="CLUSTER", type=complete.CLUSTER, shell_complete=complete.clusters)
@unjoin.DELETE_OBJECTS
@unjoin.KEEP_OBJECTS
@cluster_session.way(about="An administrator's kubeconfig of the cluster.", required=True)
@AGENT_NAMESPACE
@unjoin.wait("How long the agent's pod may take to end, and then deleted objects to go.")
@unjoin.force("Also when the hub cannot be reached: the certificate counts on then.")
@options.ALLOW_EXEC
@options.PROGRESS
@desired.writing
@parameters.value("leaving", unjoin.Leaving)
def command(
    name: str,
    leaving: unjoin.Leaving,
    way: KubeconfigContext,
    namespace: str,
    allow_exec_credentials: bool,
    writing: desired.WriteOptions,
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
    checkout = desired.open_checkout(writing.repo)
    declared = name in checkout.repo.clusters
    if declared and checkout.cluster(name).spec.sync_mode != "Pull":
        raise UsageError(f"cluster {name} is not pulled by an agent", hint=f"gitfed unjoin {name}")
    credentials = options.Credentials(allow_exec=allow_exec_credentials)
    if writing.dry_run:
        unjoin.preview(checkout, name, way, credentials, leaving)
    else:
        member = functools.partial(cluster_session.opened, checkout, name, way, credentials)
        asyncio.run(_stop(member, name, namespace, leaving.wait))
        left = unjoin.clean(checkout, name, way, credentials, dataclasses.replace(leaving, force=False))
        if left is not None and left.remaining:
            return exits.UNREACHABLE
        asyncio.run(_remove(member, namespace, force=leaving.force))
        if left is not None:
            unjoin.forget(checkout, name, cleaned=leaving.deletes or not left.present)
    if declared:
        checkout.drop_cluster(name)
        desired.finish(checkout, f"Unregister {name}", writing)
    if not writing.dry_run:
        click.echo(f"cluster({plain.clean(name)}) is unregistered")
    return 0


async def _stop(member: Callable[[], Session], name: str, namespace: str, wait: float) -> None:
    """Stop the agent, once it is known to be that of this cluster."""
    from gitfed.registration import member_steps

    async with member() as session:
        present = await member_steps.look(session, namespace)
        if present.cluster and present.cluster != name:
            raise UsageError(
                f"the agent in namespace {namespace} is that of cluster {present.cluster}",
                hint="name the cluster's own context with --cluster-context",
            )
        await member_steps.stop(session, namespace, wait)


async def _remove(member: Callable[[], Session], namespace: str, *, force: bool) -> None:
    from gitfed.registration import hub_client, member_steps

    async with member() as session:
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
