"""`/ui/object`: one object: how it is in each cluster, why it is there, what each cluster gets, what happened."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from aiohttp import web

from gitfed.errors import NotThere, SourceError
from gitfed.hub import orders, routes
from gitfed.hub.access.rights import Right
from gitfed.hub.answers import single, timeline
from gitfed.hub.answers.desk import Desk
from gitfed.hub.answers.moment import Moment
from gitfed.hub.answers.sight import Sight
from gitfed.hub.pages import annotated, object_states, ordering, paging
from gitfed.hub.pages.annotated import Line
from gitfed.hub.pages.change_events import ChangeEvents
from gitfed.hub.pages.frame import Frame
from gitfed.hub.pages.object_history import ObjectHistories, ObjectHistory
from gitfed.hub.pages.object_states import ClusterObject, KeptObject
from gitfed.hub.routes import Route
from gitfed.hub.running import Running
from gitfed.hub.server import Hub
from gitfed.model.base import ClusterName, ObjectKey, key_from
from gitfed.model.plan import Change
from gitfed.planning import retained_objects
from gitfed.planning.objects import redact
from gitfed.planning.review import events
from gitfed.source import locate
from gitfed.source.declare import Path
from gitfed.text.values import dataclass
from gitfed.views import capacity
from gitfed.views.explanations import ExplanationView
from gitfed.views.history import EventView
from gitfed.views.objects import ManifestView, ObjectView

_LATELY = 20
_TOLD = 40
_MARKS = {
    "ScheduleBindingSucceed": "move", "EvictWorkloadFromClusterSucceed": "event", "SyncSucceed": "ok",
    "Suspended": "held", "Resumed": "ok", "ChangesHeld": "held",
}  # fmt: skip
"""By the reason of an event; others are told by their type."""


class TimelineStep(NamedTuple):
    """One event of the state branch."""

    event: EventView
    mark: str
    message: str


@dataclass(frozen=True, slots=True)
class ObjectPage:
    """Everything that the page shows of the object."""

    key: ObjectKey
    view: ObjectView
    why: ExplanationView
    numbers: Mapping[ClusterName, Any]
    counts_room: bool
    free: Mapping[ClusterName, str]
    """What is left in each cluster."""
    copies: tuple[ClusterObject, ...]
    kept: tuple[KeptObject, ...]
    chosen: ClusterName
    """Whose manifest is shown; "" where no cluster gets one."""
    manifest: ManifestView | None
    lines: tuple[Line, ...]
    suspended: tuple[str, ...]
    whole: bool
    """The caller may see its namespace in every cluster."""


def route(hub: Hub, frame: Frame, desk: Desk, happenings: ChangeEvents) -> Route:
    stories = ObjectHistories(desk)

    async def show(request: web.Request) -> web.StreamResponse:
        now = desk.now()
        if now is None:
            raise web.HTTPServiceUnavailable(text="the first plan is being made")
        sight = desk.sight(routes.rights(request), now)
        key, cluster = key_from(paging.text(request, "of")), paging.text(request, "cluster")
        operates = ordering.offers(hub, orders.giver(request), str(key))

        binding = now.plan.bindings.get(key)
        story = await stories.of(now, key) if binding is not None and sight.binding(binding) else ObjectHistory(None)

        def form() -> dict[str, Any]:
            return {
                "seen": _look(hub.running, now, sight, key, cluster),
                "operates": operates,
                "lately": happenings.seen(now, sight, most=_LATELY, key=key),
                "story": _steps(now, sight, story),
                "unfinished": story.unfinished,
            }

        try:
            return await frame.formed(request, "object.html", form, operates, story.version)
        except NotThere as error:
            raise web.HTTPNotFound(text="there is no such object, or none that you may see") from error

    return Route("GET", "/ui/object", show, needs=Right.VIEW)


def _look(running: Running, now: Moment, sight: Sight, key: ObjectKey, cluster: ClusterName) -> ObjectPage:
    """Raises NotThere."""
    view = single.object_of(now, sight, key)
    why = single.explanation(now, sight, key)
    whole = sight.whole(key.namespace)
    changes = [change for change in now.plan.changes or () if change.key == key]
    states = object_states.of(running, now.plan.bindings[key], changes)
    shown = [
        _with(state, now.hidden.text(state.message) if whole else "")
        for name, state in states.items()
        if sight.copy(name, key.namespace)
    ]
    kept = _kept(view, changes, sight)
    shown = [state for state in shown if state.cluster not in kept]
    numbers = (
        {cluster_numbers["name"]: cluster_numbers for cluster_numbers in why["placement"]["clusters"]}
        if why["placement"] is not None
        else {}
    )
    getting = [name for manifest in view["manifests"] for name in manifest["clusters"]]
    chosen = cluster if cluster in getting else min(getting, default="")
    manifest = next((manifest for manifest in view["manifests"] if chosen in manifest["clusters"]), None)
    return ObjectPage(
        key,
        view,
        why,
        numbers,
        any(cluster_numbers["room"] is not None for cluster_numbers in numbers.values()),
        _free(now),
        tuple(shown),
        tuple(kept[name] for name in sorted(kept)),
        chosen,
        manifest,
        tuple(_lines(now, key, manifest)) if manifest is not None else (),
        tuple(str(order) for order in now.decisions.suspensions if order.of == str(key)),
        whole,
    )


def _kept(view: ObjectView, changes: Sequence[Change], sight: Sight) -> dict[ClusterName, KeptObject]:
    """As decisions tell, and as a look into the clusters tells where there was one."""
    binding = view["binding"]
    space = binding["resource"]["namespace"]
    kept = {share["name"]: KeptObject(share["name"], share["replicas"], share["reason"]) for share in binding["kept"]}
    for reasons in retained_objects.of_changes(changes).values():
        for name, reason in reasons.items():
            if sight.copy(name, space):
                replicas = kept[name].replicas if name in kept else None
                kept[name] = KeptObject(name, replicas, str(reason) if sight.whole(space) else "")
    getting = {share["name"] for share in binding["clusters"]}
    return {name: kept_object for name, kept_object in kept.items() if name not in getting}


def _steps(now: Moment, sight: Sight, story: ObjectHistory) -> list[TimelineStep] | None:
    """Newest first; None: nothing is known."""
    if story.told is None:
        return None
    return [
        TimelineStep(event, _mark(event), now.hidden.text(event["message"]))
        for event in timeline.seen(story.told, sight)[:_TOLD]
    ]


def _mark(event: EventView) -> str:
    return _MARKS.get(event["reason"], "bad" if event["type"] == events.WARNING else "dot")


def _free(now: Moment) -> dict[ClusterName, str]:
    free = {}
    for candidate in now.candidates:
        utilization = capacity.of_cluster(candidate.facts) or {}
        parts = (("cpu", "CPU"), ("memory", "memory"))
        left = [
            f"{capacity.amount(name, max(0, utilization[name].offered - utilization[name].asked))} {word}"
            for name, word in parts
            if name in utilization
        ]
        free[candidate.name] = ", ".join(left)
    return free


def _with(copy: ClusterObject, message: str) -> ClusterObject:
    return copy._replace(message=message)


def _lines(now: Moment, key: ObjectKey, manifest: ManifestView) -> list[Line]:
    template = now.repo.manifests.get(key)
    body = None if template is None else now.hidden.value(redact.masked(template.body))
    return annotated.lines(manifest["body"], body, manifest["edits"], _placer(now, key))


def _placer(now: Moment, key: ObjectKey) -> Callable[[Path], str]:
    """Where a field of the template stands; without the repository at hand, where the template begins."""
    template = now.repo.manifests.get(key)
    if template is None:
        return lambda path: "no file: other objects need it"
    engine = now.engine
    if engine is None or template.held is not None:
        return lambda path: str(replace(template.origin, column=0, line=0))
    repository = engine.reader.repository

    def read(path: str) -> bytes | None:
        try:
            entry = repository.entries(now.repo.commit).get(path)
            return repository.read(entry.blob_id) if entry is not None else None
        except SourceError:
            return None

    find = locate.InFiles(read)

    def place(path: Path) -> str:
        origin = find(template, path)
        return f"{origin.path}:{origin.line}"

    return place
