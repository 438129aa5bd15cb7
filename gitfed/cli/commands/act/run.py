"""gitfed run"""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitfed.cli import exits, load, options

if TYPE_CHECKING:
    from gitfed.daemon import leader
    from gitfed.edges.forge import Forge
    from gitfed.hub.options import Options as HubOptions


@click.command("run")
@options.option("--repo", metavar="PATH|URL", default=".",
                help="The repository to follow: a path, or a URL.  [default: the one around this folder]")  # fmt: skip
@options.GIT_CREDENTIALS
@options.SUBMODULES
@options.TRUSTED_KEYS
@options.STATE_KEY
@options.option("--branch", metavar="NAME", default=None, help="The branch to follow.  [default: what HEAD names]")
@options.credentials
@options.option(
    "--data-dir", type=options.Files(file_okay=False), metavar="DIR", default=None,
    help="Where this daemon keeps its clone, its state and its cache.  [default: below XDG_STATE_HOME]",
)  # fmt: skip
@options.option(
    "--interval", type=options.Duration(), metavar="DURATION", default=None,
    help="Time between polls of a remote; beats spec.sync.interval.",
)  # fmt: skip
@options.option("--concurrency", type=click.IntRange(1, 256), default=16, show_default=True,
                help="Requests to one cluster at a time.")  # fmt: skip
@options.option(
    "--cluster-status-update-frequency", "frequency", type=options.Duration(), metavar="DURATION", default=10.0,
    help="Pause between two looks at a cluster's health.  [default: 10s]",
)  # fmt: skip
@options.option(
    "--cluster-failure-threshold", "failure", type=options.Duration(), metavar="DURATION", default=30.0,
    help="A cluster counts as failed when that was seen for this long.  [default: 30s]",
)  # fmt: skip
@options.option(
    "--cluster-success-threshold", "success", type=options.Duration(), metavar="DURATION", default=30.0,
    help="A cluster that failed counts as well again when that was seen for this long.  [default: 30s]",
)  # fmt: skip
@options.option(
    "--cluster-lease-duration", "lease", type=options.Duration(), metavar="DURATION", default=40.0,
    help="A pulled cluster is unknown when its agent was silent for this long.  [default: 40s]",
)  # fmt: skip
@options.option("--push-state/--no-push-state", default=None,
                help="Push the state branch.  [default: spec.state.push]")  # fmt: skip
@options.option(
    "--health-address", metavar="HOST:PORT", default="127.0.0.1:8484", show_default=True,
    help='Where /livez and /readyz answer; "" for nowhere, port 0 for any.',
)  # fmt: skip
@options.hub
@options.NOTIFY_DIR
@options.option("--leader-elect", is_flag=True,
                help="One of several daemons leads; the others stand by and take over.")  # fmt: skip
@options.option(
    "--leader-elect-resource-lock", type=click.Choice(["leases", "git"]), default=None,
    help="Where they agree: a Lease of a cluster, or a ref of the state's repository.  "
    "[default: leases in a pod or with --leader-elect-context, else git]",
)  # fmt: skip
@options.option("--leader-elect-context", metavar="NAME", default="",
                help="Context of the cluster with the Lease.  [default: the one around this pod]")  # fmt: skip
@options.option("--leader-elect-resource-namespace", metavar="NAME", default="gitfed-system", show_default=True,
                help="Namespace of the Lease.")  # fmt: skip
@options.option("--leader-elect-resource-name", metavar="NAME", default="gitfed", show_default=True,
                help="Name of the Lease.")  # fmt: skip
@options.option("--leader-elect-lease-duration", type=options.Duration(), metavar="DURATION", default=None,
                help="After so long without a renewal another one takes over.  [default: 15s; git: 60s]")  # fmt: skip
@options.option("--leader-elect-renew-deadline", type=options.Duration(), metavar="DURATION", default=None,
                help="A leader that cannot renew for so long stops.  [default: 10s; git: 40s]")  # fmt: skip
@options.option("--leader-elect-retry-period", type=options.Duration(), metavar="DURATION", default=None,
                help="Between two attempts.  [default: 2s; git: 15s]")  # fmt: skip
@options.option(
    "--forge", "forge_kind", type=click.Choice(["github", "gitlab", "gitea", "forgejo", "bitbucket"]), default=None,
    help="Set commit statuses there, one per cluster and one for all.  [default: nowhere]",
)  # fmt: skip
@options.option("--forge-api", metavar="URL", default="",
                help="Address of its API.  [default: what the repository's URL tells]")  # fmt: skip
@options.option("--forge-project", metavar="OWNER/NAME", default="",
                help="The repository there.  [default: what the repository's URL tells]")  # fmt: skip
@options.option("--forge-token-file", type=options.Files(exists=True, dir_okay=False), default=None, metavar="FILE",
                help="File with its token, read once.  [default: GITFED_FORGE_TOKEN]")  # fmt: skip
@options.option("--logging-format", type=click.Choice(["text", "json"]), default="text", show_default=True,
                help="Form of the log on stderr.")  # fmt: skip
@options.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info",
                show_default=True, help="The least severe lines to write.")  # fmt: skip
