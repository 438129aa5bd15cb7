"""What `gitfed get` lists of a repository, as items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gitfed.cli import load
from gitfed.cli.commands.look import log
from gitfed.cli.output import listing, matrix
from gitfed.cli.output.listing import Listing
from gitfed.documents.bindings import time_text
from gitfed.model.base import ObjectKey
from gitfed.model.fleet import FleetSnapshot
from gitfed.model.plan import Plan
from gitfed.offline import inputs
from gitfed.offline.state_log import Chronicle
from gitfed.placement.capacity import quota
from gitfed.planning import status
from gitfed.planning.ordering import gate as gates
from gitfed.text import quantity
from gitfed.views import bindings, clusters, history, policies, works

Items = Sequence[Mapping[str, Any]]


def _clusters(session: load.Session, fleet: FleetSnapshot, plan: Plan, namespace: str, only: str) -> Items:
    placed = Counter(share.cluster for binding in plan.bindings.values() for share in binding.shares)
    return [
        clusters.item(one, session.repo.clusters.get(one.name), placed[one.name])
        for one in clusters.candidates(session.repo, fleet.clusters, plan)
        if not only or one.name == only
    ]


def _bindings(session: load.Session, fleet: FleetSnapshot, plan: Plan, namespace: str, only: str) -> Items:
    known = _statuses(session, fleet, plan)
    return [
        bindings.item(binding, known.get(key), plan.held.get(key))
        for key, binding in plan.bindings.items()
        if (not namespace or key.namespace == namespace) and (not only or binding.share_of(only))
    ]


def _statuses(session: load.Session, fleet: FleetSnapshot, plan: Plan) -> dict[ObjectKey, bindings.StatusView]:
    """What became of each binding's copies: as seen now with --live, else as last recorded on the state branch."""
    past = session.decisions(fleet)
    if fleet.live is None:
        return {key: bindings.recorded(one) for key, one in past.statuses.items()}
    seen = status.of_plan(
        plan, session.repo, fleet.live.objects, fleet.live.clusters, inputs.interpreter_of(session.repo, past),
        time_text(session.now), status.refusals(plan, past),
    )  # fmt: skip
    return {key: bindings.seen(one) for key, one in seen.items()}


def _policies(session: load.Session, fleet: FleetSnapshot, plan: Plan, namespace: str, only: str) -> Items:
    return [one for one in policies.items(session.repo, plan) if not namespace or one["namespace"] == namespace]


def _works(session: load.Session, fleet: FleetSnapshot, plan: Plan, namespace: str, only: str) -> Items:
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


def _orphans(session: load.Session, fleet: FleetSnapshot, plan: Plan, namespace: str, only: str) -> Items:
    return [
        works.orphan(change)
        for change in plan.changes or ()
        if works.is_orphan(change)
        if (not namespace or change.key.namespace == namespace) and (not only or change.cluster == only)
    ]


def _quotas(session: load.Session, fleet: FleetSnapshot, plan: Plan, namespace: str, only: str) -> Listing:
    """Federated quotas: what is used of each resource in all clusters, and in those that are assigned a part of it."""
    rows, items, called, of = [], [], [], []
    inside = {name: fleet.clusters[name].quotas if name in fleet.clusters else () for name in plan.clusters}
    held = {gate.name for gate in plan.gates if gate.held}
    placed = tuple(plan.bindings.values())
    for declared in sorted(session.repo.quotas, key=lambda one: one.key):
        space = declared.metadata.namespace or ""
        if namespace and space != namespace:
            continue
        name = f"{space}/{declared.metadata.name}"
        used = quota.used(space, placed)
        status_ = quota.status(declared, used, inside)
        items.append({
            "apiVersion": declared.api_version, "kind": declared.kind,
            "metadata": {"namespace": space, "name": declared.metadata.name}, "status": status_,
            "origin": str(declared.origin),
        })  # fmt: skip
        of.append(f"{declared.kind}/{name}")
        parts = [(matrix.NONE, declared.spec.overall, used)]
        for part in status_["aggregatedStatus"]:
            parts.append((part["clusterName"], part["hard"], quota.used(space, placed, part["clusterName"])))
        for cluster, limits, amounts in parts:
            for resource, text in sorted(limits.items()):
                if only and cluster != only:
                    continue
                amount, limit = amounts.get(resource, quantity.ZERO), quantity.parse(text)
                refuses = cluster == matrix.NONE and gates.of_quota(name, resource) in held
                state = "exceeded" if amount > limit else "refuses work" if refuses else "ok"
                rows.append([name, cluster, resource, *quota.in_words(resource, amount, limit), state])
                called.append(f"{declared.kind}/{name}")
    return Listing("quotas", ["NAME", "CLUSTER", "RESOURCE", "USED", "LIMIT", "STATE"], rows, items, called, of=of)


_COMMITS = 200
"""Commits of the state branch that are read for events; of one object: that concern it."""


def events(session: load.Session, objects: tuple[str, ...], namespace: str, only: str) -> Items:
    """What happened to these objects, or to all, newest first. Raises as `Chronicle`."""
    chronicle = Chronicle(session.opened, session.repo)
    asked: list[ObjectKey | None] = [log.key_of(session, one) for one in objects] or [None]
    found = [one for key in asked for one in chronicle.events(limit=_COMMITS, key=key)]
    if len(asked) > 1:
        found.sort(key=lambda one: one[0].when, reverse=True)
    return [
        history.event(*one)
        for one in found
        if (not namespace or one[1].namespace == namespace) and (not only or one[2].cluster == only)
    ]


def of(
    thing: str, session: load.Session, fleet: FleetSnapshot, plan: Plan, namespace: str, only: str
) -> listing.Listing:
    if thing == "quotas":  # one of them has a row for each resource
        return _quotas(session, fleet, plan, namespace, only)
    return listing.of(thing, _OF[thing](session, fleet, plan, namespace, only))


_OF: dict[str, Callable[[load.Session, FleetSnapshot, Plan, str, str], Items]] = {
    "clusters": _clusters,
    "bindings": _bindings,
    "policies": _policies,
    "works": _works,
    "orphans": _orphans,
}
