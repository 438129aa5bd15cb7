"""The planner alone on a long random walk: thousands of edits in the time that clusters need for a few.

The same edits and the same rules as in `tests.e2e.test_random_walk`, but a cycle here is a call: build, record, carry
out some of it. Cycles end half way, what earlier builds computed is lost, clusters cannot be read for a while, new
copies are not healthy at once, names are taken by others. When that is over, everything is where the rules say.

`GITFED_RANDOM_BURSTS` says how long, `GITFED_RANDOM_SEED` which walk.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import replace

from gitfed.documents import bindings
from gitfed.model.base import ClusterName, Commit, ObjectKey
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
from gitfed.model.keys import PRUNE_ANNOTATION
from gitfed.model.plan import Action, Change
from gitfed.planning import build
from gitfed.planning.objects.compare import annotation
from gitfed.planning.objects.prune import is_protected
from gitfed.planning.ordering import gate
from gitfed.source import repo as source
from gitfed.source.read_cache import ReadCache
from tests.e2e.walk_history import Copy, History, Others, Seen, version
from tests.e2e.walk_model import APPS, CLUSTERS, KINDS, MAPS, Repository
from tests.e2e.world import cluster
from tests.planning.tree import INTERPRETER, NOW, Tree

BURSTS = int(os.environ.get("GITFED_RANDOM_BURSTS", "120"))
SEED = int(os.environ.get("GITFED_RANDOM_SEED", "1"))
ACTS = (Action.CREATE, Action.UPDATE, Action.DELETE)
ENOUGH = 40
"""Cycles in which everything is over that a person pushed."""


class Walk:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.repository = Repository(self.random)
        self.history = History(self.repository)
        self.others = Others(self.repository)
        self.files = {"gitfed.json": self.repository.settings()}
        self.files |= {f"clusters/{name}.json": cluster(name) for name in CLUSTERS}
        self.decisions = Decisions(repository_id="r")
        self.objects: dict[ObjectKey, dict[ClusterName, LiveObject]] = {}
        self.unreadable: set[str] = set()
        self.locked: set[str] = set()
        self.runs: frozenset[tuple[ClusterName, ObjectKey]] = frozenset()
        """Copies of ours that were seen, and were well, when the cycle began."""
        self.memo, self.memory = build.Memo(), ReadCache()
        self.commits = 0
        self.uids = 0
        self.log: list[str] = []

    def burst(self) -> None:
        self.locked.clear()
        if self.random.random() < 0.05:
            self.write(*self.repository.edit_settings())
            # What was kept goes now: with other edits nobody could say which was first.
            self.locked |= KINDS.keys() if self.repository.prunes else set()
        for _ in range(self.random.randint(1, 8)):
            self.random.choice([self.push, self.push, self.push, self.push, self.some_cycles, self.some_cycles,
                                self.restart, self.hide, self.occupy, self.vacate])()  # fmt: skip
        self.settle()

    # -- what people and others do ------------------------------------------------------------------------------

    def push(self) -> None:
        for _ in range(self.random.choice([1, 1, 2, 3])):
            free = [name for name in KINDS if not self.history.concerns(name) & self.locked]
            if free:
                name = self.random.choice(free)
                before = self.history.concerns(name)
                said, files = self.repository.edit(name, self.locked)
                self.locked |= before | self.history.concerns(name)
                self.write(said, files)
        self.commits += 1

    def write(self, said: str, files: dict[str, str | None]) -> None:
        self.log.append(f"push {said}")
        for path, text in files.items():
            if text is None:
                del self.files[path]
            else:
                self.files[path] = text

    def occupy(self) -> None:
        """Somebody takes a name that a template has, where it has no copy and is to have none."""
        where, name = self.random.choice(CLUSTERS), self.random.choice(MAPS)
        key = ObjectKey("", "ConfigMap", "shop", name)
        if name in self.locked or self.repository.wants(name, where) or where in self.objects.get(key, {}):
            return
        self.log.append(f"  foreign {name} in {where}")
        body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"whose": "theirs"},
                "metadata": {"name": name, "namespace": "shop"}}  # fmt: skip
        self.others.foreign[where, name] = self.put(LiveObject(
            key, where, self.new_uid(), "1", ours=False, body=body, health=Health.CURRENT
        )).uid  # fmt: skip

    def vacate(self) -> None:
        found = [(where, name) for where, name in sorted(self.others.foreign) if name not in self.locked]
        if found:
            where, name = self.random.choice(found)
            self.log.append(f"  foreign {name} leaves {where}")
            del self.others.foreign[where, name]
            # What waited for it is written now, or with a later push of this burst: nobody could say which.
            self.locked |= {name, *APPS}
            self.drop(ObjectKey("", "ConfigMap", "shop", name), where)

    # -- what happens to the daemon -----------------------------------------------------------------------------

    def restart(self) -> None:
        """What is on record is read again, and nothing else is left."""
        self.memo, self.memory = build.Memo(), ReadCache()
        found = {key: bindings.from_document(bindings.to_document(one)) for key, one in self.decisions.bindings.items()}
        self.decisions = replace(self.decisions, bindings=found)

    def hide(self) -> None:
        """A cluster answers no more, or again."""
        self.unreadable ^= {self.random.choice(CLUSTERS)}

    def some_cycles(self) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.cycle(self.random.choice([0.3, 0.7, 1.0]), (Health.CURRENT, Health.CURRENT, Health.IN_PROGRESS))

    def cycle(self, share: float = 1.0, healths: tuple[Health, ...] = (Health.CURRENT,)) -> bool:
        """Build, record, carry out that share of it; whether there was anything to do."""
        repo = source.read(Tree(self.files, Commit(f"{self.commits:040x}")), memory=self.memory)
        clusters = {name: ClusterLive(name, inventory_read=name not in self.unreadable) for name in CLUSTERS}
        seen = {
            key: {name: one for name, one in copies.items() if name not in self.unreadable}
            for key, copies in self.objects.items()
        }
        live = LiveState(clusters, {key: copies for key, copies in seen.items() if copies})
        facts = {name: ClusterFacts(name, reach=Reach.READY) for name in CLUSTERS}
        fleet = FleetSnapshot(FactsRef("test"), facts, live)
        plan = build.build(repo, fleet, self.decisions, INTERPRETER, NOW, memo=self.memo)
        found = gate.decisions_to_record(plan, self.decisions, live)
        self.decisions = replace(self.decisions, bindings=found, applied_commit=plan.commit)
        self.runs = frozenset(
            (name, key) for key, copies in live.objects.items() for name, one in copies.items()
            if one.ours and one.health is Health.CURRENT
        )  # fmt: skip
        acts = [one for one in plan.changes or () if one.action in ACTS and not one.turn.waits]
        for change in acts:
            if self.random.random() < share:
                self.carry_out(change, self.random.choice(healths))
        return bool(acts)

    def carry_out(self, change: Change, health: Health) -> None:
        before = self.objects.get(change.key, {}).get(change.cluster)
        if change.action is Action.DELETE:
            assert before is not None
            assert before.ours, f"{change}: it is somebody else's"
            name = change.key.name
            if name in KINDS:
                waits = [
                    one for one in CLUSTERS if self.repository.wants(name, one) and (one, change.key) not in self.runs
                ]
                assert not waits, "\n".join([*self.log, f"{name} leaves {change.cluster} before it runs in {waits}"])
            self.drop(change.key, change.cluster)
            return
        assert change.write.rendered is not None
        uid = before.uid if before is not None else self.new_uid()
        body = change.write.body or change.write.rendered.body
        self.put(LiveObject(
            change.key, change.cluster, uid, "7", ours=True, body=body, health=health,
            entry=InventoryEntry(change.key, uid, change.write.rendered.binding, change.write.rendered.replicas),
            protected=annotation(body, PRUNE_ANNOTATION) == "disabled", deletion_protected=is_protected(body),
        ))  # fmt: skip

    def put(self, one: LiveObject) -> LiveObject:
        self.objects[one.key] = {**self.objects.get(one.key, {}), one.cluster: one}
        return one

    def drop(self, key: ObjectKey, cluster: ClusterName) -> None:
        left = {name: one for name, one in self.objects[key].items() if name != cluster}
        self.objects = {**self.objects, key: left} if left else {k: v for k, v in self.objects.items() if k != key}

    def new_uid(self) -> str:
        self.uids += 1
        return str(self.uids)

    # -- what must be true --------------------------------------------------------------------------------------

    def settle(self) -> None:
        self.unreadable.clear()
        for there in list(self.objects.values()):
            for one in there.values():
                self.put(replace(one, health=Health.CURRENT))
        cycles = 0
        while self.cycle():
            cycles += 1
            assert cycles < ENOUGH, "\n".join([f"seed {SEED}", *self.log, "it never comes to an end"])
        copies = {(where, name): Copy.of(one.body or {}) for where, name, one in self.ours()}
        seen = self.others.seen(copies)
        assert not (wrong := [*self.wrong(seen)]), "\n".join([f"seed {SEED}", *self.log, "", *wrong])
        self.history.settled(copies, seen)
        self.others.settled()
        self.log.append("settled")

    def ours(self) -> Iterator[tuple[str, str, LiveObject]]:
        for key, copies in self.objects.items():
            if key.name in KINDS:
                yield from ((where, key.name, one) for where, one in copies.items() if one.ours)

    def wrong(self, seen: Seen) -> Iterator[str]:
        there: dict[str, dict[str, LiveObject]] = {name: {} for name in KINDS}
        for where, name, one in self.ours():
            there[name][where] = one
        for name, copies in there.items():
            should = self.history.expected(name, seen)
            if should != copies.keys():
                yield f"{name} is in {sorted(copies)}, not in {sorted(should)}"
            for where, one in copies.items():
                if not self.repository.wants(name, where) or name in self.others.stopped(where):
                    continue
                if version(one.body or {}) != self.history.version(name, where):
                    yield f"{name} in {where} is at {version(one.body or {})}, not {self.history.version(name, where)}"
        for where, name in self.others.objects():
            copy = self.objects[ObjectKey("", "ConfigMap", "shop", name)][where]
            if copy.ours or copy.uid != self.others.foreign[where, name]:
                yield f"{where}: {name} of somebody else was changed"
        for name in MAPS:
            decision = self.decisions.bindings.get(ObjectKey("", "ConfigMap", "shop", name))
            if name in self.repository.templates:
                has = {
                    (one.owner.name, where, takes)
                    for one in (decision.ownership.required_by if decision is not None else ())
                    for takes, clusters in ((True, one.clusters), (False, one.still_in))
                    for where in clusters
                }
                if has != (needs := self.history.requirements(name, seen)):
                    yield f"{name} is remembered to be needed by {sorted(has)}, not by {sorted(needs)}"


def test_a_long_walk_of_the_planner_always_ends_where_it_should() -> None:
    walk = Walk(SEED)
    for _ in range(BURSTS):
        walk.burst()
