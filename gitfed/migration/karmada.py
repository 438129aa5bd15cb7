"""A Karmada control plane as files of a repository, and its bindings as decisions, so that nothing has to move.

Policies, overrides, clusters and interpreters are what they are here too; what the server and Karmada's controllers
wrote into them goes. Templates are the rest. Bindings say where everything runs now: a plan that starts from them
keeps it there.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gitfed.migration import layout, template
from gitfed.migration.member import SECRET_HINT
from gitfed.migration.report import Code, Finding, Imported, sorted_findings, subject
from gitfed.model import keys
from gitfed.model.base import Body

_TAKEN = frozenset(
    {"PropagationPolicy", "ClusterPropagationPolicy", "OverridePolicy", "ClusterOverridePolicy",
     "FederatedResourceQuota", "ClusterTaintPolicy", "ResourceInterpreterCustomization",
     "ResourceInterpreterWebhookConfiguration", "Remedy", "CronFederatedHPA", "FederatedHPA", "ResourceRegistry",
     "MultiClusterService", "MultiClusterIngress"}
)  # fmt: skip
_PROPAGATION = frozenset(
    {("policy.karmada.io", "PropagationPolicy"), ("policy.karmada.io", "ClusterPropagationPolicy")}
)
_QUOTA = ("policy.karmada.io", "FederatedResourceQuota")
_BINDINGS = frozenset({"ResourceBinding", "ClusterResourceBinding"})
_OWN = frozenset({"Work", "WorkloadRebalancer", "Karmada"})
"""What Karmada's controllers make, and orders that had their effect."""
_POLICY = {"conflictResolution": "Abort", "preemption": "Never", "priority": 0, "schedulerName": "default-scheduler"}
_FILLED_IN: Mapping[str, Mapping[str, Any]] = {
    "PropagationPolicy": _POLICY, "ClusterPropagationPolicy": _POLICY, "MultiClusterService": {"range": {}},
}  # fmt: skip
"""What the control plane adds where nothing was written; it means the same here."""
_LEFT_BY_HEALTH = frozenset({keys.NOT_READY, keys.UNREACHABLE, keys.TERMINATING})
"""Taints that say how a cluster is: gitfed sets them itself."""
_NOT_ACTED_ON = "gitfed does not act on this kind"


class Taken(NamedTuple):
    imported: Imported
    decisions: tuple[Body, ...]
    """Bindings, as `--decisions` reads them."""


def convert(bodies: Iterable[Body], *, folder: str = "", with_secrets: bool = False, adopt: bool = False) -> Taken:
    """Everything of an export of the control plane, in any order. `adopt`: what Karmada wrote is to become gitfed's."""
    made: list[Body] = []
    decisions: list[Body] = []
    findings: list[Finding] = []
    for body in bodies:
        group, kind = str(body.get("apiVersion") or "").rpartition("/")[0], str(body.get("kind") or "")
        if not kind or not isinstance(body.get("metadata"), dict) or not body["metadata"].get("name"):
            continue
        if kind in _BINDINGS and group == "work.karmada.io":
            decisions.append(_binding(body))
        elif kind == "Cluster" and group == "cluster.karmada.io":
            made.append(_cluster(body))
            hint = "put token, caBundle and server below --credentials-dir, or name a context of that name"
            findings.append(Finding(Code.CREDENTIALS, subject(body), "its credentials are not taken over", hint))
        elif kind in _TAKEN and group.endswith("karmada.io"):
            made.append(_declared(body))
            if _has_secret(body):
                hint = "put username, password and server below --credentials-dir"
                findings.append(Finding(Code.CREDENTIALS, subject(body), "its credentials are not taken over", hint))
        elif group.endswith("karmada.io"):
            code = Code.GENERATED if kind in _OWN else Code.NO_EQUIVALENT
            message = "Karmada makes it for itself" if kind in _OWN else _NOT_ACTED_ON
            findings.append(Finding(code, subject(body), message))
        elif _is_karmadas(group, body):
            findings.append(Finding(Code.SYSTEM, subject(body), "it is a part of Karmada"))
        elif code_or_none := template.why_not(body):
            findings.append(Finding(code_or_none, subject(body), "no template of a person"))
        elif kind == "Secret" and not with_secrets:
            message = "the values of a Secret do not belong into Git"
            findings.append(Finding(Code.SECRET, subject(body), message, SECRET_HINT))
        else:
            made.append(template.of(body))
    if adopt:
        made = [*_overwriting(made)]
    return Taken(Imported(layout.files(made, folder), sorted_findings(findings)), tuple(decisions))


