"""Values that a server keeps as one, and what it fills in there by itself.

An atomic list or map belongs to whoever applied it last, as a whole. The record of ownership says only that it is ours,
not what we sent: a member that the live value has and the manifest has not was either filled in by the server, or we
sent it once and the manifest has dropped it: a key of a Service's selector, the `resourceNames` of a Role's rule, the
`tolerationSeconds` of a toleration. The first must not be written over and over again, the second must go. So what
servers fill in stands here (Kubernetes: the defaulting functions of each API group, as far as they reach into atomic
values). Of kinds that users define nobody knows it, and their members are left alone; only selectors have no defaults
anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gitfed.text.pointer import Pointer

_GROUPS = frozenset(
    {
        "", "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "apps", "autoscaling",
        "batch", "certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io",
        "flowcontrol.apiserver.k8s.io", "networking.k8s.io", "node.k8s.io", "policy", "rbac.authorization.k8s.io",
        "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io",
    }
)  # fmt: skip
"""API groups of Kubernetes itself. A group that only ends in `.k8s.io` may well be one of custom resources."""
_SELECTORS = frozenset(
    {"selector", "nodeSelector", "matchLabels", "podSelector", "namespaceSelector", "labelSelector", "objectSelector"}
)


def _anything(_: Any) -> bool:
    return True


def _one_of(*values: Any) -> Callable[[Any], bool]:
    return lambda value: value in values


_EMPTY, _ALL_SCOPES, _TCP = _one_of({}), _one_of("*"), _one_of("TCP")
_FILLED: Mapping[tuple[str, str], Callable[[Any], bool]] = {
    ("fieldRef", "apiVersion"): _one_of("v1"),
    ("resourceFieldRef", "divisor"): _one_of("0", 0),
    ("serviceAccountToken", "expirationSeconds"): _one_of(3600),
    ("podCertificate", "maxExpirationSeconds"): _anything,
    ("volumeClaimTemplates", "apiVersion"): _anything,
    ("volumeClaimTemplates", "kind"): _anything,
    ("volumeClaimTemplates", "status"): _anything,
    ("metadata", "creationTimestamp"): _anything,
    ("spec", "volumeMode"): _one_of("Filesystem"),
    ("onPodConditions", "status"): _one_of("True"),
    ("ports", "protocol"): _TCP,
    ("ports", "name"): _one_of(""),
    ("subjects", "apiGroup"): _anything,
    ("roleRef", "apiGroup"): _anything,
    ("rules", "scope"): _ALL_SCOPES,
    ("resourceRules", "scope"): _ALL_SCOPES,
    ("excludeResourceRules", "scope"): _ALL_SCOPES,
    ("matchConstraints", "matchPolicy"): _one_of("Equivalent"),
    ("matchConstraints", "namespaceSelector"): _EMPTY,
    ("matchConstraints", "objectSelector"): _EMPTY,
    ("matchResources", "matchPolicy"): _one_of("Equivalent"),
    ("matchResources", "namespaceSelector"): _EMPTY,
    ("matchResources", "objectSelector"): _EMPTY,
    ("limits", "default"): _anything,
    ("limits", "defaultRequest"): _anything,
    ("requests", "allocationMode"): _one_of("ExactCount"),
    ("requests", "count"): _one_of(1),
    ("exactly", "allocationMode"): _one_of("ExactCount"),
    ("exactly", "count"): _one_of(1),
    ("firstAvailable", "allocationMode"): _one_of("ExactCount"),
    ("firstAvailable", "count"): _one_of(1),
    ("tolerations", "operator"): _one_of("Equal"),
    ("taints", "timeAdded"): _anything,
}
"""By (what it is in, member): the values that a server fills in. An item of a list is in what the list is called."""
_FILLED_UP = frozenset({"default", "defaultRequest"})
"""Maps that a server completes: of a LimitRange, by each other and by the item's maxima."""


def drops(name: str, value: Any, place: Pointer) -> bool:
    """Whether the live member `name` of an atomic value at `place`, which the manifest does not have, has to go."""
    if value is None:
        return False
    inside = place[-2] if place[-1].isdecimal() and len(place) > 1 else place[-1]
    fills = _FILLED.get((inside, name))
    return inside not in _FILLED_UP and not (fills is not None and fills(value))


def is_known(api_version: str, place: Pointer) -> bool:
    """Whether `drops` can tell of an object of this kind."""
    return place[-1] in _SELECTORS or api_version.rpartition("/")[0] in _GROUPS
