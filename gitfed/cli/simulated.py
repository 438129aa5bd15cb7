"""gitfed sim up"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from gitfed.cli import lasting, load, options, words
from gitfed.edges import files
from gitfed.errors import UsageError

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,46}[a-z0-9])?")


@click.group("sim")
def command() -> None:
    """Run clusters inside this process: they speak the Kubernetes API, and kubectl works against them."""


@command.command("up")
@options.option(
    "--clusters",
    shared=False,
    type=click.IntRange(1, 1000),
    default=3,
    show_default=True,
    metavar="N",
    help="How many; named member1, member2, …",
)
@options.option(
    "--name",
    "named",
    shared=False,
    multiple=True,
    metavar="NAME",
    help="A cluster of this name; may be repeated, instead of --clusters.",
)
@options.option(
    "--kubeconfig",
    "target",
    shared=False,
    required=True,
    type=options.Files(dir_okay=False),
    metavar="FILE",
    help="Write a kubeconfig there: one context per cluster, the first is current.",
)
@options.option(
    "--port",
    shared=False,
    type=click.IntRange(0, 65535),
    default=0,
    metavar="PORT",
    help="Port of the first cluster, the others follow.  [default: free ones]",
)
@options.option("-q", "--quiet", is_flag=True, help="Say nothing.")
def up(clusters: int, named: tuple[str, ...], target: Path, port: int, quiet: bool) -> int:
    """Start clusters and keep them until interrupted. They listen on this machine alone and forget everything.

    \b
    gitfed sim up --clusters 4 --kubeconfig fleet.conf
    kubectl --kubeconfig fleet.conf --context member2 get namespaces

    \b
    Exit codes: 0 stopped by SIGTERM · 2 bad usage · 130 interrupted.
    """
    names = list(named) or [f"member{number}" for number in range(1, clusters + 1)]
    for name in names:
        if not _NAME.fullmatch(name) or names.count(name) > 1:
            raise UsageError(
                f"{name!r} cannot be the name of a cluster", hint="lower-case letters, digits, dashes; once"
            )
    return lasting.run(lambda: _serve(names, target, port, quiet=quiet))


async def _serve(names: Sequence[str], target: Path, port: int, *, quiet: bool) -> int:
    fleet = await start(names, port)
    try:
        write_kubeconfig(target, fleet)
        if not quiet:
            click.echo(f"{words.count(len(fleet), 'cluster')} ready: {words.some(list(names))}; kubeconfig: {target}")
            load.note("Control-C stops them")
        await asyncio.Event().wait()
    finally:
        await stop(fleet)
    return 0


async def start(names: Sequence[str], port: int = 0) -> list[Any]:
    """Started clusters with controllers; all or none."""
    from gitfed.sim.cluster import Cluster

    fleet = [Cluster(name, controllers=True) for name in names]
    started = []
    try:
        for number, cluster in enumerate(fleet):
            await cluster.start(port + number if port else 0)
            started.append(cluster)
    except OSError:
        await stop(started)
        raise
    return fleet


async def stop(fleet: Sequence[Any]) -> None:
    for cluster in fleet:
        await cluster.stop()


def kubeconfig(fleet: Sequence[Any]) -> dict[str, Any]:
    """One configuration for all; the first context is current."""
    parts = [cluster.kubeconfig() for cluster in fleet]
    merged: dict[str, Any] = {"apiVersion": "v1", "kind": "Config", "preferences": {}}
    for member in ("clusters", "users", "contexts"):
        merged[member] = [item for part in parts for item in part[member]]
    return {**merged, "current-context": parts[0]["current-context"]}


def write_kubeconfig(target: Path, fleet: Sequence[Any]) -> None:
    """Readable by its owner alone, as every kubeconfig should be."""
    from gitfed.text import yaml

    target.parent.mkdir(parents=True, exist_ok=True)
    files.write_atomically(target, yaml.dump(kubeconfig(fleet)).encode())
