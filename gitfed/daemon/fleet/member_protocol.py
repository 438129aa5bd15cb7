"""What the engine needs of one cluster, here or by an agent: the seam between decisions and one cluster's work.

Two things meet it. `member.Member` does the work in this process. `pulled.member.PulledMember` stands for a member
whose work an agent does elsewhere, with the same `Member` behind a connection. Cycle, planner, results, statuses and
the hub know these protocols only, so none of them can tell which clusters are pulled.

What a member tells of its own accord goes through `callbacks.FleetCallbacks`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Protocol, TypeAlias

from gitfed.daemon.services.exchange import ClusterEndpoints
from gitfed.interpret import collect
from gitfed.interpret.registry import Interpreter
from gitfed.model.base import ClusterName, Kind, ObjectKey
from gitfed.model.declared.cluster import Cluster
from gitfed.model.fleet import ClusterFacts, ClusterLive, InventoryEntry, LiveObject, Stuck
from gitfed.model.load import ClusterLoad, LoadQuestion
from gitfed.model.plan import Action, Change, Plan, RenderedManifest
from gitfed.text.values import dataclass


class Worklist(Protocol):
    """What one cluster still has to do. Everything is a word that returns at once; the work goes on by itself."""

    @property
    def stopped(self) -> str:
        """Why this cluster gets no write at all (it belongs to another repository, or to a newer leader)."""

    def submit(
        self,
        changes: Iterable[Change],
        urgent: Collection[ObjectKey],
        entries: Iterable[InventoryEntry] = (),
        forget: Iterable[ObjectKey] = (),
    ) -> None:
        """The present list of changes. `entries` are inventory entries to correct, `forget` those to remove."""

    def hold(self, seconds: float) -> None:
        """Start nothing more for that long at most, unless `release` ends it."""

    def release(self) -> None: ...

    def retry(self, keys: Collection[ObjectKey] | None) -> None:
        """Try these, or all, again now."""

    def nudge(self, key: ObjectKey) -> None:
        """Something that a change may be waiting for happened to this object."""

    def abandon(self) -> None:
        """Another daemon leads now: give up at once what is under way."""

    def has(self, key: ObjectKey) -> bool:
        """Whether a change of this object is to be carried out, or under way."""

    def waiting(self) -> Iterable[ObjectKey]:
        """Keys of changes that are not under way."""

    @property
    def idle(self) -> bool: ...
    @property
    def pending(self) -> int:
        """Changes that are not done, those under way included."""

    @property
    def flying(self) -> int: ...


Repairs: TypeAlias = Callable[[ClusterName, ObjectKey], bool]
"""Whether what another client does to an object is to be undone. Two that are equal say the same of every object."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What should be in the clusters, by the newest plan. `changed`: objects of which that is news."""

    plan: Plan
    interpreter: Interpreter
    manifests: Mapping[ClusterName, Mapping[ObjectKey, RenderedManifest]]
    """Of the clusters that compare by themselves."""
    stateful: Collection[ObjectKey]
    changed: Collection[ObjectKey]
    kinds: frozenset[Kind]
    repairs: Repairs = lambda cluster, key: True
    versions: frozenset[tuple[str, str]] = frozenset()
    """apiVersion and kind of everything that the plan has anywhere."""
    unlike: Mapping[ClusterName, Mapping[ObjectKey, bool]] = field(default_factory=dict)
    """Objects that are not as the plan wants them, in clusters that compare by themselves: `unlike_in`."""
    news: frozenset[ObjectKey] | None = None
    """Objects of which anything but `unlike` may be another thing than in the plan before; None: any."""
    heard_of: frozenset[ClusterName] | None = None
    """Clusters whose agents had told how they are before this was planned: of others a plan knows nothing yet, and
    what it says of them is not for good. None: all."""


def unlike_in(clusters: Collection[ClusterName], plan: Plan) -> dict[ClusterName, dict[ObjectKey, bool]]:
    """By cluster, objects that are not as this plan wants them there, and whether its list sees to that now: what is
    held, waits or is left alone no agent is to write either."""
    unlike: dict[ClusterName, dict[ObjectKey, bool]] = {}
    for change in plan.changes or ():
        if change.cluster in clusters:
            sees_to_it = not change.turn.waits and change.action in (Action.CREATE, Action.UPDATE)
            unlike.setdefault(change.cluster, {})[change.key] = sees_to_it
    return unlike


