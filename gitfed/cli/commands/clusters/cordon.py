"""gitfed cordon, gitfed uncordon"""

from __future__ import annotations

from typing import Any

import click

from gitfed.cli import complete, desired
from gitfed.cli.output import plain
from gitfed.model.keys import UNSCHEDULABLE


@click.command("cordon")
@click.argument("name", metavar="CLUSTER", type=complete.CLUSTER, shell_complete=complete.clusters)
@desired.writing
def command(name: str, writing: desired.WriteOptions) -> int:
    """Let no new work into CLUSTER. What runs there stays.

    Writes the taint cluster.karmada.io/unschedulable:NoSchedule into the cluster's file. It counts once it is pushed.

    \b
    gitfed cordon eu-1 --commit && git push

    \b
    Exit codes: 0 done, also when it was cordoned already · 2 no such cluster · 4 no checkout.
    """
    return _cordon(name, True, writing)


@click.command("uncordon")
@click.argument("name", metavar="CLUSTER", type=complete.CLUSTER, shell_complete=complete.clusters)
@desired.writing
def uncordon(name: str, writing: desired.WriteOptions) -> int:
    """Let new work into CLUSTER again.

    Takes the taint cluster.karmada.io/unschedulable:NoSchedule out of the cluster's file. It counts once it is pushed.

    \b
    gitfed uncordon eu-1 --commit && git push

    \b
    Exit codes: 0 done, also when it was not cordoned · 2 no such cluster · 4 no checkout.
    """
    return _cordon(name, False, writing)


def _cordon(name: str, wanted: bool, writing: desired.WriteOptions) -> int:
    checkout = desired.open_checkout(writing.repo)
    taints = checkout.cluster(name).spec.taints
    done = "cordoned" if wanted else "uncordoned"
    if any(is_unschedulable(taint.key, taint.effect) for taint in taints) == wanted:
        click.echo(f"{plain.clean(name)} cluster already {done}")
        return 0

    def change(cluster: Any) -> None:
        listed = cluster["spec"].setdefault("taints", [])
        if wanted:
            listed.append({"key": UNSCHEDULABLE, "effect": "NoSchedule"})
        else:
            drop_taints(cluster, is_unschedulable)

    checkout.edit_cluster(name, change)
    desired.finish(checkout, f"{done.removesuffix('ed').capitalize()} {name}", writing)
    click.echo(
        f"{plain.clean(name)} cluster {done}{' (dry run)' if writing.dry_run else ''}", err=bool(writing.dry_run)
    )
    return 0


def is_unschedulable(key: str, effect: str) -> bool:
    return (key, effect) == (UNSCHEDULABLE, "NoSchedule")


def drop_taints(cluster: Any, which: Any) -> None:
    """Take taints out of a declaration; a list that holds nothing more goes too."""
    listed = cluster["spec"]["taints"]
    for position in reversed(range(len(listed))):
        if which(str(listed[position].get("key")), str(listed[position].get("effect"))):
            del listed[position]
    if not listed:
        del cluster["spec"]["taints"]
