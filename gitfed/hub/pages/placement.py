"""`/ui/placement`: workloads down, clusters across, replicas ready and wanted where they cross.

Ten thousand workloads times a hundred clusters are a million cells, of which a page shows some thousand: filters and
pages are the server's work, and so is the order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from aiohttp import web

from gitfed.hub import routes
from gitfed.hub.access.rights import Right
from gitfed.hub.answers.desk import Desk
from gitfed.hub.answers.moment import Moment
from gitfed.hub.answers.sight import Sight
from gitfed.hub.pages import object_states, paging
from gitfed.hub.pages.frame import Frame, query
from gitfed.hub.pages.object_states import ClusterObject
from gitfed.hub.pages.paging import Pages
from gitfed.hub.routes import Route
from gitfed.hub.running import Running
from gitfed.hub.server import Hub
from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.plan import Binding, Change
from gitfed.text.values import dataclass

ROWS, COLUMNS = 50, 25
"""Of one page: enough to look at, and few enough to send."""
_SHOWS = (("workloads", "Workloads"), ("all", "All objects"), ("attention", "What needs attention"))


class PlacementFilter(NamedTuple):
    """What stands in the address."""

    text: str
    namespace: str
    kind: str
    cluster: str
    region: str
    show: str
    page: int
    columns: int

    @property
    def is_for_all(self) -> bool:
        """No row is left out."""
        return not (self.text or self.namespace or self.kind or self.cluster) and self.show != "attention"

    def address(self, **changes: object) -> str:
        values = self._asdict() | changes
        show = values.pop("show")
        page, columns = values.pop("page"), values.pop("columns")
        return query(
            "/ui/placement",
            q=values.pop("text"),
            **values,
            show="" if show == _SHOWS[0][0] else show,
            page="" if page == 1 else page,
            columns="" if columns == 1 else columns,
        )


@dataclass(frozen=True, slots=True)
class WorkloadRow:
    binding: Binding
    total: str
    """Replicas ready and wanted in all clusters that the caller may see."""
    cells: tuple[ClusterObject | None, ...]
    """By column."""
    elsewhere: int
    """In how many clusters it is that have no column here."""
    failed: str
    """Why it has no place; "" when it has."""


@dataclass(frozen=True, slots=True)
class Matrix:
    rows: tuple[WorkloadRow, ...]
    columns: tuple[ClusterName, ...]
    down: Pages
    across: Pages


def route(hub: Hub, frame: Frame, desk: Desk) -> Route:
    judged = Judged()

    async def placement(request: web.Request) -> web.StreamResponse:
        now, filters = desk.now(), _asked(request)
        if now is None:
            return frame.page(
                request, "placement.html", matrix=None, asked=filters, shows=_SHOWS, namespaces=(), kinds=(), regions=()
            )
        sight = desk.sight(routes.rights(request), now)

        def form() -> dict[str, Any]:
            return {
                "matrix": _matrix(hub.running, now, sight, filters, judged),
                "asked": filters,
                "shows": _SHOWS,
                "namespaces": _namespaces(now, sight),
                "kinds": now.index.kinds if sight.everything else (),
                "regions": _regions(now, sight),
            }

        return await frame.formed(request, "placement.html", form)

    return Route("GET", "/ui/placement", placement, needs=Right.VIEW)


def _asked(request: web.Request) -> PlacementFilter:
    show = paging.text(request, "show")
    return PlacementFilter(
        text=paging.text(request, "q"),
        namespace=paging.text(request, "namespace"),
        kind=paging.text(request, "kind"),
        cluster=paging.text(request, "cluster"),
        region=paging.text(request, "region"),
        show=show if show in dict(_SHOWS) else _SHOWS[0][0],
        page=paging.number(request, "page"),
        columns=paging.number(request, "columns"),
    )


class Judged:
    """Whether an object needs a person's attention, remembered for as long as nothing new is known of it."""

    def __init__(self) -> None:
        self._known: dict[ObjectKey, tuple[object, Binding, bool]] = {}

    def needs_attention(self, now: Moment, binding: Binding) -> bool:
        if binding.key in now.index.changed or (
            binding.scheduled.condition is not None and not binding.scheduled.condition.status
        ):
            return True
        status = now.engine.statuses.get(binding.key) if now.engine is not None else None
        if status is None:
            return False
        judged = self._known.get(binding.key)
        if judged is None or judged[0] is not status or judged[1] is not binding:
            sick = not status.fully_applied.status or any(copy.health == "Unhealthy" for copy in status.copies)
            judged = self._known[binding.key] = (status, binding, sick)
        return judged[2]


