"""What a PlacementTest expects of a placement, and what it got instead.

A failure says three things: what was expected, what is there, and why it is so, in the words that the plan itself
uses. Replicas in clusters that the test lets fail do not run, so they count for nothing but `exclude`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterator, Mapping

from gitfed.model.base import ClusterName, ObjectKey, group_of
from gitfed.model.declared.cluster import Cluster
from gitfed.model.declared.federation import Bounds, Expectation
from gitfed.model.plan import Binding, Plan
from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True)
class Failure:
    """One expectation that does not hold."""

    what: str
    """The workload, as the test names it."""
    expected: str
    got: str
    because: str = ""


def check(
    expectation: Expectation, plan: Plan, clusters: Mapping[ClusterName, Cluster], gone: Collection[ClusterName] = ()
) -> list[Failure]:
    """`gone`: clusters that failed; what is placed there does not run."""
    binding = _workload(expectation, plan.bindings)
    if isinstance(binding, Failure):
        return [binding]
    return [
        Failure(_name(expectation), expected, got, _because(binding))
        for expected, got in _differences(expectation, binding, clusters, gone)
    ]


def _name(expectation: Expectation) -> str:
    wanted = expectation.workload
    return "/".join(part for part in (wanted.kind, wanted.namespace, wanted.name) if part)


def _workload(expectation: Expectation, bindings: Mapping[ObjectKey, Binding]) -> Binding | Failure:
    wanted = expectation.workload
    matching = [
        binding
        for key, binding in bindings.items()
        if (key.kind, key.name) == (wanted.kind, wanted.name)
        and (not wanted.namespace or key.namespace == wanted.namespace)
        and (not wanted.api_version or key.group == group_of(wanted.api_version))
    ]
    if len(matching) == 1:
        return matching[0]
    if matching:
        listed = " or ".join(str(binding.key) for binding in matching)
        return Failure(_name(expectation), "one workload", f"it may be {listed}", "name its namespace or apiVersion")
    names = {
        f"{key.kind}/{key.namespace}/{key.name}" if key.namespace else f"{key.kind}/{key.name}" for key in bindings
    }
    close = difflib.get_close_matches(_name(expectation), sorted(names), n=1, cutoff=0.6)
    got = "the repository has none" + (f": did you mean {close[0]}?" if close else "")
    return Failure(_name(expectation), "a workload of this name", got)


def _differences(
    expectation: Expectation, binding: Binding, clusters: Mapping[ClusterName, Cluster], gone: Collection[ClusterName]
) -> Iterator[tuple[str, str]]:
    """(expected, got) of everything that does not hold."""
    running = {share.cluster: share.replicas for share in binding.scheduled.shares if share.cluster not in gone}
    placed = [share.cluster for share in binding.scheduled.shares]
    here = _listed(running, [name for name in placed if name in gone])
    if (wanted := expectation.clusters) is not None:
        if wanted.min is not None and len(running) < wanted.min:
            yield f"at least {_count(wanted.min, 'cluster')}", f"{len(running)}: {here}"
        if wanted.max is not None and len(running) > wanted.max:
            yield f"at most {_count(wanted.max, 'cluster')}", f"{len(running)}: {here}"
        for name in wanted.include:
            if name not in running:
                yield f"in cluster {name}", here
        for name in wanted.exclude:
            if name in placed:
                yield f"not in cluster {name}", here
    if (replicas := expectation.replicas) is None:
        return
    if binding.scheduled.replicas is None and None in running.values():
        yield "replicas", f"its kind has none: {here}"
        return
    counts = {name: number or 0 for name, number in running.items()}
    if replicas.total is not None and sum(counts.values()) != replicas.total:
        yield f"{_count(replicas.total, 'replica')} in all", f"{sum(counts.values())}: {here}"
    if replicas.per_cluster is not None:
        for name, number in sorted(counts.items()):
            yield from _within(replicas.per_cluster, number, f"in cluster {name}", here)
    for name, bounds in sorted(replicas.cluster.items()):
        yield from _within(bounds, counts.get(name, 0), f"in cluster {name}", here)
    for kind, wanted_by_name, of in (
        ("region", replicas.region, _region),
        ("zone", replicas.zone, _zones),
        ("provider", replicas.provider, _provider),
    ):
        for name, bounds in sorted(wanted_by_name.items()):
            there = sum(
                number for cluster, number in counts.items() if cluster in clusters and name in of(clusters[cluster])
            )
            yield from _within(bounds, there, f"in {kind} {name}", here)


def _within(bounds: Bounds, number: int, where: str, here: str) -> Iterator[tuple[str, str]]:
    if bounds.min is not None and number < bounds.min:
        yield f"at least {_count(bounds.min, 'replica')} {where}", f"{number}: {here}"
    if bounds.max is not None and number > bounds.max:
        yield f"at most {_count(bounds.max, 'replica')} {where}", f"{number}: {here}"


_Of = Callable[[Cluster], Collection[str]]


def _region(cluster: Cluster) -> Collection[str]:
    return (cluster.spec.region or "",)


def _zones(cluster: Cluster) -> Collection[str]:
    return cluster.spec.zones or ()


def _provider(cluster: Cluster) -> Collection[str]:
    return (cluster.spec.provider or "",)


def _listed(running: Mapping[ClusterName, int | None], dead: Collection[ClusterName]) -> str:
    shares = [name if number is None else f"{name}={number}" for name, number in sorted(running.items())]
    text = " ".join(shares) or "nowhere"
    return f"{text} (and placed in {' '.join(sorted(dead))}, which failed)" if dead else text


def _because(binding: Binding) -> str:
    if binding.scheduled.policy is None:
        return "no policy selects it"
    if binding.scheduled.condition is not None and not binding.scheduled.condition.status:
        return f"{binding.scheduled.condition.reason}: {binding.scheduled.condition.message}"
    return (
        f"{binding.scheduled.policy}: {binding.reasons.why}" if binding.reasons.why else str(binding.scheduled.policy)
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
