"""One object, why it is where it is, and the plan, for one caller."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from gitfed.errors import NotThere
from gitfed.hub.answers import listings
from gitfed.hub.answers import sight as seen
from gitfed.hub.answers.moment import Moment
from gitfed.hub.answers.query import Query, place_of, token
from gitfed.hub.answers.sight import Sight
from gitfed.model.base import ObjectKey, key_from
from gitfed.model.plan import Action, Plan
from gitfed.views import explanations, names, objects, plans


def key_of(moment: Moment, sight: Sight, text: str, namespace: str = "") -> ObjectKey:
    """The object that `KIND/[NS/]NAME` means, of those that the caller sees. Raises UsageError, NotThere."""
    plan = moment.plan
    exact = key_from(text)
    if exact in plan.bindings and sight.binding(plan.bindings[exact]):
        return exact
    return names.find(
        text, (key for key, binding in plan.bindings.items() if sight.binding(binding)), namespace=namespace
    )


def object_of(moment: Moment, sight: Sight, key: ObjectKey) -> objects.ObjectView:
    """Raises NotThere."""
    _check(moment, sight, key)
    value = seen.found(
        objects.document(key, moment.plan, moment.status(key), lambda name: sight.copy(name, key.namespace)), sight
    )
    for manifest in value["manifests"]:
        manifest["body"] = moment.hidden.value(manifest["body"])
    return {**value, "changes": moment.hidden.value(value["changes"])}


def explanation(moment: Moment, sight: Sight, key: ObjectKey, cluster: str = "") -> explanations.ExplanationView:
    """Of all clusters, or one. Raises NotThere."""
    _check(moment, sight, key)
    if cluster and not (cluster in moment.plan.clusters and sight.cluster(cluster)):
        raise NotThere(f"no cluster {cluster[:253]!r}")
    value = explanations.explain(
        key,
        moment.plan,
        moment.repo,
        moment.candidates,
        moment.decisions.bindings.get(key),
        lambda name: sight.copy(name, key.namespace) and cluster in ("", name),
        moment.turn(key),
    )
    shown = seen.explanation(value, sight)
    return {**shown, "changes": moment.hidden.value(shown["changes"])}


def plan(moment: Moment, sight: Sight, query: Query) -> plans.PlanView:
    """The present plan. A page of it holds so many objects, with their bindings and changes; the rest stands on every
    page. Raises UsageError."""
    whole = moment.plan
    keys, following = _page_of_keys(whole, sight, query)
    chosen = set(keys)
    shown: plans.PlanView = {
        **plans.document(_without_lists(whole)),
        "bindings": [
            seen.binding(plans.binding(whole.bindings[key], whole.held_decisions.get(key)), sight)
            for key in keys
            if key in whole.bindings and sight.binding(whole.bindings[key])
        ],
        "changes": [
            listings.change_view(moment, sight, change)
            for change in whole.changes or ()
            if change.key in chosen and sight.change(change)
        ],
        "observed": whole.changes is not None,
    }
    if following:
        shown["next"] = following
    return shown if sight.everything else _for_some(moment, sight, shown)


def _page_of_keys(whole: Plan, sight: Sight, query: Query) -> tuple[list[ObjectKey], str]:
    seen_keys = {key for key, binding in whole.bindings.items() if sight.binding(binding)}
    seen_keys |= {change.key for change in whole.changes or () if sight.change(change)}
    after = place_of(query.after, "plan", ("",) * 4) if query.after else ()
    ordered = sorted(key for key in seen_keys if key > after)
    page = ordered[: query.limit]
    return page, token(tuple(page[-1]), "plan") if len(ordered) > query.limit else ""


def _without_lists(whole: Plan) -> Plan:
    return replace(whole, bindings={}, changes=())


def _for_some(moment: Moment, sight: Sight, shown: plans.PlanView) -> plans.PlanView:
    """For a caller who does not see the whole fleet: nothing that counts or names what they do not see."""
    changes = [change for change in moment.plan.changes or () if sight.change(change)]
    counts = Counter("move" if change.move else change.action.value for change in changes)
    failing = shown["failover"]
    return {
        **shown,
        "clusters": [name for name in shown["clusters"] if sight.cluster(name)],
        "gates": [],
        "problems": [],
        "notes": [],
        "totals": {
            "create": counts["create"],
            "update": counts["update"],
            "move": counts["move"],
            "delete": counts["delete"],
            "keep": counts["keep"],
            "skip": counts["skip"],
            "clusters": len({change.cluster for change in changes if change.action not in (Action.KEEP, Action.SKIP)}),
        },
        "failover": {
            "clusters": [health for health in failing["clusters"] if sight.cluster(health["name"])],
            "outage": None,
            "events": [],
            "nextDecision": None,
        },
    }


def _check(moment: Moment, sight: Sight, key: ObjectKey) -> None:
    """Whether it is there is not told to who may not see it. Raises NotThere."""
    if key not in moment.plan.bindings or not sight.binding(moment.plan.bindings[key]):
        raise NotThere(f"no object {key}")
