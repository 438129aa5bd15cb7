"""What workloads of one cluster use: their scale, their pods, and the metrics that an autoscaler wants of them.

Asked when an autoscaler looks, not watched: pods are projected to a few numbers as they are read. What one request does
not give is marked in the value; the others are asked all the same. What several workloads need is listed once
(`load_source`).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from gitfed import errors
from gitfed.edges.kube.connection import translate
from gitfed.edges.kube.connection.session import Session
from gitfed.edges.kube.discovery import Discovery
from gitfed.edges.kube.load_source import LoadSource, items_of, mapping_of, selector_text
from gitfed.model.base import Body, Kind, ObjectKey, group_of
from gitfed.model.load import ClusterLoad, LoadQuestion, PodLoad, Reading, Sample
from gitfed.text import quantity

_WINDOW = 60.0
"""Seconds that a value is the mean of where a server does not tell."""
_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?", re.ASCII)
_CUSTOM = ("v1beta2", "v1beta1")


async def look(
    session: Session, discovery: Discovery, questions: Sequence[LoadQuestion]
) -> dict[ObjectKey, ClusterLoad]:
    """By workload. The session's request budget spreads the requests."""
    source = LoadSource(session, discovery)
    await source.list_for(questions)
    loads = await asyncio.gather(*(_look(session, discovery, source, question) for question in questions))
    return {
        question.target: replace(load, scaled_by=source.scaled_by(question.target))
        for question, load in zip(questions, loads, strict=True)
    }


async def _look(session: Session, discovery: Discovery, source: LoadSource, question: LoadQuestion) -> ClusterLoad:
    target = question.target
    try:
        scale = await source.scale(target)
        selector = str(mapping_of(scale.get("status")).get("selector") or "")
        if not selector:
            return ClusterLoad(unread=f"the scale of {target} names no selector of its pods")
        pods = await source.pods(target.namespace, selector)
    except errors.ObjectNotFound:
        return ClusterLoad(unread="it is not there yet")
    except errors.ClusterError as error:
        return ClusterLoad(unread=translate.said(error))
    asking = _Asking(session, discovery, source, target.namespace, selector, pods)
    readings = [await asking.read(metric) for metric in question.metrics]
    wanted, observed = mapping_of(scale.get("spec")).get("replicas"), mapping_of(scale.get("status")).get("replicas")
    return ClusterLoad(_count(wanted), _count(observed), tuple(map(_pod, pods)), tuple(readings))


class _Asking:
    """The metrics of one workload; what several of them need is asked once."""

    def __init__(
        self,
        session: Session,
        discovery: Discovery,
        source: LoadSource,
        namespace: str,
        selector: str,
        pods: list[Body],
    ) -> None:
        self._session = session
        self._discovery = discovery
        self._source = source
        self._namespace = namespace
        self._selector = selector
        self._pods = pods
        self._used: list[Body] | None = None

    async def read(self, metric: Mapping[str, Any]) -> Reading:
        try:
            match metric.get("type"):
                case "Resource":
                    return await self._resource(metric["resource"], "")
                case "ContainerResource":
                    return await self._resource(metric["containerResource"], metric["containerResource"]["container"])
                case "Pods":
                    return await self._of_pods(metric["pods"]["metric"])
                case "Object":
                    return await self._of_object(metric["object"])
                case "External":
                    return await self._external(metric["external"]["metric"])
        except errors.ObjectNotFound as error:
            return Reading(unread=f"it has no such metric: {translate.said(error)}")
        except errors.ClusterError as error:
            return Reading(unread=translate.said(error))
        return Reading(unread="a metric of a type that is not known")

    async def _resource(self, source: Mapping[str, Any], container: str) -> Reading:
        name = str(source["name"])
        requests, missing = _requests(self._pods, name, container)
        if self._used is None:
            self._used = await self._source.used(self._namespace, self._selector, self._pods)
        by_share = mapping_of(source.get("target")).get("averageUtilization") is not None
        samples = dict(_used(self._used, name, container))
        return Reading(samples, requests, invalid=missing if by_share else "")

    async def _of_pods(self, metric: Mapping[str, Any]) -> Reading:
        items = await self._custom("pods/*", metric, {"labelSelector": self._selector})
        samples = {}
        for item in items:
            name, value = str(mapping_of(item.get("describedObject")).get("name")), _milli(item.get("value"))
            at = _time(item.get("timestamp"))
            if value is not None and at is not None:
                seconds = item.get("windowSeconds", item.get("window"))
                samples[name] = Sample(value, at, float(seconds) if isinstance(seconds, int) else _WINDOW)
        return Reading(samples)

    async def _of_object(self, source: Mapping[str, Any]) -> Reading:
        described = source["describedObject"]
        group = group_of(str(described.get("apiVersion") or ""))
        if not group and described["kind"] == "Namespace":
            where = "metrics"
            items = await self._custom(where, source["metric"], {})
        else:
            resource = await self._discovery.resource(Kind(group, str(described["kind"])))
            plural = f"{resource.plural}.{group}" if group else resource.plural
            items = await self._custom(f"{plural}/{quote(str(described['name']), safe='')}", source["metric"], {})
        return _total(items)

    async def _custom(self, what: str, metric: Mapping[str, Any], query: dict[str, str]) -> list[Body]:
        """Items of the custom metrics API in the newest version that is served. Raises ClusterError."""
        if labels := selector_text(metric.get("selector")):
            query["metricLabelSelector"] = labels
        tail = f"namespaces/{quote(self._namespace, safe='')}/{what}/{quote(str(metric['name']), safe='')}"
        for version in _CUSTOM[:-1]:
            try:
                return items_of(
                    await self._session.json("GET", f"/apis/custom.metrics.k8s.io/{version}/{tail}", query=query)
                )
            except errors.ObjectNotFound:
                continue
        path = f"/apis/custom.metrics.k8s.io/{_CUSTOM[-1]}/{tail}"
        return items_of(await self._session.json("GET", path, query=query))

    async def _external(self, metric: Mapping[str, Any]) -> Reading:
        labels = selector_text(metric.get("selector"))
        path = f"/apis/external.metrics.k8s.io/v1beta1/namespaces/{quote(self._namespace, safe='')}"
        path += f"/{quote(str(metric['name']), safe='')}"
        return _total(
            items_of(await self._session.json("GET", path, query={"labelSelector": labels} if labels else None))
        )


