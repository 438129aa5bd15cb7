"""Why an object goes where it goes: `gitfed.io/explanation/v1`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from gitfed.model.base import ClusterName, ObjectKey, Origin
from gitfed.model.decisions import Decision, PolicyRef
from gitfed.model.plan import Binding, Edit, Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.placement.capacity import allowance
from gitfed.placement.explain import explain as placement
from gitfed.placement.scheduling import match, schedule
from gitfed.placement.scheduling.cluster import Candidate
from gitfed.services import placement as services
from gitfed.text import quantity
from gitfed.views import autoscalers, plans
from gitfed.views.value import View

SCHEMA: Literal["gitfed.io/explanation/v1"] = "gitfed.io/explanation/v1"


class Loser(View):
    """A policy that selects the object too, and comes second."""

    kind: str
    namespace: str
    name: str
    origin: str | None


class Before(View):
    """What was decided until now."""

    chosen: bool
    replicas: int | None


class ClusterReason(View):
    """One cluster's part."""

    name: str
    chosen: bool
    replicas: int | None
    before: Before
    region: str
    state: str
    assumed: bool
    """The cluster was not observed: it is taken to be ready."""
    taints: list[str]
    free: str
    """`cpu 12 memory 40Gi`; "" when not known."""
    reason: str


class EstimateView(View):
    """How many replicas fit into a cluster, by one estimator."""

    estimator: str
    replicas: int
    limitedBy: str
    """The resource."""


class ClusterNumbers(View):
    """The numbers of one cluster; null where they do not matter, or are not known."""

    name: str
    rejected: list[str]
    """What every filter that rejects it says."""
    filters: list[str]
    """The names of these filters, in the same order."""
    score: int
    tier: int | None
    before: int | None
    estimates: list[EstimateView]
    room: int | None
    limitedBy: str
    """The estimator and resource that allow the fewest replicas."""
    weight: int | None
    base: int | None
    """What it has before the amount is divided."""
    part: float | None
    """Before rounding to whole replicas."""
    replicas: int | None
    wouldChange: list[str]
    """What would let it be used, or give it more."""


class PlacementNumbers(View):
    """The numbers behind a placement, and what would change it."""

    division: str
    group: str
    wanted: int
    room: int | None
    amounts: list[int]
    """What was divided by the weights, by Webster's method, for each tier in use (the tiers of the clusters that have a
    `base`, in order); empty where the decision stands, or where the numbers that decided are not known."""
    lastNameFirst: bool
    """Whether the last by name of equal clusters gets an odd replica, and not the first."""
    wouldChange: list[str]
    """What would let the object be placed, if it could not be."""
    clusters: list[ClusterNumbers]


class EditView(View):
    """Who changed the manifest on its way, and where."""

    by: str
    what: str
    origin: str
    clusters: list[str]


class ExplanationView(View):
    """Why an object goes where it goes."""

    schema: Literal["gitfed.io/explanation/v1"]
    binding: plans.BindingView
    declared: bool
    """false: no file declares it; it is needed by what stands at its origin."""
    held: str | None
    """Its file has errors: the commit that it is held at."""
    decided: Before | None
    """null: nothing was decided before."""
    scaled: autoscalers.ScaledView | None
    """Who decided how many replicas it has; null: its template says it."""
    policyOrigin: str | None
    needsNoPolicy: bool
    """It goes wherever what is in it goes: a namespace."""
    losers: list[Loser]
    clusters: list[ClusterReason]
    placement: PlacementNumbers | None
    """null: no policy places it."""
    overrides: list[EditView]
    changes: list[plans.ChangeView]


def explain(
    key: ObjectKey,
    plan: Plan,
    repo: RepoSnapshot,
    candidates: Sequence[Candidate],
    decision: Decision | None,
    shown: Callable[[ClusterName], bool] = lambda name: True,
    turn: schedule.Turn | None = None,
) -> ExplanationView:
    """Reads the reasons out of a plan; decides nothing. `decision`: that before the plan; `shown`: which clusters;
    `turn`: what was asked when it was decided.

    Reasons and numbers are those of what the commit wants, also where a gate holds that.
    """
    binding = plan.wanted(key)
    manifest = repo.manifests.get(key)
    origins = {
        PolicyRef(policy.kind, policy.metadata.namespace or "", policy.metadata.name): policy.origin
        for policy in (*repo.propagation, *repo.overrides, *repo.multicluster_services)
    }
    return {
        "schema": SCHEMA,
        "binding": plans.binding(plan.bindings[key], plan.held_decisions.get(key)),
        "declared": manifest is not None,
        "held": manifest.held if manifest is not None else None,
        "decided": {"chosen": bool(decision.targets), "replicas": decision.scheduled.replicas}
        if decision is not None
        else None,
        "scaled": autoscalers.scaled(plan, key),
        "policyOrigin": _origin(origins, binding.scheduled.policy),
        "needsNoPolicy": binding.scheduled.policy is not None and not plans.is_policy(binding.scheduled.policy),
        "losers": [
            {"kind": loser.kind, "namespace": loser.namespace, "name": loser.name, "origin": _origin(origins, loser)}
            for loser in binding.reasons.losers
        ],
        "clusters": _clusters(binding, decision, candidates, shown),
        "placement": _placement(binding, repo, candidates, decision, shown, turn),
        "overrides": _edits(plan, key, shown),
        "changes": [
            plans.change(change) for change in plan.changes or () if change.key == key and shown(change.cluster)
        ],
    }


