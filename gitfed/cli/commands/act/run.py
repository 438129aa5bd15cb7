"""gitfed run"""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitfed.cli import exits, health_options, hub_options, load, log_options, options, parameters
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.daemon import leader
    from gitfed.daemon.fleet.cluster_health import Timing
    from gitfed.edges.forge import Forge
    from gitfed.hub.options import HubOptions


@dataclass(frozen=True, slots=True)
class Followed:
    """The repository, and what is kept of it: as `daemon.wiring.DaemonOptions` calls it."""

    repo: str
    branch: str | None
    git_credentials: Path | None
    submodules: tuple[str, ...]
    trusted_keys: Path | None
    interval: float | None
    data_dir: Path | None
    state_key: Path | None
    push_state: bool | None


@dataclass(frozen=True, slots=True)
class Clusters:
    concurrency: int
    timing: Timing
    lease: float


@dataclass(frozen=True, slots=True)
class Telling:
    health_address: str
    notify_dir: Path | None
    log: log_options.Log


@dataclass(frozen=True, slots=True)
class Election:
    leader_elect: bool
    leader_elect_resource_lock: str | None
    leader_elect_context: str
    leader_elect_resource_namespace: str
    leader_elect_resource_name: str
    leader_elect_lease_duration: float | None
    leader_elect_renew_deadline: float | None
    leader_elect_retry_period: float | None


@dataclass(frozen=True, slots=True)
class ForgeOptions:
    forge_kind: str | None
    forge_api: str
    forge_project: str
    forge_token_file: Path | None


@click.command("run")
@parameters.option(
    "--repo",
    metavar="PATH|URL",
    default=".",
    help="The repository to follow: a path, or a URL.  [default: the one around this folder]",
)
@options.GIT_CREDENTIALS
@options.SUBMODULES
@options.TRUSTED_KEYS
@options.STATE_KEY
@parameters.option("--branch", metavar="NAME", default=None, help="The branch to follow.  [default: what HEAD names]")
@options.credentials
@parameters.option(
    "--data-dir",
    type=parameters.Files(file_okay=False),
    metavar="DIR",
    default=None,
    help="Where this daemon keeps its clone, its state and its cache.  [default: below XDG_STATE_HOME]",
)
@parameters.option(
    "--interval",
    type=parameters.Duration(),
    metavar="DURATION",
    default=None,
    help="Time between polls of a remote; beats spec.sync.interval.",
)
@parameters.option(
    "--concurrency",
    type=click.IntRange(1, 256),
    default=16,
    show_default=True,
    help="Requests to one cluster at a time.",
)
@health_options.timing(
    frequency="Pause between two looks at a cluster's health.",
    failure="A cluster counts as failed when that was seen for this long.",
    success="A cluster that failed counts as well again when that was seen for this long.",
)
@parameters.option(
    "--cluster-lease-duration",
    "lease",
    type=parameters.Duration(),
    metavar="DURATION",
    default=40.0,
    help="A pulled cluster is unknown when its agent was silent for this long.  [default: 40s]",
)
@parameters.option(
    "--push-state/--no-push-state", default=None, help="Push the state branch.  [default: spec.state.push]"
)
@parameters.option(
    "--health-address",
    metavar="HOST:PORT",
    default="127.0.0.1:8484",
    show_default=True,
    help='Where /livez and /readyz answer; "" for nowhere, port 0 for any.',
)
@hub_options.hub
@options.NOTIFY_DIR
@parameters.option(
    "--leader-elect", is_flag=True, help="One of several daemons leads; the others stand by and take over."
)
@parameters.option(
    "--leader-elect-resource-lock",
    type=click.Choice(["leases", "git"]),
    default=None,
    help="Where they agree: a Lease of a cluster, or a ref of the state's repository.  "
    "[default: leases in a pod or with --leader-elect-context, else git]",
)
@parameters.option(
    "--leader-elect-context",
    metavar="NAME",
    default="",
    help="Context of the cluster with the Lease.  [default: the one around this pod]",
)
@parameters.option(
    "--leader-elect-resource-namespace",
    metavar="NAME",
    default="gitfed-system",
    show_default=True,
    help="Namespace of the Lease.",
)
@parameters.option(
    "--leader-elect-resource-name", metavar="NAME", default="gitfed", show_default=True, help="Name of the Lease."
)
@parameters.option(
    "--leader-elect-lease-duration",
    type=parameters.Duration(),
    metavar="DURATION",
    default=None,
    help="After so long without a renewal another one takes over.  [default: 15s; git: 60s]",
)
@parameters.option(
    "--leader-elect-renew-deadline",
    type=parameters.Duration(),
    metavar="DURATION",
    default=None,
    help="A leader that cannot renew for so long stops.  [default: 10s; git: 40s]",
)
@parameters.option(
    "--leader-elect-retry-period",
    type=parameters.Duration(),
    metavar="DURATION",
    default=None,
    help="Between two attempts.  [default: 2s; git: 15s]",
)
@parameters.option(
    "--forge",
    "forge_kind",
    type=click.Choice(["github", "gitlab", "gitea", "forgejo", "bitbucket"]),
    default=None,
    help="Set commit statuses there, one per cluster and one for all.  [default: nowhere]",
)
@parameters.option(
    "--forge-api", metavar="URL", default="", help="Address of its API.  [default: what the repository's URL tells]"
)
@parameters.option(
    "--forge-project",
    metavar="OWNER/NAME",
    default="",
    help="The repository there.  [default: what the repository's URL tells]",
)
@parameters.option(
    "--forge-token-file",
    type=parameters.Files(exists=True, dir_okay=False),
    default=None,
    metavar="FILE",
    help="File with its token, read once.  [default: GITFED_FORGE_TOKEN]",
)
@log_options.log
@parameters.value("followed", Followed)
@parameters.value("clusters", Clusters)
@parameters.value("telling", Telling)
@parameters.value("election", Election)
@parameters.value("forge", ForgeOptions)
def command(
    followed: Followed,
    clusters: Clusters,
    telling: Telling,
    election: Election,
    forge: ForgeOptions,
    credentials: options.Credentials,
    hub: HubOptions | None,
) -> int:
    """Keep the fleet equal to the repository, until stopped.

    Every push to the followed branch is planned and rolled out; drift in a cluster is repaired; what was
    decided is recorded on the state branch. A cluster that cannot be reached delays only itself. On SIGTERM or Ctrl-C
    what is under way is finished first.

    \b
    gitfed run --repo https://git.example/fleet.git --kubeconfig fleet.conf
    gitfed run --repo /srv/fleet.git --logging-format json

    \b
    Exit codes: 0 stopped by SIGTERM · 130 interrupted · 2 bad usage · 3 invalid settings · 4 not a repository.
    """
    from gitfed.daemon import wiring
    from gitfed.hub import serve

    host, colon, port = telling.health_address.rpartition(":")
    if telling.health_address and (not colon or not host or not port.isdecimal()):
        raise click.UsageError(f"--health-address {telling.health_address!r} is not HOST:PORT")
    leads = _election(election) if election.leader_elect else None
    telling.log.set_up()
    where = _forge(followed.repo, forge)
    ended_by = asyncio.run(
        serve.run(
            wiring.DaemonOptions(
                **dataclasses.asdict(followed),
                kubeconfig=load.kubeconfig_paths(credentials),
                credentials_dir=credentials.credentials_dir,
                allow_exec=credentials.allow_exec,
                concurrency=clusters.concurrency,
                timing=clusters.timing,
                lease=max(clusters.lease, 1.0),
                health_address=telling.health_address,
                leader=leads,
            ),
            forge=where,
            hub=hub,
            notify=telling.notify_dir,
        )
    )
    return exits.INTERRUPTED if ended_by == signal.SIGINT else exits.OK


