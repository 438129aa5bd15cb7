"""A long random walk: people push, others interfere, clusters and the daemon die; after each settling all is well.

`GITFED_RANDOM_STEPS` says how many pushes (default: a few), `GITFED_RANDOM_SEED` which walk. A failure prints the seed
and every step up to it. What is right is known here from the repository alone, by rules of a few lines, and not from
the planner: which object should be where, what stays as an orphan, what belongs to others.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gitfed.edges.kube import ledger
from tests.change.test_dependencies import workload
from tests.clusters.embedded import EmbeddedFleet
from tests.clusters.rest import RefusedError
from tests.e2e.world import World, cluster, config_map, policy, settings

pytestmark = pytest.mark.e2e

STEPS = int(os.environ.get("GITFED_RANDOM_STEPS", "8"))
SEED = int(os.environ.get("GITFED_RANDOM_SEED", "1"))
CLUSTERS = ["m1", "m2", "m3"]
APPS = [f"d{n}" for n in range(4)]
MAPS = [f"c{n}" for n in range(4)]
KINDS = {**dict.fromkeys(APPS, "Deployment"), **dict.fromkeys(MAPS, "ConfigMap")}
PATIENCE = 120.0
GUARDS = {"maxDeletions": 1000, "maxDeletionPercent": 100, "maxMovedReplicasPercent": 100}


@dataclass
class Template:
    version: int
    refers: tuple[str, ...] = ()
    wave: str = ""


@dataclass
class Rule:
    """The policy of one template."""

    clusters: tuple[str, ...]
    takes: bool = False
    preserves: bool = False


@dataclass
class Walk:
    world: World
    random: random.Random
    templates: dict[str, Template] = field(default_factory=dict)
    rules: dict[str, Rule] = field(default_factory=dict)
    ours: dict[str, set[str]] = field(default_factory=dict)
    """Where copies of ours were when all was settled last."""
    placed: set[str] = field(default_factory=set)
    """Templates that a policy placed since they are there: without it their copies are orphans."""
    preserved: set[str] = field(default_factory=set)
    """Templates whose last policy said that copies outlive them."""
    needed: dict[str, set[str]] = field(default_factory=dict)
    """Which workloads took an object along: those that became orphans still need it where they are."""
    foreign: dict[tuple[str, str], str] = field(default_factory=dict)
    """(cluster, ConfigMap) of others → what it holds."""
    suspended: set[str] = field(default_factory=set)
    down: set[str] = field(default_factory=set)
    touched: dict[tuple[str, str], float] = field(default_factory=dict)
    """When somebody interfered with an object last: who does it all the time is answered ever more slowly."""
    version: int = 0
    log: list[str] = field(default_factory=list)

    # -- what people do -----------------------------------------------------------------------------------------

    def push(self) -> None:
        name = self.random.choice([*APPS, *MAPS])
        files: dict[str, str | None] = {}
        what = self.random.choice(["change", "change", "place", "place", "remove", "remove-policy", "both"])
        known, ruled = name in self.templates, name in self.rules
        if what == "remove" and known:
            del self.templates[name]
            files[f"apps/{name}.json"] = None
        elif what == "remove-policy" and ruled:
            del self.rules[name]
            files[f"policies/{name}.json"] = None
        elif what == "both" and known and ruled:
            del self.templates[name], self.rules[name]
            files |= {f"apps/{name}.json": None, f"policies/{name}.json": None}
        else:
            if what != "place" or not known:
                files[f"apps/{name}.json"] = self.template(name)
            if what == "place" or not ruled:
                files[f"policies/{name}.json"] = self.rule(name)
        self.say(f"push {what} {name}: template {self.templates.get(name)}, policy {self.rules.get(name)}")
        self.world.push(files, f"{len(self.log)}")

    def template(self, name: str) -> str:
        self.version += 1
        wave = self.random.choice(["", "", "", "1"]) if name in APPS else ""
        refers = tuple(self.random.sample(MAPS, self.random.choice([0, 1, 1, 2]))) if name in APPS else ()
        self.templates[name] = Template(self.version, refers, wave)
        if name in MAPS:
            return config_map(name, {"version": str(self.version)})
        made = json.loads(workload(name, *refers, replicas=2))
        made["spec"]["template"]["spec"]["containers"][0]["image"] = f"nginx:{self.version}"
        if wave:
            made["metadata"]["annotations"] = {"gitfed.io/wave": wave}
        return json.dumps(made)

    def rule(self, name: str) -> str:
        clusters = tuple(sorted(self.random.sample(CLUSTERS, self.random.choice([1, 2, 2, 3]))))
        takes, preserves = name in APPS and self.random.random() < 0.6, self.random.random() < 0.1
        self.rules[name] = Rule(clusters, takes, preserves)
        kind = ("apps/v1", "Deployment") if name in APPS else ("v1", "ConfigMap")
        made = json.loads(policy(name, list(clusters), (kind,), propagateDeps=takes,
                                 preserveResourcesOnDeletion=preserves))  # fmt: skip
        made["spec"]["resourceSelectors"][0]["name"] = name
        return json.dumps(made)

    # -- what others do -----------------------------------------------------------------------------------------

    def disturb(self) -> None:
        acts = [self.drift, self.drift, self.delete, self.strip, self.strange, self.occupy, self.vacate, self.kill,
                self.restart, self.suspend]  # fmt: skip
        act = self.random.choice(acts)
        try:
            act()
        except RefusedError as error:
            self.say(f"  ({act.__name__}: {str(error)[:80]})")

    def victim(self) -> tuple[str, str] | None:
        """A copy that has a policy, in a cluster that answers, and that nobody touched lately."""
        now = time.monotonic()
        found = [
            (where, name)
            for name in sorted(self.rules.keys() & self.templates.keys())
            for where in sorted(self.ours.get(name, ()))
            if where not in self.down | self.suspended
            and name not in self.stopped(where)
            and now - self.touched.get((where, name), -1000) > 301
        ]
        if not found:
            return None
        chosen = self.random.choice(found)
        self.touched[chosen] = now
        return chosen

    def patch(self, where: str, name: str, body: object) -> None:
        path = self.world.path(KINDS.get(name, "ConfigMap"), "shop", name)
        self.world.ask(where, "PATCH", path + "?fieldManager=somebody", body, "application/merge-patch+json")

    def drift(self) -> None:
        if chosen := self.victim():
            where, name = chosen
            self.say(f"  drift {name} in {where}")
            body = {"spec": {"replicas": 9}} if name in APPS else {"data": {"version": "drifted", "extra": "theirs"}}
            self.patch(where, name, body)

    def strip(self) -> None:
        """It comes back where the object is wanted; elsewhere the object would stay for good, and be reported."""
        chosen = self.victim()
        if chosen is None or not self.wants(chosen[1], chosen[0]):
            return
        where, name = chosen
        self.say(f"  strip label of {name} in {where}")
        self.patch(where, name, {"metadata": {"labels": {"gitfed.io/federation": None}}})

        def labelled() -> bool:
            self.controllers()
            body = self.world.get(where, KINDS[name], "shop", name)
            return body is not None and (body["metadata"].get("labels") or {}).get("gitfed.io/federation") == "acme"

        self.world.until(labelled, f"the label of {name} in {where} back", PATIENCE)

    def delete(self) -> None:
        if chosen := self.victim():
            where, name = chosen
            self.say(f"  delete {name} in {where}")
            self.world.ask(where, "DELETE", self.world.path(KINDS[name], "shop", name))

    def strange(self) -> None:
        """Somebody's object that bears our label: it proves nothing."""
        where = self.random.choice(CLUSTERS)
        name = f"strange{len(self.foreign)}"
        self.make_foreign(where, name, {"gitfed.io/federation": "acme"} if self.random.random() < 0.5 else {})

    def occupy(self) -> None:
        """Somebody takes a name that a template has, where it has no copy."""
        where, name = self.random.choice(CLUSTERS), self.random.choice(MAPS)
        if where not in self.ours.get(name, set()) and where not in self.expected(name):
            self.make_foreign(where, name, {})

    def make_foreign(self, where: str, name: str, labels: dict[str, str]) -> None:
        if where in self.down:
            return
        body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"whose": "theirs"},
                "metadata": {"name": name, "namespace": "shop", "labels": labels}}  # fmt: skip
        if not self.world.endpoints[where].answers("/api/v1/namespaces/shop"):
            return
        self.world.ask(where, "POST", self.world.path("ConfigMap", "shop"), body)
        self.say(f"  foreign {name} in {where} {labels}")
        self.foreign[where, name] = self.content(where, name)

    def vacate(self) -> None:
        """Somebody's object in our way goes."""
        found = [one for one in sorted(self.foreign) if one[1] in MAPS and one[0] not in self.down]
        if found:
            where, name = self.random.choice(found)
            self.say(f"  foreign {name} leaves {where}")
            self.world.ask(where, "DELETE", self.world.path("ConfigMap", "shop", name))
            del self.foreign[where, name]

    def kill(self) -> None:
        where = self.random.choice(CLUSTERS)
        if where in self.down:
            self.up(where)
        elif not self.down:
            self.say(f"  {where} dies")
            self.world.servers[where].kill()
            self.down.add(where)

    def up(self, where: str) -> None:
        self.say(f"  {where} comes back")
        self.world.servers[where].start()
        self.down.discard(where)

    def restart(self) -> None:
        self.say("  the daemon is killed and started")
        self.world.daemons[-1].kill()
        self.world.daemon()

    def suspend(self) -> None:
        where = self.random.choice(CLUSTERS)
        if where in self.suspended:
            self.resume(where)
        else:
            self.say(f"  suspend {where}")
            self.world.gitfed("suspend", f"cluster/{where}", "--repo", str(self.world.bare))
            self.suspended.add(where)

    def resume(self, where: str) -> None:
        self.say(f"  resume {where}")
        self.world.gitfed("resume", f"cluster/{where}", "--repo", str(self.world.bare))
        self.suspended.discard(where)

    # -- what must be true --------------------------------------------------------------------------------------

    def expected(self, name: str) -> set[str]:
        """Where copies of ours should be, once all is settled."""
        before = self.ours.get(name, set())
        template, rule = self.templates.get(name), self.rules.get(name)
        if template is None:
            return set(before) if name in self.preserved else set()
        needed = {
            where
            for app in self.templates.keys() & self.rules.keys()
            if self.rules[app].takes and name in self.templates[app].refers
            for where in self.rules[app].clusters
        }
        if rule is not None:
            wanted = set(rule.clusters) | needed
            stays = set(before) if rule.preserves else set()
        elif name in self.placed or name in self.preserved:
            wanted, stays = needed, set(before)
        else:
            wanted, stays = needed, set()
        for app in self.needed.get(name, set()) - (self.templates.keys() & self.rules.keys()):
            stays |= before & self.expected(app)  # an orphan, or preserved, and it still runs
        taken = {where for where, what in self.foreign if what == name}
        return (wanted - taken) | stays

    def settle(self) -> None:
        for where in sorted(self.down):
            self.up(where)
        for where in sorted(self.suspended):
            self.resume(where)
        expected = {name: self.expected(name) for name in KINDS}
        end = time.monotonic() + PATIENCE
        while True:
            self.controllers()
            wrong = list(self.wrong(expected))
            if not wrong:
                break
            if time.monotonic() > end:
                raise AssertionError("\n".join([f"seed {SEED}", *self.log, "", *wrong, "", *self.planned()]))
            time.sleep(0.1)
        self.ours = {name: {where for where in CLUSTERS if self.present(where, name)} for name in KINDS}
        for name in MAPS:
            self.needed[name] = {
                app for app in APPS
                if any(self.ours[app]) and (app in self.needed.get(name, ()) or self.takes(app, name))
            }  # fmt: skip
        for name in KINDS:
            if name not in self.templates:
                self.placed.discard(name)
                if not expected[name]:
                    self.preserved.discard(name)
            elif name in self.rules:
                self.placed.add(name)
                (self.preserved.add if self.rules[name].preserves else self.preserved.discard)(name)

    def wrong(self, expected: dict[str, set[str]]) -> Iterator[str]:
        for where in CLUSTERS:
            found: dict[str, dict[str, Any]] = {}
            for kind in ("Deployment", "ConfigMap"):
                for body in self.world.ask(where, "GET", self.world.path(kind, "shop"))["items"]:
                    found[body["metadata"]["name"]] = body
            owned = {}
            for name, body in found.items():
                labels = body["metadata"].get("labels") or {}
                if labels.get("gitfed.io/federation") == "acme" and (where, name) not in self.foreign:
                    owned[name] = body["metadata"]["uid"]
            should = {name for name, clusters in expected.items() if where in clusters}
            stopped = self.stopped(where)
            for name in sorted((should ^ owned.keys()) - stopped):
                yield f"{where}: {name} is {'missing' if name in should else 'too much'}"
            for name in sorted((should & owned.keys() & self.templates.keys()) - stopped):
                template, body = self.templates[name], found[name]
                if name not in self.rules and not self.is_needed(name, where):
                    continue  # an orphan stays as it was
                if name in self.rules and where not in self.rules[name].clusters and not self.is_needed(name, where):
                    continue  # kept where it was
                has = (
                    body["data"].get("version")
                    if name in MAPS
                    else body["spec"]["template"]["spec"]["containers"][0]["image"].removeprefix("nginx:")
                )
                if has != str(template.version) or (name in APPS and body["spec"]["replicas"] != 2):
                    yield f"{where}: {name} is at {has}, not at {template.version}"
            listed = self.inventory(where)
            if listed != owned:
                odd = {name for name in listed.keys() | owned.keys() if listed.get(name) != owned.get(name)}
                entries = [f"{name}: {listed.get(name, 'none')} for {owned.get(name, 'none')}" for name in sorted(odd)]
                yield f"{where}: the inventory is not exact: {', '.join(entries)}"
        for (where, name), content in self.foreign.items():
            if self.content(where, name) != content:
                yield f"{where}: {name} of somebody else was changed"

    def wants(self, name: str, where: str) -> bool:
        """Whether the repository places an object there, whoever has its name."""
        rule = self.rules.get(name)
        return name in self.templates and (self.is_needed(name, where) or (rule is not None and where in rule.clusters))

    def stopped(self, where: str) -> set[str]:
        """Of the second wave everything, in a cluster where the first cannot end: a name in it is somebody else's."""
        in_the_way = [
            name for at, name in self.foreign
            if at == where and name in MAPS and self.wants(name, where) and not self.templates[name].wave
        ]  # fmt: skip
        return {name for name, one in self.templates.items() if one.wave} if in_the_way else set()

    def present(self, where: str, name: str) -> bool:
        body = self.world.get(where, KINDS[name], "shop", name)
        labels = (body["metadata"].get("labels") or {}) if body is not None else {}
        return labels.get("gitfed.io/federation") == "acme" and (where, name) not in self.foreign

    def planned(self) -> list[str]:
        """What a plan says of it now."""
        done = self.world.gitfed("plan", "--repo", str(self.world.bare), "--live", "--kubeconfig",
                                 str(self.world.kubeconfig), "-o", "json", check=False)  # fmt: skip
        if not done.stdout:
            return [done.stderr]
        changes = json.loads(done.stdout)["changes"]
        return [f"{c['cluster']} {c['name']} {c['action']} {c['reason']} {c['waits'] or ''}" for c in changes]

    def takes(self, app: str, name: str) -> bool:
        rule = self.rules.get(app)
        return app in self.templates and rule is not None and rule.takes and name in self.templates[app].refers

    def is_needed(self, name: str, where: str) -> bool:
        return any(self.takes(app, name) and where in self.rules[app].clusters for app in self.rules)

    def inventory(self, where: str) -> dict[str, str]:
        found = {}
        shards = self.world.ask(where, "GET", "/api/v1/namespaces/gitfed-system/configmaps")["items"]
        for shard in shards:
            for key, value in (shard.get("data") or {}).items():
                if key not in ("count", "schemaVersion", "repositoryId", "term", "shards"):
                    entry = ledger.decode(key, value)
                    if entry.key.namespace == "shop":
                        found[entry.key.name] = entry.uid
        return found

    def content(self, where: str, name: str) -> str:
        body = self.world.get(where, "ConfigMap", "shop", name)
        if body is None:
            return "gone"
        return json.dumps([body["metadata"]["uid"], body["metadata"]["resourceVersion"], body.get("data")])

    def controllers(self) -> None:
        """What the controllers of every cluster would do: Deployments become available."""
        for where in CLUSTERS:
            if where in self.down:
                continue
            for body in self.world.ask(where, "GET", self.world.path("Deployment", "shop"))["items"]:
                status = body.get("status") or {}
                now = (status.get("observedGeneration"), status.get("availableReplicas"))
                if now != (body["metadata"]["generation"], body["spec"]["replicas"]):
                    with contextlib.suppress(RefusedError):  # deleted in this moment
                        self.world.mark_available(where, "shop", body["metadata"]["name"])

    def say(self, text: str) -> None:
        self.log.append(text)


@pytest.fixture
def walk(tmp_path: Path) -> Iterator[Walk]:
    with EmbeddedFleet(CLUSTERS, tmp_path) as fleet:
        world = World(tmp_path, fleet.kubeconfig, CLUSTERS, fleet.servers)
        try:
            yield Walk(world, random.Random(SEED))
        finally:
            world.close()


def test_a_random_walk_always_settles_where_it_should(walk: Walk) -> None:
    world = walk.world
    # Declared, so that it stays: no controller finishes the deletion of a namespace here.
    space = json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    world.push({"gitfed.json": settings(guards=GUARDS), "spaces/shop.json": space,
                **{f"clusters/{name}.json": cluster(name) for name in CLUSTERS}})  # fmt: skip
    world.daemon()
    world.until(lambda: "repositoryId" in world.state().get("state.yaml", ""), "the state branch")
    for _ in range(STEPS):
        for _ in range(walk.random.choice([0, 0, 1, 2])):
            walk.disturb()
        walk.push()
        for _ in range(walk.random.choice([0, 0, 1, 2])):
            walk.disturb()
        walk.settle()
    for daemon in world.daemons:
        assert not [line for line in daemon.lines() if line.get("level") in ("critical", "unstructured")]