def _total(items: list[Body]) -> Reading:
    """The sum of what a cluster tells of one metric, as old as its oldest part."""
    values = [_milli(item.get("value")) for item in items]
    if not values or any(value is None for value in values):
        return Reading(unread="it tells a value that is no quantity" if values else "it tells no value")
    times = [at for item in items if (at := _time(item.get("timestamp"))) is not None]
    return Reading(value=sum(value for value in values if value is not None), at=min(times, default=None))


def _requests(pods: Iterable[Body], resource: str, container: str) -> tuple[dict[str, int], str]:
    """By pod, and why a share of them means nothing; "" when it does."""
    requests: dict[str, int] = {}
    missing = ""
    for pod in pods:
        name = str(pod["metadata"]["name"])
        total = 0
        for declared in mapping_of(pod.get("spec")).get("containers") or ():
            if container not in ("", declared.get("name")):
                continue
            amount = _milli(mapping_of(mapping_of(declared.get("resources")).get("requests")).get(resource))
            if amount is None:
                missing = missing or f"container {declared.get('name')} of pod {name} requests no {resource}"
            else:
                total += amount
        requests[name] = total
    return requests, missing


def _used(items: Iterable[Body], resource: str, container: str) -> Iterable[tuple[str, Sample]]:
    """Of pods of which every container that counts tells it."""
    for item in items:
        at = _time(item.get("timestamp"))
        shown = [measured for measured in item.get("containers") or () if container in ("", measured.get("name"))]
        used = [_milli(mapping_of(measured.get("usage")).get(resource)) for measured in shown]
        values = [amount for amount in used if amount is not None]
        if at is not None and used and len(values) == len(used):
            # A negative part is as much nonsense as a negative sum.
            total = sum(values) if min(values) >= 0 else -1
            yield str(mapping_of(item.get("metadata")).get("name")), Sample(total, at, _seconds(item.get("window")))


def _pod(body: Body) -> PodLoad:
    metadata, status = mapping_of(body.get("metadata")), mapping_of(body.get("status"))
    ready: Mapping[str, Any] = next(
        (condition for condition in status.get("conditions") or () if condition.get("type") == "Ready"), {}
    )
    return PodLoad(
        str(metadata.get("name")),
        str(status.get("phase") or ""),
        metadata.get("deletionTimestamp") is not None,
        str(ready.get("status") or ""),
        _time(ready.get("lastTransitionTime")),
        _time(status.get("startTime")),
    )


def _milli(value: object) -> int | None:
    """Thousandths; None for what is no quantity (`NaN`)."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return None
    try:
        return quantity.parse(value).milli
    except quantity.QuantityError:
        return None


def _seconds(text: object) -> float:
    """`10s`, `1m0s` or `10.062s`, as Go writes durations."""
    match = _DURATION.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return _WINDOW
    hours, minutes, seconds, thousandths = (float(part or 0) for part in match.groups())
    return hours * 3600 + minutes * 60 + seconds + thousandths / 1000 or _WINDOW


def _time(text: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return moment if moment is None or moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
