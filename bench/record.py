"""24 hours of 100 clusters and 10,000 bindings with ordinary change: what state and facts branches weigh after it.

An ordinary day here: every ten minutes a push that changes the replicas of twenty workloads; every five minutes the
room of ten clusters is another one; three clusters fail for half an hour, with the two hundred workloads that leave
each. It is written by the daemon's own code (`daemon.record`, `daemon.facts_record`) to a clone as the daemon has one,
which is put in order as the daemon's is. Time is given to the commits; nobody waits for it.
"""

from __future__ import annotations

import random
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from bench.failover import INTERPRETER, NOW, facts, repository
from gitfed.daemon.facts_record import FactsRecord
from gitfed.daemon.record import Record
from gitfed.documents import bindings
from gitfed.documents import facts as facts_form
from gitfed.documents.state_commits import Message
from gitfed.edges import git
from gitfed.edges.state.facts_branch import FactsBranch
from gitfed.edges.state.state import StateBranch
from gitfed.model.base import ObjectKey
from gitfed.model.decisions import Decision, Decisions, EvictionTask, Share
from gitfed.model.fleet import ClusterFacts, FactsRef, FleetSnapshot, NodeFacts
from gitfed.model.plan import Plan
from gitfed.planning import build, decision_text
from gitfed.planning.ordering import gate

MINUTE = timedelta(minutes=1)
DAY = 24 * 60


@dataclass
class Daemon:
    """What of a daemon writes to its clone."""

    clone: git.Repository
    plan: Plan
    state: Record
    facts: FactsRecord
    decisions: Decisions
    slowest: float = 0.0

    def decide(self, changed: Mapping[ObjectKey, Decision], minute: int) -> None:
        after = {**self.decisions.bindings, **changed}
        moved = {
            key: replace(
                self.plan.bindings[key],
                scheduled=replace(self.plan.bindings[key].scheduled, shares=one.scheduled.shares),
                decision=one,
            )
            for key, one in changed.items()
        }
        plan = replace(self.plan, bindings=moved, facts=self.facts.ref)
        began = time.perf_counter()
        self.decisions = self.state.write(
            replace(self.decisions, bindings=after, clusters=self.plan.records),
            results={},
            held=(),
            message=Message("Decide", decision_text.body(plan, self.decisions, after)),
            now=NOW + minute * MINUTE,
        )
        self.facts.cite()
        self.slowest = max(self.slowest, time.perf_counter() - began)


def run() -> list[tuple[str, str]]:
    repo, chance = repository(10_000), random.Random(7)
    seen = {name: with_room(one, chance) for name, one in facts({}).items()}
    fleet = FleetSnapshot(FactsRef("bench"), seen)
    plan = build.build(repo, fleet, Decisions(repository_id="bench"), INTERPRETER, NOW)
    keys, first_look = sorted(plan.bindings), dict(seen)
    with tempfile.TemporaryDirectory() as folder:
        clone = git.Repository.create(Path(folder) / "a.git")
        clone.ours = True
        state = Record(StateBranch(clone, bindings), url=None, push=False)
        record = FactsRecord(FactsBranch(clone, facts_form), url=None, push=False)
        daemon = Daemon(clone, plan, state, record, Decisions(repository_id="bench"))
        record.write(first_look, repo.clusters.keys(), NOW)
        daemon.decide(gate.decisions_to_record(plan, Decisions(), None), 0)
        keys = sorted(daemon.decisions.bindings)
        first, most, commits, daemon.slowest = weight(clone.path), 0.0, 0, 0.0
        for minute in range(5, DAY + 1, 5):
            seen |= {name: with_room(seen[name], chance) for name in chance.sample(sorted(seen), 10)}
            commits += record.write(dict(seen), repo.clusters.keys(), NOW + minute * MINUTE)
            if changed := decided(daemon.decisions.bindings, keys, chance, minute):
                daemon.decide(changed, minute)
                commits += 1
            if minute % 60 == 0:
                most = max(most, weight(clone.path))
        last = weight(clone.path)
        packed = weight(clone.path, pack=True)
        clone.close()
    return [
        ("the clone after the first commits", f"{first:.1f} MB"),
        ("at the most, hour by hour (target ≤ 50 MB)", f"{most:.1f} MB"),
        ("after 24 hours, as it lies on the disk (target ≤ 50 MB)", f"{last:.1f} MB, {commits} commits"),
        ("the same, packed as a server keeps it", f"{packed:.1f} MB"),
        ("the slowest decision to be written, tidying included", f"{1000 * daemon.slowest:.0f} ms"),
    ]


def decided(
    known: Mapping[ObjectKey, Decision], keys: list[ObjectKey], chance: random.Random, minute: int
) -> dict[ObjectKey, Decision]:
    """What else is decided at this minute of the day."""
    now, changed = NOW + minute * MINUTE, {}
    if minute % 10 == 0:
        for key in chance.sample(keys, 20):
            shares = tuple(Share(one.cluster, 1 + (one.replicas or 0)) for one in known[key].scheduled.shares)
            changed[key] = replace(
                known[key], scheduled=replace(known[key].scheduled, shares=shares), last_scheduled=now
            )
    if minute % 480 in (60, 65, 90):  # three outages: leaving, left, back
        for key in keys[minute % 480 :: 50]:
            raw = {"fromCluster": "c007", "purgeMode": "Gracefully", "reason": "TaintUntolerated",
                   "creationTimestamp": bindings.time_text(now)}  # fmt: skip
            tasks = (EvictionTask("c007", raw),) if minute % 480 == 60 else ()
            changed[key] = replace(
                known[key], failover=replace(known[key].failover, evictions=tasks), last_scheduled=now
            )
    return changed


def with_room(one: ClusterFacts, chance: random.Random) -> ClusterFacts:
    """Twenty kinds of nodes, each with another amount free."""
    nodes = tuple(
        NodeFacts(
            f"n{n}", {"cpu": "16", "memory": "64Gi", "pods": "110"},
            {"cpu": str(chance.randrange(16)), "memory": f"{chance.randrange(64)}Gi", "pods": str(n)},
            {"pool": f"p{n}"},
        )
        for n in range(20)
    )  # fmt: skip
    summary = {"allocatable": {"cpu": "320", "memory": "1280Gi", "pods": "2200"},
               "allocated": {"cpu": str(chance.randrange(320)), "memory": f"{chance.randrange(1280)}Gi"}}  # fmt: skip
    return replace(one, nodes=nodes, resource_summary=summary)


def weight(path: Path, *, pack: bool = False) -> float:
    """Megabytes of objects."""
    if pack:
        subprocess.run(["git", "-C", str(path), "gc", "-q", "--prune=now"], check=True)
    files = [file for file in path.rglob("*") if file.is_file() and "objects" in file.parts]
    return sum(file.stat().st_blocks * 512 for file in files) / 1e6
