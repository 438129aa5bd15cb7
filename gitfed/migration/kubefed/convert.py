"""A KubeFed fleet as files of a repository: templates, policies, overrides and clusters, and what has no equivalent.

What stands in the clusters afterwards is what KubeFed had put there: the same clusters, the same bodies, the same
numbers of replicas. Objects of one namespace that go to the same clusters share one policy.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from gitfed.migration import layout
from gitfed.migration.kubefed import documents, placement, replicas
from gitfed.migration.kubefed.documents import Export, TargetType
from gitfed.migration.kubefed.placement import Choice
from gitfed.migration.member import BY_POLICY, POLICY
from gitfed.migration.report import Code, Finding, Imported, sorted_findings, subject
from gitfed.model.base import Body
from gitfed.model.keys import RETAIN_REPLICAS
from gitfed.text.values import dataclass

_CLUSTER = "cluster.karmada.io/v1alpha1"
_FIXED = frozenset({"/metadata/namespace", "/metadata/name", "/metadata/generateName", "/kind"})
"""Paths that KubeFed refuses in overrides."""
_DIVIDED = {"FederatedDeployment", "FederatedReplicaSet"}


@dataclass(slots=True)
class _Made:
    bodies: list[Body] = field(default_factory=list)
    policies: dict[tuple[str, str], list[Body]] = field(default_factory=dict)
    """Selectors of the objects that share a policy, by namespace and placement as JSON."""
    findings: list[Finding] = field(default_factory=list)

    def note(self, code: Code, about: str, message: str, hint: str = "") -> None:
        self.findings.append(Finding(code, about, message, hint))


def convert(bodies: Iterable[Body], *, folder: str = "", with_secrets: bool = False) -> Imported:
    """Files below `folder` for everything in an export of the host cluster, in any order."""
    export = documents.sort(bodies)
    made = _Made(findings=export.findings)
    labels = {name: _labels(body) for name, body in export.clusters.items()}
    for name, body in sorted(export.clusters.items()):
        made.bodies.append(_cluster(name, body, made))
    for name, body in sorted(export.namespaces.items()):
        _namespace(name, body, export, made)
    for body in sorted(export.federated, key=subject):
        _federated(body, export, labels, made, with_secrets=with_secrets)
    named = {(kind, *_names(body)) for body in export.federated for kind in [str(body["kind"])]}
    for key, body in sorted(export.preferences.items()):
        if key not in named:
            made.note(
                Code.INVALID, subject(body), f"there is no {key[0] or 'target'} {key[1]}/{key[2]} for it to divide"
            )
    made.bodies += _policies(made.policies)
    return Imported(layout.files(made.bodies, folder), sorted_findings(made.findings))


def _cluster(name: str, body: Body, made: _Made) -> Body:
    spec, status = _mapping(body.get("spec")), _mapping(body.get("status"))
    cluster_spec: dict[str, Any] = {"syncMode": "Push"}
    if spec.get("apiEndpoint"):
        cluster_spec["apiEndpoint"] = spec["apiEndpoint"]
    secret = str(_mapping(spec.get("secretRef")).get("name") or "")
    namespace = str(_mapping(body.get("metadata")).get("namespace") or "kube-federation-system")
    if secret:
        cluster_spec["secretRef"] = {"namespace": namespace, "name": secret}
    if "*" in (spec.get("disabledTLSValidations") or ()):
        cluster_spec["insecureSkipTLSVerification"] = True
    if spec.get("proxyURL"):
        cluster_spec["proxyURL"] = spec["proxyURL"]
    if status.get("region"):
        cluster_spec["region"] = status["region"]
    if status.get("zones"):
        cluster_spec["zones"] = [str(zone) for zone in status["zones"]]
    where = f"{namespace}/{secret}" if secret else name
    made.note(
        Code.CREDENTIALS,
        f"KubeFedCluster/{name}",
        "its token and certificate authority are not taken over",
        f"put token, caBundle and server into CREDENTIALS/{where}/ for --credentials-dir, or name a context {name} in "
        "the daemon's kubeconfig",
    )
    metadata: dict[str, Any] = {"name": name}
    if labels := _labels(body):
        metadata["labels"] = labels
    return {"apiVersion": _CLUSTER, "kind": "Cluster", "metadata": metadata, "spec": cluster_spec}


def _namespace(name: str, body: Body, export: Export, made: _Made) -> None:
    target = export.targets["FederatedNamespace"]
    template = _template(body, target, name, "")
    metadata = template["metadata"]
    metadata["labels"] = {**metadata.get("labels", {}), **BY_POLICY}
    made.bodies.append(template)
    choice = _placed(body, made)
    if choice.is_none:
        made.note(Code.NOT_PLACED, subject(body), "KubeFed puts this namespace into no cluster, and so nothing in it")
        return
    _select(made, "", _affinity(choice), template)
    _override(body, template, "", made)


def _federated(
    body: Body, export: Export, labels: Mapping[str, Mapping[str, str]], made: _Made, *, with_secrets: bool
) -> None:
    about, kind = subject(body), str(body["kind"])
    target = export.targets.get(kind)
    if target is None:
        made.note(
            Code.UNKNOWN_TYPE,
            about,
            f"nothing says what a {kind} stands for",
            "add its FederatedTypeConfig to the export",
        )
        return
    if not target.propagated:
        made.note(Code.NOT_FEDERATED, about, "its FederatedTypeConfig has propagation disabled")
        return
    if target.kind == "Secret" and not with_secrets:
        made.note(
            Code.SECRET,
            about,
            "the values of a Secret do not belong into Git",
            "encrypt them, or have each cluster fetch them; --with-secrets writes them all the same",
        )
        return
    namespace, name = _names(body)
    template = _template(body, target, name, namespace if target.namespaced else "")
    choice = _placed(body, made)
    outer = placement.EVERYWHERE
    if target.namespaced:
        space = export.namespaces.get(namespace)
        if space is None and not export.limited:
            made.note(
                Code.NOT_PLACED, about, f"namespace {namespace} has no FederatedNamespace, so KubeFed puts it nowhere"
            )
            made.bodies.append(template)
            return
        outer = _placed(space, made) if space is not None else outer
    preference = export.preferences.get((kind, namespace, name)) if kind in _DIVIDED else None
    if preference is not None:
        _divided(preference, body, template, outer, labels, made)
        return
    made.bodies.append(template)
    choice = choice & outer
    if choice.is_none:
        made.note(
            Code.NOT_PLACED, about, "KubeFed puts it into no cluster; without a policy it goes nowhere here either"
        )
    else:
        _select(made, namespace if target.namespaced else "", _affinity(choice), template)
    if _mapping(body.get("spec")).get("retainReplicas") is True and kind in _DIVIDED:
        template["metadata"].setdefault("labels", {})[RETAIN_REPLICAS] = "true"
    _override(body, template, namespace if target.namespaced else "", made)


def _divided(
    preference: Body,
    body: Body,
    template: dict[str, Any],
    outer: Choice,
    labels: Mapping[str, Mapping[str, str]],
    made: _Made,
) -> None:
    """The workload with the total that the preference gives, divided by static weights."""
    spec = _mapping(preference.get("spec"))
    namespace, name = _names(body)
    about, key = subject(preference), f"{namespace}/{name}"
    made.bodies.append(template)
    try:
        bounds = replicas.read(spec)
        total = spec.get("totalReplicas")
        if not isinstance(total, int) or isinstance(total, bool) or total < 0:
            raise ValueError("spec.totalReplicas is no number of replicas")
        chosen = placement.of(body, selector_only=True) if spec.get("intersectWithClusterSelector") is True else None
    except ValueError as error:
        made.note(Code.INVALID, about, str(error))
        return
    candidates = [*labels] if chosen is None else chosen.clusters(labels)
    counts = replicas.divide(total, bounds, candidates, key)
    running = _running(body, counts, total)
    if running is not None and spec.get("rebalance") is not True:
        counts, own = running, None
    else:
        own = None if any(preference.least or preference.most is not None for preference in bounds.values()) else bounds
    # What the namespace keeps out is lost there, not given to others.
    allowed = set(outer.clusters(labels))
    empty = sorted(where for where, count in counts.items() if where in allowed and not count)
    counts = {where: count for where, count in counts.items() if where in allowed and count}
    if lost := total - sum(counts.values()):
        made.note(
            Code.REPLICAS, about, f"{lost} of {total} replicas fit into no cluster; the total is {total - lost} here"
        )
        own = None
    if any(preference.least or preference.most is not None for preference in bounds.values()):
        made.note(
            Code.BOUNDS,
            about,
            "minReplicas and maxReplicas became weights for the present total",
            "look at the weights again when the total changes",
        )
    if spec.get("rebalance") is not True:
        made.note(
            Code.REBALANCE, about, "without rebalance KubeFed leaves replicas where they run; here the weights decide"
        )
    if empty:
        made.note(Code.EMPTY_WORKLOAD, about, f"no replicas in {', '.join(empty)}: the workload is not made there")
    template |= {"spec": {**_mapping(template.get("spec")), "replicas": sum(counts.values())}}
    weights = replicas.weights(counts, own)
    if not weights:
        made.note(Code.NOT_PLACED, about, "it gives no cluster a replica")
        return
    static = [
        {"targetCluster": {"clusterNames": [where]}, "weight": weight} for where, weight in sorted(weights.items())
    ]
    divided = {
        "clusterAffinity": {"clusterNames": sorted(weights)},
        "replicaScheduling": {
            "replicaDivisionPreference": "Weighted",
            "replicaSchedulingType": "Divided",
            "weightPreference": {"staticWeightList": static},
        },
    }
    _select(made, namespace, divided, template)
    _override(body, template, namespace, made, without=("/spec/replicas",))


def _running(body: Body, counts: Mapping[str, int], total: int) -> dict[str, int] | None:
    """What KubeFed itself wrote last for the clusters: its scheduler stores each count as an override."""
    running = dict.fromkeys(counts, 0)
    for entry in _mapping(body.get("spec")).get("overrides") or ():
        for override in _mapping(entry).get("clusterOverrides") or ():
            count = _mapping(override).get("value")
            if _mapping(override).get("path") == "/spec/replicas" and isinstance(count, int):
                if entry.get("clusterName") not in running:
                    return None
                running[entry["clusterName"]] = count
    return running if sum(running.values()) == total and total else None


def _template(body: Body, target: TargetType, name: str, namespace: str) -> dict[str, Any]:
    given = _mapping(_mapping(body.get("spec")).get("template"))
    metadata: dict[str, Any] = {
        key: dict(value)
        for key, value in _mapping(given.get("metadata")).items()
        if key in ("labels", "annotations") and isinstance(value, dict) and value
    }
    metadata["name"] = name
    if namespace:
        metadata["namespace"] = namespace
    rest = {key: value for key, value in given.items() if key not in ("apiVersion", "kind", "metadata", "status")}
    return {"apiVersion": target.api_version, "kind": target.kind, "metadata": metadata, **rest}


def _placed(body: Body, made: _Made) -> Choice:
    try:
        return placement.of(body)
    except ValueError as error:
        made.note(Code.INVALID, subject(body), str(error))
        return placement.NOWHERE


def _affinity(choice: Choice) -> dict[str, Any]:
    affinity = choice.affinity()
    return {"clusterAffinity": affinity} if affinity else {}


def _select(made: _Made, namespace: str, where: dict[str, Any], template: Body) -> None:
    key = (namespace, json.dumps(where, sort_keys=True))
    selector = {"apiVersion": template["apiVersion"], "kind": template["kind"], "name": template["metadata"]["name"]}
    made.policies.setdefault(key, []).append(selector)


def _policies(groups: Mapping[tuple[str, str], list[Body]]) -> Iterable[Body]:
    taken: set[tuple[str, str]] = set()
    for (namespace, text), selectors in sorted(groups.items()):
        where = json.loads(text)
        name = stem = _policy_name(where, selectors)
        number = 1
        while (namespace, name) in taken:
            number += 1
            name = f"{stem}-{number}"
        taken.add((namespace, name))
        spec = {
            "placement": where,
            "resourceSelectors": sorted(selectors, key=lambda selector: (selector["kind"], selector["name"])),
        }
        metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
        kind = "PropagationPolicy" if namespace else "ClusterPropagationPolicy"
        yield {"apiVersion": POLICY, "kind": kind, "metadata": metadata, "spec": spec}


def _policy_name(where: Mapping[str, Any], selectors: list[Body]) -> str:
    """After its only object, else after the clusters."""
    if len(selectors) == 1:
        return _name(f"{selectors[0]['kind']}-{selectors[0]['name']}")
    affinity = where.get("clusterAffinity") or {}
    names = affinity.get("clusterNames")
    if names:
        return _name("on-" + "-".join(names)) if len(names) <= 3 else f"on-{len(names)}-clusters"
    return "on-labelled-clusters" if affinity else "everywhere"


def _name(text: str) -> str:
    return "".join(char if char.isalnum() or char in "-." else "-" for char in text.lower())[:63].strip("-.")


def _override(body: Body, template: Body, namespace: str, made: _Made, *, without: tuple[str, ...] = ()) -> None:
    rules = []
    overrides = _mapping(body.get("spec")).get("overrides") or ()
    for override in overrides if isinstance(overrides, list) else ():
        plaintext = [_plaintext(item, body, made) for item in _mapping(override).get("clusterOverrides") or ()]
        wanted = [item for item in plaintext if item is not None and item["path"] not in without]
        if wanted and override.get("clusterName"):
            target = {"clusterNames": [str(override["clusterName"])]}
            rules.append({"overriders": {"plaintext": wanted}, "targetCluster": target})
    if not rules:
        return
    name = _name(f"{template['kind']}-{template['metadata']['name']}")
    selector = {"apiVersion": template["apiVersion"], "kind": template["kind"], "name": template["metadata"]["name"]}
    made.bodies.append(
        {
            "apiVersion": POLICY,
            "kind": "OverridePolicy" if namespace else "ClusterOverridePolicy",
            "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
            "spec": {"overrideRules": rules, "resourceSelectors": [selector]},
        }
    )


def _plaintext(item: object, body: Body, made: _Made) -> Body | None:
    given = _mapping(item)
    path, operator = str(given.get("path") or ""), str(given.get("op") or "replace")
    if not path or path in _FIXED:
        made.note(Code.INVALID, subject(body), f"override of {path or 'no path'}: KubeFed refuses it")
        return None
    if operator not in ("add", "replace", "remove"):
        made.note(
            Code.NO_EQUIVALENT,
            subject(body),
            f"override {operator} {path}: gitfed has add, replace and remove",
            "write the resulting value with replace",
        )
        return None
    overrider = {"operator": operator, "path": path}
    return overrider if operator == "remove" else {**overrider, "value": given.get("value")}


def _names(body: Body) -> tuple[str, str]:
    metadata = _mapping(body.get("metadata"))
    return str(metadata.get("namespace") or ""), str(metadata.get("name") or "")


def _labels(body: Body) -> dict[str, str]:
    labels = _mapping(_mapping(body.get("metadata")).get("labels"))
    return {str(key): str(value) for key, value in sorted(labels.items())}


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
