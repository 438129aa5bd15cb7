"""gitfed agent"""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitfed.cli import exits, health_options, log_options, parameters
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.agent.pool.membership import Timing as LeaseTiming
    from gitfed.agent.pool.serve import LeasePlace
    from gitfed.daemon.fleet.cluster_health import Timing

_SHORTEST_LEASE, _LONGEST_LEASE = 3, 60


@dataclass(frozen=True, slots=True)
class Reached:
    """The hub, and what the agent is known by there."""

    hub_url: str
    hub_credentials: Path


@dataclass(frozen=True, slots=True)
class Access:
    """The way into the cluster, or into those of the pool."""

    kubeconfig: Path | None
    credentials_dir: Path | None
    allow_exec: bool
    context: str
    concurrency: int


@dataclass(frozen=True, slots=True)
class Leases:
    """Where the members of a pool share its clusters, and for how long a lease holds."""

    lease_kubeconfig: Path | None
    lease_context: str
    lease_namespace: str
    lease_duration: float

    @property
    def place(self) -> LeasePlace:
        from gitfed.agent.pool.serve import LeasePlace

        paths = (self.lease_kubeconfig,) if self.lease_kubeconfig else ()
        return LeasePlace(paths, self.lease_context, self.lease_namespace)

    @property
    def timing(self) -> LeaseTiming:
        from gitfed.agent.pool.membership import Timing

        return Timing(round(self.lease_duration))


