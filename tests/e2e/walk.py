"""A random walk through a fleet's life: bursts of edits and disturbances, and after each burst all must be well.

A *burst* is what happens without anybody waiting for the daemon: pushes of several files, foreign writers, clusters and
the daemon killed, faults switched on. `settle` then ends the faults and waits until clusters equal what
`walk_model` expects, nothing foreign was changed, the inventories are exact, and the daemon has written down that it is
done with the newest commit. One that does not get there is told with every step up to it.
"""

from __future__ import annotations

import contextlib
import json
import random
import subprocess
import time
from collections.abc import Iterator
from typing import Any

from gitfed.edges.kube import ledger
from tests.clusters.rest import RefusedError
from tests.e2e.walk_model import APPS, CLUSTERS, KINDS, MAPS, History, Repository
from tests.e2e.world import World

PATIENCE = 120.0
CALM = 301.0
"""Seconds until an object is interfered with again: who does it all the time is answered ever more slowly."""
FAULTS = {
    "slow": lambda faults: faults.slow(0.3),
    "500": lambda faults: faults.fail(500, share=0.3),
    "429": lambda faults: faults.fail(429, share=0.3),
    "cut": lambda faults: faults.cut(times=3),
    "cut a write": lambda faults: faults.cut(times=2, verb="patch"),
    "drop watches": lambda faults: faults.drop_watches(),
}


