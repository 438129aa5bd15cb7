"""A repository in memory, read and planned: what most tests of planning begin with."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from gitfed.interpret.native import Native
from gitfed.interpret.registry import Interpreter
from gitfed.model.base import Commit, ObjectKey
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import (
    ClusterFacts,
    ClusterLive,
    FactsRef,
    FleetSnapshot,
    Health,
    InventoryEntry,
    LiveObject,
    LiveState,
    Reach,
)
from gitfed.model.plan import Action, Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.planning import build
from gitfed.planning.ordering import gate
from gitfed.source import repo as source
from gitfed.source.read_cache import ReadCache
from tests.e2e.world import cluster, deployment, policy
from tests.e2e.world import settings as federation

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


INTERPRETER = Interpreter((Native(),))


CLUSTERS = ["a", "b", "c"]


@dataclass(frozen=True)
class Entry:
    path: str
    blob_id: str
    size: int
    mode: int = 0o100644


@dataclass
class Tree:
    files: Mapping[str, str]
    commit: Commit
    shuffled: int | None = None

    def entries(self) -> list[Entry]:
        found = [Entry(path, f"{path}\n{text}", len(text)) for path, text in self.files.items()]
        if self.shuffled is not None:
            random.Random(self.shuffled).shuffle(found)
        return found

    def read(self, blob_id: str) -> bytes:
        return blob_id.partition("\n")[2].encode()


def read(files: Mapping[str, str], commit: str = "1", memory: ReadCache | None = None, **tree: Any) -> RepoSnapshot:
    base = {"gitfed.json": federation()} | {f"clusters/{name}.json": cluster(name, region=name) for name in CLUSTERS}
    snapshot = source.read(Tree({**base, **files}, Commit(commit * 40), **tree), memory=memory)
    assert not [problem for problem in snapshot.problems if problem.severity == "error"]
    return snapshot


def fleet(live: LiveState | None = None, **reach: Reach) -> FleetSnapshot:
    facts = {name: ClusterFacts(name, reach=reach.get(name, Reach.READY)) for name in CLUSTERS}
    return FleetSnapshot(FactsRef("test"), facts, live)


def plan_of(
    repo: RepoSnapshot,
    live: LiveState | None = None,
    decisions: Decisions | None = None,
    now: datetime = NOW,
    **options: Any,
) -> Plan:
    return build.build(repo, fleet(live), decisions or Decisions(repository_id="r"), INTERPRETER, now, **options)


def empty() -> LiveState:
    return LiveState({name: ClusterLive(name, inventory_read=True) for name in CLUSTERS}, {})


def carried_out(plan: Plan, before: LiveState, *, health: Health = Health.CURRENT, bodies: bool = True) -> LiveState:
    """The clusters after everything in the plan was done, as an observer would report them."""
    objects = {key: dict(copies) for key, copies in before.objects.items()}
    for change in plan.changes or ():
        copies = objects.setdefault(change.key, {})
        if change.action is Action.DELETE:
            copies.pop(change.cluster, None)
        elif change.action in (Action.CREATE, Action.UPDATE):
            assert change.write.rendered is not None
            entry = InventoryEntry(change.key, "u", change.write.rendered.binding, change.write.rendered.replicas)
            copies[change.cluster] = LiveObject(
                change.key, change.cluster, "u", "7", ours=True, body=change.write.rendered.body if bodies else None,
                matches=None if bodies else change.write.rendered.digest, health=health, entry=entry,
            )  # fmt: skip
    return LiveState(before.clusters, {key: copies for key, copies in objects.items() if copies})


def decided(plan: Plan, before: Decisions) -> Decisions:
    bindings = gate.decisions_to_record(plan, before, None)
    return replace(before, bindings=bindings, applied_commit=plan.commit)


def acts(plan: Plan) -> list[tuple[str, str, str]]:
    return [
        (change.action.value, change.cluster, change.key.name)
        for change in plan.changes or ()
        if change.action in (Action.CREATE, Action.UPDATE, Action.DELETE)
    ]


WEB = {"web.json": deployment("web"), "p.json": policy("p", ["a"])}


WEB_KEY = ObjectKey("apps", "Deployment", "shop", "web")


def settled(files: dict[str, str], **options: Any) -> tuple[LiveState, Decisions]:
    plan = plan_of(read(files), empty())
    return carried_out(plan, empty(), **options), decided(plan, Decisions(repository_id="r"))
