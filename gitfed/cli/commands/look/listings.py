"""What `gitfed get` lists: each thing as rows for people and as items for programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gitfed.cli import load
from gitfed.cli.output import capacity, formatting, matrix, names, plan_json, plan_text
from gitfed.documents.bindings import time_text
from gitfed.model.base import Body, ClusterName, Kind, ObjectKey
from gitfed.model.declared.policy import Override, Propagation
from gitfed.model.fleet import FleetSnapshot, Health, LiveState
from gitfed.model.plan import Action, Plan
from gitfed.model.status import CopyStatus
from gitfed.offline import inputs
from gitfed.offline.state_log import Chronicle
from gitfed.placement.capacity import quota
from gitfed.planning import status
from gitfed.planning.ordering import gate as gates
from gitfed.text import quantity


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
    of: Sequence[str] | None = None
    """The names of `items`, where one has several rows."""


def _clusters(session: load.Session, fleet: FleetSnapshot, plan: Plan, namespace: str, only: str) -> Listing:
    rows, items = [], []
    for candidate in load.candidates(session.repo, fleet, plan):
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
        endpoint = declared.spec.api_endpoint if declared else elsewhere.get("apiEndpoint", "")
        proxy = inputs.without_credentials(declared.spec.proxy_url if declared else elsewhere.get("proxyURL", ""))
        offered = capacity.of_cluster(facts)
        rows.append([
            candidate.name, version or matrix.NONE, mode or matrix.NONE, ready, candidate.region or matrix.NONE,
            str(objects), " ".join(taints) or matrix.NONE, candidate.provider or matrix.NONE,
            " ".join(candidate.zones) or matrix.NONE, endpoint or matrix.NONE, proxy or matrix.NONE,
            capacity.nodes_text(facts), *capacity.cells(offered), str(declared.origin) if declared else "facts only",
        ])  # fmt: skip
        items.append({
            "name": candidate.name, "version": version, "mode": mode, "state": candidate.reach.value,
            "assumed": assumed, "region": candidate.region, "provider": candidate.provider,
            "zones": list(candidate.zones), "taints": taints, "objects": objects,
            "labels": dict(candidate.labels), "declared": str(declared.origin) if declared else None,
            "apiEndpoint": endpoint, "proxyURL": proxy, "room": capacity.item(offered),
        })  # fmt: skip
    wide = ["PROVIDER", "ZONES", "API-ENDPOINT", "PROXY-URL", "NODES", "CPU", "MEMORY", "PODS", "FILE"]
    head = ["NAME", "VERSION", "MODE", "READY", "REGION", "OBJECTS", "TAINTS", *wide]
    return Listing("clusters", head, rows, items, [row[0] for row in rows], wide=len(wide))


def _bindings(session: load.Session, fleet: FleetSnapshot, plan: Plan, namespace: str, only: str) -> Listing:
    rows, items, called = [], [], []
    found = _statuses(session, fleet, plan)
    for key, binding in plan.bindings.items():
        if (namespace and key.namespace != namespace) or (only and not binding.share_of(only)):
            continue
        shares = [s.cluster if s.replicas is None else f"{s.cluster}={s.replicas}" for s in binding.shares]
        failed = plan_text.failed(binding)
        scheduled = matrix.NONE if binding.condition is None else "False" if failed else "True"
        rows.append([
            names.shown(key), str(binding.policy) if plan_json.is_policy(binding.policy) else matrix.NONE, scheduled,
            matrix.NONE if binding.replicas is None else str(binding.replicas),
            " ".join(shares) or matrix.NONE, *_status_cells(found.get(key)), plan_text.why(binding, None),
            str(binding.origin),
        ])  # fmt: skip
        items.append({**plan_json.binding(binding), **_status_members(found.get(key))})
        called.append(names.typed(key))
    head = ["OBJECT", "POLICY", "SCHEDULED", "REPLICAS", "CLUSTERS", "APPLIED", "HEALTHY", "STATUS", "WHY", "FILE"]
    return Listing("bindings", head, rows, items, called, wide=5)


def _statuses(session: load.Session, fleet: FleetSnapshot, plan: Plan) -> dict[ObjectKey, Body]:
    """What became of each binding's copies: as seen now with --live, else as last recorded on the state branch.

    Members as in a ResourceBinding's status, and `templateStatus`: that of the template as a whole.
    """
    past = session.decisions(fleet)
    if fleet.live is None:
        return dict(past.statuses)
    seen = status.of_plan(
        plan, session.repo, fleet.live.objects, fleet.live.clusters, inputs.interpreter_of(session.repo, past),
        time_text(session.now),
    )  # fmt: skip
    return {
        key: {
            **one.as_json(),
            "aggregatedStatus": [_copy(copy) for copy in one.copies],
            "templateStatus": one.status,
            **({"error": one.error} if one.error else {}),
        }
        for key, one in seen.items()
    }


def _copy(copy: CopyStatus) -> dict[str, Any]:
    """Karmada's item, and why it is not healthy."""
    said = copy.health_message if copy.applied and copy.health != "Healthy" else ""
    return {**copy.as_json(), **({"healthMessage": said} if said else {})}


