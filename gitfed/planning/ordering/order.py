"""In which order the objects of one cluster are written: waves, order by kind, and dependencies that a user names.

A wave is a number from an annotation, or 0; inside a wave the kinds have their usual order, so that an object finds
what it refers to: namespaces, definitions, rights, configuration, storage, services, workloads, policies, the rest.
Deletion goes the other way round.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gitfed.model.base import ObjectKey, Problem
from gitfed.model.keys import DEPENDS_ON, WAVE
from gitfed.model.repo import Manifest

_LEVELS: Sequence[Iterable[tuple[str, str]]] = (
    (("", "Namespace"),),
    (("apiextensions.k8s.io", "CustomResourceDefinition"), ("apiregistration.k8s.io", "APIService")),
    (
        ("", "ServiceAccount"),
        ("rbac.authorization.k8s.io", "ClusterRole"),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
        ("rbac.authorization.k8s.io", "Role"),
        ("rbac.authorization.k8s.io", "RoleBinding"),
    ),
    (
        ("", "LimitRange"),
        ("", "ResourceQuota"),
        ("", "ConfigMap"),
        ("", "Secret"),
        ("scheduling.k8s.io", "PriorityClass"),
        ("node.k8s.io", "RuntimeClass"),
    ),
    (("storage.k8s.io", "StorageClass"), ("", "PersistentVolume"), ("", "PersistentVolumeClaim")),
    (("", "Service"), ("networking.k8s.io", "IngressClass")),
    (
        ("apps", "DaemonSet"),
        ("apps", "Deployment"),
        ("apps", "StatefulSet"),
        ("apps", "ReplicaSet"),
        ("", "ReplicationController"),
        ("", "Pod"),
        ("batch", "Job"),
        ("batch", "CronJob"),
    ),
    (
        ("networking.k8s.io", "Ingress"),
        ("networking.k8s.io", "NetworkPolicy"),
        ("policy", "PodDisruptionBudget"),
        ("autoscaling", "HorizontalPodAutoscaler"),
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    ),
)
_ORDER: Mapping[tuple[str, str], int] = {kind: level for level, kinds in enumerate(_LEVELS) for kind in kinds}
_CUSTOM = len(_LEVELS)
_FOUNDATIONS = 1
"""The last level of what everything else needs: namespaces and definitions."""
NO_WAVE = -(1 << 31)
"""The wave of a foundation that names none: before every other, and nobody waits for it to end."""


class Position(NamedTuple):
    wave: int
    order: int


def position(manifest: Manifest) -> Position:
    """Where an object stands. A wave that is no number is 0; validation reports it."""
    text = _annotation(manifest, WAVE)
    level = _ORDER.get((manifest.key.group, manifest.key.kind), _CUSTOM)
    try:
        wave = int(text) if text else NO_WAVE if level <= _FOUNDATIONS else 0
    except ValueError:
        wave = 0
    return Position(wave, level)


def depends(manifest: Manifest) -> bool:
    """Whether it has the annotation."""
    return bool(_annotation(manifest, DEPENDS_ON))


def dependencies(manifest: Manifest) -> tuple[ObjectKey, ...]:
    """What the annotation names, sorted, unreadable entries left out. `faults` has those."""
    return tuple(sorted({key for item in _items(manifest) if (key := parse(item)) is not None}))


def parse(text: str) -> ObjectKey | None:
    """`apps/Deployment/shop/db`, `/ConfigMap/shop/conf`, `/Namespace//shop`: group, kind, namespace, name."""
    parts = [part.strip() for part in text.split("/")]
    if len(parts) != 4 or not parts[1] or not parts[3]:
        return None
    return ObjectKey(*parts)


def faults(manifest: Manifest) -> list[Problem]:
    """What is wrong with the ordering annotations of one manifest."""
    problems = []
    text = _annotation(manifest, WAVE)
    if text:
        try:
            int(text)
        except ValueError:
            problems.append(Problem(manifest.origin, f"annotation {WAVE}: {text!r} is no whole number"))
    for item in _items(manifest):
        if parse(item) is None:
            message = f"annotation {DEPENDS_ON}: {item!r} names no object"
            problems.append(Problem(manifest.origin, message, "write group/Kind/namespace/name"))
    return problems


def cycles(manifests: Sequence[Manifest]) -> list[Problem]:
    """One Problem for each circle of dependencies, at the manifest of its smallest key. Reads `dependencies` only."""
    graph = {manifest.key: dependencies(manifest) for manifest in manifests if depends(manifest)}
    if not graph:
        return []
    origins = {manifest.key: manifest.origin for manifest in manifests if manifest.key in graph}
    problems = []
    for circle in _circles(graph):
        start = circle.index(min(circle))
        around = [*circle[start:], *circle[: start + 1]]
        message = f"objects wait for each other: {' → '.join(str(key) for key in around)}"
        problems.append(Problem(origins[around[0]], message, f"remove one of their {DEPENDS_ON} annotations"))
    return sorted(problems)


def _circles(graph: Mapping[ObjectKey, Sequence[ObjectKey]]) -> list[list[ObjectKey]]:
    """The circle that closes at each edge back into the path of a walk, each object walked once. No recursion: a chain
    may be as long as a repository."""
    circles: list[list[ObjectKey]] = []
    done: set[ObjectKey] = set()
    for root in sorted(graph):
        if root in done:
            continue
        path: list[ObjectKey] = [root]
        on_path = {root}
        pending = [iter(graph[root])]
        while pending:
            following = next(pending[-1], None)
            if following is None:
                pending.pop()
                last = path.pop()
                on_path.discard(last)
                done.add(last)
            elif following in on_path:
                circles.append(path[path.index(following) :])
            elif following in graph and following not in done:
                path.append(following)
                on_path.add(following)
                pending.append(iter(graph[following]))
    return circles


def _items(manifest: Manifest) -> list[str]:
    return [item.strip() for item in _annotation(manifest, DEPENDS_ON).split(",") if item.strip()]


def _annotation(manifest: Manifest, name: str) -> str:
    value = ((manifest.body.get("metadata") or {}).get("annotations") or {}).get(name)
    return value if isinstance(value, str) else ""
