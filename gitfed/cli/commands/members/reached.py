"""Which cluster of the fleet `-C` names, and how kubectl gets there: what all commands for members share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gitfed.cli import complete, load, options, parameters
from gitfed.cli.parameters import Command, gathered
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.member_access.contexts import KubeContext

KUBECONFIG = parameters.option(
    "--kubeconfig",
    type=parameters.Files(exists=True, dir_okay=False),
    metavar="FILE",
    help="kubeconfig with a context for the hub, or without one a context for each cluster.  [default: KUBECONFIG]",
)
_HELP = """{first}

With --server the cluster is reached through the hub's door, in your name and as far as an AccessPolicy and the
cluster's RBAC let you; pulled clusters, too. Without, by the context of your kubeconfig that has the cluster's name.
What is not listed below is kubectl's, which has to be installed.

\b
gitfed {example}
gitfed {verb} --server https://gitfed.example:8443 {rest}

\b
Exit codes: kubectl's own · 2 bad usage, or there is no kubectl · 3 a credential that cannot be used.
"""


def contexts(
    names: tuple[str, ...], server: options.Server | None, credentials: options.Credentials
) -> list[KubeContext]:
    """Raises UsageError, InputError."""
    from gitfed.member_access import contexts as kube_contexts

    if server is None:
        paths = load.kubeconfig_paths(credentials)
        return [kube_contexts.own(paths, name) for name in names]
    url, who = load.caller(server, credentials)
    return [kube_contexts.through_door(url, who, name) for name in names]


@dataclass(frozen=True, slots=True)
class Members:
    """The clusters that are asked themselves, and for what."""

    members: str
    """ "": none, gitfed answers."""
    everywhere: bool
    selector: str


_MEMBERS = parameters.option(
    "-C",
    "--clusters",
    "members",
    shared=False,
    type=complete.CLUSTERS,
    metavar="C,C",
    default="",
    is_eager=True,
    shell_complete=complete.clusters,
    help="Ask these clusters themselves, with kubectl.",
)
_ALL_NAMESPACES = parameters.option(
    "-A", "--all-namespaces", "everywhere", shared=False, is_flag=True, help="With -C: in all namespaces."
)
_SELECTOR = parameters.option(
    "-l", "--selector", shared=False, metavar="LABELS", default="", help="With -C: only objects with these labels."
)


def members(command: Command) -> Command:
    """--clusters, --all-namespaces and --selector → `members: Members`."""
    return gathered(command, "members", (_MEMBERS, _ALL_NAMESPACES, _SELECTOR), lambda values: Members(**values))


def split(text: str) -> tuple[str, ...]:
    """`a,b` as karmadactl takes it; each once, in that order."""
    return tuple(dict.fromkeys(part for part in text.split(",") if part))


class PassedOn(click.Command):
    """Everything but our own options goes on as it is, in its order. click would look for ours in the middle of
    kubectl's (`-nshop` has an `h`), and take away the `--` that kubectl has to see."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ours = {name for parameter in self.params if isinstance(parameter, click.Option) for name in parameter.opts}
        own: list[str] = []
        others: list[str] = []
        left = list(args)
        while left:
            word = left.pop(0)
            if word == "--":
                others += [word, *left]
                break
            if word in ours:
                own += [word, *left[:1]]
                del left[:1]
            elif word in ("-h", "--help") or (word.startswith("--") and word.partition("=")[0] in ours):
                own.append(word)
            elif word.startswith("-C"):
                own += ["-C", word.removeprefix("-C")]
            else:
                others.append(word)
        return super().parse_args(ctx, [*own, "--", *others])


def command(verb: str, first: str, *, example: str, metavar: str) -> click.Command:
    """`gitfed VERB -C CLUSTER …`: everything but a few options of ours goes to `kubectl VERB` as it is."""

    def run(arguments: tuple[str, ...], cluster: str, server: options.Server | None, kubeconfig: Path | None) -> int:
        from gitfed.member_access import kubectl

        named = split(cluster)
        if len(named) != 1:
            raise click.UsageError(f"{verb} is for one cluster: -C NAME")
        (context,) = contexts(named, server, options.Credentials(kubeconfig))
        return kubectl.run(context, [verb, *arguments])

    run.__doc__ = _HELP.format(first=first, verb=verb, example=example, rest=example.removeprefix(f"{verb} "))
    decorated: Any = run
    wrappers: list[Callable[[Any], Any]] = [
        options.server,
        KUBECONFIG,
        parameters.option(
            "-C",
            "--cluster",
            shared=False,
            type=complete.CLUSTERS,
            metavar="C",
            default="",
            shell_complete=complete.clusters,
            help="The cluster.",
        ),
        click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar=metavar),
    ]
    for wrap in wrappers:
        decorated = wrap(decorated)
    made: click.Command = click.command(verb, cls=PassedOn)(decorated)
    return made