def _status_cells(found: Body | None) -> list[str]:
    """APPLIED and HEALTHY as `2/3`, and what is wrong first."""
    if found is None:
        return [matrix.NONE] * 3
    copies = found["aggregatedStatus"]
    applied = sum(1 for copy in copies if copy.get("applied"))
    healthy = sum(1 for copy in copies if copy.get("health") == "Healthy")
    wrong = next((copy for copy in copies if not copy.get("applied")), None)
    sick = next((copy for copy in copies if copy.get("health") == "Unhealthy" or copy.get("healthMessage")), None)
    if wrong is not None:
        said = f"{wrong.get('clusterName')}: {wrong.get('appliedMessage', 'not applied')}"
    else:
        said = matrix.NONE
        if sick is not None:
            said = f"{sick.get('clusterName')}: {sick.get('healthMessage', 'not healthy')}"
    return [f"{applied}/{len(copies)}", f"{healthy}/{len(copies)}", said]


def _status_members(found: Body | None) -> dict[str, Any]:
    return {"status": None} if found is None else {"status": dict(found)}


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
                health = seen.health.value if seen else _unseen(fleet.live, cluster, key)
                message = (str(change.reason) if change else "") or (seen.health_message if seen else "")
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


def _unseen(live: LiveState, cluster: ClusterName, key: ObjectKey) -> str:
    """Nobody saw it. That it is not there is known only of a cluster whose objects of this kind were all read."""
    state = live.clusters.get(cluster)
    read = state is not None and state.inventory_read and Kind(key.group, key.kind) not in state.unread
    return "NotFound" if read else Health.UNKNOWN.value


def _orphans(session: load.Session, fleet: FleetSnapshot, plan: Plan, namespace: str, only: str) -> Listing:
    """Ours, and kept although nothing asks for them: policy gone, template gone, or protected from deletion."""
    rows, items, called = [], [], []
    for change in plan.changes or ():
        if change.action is not Action.KEEP or change.move:
            continue
        if (namespace and change.key.namespace != namespace) or (only and change.cluster != only):
            continue
        rows.append([change.cluster, names.shown(change.key), str(change.reason)])
        items.append({
            "cluster": change.cluster, "apiVersion": change.api_version, "kind": change.key.kind,
            "namespace": change.key.namespace, "name": change.key.name,
            "reason": str(change.reason), "reasonCode": change.reason.code.value,
        })  # fmt: skip
        called.append(f"{change.cluster}/{names.typed(change.key)}")
    return Listing("orphans", ["CLUSTER", "OBJECT", "REASON"], rows, items, called)


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


NO_EVENTS = Listing("events", ["WHEN", "TYPE", "REASON", "OBJECT", "MESSAGE"], [], [], [])
_COMMITS = 200
"""Commits of the state branch that are read for events; of one object: that concern it."""


def events(session: load.Session, objects: tuple[str, ...], namespace: str, only: str) -> Listing:
    """What happened to these objects, or to all, newest first. Raises as `Chronicle`."""
    history = Chronicle(session.opened, session.repo)
    known = {*session.repo.manifests, *session.decisions().bindings} if objects else set()
    asked: list[ObjectKey | None] = [names.find(one, known) for one in objects] or [None]
    found = [one for key in asked for one in history.events(limit=_COMMITS, key=key)]
    if len(asked) > 1:
        found.sort(key=lambda one: one[0].when, reverse=True)
    rows, items, called = [], [], []
    for entry, key, one in found:
        if (namespace and key.namespace != namespace) or (only and one.cluster != only):
            continue
        when = formatting.time(entry.when)
        rows.append([when, one.type, one.reason, names.shown(key), one.message])
        items.append({
            "when": when, "type": one.type, "reason": one.reason, "group": key.group, "kind": key.kind,
            "namespace": key.namespace, "name": key.name, "cluster": one.cluster, "message": one.message,
            "commit": entry.commit, "source": entry.source,
        })  # fmt: skip
        called.append(names.typed(key))
    return replace(NO_EVENTS, rows=rows, items=items, names=called)


OF: dict[str, Callable[[load.Session, FleetSnapshot, Plan, str, str], Listing]] = {
    "clusters": _clusters,
    "bindings": _bindings,
    "policies": _policies,
    "works": _works,
    "orphans": _orphans,
    "quotas": _quotas,
}
