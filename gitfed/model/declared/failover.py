"""When a policy's workloads leave a cluster, how, and what of their state goes with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from gitfed.model.base import Severity
from gitfed.model.declared import names
from gitfed.model.declared.placement import Path
from gitfed.model.declared.shape import Finding, Int32, Part, Required


class StateRule(Part):
    alias_label_name: Required
    json_path: Required


class StatePreservation(Part):
    rules: Annotated[tuple[StateRule, ...], Field(min_length=1)]

    def findings(self, path: Path) -> Iterator[Finding]:
        from gitfed.text import jsonpath_template  # few policies need it, all commands import this

        for i, rule in enumerate(self.rules):
            if why := names.why_not_label_key(rule.alias_label_name):
                where = (*path, "rules", i, "aliasLabelName")
                yield Finding(where, f"the label key {rule.alias_label_name} {why}")
            try:
                jsonpath_template.parse(rule.json_path)
            except jsonpath_template.TemplateError as error:
                # Karmada takes such a policy and refuses every eviction.
                yield Finding(
                    (*path, "rules", i, "jsonPath"),
                    f"{rule.json_path}: {error}",
                    "no copy can be moved while this cannot be read",
                    Severity.WARNING,
                )


def _translated(mode: object) -> object:
    """Karmada's names until 1.15."""
    return {"Immediately": "Directly", "Graciously": "Gracefully"}.get(mode, mode) if isinstance(mode, str) else mode


class DecisionConditions(Part):
    toleration_seconds: Int32 = 300


class ApplicationFailover(Part):
    decision_conditions: DecisionConditions
    purge_mode: Annotated[Literal["Directly", "Gracefully", "Never"], BeforeValidator(_translated)] = "Gracefully"
    grace_period_seconds: Int32 | None = None
    state_preservation: StatePreservation | None = None

    @model_validator(mode="after")
    def _as_admitted(self) -> Self:
        if self.purge_mode == "Gracefully" and self.grace_period_seconds is None:
            self._settle(grace_period_seconds=600)
        return self

    def findings(self, path: Path) -> Iterator[Finding]:
        if (seconds := self.decision_conditions.toleration_seconds) < 0:
            where = (*path, "decisionConditions", "tolerationSeconds")
            yield Finding(where, f"tolerationSeconds is {seconds}, it must not be negative")
        if self.grace_period_seconds is not None:
            if self.purge_mode != "Gracefully":
                yield Finding((*path, "gracePeriodSeconds"), "gracePeriodSeconds is only for purgeMode Gracefully")
            if self.grace_period_seconds <= 0:
                message = f"gracePeriodSeconds is {self.grace_period_seconds}, it must be above 0"
                yield Finding((*path, "gracePeriodSeconds"), message)
        if self.state_preservation:
            yield from self.state_preservation.findings((*path, "statePreservation"))


class ClusterFailover(Part):
    purge_mode: Annotated[Literal["Directly", "Gracefully"], BeforeValidator(_translated)] = "Gracefully"
    state_preservation: StatePreservation | None = None


class Failover(Part):
    application: ApplicationFailover | None = None
    cluster: ClusterFailover | None = None
