"""A cluster as the filters see it: what a person declared of it and what was observed, in one flat value.

Readiness becomes a taint here, as Karmada's cluster controller does it: a cluster that is not ready takes no new
work, but what runs there stays (Karmada: scheduling §2, no readiness filter). Unknown is not absent: a cluster whose
APIs could not be read fully keeps what it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from gitfed.model.fleet import ApiEnablements, ClusterFacts, Reach
from gitfed.model.keys import NOT_READY, UNREACHABLE
from gitfed.placement.capacity.estimate import Capacity
from gitfed.text import canonical
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.model.decisions import TimedTaint
    from gitfed.model.declared.cluster import Cluster
    from gitfed.model.declared.placement import Toleration

NO_SCHEDULE = "NoSchedule"


class Taint(NamedTuple):
    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


@dataclass(frozen=True, slots=True)
class Candidate:
    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    provider: str = ""
    region: str = ""
    zones: tuple[str, ...] = ()
    taints: tuple[Taint, ...] = ()
    apis: ApiEnablements | None = None
    """None: assumed to serve every kind."""
    reach: Reach = Reach.READY
    capacity: Capacity | None = None
    """None: not known."""
    facts: ClusterFacts | None = None
    outlived: frozenset[tuple[Toleration, ...]] = frozenset()
    """What policies tolerate for a while only, and that while is over here: who comes would have to leave at once."""


def candidate(declared: Cluster | None, facts: ClusterFacts) -> Candidate:
    """`declared` None: the cluster is known from a facts file only; its Cluster object is in `facts.declared`."""
    spec: Mapping[str, Any]
    if declared is not None:
        name, labels = declared.metadata.name, dict(declared.metadata.labels or {})
        provider, region = declared.spec.provider or "", declared.spec.region or ""
        zones = tuple(declared.spec.zones or ())
        taints = [Taint(taint.key, taint.value or "", taint.effect) for taint in declared.spec.taints or ()]
        grades = {
            model.grade: {entry.name: entry.min for entry in model.ranges}
            for model in declared.spec.resource_models or ()
        }
    else:
        body = facts.declared or {}
        spec, metadata = body.get("spec") or {}, body.get("metadata") or {}
        name, labels = facts.name, dict(metadata.get("labels") or {})
        provider, region = spec.get("provider") or "", spec.get("region") or ""
        zones = tuple(spec.get("zones") or ([spec["zone"]] if spec.get("zone") else ()))
        taints = [Taint(item["key"], item.get("value") or "", item["effect"]) for item in spec.get("taints") or ()]
        grades = {
            model["grade"]: {entry["name"]: entry.get("min", "0") for entry in model.get("ranges") or ()}
            for model in spec.get("resourceModels") or ()
        }
    return Candidate(
        name=name,
        labels=labels,
        provider=provider,
        region=region,
        zones=zones,
        taints=_with_reach(taints, facts.reach),
        apis=facts.apis,
        reach=facts.reach,
        capacity=_capacity(facts, grades),
        facts=facts,
    )


def as_json(candidate: Candidate) -> list[Any]:
    """All that placement goes by but room: equal values mean that every template is placed alike."""
    apis = candidate.apis
    return [
        candidate.name,
        dict(candidate.labels),
        candidate.provider,
        candidate.region,
        list(candidate.zones),
        [list(taint) for taint in candidate.taints],
        candidate.reach.value,
        None if apis is None else [sorted(map(list, apis.kinds)), apis.complete],
        sorted(
            canonical.dumps([toleration.model_dump(mode="json") for toleration in part]).decode()
            for part in candidate.outlived
        ),
    ]


def with_taints(
    candidate: Candidate, taints: Iterable[TimedTaint], outlived: frozenset[tuple[Toleration, ...]] = frozenset()
) -> Candidate:
    """The cluster with taints from the record; one that its file declares already is not doubled."""
    declared = {(taint.key, taint.effect) for taint in candidate.taints}
    more = tuple(
        Taint(taint.key, taint.value, taint.effect) for taint in taints if (taint.key, taint.effect) not in declared
    )
    if not more and outlived == candidate.outlived:
        return candidate
    return replace(candidate, taints=(*candidate.taints, *more), outlived=outlived)


def _capacity(facts: ClusterFacts, grades: Mapping[int, Mapping[str, str]]) -> Capacity | None:
    if facts.resource_summary is None and not facts.nodes:
        return None
    return Capacity(facts.resource_summary, grades, facts.nodes, facts.quotas)


def _with_reach(taints: list[Taint], reach: Reach) -> tuple[Taint, ...]:
    """A taint that says the same already is not doubled; one that a recovered cluster still carries is dropped."""
    said = {Reach.NOT_READY: NOT_READY, Reach.UNKNOWN: UNREACHABLE}.get(reach)
    kept = [taint for taint in taints if taint.effect != NO_SCHEDULE or taint.key not in (NOT_READY, UNREACHABLE)]
    if said is not None:
        kept.append(Taint(said, "", NO_SCHEDULE))
    return tuple(kept)
