"""gitfed sim up, fail, recover"""

from __future__ import annotations

import asyncio
import importlib.util
import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gitfed.cli import load, long_running, options, parameters
from gitfed.cli.output import formatting
from gitfed.edges import files
from gitfed.errors import ClusterUnreachable, GitfedError, NotThere, UsageError
from gitfed.text import quantity, yaml
from gitfed.text.construct import YamlError
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from kubesim.fleet import ClusterSpec, Fleet

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,46}[a-z0-9])?")


def need_kubesim() -> None:
    """A refusal where the simulated clusters are missing. A distribution of their own: a daemon needs none."""
    if importlib.util.find_spec("kubesim") is None:
        raise UsageError(
            "clusters inside this process are simulated by kubesim, which is not installed",
            hint="pip install 'gitfed[demo]'; in a checkout of gitfed: pip install ./kubesim",
        )


@dataclass(frozen=True, slots=True)
class Nodes:
    """Those of each cluster."""

    nodes: int
    cpu: str
    memory: str


@click.group("sim")
def command() -> None:
    """Run clusters inside this process: they speak the Kubernetes API, and kubectl works against them."""


@command.command("up")
@parameters.option(
    "--clusters",
    shared=False,
    type=click.IntRange(1, 1000),
    default=3,
    show_default=True,
    metavar="N",
    help="How many; named member1, member2, …",
)
@parameters.option(
    "--name",
    "named",
    shared=False,
    multiple=True,
    metavar="NAME",
    help="A cluster of this name; may be repeated, instead of --clusters.",
)
@parameters.option(
    "--kubeconfig",
    "target",
    shared=False,
    required=True,
    type=parameters.Files(dir_okay=False),
    metavar="FILE",
    help="Write a kubeconfig there: one context per cluster, the first is current.",
)
@parameters.option(
    "--nodes",
    shared=False,
    type=click.IntRange(0, 1000),
    default=3,
    show_default=True,
    metavar="N",
    help="Nodes of each cluster.",
)
@parameters.option("--cpu", shared=False, default="4", show_default=True, metavar="QUANTITY", help="CPU of each node.")
@parameters.option(
    "--memory", shared=False, default="8Gi", show_default=True, metavar="QUANTITY", help="Memory of each node."
)
@parameters.option(
    "--port",
    shared=False,
    type=click.IntRange(0, 65535),
    default=0,
    metavar="PORT",
    help="Port of the first cluster, the others follow.  [default: free ones]",
)
@parameters.option(
    "--controllers/--no-controllers",
    shared=False,
    default=True,
    show_default=True,
    help="Give workloads pods and a status; without, only the API answers, as in envtest.",
)
@parameters.option("-q", "--quiet", is_flag=True, help="Say nothing.")
@parameters.value("nodes", Nodes)
def up(
    clusters: int, named: tuple[str, ...], target: Path, nodes: Nodes, port: int, controllers: bool, quiet: bool
) -> int:
    """Start clusters and keep them until interrupted. They listen on this machine alone and forget everything.

    \b
    gitfed sim up --clusters 4 --kubeconfig fleet.conf
    kubectl --kubeconfig fleet.conf --context member2 get nodes

    Nothing runs in a pod; its log, a shell in it, its ports and what it uses can be asked for all the same. An image
    named example.invalid/crash crashes as soon as it starts, never-ready never becomes ready, failing ends with an
    error, does-not-exist cannot be pulled. gitfed sim fail takes a cluster away, gitfed sim recover brings it back.

    \b
    Exit codes: 0 stopped by SIGTERM · 2 bad usage · 130 interrupted.
    """
    names = list(named) or [f"member{number}" for number in range(1, clusters + 1)]
    for name in names:
        if not _NAME.fullmatch(name) or names.count(name) > 1:
            raise UsageError(
                f"{name!r} cannot be the name of a cluster", hint="lower-case letters, digits, dashes; once"
            )
    for amount in (nodes.cpu, nodes.memory):
        try:
            quantity.parse(amount)
        except quantity.QuantityError as error:
            raise UsageError(f"{amount!r} is not an amount of CPU or memory", hint="such as 500m, 4, 8Gi") from error
    need_kubesim()
    # Imported here: the clusters are large, and the help of this command needs none of them.
    from kubesim.fleet import ClusterSpec

    specs = [
        ClusterSpec(
            name=name,
            nodes=nodes.nodes,
            cpu=nodes.cpu,
            memory=nodes.memory,
            port=port + number if port else 0,
            controllers=controllers,
        )
        for number, name in enumerate(names)
    ]
    return long_running.run(lambda: _serve(specs, target, quiet=quiet))


