"""What a caller asks about themselves, answered for all clusters together.

SelfSubjectAccessReview    allowed where one cluster allows it: a read shows what those have, a write goes to its owner
SelfSubjectRulesReview     the rules of all of them
SelfSubjectReview          the same in each: who the hub says that the caller is
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from gitfed.fleet_api.request import RequestInfo

Body = dict[str, Any]

_RESOURCES: Final = {
    "authorization.k8s.io": ("selfsubjectaccessreviews", "selfsubjectrulesreviews"),
    "authentication.k8s.io": ("selfsubjectreviews",),
}
RESOURCES: Final = frozenset(resource for names in _RESOURCES.values() for resource in names)


def is_about_oneself(about: RequestInfo) -> bool:
    return about.resource in _RESOURCES.get(about.group, ()) and not about.name


def merged(about: RequestInfo, answers: Sequence[tuple[str, Mapping[str, Any]]]) -> Body:
    """One answer from those of the clusters, at least one."""
    first = dict(answers[0][1])
    states = [(cluster, body.get("status") or {}) for cluster, body in answers]
    if about.resource == "selfsubjectaccessreviews":
        return {**first, "status": _access(states)}
    if about.resource == "selfsubjectrulesreviews":
        return {**first, "status": _rules([state for _, state in states])}
    return first


def _access(states: Sequence[tuple[str, Mapping[str, Any]]]) -> Body:
    allow = [cluster for cluster, state in states if state.get("allowed") is True]
    if not allow:
        said = {f"{cluster}: {state['reason']}" for cluster, state in states if state.get("reason")}
        return {"allowed": False, **({"reason": "; ".join(sorted(said))} if said else {})}
    others = [cluster for cluster, _ in states if cluster not in allow]
    return {"allowed": True, **({"reason": f"in {', '.join(allow)}, not in {', '.join(others)}"} if others else {})}


def _rules(states: Sequence[Mapping[str, Any]]) -> Body:
    made: Body = {}
    for name in ("resourceRules", "nonResourceRules"):
        rules: list[Any] = []
        for state in states:
            rules += [rule for rule in state.get(name) or () if rule not in rules]
        made[name] = rules
    return {**made, "incomplete": any(state.get("incomplete") is True for state in states)}
