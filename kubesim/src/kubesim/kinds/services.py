"""Services: defaults, what a change of type takes away, warnings.

Their rules are in `service_rules`, their addresses in `service_addresses`.

Kubernetes: SetDefaults_Service, dropTypeDependentFields, GetWarningsForService.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from kubesim.kind import Body, Context, Kind, Subresource
from kubesim.kinds import fields, pod_defaults, preparation, selectors, service_addresses, service_rules, table
from kubesim.kinds.service_addresses import has_node_ports, is_headless, is_reachable, needs_health_port

_HINTS: Final = "service.kubernetes.io/topology-aware-hints"


def _default(body: Body) -> Body:
    body = pod_defaults.within(body, "spec", _default_spec)
    if fields.obj(body, "spec").get("type") != "LoadBalancer":
        return body
    return pod_defaults.within(body, "status", _default_status)


def _default_status(found: Body) -> Body:
    def one(ingress: Body) -> Body:
        return pod_defaults.fill(ingress, ipMode="VIP") if ingress.get("ip") else ingress

    return pod_defaults.within(found, "loadBalancer", lambda balancer: pod_defaults.each(balancer, "ingress", one))


def _default_spec(spec: Body) -> Body:
    spec = pod_defaults.fill(spec, sessionAffinity="None", type="ClusterIP")
    if spec["sessionAffinity"] == "None":
        spec = fields.without(spec, "sessionAffinityConfig")
    seconds = fields.obj(spec, "sessionAffinityConfig", "clientIP").get("timeoutSeconds")
    if spec["sessionAffinity"] == "ClientIP" and seconds is None:
        spec = {**spec, "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}}}
    spec = pod_defaults.each(spec, "ports", _default_port)
    if is_reachable(spec):
        spec = pod_defaults.fill(spec, externalTrafficPolicy="Cluster")
    if spec["type"] in ("ClusterIP", "NodePort", "LoadBalancer"):
        spec = pod_defaults.fill(spec, internalTrafficPolicy="Cluster")
    if spec["type"] == "LoadBalancer":
        spec = pod_defaults.fill(spec, allocateLoadBalancerNodePorts=True)
    return spec


def _default_port(port: Body) -> Body:
    port = pod_defaults.fill(port, protocol="TCP")
    return port if port.get("targetPort") else {**port, "targetPort": port.get("port", 0)}


def _update(new: Body, old: Body, ctx: Context) -> Body:
    new = preparation.old_status(new, old)
    spec = _without_leftovers(fields.obj(new, "spec"), fields.obj(old, "spec"))
    return new if spec is new.get("spec") else {**new, "spec": spec}


def _without_leftovers(spec: Body, before: Body) -> Body:
    """Who changes the type need not know what belonged to the old one: what did not change is taken away with it."""
    external = spec.get("type") == "ExternalName"
    if external and before.get("type") != "ExternalName":
        for keys in (("clusterIP", "clusterIPs"), ("ipFamilies",), ("ipFamilyPolicy",)):
            if all(spec.get(key) == before.get(key) for key in keys):
                spec = fields.without(spec, *keys)
    if has_node_ports(before) and spec.get("type") not in ("NodePort", "LoadBalancer"):
        numbers = [port.get("nodePort") for port in fields.items(spec, "ports")]
        if numbers == [port.get("nodePort") for port in fields.items(before, "ports")]:
            spec = {**spec, "ports": [fields.without(port, "nodePort") for port in fields.items(spec, "ports")]}
    gone = []
    if needs_health_port(before) and not needs_health_port(spec):
        gone.append("healthCheckNodePort")
    if before.get("type") == "LoadBalancer" and spec.get("type") != "LoadBalancer":
        gone += ["allocateLoadBalancerNodePorts", "loadBalancerClass"]
    if is_reachable(before) and not is_reachable(spec):
        gone.append("externalTrafficPolicy")
    if external and before.get("type") != "ExternalName":
        gone.append("internalTrafficPolicy")
    return fields.without(spec, *(key for key in gone if spec.get(key) == before.get(key)))


def _warnings(body: Body, old: Body | None) -> list[str]:
    spec = fields.obj(body, "spec")
    found: list[str] = []
    if _HINTS in fields.obj(body, "metadata", "annotations"):
        found.append(f"annotation {_HINTS} is deprecated, please use service.kubernetes.io/topology-mode instead")
    external, headless = spec.get("type") == "ExternalName", spec.get("type") == "ClusterIP" and is_headless(spec)
    if headless:
        ignored = [key for key in ("loadBalancerIP", "externalIPs") if spec.get(key)]
        ignored += [] if spec.get("sessionAffinity") == "None" else ["SessionAffinity"]
        found += [f"spec.{key} is ignored for headless services" for key in ignored]
    elif spec.get("externalIPs") and not external:
        found.append("spec.externalIPs is deprecated and may no longer be implemented in some clusters")
    if external and spec.get("externalIPs"):
        found.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    if not external and spec.get("externalName"):
        found.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    if spec.get("trafficDistribution") == "PreferClose":
        found.append('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
    return found


def _external(body: Body) -> str:
    spec = fields.obj(body, "spec")
    kind, own = spec.get("type"), ",".join(fields.items(spec, "externalIPs"))
    if kind in ("ClusterIP", "NodePort"):
        return own or table.NONE
    if kind == "LoadBalancer":
        return ",".join(part for part in (table.load_balancer(body), own) if part) or "<pending>"
    return fields.text(spec, "externalName") if kind == "ExternalName" else table.UNKNOWN


def _row(body: Body, now: datetime) -> list[Any]:
    spec = fields.obj(body, "spec")
    addresses = fields.items(spec, "clusterIPs")
    ports = []
    for port in fields.items(spec, "ports"):
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        ports.append(f"{port.get('port')}{node}/{port.get('protocol')}")
    return [
        table.name(body),
        fields.text(spec, "type"),
        addresses[0] if addresses else table.NONE,
        _external(body),
        ",".join(ports) or table.NONE,
        table.created(body, now),
        selectors.labels_text(fields.obj(spec, "selector")),
    ]


SERVICE: Final = Kind(
    group="",
    version="v1",
    kind="Service",
    plural="services",
    short_names=("svc",),
    categories=("all",),
    subresources=(
        Subresource(
            name="proxy",
            verbs=("create", "delete", "get", "patch", "update"),
            kind="ServiceProxyOptions",
        ),
        Subresource(name="status"),
    ),
    name_rule="dns-label",
    allow_create_on_update=True,
    default=_default,
    admit=service_addresses.settle,
    prepare_create=lambda body, ctx: preparation.new_status(body, {"loadBalancer": {}}),
    prepare_update=_update,
    prepare_status=preparation.only_status,
    reset_fields={"": (("status",),), "status": (("spec",),)},
    validate=service_rules.validate,
    validate_update=service_rules.validate_update,
    update_first=True,
    validate_status=service_rules.validate_status,
    warnings=_warnings,
    delete_returns_object=True,
    field_labels={
        "spec.clusterIP": lambda body: fields.text(fields.obj(body, "spec"), "clusterIP"),
        "spec.type": lambda body: fields.text(fields.obj(body, "spec"), "type"),
    },
    columns=table.columns("Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age", "Selector*"),
    row=_row,
)