def news_in(plan: Plan, before: Plan) -> frozenset[ObjectKey]:
    """Objects of which this plan may want another thing than the one before. Values that did not change are the same
    ones in both."""
    news = {key for key, manifests in plan.rendered.items() if before.rendered.get(key) is not manifests}
    news |= {key for key, binding in plan.bindings.items() if before.bindings.get(key) is not binding}
    news |= before.rendered.keys() - plan.rendered.keys()
    return frozenset(news | (before.bindings.keys() - plan.bindings.keys()))


class ClusterView(Protocol):
    """What was seen in one cluster."""

    @property
    def behind(self) -> bool:
        """Whether something was seen that no plan has looked at yet: it comes next, nothing has to be done for it."""

    def get(self, key: ObjectKey) -> LiveObject | None: ...
    def has(self, key: ObjectKey) -> bool:
        """Whether the object was seen there. An entry of the inventory alone is what we meant to write."""

    def absent(self, key: ObjectKey) -> bool:
        """Whether an inventory entry stands for nothing: its object is gone, or another client's was in the way. Only a
        complete read of its kind tells."""

    def objects(self) -> Mapping[ObjectKey, LiveObject]: ...
    def entries(self) -> Mapping[ObjectKey, InventoryEntry]: ...
    async def look_at(self, keys: Iterable[ObjectKey]) -> None:
        """Look up objects that no label shows: what has a name that we are about to use may be another client's."""


class ClusterWorkloads(Protocol):
    """What is asked about workloads of one cluster; nothing of one that is not in use, or does not answer."""

    async def stuck(self, before: datetime) -> Mapping[ObjectKey, tuple[int, Stuck]]:
        """Our Deployments with pods that no node was found for since before that moment: how many replicas each wants
        there, and how many of them are stuck."""

    async def load(self, questions: Sequence[LoadQuestion]) -> Mapping[ObjectKey, ClusterLoad]:
        """What they use."""


class ClusterMember(Protocol):
    """One cluster of the fleet. Call `run` as a task; it ends when cancelled."""

    name: ClusterName
    cluster: Cluster
    asked: bool
    """The cluster was asked how it is, whether or not it answered."""
    looked: asyncio.Event
    """The first look is over, well or badly."""
    ready: asyncio.Event
    """Inventory and objects were read; changes may be handed over."""

    @property
    def station(self) -> ClusterEndpoints:
        """What it has of endpoints that others want, and should have of theirs."""

    @property
    def worker(self) -> Worklist | None:
        """None: changes cannot be handed over yet."""

    # how the cluster is

    @property
    def facts(self) -> ClusterFacts: ...
    @property
    def id(self) -> str:
        """The uid of its kube-system; "" while it was not read."""

    @property
    def starting(self) -> bool:
        """Neither ready nor given up for now."""

    @property
    def superseded(self) -> bool:
        """Whether another daemon leads here now."""

    @property
    def owner(self) -> str | None:
        """The repository that its inventory belongs to, "" for none yet; None: it could not be read."""

    def led_by_daemon(self, *, but: str) -> bool: ...

    # what is in it

    @property
    def view(self) -> ClusterView: ...
    def live(self) -> ClusterLive:
        """What is known and unknown of this cluster as a whole, for decisions."""

    # its room

    def want_capacity(self, wanted: bool, *, quotas: bool = True) -> None: ...
    @property
    def measuring(self) -> bool: ...
    async def measured(self) -> None: ...
    @property
    def workloads(self) -> ClusterWorkloads: ...

    # what it is told

    def follow(self, expected: Expected) -> None:
        """Compare what is there with this from now on, and watch its kinds."""

    def judge(self, key: ObjectKey, collected: collect.Collected) -> None:
        """What the script of its kind said of a copy; it was asked outside of the loop."""

    def claim(self) -> None:
        """The repository id is known: begin to lead, with a higher term, and to write."""

    async def look_anew(self, keys: Collection[ObjectKey] = ()) -> None:
        """Read these objects, or everything, again; a cluster that waits to be asked again is asked now."""

    async def run(self) -> None: ...
