"""gitfed run"""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import click

from gitfed.cli import exits, load, options


@click.command("run")
@options.option("--repo", metavar="PATH|URL", default=".",
                help="The repository to follow: a path, or a URL.  [default: the one around this folder]")  # fmt: skip
@options.GIT_CREDENTIALS
@options.option("--branch", metavar="NAME", default=None, help="The branch to follow.  [default: what HEAD names]")
@options.credentials
@options.option(
    "--data-dir", type=options.Files(file_okay=False), metavar="DIR", default=None,
    help="Where this daemon keeps its clone, its state and its cache.  [default: below XDG_STATE_HOME]",
)  # fmt: skip
@options.option(
    "--interval", type=options.Duration(), metavar="DURATION", default=None,
    help="Seconds between polls of a remote; beats spec.sync.interval.",
)  # fmt: skip
@options.option("--concurrency", type=click.IntRange(1, 256), default=16, show_default=True,
                help="Requests to one cluster at a time.")  # fmt: skip
@options.option("--push-state/--no-push-state", default=None,
                help="Push the state branch.  [default: spec.state.push]")  # fmt: skip
@options.option(
    "--health-address", metavar="HOST:PORT", default="127.0.0.1:8484", show_default=True,
    help='Where /livez and /readyz answer; "" for nowhere, port 0 for any.',
)  # fmt: skip
@options.option("--logging-format", type=click.Choice(["text", "json"]), default="text", show_default=True,
                help="Form of the log on stderr.")  # fmt: skip
@options.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info",
                show_default=True, help="The least severe lines to write.")  # fmt: skip
def command(
    repo: str,
    git_credentials: Path | None,
    branch: str | None,
    credentials: options.Credentials,
    data_dir: Path | None,
    interval: float | None,
    concurrency: int,
    push_state: bool | None,
    health_address: str,
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
    from gitfed.hub import serve

    host, colon, port = health_address.rpartition(":")
    if health_address and (not colon or not host or not port.isdecimal()):
        raise click.UsageError(f"--health-address {health_address!r} is not HOST:PORT")
    logs.set_up(logging_format, log_level)
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
                interval=interval,
                concurrency=concurrency,
                push_state=push_state,
                health_address=health_address,
            )
        )
    )
    return exits.INTERRUPTED if ended_by == signal.SIGINT else exits.OK
