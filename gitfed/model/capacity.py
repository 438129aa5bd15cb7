"""What nodes offer and pods ask for: from Node and Pod objects to the sums that placement reads.

A `Tally` follows the nodes and pods of one cluster object by object; each one is cut down to a few amounts (`Node`,
`Pod`) before it gets here, so that hundreds of thousands of pods fit into memory, and each costs what it changes.
The watches of a cluster and a facts file use the same sums.

Two readings of "what a pod asks for" are kept, because two readers differ (Karmada: scheduling §5.1 and §5.3):

- the summary of a cluster counts containers and overhead; init containers only lift a whole sum that is smaller than
  the largest of them;
- what is free on a node is what the scheduler inside the cluster would say: the larger of what runs side by side and
  what starting needs (Kubernetes: init containers, sidecar containers, pod-level resources).

Amounts are whole billionths of a unit throughout, so that nothing is lost in a sum.

A tally also remembers which pods the cluster's scheduler has found no node for, and since when:
`placement.failover.deschedule` takes such replicas back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple, Protocol, TypeAlias

from gitfed.model.base import Body
from gitfed.model.fleet import NodeFacts
from gitfed.text import moment, quantity
from gitfed.text.quantity import NANO, Format, Quantity

PODS = "pods"
Amounts: TypeAlias = tuple[tuple[str, int], ...]
"""(resource, billionths), sorted, without zeros."""

_ENDED = ("Succeeded", "Failed")
_BINARY = ("memory", "ephemeral-storage", "storage")


class Node(NamedTuple):
    name: str
    allocatable: Amounts
    labels: Mapping[str, str]
    taints: tuple[Body, ...]
    unschedulable: bool
    ready: bool


class Owner(NamedTuple):
    """The ReplicaSet that a pod belongs to."""

    namespace: str
    name: str


class Pod(NamedTuple):
    node: str
    """"" until it is placed."""
    ended: bool
    asks: Amounts
    """Containers and overhead."""
    starts: Amounts
    """The most that an init container asks for."""
    needs: Amounts
    """What the cluster's scheduler keeps free for it."""
    waits: tuple[Owner, datetime] | None = None
    """Owner, and since when no node is found for it (Kubernetes: condition PodScheduled False, Unschedulable). None
    also for pods that are being deleted or have no ReplicaSet: they are not descheduled."""


