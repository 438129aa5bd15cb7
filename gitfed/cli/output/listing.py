"""What `gitfed get` lists, as rows for people, made of the items that programs get."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import click

from gitfed.cli import options
from gitfed.cli.output import matrix, plain, structured, table
from gitfed.model.base import ObjectKey
from gitfed.text.values import dataclass
from gitfed.views import autoscalers, capacity, names, policies, quotas, services
from gitfed.views.agents import AgentView
from gitfed.views.bindings import PlacedBinding, StatusView
from gitfed.views.clusters import ClusterView
from gitfed.views.gates import GateList, HeldGate
from gitfed.views.history import EventView
from gitfed.views.policies import PolicyView
from gitfed.views.works import OrphanView, WorkView


@dataclass(frozen=True, slots=True)
class Listing:
    """Rows for every printer: `head` and `rows` for people (`wide` more columns), `items` for programs."""

    kind: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    items: Sequence[Mapping[str, Any]]
    names: Sequence[str]
    wide: int = 0
    """How many of the last columns only `-o wide` shows."""
    of: Sequence[str] | None = None
    """The names of `items`, where one has several rows."""
    document: Mapping[str, Any] | None = None
    """What programs get, where that is no plain list."""


@dataclass(frozen=True, slots=True)
class _Form:
    head: Sequence[str]
    row: Callable[[Any], Sequence[str]]
    name: Callable[[Any], str]
    wide: int = 0


def of(kind: str, items: Sequence[Mapping[str, Any]]) -> Listing:
    if kind == "quotas":  # one of them has a row for each resource
        return _quotas(items)
    if kind == "autoscalers":  # one of them has a row for each rule
        return _autoscalers(items)
    form = _FORMS[kind]
    return Listing(
        kind, form.head, [form.row(item) for item in items], items, [form.name(item) for item in items], form.wide
    )


def show(listing: Listing, output: options.Output) -> None:
    if output.format in ("json", "yaml"):
        plain_list = {"schema": f"gitfed.io/{listing.kind}/v1", "items": list(listing.items)}
        structured.echo(plain_list if listing.document is None else listing.document, output.format)
        return
    if output.format == "name":
        for name in listing.names:
            click.echo(plain.clean(name))
        return
    if output.quiet:
        click.echo(str(len(listing.rows)))
        return
    if not listing.rows:
        click.echo(f"No {listing.kind} found.", err=True)
        return
    cut = len(listing.head) - (0 if output.format == "wide" else listing.wide)
    for line in table.lines([listing.head[:cut], *(row[:cut] for row in listing.rows)], width=output.fold):
        click.echo(line)


def gates(document: GateList) -> Listing:
    """Its JSON is `document`, not a list."""
    rows = [
        [gate["name"], gate["limit"] or matrix.NONE, gate["value"] or matrix.NONE, str(gate["held"]), _consent(gate)]
        for gate in document["gates"]
    ]
    return Listing(
        "gates",
        ["GATE", "LIMIT", "VALUE", "HELD", "CONSENT"],
        rows,
        document["gates"],
        [gate["name"] for gate in document["gates"]],
        document=document,
    )


def _consent(gate: HeldGate) -> str:
    return matrix.NONE if not gate["held"] else "awaited" if gate["consent"] else "not possible"


def _quotas(items: Sequence[Mapping[str, Any]]) -> Listing:
    shown = [
        (quotas.typed(item), used) for item in cast(Sequence[quotas.QuotaView], items) for used in item["resources"]
    ]
    rows = [
        [
            name.partition("/")[2],
            usage["cluster"] or matrix.NONE,
            usage["resource"],
            usage["used"],
            usage["limit"],
            usage["state"],
        ]
        for name, usage in shown
    ]
    return Listing(
        "quotas",
        ["NAME", "CLUSTER", "RESOURCE", "USED", "LIMIT", "STATE"],
        rows,
        items,
        [name for name, _ in shown],
        of=[quotas.typed(cast(quotas.QuotaView, item)) for item in items],
    )


def _autoscalers(items: Sequence[Mapping[str, Any]]) -> Listing:
    """A row for each rule, or for each metric."""
    named = cast(Sequence[autoscalers.AutoscalerView], items)
    by_rule = [(item, rule) for item in named for rule in item["rules"]]
    by_metric = [(item, metric) for item in named for metric in item["metrics"]]
    rows = [
        [
            _autoscaler_name(item).partition("/")[2],
            names.shown(names.of(item["target"])),
            rule["name"],
            " ".join(filter(None, (rule["schedule"], rule["timeZone"]))),
            _numbers(rule["replicas"], rule["minReplicas"], rule["maxReplicas"]),
            "suspended" if rule["suspended"] else rule["next"] or matrix.NONE,
            _decided(item, rule["name"]),
        ]
        for item, rule in by_rule
    ]
    rows += [
        [
            _autoscaler_name(item).partition("/")[2],
            names.shown(names.of(item["target"])),
            f"by {metric['name']}",
            f"{metric['current'] or 'unknown'} of {metric['target']}",
            _numbers(None, item["minReplicas"], item["maxReplicas"]),
            _held_up(item),
            _decided(item, ""),
        ]
        for item, metric in by_metric
    ]
    return Listing(
        "autoscalers",
        ["NAME", "TARGET", "RULE", "SCHEDULE", "REPLICAS", "NEXT", "DECIDED"],
        rows,
        items,
        [_autoscaler_name(item) for item, _ in (*by_rule, *by_metric)],
        of=[_autoscaler_name(cast(autoscalers.AutoscalerView, item)) for item in items],
    )


def _held_up(item: autoscalers.AutoscalerView) -> str:
    """Why a FederatedHPA decides nothing."""
    return next(
        (
            condition["reason"]
            for condition in item["conditions"]
            if condition["type"] != "ScalingLimited" and condition["status"] == "False"
        ),
        matrix.NONE,
    )


def _service(item: services.ServiceView) -> list[str]:
    if item["kind"] == "MultiClusterIngress":
        clusters = sorted({name for location in item["serviceLocations"] for name in location["clusters"]})
        blocked = " ".join(item["trafficBlockClusters"])
        cells = [
            _service_name(item),
            " ".join(location["name"] for location in item["serviceLocations"]),
            " ".join(clusters),
            "",
            f"blocked: {blocked}" if blocked else "",
        ]
        return [cell or matrix.NONE for cell in cells]
    source, target = item["source"], item["target"]
    assert source is not None
    assert target is not None
    shared = source["name"] if source == target else f"{source['name']} as {target['name']}"
    failing = [condition for condition in item["conditions"] if condition["status"] != "True"]
    messages = "; ".join(f"{condition['type']}: {condition['message']}" for condition in failing)
    cells = [
        _service_name(item),
        f"{source['namespace']}/{shared}",
        " ".join(map(_of_cluster, item["providers"])),
        " ".join(map(_of_cluster, item["consumers"])),
        messages,
    ]
    return [cell or matrix.NONE for cell in cells]


def _of_cluster(endpoints: services.EndpointsView) -> str:
    """`eu-1(3)`: three endpoints are ready there."""
    if endpoints["state"] in ("unknown", "failed"):
        return f"{endpoints['cluster']}({endpoints['state']})"
    return endpoints["cluster"] if endpoints["ready"] is None else f"{endpoints['cluster']}({endpoints['ready']})"


def _service_name(item: services.ServiceView) -> str:
    return policies.typed(item["kind"], item["namespace"], item["name"])


def _autoscaler_name(item: autoscalers.AutoscalerView) -> str:
    return policies.typed(item["kind"], item["namespace"], item["name"])


def _numbers(replicas: int | None, least: int | None, most: int | None) -> str:
    if replicas is not None:
        return str(replicas)
    return f"{matrix.NONE if least is None else least}…{matrix.NONE if most is None else most}"


def _decided(item: autoscalers.AutoscalerView, rule: str) -> str:
    """Of the rule that is in force."""
    decided = item["decided"]
    if decided is None or decided["rule"] != rule:
        return matrix.NONE
    numbers = _numbers(decided["replicas"], decided["minReplicas"], decided["maxReplicas"])
    return f"{numbers} since {decided['at']}" if decided["at"] else numbers


def _cluster(item: ClusterView) -> list[str]:
    nodes = item["nodes"]
    ready = {"Ready": "True", "NotReady": "False"}.get(item["state"], "Unknown")
    cells = [
        item["name"],
        item["version"],
        item["mode"],
        "assumed" if item["assumed"] else ready,
        item["region"],
        str(item["objects"]),
        " ".join(item["taints"]),
        item["provider"],
        " ".join(item["zones"]),
        " ".join(item["remedyActions"]),
        item["apiEndpoint"],
        item["proxyURL"],
        capacity.nodes_text((nodes["ready"], nodes["total"]) if nodes is not None else None),
        *capacity.cells(capacity.of_item(item["room"])),
        item["declared"] or "facts only",
    ]
    return [cell or matrix.NONE for cell in cells]


def _agent(item: AgentView) -> list[str]:
    held = item["slice"]
    cells = [
        item["cluster"],
        _held_by(item),
        item["state"],
        item["connectedSince"],
        item["lastHeard"],
        item["program"],
        f"{held['held']}/{held['wanted']}" if held is not None else "",
        item["certificateEnds"],
        "" if item["protocol"] is None else str(item["protocol"]),
        str(item["connections"]),
        item["instance"][:8],
        item["name"],
    ]
    return [cell or matrix.NONE for cell in cells]


def _held_by(item: AgentView) -> str:
    """Of a pool, and by which member, when any is known."""
    return "/".join(name for name in (item["pool"], item["member"]) if name)


def _binding(item: PlacedBinding) -> list[str]:
    condition, policy = item["condition"], item["policy"]
    failed = condition is not None and condition["status"] != "True"
    shares = [
        share["name"] if share["replicas"] is None else f"{share['name']}={share['replicas']}"
        for share in item["clusters"]
    ]
    why = f"{condition['reason']}: {condition['message']}" if condition is not None and failed else item["why"] or "new"
    return [
        names.shown(names.of(item["resource"])),
        policies.typed(policy["kind"], policy["namespace"], policy["name"]) if policy is not None else matrix.NONE,
        matrix.NONE if condition is None else "False" if failed else "True",
        matrix.NONE if item["replicas"] is None else str(item["replicas"]),
        " ".join(shares) or matrix.NONE,
        *_status(item["status"]),
        why,
        item["origin"],
    ]


def _status(status: StatusView | None) -> list[str]:
    """APPLIED and HEALTHY as `2/3`, and what is wrong first."""
    if status is None:
        return [matrix.NONE] * 3
    copies = status["aggregatedStatus"]
    applied = sum(1 for copy in copies if copy.get("applied"))
    healthy = sum(1 for copy in copies if copy.get("health") == "Healthy")
    wrong = next((copy for copy in copies if not copy.get("applied")), None)
    sick = next((copy for copy in copies if copy.get("health") == "Unhealthy" or copy.get("healthMessage")), None)
    if wrong is not None:
        message = f"{wrong.get('clusterName')}: {wrong.get('appliedMessage', 'not applied')}"
    else:
        message = matrix.NONE
        if sick is not None:
            message = f"{sick.get('clusterName')}: {sick.get('healthMessage', 'not healthy')}"
    return [f"{applied}/{len(copies)}", f"{healthy}/{len(copies)}", message]


def _policy(item: PolicyView) -> list[str]:
    priority = matrix.NONE if item["priority"] is None else str(item["priority"])
    return [_policy_name(item), priority, str(item["objects"]), item["origin"]]


def _policy_name(item: PolicyView) -> str:
    return policies.typed(item["kind"], item["namespace"], item["name"])


def _work(item: WorkView) -> list[str]:
    replicas = matrix.NONE if item["replicas"] is None else str(item["replicas"])
    shown = names.shown(_key(item))
    return [item["cluster"], shown, replicas, item["state"], item["health"] or matrix.NONE, item["message"]]


def _orphan(item: OrphanView) -> list[str]:
    return [item["cluster"], names.shown(_key(item)), item["reason"]]


def _event(item: EventView) -> list[str]:
    return [item["when"], item["type"], item["reason"], names.shown(_key_of_event(item)), item["message"]]


def _key(item: WorkView | OrphanView) -> ObjectKey:
    return names.of(
        {"apiVersion": item["apiVersion"], "kind": item["kind"], "namespace": item["namespace"], "name": item["name"]}
    )


def _key_of_event(item: EventView) -> ObjectKey:
    return ObjectKey(item["group"], item["kind"], item["namespace"], item["name"])


def _in_cluster(item: WorkView | OrphanView) -> str:
    return f"{item['cluster']}/{names.typed(_key(item))}"


_WIDE = ["PROVIDER", "ZONES", "REMEDY-ACTIONS", "API-ENDPOINT", "PROXY-URL", "NODES", "CPU", "MEMORY", "PODS", "FILE"]
_FORMS: dict[str, _Form] = {
    "clusters": _Form(
        ["NAME", "VERSION", "MODE", "READY", "REGION", "OBJECTS", "TAINTS", *_WIDE],
        _cluster,
        lambda item: cast(str, item["name"]),
        len(_WIDE),
    ),
    "agents": _Form(
        [
            "CLUSTER",
            "POOL",
            "STATE",
            "SINCE",
            "LAST-HEARD",
            "PROGRAM",
            "SLICE",
            "CERTIFICATE-ENDS",
            "PROTOCOL",
            "CONNECTIONS",
            "INSTANCE",
            "NAME",
        ],
        _agent,
        lambda item: cast(str, item["cluster"]),
        4,
    ),
    "bindings": _Form(
        ["OBJECT", "POLICY", "SCHEDULED", "REPLICAS", "CLUSTERS", "APPLIED", "HEALTHY", "STATUS", "WHY", "FILE"],
        _binding,
        lambda item: names.typed(names.of(item["resource"])),
        5,
    ),
    "policies": _Form(["NAME", "PRIORITY", "OBJECTS", "FILE"], _policy, _policy_name),
    "services": _Form(["NAME", "SERVICE", "PROVIDERS", "CONSUMERS", "STATE"], _service, _service_name),
    "works": _Form(["CLUSTER", "OBJECT", "REPLICAS", "STATE", "HEALTH", "MESSAGE"], _work, _in_cluster),
    "orphans": _Form(["CLUSTER", "OBJECT", "REASON"], _orphan, _in_cluster),
    "events": _Form(
        ["WHEN", "TYPE", "REASON", "OBJECT", "MESSAGE"], _event, lambda item: names.typed(_key_of_event(item))
    ),
}
