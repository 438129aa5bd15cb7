"""The planner alone on a virtual clock: no binding is decided more often than something happens to it.

Clusters fail and recover, get taints with and without a time, lose labels and room; policies change how they place and
what they tolerate for how long; workloads are edited, rebalanced, descheduled, slow; new files have errors, files move
into such ones, and errors get into files. After each of these, time passes with nothing else happening, in seconds and
in leaps to the moments that the plan names. What then changes must come to an end: a few decisions for one event, and
in the end none.
And what a broken file may have meant stays as it is until it is mended, while the rest goes on.

`GITFED_TIMED_STEPS` says how long, `GITFED_RANDOM_SEED` which walk.
"""

from __future__ import annotations

import json
import os
import random
from datetime import timedelta
from typing import Any

from gitfed.model.base import ObjectKey
from gitfed.model.fleet import Reach, Stuck
from gitfed.placement.failover import deschedule
from tests.e2e.definitions import definition
from tests.e2e.world import cluster, deployment, policy, settings
from tests.planning.stage import Stage
from tests.planning.walked import workload

STEPS = int(os.environ.get("GITFED_TIMED_STEPS", "60"))
SEED = int(os.environ.get("GITFED_RANDOM_SEED", "1"))
APPS = ("web", "api", "jobs", "cache")
DYNAMIC = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
           "weightPreference": {"dynamicWeight": "AvailableReplicas"}}  # fmt: skip
