"""What `gitfed get` lists of a repository, as items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gitfed.cli import complete, load
from gitfed.cli.commands.look import log
from gitfed.cli.main import meant
from gitfed.cli.output import listing
from gitfed.documents.bindings import time_text
from gitfed.errors import NotThere, UsageError
from gitfed.model.base import ObjectKey, key_from
from gitfed.model.fleet import FleetSnapshot
from gitfed.model.plan import Plan
from gitfed.offline import inputs
from gitfed.offline.state_log import Chronicle
from gitfed.planning import status
from gitfed.text.values import dataclass
from gitfed.views import autoscalers, bindings, clusters, gates, history, names, policies, quotas, services, works

Items = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class ListingQuery:
    """What is to be listed, and of that what: by name, by namespace, by cluster. "" and () are all."""

    thing: str
    only: tuple[str, ...]
    namespace: str
    cluster: str


def _clusters(session: load.CommandSession, fleet: FleetSnapshot, plan: Plan, namespace: str, only: str) -> Items:
    placed = Counter(share.cluster for binding in plan.bindings.values() for share in binding.scheduled.shares)
    return [
        clusters.item(candidate, session.repo, placed[candidate.name])
        for candidate in clusters.candidates(session.repo, fleet.clusters, plan)
        if not only or candidate.name == only
    ]


def _bindings(session: load.CommandSession, fleet: FleetSnapshot, plan: Plan, namespace: str, only: str) -> Items:
    statuses = _statuses(session, fleet, plan)
    return [
        bindings.item(binding, statuses.get(key), plan.held_decisions.get(key))
        for key, binding in plan.bindings.items()
        if (not namespace or key.namespace == namespace) and (not only or binding.share_of(only))
    ]


def _statuses(session: load.CommandSession, fleet: FleetSnapshot, plan: Plan) -> dict[ObjectKey, bindings.StatusView]:
    """What became of each binding's copies: as seen now with --live, else as last recorded on the state branch."""
    past = session.decisions(fleet)
    if fleet.live is None:
        return {key: bindings.recorded(binding_status) for key, binding_status in past.statuses.items()}
    seen = status.of_plan(
        plan,
        session.repo,
        fleet.live,
        inputs.interpreter_of(session.repo, past),
        time_text(session.now),
        status.refusals(plan, past),
    )
    return {key: bindings.seen(binding_status) for key, binding_status in seen.items()}


def _policies(session: load.CommandSession, fleet: FleetSnapshot, plan: Plan, namespace: str, only: str) -> Items:
    return [
        policy for policy in policies.items(session.repo, plan) if not namespace or policy["namespace"] == namespace
    ]


def _works(session: load.CommandSession, fleet: FleetSnapshot, plan: Plan, namespace: str, only: str) -> Items:
    pending = {(change.cluster, change.key): change for change in plan.changes or ()}
    everywhere = {
        key: {name: rendered for rendered in classes for name in rendered.clusters}
        for key, classes in plan.rendered.items()
        if not namespace or key.namespace == namespace
    }
    live = fleet.live
    refused = status.refusals(plan, session.decisions(fleet)) if live is not None else {}
    return [
        works.item(
            cluster,
            placed[cluster],
            pending.get((cluster, key)),
            live.objects.get(key, {}).get(cluster) if live is not None else None,
            live.clusters.get(cluster) if live is not None else None,
            observed=live is not None,
            refused=refused.get((cluster, key), ""),
        )
        for cluster in plan.clusters
        if not only or cluster == only
        for key, placed in everywhere.items()
        if cluster in placed
    ]


def _orphans(session: load.CommandSession, fleet: FleetSnapshot, plan: Plan, namespace: str, only: str) -> Items:
    return [
        works.orphan(change)
        for change in plan.changes or ()
        if works.is_orphan(change)
        if (not namespace or change.key.namespace == namespace) and (not only or change.cluster == only)
    ]


def _quotas(session: load.CommandSession, fleet: FleetSnapshot, plan: Plan, namespace: str, only: str) -> Items:
    return list(quotas.items(session.repo, fleet.clusters, plan, namespace, only))


def _autoscalers(session: load.CommandSession, fleet: FleetSnapshot, plan: Plan, namespace: str, only: str) -> Items:
    return list(autoscalers.items(session.repo, plan, namespace))