async def _serve(specs: Sequence[ClusterSpec], target: Path, *, quiet: bool) -> int:
    from kubesim.fleet import Fleet

    async with Fleet(specs) as fleet:
        write_kubeconfig(target, fleet)
        if not quiet:
            names = formatting.some([spec.name for spec in specs])
            click.echo(f"{formatting.count(len(specs), 'cluster')} ready: {names}; kubeconfig: {target}")
            load.note("Control-C stops them")
        await asyncio.Event().wait()
    return 0


def write_kubeconfig(target: Path, fleet: Fleet, names: Collection[str] = ()) -> None:
    """Readable by its owner alone, as every kubeconfig should be. `names`: of the clusters in it; none: all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    merged = fleet.kubeconfig()
    if names:
        for part in ("clusters", "users", "contexts"):
            merged[part] = [entry for entry in merged[part] if entry["name"] in names]
        merged["current-context"] = merged["contexts"][0]["name"]
    files.write_atomically(target, yaml.dump(merged).encode())


def _order(name: str, summary: str) -> Callable[[Callable[..., int]], click.Command]:
    """What both orders to a running fleet take."""

    def made(work: Callable[..., int]) -> click.Command:
        for parameter in (
            parameters.option("-q", "--quiet", is_flag=True, help="Say nothing."),
            parameters.option(
                "--kubeconfig",
                shared=False,
                type=parameters.Files(exists=True, dir_okay=False),
                metavar="FILE",
                help="The kubeconfig of the fleet, as gitfed sim up wrote it.  [default: KUBECONFIG]",
            ),
            click.argument("clusters", nargs=-1, required=True, metavar="CLUSTER...", shell_complete=_running),
        ):
            work = parameter(work)
        return command.command(name, short_help=summary)(work)

    return made


def _running(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The clusters of the fleet that takes orders."""
    try:
        fleet = _fleet(ctx.params.get("kubeconfig"))
    except GitfedError:
        return []
    return [name for name in _names(fleet) if name.startswith(incomplete)]


def _names(fleet: dict[str, Any]) -> list[str]:
    return [str(context["name"]) for context in fleet["contexts"]]


@_order("fail", "Take a cluster of a running fleet away.")
def fail(clusters: tuple[str, ...], kubeconfig: Path | None, quiet: bool) -> int:
    """Take clusters of a running fleet away: nothing answers at their addresses any more.

    What is in them stays. It works on the clusters of gitfed sim up and on those of gitfed demo.

    \b
    gitfed sim fail member2 --kubeconfig fleet.conf

    \b
    Exit codes: 0 done · 2 no such cluster, or not the kubeconfig of a fleet of gitfed sim · 4 the fleet does not run.
    """
    return _send("fail", clusters, kubeconfig, quiet=quiet)


@_order("recover", "Bring a cluster of a running fleet back.")
def recover(clusters: tuple[str, ...], kubeconfig: Path | None, quiet: bool) -> int:
    """Bring clusters of a running fleet back, at their old addresses and with all that was in them.

    \b
    gitfed sim recover member2 --kubeconfig fleet.conf

    \b
    Exit codes: 0 done · 2 no such cluster, or not the kubeconfig of a fleet of gitfed sim · 4 the fleet does not run.
    """
    return _send("recover", clusters, kubeconfig, quiet=quiet)


def _send(verb: str, clusters: Sequence[str], kubeconfig: Path | None, *, quiet: bool) -> int:
    need_kubesim()
    from kubesim import control

    fleet = _fleet(kubeconfig)
    port, names = control.port_of(fleet), _names(fleet)
    assert port is not None
    for name in clusters:
        if name not in names:
            raise NotThere(f"the fleet has no cluster {name}", hint=f"it has {formatting.some(names)}")
    for name in clusters:
        try:
            told = asyncio.run(control.order(port, verb, name))
        except (OSError, control.ControlError) as error:
            raise ClusterUnreachable(
                "the fleet of this kubeconfig does not run any more", hint="gitfed sim up starts one"
            ) from error
        if not quiet:
            click.echo(told)
    return 0


def _fleet(kubeconfig: Path | None) -> dict[str, Any]:
    """The first kubeconfig at hand that is of a fleet which takes orders. UsageError if none is."""
    need_kubesim()
    from kubesim import control

    for path in load.kubeconfig_paths(options.Credentials(kubeconfig)):
        try:
            documents = yaml.load_all(path.read_bytes())
        except (OSError, YamlError):
            continue
        if documents and isinstance(documents[0], dict) and control.port_of(documents[0]) is not None:
            fleet: dict[str, Any] = documents[0]
            return fleet
    raise UsageError("no kubeconfig of a running fleet", hint="--kubeconfig FILE, as gitfed sim up wrote it")
