"""Lists of what there is, for one caller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from gitfed.errors import UsageError
from gitfed.hub.answers import sight as seen
from gitfed.hub.answers.moment import Moment
from gitfed.hub.answers.query import Page, Place, Query, page, place_of, token
from gitfed.hub.answers.sight import Sight
from gitfed.model.base import ClusterName, ObjectKey, Origin, Problem, Severity
from gitfed.model.decisions import Share
from gitfed.model.plan import Binding, Change, RenderedManifest
from gitfed.views import (
    agents,
    autoscalers,
    bindings,
    clusters,
    gates,
    plans,
    policies,
    problems,
    quotas,
    services,
    works,
)

STATES = ("unscheduled", "unapplied", "unhealthy", "moving")
"""Of bindings: placed nowhere, not applied in a cluster, not healthy in a cluster, or leaving a cluster."""
SORTS = ("object", "namespace", "replicas", "clusters", "health")
"""Of bindings; `health`: those that are unhealthy in most clusters last."""
T = TypeVar("T")


def cluster_list(moment: Moment, sight: Sight, query: Query) -> clusters.ClusterList:
    placed = moment.index.objects if sight.everything else Counter[ClusterName]()
    for key, binding in () if sight.everything else moment.plan.bindings.items():
        placed.update(share.cluster for share in binding.scheduled.shares if sight.copy(share.cluster, key.namespace))
    shown = _page(
        (
            ((cluster.name,), cluster)
            for cluster in moment.candidates
            if sight.cluster(cluster.name)
            if query.cluster in ("", cluster.name) and query.text in cluster.name
        ),
        query,
    )
    items = [clusters.item(cluster, moment.repo, placed[cluster.name]) for cluster in shown.items]
    answer: clusters.ClusterList = {"schema": "gitfed.io/clusters/v1", "items": items, "total": shown.total}
    if shown.next:
        answer["next"] = shown.next
    return answer


def agent_list(moment: Moment, sight: Sight, query: Query) -> agents.AgentList:
    """An agent is seen by who sees its cluster; of a cluster that no file declares by who sees the whole fleet."""
    ends = moment.certificates()
    shown = _page(
        (
            ((name,), name)
            for name in agents.clusters(moment.repo, ends)
            if (sight.cluster(name) if name in moment.repo.clusters else sight.everything)
            if query.cluster in ("", name) and query.text in name
        ),
        query,
    )
    leads = moment.engine is not None
    items = [
        agents.item(
            name, moment.repo, moment.agent(name), agents.certificate_ends(name, moment.repo, ends), leads=leads
        )
        for name in shown.items
    ]
    answer: agents.AgentList = {"schema": agents.SCHEMA, "items": items, "total": shown.total}
    if shown.next:
        answer["next"] = shown.next
    return answer


def binding_list(moment: Moment, sight: Sight, query: Query) -> bindings.BindingList:
    """Raises UsageError."""
    if query.state and query.state not in STATES:
        raise UsageError(f"no state {query.state!r}: {', '.join(STATES)}")
    order = _order(moment, sight, query)
    shown = page(
        (
            ((order(binding), *key), binding)
            for key, binding in moment.plan.bindings.items()
            if _is_asked(key, query) and sight.binding(binding) and _matches(moment, sight, binding, query)
        ),
        query,
        reverse=query.sort.startswith("-"),
    )
    held = moment.plan.held_decisions
    items = [
        seen.placed(bindings.item(binding, moment.status(binding.key), held.get(binding.key)), sight)
        for binding in shown.items
    ]
    answer: bindings.BindingList = {"schema": "gitfed.io/bindings/v1", "items": items, "total": shown.total}
    if shown.next:
        answer["next"] = shown.next
    return answer


def _order(moment: Moment, sight: Sight, query: Query) -> Callable[[Binding], int | str]:
    orders: dict[str, Callable[[Binding], int | str]] = {
        "object": lambda binding: "",
        "namespace": lambda binding: binding.key.namespace,
        "replicas": lambda binding: sum(share.replicas or 0 for share in _shares(binding, sight)),
        "clusters": lambda binding: sum(1 for _ in _shares(binding, sight)),
        "health": lambda binding: sum(copy["health"] == "Unhealthy" for copy in _copies(moment, sight, binding)),
    }
    name = query.sort.removeprefix("-") or "object"
    if name not in orders:
        raise UsageError(f"nothing is sorted by {name!r}: {', '.join(SORTS)}")
    return orders[name]


def _shares(binding: Binding, sight: Sight) -> Iterator[Share]:
    return (share for share in binding.scheduled.shares if sight.copy(share.cluster, binding.key.namespace))


def _copies(moment: Moment, sight: Sight, binding: Binding) -> list[bindings.CopyView]:
    status = seen.status(moment.status(binding.key), binding.key.namespace, sight)
    return status["aggregatedStatus"] if status is not None else []


def _is_asked(key: ObjectKey, query: Query) -> bool:
    if query.namespace and key.namespace != query.namespace:
        return False
    if query.kind and query.kind.lower() not in (key.kind.lower(), f"{key.kind}.{key.group}".lower()):
        return False
    return not query.text or query.text.lower() in str(key).lower()


def _matches(moment: Moment, sight: Sight, binding: Binding, query: Query) -> bool:
    if query.policy and str(binding.scheduled.policy) != query.policy:
        return False
    if query.cluster and all(share.cluster != query.cluster for share in _shares(binding, sight)):
        return False
    if query.state == "unscheduled":
        return binding.scheduled.condition is not None and not binding.scheduled.condition.status
    if query.state == "moving":
        return any(sight.copy(task.from_cluster, binding.key.namespace) for task in binding.evictions)
    if query.state == "unapplied":
        return any(not copy.get("applied") for copy in _copies(moment, sight, binding))
    if query.state == "unhealthy":
        return any(copy.get("health") == "Unhealthy" for copy in _copies(moment, sight, binding))
    return True


def work_list(moment: Moment, sight: Sight, query: Query) -> works.WorkList:
    """Cluster by cluster. A million of them may be there: only those of the page are looked at. Raises UsageError."""
    pending = {(change.cluster, change.key): change for change in moment.plan.changes or ()}
    items: list[works.WorkView] = []
    last: Place = ()
    more = False
    for cluster, key, rendered in _rendered_after(moment, sight, query):
        if len(items) == query.limit:
            more = True
            break
        live = moment.live.get(cluster) if moment.live is not None else None
        change = pending.get((cluster, key))
        refused = moment.why_failed(cluster, key) if change is not None else ""
        view = works.item(
            cluster,
            rendered,
            change,
            moment.copies(key).get(cluster),
            live,
            observed=moment.live is not None,
            refused=refused,
        )
        if change is not None and (change.reason or refused) and not sight.whole(key.namespace):
            view["message"] = ""
        view["message"] = moment.hidden.text(view["message"])
        items.append(view)
        last = (cluster, *key)
    answer: works.WorkList = {"schema": "gitfed.io/works/v1", "items": items}
    if more:
        answer["next"] = token(last, query.sort)
    return answer


def _rendered_after(
    moment: Moment, sight: Sight, query: Query
) -> Iterator[tuple[ClusterName, ObjectKey, RenderedManifest]]:
    after = place_of(query.after, query.sort, ("",) * 5) if query.after else ("",)
    for cluster in sorted(moment.plan.clusters):
        if cluster < after[0] or query.cluster not in ("", cluster):
            continue
        for key, classes in moment.plan.rendered.items():
            if cluster == after[0] and key <= after[1:]:
                continue
            if not _is_asked(key, query) or not sight.copy(cluster, key.namespace):
                continue
            for rendered in classes:
                if cluster in rendered.clusters:
                    yield cluster, key, rendered


def orphan_list(moment: Moment, sight: Sight, query: Query) -> works.OrphanList:
    shown = _page(
        (
            ((change.cluster, *change.key), change)
            for change in moment.plan.changes or ()
            if works.is_orphan(change) and sight.change(change)
            if query.cluster in ("", change.cluster) and _is_asked(change.key, query)
        ),
        query,
    )
    items = [works.orphan(change) for change in shown.items]
    for item in items:
        if not sight.whole(item["namespace"]):
            item["reason"] = ""
    answer: works.OrphanList = {"schema": "gitfed.io/orphans/v1", "items": items, "total": shown.total}
    if shown.next:
        answer["next"] = shown.next
    return answer


def policy_list(moment: Moment, sight: Sight, query: Query) -> policies.PolicyList:
    """Those of a namespace that the caller sees everywhere; what selects objects of every namespace is of none."""
    shown = _page(
        (
            ((policy["kind"], policy["namespace"], policy["name"]), policy)
            for policy in policies.items(moment.repo, moment.plan)
            if sight.whole(policy["namespace"])
            if query.namespace in ("", policy["namespace"]) and query.text in policy["name"]
        ),
        query,
    )
    answer: policies.PolicyList = {"schema": "gitfed.io/policies/v1", "items": shown.items, "total": shown.total}
    if shown.next:
        answer["next"] = shown.next
    return answer


def quota_list(moment: Moment, sight: Sight, query: Query) -> quotas.QuotaList:
    """Those of a namespace that the caller sees everywhere: a quota counts all of it."""
    all_quotas = quotas.items(moment.repo, moment.facts, moment.plan, query.namespace, query.cluster)
    return {
        "schema": quotas.SCHEMA,
        "items": [view for view in all_quotas if sight.whole(view["metadata"]["namespace"])],
    }


def autoscaler_list(moment: Moment, sight: Sight, query: Query) -> autoscalers.AutoscalerList:
    """Those of a namespace that the caller sees everywhere: they decide for the whole fleet."""
    all_autoscalers = autoscalers.items(moment.repo, moment.plan, query.namespace)
    return {"schema": autoscalers.SCHEMA, "items": [view for view in all_autoscalers if sight.whole(view["namespace"])]}


def service_list(moment: Moment, sight: Sight, query: Query) -> services.ServiceList:
    """Those of a namespace that the caller sees everywhere: their endpoints are in many clusters."""
    wanted = services.targets(moment.repo, moment.plan)
    live = {key: moment.copies(key) for key in wanted} if moment.engine is not None else None
    observed = services.Observed(moment.facts, live, moment.endpoints)
    all_services = services.items(moment.repo, moment.plan, observed, query.namespace)
    items = [view for view in all_services if services.concerns(view, query.cluster) and sight.whole(view["namespace"])]
    return {"schema": services.SCHEMA, "items": items}


def problem_list(moment: Moment, sight: Sight, query: Query) -> problems.ProblemList:
    """Of the files and of the plan: what the daemon goes by."""
    told = sorted({*moment.repo.problems, *moment.plan.problems})
    if not sight.everything:
        files = _files_in_sight(moment, sight)
        told = [problem for problem in told if problem.origin.path in files]
    shown = _page((((number,), problem) for number, problem in enumerate(told) if query.text in str(problem)), query)
    errors = sum(1 for problem in told if problem.severity is Severity.ERROR)
    answer: problems.ProblemList = {
        **problems.document([_without_secrets(problem, moment) for problem in shown.items]),
        "errors": errors,
        "total": shown.total,
    }
    if shown.next:
        answer["next"] = shown.next
    return answer


def _without_secrets(problem: Problem, moment: Moment) -> Problem:
    message = moment.hidden.text(problem.message)
    return Problem(problem.origin, message, moment.hidden.text(problem.hint), problem.severity)


def _files_in_sight(moment: Moment, sight: Sight) -> set[str]:
    """Files of which every object is in a namespace that the caller sees everywhere."""
    origins: list[tuple[str, Origin]] = [
        *((key.namespace, manifest.origin) for key, manifest in moment.repo.manifests.items()),
        *((key.namespace, origin) for key, origin in moment.repo.origins.items()),
    ]
    hidden = {origin.path for namespace, origin in origins if not sight.whole(namespace)}
    return {origin.path for _, origin in origins} - hidden


def gate_list(moment: Moment, sight: Sight) -> gates.GateList:
    """All gates for callers who see the whole fleet; for others those that hold something they see."""
    held = gates.held_by(moment.plan)
    items = []
    for gate in moment.plan.gates:
        waiting = [change for change in held.get(gate.name, ()) if sight.change(change)]
        if waiting or sight.everything:
            shown = [change_view(moment, sight, change) for change in waiting[: gates.SAMPLES]]
            count = gate.held if sight.everything else len(waiting)
            items.append(gates.item(gate, shown, held=count, whole=sight.everything))
    return {"schema": gates.SCHEMA, "commit": moment.plan.commit, "digest": moment.plan.digest, "gates": items}


def change_view(moment: Moment, sight: Sight, change: Change) -> plans.ChangeView:
    return seen.change(gates.change(change, moment.hidden), sight)


def _page(items: Iterable[tuple[Place, T]], query: Query) -> Page[T]:
    """Of a list that has one order."""
    if query.sort not in ("", "name"):
        raise UsageError(f"this list is not sorted by {query.sort!r}", hint="leave out sort")
    return page(items, query)