def _keys(now: Moment, sight: Sight, filters: PlacementFilter, judged: Judged) -> Sequence[ObjectKey]:
    """The rows of all pages."""
    candidates = now.index.workloads if filters.show == "workloads" else now.index.order
    if sight.everything and filters.is_for_all:
        return candidates
    wanted = filters.text.lower()
    keys = []
    for key in candidates:
        binding = now.plan.bindings[key]
        if (filters.namespace and key.namespace != filters.namespace) or (filters.kind and key.kind != filters.kind):
            continue
        if wanted and wanted not in str(key).lower():
            continue
        if filters.cluster and binding.share_of(filters.cluster) is None:
            continue
        if filters.show == "attention" and not judged.needs_attention(now, binding):
            continue
        if sight.binding(binding):
            keys.append(key)
    return keys


def _matrix(running: Running, now: Moment, sight: Sight, filters: PlacementFilter, judged: Judged) -> Matrix:
    def fits(name: ClusterName) -> bool:
        declared = now.repo.clusters.get(name)
        region = declared.spec.region if declared is not None else ""
        return sight.cluster(name) and filters.cluster in ("", name) and filters.region in ("", region)

    keys = _keys(now, sight, filters, judged)
    columns = [name for name in now.plan.clusters if fits(name)]
    shown, across = paging.cut(columns, COLUMNS, filters.columns, _address(filters, "columns"))
    page, down = paging.cut(keys, ROWS, filters.page, _address(filters, "page"))
    changes = now.index.changes_of(page)
    rows = [_row(running, now, key, changes.get(key, ()), sight, tuple(shown)) for key in page]
    return Matrix(tuple(rows), tuple(shown), down, across)


def _address(filters: PlacementFilter, parameter: str) -> Callable[[int], str]:
    return lambda number: filters.address(**{parameter: number})


def _row(
    running: Running,
    now: Moment,
    key: ObjectKey,
    changes: Sequence[Change],
    sight: Sight,
    columns: tuple[ClusterName, ...],
) -> WorkloadRow:
    binding = now.plan.bindings[key]
    states = object_states.of(running, binding, changes)
    seen = {name: state for name, state in states.items() if sight.copy(name, key.namespace)}
    wanted = [state.wanted for state in seen.values() if state.wanted is not None]
    ready = [state.ready for state in seen.values() if state.ready is not None]
    failed = (
        binding.scheduled.condition.message
        if binding.scheduled.condition is not None and not binding.scheduled.condition.status
        else ""
    )
    return WorkloadRow(
        binding,
        f"{sum(ready)}/{sum(wanted)}" if ready else str(sum(wanted)) if wanted else "",
        tuple(seen.get(name) for name in columns),
        sum(1 for name in seen if name not in columns),
        now.hidden.text(failed) if sight.whole(key.namespace) else "",
    )


def _namespaces(now: Moment, sight: Sight) -> tuple[str, ...]:
    if sight.everything:
        return now.index.namespaces
    return tuple(space for space in now.index.namespaces if any(sight.copy(name, space) for name in now.repo.clusters))


def _regions(now: Moment, sight: Sight) -> tuple[str, ...]:
    regions = {cluster.spec.region or "" for name, cluster in now.repo.clusters.items() if sight.cluster(name)}
    return tuple(sorted(regions - {""}))
