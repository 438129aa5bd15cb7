"""gitfed hub"""

from __future__ import annotations

import asyncio
import dataclasses
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitfed.cli import exits, hub_options, log_options, options, parameters
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.hub.options import HubOptions


@dataclass(frozen=True, slots=True)
class Followed:
    """The repository, and what is kept of it: as `daemon.wiring.DaemonOptions` calls it."""

    repo: str
    git_credentials: Path | None
    submodules: tuple[str, ...]
    branch: str | None
    data_dir: Path | None
    interval: float | None


@click.command("hub")
@parameters.option(
    "--repo",
    metavar="PATH|URL",
    default=".",
    help="The repository that the daemon follows.  [default: the one around this folder]",
)
@options.GIT_CREDENTIALS
@options.SUBMODULES
@parameters.option("--branch", metavar="NAME", default=None, help="The branch it follows.  [default: what HEAD names]")
@parameters.option(
    "--data-dir",
    type=parameters.Files(file_okay=False),
    metavar="DIR",
    default=None,
    help="A folder for this process alone.  [default: below XDG_STATE_HOME]",
)
@parameters.option(
    "--interval",
    type=parameters.Duration(),
    metavar="DURATION",
    default=None,
    help="Time between two looks; beats spec.sync.interval.",
)
@hub_options.hub
@log_options.log
@parameters.value("followed", Followed)
def command(followed: Followed, hub: HubOptions | None, log: log_options.Log) -> int:
    """Serve the hub without the engine: more replicas for users who only read.

    It shows what the daemon that leads has recorded in Git: decisions and facts, as of the last look. It asks no
    cluster, and operates nothing.

    \b
    gitfed hub --repo https://git.example/fleet.git --hub-address 0.0.0.0:8443

    \b
    Exit codes: 0 stopped by SIGTERM · 130 interrupted · 2 bad usage.
    """
    from gitfed.daemon import wiring
    from gitfed.hub import serve

    if hub is None:
        raise click.UsageError("--hub-address says where the hub is to listen")
    log.set_up()
    ended_by = asyncio.run(serve.hub_alone(wiring.DaemonOptions(**dataclasses.asdict(followed)), hub))
    return exits.INTERRUPTED if ended_by == signal.SIGINT else exits.OK
