"""Nodes: machines that are only said to exist, and which pods they take."""

from __future__ import annotations

from typing import Any, Final

from kubesim.controllers import objects

Body = dict[str, Any]
_READY: Final = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


def new(name: str, number: int, *, labels: Body) -> Body:
    """A worker without its status."""
    network = f"10.{244 + number // 256}.{number % 256}.0/24"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "beta.kubernetes.io/arch": "amd64",
                "beta.kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                **labels,
            },
        },
        "spec": {
            "podCIDR": network,
            "podCIDRs": [network],
            "providerID": f"kubesim://{name}",
        },
    }


def status(name: str, number: int, now: str, *, cpu: str, memory: str, pods: int) -> Body:
    amounts = {"cpu": cpu, "ephemeral-storage": "100Gi", "memory": memory, "pods": str(pods)}
    return {
        "capacity": amounts,
        "allocatable": amounts,
        "conditions": [
            {
                "type": kind,
                "status": value,
                "lastHeartbeatTime": now,
                "lastTransitionTime": now,
                "reason": reason,
                "message": text,
            }
            for kind, value, reason, text in _READY
        ],
        "addresses": [
            {"type": "InternalIP", "address": f"172.18.{(number + 2) // 256}.{(number + 2) % 256}"},
            {"type": "Hostname", "address": name},
        ],
        "nodeInfo": {
            "architecture": "amd64",
            "bootID": "",
            "containerRuntimeVersion": "none://0",
            "kernelVersion": "",
            "kubeProxyVersion": "",
            "kubeletVersion": "v1.36.2",
            "machineID": "",
            "operatingSystem": "linux",
            "osImage": "embedded",
            "systemUUID": "",
        },
    }


def is_ready(node: Body) -> bool:
    return any(
        one.get("type") == "Ready" and one.get("status") == "True"
        for one in objects.state(node).get("conditions") or ()
    )


def takes(node: Body, pod_spec: Body, *, ignore_unschedulable: bool = False) -> bool:
    return not refusal(node, pod_spec, ignore_unschedulable=ignore_unschedulable)


def refusal(node: Body, pod_spec: Body, *, ignore_unschedulable: bool = False) -> str:
    """Why the node does not take such a pod, in the scheduler's words; empty if it does. Amounts are not looked at."""
    spec = objects.spec(node)
    if pod_spec.get("nodeName") and pod_spec["nodeName"] != objects.meta(node)["name"]:
        return "node(s) didn't match the requested node name"
    tolerations = pod_spec.get("tolerations") or []
    taints = list(spec.get("taints") or ())
    if (
        spec.get("unschedulable")
        and not ignore_unschedulable
        and not any(one.get("key") == _CORDONED["key"] for one in taints)
    ):
        taints.append(_CORDONED)
    for taint in taints:
        if taint.get("effect") in ("NoSchedule", "NoExecute") and not any(
            _tolerates(one, taint) for one in tolerations
        ):
            if taint is _CORDONED or taint.get("key") == _CORDONED["key"]:
                return "node(s) were unschedulable"
            return f"node(s) had untolerated taint(s) {{{taint.get('key')}: {taint.get('value') or ''}}}"
    labels = objects.meta(node).get("labels") or {}
    wanted = pod_spec.get("nodeSelector") or {}
    if any(labels.get(key) != value for key, value in wanted.items()) or not _affine(pod_spec, node, labels):
        return "node(s) didn't match Pod's node affinity/selector"
    return ""


_CORDONED: Final = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def _tolerates(toleration: Body, taint: Body) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if not toleration.get("key"):
        return toleration.get("operator") == "Exists"
    if toleration["key"] != taint.get("key"):
        return False
    return toleration.get("operator") == "Exists" or (toleration.get("value") or "") == (taint.get("value") or "")


def tolerated_seconds(taints: list[Body], tolerations: list[Body]) -> float | None:
    """How long a pod bears the taints: 0 if it does not tolerate one of them, ``None`` for ever."""
    least: float | None = None
    for taint in taints:
        matching = [one for one in tolerations if _tolerates(one, taint)]
        if not matching:
            return 0.0
        for seconds in (one["tolerationSeconds"] for one in matching if one.get("tolerationSeconds") is not None):
            least = max(0.0, seconds) if least is None else max(0.0, min(least, seconds))
    return least


def address(node: Body | None) -> str:
    """Of the machine itself; "" if nobody knows it."""
    told = objects.state(node).get("addresses") or () if node is not None else ()
    return next((one["address"] for one in told if one.get("type") == "InternalIP"), "")


def _affine(pod_spec: Body, node: Body, labels: Body) -> bool:
    affinity = ((pod_spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    if affinity is None:
        return True
    names = {"metadata.name": objects.meta(node)["name"]}
    return any(
        all(_holds(one, labels) for one in term.get("matchExpressions") or ())
        and all(_holds(one, names) for one in term.get("matchFields") or ())
        for term in affinity.get("nodeSelectorTerms") or ()
        if term.get("matchExpressions") or term.get("matchFields")
    )


def _holds(wanted: Body, labels: Body) -> bool:
    value, operator, allowed = labels.get(wanted["key"]), wanted["operator"], wanted.get("values") or []
    if operator == "In":
        return value in allowed
    if operator == "NotIn":
        return value not in allowed
    if operator == "Exists":
        return value is not None
    if operator == "DoesNotExist":
        return value is None
    if value is None or not str(value).lstrip("-").isdigit():
        return False
    return int(value) > int(allowed[0]) if operator == "Gt" else int(value) < int(allowed[0])
