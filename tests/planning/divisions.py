"""Divisions of replicas with the numbers worked out by hand."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from gitfed.cli.output import explain_numbers, plain
from gitfed.model.fleet import ClusterFacts, FactsRef, FleetSnapshot
from gitfed.source import repo as source
from gitfed.views.explanations import PlacementNumbers
from tests.e2e.world import cluster, policy
from tests.e2e.world import settings as federation
from tests.planning.tree import Tree
from tests.planning.walked import workload

APPS = ("api", "cache", "web")


REGIONS = {"a": "r1", "b": "r1", "c": "r2", "d": "r2", "e": "r3"}


FLEET = tuple(REGIONS)


DIVISIONS: tuple[dict[str, Any], ...] = (
    {"replicaDivisionPreference": "Aggregated"},
    {"replicaDivisionPreference": "Weighted", "weightPreference": {"dynamicWeight": "AvailableReplicas"}},
    {"replicaDivisionPreference": "Weighted", "weightPreference": {"staticWeightList": [
        {"targetCluster": {"clusterNames": ["a", "e"]}, "weight": 3},
        {"targetCluster": {"clusterNames": ["b", "d"]}, "weight": 2}]}},
)  # fmt: skip


EVERYWHERE: dict[str, Any] = {}


Seat = tuple[int, int, int]


def printed(numbers: PlacementNumbers) -> tuple[dict[str, Seat], list[int], bool] | None:
    """Each cluster's numbers, the amounts of the tiers, and whether the last of equals is first, as a person reads
    them off the screen. None: it is not said that anything was divided."""
    lines = list(explain_numbers.lines(numbers, plain.Paint(on=False)))
    said = re.search(
        r", ([^,]+) divided (?:by weight)?(?: ?beside the base)?(?:, of equals the (\w+) by name)?$", lines[0]
    )
    if said is None:
        return None
    amounts = [int(part.split()[0]) for part in said[1].replace("nothing", "0").split(" and ")]
    head = re.split(r" {3,}", lines[1].strip())
    found = {}
    for line in lines[2:]:
        if not line.startswith("  "):
            break
        cells = dict(zip(head, re.split(r" {3,}", line.strip()), strict=True))
        found[cells["CLUSTER"]] = tuple(
            int(cells.get(name, "0").replace("–", "0")) for name in ("TIER", "WEIGHT", "BASE")
        )  # fmt: skip
    return found, amounts, said[2] == "last"  # type: ignore[return-value]


def by_hand(seats_of: dict[str, Seat], amounts: Sequence[int], *, last: bool) -> dict[str, int]:
    """Seat by seat to the largest weight / (2 * seats + 1), from what is printed and nothing else."""
    got: Counter[str] = Counter()
    tiers = sorted({tier for tier, weight, base in seats_of.values() if weight or base})
    for tier, amount in zip(tiers, amounts, strict=True):
        weights = {name: weight for name, (own, weight, _) in sorted(seats_of.items()) if own == tier and weight}
        seats = dict.fromkeys(weights, 0)
        for _ in range(amount):
            most = max(Fraction(weights[name], 2 * count + 1) for name, count in seats.items())
            equals = [name for name, count in seats.items() if Fraction(weights[name], 2 * count + 1) == most]
            fewest = min(seats[name] for name in equals)
            equals = [name for name in equals if seats[name] == fewest]
            seats[equals[-1] if last else equals[0]] += 1
        got.update(seats)
    got.update({name: base for name, (_, _, base) in seats_of.items()})
    return {name: count for name, count in got.items() if count}


def facts(cpus: Sequence[int]) -> FleetSnapshot:
    summaries = [{"allocatable": {"cpu": str(cpu), "pods": "1000"}} for cpu in cpus]
    found = {name: ClusterFacts(name, resource_summary=one) for name, one in zip(FLEET, summaries, strict=True)}
    return FleetSnapshot(FactsRef("test"), found)


def files(
    replicas: dict[str, int], divisions: dict[str, dict[str, Any]], where: dict[str, dict[str, Any]] | None = None
) -> dict[str, str]:
    found = {"gitfed.json": federation()}
    found |= {f"clusters/{name}.json": cluster(name, region=region) for name, region in REGIONS.items()}
    for app in APPS:
        found[f"{app}.json"] = workload(app, replicas[app])
        rule = json.loads(policy(app, None, placement={
            "replicaScheduling": {"replicaSchedulingType": "Divided", **divisions[app]},
            **(where[app] if where is not None else EVERYWHERE),
        }))  # fmt: skip
        rule["spec"]["resourceSelectors"][0]["name"] = app
        found[f"{app}-policy.json"] = json.dumps(rule)
    return found


def read(made: dict[str, str], commit: str = "1") -> Any:
    snapshot = source.read(Tree(made, commit * 40))  # type: ignore[arg-type]
    assert not [problem for problem in snapshot.problems if problem.severity == "error"]
    return snapshot
