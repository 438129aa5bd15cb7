"""Propagation and override policies: `gitfed.io/policies/v1`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Literal, NotRequired

from gitfed.model.declared.policy import Override, Propagation
from gitfed.model.plan import Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.views.value import View


class PolicyView(View):
    """One policy."""

    kind: str
    namespace: str
    name: str
    priority: int | None
    """null: its kind has none."""
    objects: int
    """That it places, or changes."""
    origin: str


class PolicyList(View):
    """Policies, by kind."""

    schema: Literal["gitfed.io/policies/v1"]
    items: list[PolicyView]
    total: NotRequired[int]
    """Of the whole list, in an answer of the API."""
    next: NotRequired[str]
    """In an answer of the API that is not the last: what to ask for next, as `continue`."""


def items(repo: RepoSnapshot, plan: Plan) -> Iterator[PolicyView]:
    taken: Counter[str] = Counter()
    for binding in plan.bindings.values():
        if binding.scheduled.policy is not None:
            taken[str(binding.scheduled.policy)] += 1
    for classes in plan.rendered.values():
        taken.update({edit.by for rendered in classes for edit in rendered.edits})
    declared: tuple[Propagation | Override, ...] = (*repo.propagation, *repo.overrides)
    for policy in declared:
        space = policy.metadata.namespace or ""
        yield {
            "kind": policy.kind,
            "namespace": space,
            "name": policy.metadata.name,
            "priority": getattr(policy.spec, "priority", None),
            "objects": taken[typed(policy.kind, space, policy.metadata.name)],
            "origin": str(policy.origin),
        }


def typed(kind: str, namespace: str, name: str) -> str:
    """`PropagationPolicy/shop/web`."""
    return "/".join(part for part in (kind, namespace, name) if part)
