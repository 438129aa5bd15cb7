"""★ Who gets which endpoints: routes, what clusters have, which clusters are there → slices by cluster, and steps.

    union    a consumer gets the slices of every provider but its own (a derived Service: its own too)
    failed   what a cluster provides that is believed to have failed is taken out everywhere
    unknown  what a cluster provides that was not read yet stays as it is: unknown is not absent
    ours     only what we wrote is changed or deleted, and only beside a Service that is ours

Clusters that fail together are one of two things: they failed, or we are cut off. Past `failover.maxUnreachablePercent`
it is the second, as for evictions, and they count as unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

from gitfed.model.base import ClusterName, ObjectKey
from gitfed.services import slices
from gitfed.services.slices import ServiceSlice
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.services.routes import Route


class ReadState(StrEnum):
    """What may be believed of the slices of a provider."""

    READ = "read"
    UNKNOWN = "unknown"
    """It cannot be told what it has."""
    FAILED = "failed"
    """The cluster is believed not to serve."""


@dataclass(frozen=True, slots=True)
class Provider:
    state: ReadState
    slices: Mapping[ObjectKey, tuple[ServiceSlice, ...]] = field(default_factory=lambda: MappingProxyType({}))
    """Its own, by Service."""


SliceKey = tuple[str, str]
"""Namespace and name."""


@dataclass(frozen=True, slots=True)
class WantedSlices:
    """What one cluster should have of others' slices."""

    slices: Mapping[SliceKey, ServiceSlice] = field(default_factory=lambda: MappingProxyType({}))
    kept: frozenset[tuple[ObjectKey, ClusterName]] = frozenset()
    """(Service, provider): what is there of these stays as it is."""


NOTHING = WantedSlices()


@dataclass(frozen=True, slots=True)
class SliceWrite:
    """One write. `present` None: it is made; `wanted` None: it is deleted."""

    wanted: ServiceSlice | None
    present: ServiceSlice | None


@dataclass(frozen=True, slots=True)
class Endpoints:
    """What a daemon knows of the endpoints in one cluster."""

    state: str
    """Of a provider `read`, `unknown` or `failed`; of a consumer ""."""
    count: int
    ready: int
    left: int = 0
    """Slices that are not as they should be."""
    error: str = ""


Seen = Mapping[tuple[ObjectKey, ClusterName], Endpoints]
"""By cluster and, of a provider, the Service that is shared; of a consumer, who asks for what came from others."""


def believed(states: Mapping[ClusterName, ReadState], most_failed_percent: int) -> dict[ClusterName, ReadState]:
    """The same, where so many failed at once that it is we who are cut off: then nobody failed."""
    failed = sum(state is ReadState.FAILED for state in states.values())
    if not failed or failed * 100 <= most_failed_percent * len(states):
        return dict(states)
    return {name: ReadState.UNKNOWN if state is ReadState.FAILED else state for name, state in states.items()}


def wanted(route: Route, providers: Mapping[ClusterName, Provider]) -> dict[ClusterName, WantedSlices]:
    """Of one route, by consumer."""
    arriving = {name: tuple(_arriving(route, name, providers.get(name))) for name in sorted(route.providers)}
    unknown = {name for name in route.providers if _state(providers.get(name)) is ReadState.UNKNOWN}
    wanted_by: dict[ClusterName, WantedSlices] = {}
    for consumer in sorted(route.consumers):
        here = (
            endpoint_slice for name in arriving if route.provides(name, consumer) for endpoint_slice in arriving[name]
        )
        wanted_by[consumer] = WantedSlices(
            {(endpoint_slice.namespace, endpoint_slice.name): endpoint_slice for endpoint_slice in here},
            frozenset((route.target, name) for name in unknown if route.provides(name, consumer)),
        )
    return wanted_by


def together(parts: Iterable[WantedSlices]) -> WantedSlices:
    """Of several routes into one cluster. Where two come to the same name, the first has it."""
    merged: dict[SliceKey, ServiceSlice] = {}
    kept: set[tuple[ObjectKey, ClusterName]] = set()
    for part in parts:
        for key, endpoint_slice in part.slices.items():
            merged.setdefault(key, endpoint_slice)
        kept |= part.kept
    return WantedSlices(merged, frozenset(kept))


def steps(
    goal: WantedSlices,
    there: Mapping[SliceKey, ServiceSlice],
    owners: Mapping[ObjectKey, str],
    untouched: frozenset[ObjectKey],
) -> Iterator[SliceWrite]:
    """What is left to do in one cluster.

    `there`: slices that we dispatched. `owners`: the uid of each Service that is ours there; beside another one nothing
    is written. `untouched`: Services of which nothing is to be done there, or nobody knows whose they are.
    """
    for key, wanted_slice in sorted(goal.slices.items()):
        target, present = slices.target_of(wanted_slice), there.get(key)
        owner = owners.get(target, "")
        if target in untouched:
            continue
        if not owner:
            if present is not None:
                yield SliceWrite(None, present)
        elif present is None or not slices.same(wanted_slice, present, owner):
            if present is not None and present.address_type != wanted_slice.address_type:
                yield SliceWrite(None, present)  # it cannot be changed; it is made anew when it is gone
            else:
                yield SliceWrite(wanted_slice, present)
    for key, present in sorted(there.items()):
        target = slices.target_of(present)
        if key not in goal.slices and (target, present.provider) not in goal.kept and target not in untouched:
            yield SliceWrite(None, present)


def provided(provider: Provider, service: ObjectKey) -> Endpoints:
    """What one cluster has itself of a Service."""
    provided_slices = provider.slices.get(service, ())
    return Endpoints(
        provider.state.value,
        sum(endpoint_slice.addresses for endpoint_slice in provided_slices),
        sum(endpoint_slice.ready for endpoint_slice in provided_slices),
    )


def arrived(
    there: Iterable[ServiceSlice], left: Iterable[SliceWrite], failed: Mapping[SliceKey, str], target: ObjectKey
) -> Endpoints:
    """What one cluster has of others' endpoints of a Service."""
    here = [endpoint_slice for endpoint_slice in there if slices.target_of(endpoint_slice) == target]
    late = [
        endpoint_slice
        for step in left
        if (endpoint_slice := step.wanted or step.present) is not None and slices.target_of(endpoint_slice) == target
    ]
    errors = [
        failed[key] for endpoint_slice in late if (key := (endpoint_slice.namespace, endpoint_slice.name)) in failed
    ]
    return Endpoints(
        "",
        sum(endpoint_slice.addresses for endpoint_slice in here),
        sum(endpoint_slice.ready for endpoint_slice in here),
        len(late),
        errors[0] if errors else "",
    )


def _arriving(route: Route, name: ClusterName, provider: Provider | None) -> Iterator[ServiceSlice]:
    if provider is None or provider.state is not ReadState.READ:
        return
    for endpoint_slice in sorted(provider.slices.get(route.source, ()), key=lambda endpoint_slice: endpoint_slice.name):
        arrived = slices.dispatched(route, name, endpoint_slice)
        if arrived is not None:
            yield arrived


def _state(provider: Provider | None) -> ReadState:
    return provider.state if provider is not None else ReadState.UNKNOWN
