"""24 hours of 100 clusters and 10,000 bindings with ordinary change: what state and facts branches weigh after it.

An ordinary day here: every ten minutes a push that changes the replicas of twenty workloads; every five minutes the
facts of ten clusters whose room moved; three clusters that fail for half an hour, with the two hundred workloads that
leave each. Time is given to the commits; nobody waits for it.
"""

from __future__ import annotations

import random
import subprocess
import tempfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from bench.failover import INTERPRETER, NOW, facts, repository
from gitfed.change import build, gate
from gitfed.edges import git
from gitfed.edges.facts_branch import FactsBranch
from gitfed.edges.state import State, StateBranch
from gitfed.model.decisions import Decisions, EvictionTask, Share
from gitfed.model.fleet import ClusterFacts, FactsRef, FleetSnapshot, NodeFacts
from gitfed.source import bindings
from gitfed.source import facts as facts_form

MINUTE = timedelta(minutes=1)


def run() -> list[tuple[str, str]]:
    repo, chance = repository(10_000), random.Random(7)
    seen = {name: with_room(one, chance) for name, one in facts({}).items()}
    fleet = FleetSnapshot(FactsRef("bench"), seen)
    plan = build.build(repo, fleet, Decisions(repository_id="bench"), INTERPRETER, NOW)
    known = gate.decisions_to_record(plan.bindings, Decisions(), (), None)
    with tempfile.TemporaryDirectory() as folder:
        clone = git.Repository.create(Path(folder) / "a.git")
        state_branch = StateBranch(clone, bindings)
        facts_branch = FactsBranch(clone, facts_form)
        state = write(state_branch, State(None, Decisions(known=False)), known, plan.records, 0)
        recorded = facts_branch.write(facts_branch.read(), seen, now=NOW)
        first = weight(clone.path)
        keys, commits = sorted(known), 0
        for minute in range(5, 24 * 60 + 1, 5):
            now = NOW + minute * MINUTE
            moved = {name: with_room(seen[name], chance) for name in chance.sample(sorted(seen), 10)}
            recorded = facts_branch.write(recorded, moved, now=now)
            changed = {}
            if minute % 10 == 0:
                for key in chance.sample(keys, 20):
                    shares = known[key].shares
                    changed[key] = replace(
                        known[key], shares=tuple(Share(one.cluster, 1 + (one.replicas or 0)) for one in shares),
                        last_scheduled=now,
                    )  # fmt: skip
            if minute % 480 in (60, 65, 90):  # three outages: leaving, left, back
                for key in keys[minute % 480 :: 50]:
                    raw = {"fromCluster": "c007", "purgeMode": "Gracefully", "reason": "TaintUntolerated",
                           "creationTimestamp": bindings.time_text(now)}  # fmt: skip
                    tasks = (EvictionTask("c007", raw),) if minute % 480 == 60 else ()
                    changed[key] = replace(known[key], evictions=tasks, last_scheduled=now)
            if changed:
                known = {**known, **changed}
                state = write(state_branch, state, known, plan.records, minute)
                commits += 1
        last = weight(clone.path)
        packed = weight(clone.path, pack=True)
    return [
        ("state and facts after the first commits", f"{first:.1f} MB"),
        ("after 24 hours, as it lies on the disk", f"{last:.1f} MB, {commits} state commits"),
        ("after 24 hours, packed as a server keeps it (target ≤ 50 MB)", f"{packed:.1f} MB"),
    ]


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


def write(branch: StateBranch, state: State, known: dict, records: dict, minute: int) -> State:
    return branch.write(
        state, known, repository_id="bench", applied=None, results={}, approvals=(), held=(), subject="Decide",
        reasons=("why",), now=NOW + minute * MINUTE, clusters=records, outage=None,
    )  # fmt: skip


def weight(path: Path, *, pack: bool = False) -> float:
    """Megabytes of objects."""
    if pack:
        subprocess.run(["git", "-C", str(path), "gc", "-q", "--prune=now"], check=True)
    files = [file for file in path.rglob("*") if file.is_file() and "objects" in file.parts]
    return sum(file.stat().st_blocks * 512 for file in files) / 1e6