def _election(election: Election) -> leader.LeaderOptions:
    from gitfed.daemon import leader

    in_cluster = election.leader_elect_context or os.environ.get("KUBERNETES_SERVICE_HOST")
    lock = election.leader_elect_resource_lock or ("leases" if in_cluster else "git")
    usual = leader.LEASES if lock == "leases" else leader.REFS
    lease, renew, retry = (
        round(seconds) if seconds is not None else default
        for seconds, default in (
            (election.leader_elect_lease_duration, usual.lease),
            (election.leader_elect_renew_deadline, usual.renew),
            (election.leader_elect_retry_period, usual.retry),
        )
    )
    if not (retry >= 1 and renew > 1.2 * retry and lease > renew):
        raise click.UsageError(
            f"lease duration {lease}s, renew deadline {renew}s and retry period {retry}s: the first must be longer "
            "than the second, and that longer than 1.2 times the third, which is a second at least"
        )
    return leader.LeaderOptions(
        lock,
        election.leader_elect_context,
        election.leader_elect_resource_namespace,
        election.leader_elect_resource_name,
        leader.LeaseTiming(lease, renew, retry),
    )


def _forge(repo: str, forge_options: ForgeOptions) -> Forge | None:
    """Where commit statuses are set; None: nowhere. Raises UsageError, OSError."""
    if forge_options.forge_kind is None:
        if forge_options.forge_api or forge_options.forge_project or forge_options.forge_token_file is not None:
            raise click.UsageError("--forge names the kind of forge that the other --forge options are about")
        return None
    from gitfed.edges import forge
    from gitfed.edges.git import location

    kind, token_file = forge_options.forge_kind, forge_options.forge_token_file
    named_by_url = forge.of_url(repo, kind)
    api = forge_options.forge_api or (named_by_url.api if named_by_url else "")
    project = forge_options.forge_project or (named_by_url.project if named_by_url else "")
    if kind == "bitbucket" and named_by_url is None and not api and location.is_url(repo):
        raise click.UsageError(
            f"{location.shown(repo)} is not on Bitbucket Cloud, and of Bitbucket Data Center gitfed knows no statuses"
        )
    if not api or not project:
        raise click.UsageError("--forge-api and --forge-project are needed: the repository's URL does not tell them")
    token = token_file.read_text().strip() if token_file is not None else os.environ.get("GITFED_FORGE_TOKEN", "")
    return forge.connect(forge.ForgeProject(kind, api, project), token)
