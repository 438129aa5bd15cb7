"""gitfed demo"""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from gitfed.cli import long_running, options, parameters
from gitfed.cli.demo.stage import Stage


@click.command("demo")
@click.argument("act", type=click.Choice(["push", "failover", "pull"]), default="push", required=False)
@parameters.option("--once", shared=False, is_flag=True, help="End after the guided part: 0 if everything was as told.")
@parameters.option(
    "--dir",
    "folder",
    shared=False,
    type=parameters.Files(file_okay=False),
    default=None,
    metavar="DIR",
    help="Keep repository, kubeconfig and state there.  [default: a folder that goes away]",
)
@options.output("text")
def command(act: str, once: bool, folder: Path | None, output: options.Output) -> int:
    """Watch a fleet follow a repository: four clusters inside this process, an example repository, and a few pushes.

    The act "failover" kills a region instead, and shows how work and its state move, and what comes back. The act
    "pull" registers a cluster that only an agent inside of it can reach, and kills the daemon.

    Nothing outside a temporary folder is touched. Afterwards the fleet goes on running: push to it, look into it with
    kubectl, and stop it with Control-C.

    \b
    gitfed demo
    gitfed demo --once            only the guided part, for scripts
    gitfed demo failover          a region fails and comes back
    gitfed demo pull              a cluster behind a firewall, and the hub dies

    \b
    Exit codes: 0 done · 6 something was not as told · 130 interrupted.
    """
    with tempfile.TemporaryDirectory(prefix="gitfed-demo-") as scratch:
        place = (folder or Path(scratch)).resolve()
        place.mkdir(parents=True, exist_ok=True)
        return long_running.run(
            lambda: _act(act)(place, output.paint, quiet=output.quiet).play(once=once, stays=bool(folder))
        )


def _act(name: str) -> type[Stage]:
    """What an act needs is imported for that act alone."""
    if name == "failover":
        from gitfed.cli.demo.failover import Failover

        return Failover
    if name == "pull":
        from gitfed.cli.demo.pull import Pull

        return Pull
    from gitfed.cli.demo.push import Push

    return Push
