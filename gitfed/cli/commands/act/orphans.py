"""gitfed orphans delete and gitfed orphans adopt"""

from __future__ import annotations

from collections.abc import Iterable

import click

from gitfed.cli import complete, load, options, parameters
from gitfed.cli.commands.act.suspend import book, person
from gitfed.cli.main import meant
from gitfed.errors import NotThere, UsageError
from gitfed.model.base import Body, ObjectKey
from gitfed.model.operator_orders import Removal
from gitfed.model.plan import Action, Change, Plan
from gitfed.model.reason import ReasonCode
from gitfed.offline import orders
from gitfed.text import emit
from gitfed.views import names


@click.group("orphans")
def command() -> None:
    """Settle what stays in clusters although nothing asks for it (gitfed get orphans lists it)."""


@command.command("delete", short_help="Let orphans be deleted, those very objects.")
@click.argument("only", metavar="[CLUSTER/]KIND[.GROUP]/[NS/]NAME...", nargs=-1, shell_complete=complete.orphans)
@parameters.option("--all", "all_orphans", shared=False, is_flag=True, help="Every orphan.")
@options.facts_or_live
@options.credentials
def delete(only: tuple[str, ...], all_orphans: bool, inputs: options.Inputs, credentials: options.Credentials) -> int:
    """Let orphans be deleted: those very objects, as they are named by gitfed get orphans -o name.

    The order is written to the state branch; the daemon, or the next gitfed apply, carries it out. No gate holds it. An
    object that has been replaced by another of its name meanwhile stays.

    \b
    gitfed orphans delete eu-1/Deployment.apps/shop/web
    gitfed orphans delete Deployment.apps/shop/web        in every cluster
    gitfed orphans delete --all

    \b
    Exit codes: 0 done · 2 no such orphan · 3 invalid input in the repository · 4 repository, its state branch or a
    cluster unreachable.
    """
    session = load.CommandSession(inputs, credentials)
    plan = session.plan(session.fleet(live=True))
    chosen = _chosen(orphans(plan), only, all_orphans=all_orphans)
    by = person()
    removals = [
        Removal(change.cluster, str(change.key), change.live.uid, by, session.now)
        for change in chosen
        if change.live is not None
    ]
    orders.remove(book(session), removals, now=session.now)
    for removal in removals:
        click.echo(f"{removal.cluster}: {removal.object} will be deleted")
    return load.tell_unread(plan)


@command.command("adopt", short_help="Print a policy that keeps orphans where they are.")
@click.argument("only", metavar="KIND[.GROUP]/[NS/]NAME...", nargs=-1, shell_complete=complete.orphans)
@parameters.option(
    "--all", "all_orphans", shared=False, is_flag=True, help="Every orphan whose template is still there."
)
@options.facts_or_live
@options.credentials
def adopt(only: tuple[str, ...], all_orphans: bool, inputs: options.Inputs, credentials: options.Credentials) -> int:
    """Print a policy for orphans that no policy selects any more, one that keeps each where it is.

    Nothing is written: put what it prints into a file of the repository and commit it.

    \b
    gitfed orphans adopt Deployment.apps/shop/web >> policies/adopted.yaml
    gitfed orphans adopt --all

    \b
    Exit codes: 0 done · 2 no such orphan, or its template is gone · 3 invalid input in the repository · 4 repository
    or a cluster unreachable.
    """
    session = load.CommandSession(inputs, credentials)
    plan = session.plan(session.fleet(live=True))
    candidates = [change for change in orphans(plan) if change.key in plan.bindings]
    where: dict[object, list[Change]] = {}
    for change in _chosen(candidates, only, all_orphans=all_orphans):
        where.setdefault(change.key, []).append(change)
    click.echo(emit.dump_many([_policy(changes) for changes in where.values()]), nl=False)
    return load.tell_unread(plan)


def orphans(plan: Plan) -> list[Change]:
    """Ours, and kept although nothing asks for them."""
    return [
        change
        for change in plan.changes or ()
        if change.action is Action.KEEP and not change.move and change.reason.code is not ReasonCode.NOT_OBSERVED
    ]


def _chosen(candidates: Iterable[Change], only: tuple[str, ...], *, all_orphans: bool) -> list[Change]:
    if bool(only) == all_orphans:
        raise UsageError("name the orphans, or say --all", hint="gitfed get orphans -o name lists them")
    candidates = list(candidates)
    if all_orphans:
        return candidates
    copies = {(change.cluster, change.key): change for change in candidates}
    chosen: set[tuple[str, ObjectKey]] = set()
    for name in only:
        try:
            chosen |= names.find_works(name, copies)
        except NotThere:
            spelled = {str(key) for _, key in copies} | {f"{cluster}/{key}" for cluster, key in copies}
            raise UsageError(
                f"no orphan {name!r}{meant(name, sorted(spelled))}", hint="gitfed get orphans -o name"
            ) from None
    return [change for copy, change in copies.items() if copy in chosen]


def _policy(changes: list[Change]) -> Body:
    key, version = changes[0].key, changes[0].api_version
    name = f"adopted-{key.kind}-{key.name}".lower().replace(":", ".")
    selector = {"apiVersion": version, "kind": key.kind, "name": key.name}
    metadata: dict[str, str] = {"name": name}
    if key.namespace:
        metadata["namespace"] = key.namespace
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy" if key.namespace else "ClusterPropagationPolicy",
        "metadata": metadata,
        "spec": {
            "resourceSelectors": [selector],
            "placement": {"clusterAffinity": {"clusterNames": sorted(change.cluster for change in changes)}},
        },
    }
