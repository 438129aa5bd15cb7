"""CronFederatedHPA: when a workload gets how many replicas, by the clock (Karmada: other capabilities, §6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, StrictInt

from gitfed.model.base import Kind, ObjectKey, group_of
from gitfed.model.declared.shape import Declared, Finding, Flag, Int32, Part, Required, Text, warning
from gitfed.text import cron

GROUP = "autoscaling.karmada.io"
API_VERSION = f"{GROUP}/v1alpha1"
FEDERATED_HPA = Kind(GROUP, "FederatedHPA")


class ScaleTarget(Part):
    """What is scaled; it stands in the namespace of its autoscaler."""

    api_version: Text = ""
    kind: Required
    name: Required

    def key(self, namespace: str) -> ObjectKey:
        return ObjectKey(group_of(self.api_version), self.kind, namespace, self.name)


class CronRule(Part):
    name: Annotated[str, Field(strict=True, min_length=1, max_length=32)]
    schedule: Required
    target_replicas: Int32 | None = None
    target_min_replicas: Int32 | None = None
    target_max_replicas: Int32 | None = None
    suspend: Flag = False
    time_zone: Required | None = None
    successful_history_limit: Annotated[StrictInt, Field(ge=1, le=32)] = 3
    failed_history_limit: Annotated[StrictInt, Field(ge=0, le=32)] = 3


class CronSpec(Part):
    scale_target_ref: ScaleTarget
    rules: Annotated[tuple[CronRule, ...], Field(min_length=1)]


class CronFederatedHPA(Declared):
    kind: Literal["CronFederatedHPA"]
    spec: CronSpec

    @property
    def target(self) -> ObjectKey:
        return self.spec.scale_target_ref.key(self.metadata.namespace)

    def findings(self) -> Iterator[Finding]:
        target = self.spec.scale_target_ref
        if group_of(target.api_version) == GROUP and target.kind != FEDERATED_HPA.kind:
            where = ("spec", "scaleTargetRef", "kind")
            message = f"a {target.kind} cannot be scaled: of {GROUP} only a FederatedHPA can"
            yield Finding(where, message, "name the workload itself")
            return
        bounds = (group_of(target.api_version), target.kind) == FEDERATED_HPA
        seen: set[str] = set()
        for i, rule in enumerate(self.spec.rules):
            where_ = ("spec", "rules", i)
            if rule.name in seen:
                yield Finding((*where_, "name"), f"the rule {rule.name} stands twice", "each needs its own name")
            seen.add(rule.name)
            if why := cron.why_not(rule.schedule):
                yield Finding((*where_, "schedule"), f"the schedule {why}")
            if rule.time_zone is not None:
                why, hint = cron.why_not_zone(rule.time_zone)
                if why:
                    yield Finding((*where_, "timeZone"), f"the time zone {why}", hint)
            yield from _bounds(rule, where_) if bounds else _replicas(rule, where_, target.kind)


def _replicas(rule: CronRule, where: tuple[str | int, ...], kind: str) -> Iterator[Finding]:
    if rule.target_replicas is None:
        hint = "only a FederatedHPA has bounds" if (rule.target_min_replicas or rule.target_max_replicas) else ""
        yield Finding(where, f"the rule {rule.name} needs targetReplicas, to scale a {kind}", hint)
        return
    if rule.target_replicas < 0:
        message = f"targetReplicas is {rule.target_replicas}, it must be at least 0"
        yield Finding((*where, "targetReplicas"), message)
    for name, value in (
        ("targetMinReplicas", rule.target_min_replicas),
        ("targetMaxReplicas", rule.target_max_replicas),
    ):
        if value is not None:
            yield warning((*where, name), f"{name} has no effect on a {kind}", "only a FederatedHPA has bounds")


def _bounds(rule: CronRule, where: tuple[str | int, ...]) -> Iterator[Finding]:
    least, most = rule.target_min_replicas, rule.target_max_replicas
    if least is None and most is None:
        message = f"the rule {rule.name} needs targetMinReplicas or targetMaxReplicas, to scale a FederatedHPA"
        yield Finding(where, message)
    for name, value in (("targetMinReplicas", least), ("targetMaxReplicas", most)):
        if value is not None and value < 1:
            yield Finding((*where, name), f"{name} is {value}, it must be at least 1")
    if least is not None and most is not None and least > most:
        message = f"targetMinReplicas is {least}, more than targetMaxReplicas, which is {most}"
        yield Finding((*where, "targetMinReplicas"), message)
    if rule.target_replicas is not None:
        hint = "write targetMinReplicas and targetMaxReplicas"
        yield warning((*where, "targetReplicas"), "targetReplicas has no effect on a FederatedHPA", hint)