def _declared(body: Body) -> Body:
    """A policy as it was written."""
    manifest = template.of(body)
    spec = manifest.get("spec")
    if not isinstance(spec, dict):
        return manifest
    for field, value in _FILLED_IN.get(manifest["kind"], {}).items():
        if spec.get(field) == value:
            del spec[field]
    namespace = manifest["metadata"].get("namespace")
    for selector in spec.get("resourceSelectors") or ():
        if namespace and selector.get("namespace") == namespace:
            del selector["namespace"]
    return manifest


def _overwriting(made: Sequence[Body]) -> Iterator[Body]:
    """With leave to take over what is in the clusters. What no policy places says so itself: what quotas assign to
    clusters, and the Services of MultiClusterServices."""
    shared = {
        (body["metadata"].get("namespace"), body["metadata"]["name"])
        for body in made
        if _kind(body) == ("networking.karmada.io", "MultiClusterService")
    }
    for body in made:
        metadata, spec, kind = body["metadata"], body.get("spec"), _kind(body)
        if kind in _PROPAGATION and isinstance(spec, dict):
            yield {**body, "spec": {**spec, "conflictResolution": "Overwrite"}}
        elif (kind == _QUOTA and isinstance(spec, dict) and spec.get("staticAssignments")) or (
            kind == ("", "Service") and (metadata.get("namespace"), metadata["name"]) in shared
        ):
            annotations = {**metadata.get("annotations", {}), keys.CONFLICT_ANNOTATION: "overwrite"}
            yield {**body, "metadata": {**metadata, "annotations": annotations}}
        else:
            yield body


def _kind(body: Body) -> tuple[str, str]:
    return str(body["apiVersion"]).rpartition("/")[0], str(body["kind"])


def _is_karmadas(group: str, body: Body) -> bool:
    """What its installation puts beside the templates: the definitions of its kinds, and who checks them."""
    if (group, body["kind"]) == ("apiextensions.k8s.io", "CustomResourceDefinition"):
        return str((body.get("spec") or {}).get("group") or "").endswith("karmada.io")
    if group == "admissionregistration.k8s.io":
        webhooks = body.get("webhooks") or ()
        return bool(webhooks) and all(str(webhook.get("name")).endswith(".karmada.io") for webhook in webhooks)
    return False


def _has_secret(body: Body) -> bool:
    """Of a ResourceRegistry: the password of its store."""
    store = (body.get("spec") or {}).get("backendStore") or {}
    return bool((store.get("openSearch") or {}).get("secretRef"))


def _cluster(body: Body) -> Body:
    manifest = template.of(body)
    spec: dict[str, Any] = dict(manifest.get("spec") or {})
    taints = [
        {key: value for key, value in taint.items() if key != "timeAdded"}
        for taint in spec.pop("taints", None) or ()
        if taint.get("key") not in _LEFT_BY_HEALTH
    ]
    if taints:
        spec["taints"] = taints
    return {**manifest, "spec": spec}


def _binding(body: Body) -> Body:
    """Without what changes with every write. Status holds what the next decision goes by."""
    metadata = {key: body["metadata"][key] for key in ("name", "namespace") if body["metadata"].get(key)}
    if annotations := body["metadata"].get("annotations"):
        metadata["annotations"] = dict(annotations)
    return {**copy.deepcopy({key: value for key, value in body.items() if key != "metadata"}), "metadata": metadata}