DIVISIONS: tuple[dict[str, Any] | None, ...] = (
    None,
    {"replicaSchedulingType": "Duplicated"},
    {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"},
    {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"},
    DYNAMIC,
)
SPREADS = (None, [1, 1], [1, 2], [2, 3])
SECONDS = (None, 0, 5, 60, 400)
KEYS = ("drain", "broken", "cluster.karmada.io/not-ready", "cluster.karmada.io/unreachable", "")
BASED = ObjectKey("apps", "Deployment", "shop", "based")
PLACES = (*APPS, "policy-", "clusters/")
OF_ALL = ("ClusterPropagationPolicy", "ClusterOverridePolicy", "ResourceInterpreterCustomization")
MOST = 6
"""Decisions of one workload after one event: it leaves, has left, comes back, in a fleet where it has three copies."""
LEAPS = 12
"""Moments that the plan names, after which nothing is to happen any more."""


class Walk:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.taints: dict[str, list[dict[str, Any]]] = {}
        self.groups: dict[str, str] = {}
        self.time = 0.0
        self.log: list[str] = []
        self.rebalancers = 0
        self.spoiled: dict[str, tuple[str, str]] = {}
        """Path of a broken file → the path and text of the file that moved into it, ("", "") for none."""
        self.frozen: dict[str, object] = {}
        """App that nothing may be decided for, because a broken file may be about it → its shares."""
        self.slips: dict[str, str] = {}
        """Path of a file that got errors in its place → its broken text."""
        self.stage = Stage(5)
        self.stage.may_be_broken = True
        del self.stage.files["web.json"], self.stage.files["policy.json"]
        for app in APPS:
            self.stage.files[f"{app}.json"] = workload(app, 4)
            self.place(app)
        for name in self.stage.names:
            self.room(name)
        self.pass_time()

    # -- what happens -------------------------------------------------------------------------------------------

    def step(self) -> None:
        events = [self.taint, self.taint, self.untaint, self.untaint, self.fail, self.fail, self.recover, self.recover,
                  self.edit, self.edit_policy, self.relabel, self.some_room, self.slow, self.rebalance,
                  self.find_no_node, self.refuse, self.configure, self.restart, self.wait, self.spoil, self.spoil,
                  self.mend, self.mend, self.mend, self.slip, self.correct, self.rebuild]  # fmt: skip
        self.random.choice(events)()
        self.pass_time()

    def say(self, text: str) -> None:
        self.log.append(f"{self.time:.0f} {text}")

    def cluster(self) -> str:
        return self.random.choice(self.stage.names)

    def write_cluster(self, name: str) -> None:
        self.stage.files[f"clusters/{name}.json"] = cluster(
            name, region=self.groups.get(name, f"r-{name}"), taints=self.taints.get(name, [])
        )

    def taint(self) -> None:
        name, key = self.cluster(), self.random.choice(["drain", "broken"])
        effect = self.random.choice(["NoExecute", "NoExecute", "NoSchedule"])
        added = self.random.choice([None, 0, 3, 100, 100_000])
        one = {"key": key, "effect": effect}
        if added is not None:
            one["timeAdded"] = (self.stage.now - timedelta(seconds=added)).isoformat()
        others = [other for other in self.taints.get(name, []) if (other["key"], other["effect"]) != (key, effect)]
        self.taints[name] = [*others, one]
        self.write_cluster(name)
        self.say(f"taint {name} {one}")

    def untaint(self) -> None:
        tainted = [name for name, listed in self.taints.items() if listed]
        if tainted:
            name = self.random.choice(tainted)
            self.taints[name] = self.taints[name][1:]
            self.write_cluster(name)
            self.say(f"untaint {name}")

    def fail(self) -> None:
        name = self.cluster()
        self.stage.fail(name, how=self.random.choice([Reach.UNKNOWN, Reach.NOT_READY]))
        self.say(f"{name} fails")

    def recover(self) -> None:
        name = self.cluster()
        self.stage.recover(name)
        self.say(f"{name} recovers")

    def edit(self) -> None:
        app, replicas = self.random.choice(APPS), self.random.randint(0, 9)
        self.stage.files[f"{app}.json"] = workload(app, replicas)
        self.say(f"{app} has {replicas} replicas")

    def edit_policy(self) -> None:
        self.place(self.random.choice(APPS))

    def place(self, app: str) -> None:
        placement: dict[str, Any] = {}
        if (division := self.random.choice(DIVISIONS)) is not None:
            placement["replicaScheduling"] = division
        if (spread := self.random.choice(SPREADS)) is not None:
            least, most = spread
            placement["spreadConstraints"] = [{"spreadByField": "cluster", "minGroups": least, "maxGroups": most}]
        placement["clusterTolerations"] = [self.toleration() for _ in range(self.random.choice([0, 1, 1, 2, 3]))]
        mode = self.random.choice(["Gracefully", "Directly"])
        rule = json.loads(policy(app, None, placement=placement, failover={"cluster": {"purgeMode": mode}}))
        rule["spec"]["resourceSelectors"][0]["name"] = app
        self.stage.files[f"policy-{app}.json"] = json.dumps(rule)
        self.say(f"{app} is placed by {json.dumps(placement)} {mode}")

    def toleration(self) -> dict[str, Any]:
        key, seconds = self.random.choice(KEYS), self.random.choice(SECONDS)
        one: dict[str, Any] = {"operator": "Exists"}
        if key:
            one["key"] = key
        if seconds is not None:
            one["effect"], one["tolerationSeconds"] = "NoExecute", seconds
        elif self.random.random() < 0.5:
            one["effect"] = self.random.choice(["NoExecute", "NoSchedule"])
        return one

    def relabel(self) -> None:
        name = self.cluster()
        self.groups[name] = self.random.choice(["r-1", "r-2", f"r-{name}"])
        self.write_cluster(name)
        self.say(f"{name} is in {self.groups[name]}")

    def room(self, name: str) -> None:
        cpu = self.random.choice([0, 1, 2, 5, 50])
        self.stage.summaries[name] = {"allocatable": {"cpu": str(cpu), "memory": "100Gi", "pods": "100"}}

    def some_room(self) -> None:
        name = self.cluster()
        self.room(name)
        self.say(f"{name} has room {self.stage.summaries[name]}")

    def slow(self) -> None:
        name = self.cluster()
        self.stage.slow ^= {name}
        self.say(f"slow: {sorted(self.stage.slow)}")

    def refuse(self) -> None:
        name = self.cluster()
        self.stage.refusing ^= {name}
        self.say(f"refusing: {sorted(self.stage.refusing)}")

    def rebalance(self) -> None:
        app = self.random.choice(APPS)
        self.rebalancers += 1
        self.stage.files["rebalancer.json"] = json.dumps({
            "apiVersion": "apps.karmada.io/v1alpha1", "kind": "WorkloadRebalancer",
            "metadata": {"name": f"again-{self.rebalancers}"},
            "spec": {"workloads": [{"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": app}]},
        })  # fmt: skip
        self.say(f"rebalance {app}")

    def find_no_node(self) -> None:
        app = self.random.choice(APPS)
        if f"{app}.json" not in self.stage.files:
            return  # nobody looks at the pods of what no file defines
        key = ObjectKey("apps", "Deployment", "shop", app)
        shares = [one for one in self.stage.decisions.bindings[key].scheduled.shares if one.replicas]
        if shares and app not in self.frozen:
            share = self.random.choice(shares)
            stuck = {key: {share.cluster: Stuck(0, share.replicas or 0)}}
            self.stage.decisions, trims = deschedule.deschedule(self.stage.decisions, stuck, self.stage.now)
            self.say(f"no node: {trims}")

    def configure(self) -> None:
        failover = self.random.choice([
            {}, {"evictionTimeout": "10s"}, {"maxEvictionsPerMinute": 1}, {"gracefulEvictionTimeout": "30s"},
            {"startWithoutConfirmation": True},
        ])  # fmt: skip
        self.stage.files["gitfed.json"] = settings(failover=failover)
        self.say(f"settings: {failover}")

    def restart(self) -> None:
        self.stage.restart()
        self.say("restart")

    def rebuild(self) -> None:
        """A cluster is there again without anything in it."""
        name = self.cluster()
        if self.stage.reach[name] is Reach.READY:
            for copies in self.stage.objects.values():
                copies.pop(name, None)
            self.say(f"{name} is rebuilt")

    def wait(self) -> None:
        self.time += self.random.choice([1, 4, 59, 299, 3600])
        self.say("later")

    def spoil(self) -> None:
        """A new file with errors, or a good file that moved into one."""
        moved = [path for path in self.stage.files if path.startswith(PLACES) and not self.is_slip(path)]
        origin = self.random.choice(["", self.random.choice(moved)]) if moved else ""
        if not origin and self.random.random() < 0.1:
            self.break_overlay()
            return
        text = self.stage.files.pop(origin) if origin else self.random.choice(self.new_texts())
        path = f"broken/{len(self.log)}.yaml"
        self.spoiled[path] = (origin, text if origin else "")
        self.stage.files[path] = self.break_text(text)
        self.say(f"{path} is broken: {origin or text[:90]}")
        self.freeze()

    def break_overlay(self) -> None:
        """Its base is no template by itself, whatever the mistake is (`check_broken`)."""
        folder = f"broken/{len(self.log)}"
        self.stage.files |= {
            f"{folder}/base/kustomization.yaml": "resources: [based.json]",
            f"{folder}/base/based.json": workload("based", 4),
        }
        text = self.random.choice(["resources: [../base", "resources: [../base]\npatches: [{path: missing.yaml}]"])
        path = f"{folder}/overlay/kustomization.yaml"
        self.stage.files[path], self.spoiled[path] = text, ("", "")
        self.say(f"{path} is broken: {text}")

    def slip(self) -> None:
        """A file gets errors: all is as its last good version says."""
        path = self.random.choice(["gitfed.json", *(path for path in self.stage.files if path.startswith(PLACES))])
        if path in self.stage.files and not self.is_slip(path):
            before = self.planned()
            self.stage.good[path] = self.stage.files[path]
            self.slips[path] = self.stage.files[path] = self.break_text(self.stage.files[path])
            self.say(f"a slip gets into {path}")
            assert self.planned() == before, self.told(f"a slip in {path} changes what is to be done")

    def correct(self) -> None:
        found = [path for path in sorted(self.slips) if self.is_slip(path)]
        if found:
            path, before = self.random.choice(found), self.planned()
            self.stage.files[path] = self.stage.good.pop(path)
            del self.slips[path]
            self.say(f"{path} is corrected")
            assert self.planned() == before, self.told(f"without the slip in {path} something else is to be done")

    def is_slip(self, path: str) -> bool:
        """Not if somebody has written the file meanwhile."""
        return path in self.slips and self.stage.files.get(path) == self.slips[path]

    def planned(self) -> object:
        plan = self.stage.build()
        changes = [(one.cluster, one.key, one.action, str(one.reason)) for one in plan.changes or ()]
        return {key: binding.scheduled.shares for key, binding in plan.bindings.items()}, changes

    def new_texts(self) -> list[str]:
        rule = json.loads(policy("new", ["m1"]))
        of_all = {**rule, "kind": "ClusterPropagationPolicy", "metadata": {"name": "new"}}
        override = {**rule, "kind": "OverridePolicy", "spec": {"overrideRules": []}}
        override_all = {**override, "kind": "ClusterOverridePolicy", "metadata": {"name": "new"}}
        script = {
            "apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterCustomization",
            "metadata": {"name": "new"}, "spec": {"target": {"apiVersion": "apps/v1", "kind": "Deployment"},
                                                  "customizations": {}},
        }  # fmt: skip
        taints = {**of_all, "kind": "ClusterTaintPolicy", "spec": {"taints": []}}
        others = (override_all, script, taints)
        quota = {**rule, "kind": "FederatedResourceQuota", "spec": {"overall": {}}}
        elsewhere = policy("new", ["m1"], namespace="other")
        return [*map(json.dumps, (rule, of_all, override, quota, *others)), elsewhere, deployment("new"), cluster("m9"),
                definition("gizmos", "Gizmo"), "a: 1"]  # fmt: skip

    def break_text(self, text: str) -> str:
        """So that it is no YAML, or has a field that nobody knows."""
        if self.random.random() < 0.5 or not text.startswith("{"):
            return text.rstrip("}") + "["
        document = json.loads(text)
        key = "metadata" if document["kind"] in ("Deployment", "CustomResourceDefinition") else "spec"
        document[key] = {**document[key], "unknwn": 1, **({"name": "web_"} if key == "metadata" else {})}
        return json.dumps(document)

    def mend(self) -> None:
        if self.spoiled:
            path = self.random.choice(sorted(self.spoiled))
            origin, text = self.spoiled.pop(path)
            folder = path.removesuffix("overlay/kustomization.yaml")
            for other in [
                other for other in self.stage.files if other == path or (folder != path and other.startswith(folder))
            ]:
                del self.stage.files[other]
            if origin and origin not in self.stage.files:
                self.stage.files[origin] = text
            self.say(f"{path} is mended")
            self.freeze()

    def freeze(self) -> None:
        """Which workloads the broken files may be about, as far as this walk knows what it broke."""
        about = [path for path in self.spoiled if self.may_concern(self.stage.files[path])]
        held = {app for app in APPS if about}
        for app in held - self.frozen.keys():
            key = ObjectKey("apps", "Deployment", "shop", app)
            decision = self.stage.decisions.bindings.get(key)
            if decision is not None:
                self.frozen[app] = (decision.rescheduling.undone or decision).scheduled.shares
        for app in self.frozen.keys() - held:
            del self.frozen[app]

    @staticmethod
    def may_concern(text: str) -> bool:
        if any(f'"{kind}"' in text for kind in OF_ALL):
            return True
        kinds = ("PropagationPolicy", "OverridePolicy", "FederatedResourceQuota")
        return any(f'"{kind}"' in text for kind in kinds) and '"namespace": "other"' not in text

    # -- what must be true --------------------------------------------------------------------------------------

    def pass_time(self) -> None:
        """Nothing happens but that time goes on."""
        counts = dict.fromkeys(APPS, 0)
        for _ in range(self.random.choice([3, 8])):
            self.turn(counts)
            self.time += 1
        for _ in range(self.random.choice([0, 2, LEAPS, LEAPS])):
            due = self.stage.due()
            if due is None:
                break
            self.time = max(self.time, due)
            self.turn(counts)
            self.turn(counts)
            self.turn(counts)
        self.check_record()

    def turn(self, counts: dict[str, int]) -> None:
        before, copies = self.where(), self.copies()
        self.stage.at(self.time).turn()
        after = self.where()
        self.check_broken(copies)
        for app in APPS:
            if before.get(app) != after[app]:
                counts[app] += 1
                self.say(f"  {app}: {before.get(app)} → {after[app]}")
                assert counts[app] <= MOST, self.told(f"{app} is decided {counts[app]} times after one event")
        stopped = [text for text in self.stage.problems() if "stopped: " in text]
        assert not stopped, self.told(stopped[0])

    def check_broken(self, before: dict[str, set[str]]) -> None:
        after, bindings = self.copies(), self.stage.decisions.bindings
        assert BASED not in self.stage.objects, self.told("the base of a broken overlay is deployed")
        for app in APPS:
            key = ObjectKey("apps", "Deployment", "shop", app)
            if f"{app}.json" not in self.stage.files:
                gone = before[app] - after[app]
                assert not gone, self.told(f"{app} moved into a broken file, and its copy in {gone} was deleted")
            if app in self.frozen and bindings[key].scheduled.shares != self.frozen[app]:
                raise AssertionError(
                    self.told(f"{app} may not be decided: {self.frozen[app]} → {bindings[key].scheduled.shares}")
                )

    def check_record(self) -> None:
        """Where all is well, what is written down is what is there."""
        bindings, files = self.stage.decisions.bindings, self.stage.files
        for app in APPS:
            if f"{app}.json" in files and app not in self.frozen:
                decision = bindings[ObjectKey("apps", "Deployment", "shop", app)]
                if decision.failover.evictions:
                    continue  # with Directly a new copy waits for the end of the old one
                ready = {name for name in self.stage.names if self.stage.reach[name] is Reach.READY}
                ready = {name for name in ready - self.stage.refusing if f"clusters/{name}.json" in files}
                missing = {share.cluster for share in decision.scheduled.shares} & ready - self.copies()[app]
                assert not missing or f"policy-{app}.json" not in files, self.told(f"{app} is not in {missing}")

    def copies(self) -> dict[str, set[str]]:
        objects = self.stage.objects
        return {app: set(objects.get(ObjectKey("apps", "Deployment", "shop", app), ())) for app in APPS}

    def where(self) -> dict[str, object]:
        return {
            key.name: (
                " ".join(f"{share.cluster}={share.replicas}" for share in one.scheduled.shares),
                *(f"leaves {task.from_cluster}" for task in one.failover.evictions),
            )
            for key, one in self.stage.decisions.bindings.items()
        }

    def told(self, what: str) -> str:
        return "\n".join([f"seed {self.seed}", *self.log[-60:], what])


def test_no_binding_is_decided_more_often_than_something_happens() -> None:
    walk = Walk(SEED)
    for _ in range(STEPS):
        walk.step()
    assert walk.log
