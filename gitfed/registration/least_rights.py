"""The least rights that gitfed needs in one cluster for what the repository sends there, as RBAC objects.

It reads with get, list and watch, each kind of the repository across namespaces by its label, in every cluster: what
went elsewhere may still be there, and is deleted. It writes with patch (server-side apply) and create. Beside the
objects it keeps its inventory in one namespace, makes namespaces, finds out which kinds there are, and looks at nodes
and pods for the capacity that is left. Where services are shared it writes EndpointSlices too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from gitfed.model import agent_identity
from gitfed.model.base import Body, Kind
from gitfed.model.declared.access import AccessPolicy, Subject
from gitfed.model.declared.cluster import Cluster
from gitfed.model.fleet import ClusterFacts
from gitfed.model.load import SCALE_IN_OBJECT
from gitfed.placement.scheduling import affinity, cluster
from gitfed.text.values import dataclass

_GROUP = "rbac.authorization.k8s.io"
_READ = ["get", "list", "watch"]
_WRITE = [*_READ, "create", "patch", "delete"]
_NAMESPACE = Kind("", "Namespace")
_DEFINITION = Kind("apiextensions.k8s.io", "CustomResourceDefinition")
_GRANTING = {
    Kind(_GROUP, "Role"): ["escalate"],
    Kind(_GROUP, "ClusterRole"): ["escalate"],
}
"""Writing these grants rights; an API server allows it with those rights, or these verbs."""
_BINDING = (Kind(_GROUP, "RoleBinding"), Kind(_GROUP, "ClusterRoleBinding"))

_METRICS: list[Body] = [
    {"apiGroups": ["metrics.k8s.io"], "resources": ["pods"], "verbs": ["list"]},
    {"apiGroups": ["custom.metrics.k8s.io", "external.metrics.k8s.io"], "resources": ["*"], "verbs": ["get", "list"]},
    {"apiGroups": ["autoscaling"], "resources": ["horizontalpodautoscalers"], "verbs": ["list"]},
]
"""What an autoscaler goes by, and whether another one is active."""


@dataclass(frozen=True, slots=True)
class Needs:
    written: frozenset[Kind]
    left: frozenset[Kind] = frozenset()
    """Kinds that are deleted where they exist, and not made."""
    plurals: Mapping[Kind, str] = field(default_factory=dict)
    """Resource names of the kinds that the repository defines itself."""
    endpoints: bool = False
    """Whether endpoints travel between clusters (`services`)."""
    callers: Sequence[Subject] = ()
    """Who may come through the hub's doors: there gitfed acts as them."""
    searched: frozenset[Kind] = frozenset()
    """What ResourceRegistries select: the hub lists and watches it."""
    pulled: bool = False
    """An agent is who needs them; the hub searches through it, as a user of its own."""
    scaled: frozenset[Kind] = frozenset()
    """What FederatedHPAs scale: its use is read."""


def objects(needs: Needs, *, account: str, namespace: str) -> list[Body]:
    """ClusterRole and Role with their bindings for a service account."""
    subject = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    rights = _rules(needs)
    inventory = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": [*_READ, "create", "patch"]}]
    name = f"{account}-least"
    roles = [
        _role("ClusterRole", {"name": name}, rights),
        _binding("ClusterRoleBinding", {"name": f"{name}:{namespace}"}, "ClusterRole", name, subject),
        _role("Role", {"name": name, "namespace": namespace}, inventory),
        _binding("RoleBinding", {"name": name, "namespace": namespace}, "Role", name, subject),
    ]
    return roles + _search(needs) if needs.pulled and needs.searched else roles


def through_the_door(policies: Iterable[AccessPolicy], declared: Cluster, *, searched: bool = False) -> list[Subject]:
    """Whom the AccessPolicies let into a cluster; if something of it is `searched`, also who may view it, since the
    cluster is asked about their rights."""
    opening = {"proxy", "view"} if searched else {"proxy"}
    candidate = cluster.candidate(declared, ClusterFacts(declared.metadata.name))
    return [
        subject
        for policy in policies
        if opening.intersection(policy.spec.allow)
        and (policy.spec.clusters is None or affinity.compile(policy.spec.clusters)(candidate))
        for subject in policy.spec.subjects
    ]


def grants_rights(kinds: Iterable[Kind]) -> bool:
    """Whether among these are kinds whose writer can grant any right to anyone."""
    return any(kind in _GRANTING or kind in _BINDING for kind in kinds)


def defined(bodies: Iterable[Body]) -> dict[Kind, str]:
    """The resource names that CustomResourceDefinitions among these give."""
    plurals: dict[Kind, str] = {}
    for body in bodies:
        spec = body.get("spec")
        if body.get("kind") != _DEFINITION.kind or not isinstance(spec, Mapping):
            continue
        names = spec.get("names") or {}
        if names.get("kind") and names.get("plural"):
            plurals[Kind(str(spec.get("group") or ""), str(names["kind"]))] = str(names["plural"])
    return plurals


