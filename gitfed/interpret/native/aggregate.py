"""One status for a template out of the statuses of its copies (Karmada: interpreters §4.6, column "Aggregated").

Copies that reported nothing are skipped unless a rule says otherwise. A result that equals the status the template
has (a missing number is 0) leaves the template as it is, so that looking does not make a change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from gitfed.interpret.native import aggregate_batch, read
from gitfed.interpret.native.reflect import COUNTERS, counters
from gitfed.model.base import Body

Items: TypeAlias = Sequence[Body] | None


def _counted(body: Body, items: Items, now: str) -> Body:
    """Sums. `observedGeneration` moves to the template's generation once every copy has caught up with it."""
    kind, old = body["kind"], read.table(body, "status")
    values = dict.fromkeys(COUNTERS[kind], 0)
    for item in items or ():
        for name in values:
            values[name] += read.number(item, "status", name)
    observed = read.number(body, "status", "observedGeneration")
    if all(_caught_up(body, item) for item in items or ()):
        observed = read.number(body, "metadata", "generation")
    kept = {name: value for name, value in old.items() if name not in values and name != "observedGeneration"}
    status = {**kept, **counters(kind, values), **({"observedGeneration": observed} if observed else {})}
    return _with_status(body, status)


def _caught_up(template: Body, item: Body) -> bool:
    """The stamped generation of a StatefulSet is compared with the copy's own one, as the reference does."""
    if item.get("status") is None:
        return False
    wanted = read.number(template, "metadata", "generation")
    if template["kind"] == "StatefulSet":
        wanted = read.number(item, "status", "generation")
    return (
        read.number(item, "status", "observedGeneration") >= read.number(item, "status", "generation")
        and read.number(item, "status", "resourceTemplateGeneration") >= wanted
    )


def _service(body: Body, items: Items, now: str) -> Body:
    if read.text(body, "spec", "type") != "LoadBalancer":
        return body
    return _balanced(body, items, ("hostname", "ip", "ipMode"))


def _ingress(body: Body, items: Items, now: str) -> Body:
    return _balanced(body, items, ("hostname", "ip"))


def _balanced(body: Body, items: Items, names: Sequence[str]) -> Body:
    """All addresses, equal ones once with the ports of all; named before numbered, each in order."""
    entries: dict[tuple[str, ...], dict[str, Any]] = {}
    for item in items or ():
        for entry in read.rows(item, "status", "loadBalancer", "ingress"):
            identity = tuple(read.text(entry, name) for name in names)
            merged = entries.setdefault(identity, {name: entry[name] for name in names if entry.get(name)})
            for port in map(_port, read.rows(entry, "ports")):
                ports = merged.setdefault("ports", [])
                if port not in ports:
                    ports.append(port)
    ordered = [
        entries[key]
        for key in sorted(entries, key=lambda key: (not key[0], *key[:2], *(not v for v in key[2:]), *key[2:]))
    ]
    for entry in ordered:
        if "ports" in entry:
            entry["ports"].sort(
                key=lambda port: (port["port"], port["protocol"], "error" in port, port.get("error", ""))
            )
    return _with_status(body, {"loadBalancer": {"ingress": ordered} if ordered else {}})


