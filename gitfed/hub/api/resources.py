"""What can be read: one line for each path, for the router, the description and the reference page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, TypeAlias

from gitfed.errors import UsageError
from gitfed.hub.answers import listings, rehearse, single, timeline
from gitfed.hub.answers.moment import Moment
from gitfed.hub.answers.query import MOST, USUAL, Query
from gitfed.hub.answers.sight import Sight
from gitfed.model.base import ObjectKey
from gitfed.text.values import dataclass
from gitfed.views import (
    agents,
    autoscalers,
    bindings,
    clusters,
    explanations,
    gates,
    history,
    objects,
    plans,
    policies,
    problems,
    quotas,
    services,
    simulations,
    works,
)

PREFIX = "/api/v1"
Form: TypeAlias = Callable[[Moment, Sight, "RequestParameters"], Any]


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    meaning: str
    kind: str = "string"
    """string, integer or boolean."""
    many: bool = False
    """It may stand several times."""
    choices: tuple[str, ...] = ()
    example: str = ""


@dataclass(frozen=True, slots=True)
class RequestParameters:
    """Parameters of one request; equal ones have equal answers."""

    query: Query
    object: str = ""
    what_if: rehearse.WhatIf = field(default_factory=rehearse.WhatIf)


@dataclass(frozen=True, slots=True)
class Resource:
    name: str
    """Unique: the operation's id."""
    path: str
    """Below the prefix; `{object}` stands for KIND/NAMESPACE/NAME."""
    summary: str
    answer: Any
    """The type of the answer."""
    form: Form
    parameters: tuple[Parameter, ...] = ()
    whole_fleet: bool = False
    """Only for callers who may view every cluster and namespace."""
    heavy: bool = False

    @property
    def route(self) -> str:
        return PREFIX + self.path.replace("{object}", "{object:.+}")


NAMESPACE = Parameter("namespace", "Only this namespace.")
CLUSTER = Parameter("cluster", "Only this cluster.")
KIND = Parameter("kind", "Only this kind, with or without its group: `Deployment.apps`.")
TEXT = Parameter("q", "Only what has this in its name.")
LIMIT = Parameter("limit", f"Items of one page: {USUAL} unless told, {MOST} at most.", "integer")
CONTINUE = Parameter("continue", "`next` of the page before.")
OBJECT = Parameter("object", "`KIND/NAMESPACE/NAME`, as on the command line: `deploy/shop/web`.")
PAGED = (LIMIT, CONTINUE)


def _key(moment: Moment, sight: Sight, requested: RequestParameters) -> ObjectKey:
    return single.key_of(moment, sight, requested.object, requested.query.namespace)


def _perhaps(moment: Moment, sight: Sight, requested: RequestParameters) -> ObjectKey | None:
    return _key(moment, sight, requested) if requested.object else None


def _events(moment: Moment, sight: Sight, requested: RequestParameters) -> history.EventList:
    query = requested.query
    events = timeline.events(moment, sight, _perhaps(moment, sight, requested), commits=history.COMMITS)
    return {
        **events,
        "items": [
            event
            for event in events["items"]
            if query.namespace in ("", event["namespace"]) and query.cluster in ("", event["cluster"])
        ],
    }