def command(
    repo: str,
    git_credentials: Path | None,
    submodules: tuple[str, ...],
    trusted_keys: Path | None,
    state_key: Path | None,
    branch: str | None,
    credentials: options.Credentials,
    data_dir: Path | None,
    interval: float | None,
    concurrency: int,
    frequency: float,
    failure: float,
    success: float,
    lease: float,
    push_state: bool | None,
    health_address: str,
    hub: HubOptions | None,
    notify_dir: Path | None,
    leader_elect: bool,
    leader_elect_resource_lock: str | None,
    leader_elect_context: str,
    leader_elect_resource_namespace: str,
    leader_elect_resource_name: str,
    leader_elect_lease_duration: float | None,
    leader_elect_renew_deadline: float | None,
    leader_elect_retry_period: float | None,
    forge_kind: str | None,
    forge_api: str,
    forge_project: str,
    forge_token_file: Path | None,
    logging_format: str,
    log_level: str,
) -> int:
    """Keep the fleet equal to the repository, until stopped.

    Every push to the followed branch is planned and rolled out; what somebody changes in a cluster is repaired; what
    was decided is recorded on the state branch. A cluster that cannot be reached delays only itself. On SIGTERM or
    Ctrl-C what is under way is finished first.

    \b
    gitfed run --repo https://git.example/fleet.git --kubeconfig fleet.conf
    gitfed run --repo /srv/fleet.git --logging-format json

    \b
    Exit codes: 0 stopped by SIGTERM · 130 interrupted · 2 bad usage · 3 invalid settings · 4 not a repository.
    """
    from gitfed.daemon import logs, wiring
    from gitfed.daemon.fleet.cluster_health import Timing
    from gitfed.hub import serve
    from gitfed.placement import recorded_facts

    host, colon, port = health_address.rpartition(":")
    if health_address and (not colon or not host or not port.isdecimal()):
        raise click.UsageError(f"--health-address {health_address!r} is not HOST:PORT")
    election = None
    if leader_elect:
        election = _election(
            leader_elect_resource_lock,
            leader_elect_context,
            leader_elect_resource_namespace,
            leader_elect_resource_name,
            (leader_elect_lease_duration, leader_elect_renew_deadline, leader_elect_retry_period),
        )
    logs.set_up(logging_format, log_level)
    where = _forge(repo, forge_kind, forge_api, forge_project, forge_token_file)
    ended_by = asyncio.run(
        serve.run(
            wiring.Options(
                repo=repo,
                branch=branch,
                data_dir=data_dir,
                kubeconfig=load.kubeconfig_paths(credentials),
                credentials_dir=credentials.credentials_dir,
                allow_exec=credentials.allow_exec,
                git_credentials=git_credentials,
                submodules=submodules,
                trusted_keys=trusted_keys,
                state_key=state_key,
                interval=interval,
                concurrency=concurrency,
                timing=Timing(max(frequency, 0.1), recorded_facts.Thresholds(failure, success)),
                lease=max(lease, 1.0),
                push_state=push_state,
                health_address=health_address,
                leader=election,
            ),
            forge=where,
            hub=hub,
            notify=notify_dir,
        )
    )
    return exits.INTERRUPTED if ended_by == signal.SIGINT else exits.OK


def _election(
    lock: str | None, context: str, namespace: str, name: str, times: tuple[float | None, float | None, float | None]
) -> leader.Options:
    from gitfed.daemon import leader

    lock = lock or ("leases" if context or os.environ.get("KUBERNETES_SERVICE_HOST") else "git")
    usual = leader.LEASES if lock == "leases" else leader.REFS
    lease, renew, retry = (
        round(given) if given is not None else default
        for given, default in zip(times, (usual.lease, usual.renew, usual.retry), strict=True)
    )
    if not (retry >= 1 and renew > 1.2 * retry and lease > renew):
        raise click.UsageError(
            f"lease duration {lease}s, renew deadline {renew}s and retry period {retry}s: the first must be longer "
            "than the second, and that longer than 1.2 times the third, which is a second at least"
        )
    return leader.Options(lock, context, namespace, name, leader.Timing(lease, renew, retry))


def _forge(repo: str, kind: str | None, api: str, project: str, token_file: Path | None) -> Forge | None:
    """Where commit statuses are set; None: nowhere. Raises UsageError, OSError."""
    if kind is None:
        if api or project or token_file is not None:
            raise click.UsageError("--forge names the kind of forge that the other --forge options are about")
        return None
    from gitfed.edges import forge
    from gitfed.edges.git import location

    known = forge.of_url(repo, kind)
    api, project = api or (known.api if known else ""), project or (known.project if known else "")
    if kind == "bitbucket" and known is None and not api and location.is_url(repo):
        raise click.UsageError(
            f"{location.shown(repo)} is not on Bitbucket Cloud, and of Bitbucket Data Center gitfed knows no statuses"
        )
    if not api or not project:
        raise click.UsageError("--forge-api and --forge-project are needed: the repository's URL does not tell them")
    token = token_file.read_text().strip() if token_file is not None else os.environ.get("GITFED_FORGE_TOKEN", "")
    return forge.connect(forge.Place(kind, api, project), token)