def plural(kind: str) -> str:
    """As Kubernetes guesses it, right for every kind of its own."""
    lower = kind.lower()
    if lower.endswith("s"):
        return lower if lower == "endpoints" else f"{lower}es"
    return f"{lower[:-1]}ies" if lower.endswith("y") else f"{lower}s"


def _rules(needs: Needs) -> list[Body]:
    by_group: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    managed = needs.written | needs.left
    for kind in sorted({*managed, _NAMESPACE}):
        resource = needs.plurals.get(kind) or plural(kind.kind)
        by_group.setdefault((kind.group, _verbs(kind, needs)), []).append(resource)
    rules: list[Body] = [
        {
            "nonResourceURLs": ["/readyz", "/healthz", "/version", "/api", "/api/*", "/apis", "/apis/*"],
            "verbs": ["get"],
        },
        {"apiGroups": [""], "resources": ["nodes", "pods", "resourcequotas"], "verbs": ["list", "watch"]},
        {"apiGroups": ["apps"], "resources": ["deployments", "replicasets"], "verbs": ["get"]},
        # Without shared Services it is looked once whether some are left of a time when there were.
        {
            "apiGroups": ["discovery.k8s.io"],
            "resources": ["endpointslices"],
            "verbs": [*_READ, "create", "update", "delete"] if needs.endpoints else ["list"],
        },
    ]
    rules += [
        {"apiGroups": [group], "resources": resources, "verbs": list(verbs)}
        for (group, verbs), resources in by_group.items()
    ]
    if not needs.pulled:
        rules += _searching(needs, needs.searched - managed - {_NAMESPACE})
    for kind in sorted(needs.scaled):
        resource = needs.plurals.get(kind) or plural(kind.kind)
        rules.append({"apiGroups": [kind.group], "resources": [f"{resource}/scale"], "verbs": ["get"]})
        if kind not in managed and kind in SCALE_IN_OBJECT:
            rules.append({"apiGroups": [kind.group], "resources": [resource], "verbs": ["list"]})
    if needs.scaled:
        rules += _METRICS
    if any(kind in needs.written for kind in _BINDING):
        rules.append({"apiGroups": [_GROUP], "resources": ["roles", "clusterroles"], "verbs": ["bind"]})
    searching = [Subject(kind="User", name=agent_identity.SEARCH)] if needs.pulled and needs.searched else []
    return rules + _impersonation([*needs.callers, *searching])


def _search(needs: Needs) -> list[Body]:
    """For whom the agent acts as when the hub searches: agents ask nothing in their own name."""
    name = "gitfed-search"
    user = {"apiGroup": _GROUP, "kind": "User", "name": agent_identity.SEARCH}
    return [
        _role("ClusterRole", {"name": name}, _searching(needs, needs.searched)),
        _binding("ClusterRoleBinding", {"name": name}, "ClusterRole", name, user),
    ]


def _searching(needs: Needs, kinds: Iterable[Kind]) -> list[Body]:
    return [
        {
            "apiGroups": [kind.group],
            "resources": [needs.plurals.get(kind) or plural(kind.kind)],
            "verbs": ["list", "watch"],
        }
        for kind in sorted(kinds)
    ]


def _impersonation(callers: Iterable[Subject]) -> list[Body]:
    """To act as exactly these callers. Any name may be in a group, so one group needs the right for any user."""
    by_kind: dict[str, set[str]] = {}
    for caller in callers:
        by_kind.setdefault(caller.kind, set()).add(caller.name)
    rules: list[Body] = []
    for kind, resource in (("User", "users"), ("Group", "groups"), ("ServiceAccount", "serviceaccounts")):
        rule: dict[str, object] = {"apiGroups": [""], "resources": [resource], "verbs": ["impersonate"]}
        if kind == "User" and "Group" in by_kind:
            rules.append(rule)
        elif kind in by_kind:
            rules.append({**rule, "resourceNames": sorted(by_kind[kind])})
    return rules


def _verbs(kind: Kind, needs: Needs) -> tuple[str, ...]:
    if kind in needs.written:
        return (*_WRITE, *_GRANTING.get(kind, ()))
    deleted = ["delete"] if kind in needs.left else []
    # Namespaces that objects need are made, and deleted only if the repository declares some.
    made = ["create", "patch"] if kind == _NAMESPACE else []
    return (*_READ, *made, *deleted)


def _role(kind: str, metadata: Body, rules: Sequence[Body]) -> Body:
    return {"apiVersion": f"{_GROUP}/v1", "kind": kind, "metadata": metadata, "rules": list(rules)}


def _binding(kind: str, metadata: Body, role_kind: str, role: str, subject: Body) -> Body:
    reference = {"apiGroup": _GROUP, "kind": role_kind, "name": role}
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": kind,
        "metadata": metadata,
        "roleRef": reference,
        "subjects": [subject],
    }
