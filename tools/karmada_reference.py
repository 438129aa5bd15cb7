"""Writes docs/reference/karmada-fields.md: every field of Karmada's kinds with its type, its default and its effect.

    python tools/karmada_reference.py          write the page
    python tools/karmada_reference.py --check  exit with 1 if it is not up to date

Kinds, fields, types and defaults come from the models, and so does what has no effect (`Meaningless`, which is also
what `gitfed validate` warns of). A remark here about a field that no model has is an error.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from model_fields import default_text, structures, type_text
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from gitfed.model.declared import federation, registry
from gitfed.model.declared.shape import Declared, Meaningless, ObjectMeta

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "karmada-fields.md"

_HEAD = """\
# Supported Karmada fields

Karmada's API groups, kinds and field names are read as they are. An unknown field is an error with a suggestion. A
field does what it does in Karmada, apart from the [listed differences](../differences-from-karmada.md), unless it is
marked:

- **no effect**: it is accepted, has no meaning with Git, and `gitfed validate` says so;
- **no effect, silently**: the same, but other programs write it, so that nothing is said.

Structures that several fields share have a section of their own. *This page is made from the models by
`tools/karmada_reference.py`.*"""

KINDS = {
    "Cluster": "A member of the fleet. Clusters with `syncMode: Pull` have a `gitfed agent` ([let a cluster "
    "pull](../how-to/pull-mode.md)).",
    "PropagationPolicy": "Which clusters get what.",
    "OverridePolicy": "What differs from cluster to cluster.",
    "FederatedResourceQuota": "`overall` limits what is placed, as a gate of the plan; `staticAssignments` become "
    "ResourceQuotas.",
    "ClusterTaintPolicy": "Taints that follow from conditions of clusters.",
    "Remedy": "The actions are published: `gitfed get clusters -o wide` and `remedyActions` of the hub's API. gitfed "
    "does nothing to the traffic itself.",
    "CronFederatedHPA": "See [scale by the clock](../how-to/autoscaling.md). Of a FederatedHPA it sets the bounds.",
    "FederatedHPA": "See [scale by load](../how-to/autoscaling.md#by-load). `External` metrics are read too.",
    "MultiClusterService": "The Service of its name, reached from other clusters. See [services across "
    "clusters](../how-to/services.md).",
    "MultiClusterIngress": "Checked, and its `serviceLocations` are told; controllers outside carry it out. See "
    "[services across clusters](../how-to/services.md#multiclusteringress).",
    "ResourceRegistry": "What the hub keeps at hand, and copies to OpenSearch ([search the "
    "fleet](../how-to/search.md)).",
    "WorkloadRebalancer": "Each places its workloads anew, once.",
    "ResourceInterpreterCustomization": "What a kind means, in Lua. See [custom kinds](../how-to/custom-kinds.md).",
    "ResourceInterpreterWebhookConfiguration": "What a kind means, asked of a [webhook](../how-to/webhooks.md).",
}
"""Of the first kind of each model."""

REMARKS = {
    "ClusterSpec.id": "`gitfed join` writes it, and refuses a cluster that another name stands for",
    "ClusterSpec.apiEndpoint": "see [credentials](../how-to/credentials.md)",
    "ClusterSpec.taints": "`NoSchedule` and `NoExecute` filter new targets; `NoExecute` drives out what does not "
    "tolerate it",
    "ClusterSpec.resourceModels": "where the facts count nodes by grade",
    "PropagationSpec.conflictResolution": "with the annotation of the same meaning; also for single fields that "
    "another manager applies",
    "PropagationSpec.suspension": "changes are skipped, with the reason",
    "PropagationSpec.dependentOverrides": "while one of them does not exist nothing is decided, and existing copies "
    "stay",
    "PropagationSpec.propagateDeps": "of namespaced workloads; a dependency that has a policy too goes to both",
    "PropagationSpec.failover": "see [clusters that fail](../how-to/failover.md)",
    "PropagationSpec.schedulePriority": "who comes first when several workloads want the same room or quota; the "
    "PriorityClass is read from the repository",
    "ApplicationFailover.purgeMode": "the older `Immediately` and `Graciously` are read as `Directly` and `Gracefully`",
    "ClusterFailover.purgeMode": "the older `Immediately` and `Graciously` are read as `Directly` and `Gracefully`",
    "AffinityTerm.overflowAffinities": "needs known room",
    "Placement.clusterTolerations": "against `spec.taints` of the clusters",
    "ReplicaScheduling.replicaDivisionPreference": "`Aggregated` needs known room",
    "WeightPreference.dynamicWeight": "needs known room",
    "OverrideSpec.targetCluster": "Karmada has deprecated it: `overrideRules`",
    "OverrideSpec.overriders": "Karmada has deprecated it: `overrideRules`",
    "MultiClusterServiceSpec.types": "`CrossCluster`; `LoadBalancer` is left to controllers outside",
    "MultiClusterServiceSpec.ports": "endpoints of other ports do not travel; none: all ports do",
    "MultiClusterServiceSpec.providerClusters": "none: every cluster",
    "MultiClusterServiceSpec.consumerClusters": "none: every cluster",
    "FieldOverrider.json": "JSON inside a field",
    "FieldOverrider.yaml": "YAML inside a field",
    "SearchSelector.namespace": "unset: all; without meaning for kinds that are in none",
    "OpenSearchConfig.addresses": "`http` or `https`",
    "OpenSearchConfig.secretRef": "a folder below `--credentials-dir`",
    "ClientConfig.service": "only where gitfed runs in a cluster",
}
"""`Structure.field` → what a reader needs to know beyond its name."""

_TAIL = """\