def _services(session: load.CommandSession, fleet: FleetSnapshot, plan: Plan, namespace: str, only: str) -> Items:
    observed = services.Observed(fleet.clusters, fleet.live.objects if fleet.live is not None else None)
    return [
        service
        for service in services.items(session.repo, plan, observed, namespace)
        if services.concerns(service, only)
    ]


def events(session: load.CommandSession, objects: tuple[str, ...], namespace: str, only: str) -> Items:
    """What happened to these objects, or to all, newest first. Raises as `Chronicle`."""
    chronicle = Chronicle(session.opened, session.repo)
    keys: list[ObjectKey | None] = [log.key_of(session, name, namespace) for name in objects] or [None]
    recorded = [event for key in keys for event in chronicle.events(limit=history.COMMITS, key=key)]
    if len(keys) > 1:
        recorded.sort(key=lambda event: event[0].when, reverse=True)
    return [
        history.event(*event)
        for event in recorded
        if (not namespace or event[1].namespace == namespace) and (not only or event[2].cluster == only)
    ]


def of(
    thing: str, session: load.CommandSession, fleet: FleetSnapshot, plan: Plan, namespace: str, only: str
) -> listing.Listing:
    if thing == "gates":
        return listing.gates(gates.document(plan))
    return listing.of(thing, _OF[thing](session, fleet, plan, namespace, only))


_OF: dict[str, Callable[[load.CommandSession, FleetSnapshot, Plan, str, str], Items]] = {
    "clusters": _clusters,
    "bindings": _bindings,
    "policies": _policies,
    "works": _works,
    "orphans": _orphans,
    "quotas": _quotas,
    "autoscalers": _autoscalers,
    "services": _services,
}


def chosen(listed: listing.Listing, only: Sequence[str], namespace: str) -> listing.Listing:
    """What of a list was named. Raises UsageError for a name that is not in it."""
    if not only:
        return listed
    spelled = [{name, name.rpartition("/")[2], row[0]} for name, row in zip(listed.names, listed.rows, strict=True)]
    only = [_as_listed(listed, name, spelled) for name in only]
    for name in only:
        if not any(name in spellings for spellings in spelled) and not _add_object(listed, name, namespace, spelled):
            candidates = sorted(set().union(*spelled)) if spelled else []
            noun = "policy" if listed.kind == "policies" else listed.kind.removesuffix("s")
            raise UsageError(f"no {noun} {name!r}{meant(name, candidates)}", hint=f"gitfed get {listed.kind} lists all")
    kept = [index for index, spellings in enumerate(spelled) if spellings & set(only)]
    called = [listed.names[index] for index in kept]
    of = listed.names if listed.of is None else listed.of
    items = [item for name, item in zip(of, listed.items, strict=True) if name in called]
    document = None if listed.document is None else {**listed.document, listed.kind: items}
    return replace(
        listed,
        rows=[listed.rows[index] for index in kept],
        names=called,
        items=items,
        document=document,
        of=None if listed.of is None else [name for name in of if name in called],
    )


def _as_listed(listed: listing.Listing, name: str, spelled: list[set[str]]) -> str:
    """A name as the list has it: kinds in any case, and a cluster as orders call it."""
    if listed.kind == "clusters":
        return complete.CLUSTER(name)
    lowered = {spelling.lower(): spelling for spelling in set().union(*spelled)} if listed.kind == "policies" else {}
    return name if name in lowered.values() else lowered.get(name.lower(), name)


def _add_object(listed: listing.Listing, name: str, namespace: str, spelled: list[set[str]]) -> bool:
    """Whether `name` is another spelling of an object of the list; then it is put with what its rows are called by."""
    if listed.kind not in ("bindings", "works", "orphans") or "/" not in name:
        return False
    rows = [("", called) if listed.kind == "bindings" else called.split("/", 1) for called in listed.names]
    copies = [(cluster, key_from(spelled_key)) for cluster, spelled_key in rows]
    try:
        meant_by = names.find_works(name, copies, namespace=namespace)
    except NotThere:
        return False
    for copy, spellings in zip(copies, spelled, strict=True):
        if copy in meant_by:
            spellings.add(name)
    return True