ALL: tuple[Resource, ...] = (
    Resource(
        "listClusters",
        "/clusters",
        "The members of the fleet.",
        clusters.ClusterList,
        lambda moment, sight, requested: listings.cluster_list(moment, sight, requested.query),
        (CLUSTER, TEXT, *PAGED),
    ),
    Resource(
        "listAgents",
        "/agents",
        "The agents of pulled clusters: who is connected, and what they have of what they are to know.",
        agents.AgentList,
        lambda moment, sight, requested: listings.agent_list(moment, sight, requested.query),
        (CLUSTER, TEXT, *PAGED),
    ),
    Resource(
        "listBindings",
        "/bindings",
        "Where each object goes, and how its copies are.",
        bindings.BindingList,
        lambda moment, sight, requested: listings.binding_list(moment, sight, requested.query),
        (
            NAMESPACE,
            CLUSTER,
            KIND,
            Parameter("policy", "Only what this policy places.", example="ClusterPropagationPolicy/web"),
            TEXT,
            Parameter("state", "Only what is in this state.", choices=listings.STATES),
            Parameter(
                "sort",
                "What it is sorted by; with `-` in front the other way round.",
                choices=(*listings.SORTS, *(f"-{name}" for name in listings.SORTS)),
            ),
            *PAGED,
        ),
    ),
    Resource(
        "listObjects",
        "/objects",
        "Every object in every cluster.",
        works.WorkList,
        lambda moment, sight, requested: listings.work_list(moment, sight, requested.query),
        (NAMESPACE, CLUSTER, KIND, TEXT, *PAGED),
    ),
    Resource(
        "readObject",
        "/objects/{object}",
        "One object: its copies, and the manifest that each cluster gets.",
        objects.ObjectView,
        lambda moment, sight, requested: single.object_of(moment, sight, _key(moment, sight, requested)),
        (NAMESPACE,),
    ),
    Resource(
        "explain",
        "/explain/{object}",
        "Why an object goes where it goes.",
        explanations.ExplanationView,
        lambda moment, sight, requested: single.explanation(
            moment, sight, _key(moment, sight, requested), requested.query.cluster
        ),
        (NAMESPACE, CLUSTER),
    ),
    Resource(
        "listOrphans",
        "/orphans",
        "Objects in clusters that nothing asks for any more.",
        works.OrphanList,
        lambda moment, sight, requested: listings.orphan_list(moment, sight, requested.query),
        (NAMESPACE, CLUSTER, KIND, TEXT, *PAGED),
    ),
    Resource(
        "listPolicies",
        "/policies",
        "Propagation and override policies.",
        policies.PolicyList,
        lambda moment, sight, requested: listings.policy_list(moment, sight, requested.query),
        (NAMESPACE, TEXT, *PAGED),
    ),
    Resource(
        "listQuotas",
        "/quotas",
        "Federated quotas, and what is used of them.",
        quotas.QuotaList,
        lambda moment, sight, requested: listings.quota_list(moment, sight, requested.query),
        (NAMESPACE, CLUSTER),
    ),
    Resource(
        "listAutoscalers",
        "/autoscalers",
        "What decides numbers of replicas beside templates, and when next.",
        autoscalers.AutoscalerList,
        lambda moment, sight, requested: listings.autoscaler_list(moment, sight, requested.query),
        (NAMESPACE,),
    ),
    Resource(
        "listServices",
        "/services",
        "Services across clusters: who provides, who consumes, and how many endpoints.",
        services.ServiceList,
        lambda moment, sight, requested: listings.service_list(moment, sight, requested.query),
        (NAMESPACE, CLUSTER),
    ),
    Resource(
        "listProblems",
        "/problems",
        "What is wrong in the files of the commit in force, and in its plan.",
        problems.ProblemList,
        lambda moment, sight, requested: listings.problem_list(moment, sight, requested.query),
        (TEXT, *PAGED),
    ),
    Resource(
        "listGates",
        "/gates",
        "What waits for a person's consent.",
        gates.GateList,
        lambda moment, sight, requested: listings.gate_list(moment, sight),
    ),
    Resource(
        "listDecisions",
        "/decisions",
        "What was decided when, and why; newest first.",
        history.LogView,
        lambda moment, sight, requested: timeline.decisions(
            moment, sight, _perhaps(moment, sight, requested), requested.query.limit
        ),
        (OBJECT, LIMIT),
    ),
    Resource(
        "listDecisionEvents",
        "/decisions/events",
        "What happened to objects and clusters lately; newest first.",
        history.EventList,
        _events,
        (OBJECT, NAMESPACE, CLUSTER),
    ),
    Resource(
        "readPlan",
        "/plan",
        "The present plan: placement, changes, gates.",
        plans.PlanView,
        lambda moment, sight, requested: single.plan(moment, sight, requested.query),
        PAGED,
    ),
    Resource(
        "simulate",
        "/simulate",
        "A failover, rehearsed on a virtual clock.",
        simulations.SimulationView | simulations.EachView,
        lambda moment, sight, requested: rehearse.simulate(moment, requested.what_if),
        (
            Parameter(
                "fail", "What fails: `cluster/NAME`, `region/NAME`, …, and when.", many=True, example="cluster/eu-1@5m"
            ),
            Parameter("recover", "What comes back.", many=True),
            Parameter("taint", "A taint that a person sets.", many=True, example="cluster/eu-1:drain:NoExecute"),
            Parameter("until", "When the clock stops, 24h at most.", example="30m"),
            Parameter("healthyAfter", "How long a new copy takes to be healthy.", example="30s"),
            Parameter("nMinusOne", "Let every cluster and region fail alone instead.", "boolean"),
        ),
        whole_fleet=True,
        heavy=True,
    ),
)
_MEMBERS = {"q": "text", "continue": "after"}
_WHAT_IF = {"healthyAfter": "healthy_after", "nMinusOne": "each"}


def asked(resource: Resource, raw_parameters: Mapping[str, list[str]], name: str) -> RequestParameters:
    """The parameters of a request. `name`: what stands for `{object}`. Raises UsageError."""
    allowed = {parameter.name: parameter for parameter in resource.parameters}
    query: dict[str, Any] = {}
    what_if: dict[str, Any] = {}
    object_name = name
    for parameter, values in raw_parameters.items():
        if parameter not in allowed:
            listed = ", ".join(allowed) or "it has none"
            raise UsageError(f"there is no parameter {parameter[:64]!r} here", hint=f"parameters: {listed}")
        if len(values) > 1 and not allowed[parameter].many:
            raise UsageError(f"the parameter {parameter} stands twice")
        value = _value(allowed[parameter], values)
        if parameter == "object":
            object_name = str(value)
        elif resource.heavy:
            what_if[_WHAT_IF.get(parameter, parameter)] = value
        else:
            query[_MEMBERS.get(parameter, parameter)] = value
    return RequestParameters(Query(**query), object_name, rehearse.WhatIf(**what_if))


def _value(parameter: Parameter, values: list[str]) -> str | int | bool | tuple[str, ...]:
    if parameter.many:
        return tuple(values)
    value = values[0]
    if parameter.kind == "integer":
        if not (value.isascii() and value.isdigit() and len(value) <= 9):
            raise UsageError(f"{parameter.name} is not a number: {value[:64]!r}")
        return int(value)
    if parameter.kind == "boolean":
        if value not in ("true", "false"):
            raise UsageError(f"{parameter.name} is true or false")
        return value == "true"
    if parameter.choices and value not in parameter.choices:
        raise UsageError(f"{parameter.name} is one of {', '.join(parameter.choices)}")
    return value
