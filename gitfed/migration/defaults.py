"""What an API server fills in where nothing was written, taken out again: the template stays as short as it was.

Only values that equal the default go, so the object that comes of the template is the same. The defaults are those of
the built-in kinds (Kubernetes API reference); custom kinds say theirs in their definitions, which are left as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gitfed.model.base import Body

_PROBE = {"failureThreshold": 3, "periodSeconds": 10, "successThreshold": 1, "timeoutSeconds": 1}
_CONTAINER = {
    "resources": {}, "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
}  # fmt: skip
_POD = {
    "dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler", "securityContext": {},
    "terminationGracePeriodSeconds": 30, "enableServiceLinks": True, "preemptionPolicy": "PreemptLowerPriority",
}  # fmt: skip
_ROLLING = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}
_SPEC: dict[str, Mapping[str, Any]] = {
    "Deployment": {"progressDeadlineSeconds": 600, "revisionHistoryLimit": 10, "strategy": _ROLLING},
    "DaemonSet": {
        "revisionHistoryLimit": 10,
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
    },
    "StatefulSet": {
        "podManagementPolicy": "OrderedReady",
        "revisionHistoryLimit": 10,
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
    },
    "Job": {
        "backoffLimit": 6, "completionMode": "NonIndexed", "suspend": False, "manualSelector": False,
        "podReplacementPolicy": "TerminatingOrFailed",
    },
    "CronJob": {
        "concurrencyPolicy": "Allow", "failedJobsHistoryLimit": 1, "successfulJobsHistoryLimit": 3, "suspend": False,
    },
    "Service": {"internalTrafficPolicy": "Cluster", "sessionAffinity": "None", "type": "ClusterIP"},
    "PersistentVolumeClaim": {"volumeMode": "Filesystem"},
}  # fmt: skip
_POD_TEMPLATES = {
    "Deployment": ("template",), "DaemonSet": ("template",), "StatefulSet": ("template",), "ReplicaSet": ("template",),
    "ReplicationController": ("template",), "Job": ("template",), "CronJob": ("jobTemplate", "spec", "template"),
}  # fmt: skip


def without(body: Body) -> Body:
    """The same object, changed in place: without what the server would fill in."""
    kind, spec = str(body["kind"]), body.get("spec")
    if not isinstance(spec, dict):
        return body
    _drop(spec, _SPEC.get(kind, {}))
    if kind == "CronJob":
        _drop(_inner(spec, ("jobTemplate", "spec")), _SPEC["Job"])
    pod = spec if kind == "Pod" else _inner(spec, (*_POD_TEMPLATES.get(kind, ("-",)), "spec"))
    if pod:
        _pod(pod)
    template = _inner(spec, _POD_TEMPLATES.get(kind, ("-",)))
    for metadata in (_inner(template, ("metadata",)), _inner(spec, ("jobTemplate", "metadata"))):
        metadata.pop("creationTimestamp", None)
    if kind == "CronJob" and not _inner(spec, ("jobTemplate", "metadata")):
        _inner(spec, ("jobTemplate",)).pop("metadata", None)
    if kind == "Service":
        for port in spec.get("ports") or ():
            _drop(port, {"protocol": "TCP"})
            if port.get("targetPort") == port.get("port"):
                port.pop("targetPort", None)
    if kind == "StatefulSet":
        for claim in spec.get("volumeClaimTemplates") or ():
            claim.pop("status", None)
            claim.get("metadata", {}).pop("creationTimestamp", None)
            _drop(claim.get("spec") or {}, _SPEC["PersistentVolumeClaim"])
    return body


def _pod(spec: dict[str, Any]) -> None:
    _drop(spec, _POD)
    # Two names of one field.
    if spec.get("serviceAccount") == spec.get("serviceAccountName"):
        spec.pop("serviceAccount", None)
    for container in _containers(spec):
        _drop(container, _CONTAINER)
        image = str(container.get("image") or "")
        if container.get("imagePullPolicy") == _pull_policy(image):
            container.pop("imagePullPolicy")
        for port in container.get("ports") or ():
            _drop(port, {"protocol": "TCP"})
        for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
            declared = container.get(probe)
            if isinstance(declared, dict):
                _drop(declared, _PROBE)
                _drop(declared.get("httpGet") or {}, {"scheme": "HTTP"})
        for variable in container.get("env") or ():
            _drop(_inner(variable, ("valueFrom", "fieldRef")), {"apiVersion": "v1"})
    for volume in spec.get("volumes") or ():
        for source in ("configMap", "secret", "projected", "downwardAPI"):
            _drop(volume.get(source) or {}, {"defaultMode": 420})
        _drop(volume.get("hostPath") or {}, {"type": ""})


def _containers(spec: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for field in ("containers", "initContainers", "ephemeralContainers"):
        yield from (container for container in spec.get(field) or () if isinstance(container, dict))


def _pull_policy(image: str) -> str:
    """Always for `latest`, which is what no tag means too."""
    name = image.rpartition("/")[2]
    if "@" in name:
        return "IfNotPresent"
    return "Always" if name.partition(":")[2] in ("", "latest") else "IfNotPresent"


def _drop(mapping: Any, values: Mapping[str, Any]) -> None:
    if isinstance(mapping, dict):
        for key, value in values.items():
            if key in mapping and mapping[key] == value and type(mapping[key]) is type(value):
                del mapping[key]


def _inner(value: Any, path: tuple[str, ...]) -> dict[str, Any]:
    """The mapping at that path; an empty one, which is not kept, where there is none."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}
