"""Objects that belong together and do not work together.

A Service that is not where its pods run, a budget that protects none, an autoscaler whose number is put back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from gitfed.model.base import Body, ClusterName, ObjectKey, Problem, Severity, group_of
from gitfed.model.keys import RETAIN_REPLICAS
from gitfed.model.plan import Plan
from gitfed.model.repo import Manifest, RepoSnapshot
from gitfed.text import selector
from gitfed.views import names

_MOST = 4
"""Clusters that a sentence names."""


def check(repo: RepoSnapshot, plan: Plan) -> Iterator[Problem]:
    yield from _elsewhere(repo, plan)
    yield from _scaled_twice(repo, plan)


def _elsewhere(repo: RepoSnapshot, plan: Plan) -> Iterator[Problem]:
    """Services and budgets that are not where the pods run that they select.

    More places than pods are no harm: where work may come to, they stand ready.
    """
    running: dict[str, list[tuple[ObjectKey, Mapping[str, Any], frozenset[ClusterName]]]] = defaultdict(list)
    for key, manifest in repo.manifests.items():
        labels = _pod_labels(manifest.body)
        if labels and (where := _where(plan, key)):
            running[key.namespace].append((key, labels, where))
    for key, manifest in repo.manifests.items():
        chooses = _selects(manifest) if key.namespace in running else None
        if chooses is None:
            continue
        there = _where(plan, key)
        lacking = [(workload, where - there) for workload, labels, where in running[key.namespace] if chooses(labels)]
        lacking = [(workload, where) for workload, where in lacking if where]
        if lacking:
            workload, missing = lacking[0][0], sorted(set().union(*(where for _, where in lacking)))
            goes = "does not go" if there else "goes nowhere, so not"
            yield Problem(
                manifest.origin,
                f"{names.shown(key)} {goes} to {_listed(missing)}, where {names.shown(workload)} runs",
                "let the policy of the workload select it too",
                Severity.WARNING,
            )


def _where(plan: Plan, key: ObjectKey) -> frozenset[ClusterName]:
    binding = plan.bindings.get(key)
    return binding.scheduled.clusters if binding is not None else frozenset()


def _selects(manifest: Manifest) -> selector.Predicate | None:
    """Which pods a Service or a PodDisruptionBudget means; None: it is neither, or means none."""
    spec = _mapping(manifest.body.get("spec"))
    wanted: Mapping[str, Any] = {}
    if (manifest.key.group, manifest.key.kind) == ("", "Service") and spec.get("type") != "ExternalName":
        wanted = {"matchLabels": spec.get("selector")}
    elif (manifest.key.group, manifest.key.kind) == ("policy", "PodDisruptionBudget"):
        wanted = _mapping(spec.get("selector"))
    labels, expressions = wanted.get("matchLabels"), wanted.get("matchExpressions")
    if not (labels or expressions) or not isinstance(labels or {}, Mapping) or not isinstance(expressions or [], list):
        return None
    if not all(
        isinstance(expression, Mapping) and "key" in expression and "operator" in expression
        for expression in expressions or []
    ):
        return None  # a server says what is wrong with it
    return selector.from_body({"matchLabels": labels or {}, "matchExpressions": expressions or []})


def _pod_labels(body: Body) -> Mapping[str, Any]:
    pod = body if body.get("kind") == "Pod" else _mapping(_mapping(body.get("spec")).get("template"))
    return _mapping(_mapping(pod.get("metadata")).get("labels")) if "spec" in pod else {}


def _scaled_twice(repo: RepoSnapshot, plan: Plan) -> Iterator[Problem]:
    """An autoscaler inside a cluster, for a workload whose number gitfed puts back."""
    for key, manifest in repo.manifests.items():
        if (key.group, key.kind) != ("autoscaling", "HorizontalPodAutoscaler"):
            continue
        ref = _mapping(_mapping(manifest.body.get("spec")).get("scaleTargetRef"))
        group, kind, name = (group_of(str(ref.get("apiVersion") or "")), str(ref.get("kind")), str(ref.get("name")))
        target = ObjectKey(group, kind, key.namespace, name)
        scaled = repo.manifests.get(target)
        if scaled is None or not _where(plan, key) & _where(plan, target):
            continue
        labels = _mapping(_mapping(scaled.body.get("metadata")).get("labels"))
        if "replicas" in _mapping(scaled.body.get("spec")) and labels.get(RETAIN_REPLICAS) != "true":
            yield Problem(
                manifest.origin,
                f"{names.shown(key)} scales {names.shown(target)}, whose spec.replicas gitfed puts back each time",
                f'label {names.shown(target)} {RETAIN_REPLICAS}: "true"',
                Severity.WARNING,
            )


def _listed(clusters: list[ClusterName]) -> str:
    shown = " ".join(clusters[:_MOST])
    return f"{shown} and {len(clusters) - _MOST} more" if len(clusters) > _MOST else shown


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
