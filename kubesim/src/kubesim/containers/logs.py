"""The log of a container that is only said to run: a line when it starts, one every few seconds, one when it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from kubesim import status

Body = dict[str, Any]

EVERY: Final = timedelta(seconds=5)
_LOOK_AGAIN: Final = 0.5
"""Seconds of the machine's own time between two looks for whoever follows: the cluster's clock may be another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Kubernetes: PodLogOptions."""

    previous: bool = False
    timestamps: bool = False
    since: datetime | None = None
    tail: int | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Line:
    at: datetime
    text: str

    def shown(self, wanted: Wanted) -> bytes:
        stamp = self.at.strftime("%Y-%m-%dT%H:%M:%S.000000000Z ") if wanted.timestamps else ""
        return f"{stamp}{self.text}\n".encode()


def of(pod: Body, container: str, wanted: Wanted, now: datetime) -> list[Line]:
    """What was said until now. 400 in the kubelet's words for a container that has not said anything yet."""
    life = _life(pod, container, wanted.previous)
    lines = [line for line in _lines(pod, container, *life, now) if wanted.since is None or line.at >= wanted.since]
    return lines if wanted.tail is None else lines[len(lines) - min(wanted.tail, len(lines)) :]


def text(lines: Iterable[Line], wanted: Wanted) -> bytes:
    return b"".join(line.shown(wanted) for line in lines)[: wanted.limit]


async def follow(
    find: Callable[[], Body | None], container: str, wanted: Wanted, now: Callable[[], datetime]
) -> AsyncGenerator[bytes, None]:
    """As it is said, until the container ends or the Pod is gone. ``find`` gives the Pod as it is."""
    pod, left = find(), wanted.limit
    if pod is None:
        return
    pending, told = of(pod, container, wanted, now()), _told(pod, container, now())
    while True:
        data = text(pending, wanted)[:left]
        if data:
            yield data
        left = None if left is None else left - len(data)
        if pod is None or left == 0 or _has_ended(pod, container):
            return
        await asyncio.sleep(_LOOK_AGAIN)
        pod = find()
        lines = _told(pod, container, now()) if pod is not None else []
        pending, told = lines[len(told) :], lines


def _told(pod: Body, container: str, now: datetime) -> list[Line]:
    try:
        return [*_lines(pod, container, *_life(pod, container, False), now)]
    except status.ApiError:
        return []


def _has_ended(pod: Body, container: str) -> bool:
    try:
        return _life(pod, container, False)[1] is not None
    except status.ApiError:
        return True


def _life(pod: Body, container: str, previous: bool) -> tuple[datetime, datetime | None, int]:
    """(start, end, exit code) of the container that runs or ran last, or of the one before."""
    name = pod["metadata"]["name"]
    told = (pod.get("status") or {}).get("containerStatuses") or ()
    found: Body = next((one for one in told if one["name"] == container), {})
    state, last = found.get("state") or {}, (found.get("lastState") or {}).get("terminated")
    if previous:
        if last is None:
            raise status.bad_request(f'previous terminated container "{container}" in pod "{name}" not found')
        return _ended(last)
    if running := state.get("running"):
        return _moment(running["startedAt"]), None, 0
    if ended := state.get("terminated") or last:
        return _ended(ended)
    reason = (state.get("waiting") or {}).get("reason") or "ContainerCreating"
    if reason in ("ErrImagePull", "ImagePullBackOff"):
        reason = "trying and failing to pull image"
    raise status.bad_request(f'container "{container}" in pod "{name}" is waiting to start: {reason}')


def _ended(terminated: Body) -> tuple[datetime, datetime | None, int]:
    return _moment(terminated["startedAt"]), _moment(terminated["finishedAt"]), terminated["exitCode"]


def _moment(told: str) -> datetime:
    return datetime.fromisoformat(told).astimezone(UTC)


def _lines(
    pod: Body, container: str, start: datetime, end: datetime | None, code: int, now: datetime
) -> Iterator[Line]:
    meta, spec = pod["metadata"], pod["spec"]
    image = next((one.get("image") for one in spec["containers"] if one["name"] == container), "")
    yield Line(start, f"{container} of {meta['namespace']}/{meta['name']} starts on {spec.get('nodeName')}: {image}")
    for number in range(1, (min(now, end or now) - start) // EVERY + 1):
        yield Line(start + number * EVERY, f"{container} of {meta['name']} is alive, line {number}")
    if end is not None:
        yield Line(end, f"{container} of {meta['name']} ends with code {code}")