@click.command("agent")
@parameters.option("--hub-url", metavar="URL", required=True, help="Where the hub is reached, https://HOST:PORT.")
@parameters.option(
    "--hub-credentials",
    type=parameters.Files(exists=True, file_okay=False),
    metavar="DIR",
    required=True,
    help="Folder with the hub's ca.crt, and this agent's tls.crt and tls.key.",
)
@parameters.option(
    "--pool",
    shared=False,
    metavar="NAME",
    default="",
    help="Keep push clusters of this pool, those that are this member's share.",
)
@parameters.option(
    "--kubeconfig",
    type=parameters.Files(exists=True, dir_okay=False),
    metavar="FILE",
    default=None,
    help="The way into the cluster, or those of the pool.  [default: the service account of this pod]",
)
@parameters.option(
    "--credentials-dir",
    shared=False,
    type=parameters.Files(exists=True, file_okay=False),
    metavar="DIR",
    default=None,
    help="For a pool: folder with the Secrets that spec.secretRef names.",
)
@parameters.option(
    "--allow-exec-credentials",
    "allow_exec",
    shared=False,
    is_flag=True,
    help="For a pool: let a kubeconfig start programs (exec, auth-provider) here.",
)
@parameters.option(
    "--context",
    metavar="NAME",
    default="",
    help="Context of the kubeconfig.  [default: the one with the cluster's name]",
)
@parameters.option(
    "--concurrency",
    type=click.IntRange(1, 256),
    default=16,
    show_default=True,
    help="Requests to the API server at the same time.",
)
@health_options.timing(
    frequency="Between two looks at the cluster's health.",
    failure="The cluster counts as failed when that was seen for this long.",
    success="One that failed counts as well when that was seen for this long.",
)
@parameters.option(
    "--lease-kubeconfig",
    shared=False,
    type=parameters.Files(exists=True, dir_okay=False),
    metavar="FILE",
    default=None,
    help="For a pool: the way to the cluster whose Leases its members share by.  "
    "[default: the service account of this pod]",
)
@parameters.option("--lease-context", shared=False, metavar="NAME", default="", help="Context of --lease-kubeconfig.")
@parameters.option(
    "--lease-namespace",
    shared=False,
    metavar="NAME",
    default="",
    help="Namespace of the Leases.  [default: that of this pod, else gitfed-system]",
)
@parameters.option(
    "--lease-duration",
    shared=False,
    type=parameters.Duration(),
    metavar="DURATION",
    default=15.0,
    help="What a member that died held is free after that long.  [default: 15s]",
)
@parameters.option(
    "--health-address",
    metavar="HOST:PORT",
    default="127.0.0.1:0",
    help='Where /livez, /readyz and /metrics answer; "": nowhere.  [default: any port here]',
)
@log_options.log
@parameters.value("reached", Reached)
@parameters.value("access", Access)
@parameters.value("leases", Leases)
def command(
    reached: Reached,
    pool: str,
    access: Access,
    timing: Timing,
    leases: Leases,
    health_address: str,
    log: log_options.Log,
) -> int:
    """Keep one pulled cluster from inside of it, or a share of a pool's push clusters.

    For clusters that the daemon cannot reach (spec.syncMode Pull). The agent dials out to the hub, gets its cluster's
    part of every plan, carries it out, and tells how things are. While the hub cannot be reached it repairs drift,
    and does nothing new. Its certificate says which cluster it is.

    With --pool it does the same for clusters that are reached from here: those whose Cluster file has the annotation
    gitfed.io/pool. The members of a pool share them by Leases, and one that dies is replaced within --lease-duration.

    \b
    gitfed agent --hub-url https://hub.example:8443 --hub-credentials /etc/gitfed/hub
    gitfed agent --pool east --kubeconfig fleet.conf --hub-url … --hub-credentials …

    \b
    Exit codes: 0 stopped by SIGTERM · 130 interrupted · 2 bad usage · 3 no agent's certificate.
    """
    from gitfed.agent import hub_endpoint, serve
    from gitfed.agent.pool import serve as serve_pool
    from gitfed.edges.kube.connection.credentials import CredentialSources

    if not reached.hub_url.startswith("https://"):
        raise click.UsageError("--hub-url is no https:// address: an agent is known by its certificate")
    hub = hub_endpoint.HubEndpoint(reached.hub_url, reached.hub_credentials)
    kubeconfigs = (access.kubeconfig,) if access.kubeconfig is not None else ()
    if not pool:
        _check_no_pool(access, leases)
        alone = serve.AgentOptions(hub, kubeconfigs, access.context, access.concurrency, timing, health_address)
        log.set_up()
        ended_by = asyncio.run(serve.run(alone))
    else:
        _check_pool(pool, access, leases)
        ways = CredentialSources(
            kubeconfig=kubeconfigs, credentials_dir=access.credentials_dir, allow_exec=access.allow_exec
        )
        member = serve_pool.PoolMemberOptions(
            hub, pool, ways, leases.place, leases.timing, access.concurrency, timing, health_address
        )
        log.set_up()
        ended_by = asyncio.run(serve_pool.run(member))
    return exits.INTERRUPTED if ended_by == signal.SIGINT else exits.OK


def _check_no_pool(access: Access, leases: Leases) -> None:
    of_leases = (leases.lease_kubeconfig, leases.lease_context, leases.lease_namespace)
    if access.credentials_dir is not None or access.allow_exec or any(of_leases):
        raise click.UsageError(
            "--credentials-dir, --allow-exec-credentials and --lease-… are for members of a pool: --pool NAME"
        )


def _check_pool(pool: str, access: Access, leases: Leases) -> None:
    from gitfed.model import agent_identity

    if access.context:
        raise click.UsageError("--context is for one cluster: with --pool each Cluster file may name its own")
    if bool(leases.lease_kubeconfig) != bool(leases.lease_context):
        raise click.UsageError("--lease-kubeconfig and --lease-context go together")
    if why := agent_identity.why_not_a_pool(pool):
        raise click.UsageError(f"the pool name {pool} {why}")
    if not _SHORTEST_LEASE <= leases.lease_duration <= _LONGEST_LEASE:
        raise click.UsageError(f"--lease-duration is {_SHORTEST_LEASE}s at least, and {_LONGEST_LEASE}s at most")
