"""What is remembered of autoscalers: what each decided last, its runs, and when it falls due again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from gitfed.model.base import Body, ObjectKey


@dataclass(frozen=True, slots=True)
class Scale:
    """What an autoscaler decided: replicas of a workload, or bounds of a FederatedHPA; None where it says nothing."""

    replicas: int | None = None
    min_replicas: int | None = None
    max_replicas: int | None = None
    rule: str = ""
    at: datetime | None = None

    def __str__(self) -> str:
        named = (("replicas", self.replicas), ("minReplicas", self.min_replicas), ("maxReplicas", self.max_replicas))
        return ", ".join(f"{name} {value}" for name, value in named if value is not None)


@dataclass(frozen=True, slots=True)
class CronRun:
    """One execution of a rule. `message` says why it failed; "" when it did not."""

    scheduled: datetime
    executed: datetime
    applied: Scale | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class RuleRecord:
    """A rule as it was in force, and what became of it (Karmada: `status.executionHistories[]`)."""

    name: str
    rule: Body
    """As the file says it: of another rule of this name the next time is found anew."""
    next: datetime | None
    """None: it is suspended."""
    successful: tuple[CronRun, ...] = ()
    """Newest first."""
    failed: tuple[CronRun, ...] = ()


@dataclass(frozen=True, slots=True)
class AutoscalerRecord:
    """One document under `autoscalers/` of the state branch."""

    key: ObjectKey
    target: ObjectKey
    target_version: str
    """The target's apiVersion, as the file says it."""
    rules: tuple[RuleRecord, ...] = ()
    """Sorted as in the file."""
    decided: Scale | None = None
    """None: the template's own number counts."""

    @property
    def next(self) -> datetime | None:
        return min((one.next for one in self.rules if one.next is not None), default=None)


@dataclass(frozen=True, slots=True)
class Scaled:
    """A workload whose number an autoscaler decided."""

    by: ObjectKey
    replicas: int
    rule: str
    at: datetime | None
    declared: int | None
    """What the template says itself: where it starts from, and what counts again when the autoscaler is gone."""


@dataclass(frozen=True, slots=True)
class Scaling:
    """What a plan says of autoscalers."""

    records: Mapping[ObjectKey, AutoscalerRecord] = field(default_factory=lambda: MappingProxyType({}))
    """What is to be remembered; the same mapping as before when nothing changed."""
    scaled: Mapping[ObjectKey, Scaled] = field(default_factory=lambda: MappingProxyType({}))
    """By workload."""
    said: tuple[str, ...] = ()
    """What was decided, as sentences for the record."""