def numbers(
    story: placement.PlacementExplanation, shown: Callable[[ClusterName], bool] = lambda name: True
) -> PlacementNumbers:
    return {
        "division": story.division,
        "group": story.group,
        "wanted": story.wanted,
        "room": story.room,
        "amounts": list(story.amounts),
        "lastNameFirst": story.last_name_first,
        "wouldChange": list(story.changes),
        "clusters": [
            {
                "name": item.cluster,
                "rejected": list(item.rejected),
                "filters": list(item.filters),
                "score": item.score,
                "tier": item.tier,
                "before": item.before,
                "estimates": [
                    {"estimator": estimate.estimator, "replicas": estimate.replicas, "limitedBy": estimate.by}
                    for estimate in item.estimates
                ],
                "room": item.room,
                "limitedBy": item.limited_by,
                "weight": item.weight,
                "base": item.base,
                "part": item.exact,
                "replicas": item.share,
                "wouldChange": list(item.changes),
            }
            for item in story.clusters
            if shown(item.cluster)
        ],
    }


def _origin(origins: Mapping[PolicyRef, Origin | None], ref: PolicyRef | None) -> str | None:
    origin = origins.get(ref) if ref is not None else None
    return str(origin) if origin is not None else None


def _clusters(
    binding: Binding, decision: Decision | None, candidates: Sequence[Candidate], shown: Callable[[ClusterName], bool]
) -> list[ClusterReason]:
    before = {share.cluster: share.replicas for share in decision.targets} if decision else {}
    after = {share.cluster: share.replicas for share in binding.scheduled.shares}
    rejected = {rejection.cluster: rejection.reason for rejection in binding.reasons.rejections}
    return [
        {
            "name": candidate.name,
            "chosen": candidate.name in after,
            "replicas": after.get(candidate.name),
            "before": {"chosen": candidate.name in before, "replicas": before.get(candidate.name)},
            "region": candidate.region,
            "state": candidate.reach.value,
            "assumed": candidate.facts is not None and candidate.facts.assumed,
            "taints": [str(taint) for taint in candidate.taints],
            "free": _free(candidate),
            "reason": rejected.get(candidate.name)
            or (binding.reasons.why if candidate.name in after else "not chosen"),
        }
        for candidate in candidates
        if shown(candidate.name)
    ]


def _free(candidate: Candidate) -> str:
    """What is left there, as recorded: `cpu 12 memory 40Gi`."""
    summary = (candidate.facts.resource_summary if candidate.facts else None) or {}
    total, used = summary.get("allocatable") or {}, summary.get("allocated") or {}
    parts = []
    for name in ("cpu", "memory"):
        try:
            if name in total:
                free = quantity.parse(str(total[name])) - quantity.parse(str(used.get(name, "0")))
                parts.append(f"{name} {quantity.text(free)}")
        except quantity.QuantityError:
            continue  # a summary that cannot be read says nothing about what is free
    return " ".join(parts)


def _placement(
    binding: Binding,
    repo: RepoSnapshot,
    candidates: Sequence[Candidate],
    decision: Decision | None,
    shown: Callable[[ClusterName], bool],
    turn: schedule.Turn | None,
) -> PlacementNumbers | None:
    key = binding.key
    policies = (*repo.propagation, *services.policies(repo))
    placed_by = next((policy for policy in policies if match.ref(policy) == binding.scheduled.policy), None)
    if placed_by is None or key not in repo.manifests:
        return None
    body = repo.manifests[key].body
    space, uid = allowance.space_of(body, key.namespace), (body.get("metadata") or {}).get("uid") or binding.id
    story = placement.story(binding, placed_by.spec.placement, decision, candidates, space, uid, turn)
    return numbers(story, shown)


def _edits(plan: Plan, key: ObjectKey, shown: Callable[[ClusterName], bool]) -> list[EditView]:
    edits: dict[Edit, list[ClusterName]] = {}
    for rendered in plan.rendered.get(key, ()):
        for edit in rendered.edits:
            edits.setdefault(edit, []).extend(name for name in rendered.clusters if shown(name))
    return [
        {"by": edit.by, "what": edit.what, "origin": str(edit.origin), "clusters": sorted(clusters)}
        for edit, clusters in edits.items()
        if clusters
    ]
