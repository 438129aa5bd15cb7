"""The templates with the numbers that autoscalers decided (`autoscaling.step`), before anything is placed.

A workload that was scaled is planned as if its template said that number: division, limits, manifests and reasons
follow from it as from any other. The template's own number is where it starts from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from gitfed.autoscaling import step as autoscaling
from gitfed.interpret import defaults
from gitfed.interpret.registry import Interpreter, Operation, Unknown
from gitfed.model.base import Body, Digest, ObjectKey, Problem
from gitfed.model.decisions import Decisions
from gitfed.model.repo import Manifest, RepoSnapshot
from gitfed.model.scaling import Scaled, Scaling
from gitfed.text import canonical
from gitfed.text.values import dataclass

Memory: TypeAlias = dict[ObjectKey, tuple[Manifest, int, Manifest]]
"""Template, its decided number, and the template with it: the same object from build to build."""

_UNSCALED = frozenset((("batch", "Job"), ("", "Pod")))
"""Kinds with a parallelism or a number that no API server scales."""


@dataclass(frozen=True, slots=True)
class ScaledRepo:
    """What autoscalers make of a commit."""

    repo: RepoSnapshot
    """With scaled templates."""
    scaling: Scaling
    problems: tuple[Problem, ...]
    failed: Mapping[ObjectKey, str]
    """Why the number of a template could not be set: what was decided about it before stands."""
    look_again: datetime | None


def scale(
    memory: Memory, repo: RepoSnapshot, decisions: Decisions, interpreter: Interpreter, now: datetime
) -> ScaledRepo:
    """`repo` itself where nothing is scaled."""

    def why_not(key: ObjectKey) -> str:
        return _why_not(repo.manifests[key].body, key, interpreter)

    recorded = autoscaling.RecordedScaling(decisions.autoscalers, decisions.looks, decisions.known)
    step = autoscaling.step(repo, recorded, why_not, now)
    scaled: dict[ObjectKey, Scaled] = {}
    problems, failed = list(step.problems), dict[ObjectKey, str]()
    manifests = dict(repo.manifests) if step.totals else {}
    for key, (by, decided) in step.totals.items():
        manifest = repo.manifests.get(key)
        if manifest is None or decided.replicas is None or why_not(key):
            continue
        total = decided.replicas
        cached = memory.get(key)
        if cached is None or cached[0] is not manifest or cached[1] != total:
            answer = interpreter.revise_replica(defaults.filled_in(manifest.body), total)
            if isinstance(answer, Unknown):
                failed[key] = f"{by} decided {total} replicas, which could not be set: {answer.reason}"
                problems.append(Problem(manifest.origin, f"{key}: {failed[key]}"))
                continue
            digest = Digest(canonical.digest(answer.value))
            cached = memory[key] = (manifest, total, replace(manifest, body=answer.value, digest=digest))
        manifests[key] = cached[2]
        scaled[key] = Scaled(by, total, decided.rule, decided.at, _declared(manifest.body, interpreter), decided.why)
    for key in memory.keys() - scaled.keys():
        del memory[key]
    repo = replace(repo, manifests=manifests) if scaled else repo
    return ScaledRepo(repo, Scaling(step.records, scaled, step.said), tuple(problems), failed, step.look_again)


def _why_not(body: Body, key: ObjectKey, interpreter: Interpreter) -> str:
    if (key.group, key.kind) in _UNSCALED or not interpreter.handles(body, Operation.REVISE):
        return "has no number of replicas that can be scaled"
    return ""


def _declared(body: Body, interpreter: Interpreter) -> int | None:
    answer = interpreter.replicas(defaults.filled_in(body))
    return None if isinstance(answer, Unknown) else answer.value.replicas
