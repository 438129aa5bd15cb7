"""The scales, pods, pod metrics and autoscalers of one cluster that one round of `load` reads.

Each is listed once for several workloads where that is fewer requests than asking for every workload alone: of the
whole cluster where the list has fewer pages than there are namespaces, of a namespace where it has fewer than there are
workloads. Selectors are then matched here. What no list holds is asked for one by one: the only workload of a
namespace, the scale of a kind whose objects do not tell it, and everything that may not be listed.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from gitfed import errors
from gitfed.edges.kube import reflect
from gitfed.edges.kube.connection.session import Session
from gitfed.edges.kube.discovery import Discovery
from gitfed.model.base import Body, Kind, ObjectKey, group_of
from gitfed.model.load import SCALE_IN_OBJECT, LoadQuestion
from gitfed.text import selector as selectors

_RESOURCE_METRICS = ("Resource", "ContainerResource")
_EVERYWHERE = ""
_PAGE = reflect.PAGE
_MOST = 20
"""Pages of one list at most: they come one after another, while workloads are asked for side by side."""


class LoadSource:
    """Call `list_for` first."""

    def __init__(self, session: Session, discovery: Discovery) -> None:
        self._session = session
        self._discovery = discovery
        self._scales: dict[Kind, _Lists] = {}
        self._pods = _Lists()
        self._used = _Lists()
        self._autoscalers = _Lists()
        self._scaled_by: dict[ObjectKey, str] = {}

    async def list_for(self, questions: Sequence[LoadQuestion]) -> None:
        """List what is worth it for these workloads."""
        spaces = Counter(question.target.namespace for question in questions)
        measured = Counter(question.target.namespace for question in questions if _is_measured(question))
        kinds = {Kind(question.target.group, question.target.kind) for question in questions} & SCALE_IN_OBJECT
        await asyncio.gather(
            self._list_autoscalers(spaces),
            self._list_pods(spaces, measured),
            *(self._list_scales(kind, questions) for kind in sorted(kinds)),
        )

    async def scale(self, target: ObjectKey) -> Body:
        """The subresource, or what of it is needed. Raises ClusterError."""
        kind = Kind(target.group, target.kind)
        listed = self._scales[kind].of(target.namespace) if kind in self._scales else None
        if listed is None:
            resource = await self._discovery.resource(kind)
            return await self._session.json("GET", f"{resource.path(target.namespace, target.name)}/scale")
        workload = listed.named.get(target.name)
        if workload is None:
            raise errors.ObjectNotFound(f"{target} is not there", cluster=self._session.cluster, status=404)
        return _scale(workload)

    async def pods(self, namespace: str, selector: str) -> list[Body]:
        """Raises ClusterError."""
        listed = self._pods.of(namespace)
        pods = None if listed is None else listed.matching(selector)
        if pods is None:
            pods, _ = await reflect.read(self._session, f"{_root('/api/v1', namespace)}/pods", selector, project=_pod)
        return pods

    async def used(self, namespace: str, selector: str, pods: Iterable[Body]) -> list[Body]:
        """The metrics of those pods, which the selector chose. Raises ClusterError."""
        listed = self._used.of(namespace)
        if listed is None:
            return await self._metrics(namespace, {"labelSelector": selector})
        metrics = (listed.named.get(pod["metadata"]["name"]) for pod in pods)
        return [item for item in metrics if item is not None]

    def scaled_by(self, target: ObjectKey) -> str:
        """The HorizontalPodAutoscaler of the cluster that scales it; "" for none, or where none may be read."""
        return self._scaled_by.get(target, "")

    async def _list_autoscalers(self, spaces: Counter[str]) -> None:
        lists = self._autoscalers

        async def read(namespace: str, most: int) -> list[Body]:
            path = f"{_root('/apis/autoscaling/v2', namespace)}/horizontalpodautoscalers"
            return (await reflect.read(self._session, path, "", page=_PAGE, most=most))[0]

        await lists.fill(read, spaces, always=True)
        for namespace in spaces:
            try:
                listed = lists.of(namespace)
            except errors.ClusterError:
                continue
            for name, body in listed.named.items() if listed is not None else ():
                ref = mapping_of(mapping_of(body.get("spec")).get("scaleTargetRef"))
                group = group_of(str(ref.get("apiVersion") or ""))
                target = ObjectKey(group, str(ref.get("kind")), namespace, str(ref.get("name")))
                self._scaled_by[target] = name

    async def _list_pods(self, spaces: Counter[str], measured: Counter[str]) -> None:
        """Metrics come without pages: they are listed only where the list of the pods was short enough."""

        async def read(namespace: str, most: int) -> list[Body]:
            path = f"{_root('/api/v1', namespace)}/pods"
            return (await reflect.read(self._session, path, "", project=_pod, page=_PAGE, most=most))[0]

        async def read_metrics(namespace: str, most: int) -> list[Body]:
            return await self._metrics(namespace, None)

        await self._pods.fill(read, spaces)
        if self._pods.everywhere:
            await self._used.fill(read_metrics, measured, wide=measured.total() > 1)
        else:
            listed = Counter({space: count for space, count in measured.items() if self._pods.holds(space)})
            await self._used.fill(read_metrics, listed, wide=False)

    async def _list_scales(self, kind: Kind, questions: Iterable[LoadQuestion]) -> None:
        spaces = Counter(
            question.target.namespace for question in questions if (question.target.group, question.target.kind) == kind
        )
        if spaces.total() < 2:
            return
        try:
            resource = await self._discovery.resource(kind)
        except errors.ClusterError:
            return  # asked one by one, each is told why

        async def read(namespace: str, most: int) -> list[Body]:
            path = resource.path(namespace)
            return (await reflect.read(self._session, path, "", project=_workload, page=_PAGE, most=most))[0]

        self._scales[kind] = lists = _Lists()
        await lists.fill(read, spaces)

    async def _metrics(self, namespace: str, query: Mapping[str, str] | None) -> list[Body]:
        path = f"{_root('/apis/metrics.k8s.io/v1beta1', namespace)}/pods"
        return items_of(await self._session.json("GET", path, query=query))


class _Lists:
    """What was listed of one kind, by namespace. A failure is the answer to each question there."""

    def __init__(self) -> None:
        self.everywhere = False
        self._found: dict[str, _List | errors.ClusterError] = {}

    def of(self, namespace: str) -> _List | None:
        """None: ask one by one. Raises ClusterError."""
        listed = self._found.get(namespace)
        if isinstance(listed, errors.ClusterError):
            raise listed
        return _List() if listed is None and self.everywhere else listed

    def holds(self, namespace: str) -> bool:
        return isinstance(self._found.get(namespace), _List)

    async def fill(self, read: _Read, spaces: Counter[str], *, wide: bool | None = None, always: bool = False) -> None:
        """`spaces`: how many workloads each namespace has that need it. `wide`: whether the whole cluster is listed;
        None: where that has fewer pages than there are namespaces. `always`: there is no asking one by one."""
        if len(spaces) > 1 if wide is None else wide:
            pages = sys.maxsize if wide else min(len(spaces) - 1, _MOST)
            self.everywhere = await self._take(read, _EVERYWHERE, pages, spaces)
            if self.everywhere:
                return
        await asyncio.gather(
            *(
                self._take(read, space, sys.maxsize if always else min(count - 1, _MOST), (space,))
                for space, count in sorted(spaces.items())
                if always or count > 1
            )
        )

    async def _take(self, read: _Read, scope: str, most: int, spaces: Iterable[str]) -> bool:
        """Whether that is the answer."""
        try:
            bodies = await read(scope, most)
        except (reflect.TooLong, errors.HistoryGone):
            return False
        except errors.ClusterError as error:
            if isinstance(error, errors.Unauthorized) and error.status == 403:
                return False  # less may be allowed
            self._found.update(dict.fromkeys(spaces, error))
            return True
        by_space: dict[str, list[Body]] = {} if scope == _EVERYWHERE else {scope: []}
        for body in bodies:
            by_space.setdefault(scope or str(mapping_of(body.get("metadata")).get("namespace") or ""), []).append(body)
        self._found.update({space: _List(items) for space, items in by_space.items()})
        return True


class _List:
    """Bodies of one namespace, found by name or by labels without walking all of them."""

    def __init__(self, bodies: Iterable[Body] = ()) -> None:
        self.named: dict[str, Body] = {str(mapping_of(body.get("metadata")).get("name")): body for body in bodies}
        self._labelled: dict[tuple[str, str], list[Body]] | None = None

    def matching(self, selector: str) -> list[Body] | None:
        """In the order of the list. None for a selector that only a server understands."""
        try:
            is_chosen = selectors.from_text(selector)
        except errors.UsageError:
            return None
        needed = selectors.labels_needed(selector)
        candidates = min((self._having(pair) for pair in needed.items()), key=len) if needed else self.named.values()
        return [body for body in candidates if is_chosen(_labels(body))]

    def _having(self, pair: tuple[str, str]) -> list[Body]:
        if self._labelled is None:
            self._labelled = {}
            for body in self.named.values():
                for label in _labels(body).items():
                    self._labelled.setdefault(label, []).append(body)
        return self._labelled.get(pair, [])


_Read = Callable[[str, int], Awaitable[list[Body]]]


def _is_measured(question: LoadQuestion) -> bool:
    return any(metric.get("type") in _RESOURCE_METRICS for metric in question.metrics)


def _root(version: str, namespace: str) -> str:
    return f"{version}/namespaces/{quote(namespace, safe='')}" if namespace else version


def _labels(body: Body) -> Mapping[str, Any]:
    return mapping_of(mapping_of(body.get("metadata")).get("labels"))


def _pod(body: Body) -> Body:
    """What of a pod is looked at: a list of whole pods is large."""
    metadata, spec, status = (mapping_of(body.get(member)) for member in ("metadata", "spec", "status"))
    return {
        "metadata": _some(metadata, "name", "namespace", "labels", "deletionTimestamp"),
        "spec": {"containers": [_some(declared, "name", "resources") for declared in spec.get("containers") or ()]},
        "status": _some(status, "phase", "conditions", "startTime"),
    }


def _workload(body: Body) -> Body:
    return {
        "metadata": _some(mapping_of(body.get("metadata")), "name", "namespace"),
        "spec": _some(mapping_of(body.get("spec")), "replicas", "selector"),
        "status": _some(mapping_of(body.get("status")), "replicas"),
    }


def _some(body: Mapping[str, Any], *members: str) -> Body:
    return {member: body[member] for member in members if member in body}


def _scale(workload: Body) -> Body:
    """As the server makes it of the object."""
    spec, status = workload["spec"], workload["status"]
    selector = selector_text(spec.get("selector"))
    return {
        "spec": {"replicas": spec.get("replicas")},
        "status": {"replicas": status.get("replicas"), "selector": selector},
    }


def selector_text(body: object) -> str:
    """A label selector as a query says it."""
    selector = mapping_of(body)
    parts = [f"{key}={value}" for key, value in sorted(mapping_of(selector.get("matchLabels")).items())]
    for expression in selector.get("matchExpressions") or ():
        key, values = expression.get("key"), ",".join(expression.get("values") or ())
        match expression.get("operator"):
            case "In":
                parts.append(f"{key} in ({values})")
            case "NotIn":
                parts.append(f"{key} notin ({values})")
            case "Exists":
                parts.append(str(key))
            case _:
                parts.append(f"!{key}")
    return ",".join(parts)


def items_of(body: Mapping[str, Any]) -> list[Body]:
    items = body.get("items")
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def mapping_of(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