class Walk:
    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.seed = seed
        self.random = random.Random(seed)
        self.repository = Repository(self.random)
        self.history = History(self.repository)
        self.foreign: dict[tuple[str, str], str] = {}
        """(cluster, ConfigMap) of others → what it holds."""
        self.notes: dict[tuple[str, str], tuple[str, str]] = {}
        """(cluster, object of ours) → (uid, what somebody else wrote into an annotation of theirs)."""
        self.suspended: set[str] = set()
        self.down: set[str] = set()
        self.faulty: set[str] = set()
        self.touched: dict[tuple[str, str], float] = {}
        self.locked: set[str] = set()
        """What this burst has edited already, and what depends on it."""
        self.head = ""
        self.steps = 0
        self.log: list[str] = []

    def burst(self, steps: int) -> None:
        """So many edits and disturbances, and then the settling."""
        self.locked.clear()
        for _ in range(steps):
            self.steps += 1
            if self.random.random() < 0.5:
                self.push()
            else:
                self.disturb()
        self.settle()

    # -- what people do -----------------------------------------------------------------------------------------

    def push(self) -> None:
        """One commit with one to three edits."""
        files: dict[str, str | None] = {}
        for _ in range(self.random.choice([1, 1, 2, 3])):
            free = [name for name in KINDS if not self.repository.concerns(name) & self.locked]
            if not free:
                break
            name = self.random.choice(free)
            before = self.repository.concerns(name)
            said, changed = self.repository.edit(name, self.locked)
            self.locked |= before | self.repository.concerns(name)
            self.say(f"push {said}")
            files |= changed
        if files:
            self.head = self.world.push(files, f"{len(self.log)}")

    # -- what others do -----------------------------------------------------------------------------------------

    def disturb(self) -> None:
        acts = [self.drift, self.drift, self.delete, self.strip, self.note, self.strange, self.occupy, self.vacate,
                self.kill, self.fault, self.fault, self.restart, self.suspend]  # fmt: skip
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
            for name in sorted(self.repository.rules.keys() & self.repository.templates.keys())
            for where in sorted(self.history.ours.get(name, ()))
            if where not in self.down | self.suspended | self.faulty
            and name not in self.stopped(where)
            and now - self.touched.get((where, name), -1000) > CALM
        ]
        if not found:
            return None
        chosen = self.random.choice(found)
        self.touched[chosen] = now
        return chosen

    def patch(self, where: str, name: str, body: object) -> Any:
        path = self.world.path(KINDS.get(name, "ConfigMap"), "shop", name)
        return self.world.ask(where, "PATCH", path + "?fieldManager=somebody", body, "application/merge-patch+json")

    def drift(self) -> None:
        if chosen := self.victim():
            where, name = chosen
            self.say(f"  drift {name} in {where}")
            body = {"spec": {"replicas": 9}} if name in APPS else {"data": {"version": "drifted", "extra": "theirs"}}
            self.patch(where, name, body)

    def note(self) -> None:
        """A field that is not ours, in an object that is: it stays as long as the object."""
        if chosen := self.victim():
            where, name = chosen
            text = f"note {self.steps}"
            self.say(f"  {text} on {name} in {where}")
            body = self.patch(where, name, {"metadata": {"annotations": {"example.com/note": text}}})
            self.notes[chosen] = (body["metadata"]["uid"], text)

    def strip(self) -> None:
        """It comes back where the object is wanted; elsewhere the object would stay for good, and be reported."""
        chosen = self.victim()
        if chosen is None or chosen[1] in self.locked or not self.repository.wants(chosen[1], chosen[0]):
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
        name = f"strange{self.steps}"
        self.make_foreign(where, name, {"gitfed.io/federation": "acme"} if self.random.random() < 0.5 else {})

    def occupy(self) -> None:
        """Somebody takes a name that a template has, where it has no copy and is to have none."""
        where, name = self.random.choice(CLUSTERS), self.random.choice(MAPS)
        if name not in self.locked and where not in self.history.ours.get(name, set()) | self.expected(name):
            self.make_foreign(where, name, {})

    def make_foreign(self, where: str, name: str, labels: dict[str, str]) -> None:
        if where in self.down | self.faulty:
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
        found = [one for one in sorted(self.foreign) if one[1] in MAPS and one[0] not in self.down | self.faulty]
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

    def fault(self) -> None:
        """Only the embedded fleet can do that on demand."""
        where, name = self.random.choice(CLUSTERS), self.random.choice(sorted(FAULTS))
        tell = getattr(self.world.servers[where], "tell", None)
        if tell is not None and where not in self.down:
            self.say(f"  fault in {where}: {name}")
            tell(FAULTS[name])
            self.faulty.add(where)

    def heal(self, where: str) -> None:
        self.world.servers[where].tell(lambda faults: faults.clear())
        self.faulty.discard(where)

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
        return self.history.expected(name, {where for where, what in self.foreign if what == name})

    def settle(self) -> None:
        for where in sorted(self.down):
            self.up(where)
        for where in sorted(self.faulty):
            self.heal(where)
        for where in sorted(self.suspended):
            self.resume(where)
        expected = {name: self.expected(name) for name in KINDS}
        end = time.monotonic() + PATIENCE
        while wrong := self.wrong(expected):
            if time.monotonic() > end:
                raise AssertionError("\n".join([f"seed {self.seed}", *self.log, "", *wrong, "", *self.planned()]))
            time.sleep(0.1)
        self.history.settled(
            {name: {where for where in CLUSTERS if self.present(where, name)} for name in KINDS}, expected
        )
        self.say("settled")

    def wrong(self, expected: dict[str, set[str]]) -> list[str]:
        self.controllers()
        return [*self.wrong_in_clusters(expected), *self.wrong_with_others(), *self.unrecorded()]

    def wrong_in_clusters(self, expected: dict[str, set[str]]) -> Iterator[str]:
        repository = self.repository
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
            for name in sorted((should & owned.keys() & repository.templates.keys()) - stopped):
                if not repository.wants(name, where):
                    continue  # an orphan, or kept where it was: it stays as it is
                template, body = repository.templates[name], found[name]
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

    def wrong_with_others(self) -> Iterator[str]:
        for (where, name), content in self.foreign.items():
            if self.content(where, name) != content:
                yield f"{where}: {name} of somebody else was changed"
        for (where, name), (uid, text) in list(self.notes.items()):
            metadata = (self.world.get(where, KINDS[name], "shop", name) or {"metadata": {}})["metadata"]
            if metadata.get("uid") != uid:
                del self.notes[where, name]  # it went with its object
            elif (metadata.get("annotations") or {}).get("example.com/note") != text:
                yield f"{where}: somebody's annotation of {name} was changed"

    def unrecorded(self) -> Iterator[str]:
        """The daemon says itself that it is done, on the state branch."""
        command = ["git", "-C", str(self.world.bare), "show", "gitfed/state:state.yaml"]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        done = text.count(self.head)
        if self.head and done != 1 + len(CLUSTERS):
            yield f"the state branch does not say of every cluster that it holds {self.head[:12]}:\n{text}"

    def stopped(self, where: str) -> set[str]:
        """Of the second wave everything, in a cluster where the first cannot end: a name in it is somebody else's."""
        templates = self.repository.templates
        in_the_way = [
            name for at, name in self.foreign
            if at == where and name in MAPS and self.repository.wants(name, where) and not templates[name].wave
        ]  # fmt: skip
        return {name for name, one in templates.items() if one.wave} if in_the_way else set()

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
