"""A live object → what a person would have written: the template that gives this object again.

What the server or a controller wrote goes: identity, status, ownership, what a scheduler or an allocator chose, and the
defaults that come back by themselves. Objects that a controller makes from others, and those that every cluster has of
its own, are no templates at all.
"""

from __future__ import annotations

import copy
import re
from typing import Any

from gitfed.migration import defaults
from gitfed.migration.report import Code
from gitfed.model import keys
from gitfed.model.base import Body

_METADATA = ("name", "namespace", "labels", "annotations", "finalizers")
_FINALIZERS_OF_SERVERS = re.compile(r"^(kubernetes|foregroundDeletion|orphan|kubernetes\.io/.*|.*karmada\.io/.*)$")
_ANNOTATIONS = re.compile(
    r"^(kubectl\.kubernetes\.io/last-applied-configuration|deployment\.kubernetes\.io/.*|"
    r"deprecated\.daemonset\.template\.generation|control-plane\.alpha\.kubernetes\.io/.*|"
    r"pv\.kubernetes\.io/.*|volume\.(beta\.)?kubernetes\.io/(storage-provisioner|selected-node)|"
    r"batch\.kubernetes\.io/job-tracking|autoscaling\.alpha\.kubernetes\.io/.*|"
    r"(.*\.)?karmada\.io/.*|gitfed\.io/.*|meta\.helm\.sh/.*)$"
)
"""Written by the server, its controllers and other managers."""
_LABELS = re.compile(
    r"^(kubernetes\.io/metadata\.name|pod-template-hash|controller-revision-hash|controller-uid|"
    r"batch\.kubernetes\.io/(controller-uid|job-name)|(.*\.)?karmada\.io/.*|kubefed\.io/.*|gitfed\.io/.*)$"
)
_OF_A_JOB = re.compile(r"^(controller-uid|job-name|batch\.kubernetes\.io/.*)$")
_KEPT_LABELS = frozenset(
    {keys.RETAIN_REPLICAS, keys.PROTECTED_LABEL,
     keys.SKIP_LABEL}
)  # fmt: skip
"""Of Karmada's those that a person writes."""
_KEPT_ANNOTATIONS = frozenset({keys.CONFLICT_ANNOTATION})
_MADE = frozenset(
    {("", "Event"), ("events.k8s.io", "Event"), ("", "Endpoints"), ("discovery.k8s.io", "EndpointSlice"),
     ("coordination.k8s.io", "Lease"), ("apps", "ControllerRevision"), ("metrics.k8s.io", "PodMetrics"),
     ("metrics.k8s.io", "NodeMetrics"), ("", "ComponentStatus"), ("storage.k8s.io", "VolumeAttachment"),
     ("storage.k8s.io", "CSIStorageCapacity")}
)  # fmt: skip
_OF_THE_CLUSTER = frozenset(
    {("", "Node"), ("storage.k8s.io", "CSINode"), ("apiregistration.k8s.io", "APIService"),
     ("flowcontrol.apiserver.k8s.io", "FlowSchema"), ("networking.k8s.io", "IPAddress"),
     ("networking.k8s.io", "ServiceCIDR"), ("certificates.k8s.io", "CertificateSigningRequest"),
     ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration")}
)  # fmt: skip
_SYSTEM_NAMESPACES = re.compile(r"^(kube-.*|karmada-.*|gitfed-system)$")
_SYSTEM_NAMES = re.compile(r"^(system:|kubeadm:|kubernetes$|system-)")
_SYSTEM_SECRETS = frozenset({keys.TOKEN_TYPE, "bootstrap.kubernetes.io/token", "helm.sh/release.v1"})


def why_not(body: Body) -> Code | None:
    """Why a live object becomes no template; None: it does."""
    group, kind = str(body.get("apiVersion") or "").rpartition("/")[0], str(body.get("kind") or "")
    metadata = body["metadata"]
    name, namespace = str(metadata.get("name")), str(metadata.get("namespace") or "")
    if (group, kind) in _OF_THE_CLUSTER or _SYSTEM_NAMESPACES.match(namespace):
        return Code.SYSTEM
    if kind == "Namespace" and not group and (name == "default" or _SYSTEM_NAMESPACES.match(name)):
        return Code.SYSTEM
    if _SYSTEM_NAMES.match(name) and (group in ("rbac.authorization.k8s.io", "scheduling.k8s.io") or kind == "Service"):
        return Code.SYSTEM
    labels = metadata.get("labels") or {}
    if labels.get("kubernetes.io/bootstrapping"):
        return Code.SYSTEM
    if (group, kind) in _MADE or any(owner.get("controller") for owner in metadata.get("ownerReferences") or ()):
        return Code.GENERATED
    if kind == "PersistentVolume" and "pv.kubernetes.io/provisioned-by" in (metadata.get("annotations") or {}):
        return Code.GENERATED
    if (kind, name) in (("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")):
        return Code.GENERATED
    if kind == "ConfigMap" and name.startswith("gitfed-inventory-"):
        return Code.SYSTEM
    if kind == "Secret" and body.get("type") in _SYSTEM_SECRETS:
        return Code.GENERATED
    return None


def of(live: Body) -> Body:
    """The template. The live object is not changed."""
    body: dict[str, Any] = copy.deepcopy(
        {key: value for key, value in live.items() if key not in ("metadata", "status")}
    )
    metadata = {key: copy.deepcopy(live["metadata"][key]) for key in _METADATA if live["metadata"].get(key)}
    fields = (("annotations", _ANNOTATIONS, _KEPT_ANNOTATIONS), ("labels", _LABELS, _KEPT_LABELS))
    for field, ours, kept_ones in fields:
        kept = {
            key: value
            for key, value in (metadata.pop(field, None) or {}).items()
            if not ours.match(key) or key in kept_ones
        }
        if kept:
            metadata[field] = kept
    finalizers = [
        finalizer for finalizer in metadata.pop("finalizers", ()) if not _FINALIZERS_OF_SERVERS.match(finalizer)
    ]
    if finalizers:
        metadata["finalizers"] = finalizers
    body = {"apiVersion": body.pop("apiVersion"), "kind": body.pop("kind"), "metadata": metadata, **body}
    _without_allocations(body)
    return defaults.without(body)


def _without_allocations(body: dict[str, Any]) -> None:
    """What was chosen in that cluster: another one chooses otherwise."""
    spec = body.get("spec")
    match body["kind"], spec:
        case "Service", dict():
            headless = spec.get("clusterIP") == "None"
            for field in ("clusterIPs", "healthCheckNodePort", *(() if headless else ("clusterIP",))):
                spec.pop(field, None)
            if spec.get("type") != "ExternalName":
                for field in ("ipFamilies", "ipFamilyPolicy"):
                    if spec.get(field) in ("SingleStack", ["IPv4"], ["IPv6"]):
                        spec.pop(field)
            if spec.get("type") in ("NodePort", "LoadBalancer"):
                for port in spec.get("ports") or ():
                    port.pop("nodePort", None)
        case "PersistentVolumeClaim", dict():
            spec.pop("volumeName", None)
        case "Job", dict() if spec.get("manualSelector") is not True:
            spec.pop("selector", None)
            # A Job that has no labels gets those of its pods, and the pods those that tell whose they are.
            for metadata in (body["metadata"], (spec.get("template") or {}).get("metadata") or {}):
                for name in [name for name in metadata.get("labels") or () if _OF_A_JOB.match(name)]:
                    del metadata["labels"][name]
                if metadata.get("labels") == {}:
                    del metadata["labels"]
            if (spec.get("template") or {}).get("metadata") == {}:
                del spec["template"]["metadata"]
        case "Pod", dict():
            spec.pop("nodeName", None)
        case "ServiceAccount", _:
            body.pop("secrets", None)
        case "Namespace", dict():
            body.pop("spec")
        case "CustomResourceDefinition", dict():
            if (spec.get("conversion") or {}).get("strategy") == "None":
                spec.pop("conversion")
        case _:
            pass
