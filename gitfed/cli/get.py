"""gitfed get"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import click

from gitfed.cli import complete, exits, load, matrix, names, options, plan_json, plan_text, structured, table, validate
from gitfed.cli.main import meant
from gitfed.errors import UsageError
from gitfed.model.declared.policy import Override, Propagation
from gitfed.model.fleet import FleetSnapshot
from gitfed.model.plan import Action, Plan


@dataclass(frozen=True, slots=True)
class Listing:
    """Rows for every printer: `head` and `rows` for people (`wide` more columns), `items` for programs."""

    kind: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    items: Sequence[dict[str, Any]]
    names: Sequence[str]
    wide: int = 0
    """How many of the last columns only `-o wide` shows."""


_THINGS = ("clusters", "bindings", "policies", "problems", "works", "orphans")
_WORDS = {
    "cluster": "clusters", "binding": "bindings", "rb": "bindings", "crb": "bindings", "resourcebindings": "bindings",
    "policy": "policies", "pp": "policies", "cpp": "policies", "op": "policies", "cop": "policies",
    "problem": "problems", "work": "works", "orphan": "orphans",
}  # fmt: skip


class Thing(click.ParamType[str]):
    name = "thing"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        word = str(value).lower()
        found = word if word in _THINGS else _WORDS.get(word)
        if found is None:
            self.fail(f"nothing called {value!r} to list{meant(word, list(_THINGS))}: {', '.join(_THINGS)}", param, ctx)
        return found

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[click.shell_completion.CompletionItem]:
        return [click.shell_completion.CompletionItem(name) for name in _THINGS if name.startswith(incomplete)]


def _named(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    offer = {"clusters": complete.clusters, "policies": complete.policies, "bindings": complete.workloads}
    found = offer.get(ctx.params.get("thing") or "")
    return found(ctx, param, incomplete) if found else []


@click.command("get")
@click.argument("thing", type=Thing(), metavar="|".join(_THINGS))
@click.argument("only", metavar="[NAME]...", nargs=-1, shell_complete=_named)
@options.facts_or_live
@options.credentials
@options.option("-n", "--namespace", shared=False, metavar="NS", default="", help="Only this namespace.")
@options.option(
    "-c",
    "--cluster",
    shared=False,
    metavar="C",
    default="",
    shell_complete=complete.clusters,
    help="Only this cluster.",
)
@options.output("text", "wide", "json", "yaml", "name")
def command(
    thing: str,
    only: tuple[str, ...],
    inputs: options.Inputs,
    credentials: options.Credentials,
    namespace: str,
    cluster: str,
    output: options.Output,
) -> int:
    """List things, with kubectl's feel.

    \b
    clusters    members of the fleet: version, state, region, taints
    bindings    where each object goes
    policies    propagation and override policies, and how many objects they take
    problems    what is wrong, as gitfed validate
    works       every object in every cluster; with --live its state there
    orphans     objects in clusters that no policy or file asks for any more (reads the clusters)

    \b
    gitfed get clusters -o wide
    gitfed get bindings -n shop
    gitfed get works --live --cluster eu-1

    \b
    Exit codes: 0 done · 2 bad usage, or nothing of that name · 3 invalid input in the repository · 4 repository or a
    cluster unreachable.
    """
    session = load.Session(inputs, credentials)
    if thing == "problems":
        found = validate.problems_of(session)
        validate.show(found, output, of=validate.contents(session.repo))
        return load.code(found)
    fleet = session.fleet(live=True if thing == "orphans" else None)
    plan = session.plan(fleet)
    if cluster and cluster not in plan.clusters:
        raise UsageError(f"no cluster {cluster!r}{meant(cluster, list(plan.clusters))}")
    listing = _LISTINGS[thing](session, fleet, plan, namespace, cluster)
    listing = _chosen(listing, only)
    show(listing, output)
    unread = any("could not be read" in note for note in plan.notes)
    for note in plan.notes:
        if "could not be read" in note:
            load.note(note)
    return exits.first([load.code(plan.problems), exits.UNREACHABLE if unread else exits.OK])


def _chosen(listing: Listing, only: tuple[str, ...]) -> Listing:
    if not only:
        return listing
    spelled = [{name, name.rpartition("/")[2], row[0]} for name, row in zip(listing.names, listing.rows, strict=True)]
    for name in only:
        if not any(name in spellings for spellings in spelled):
            known = sorted(set().union(*spelled)) if spelled else []
            raise UsageError(f"no {listing.kind} {name!r}{meant(name, known)}")
    kept = [index for index, spellings in enumerate(spelled) if spellings & set(only)]
    return Listing(
        listing.kind, listing.head, [listing.rows[i] for i in kept], [listing.items[i] for i in kept],
        [listing.names[i] for i in kept], listing.wide,
    )  # fmt: skip


def show(listing: Listing, output: options.Output) -> None:
    if output.format in ("json", "yaml"):
        structured.echo({"schema": f"gitfed.io/{listing.kind}/v1", "items": list(listing.items)}, output.format)
        return
    if output.format == "name":
        for name in listing.names:
            click.echo(name)
        return
    if output.quiet:
        click.echo(str(len(listing.rows)))
        return
    if not listing.rows:
        click.echo(f"No {listing.kind} found.", err=True)
        return
    cut = len(listing.head) - (0 if output.format == "wide" else listing.wide)
    for line in table.lines([listing.head[:cut], *(row[:cut] for row in listing.rows)]):
        click.echo(line)


# -- what is listed ---------------------------------------------------------------------------------------------


def _clusters(session: load.Session, fleet: FleetSnapshot, plan: Plan, namespace: str, only: str) -> Listing:
    rows, items = [], []
    for candidate in load.candidates(session.repo, fleet):
        if only and candidate.name != only:
            continue
        facts, declared = candidate.facts, session.repo.clusters.get(candidate.name)
        objects = sum(1 for binding in plan.bindings.values() if binding.share_of(candidate.name))
        elsewhere = ((facts.declared if facts else None) or {}).get("spec") or {}
        mode = declared.spec.sync_mode if declared else elsewhere.get("syncMode", "")
        version = facts.kubernetes_version if facts else ""
        assumed = facts is None or facts.assumed
        ready = "assumed" if assumed else {"Ready": "True", "NotReady": "False"}.get(candidate.reach.value, "Unknown")
        taints = [str(taint) for taint in candidate.taints]
        rows.append([
            candidate.name, version or matrix.NONE, mode or matrix.NONE, ready, candidate.region or matrix.NONE,
            str(objects), " ".join(taints) or matrix.NONE, candidate.provider or matrix.NONE,
            " ".join(candidate.zones) or matrix.NONE, str(declared.origin) if declared else "facts only",
        ])  # fmt: skip
        items.append({
            "name": candidate.name, "version": version, "mode": mode, "state": candidate.reach.value,
            "assumed": assumed, "region": candidate.region, "provider": candidate.provider,
            "zones": list(candidate.zones), "taints": taints, "objects": objects,
            "labels": dict(candidate.labels), "declared": str(declared.origin) if declared else None,
        })  # fmt: skip
    head = ["NAME", "VERSION", "MODE", "READY", "REGION", "OBJECTS", "TAINTS", "PROVIDER", "ZONES", "FILE"]
    return Listing("clusters", head, rows, items, [row[0] for row in rows], wide=3)


def _bindings(session: load.Session, fleet: FleetSnapshot, plan: Plan, namespace: str, only: str) -> Listing:
    rows, items, called = [], [], []
    for key, binding in plan.bindings.items():
        if (namespace and key.namespace != namespace) or (only and not binding.share_of(only)):
            continue
        shares = [s.cluster if s.replicas is None else f"{s.cluster}={s.replicas}" for s in binding.shares]
        failed = plan_text.failed(binding)
        scheduled = matrix.NONE if binding.condition is None else "False" if failed else "True"
        rows.append([
            names.shown(key), str(binding.policy) if plan_json.is_policy(binding.policy) else matrix.NONE, scheduled,
            matrix.NONE if binding.replicas is None else str(binding.replicas),
            " ".join(shares) or matrix.NONE, plan_text.why(binding, None), str(binding.origin),
        ])  # fmt: skip
        items.append(plan_json.binding(binding))
        called.append(names.typed(key))
    head = ["OBJECT", "POLICY", "SCHEDULED", "REPLICAS", "CLUSTERS", "WHY", "FILE"]
    return Listing("bindings", head, rows, items, called, wide=2)


def _policies(session: load.Session, fleet: FleetSnapshot, plan: Plan, namespace: str, only: str) -> Listing:
    taken: dict[str, int] = {}
    for binding in plan.bindings.values():
        if binding.policy is not None:
            taken[str(binding.policy)] = taken.get(str(binding.policy), 0) + 1
    for classes in plan.rendered.values():
        for by in {edit.by for rendered in classes for edit in rendered.edits}:
            taken[by] = taken.get(by, 0) + 1
    rows, items = [], []
    declared: tuple[Propagation | Override, ...] = (*session.repo.propagation, *session.repo.overrides)
    for policy in declared:
        space = policy.metadata.namespace or ""
        if namespace and space != namespace:
            continue
        called = "/".join(part for part in (policy.kind, space, policy.metadata.name) if part)
        priority = getattr(policy.spec, "priority", None)
        rows.append([
            called, matrix.NONE if priority is None else str(priority), str(taken.get(called, 0)), str(policy.origin)
        ])  # fmt: skip
        items.append({
            "kind": policy.kind, "namespace": space, "name": policy.metadata.name, "priority": priority,
            "objects": taken.get(called, 0), "origin": str(policy.origin),
        })  # fmt: skip
    return Listing("policies", ["NAME", "PRIORITY", "OBJECTS", "FILE"], rows, items, [row[0] for row in rows])


def _works(session: load.Session, fleet: FleetSnapshot, plan: Plan, namespace: str, only: str) -> Listing:
    pending = {(change.cluster, change.key): change for change in plan.changes or ()}
    rows, items, called = [], [], []
    everywhere = {
        key: {name: rendered for rendered in classes for name in rendered.clusters}
        for key, classes in plan.rendered.items()
        if not namespace or key.namespace == namespace
    }
    for cluster in plan.clusters:
        for key, placed in everywhere.items():
            if cluster not in placed or (only and cluster != only):
                continue
            live = fleet.live.objects.get(key, {}) if fleet.live else {}
            seen, change = live.get(cluster), pending.get((cluster, key))
            if fleet.live is None:
                state, health, message = "not observed", matrix.NONE, ""
            else:
                state = "applied" if change is None else change.action.value
                health = seen.health.value if seen else "NotFound"
                message = (change.reason if change else "") or (seen.health_message if seen else "")
            replicas = placed[cluster].replicas
            count = matrix.NONE if replicas is None else str(replicas)
            rows.append([cluster, names.shown(key), count, state, health, message])
            items.append({
                "cluster": cluster, "apiVersion": placed[cluster].body.get("apiVersion", ""), "kind": key.kind,
                "namespace": key.namespace, "name": key.name, "replicas": replicas, "state": state,
                "health": None if fleet.live is None else health, "message": message,
            })  # fmt: skip
            called.append(f"{cluster}/{names.typed(key)}")
    head = ["CLUSTER", "OBJECT", "REPLICAS", "STATE", "HEALTH", "MESSAGE"]
    return Listing("works", head, rows, items, called)


def _orphans(session: load.Session, fleet: FleetSnapshot, plan: Plan, namespace: str, only: str) -> Listing:
    """Ours, and kept although nothing asks for them: policy gone, template gone, or protected from deletion."""
    rows, items, called = [], [], []
    for change in plan.changes or ():
        if change.action is not Action.KEEP or change.move:
            continue
        if (namespace and change.key.namespace != namespace) or (only and change.cluster != only):
            continue
        rows.append([change.cluster, names.shown(change.key), change.reason])
        items.append({
            "cluster": change.cluster, "apiVersion": change.api_version, "kind": change.key.kind,
            "namespace": change.key.namespace, "name": change.key.name, "reason": change.reason,
        })  # fmt: skip
        called.append(f"{change.cluster}/{names.typed(change.key)}")
    return Listing("orphans", ["CLUSTER", "OBJECT", "REASON"], rows, items, called)


_LISTINGS: dict[str, Callable[[load.Session, FleetSnapshot, Plan, str, str], Listing]] = {
    "clusters": _clusters,
    "bindings": _bindings,
    "policies": _policies,
    "works": _works,
    "orphans": _orphans,
}