class Range(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def min(self) -> str: ...


class Model(Protocol):
    """One grade of `spec.resourceModels`."""

    @property
    def grade(self) -> int: ...
    @property
    def ranges(self) -> Iterable[Range]: ...


# -- cutting objects down ------------------------------------------------------------------------------------------


def node_of(body: Body) -> Node:
    """A Node. An amount that cannot be read counts as not offered."""
    metadata, spec, status = (body.get(member) or {} for member in ("metadata", "spec", "status"))
    ready = next((c.get("status") for c in status.get("conditions") or () if c.get("type") == "Ready"), "Unknown")
    taints = tuple(
        {member: taint[member] for member in ("key", "value", "effect") if taint.get(member)}
        for taint in spec.get("taints") or ()
    )
    return Node(
        name=str(metadata.get("name") or ""),
        allocatable=_amounts(billionths(status.get("allocatable"))),
        labels=metadata.get("labels") or {},
        taints=taints,
        unschedulable=bool(spec.get("unschedulable")),
        ready=ready == "True",
    )


def pod_of(body: Body) -> Pod:
    """A Pod. An amount that cannot be read counts as nothing asked for: no server takes such a pod."""
    spec, status = body.get("spec") or {}, body.get("status") or {}
    overhead = billionths(spec.get("overhead"))
    containers = _total(_requests(item) for item in spec.get("containers") or ())
    asks = _total((containers, overhead))
    initial = spec.get("initContainers") or ()
    whole = billionths((spec.get("resources") or {}).get("requests"))
    starts: dict[str, int] = {}
    beside: dict[str, int] = {}
    peak: dict[str, int] = {}
    for item in initial:
        requests = _requests(item)
        _lift(starts, requests)
        # Kubernetes: a sidecar stays, so that everything after it, init containers too, comes on top of it.
        together = _total((beside, requests))
        _lift(peak, together)
        if item.get("restartPolicy") == "Always":
            beside = together
    needs = asks if not initial and not whole else _total((containers, beside))
    if needs is not asks:
        _lift(needs, peak)
        needs = _total((needs | whole, overhead))
    requested = _amounts(asks)
    node = str(spec.get("nodeName") or "")
    return Pod(
        node=node,
        ended=status.get("phase") in _ENDED,
        asks=requested,
        starts=_amounts(starts),
        needs=requested if needs is asks else _amounts(needs),
        waits=None if node else _waits(body),
    )


def _waits(body: Body) -> tuple[Owner, datetime] | None:
    metadata = body.get("metadata") or {}
    if metadata.get("deletionTimestamp"):
        return None
    owner = next(
        (reference for reference in metadata.get("ownerReferences") or () if reference.get("kind") == "ReplicaSet"),
        None,
    )
    if owner is None:
        return None
    for condition in (body.get("status") or {}).get("conditions") or ():
        if (condition.get("type"), condition.get("status"), condition.get("reason")) == (
            "PodScheduled",
            "False",
            "Unschedulable",
        ):
            since = moment.read(condition.get("lastTransitionTime"))
            if since is None:
                return None
            return Owner(str(metadata.get("namespace") or ""), str(owner.get("name") or "")), since
    return None


def _requests(container: Mapping[str, Any]) -> dict[str, int]:
    return billionths((container.get("resources") or {}).get("requests"))


def billionths(amounts: Any) -> dict[str, int]:
    """A table of quantities as whole numbers. An amount that cannot be read is left out."""
    parsed = {}
    for name, value in (amounts or {}).items():
        try:
            parsed[name] = quantity.parse(value).nano
        except quantity.QuantityError:
            continue
    return parsed


def _total(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            sums[name] = sums.get(name, 0) + amount
    return sums


def _lift(sums: dict[str, int], least: Mapping[str, int]) -> None:
    for name, amount in least.items():
        if amount > sums.get(name, 0):
            sums[name] = amount


def _amounts(sums: Mapping[str, int]) -> Amounts:
    return tuple(sorted((name, amount) for name, amount in sums.items() if amount))


# -- the sums ------------------------------------------------------------------------------------------------------


class Tally:
    """The sums of one cluster, kept up to date object by object. Every change says whether anything changed."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._pods: dict[str, Pod] = {}
        self._same: dict[object, Any] = {}
        """Equal values are kept once: most pods of a cluster ask for what some other pod asks for."""
        self._offered: dict[str, int] = {}
        self._placed: dict[str, int] = {}
        self._waiting: dict[str, int] = {}
        self._on: dict[str, dict[str, int]] = {}
        self._starting: set[str] = set()
        self._unplaced: set[str] = set()
        """Pods that no node was found for."""

    def __len__(self) -> int:
        return len(self._nodes) + len(self._pods)

    def all_nodes(self, nodes: Iterable[Node]) -> bool:
        """Replaces all nodes."""
        by_name = {node.name: node for node in nodes}
        changed = [self.drop_node(name) for name in self._nodes.keys() - by_name.keys()]
        changed += [self.put_node(node) for node in by_name.values()]
        return any(changed)

    def all_pods(self, pods: Iterable[tuple[str, Pod]]) -> bool:
        """Replaces all pods: (uid, pod)."""
        self._same.clear()  # drops pods that are gone; the present ones fill it again
        by_uid = dict(pods)
        changed = [self.drop_pod(uid) for uid in self._pods.keys() - by_uid.keys()]
        changed += [self.put_pod(uid, pod) for uid, pod in by_uid.items()]
        return any(changed)

    def put_node(self, node: Node) -> bool:
        before = self._nodes.get(node.name)
        if before == node:
            return False
        if before is not None:
            _add(self._offered, before.allocatable, -1)
        self._nodes[node.name] = node
        _add(self._offered, node.allocatable)
        return True

    def drop_node(self, name: str) -> bool:
        before = self._nodes.pop(name, None)
        if before is not None:
            _add(self._offered, before.allocatable, -1)
        return before is not None

    def put_pod(self, uid: str, pod: Pod) -> bool:
        before = self._pods.get(uid)
        if before == pod:
            return False
        if before is not None:
            self._count(uid, before, -1)
        self._pods[uid] = kept = self.shared(pod)
        self._count(uid, kept, 1)
        return True

    def shared(self, pod: Pod) -> Pod:
        """An equal pod whose parts are shared with other pods."""
        shared = self._same.get(pod)
        if shared is None:
            shared = Pod._make(self._same.setdefault(part, part) for part in pod)
            self._same[shared] = shared
        return shared

    def drop_pod(self, uid: str) -> bool:
        before = self._pods.pop(uid, None)
        if before is not None:
            self._count(uid, before, -1)
        return before is not None

    def _count(self, uid: str, pod: Pod, times: int) -> None:
        """Karmada: a pod without node counts in any phase, one with a node until it has ended."""
        if pod.node and pod.ended:
            return
        sums = self._placed if pod.node else self._waiting
        _add(sums, pod.asks, times)
        _add(sums, ((PODS, NANO),), times)
        if pod.starts:
            (self._starting.add if times > 0 else self._starting.discard)(uid)
        if pod.waits is not None:
            (self._unplaced.add if times > 0 else self._unplaced.discard)(uid)
        if pod.node:
            here = self._on.setdefault(pod.node, {})
            _add(here, pod.needs, times)
            _add(here, ((PODS, NANO),), times)
            if not here:
                del self._on[pod.node]

    # -- results

    def summary(self, models: Iterable[Model] = ()) -> Body:
        """Karmada's `status.resourceSummary`; `allocatableModelings` if there are models."""
        placed, waiting = dict(self._placed), dict(self._waiting)
        for uid in self._starting:
            pod = self._pods[uid]
            _lift(placed if pod.node else waiting, dict(pod.starts))
        summary: dict[str, Any] = {"allocatable": texts(self._offered)}
        if waiting:
            summary["allocating"] = texts(waiting)
        if placed:
            summary["allocated"] = texts(placed)
        if graded := self._graded(models):
            summary["allocatableModelings"] = [{"grade": grade, "count": count} for grade, count in graded.items()]
        return summary

    def _graded(self, models: Iterable[Model]) -> dict[int, int]:
        """Number of nodes by grade (Karmada: clusters §1.2), without nodes that have no free pod slot."""
        least = [
            (model.grade, {range_.name: quantity.parse(range_.min).nano for range_ in model.ranges})
            for model in sorted(models, key=lambda model: model.grade)
        ]
        counts = dict.fromkeys((grade for grade, _ in least), 0)
        for node in self._nodes.values():
            free = self._free(node)
            if free.get(PODS, 0) <= 0:
                continue
            grade = _grade(free, least)
            if grade is not None:
                counts[grade] += 1
        return counts

    def _free(self, node: Node) -> dict[str, int]:
        free = dict(node.allocatable)
        for name, amount in self._on.get(node.name, {}).items():
            free[name] = free.get(name, 0) - amount
        return free

    def unschedulable(self, before: datetime) -> dict[Owner, int]:
        """By ReplicaSet, the number of pods that have waited for a node since before that moment."""
        waits = (self._pods[uid].waits for uid in self._unplaced)
        return dict(Counter(wait[0] for wait in waits if wait is not None and wait[1] < before))

    def nodes(self) -> tuple[NodeFacts, ...]:
        """Each node with what is offered and asked for there, by name."""
        return tuple(
            NodeFacts(
                name=node.name,
                allocatable=texts(dict(node.allocatable)),
                requested=texts(self._on.get(node.name, {})),
                labels=node.labels,
                taints=node.taints,
                unschedulable=node.unschedulable,
                ready=node.ready,
            )
            for _, node in sorted(self._nodes.items())
        )


def _grade(free: Mapping[str, int], least: list[tuple[int, dict[str, int]]]) -> int | None:
    """The highest grade that every resource reaches; None on an overcommitted node, or without grades."""
    if any(free.get(name, 0) < 0 for _, amounts in least for name in amounts):
        return None
    reached = [
        grade for grade, amounts in least if all(free.get(name, 0) >= amount for name, amount in amounts.items())
    ]
    return reached[-1] if reached else None


def _add(sums: dict[str, int], amounts: Amounts, times: int = 1) -> None:
    for name, amount in amounts:
        now = sums.get(name, 0) + times * amount
        if now:
            sums[name] = now
        else:
            sums.pop(name, None)


def texts(amounts: Mapping[str, int]) -> dict[str, str]:
    """Amounts as Kubernetes prints them: bytes in powers of 1024, the rest in tens."""
    return {name: str(Quantity(amount, _format(name))) for name, amount in sorted(amounts.items())}


def _format(name: str) -> Format:
    plain = name.removeprefix("requests.")
    return Format.BINARY if plain in _BINARY or plain.startswith("hugepages-") else Format.DECIMAL