## Room

*Room* is how many more replicas fit into a cluster. It comes from `status.resourceSummary` of the cluster's facts and
from its nodes, if they are known; the smaller number counts. A `--fleet` file may have both. The daemon
watches nodes, pods and ResourceQuotas as soon as a policy asks for room, and writes sums to the
[facts branch](facts-branch.md). A workload that is divided by room waits until the room of every cluster in question is
known.

## What a kind means

Native rules know replicas, revision, retention, health, status and dependencies of Kubernetes' own kinds. A
[catalogue](interpreters.md) knows popular custom kinds, those of Karmada's bundled rules among them. Customizations and
webhooks of the repository come before both. Health of every other object is read by kstatus's rules
(`status.conditions`, `observedGeneration`), and a workload of such a kind is copied to each cluster: nobody knows where
its replicas stand.

## gitfed's own kinds

[`Federation`](settings.md) · `PlacementTest` ([placement tests](../how-to/placement-tests.md)) · `AccessPolicy` ([the
hub](../how-to/hub.md)) · `Notification` ([who is told of what](../how-to/notifications.md)).
"""

_OF_KUBERNETES = frozenset({"apiVersion", "kind", "metadata", "status"})


def _kinds() -> dict[type[Declared], list[str]]:
    """Karmada's kinds by their model: two kinds may share one."""
    found: dict[type[Declared], list[str]] = {}
    for (version, kind), model in registry.MODELS.items():
        if version != federation.API_VERSION:
            found.setdefault(model, []).append(kind)
    return found


def _fields(model: type[BaseModel]) -> Iterator[tuple[str, FieldInfo]]:
    model.model_rebuild()  # models are built when first used; before that a field may lack its alias
    for name, field in model.model_fields.items():
        if not (issubclass(model, Declared) and (field.alias or name) in _OF_KUBERNETES):
            yield field.alias or name, field


def _users(kinds: dict[type[Declared], list[str]]) -> dict[type[BaseModel], set[str]]:
    """Every structure inside, in the order of appearance, with the fields that hold it."""
    users: dict[type[BaseModel], set[str]] = {}
    waiting: list[type[BaseModel]] = list(reversed(kinds))
    while waiting:
        model = waiting.pop()
        for name, field in reversed(list(_fields(model))):
            for inner in structures(field.annotation):
                if inner is ObjectMeta:
                    continue
                if inner not in users:
                    waiting.append(inner)
                users.setdefault(inner, set()).add(f"{model.__name__}.{name}")
    return users


class _Page:
    def __init__(self) -> None:
        self._kinds = _kinds()
        users = _users(self._kinds)
        self._shared = [model for model, fields in users.items() if len(fields) > 1]
        self._remarks = dict(REMARKS)

    def text(self) -> str:
        """Raises SystemExit when remarks and fields do not fit together."""
        lines = [_HEAD]
        for model, kinds in self._kinds.items():
            lines += [f"\n## {', '.join(kinds)}\n", KINDS[kinds[0]], "", *self._table(model)]
        lines += ["\n## Shared structures"]
        for shared in self._shared:
            lines += [f"\n### {shared.__name__}\n", *self._table(shared)]
        lines += ["\n## Kinds that are not acted on\n", "| Kind | What is said |", "|---|---|"]
        lines += [f"| `{kind}` | {said} |" for (_, kind), said in registry.NOT_ACTED_ON.items()]
        if self._remarks or KINDS.keys() != {kinds[0] for kinds in self._kinds.values()}:
            raise SystemExit(f"remarks without a field, or kinds without a sentence: {sorted(self._remarks)}")
        return "\n".join(lines) + "\n" + _TAIL

    def _table(self, model: type[BaseModel]) -> list[str]:
        return ["| Field | Type | Default | |", "|---|---|---|---|", *self._rows(model, "")]

    def _rows(self, model: type[BaseModel], prefix: str) -> Iterator[str]:
        for name, field in _fields(model):
            path = f"{prefix}{name}"
            default = "**required**" if field.is_required() else self._default(field)
            remark = self._remarks.pop(f"{model.__name__}.{name}", "")
            for mark in (one for one in field.metadata if isinstance(one, Meaningless)):
                remark = f"**no effect{', silently' if mark.silent else ''}**: {mark.why}"
            if path != "spec":
                yield f"| `{path}` | {type_text(field.annotation, self._structure)} | {default} | {remark} |"
            for inner in structures(field.annotation):
                if inner not in self._shared:
                    yield from self._rows(inner, f"{path}{'[]' if 'tuple' in str(field.annotation) else ''}.")

    def _structure(self, model: type[BaseModel]) -> str:
        return f"[{model.__name__}](#{model.__name__.lower()})" if model in self._shared else "structure"

    def _default(self, field: FieldInfo) -> str:
        value = field.get_default(call_default_factory=True)
        return "unset" if isinstance(value, BaseModel) or value == "" else default_text(value)


def page() -> str:
    return _Page().text()


def main(arguments: list[str]) -> int:
    if "--check" in arguments:
        return 0 if PAGE.read_text(encoding="utf-8") == page() else 1
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
