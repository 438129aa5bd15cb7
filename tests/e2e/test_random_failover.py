"""Clusters die for good and come back, again and again, while people go on pushing: every workload is in one place.

Each app runs in one cluster of those that its policy names. When that dies, its copy moves; what comes back finds its
old copy deleted, and nothing moves home again. One that is purged `Directly` starts elsewhere only when its old copy is
gone for sure: never are there two. One that nothing else can take stays where it was.

`GITFED_RANDOM_FAILOVER_STEPS` says how many clusters die (default: one, about half a minute), `GITFED_RANDOM_SEED`
which walk. The longer walk through everything else is `test_random_walk`: there no cluster is away for long enough.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.clusters.rest import RefusedError
from tests.e2e import worlds
from tests.e2e.failing import FAST, ONE, SOON
from tests.e2e.shop import inventory
from tests.e2e.world import World, cluster, deployment, policy, settings
from tests.support import patience

pytestmark = pytest.mark.e2e

STEPS = int(os.environ.get("GITFED_RANDOM_FAILOVER_STEPS", "1"))
SEED = int(os.environ.get("GITFED_RANDOM_SEED", "1"))
CLUSTERS = ["m1", "m2", "m3"]
APPS = ["w0", "w1", "w2", "w3"]
DIRECTLY = "w3"
GUARDS = {"guards": {"maxDeletions": 1000, "maxDeletionPercent": 100, "maxMovedReplicasPercent": 100}}


class Walk:
    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.random = random.Random(seed)
        self.allowed: dict[str, list[str]] = {}
        self.version = dict.fromkeys(APPS, 0)
        self.home = dict.fromkeys(APPS, "")
        """Where its one copy is, as far as anybody knows; "" before it was placed."""
        self.left = ""
        """The dead cluster that the one which leaves `Directly` had to leave: it starts elsewhere when that is back."""
        self.dead = ""
        self.log: list[str] = []

    # -- what happens -------------------------------------------------------------------------------------------

    def push(self, *names: str, places: bool = False) -> None:
        files: dict[str, str | None] = {}
        for name in names:
            self.version[name] += 1
            files[f"apps/{name}.json"] = deployment(name, image=f"nginx:{self.version[name]}")
            if places:
                # What moves because its policy says so runs in both places for a moment, whatever its purge mode.
                count = 3 if name == DIRECTLY else self.random.choice([1, 2, 3, 3])
                self.allowed[name] = sorted(self.random.sample(CLUSTERS, count))
                files[f"policies/{name}.json"] = self.policy(name)
            self.log.append(f"push {name}: {self.version[name]} in one of {self.allowed[name]}")
        self.world.push(files, "edits")

    def policy(self, name: str) -> str:
        purge: dict[str, Any] = {"failover": {"cluster": {"purgeMode": "Directly"}}} if name == DIRECTLY else {}
        made = json.loads(policy(name, self.allowed[name], placement=ONE, **purge))
        made["spec"]["resourceSelectors"][0]["name"] = name
        return json.dumps(made)

    def restart(self) -> None:
        self.log.append("the daemon is killed and started")
        self.world.daemons[-1].kill()
        self.world.daemon(*FAST)

    def die(self) -> None:
        self.dead = self.random.choice([*CLUSTERS, self.home[DIRECTLY]])
        self.log.append(f"{self.dead} dies")
        self.world.servers[self.dead].kill()

    def revive(self) -> None:
        self.log.append(f"{self.dead} comes back")
        self.world.servers[self.dead].start()
        self.dead = ""

    # -- what must be true --------------------------------------------------------------------------------------

    def homes(self, name: str) -> list[str]:
        """Where its one copy may be once all is settled; none: no cluster that answers has one."""
        if name == DIRECTLY and self.home[name] and self.home[name] == self.dead:
            return []
        if name == DIRECTLY and self.left:
            return [where for where in self.allowed[name] if where != self.left]
        if self.home[name] in self.allowed[name] and self.home[name] != self.dead:
            return [self.home[name]]
        return [where for where in self.allowed[name] if where != self.dead]

    def settle(self) -> None:
        end = time.monotonic() + patience.SECONDS
        while wrong := self.wrong():
            assert time.monotonic() < end, "\n".join([f"seed {SEED}", *self.log, "", *wrong])
            time.sleep(0.1)
        for name in APPS:
            self.home[name] = next(iter(self.copies()[name]), self.home[name])
        self.left = self.dead if self.home[DIRECTLY] == self.dead else ""
        self.log.append(f"settled: {self.home}")

    def copies(self) -> dict[str, dict[str, Any]]:
        """Name → cluster → copy, of the clusters that answer. What is written becomes available, as by a controller."""
        found: dict[str, dict[str, Any]] = {name: {} for name in APPS}
        for where in CLUSTERS:
            if where == self.dead:
                continue
            for body in self.world.ask(where, "GET", self.world.path("Deployment", "shop"))["items"]:
                name = body["metadata"]["name"]
                found[name][where] = body
                if (body.get("status") or {}).get("observedGeneration") != body["metadata"]["generation"]:
                    with contextlib.suppress(RefusedError):  # deleted in this moment
                        self.world.mark_available(where, "shop", name)
        return found

    def wrong(self) -> list[str]:
        found = self.copies()
        if len(found[DIRECTLY]) > 1:
            still = [where for where in found[DIRECTLY] if self.world.get(where, "Deployment", "shop", DIRECTLY)]
            # One may have gone before the other came, while we looked.
            assert len(still) < 2, "\n".join([*self.log, f"{DIRECTLY} runs twice: {still}"])
        return [*self.misplaced(found), *self.unrecorded()]

    def misplaced(self, found: dict[str, dict[str, Any]]) -> Iterator[str]:
        for name, copies in found.items():
            homes = self.homes(name)
            if (len(copies) != 1 or not copies.keys() <= set(homes)) if homes else copies:
                yield f"{name} is in {sorted(copies)}, not in one of {homes}"
            for where, body in copies.items():
                image = body["spec"]["template"]["spec"]["containers"][0]["image"]
                if where in homes and image != f"nginx:{self.version[name]}":
                    yield f"{name} in {where} is {image}, not {self.version[name]}"
        for where in CLUSTERS:
            if where != self.dead:
                listed = {name for name in APPS if name in inventory(self.world, where)}
                if listed != (there := {name for name, copies in found.items() if where in copies}):
                    yield f"{where}: the inventory lists {sorted(listed)}, there are {sorted(there)}"

    def unrecorded(self) -> Iterator[str]:
        """Where work is to be, by the bindings; and, when all clusters are back, that nothing is left to be done."""
        state = self.world.state()
        for name in APPS:
            spec = yaml.safe_load(state.get(f"bindings/shop/{name}-Deployment.apps.yaml", "spec: {}"))["spec"]
            targets = [one["name"] for one in spec.get("clusters", ())]
            left = [where for where in self.allowed[name] if where != self.dead]
            if self.dead in targets and left:
                yield f"{name} is still to be in {self.dead}"
            if not self.dead and (tasks := spec.get("gracefulEvictionTasks")):
                yield f"{name} is still leaving {[one['fromCluster'] for one in tasks]}"
        for where in CLUSTERS:
            if where != self.dead and "taints" in state.get(f"clusters/{where}.yaml", ""):
                yield f"{where} is still tainted"


@pytest.fixture(params=worlds.BOTH)
def walk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Walk]:
    with request.param(CLUSTERS, tmp_path) as world:
        yield Walk(world, SEED)


def test_every_workload_is_in_one_place_whatever_dies(walk: Walk) -> None:
    # Declared, so that it stays: no controller finishes the deletion of a namespace here.
    space = json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    walk.world.push({"gitfed.json": settings(**SOON, **GUARDS), "spaces/shop.json": space,
                     **{f"clusters/{name}.json": cluster(name) for name in CLUSTERS}})  # fmt: skip
    walk.world.daemon(*FAST)
    walk.push(*APPS, places=True)
    walk.settle()
    for _ in range(STEPS):
        walk.die()
        if walk.random.random() < 0.4:
            walk.restart()
        walk.settle()
        walk.push(*walk.random.sample(APPS, 2))
        walk.settle()
        walk.revive()
        if walk.random.random() < 0.4:
            walk.restart()
        walk.settle()
        walk.push(*walk.random.sample(APPS, 2), places=True)
        walk.settle()
