"""A random walk through a fleet's life: bursts of edits and disturbances, and after each burst all must be well.

A *burst* is what happens without anybody waiting for the daemon: pushes of several files, foreign writers, clusters and
the daemon killed, faults switched on. `settle` then ends the faults and waits until clusters equal what `walk_history`
expects, nothing foreign was changed, the inventories are exact, and the daemon has written down that it is done with
the newest commit. One that does not get there is told with every step up to it.
"""

from __future__ import annotations

import random
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.clusters.rest import RefusedError
from tests.e2e.walk_broken import Broken
from tests.e2e.walk_check import Check
from tests.e2e.walk_history import History, Others
from tests.e2e.walk_model import APPS, CLUSTERS, KINDS, MAPS, Repository
from tests.e2e.world import World
from tests.support import needs, patience

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
        self.others = Others(self.repository)
        self.check = Check(world, self.repository, self.history, self.others)
        self.suspended: set[str] = set()
        """Clusters."""
        self.silent: set[str] = set()
        """Objects that are suspended."""
        self.faulty: set[str] = set()
        self.touched: dict[tuple[str, str], float] = {}
        self.locked: set[str] = set()
        """What this burst has edited already, and what depends on it."""
        self.broken = Broken(self.random, self.repository, self.history, lambda path: (world.work / path).read_text())
        self.remade: set[str] = set()
        """Clusters that were made anew in this burst."""
        self.uids: dict[tuple[str, str], str] = {}
        """Of copies of ours by (cluster, name), when the burst began."""
        self.disturbed: set[str] = set()
        """Of what others changed something in this burst."""
        self.behind: set[str] = set()
        """What somewhere did not run its template's version when all was settled last."""
        self.steps = 0
        self.log: list[str] = []

    def burst(self, steps: int) -> None:
        """So many edits and disturbances, and then the settling."""
        self.locked.clear()
        self.disturbed.clear()
        self.remade.clear()
        if self.random.random() < 0.05:
            said, files = self.repository.edit_settings()
            self.say(f"push {said}")
            self.check.head = self.world.push(files, f"{len(self.log)}")
            # What was kept goes now: with other edits nobody could say which was first.
            self.locked |= {*KINDS, "gizmos"} if self.repository.prunes else set()
        for _ in range(steps):
            self.steps += 1
            if self.random.random() < 0.05:
                self.spoil()
            elif self.random.random() < 0.5:
                self.push()
            else:
                self.disturb()
        self.settle()

    # -- what people do -----------------------------------------------------------------------------------------

    def push(self) -> None:
        """One commit with one to three edits."""
        files: dict[str, str | None] = {}
        if "gizmos" not in self.locked and self.repository.prunes and self.random.random() < 0.1:
            self.locked.add("gizmos")
            said, changed = self.repository.edit_gizmos()
            self.say(f"push {said}")
            files |= changed
        for _ in range(self.random.choice([1, 1, 2, 3])):
            free = [name for name in KINDS if not self.history.concerns(name) & self.locked]
            if self.locked or self.disturbed:
                # What its wave kept back may be let through by the first change: nobody could say which was first.
                free = [name for name in free if name not in self.behind]
            if not free:
                break
            name = self.random.choice(free)
            before = self.history.concerns(name)
            calm = name not in self.disturbed and all(name != other for _, other in self.others.rivals)
            said, changed = self.repository.edit(name, self.locked, calm=calm, broken=bool(self.broken.files))
            self.locked |= before | self.history.concerns(name)
            self.say(f"push {said}")
            files |= changed
        if files:
            self.check.head = self.world.push(files, f"{len(self.log)}")

    def spoil(self) -> None:
        """One commit with a file that has errors; it stays so for the rest of the burst.

        Not after a policy that preserves and takes along: as long as the file holds its move, what it takes along goes
        to the places that it leaves too, and stays there with it; so it is a matter of when the move was made.
        """
        if any(self.repository.rules[name].stays_with_more for name in self.locked & self.repository.rules.keys()):
            return
        said, files = self.broken.spoil(self.locked)
        if files:
            self.say(f"push broken {said}")
            self.check.head = self.world.push(files, f"{len(self.log)}")

    def mend(self) -> None:
        """Sometimes only after all clusters have what is to be had of the broken commit."""
        if self.broken.files:
            if self.random.random() < 0.5:
                self.world.until(lambda: not [*self.check.unrecorded()], "the broken commit on record")
            self.say(f"mend {', '.join(self.broken.files)}")
            self.check.head = self.world.push(self.broken.mend(), f"{len(self.log)}")

    # -- what others do -----------------------------------------------------------------------------------------

    def disturb(self) -> None:
        acts = [self.drift, self.drift, self.delete, self.strip, self.note, self.strange, self.occupy, self.vacate,
                self.compete, self.relent, self.forsake, self.kill, self.fault, self.fault, self.restart, self.suspend,
                self.suspend_one, self.apply_beside, self.remake]  # fmt: skip
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
            if where not in self.check.down | self.suspended | self.faulty
            and name not in self.others.stopped(where)
            and not self.repository.suspends(name, where)
            and now - self.touched.get((where, name), -1000) > CALM
        ]
        if not found:
            return None
        chosen = self.random.choice(found)
        self.touched[chosen] = now
        self.disturbed.add(chosen[1])
        return chosen

    def patch(self, where: str, name: str, body: object) -> Any:
        path = self.world.path(KINDS.get(name, "ConfigMap"), "shop", name)
        return self.world.ask(where, "PATCH", path + "?fieldManager=somebody", body, "application/merge-patch+json")

    def drift(self) -> None:
        if chosen := self.victim():
            where, name = chosen
            if chosen in self.others.rivals:
                return  # what it declares would not be declared any more
            self.say(f"  drift {name} in {where}")
            body = {"spec": {"replicas": 9}} if name in APPS else {"data": {"version": "drifted", "extra": "theirs"}}
            changed = self.patch(where, name, body)
            if not self.repository.wants(name, where):
                self.check.unrepaired[chosen] = changed["metadata"]["uid"]

    def note(self) -> None:
        """A field that is not ours, in an object that is: it stays as long as the object."""
        if chosen := self.victim():
            where, name = chosen
            text = f"note {self.steps}"
            self.say(f"  {text} on {name} in {where}")
            body = self.patch(where, name, {"metadata": {"annotations": {"example.com/note": text}}})
            self.check.notes[chosen] = (body["metadata"]["uid"], text)

    def strip(self) -> None:
        """It comes back where the object is wanted; elsewhere the object would stay for good, and be reported."""
        chosen = self.victim()
        if chosen is None or chosen[1] in self.locked | self.silent or not self.repository.wants(chosen[1], chosen[0]):
            return
        if self.broken.files:
            return  # while a broken override could concern it, nothing is written
        where, name = chosen
        self.say(f"  strip label of {name} in {where}")
        self.patch(where, name, {"metadata": {"labels": {"gitfed.io/federation": None}}})

        def labelled() -> bool:
            self.check.controllers()
            body = self.world.get(where, KINDS[name], "shop", name)
            return body is not None and (body["metadata"].get("labels") or {}).get("gitfed.io/federation") == "acme"

        self.world.until(labelled, f"the label of {name} in {where} back")

    def delete(self) -> None:
        """It comes back where it is wanted; elsewhere (its policy preserves it where it was) that is the end of it."""
        if chosen := self.victim():
            where, name = chosen
            if not self.repository.wants(name, where):
                if name in self.locked:
                    return  # it is just leaving, or staying
                self.history.ours[name].discard(where)
            # Without its policy it would not come back, and nobody could say which was first.
            self.locked |= self.history.concerns(name)
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
        wanted = self.repository.wants(name, where)
        if name not in self.locked and not wanted and where not in self.history.ours.get(name, set()):
            self.make_foreign(where, name, {})

    def make_foreign(self, where: str, name: str, labels: dict[str, str]) -> None:
        if where in self.check.down | self.faulty:
            return
        body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"whose": "theirs"},
                "metadata": {"name": name, "namespace": "shop", "labels": labels}}  # fmt: skip
        if not self.world.endpoints[where].answers("/api/v1/namespaces/shop"):
            return
        self.world.ask(where, "POST", self.world.path("ConfigMap", "shop"), body)
        self.say(f"  foreign {name} in {where} {labels}")
        self.others.foreign[where, name] = self.check.content(where, name)

    def vacate(self) -> None:
        """Somebody's object in our way goes."""
        found = [
            (where, name) for where, name in sorted(self.others.foreign)
            if name in MAPS and name not in self.locked and where not in self.check.down | self.faulty
        ]  # fmt: skip
        if found:
            where, name = self.random.choice(found)
            self.say(f"  foreign {name} leaves {where}")
            self.world.ask(where, "DELETE", self.world.path("ConfigMap", "shop", name))
            del self.others.foreign[where, name]
            # What waited for it is written now, or with a later push of this burst: nobody could say which.
            self.locked |= {name, *APPS}

    def compete(self) -> None:
        """Another deployer declares a field of ours: our policy says who wins, and that it is said."""
        chosen = self.victim()
        if chosen is None or chosen[1] not in MAPS or chosen in self.others.rivals | self.others.foreign.keys():
            return
        where, name = chosen
        if name in self.locked or not self.repository.wants(name, where):
            return
        text = f"theirs-{self.steps}"
        self.say(f"  {name} in {where} is declared to be {text}")
        self.locked |= self.history.concerns(name)
        body = self.world.get(where, "ConfigMap", "shop", name)
        if body is not None:
            self.declare(where, name, body["metadata"]["uid"], {"version": text})
            self.others.rivals[chosen] = (body["metadata"]["uid"], text)

    def relent(self) -> None:
        """The other deployer declares nothing any more."""
        found = [
            (where, name) for where, name in sorted(self.others.rivals)
            if name not in self.locked and where not in self.check.down | self.faulty
        ]  # fmt: skip
        if found:
            where, name = self.random.choice(found)
            uid, _ = self.others.rivals.pop((where, name))
            self.say(f"  {name} in {where} is declared no more")
            # What waited for it is written now, or with a later push of this burst: nobody could say which.
            self.locked |= {*self.history.concerns(name), *APPS}
            self.declare(where, name, uid, {})

    def declare(self, where: str, name: str, uid: str, data: dict[str, str]) -> None:
        path = self.world.path("ConfigMap", "shop", name) + "?fieldManager=rival&force=true"
        body = {"apiVersion": "v1", "kind": "ConfigMap", "data": data,
                "metadata": {"name": name, "namespace": "shop", "uid": uid}}  # fmt: skip
        self.world.ask(where, "PATCH", path, body, "application/apply-patch+yaml")

    def forsake(self) -> None:
        """A person has orphans deleted."""
        repository, history = self.repository, self.history
        seen = self.others.seen(self.check.copies(self.check.look())) if not self.check.down | self.faulty else None
        for name in self.random.sample([*KINDS], len(KINDS)):
            # What an orphan runs with is no orphan: it stays as long as that.
            held = {where for where, _ in history.holders(name, seen)} if seen is not None else set()
            orphans = {where for where in history.ours.get(name, ()) if not repository.is_needed(name, where)} - held
            if (
                orphans and name in repository.templates and name not in repository.rules
                and name in history.placed and name not in self.locked
                and not self.check.down | self.faulty
            ):  # fmt: skip
                self.say(f"  orphans of {name} in {sorted(orphans)} are to be deleted")
                self.locked |= history.concerns(name)
                history.ours[name] -= orphans
                key = f"{'Deployment.apps' if name in APPS else 'ConfigMap'}/shop/{name}"
                self.world.gitfed("orphans", "delete", key, "--live", "--kubeconfig", str(self.world.kubeconfig),
                                  "--repo", str(self.world.bare))  # fmt: skip
                return

    def kill(self) -> None:
        where = self.random.choice(CLUSTERS)
        if where in self.check.down:
            self.up(where)
        elif not self.check.down:
            self.say(f"  {where} dies")
            self.world.servers[where].kill()
            self.check.down.add(where)

    def up(self, where: str) -> None:
        self.say(f"  {where} comes back")
        self.world.servers[where].start()
        self.check.down.discard(where)

    def remake(self) -> None:
        """A cluster is deleted and made anew at its address: everything that was in it is gone, whoever had it."""
        where = self.random.choice(CLUSTERS)
        remake = getattr(self.world.servers[where], "remake", None)
        if remake is None or where in self.check.down or self.random.random() < 0.5:
            return
        self.say(f"  {where} is made anew")
        remake()
        self.remade.add(where)
        self.faulty.discard(where)
        self.history.lost(where)
        self.others.lost(where)
        self.check.notes = {one: note for one, note in self.check.notes.items() if one[0] != where}
        # What a copy was like that is gone there decides what becomes of others: nobody could say what came first.
        self.locked |= {*KINDS, "gizmos"}

    def fault(self) -> None:
        """Only the embedded fleet can do that on demand."""
        where, name = self.random.choice(CLUSTERS), self.random.choice(sorted(FAULTS))
        tell = getattr(self.world.servers[where], "tell", None)
        if tell is not None and where not in self.check.down:
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

    def apply_beside(self) -> None:
        """Somebody applies in a clone of long ago, while the daemon leads: it is left to the daemon."""
        self.say("  apply in an old clone")
        done = self.world.gitfed(
            "apply", "--repo", str(self.old_clone()), "--kubeconfig", str(self.world.kubeconfig),
            "--data-dir", str(self.world.directory / "old-data"), check=False,
        )  # fmt: skip
        said = f"{done.stdout}\n{done.stderr}"
        if needs.PULLED and not self.faulty:
            assert (done.returncode, "nothing can be applied by hand" in done.stderr) == (4, True), said
        elif not (self.check.down or self.faulty):
            assert (done.returncode, "a daemon leads in" in done.stderr) == (4, True), said
        elif done.returncode != 4:
            # No cluster told who leads: then the gate holds what goes back behind the applied commit.
            assert (done.returncode, "Gates   history" in done.stdout, " 0 writes" in done.stdout) == (5, True, True), (
                said
            )

    def old_clone(self) -> Path:
        """A clone that nobody ever fetches into: what it knows of the state is what was there when it was made."""
        clone = self.world.directory / "old-clone"
        if not clone.exists():
            subprocess.run(["git", "clone", "-q", str(self.world.bare), str(clone)], check=True)
        return clone

    def somewhere(self) -> str:
        """Orders about clusters are given in the repository itself, or in the old clone, which knows old objects."""
        return str(self.random.choice([self.world.bare, self.old_clone()]))

    def suspend(self) -> None:
        where = self.random.choice(CLUSTERS)
        if where in self.suspended:
            self.resume(where)
        else:
            self.say(f"  suspend {where}")
            self.world.gitfed("suspend", f"cluster/{where}", "--repo", self.somewhere())
            self.suspended.add(where)

    def suspend_one(self) -> None:
        """One object, wherever it is."""
        name = self.random.choice([*KINDS])
        if name in self.repository.templates and name not in self.silent:
            self.say(f"  suspend {name}")
            self.world.gitfed("suspend", f"{KINDS[name]}/shop/{name}", "--repo", str(self.world.bare))
            self.silent.add(name)

    def resume_one(self, name: str) -> None:
        self.say(f"  resume {name}")
        self.world.gitfed("resume", f"{KINDS[name]}/shop/{name}", "--repo", str(self.world.bare))
        self.silent.discard(name)

    def resume(self, where: str) -> None:
        self.say(f"  resume {where}")
        self.world.gitfed("resume", f"cluster/{where}", "--repo", self.somewhere())
        self.suspended.discard(where)

    # -- what must be true --------------------------------------------------------------------------------------

    def settle(self) -> None:
        for where in sorted(self.check.down):
            self.up(where)
        for where in sorted(self.faulty):
            self.heal(where)
        for where in sorted(self.suspended):
            self.resume(where)
        for name in sorted(self.silent):
            self.resume_one(name)
        self.mend()
        end = time.monotonic() + patience.SECONDS
        while wrong := self.check.wrong():
            if time.monotonic() > end:
                raise AssertionError("\n".join([f"seed {self.seed}", *self.log, "", *wrong, "", *self.check.planned()]))
            time.sleep(0.1)
        found = self.check.look()
        copies = self.check.copies(found)
        uids = {(where, name): found[where][name]["metadata"]["uid"] for where, name in copies}
        for where, name in self.uids:
            if (
                name not in self.locked
                and where not in self.remade
                and uids.get((where, name)) != self.uids[where, name]
            ):
                raise AssertionError("\n".join([f"seed {self.seed}", *self.log, f"{name} in {where} is another one"]))
        self.uids = uids
        seen = self.others.seen(copies)
        self.behind = {name for _, name in seen.behind}
        self.history.settled(copies, seen)
        self.check.settled(found)
        self.say("settled")

    def say(self, text: str) -> None:
        self.log.append(text)
