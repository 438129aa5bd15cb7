"""What can be read of a hub: all pages of a list, as the values that commands print.

Every answer is held against the type that it is documented to have, so that a hub of another version is told apart from
a defect. Members that are new there are no fault, and of those that are new here `before` says what a hub means that
does not know them yet.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from gitfed.client.connection import HubConnection
from gitfed.errors import HubError
from gitfed.text.values import dataclass
from gitfed.views import (
    agents,
    autoscalers,
    bindings,
    clusters,
    explanations,
    gates,
    history,
    policies,
    problems,
    quotas,
    services,
    works,
)

_MOST_PAGES = 10_000
_PAGE = "1000"


@dataclass(frozen=True, slots=True)
class _List:
    path: str
    schema: str
    answer: Any
    filters: tuple[str, ...] = ()
    before: Mapping[str, Any] = field(default_factory=dict)
    """What an item says by lacking a member: hubs of earlier versions have none of these."""


_LISTS = {
    "clusters": _List("/clusters", "gitfed.io/clusters/v1", clusters.ClusterList, ("cluster",)),
    "agents": _List("/agents", agents.SCHEMA, agents.AgentList, ("cluster",), agents.BEFORE_POOLS),
    "bindings": _List("/bindings", "gitfed.io/bindings/v1", bindings.BindingList, ("namespace", "cluster")),
    "policies": _List("/policies", "gitfed.io/policies/v1", policies.PolicyList, ("namespace",)),
    "works": _List("/objects", "gitfed.io/works/v1", works.WorkList, ("namespace", "cluster")),
    "orphans": _List("/orphans", "gitfed.io/orphans/v1", works.OrphanList, ("namespace", "cluster")),
    "quotas": _List("/quotas", "gitfed.io/quotas/v1", quotas.QuotaList, ("namespace", "cluster")),
    "autoscalers": _List("/autoscalers", autoscalers.SCHEMA, autoscalers.AutoscalerList, ("namespace",)),
    "services": _List("/services", services.SCHEMA, services.ServiceList, ("namespace", "cluster")),
}
_EVENTS = _List("/decisions/events", "gitfed.io/events/v1", history.EventList, ("namespace", "cluster"))
_PROBLEMS = _List("/problems", problems.SCHEMA, problems.ProblemList)
_GATES = _List("/gates", gates.SCHEMA, gates.GateList)
_WHOLE = ("quotas", "autoscalers", "services")
"""Lists that come in one page."""

Items = list[Mapping[str, Any]]


def items(hub: HubConnection, thing: str, namespace: str = "", cluster: str = "") -> Items:
    """Of clusters, agents, bindings, policies, works, orphans, quotas, autoscalers or services. Raises as
    `Connection.get`."""
    listed: Items = []
    filters = _filters(_LISTS[thing], namespace, cluster)
    for page in _pages(hub, _LISTS[thing], filters, limited=thing not in _WHOLE):
        listed += page["items"]
    return listed


def events(hub: HubConnection, objects: Sequence[str], namespace: str = "", cluster: str = "") -> Items:
    """What happened to these objects, or to all, newest first."""
    filters, happened = _filters(_EVENTS, namespace, cluster), cast(Items, [])
    for key in objects or ("",):
        happened += _get(hub, _EVENTS, [*filters, *((("object", key),) if key else ())])["items"]
    if len(objects) > 1:
        happened.sort(key=lambda event: str(event["when"]), reverse=True)
    return happened


def problem_list(hub: HubConnection) -> problems.ProblemList:
    pages = list(_pages(hub, _PROBLEMS, []))
    told = [problem for page in pages for problem in page["problems"]]
    return {"schema": problems.SCHEMA, "problems": told, "errors": pages[-1]["errors"]}


def gate_list(hub: HubConnection) -> gates.GateList:
    return cast(gates.GateList, _get(hub, _GATES, []))


def explanation(hub: HubConnection, what: str, namespace: str = "", cluster: str = "") -> explanations.ExplanationView:
    list_type = _List(
        f"/explain/{urllib.parse.quote(what)}",
        explanations.SCHEMA,
        explanations.ExplanationView,
        ("namespace", "cluster"),
    )
    return cast(explanations.ExplanationView, _get(hub, list_type, _filters(list_type, namespace, cluster)))


def _filters(list_type: _List, namespace: str, cluster: str) -> list[tuple[str, str]]:
    values = {"namespace": namespace, "cluster": cluster}
    return [(name, values[name]) for name in list_type.filters if values[name]]


def _pages(
    hub: HubConnection, list_type: _List, filters: list[tuple[str, str]], *, limited: bool = True
) -> list[Mapping[str, Any]]:
    pages = [_get(hub, list_type, [*filters, *((("limit", _PAGE),) if limited else ())])]
    while following := pages[-1].get("next"):
        if len(pages) >= _MOST_PAGES:
            raise HubError(f"the hub at {hub.server}: its list does not end")
        pages.append(_get(hub, list_type, [*filters, ("limit", _PAGE), ("continue", following)]))
    return pages


def _get(hub: HubConnection, list_type: _List, parameters: list[tuple[str, str]]) -> Mapping[str, Any]:
    answer = hub.get(list_type.path, parameters)
    if list_type.before and isinstance(listed := answer.get("items"), list):
        answer["items"] = [{**list_type.before, **item} if isinstance(item, dict) else item for item in listed]
    check(hub, answer, list_type.schema, list_type.answer)
    return answer


def check(hub: HubConnection, body: Mapping[str, Any], schema: str, answer: Any) -> None:
    """Raises HubError unless the answer has the schema and the type that were asked for."""
    where, hint = f"the hub at {hub.server}", "it is a gitfed of another version than this one"
    answered = body.get("schema")
    if answered != schema:
        complaint = f"answers {answered[:64]!r}" if isinstance(answered, str) else "does not say what it answers"
        raise HubError(f"{where} {complaint}, where {schema} was asked for", hint=hint)
    try:
        TypeAdapter(answer).validate_python(body)
    except ValidationError as error:
        wrong = [
            mistake
            for mistake in error.errors(include_url=False, include_input=False)
            if mistake["type"] != "extra_forbidden"
        ]
        if wrong:
            place = ".".join(map(str, wrong[0]["loc"]))[:200]
            raise HubError(f"{where}: {place} of its answer: {wrong[0]['msg']}", hint=hint) from None