def _port(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Number and protocol are always there, an error only if the cluster says something of one."""
    port = {"port": read.number(entry, "port"), "protocol": read.text(entry, "protocol")}
    return port if entry.get("error") is None else {**port, "error": read.text(entry, "error")}


_POD_PHASES = ("Failed", "Pending", "Running", "Succeeded")


def _pod(body: Body, items: Items, now: str) -> Body:
    if items is None:
        return body
    phases = {read.text(item, "status", "phase") if item.get("status") is not None else "Pending" for item in items}
    status: dict[str, Any] = {}
    phase = next((phase for phase in _POD_PHASES if phase in phases), None)
    if phase is not None:
        status["phase"] = phase
    for member in ("initContainerStatuses", "containerStatuses"):
        containers = [_container(entry) for item in items for entry in read.rows(item, "status", member)]
        if containers:
            status[member] = containers
    return _with_status(body, status)


def _container(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Only `ready` and `state` are taken over; the rest is what Kubernetes' encoding always writes."""
    return {
        "name": "",
        "image": "",
        "imageID": "",
        "lastState": {},
        "restartCount": 0,
        "ready": bool(entry.get("ready")),
        "state": entry.get("state") or {},
    }


_VOLUME_PHASES = ("Failed", "Pending", "Available", "Bound", "Released")


def _volume(body: Body, items: Items, now: str) -> Body:
    phases = {
        read.text(item, "status", "phase") if item.get("status") is not None else "Pending" for item in items or ()
    }
    phase = next((phase for phase in _VOLUME_PHASES if phase in phases), None)
    return _with_status(body, {"phase": phase} if phase else {})


def _claim(body: Body, items: Items, now: str) -> Body:
    phases = [read.text(item, "status", "phase") for item in items or () if item.get("status") is not None]
    others = [phase for phase in phases if phase != "Bound"]
    phase = "Lost" if "Lost" in phases else others[-1] if others else "Bound"
    return _with_status(body, {"phase": phase} if phase else {})


def _budget(body: Body, items: Items, now: str) -> Body:
    values = dict.fromkeys(COUNTERS["PodDisruptionBudget"], 0)
    disrupted: dict[str, Any] = {}
    for item in items or ():
        for name in values:
            values[name] += read.number(item, "status", name)
        for pod, when in read.table(item, "status", "disruptedPods").items():
            disrupted[f"{item['clusterName']}/{pod}"] = aggregate_batch.utc(when) if isinstance(when, str) else when
    status: dict[str, Any] = counters("PodDisruptionBudget", values)
    # The first report is written even if it counts nothing: a budget without a status has not been looked at.
    return {**body, "status": {**status, "disruptedPods": disrupted} if disrupted else status}


def _autoscaler(body: Body, items: Items, now: str) -> Body:
    values = dict.fromkeys(COUNTERS["HorizontalPodAutoscaler"], 0)
    for item in items or ():
        for name in values:
            values[name] += read.number(item, "status", name)
    return _with_status(body, {**counters("HorizontalPodAutoscaler", values), "currentMetrics": None})


def _job(body: Body, items: Items, now: str) -> Body:
    status = aggregate_batch.job(body, items or (), now)
    return body if status is None else _with_status(body, status)


def _cron_job(body: Body, items: Items, now: str) -> Body:
    return _with_status(body, aggregate_batch.cron_job(items or ()))


RULES: Mapping[tuple[str, str], Callable[[Body, Items, str], Body]] = {
    ("apps/v1", "Deployment"): _counted,
    ("apps/v1", "ReplicaSet"): _counted,
    ("apps/v1", "DaemonSet"): _counted,
    ("apps/v1", "StatefulSet"): _counted,
    ("v1", "Service"): _service,
    ("networking.k8s.io/v1", "Ingress"): _ingress,
    ("batch/v1", "Job"): _job,
    ("batch/v1", "CronJob"): _cron_job,
    ("v1", "Pod"): _pod,
    ("v1", "PersistentVolume"): _volume,
    ("v1", "PersistentVolumeClaim"): _claim,
    ("policy/v1", "PodDisruptionBudget"): _budget,
    ("autoscaling/v2", "HorizontalPodAutoscaler"): _autoscaler,
}


def _with_status(body: Body, status: Mapping[str, Any]) -> Body:
    if _plain(body.get("status")) == _plain(status):
        return body
    return {**body, "status": status}


def _plain(value: Any) -> Any:
    """Without what counts as nothing: null, 0 and empty."""
    if isinstance(value, Mapping):
        members = {name: _plain(child) for name, child in value.items()}
        return {name: child for name, child in members.items() if child not in (None, 0, "", {}, [])} or None
    if isinstance(value, list):
        return [_plain(child) for child in value]
    return value
