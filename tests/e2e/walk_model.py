"""What people push in a random walk, and what follows from that alone.

Objects of two kinds, each with a policy of its own or none; workloads that refer to some of the others and may take
them along; a definition with its objects; and a setting. What the daemon must remember beside is in `walk_history`.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import Any

from tests.e2e.definitions import custom, definition, everything
from tests.e2e.world import config_map, policy, settings
from tests.planning.dependants import workload

CLUSTERS = ["m1", "m2", "m3"]
APPS = [f"d{n}" for n in range(6)]
MAPS = [f"c{n}" for n in range(6)]
KINDS = {**dict.fromkeys(APPS, "Deployment"), **dict.fromkeys(MAPS, "ConfigMap")}
GIZMOS = ["g0", "g1"]
DEFINITION = "gizmos.example.com"
EDITS = ("change", "change", "place", "place", "remove", "remove-policy", "both")
_GIZMO_FILES = {f"gizmos/{name}.json": name for name in GIZMOS}


PRUNE_DISABLED = {"gitfed.io/prune": "disabled"}
DELETION_PROTECTED = {"resourcetemplate.karmada.io/deletion-protected": "Always"}
GUARDS = {"maxDeletions": 1000, "maxDeletionPercent": 100, "maxMovedReplicasPercent": 100}
"""What people do here is wild on purpose."""


@dataclass
class Template:
    version: int
    refers: tuple[str, ...] = ()
    wave: str = ""
    keeps: bool = False
    """Annotated so that no copy is ever deleted."""
    guarded: bool = False
    """Labelled so that copies outlive the template."""

    def metadata(self) -> dict[str, Any]:
        annotations = {**(PRUNE_DISABLED if self.keeps else {}), **({"gitfed.io/wave": self.wave} if self.wave else {})}
        return {"annotations": annotations, "labels": DELETION_PROTECTED if self.guarded else {}}


@dataclass
class Rule:
    """The policy of one template."""

    clusters: tuple[str, ...]
    takes: bool = False
    preserves: bool = False
    overwrites: bool = False
    suspended: tuple[str, ...] = ()
    """Clusters where nothing is written."""

    @property
    def stays_with_more(self) -> bool:
        """Where it leaves, copies stay with what they took along."""
        return self.takes and self.preserves


@dataclass
class Gizmos:
    """A definition and two objects of its kind, which come, move and go together."""

    version: int
    clusters: tuple[str, ...]


@dataclass
class Repository:
    random: random.Random
    templates: dict[str, Template] = field(default_factory=dict)
    rules: dict[str, Rule] = field(default_factory=dict)
    gizmos: Gizmos | None = None
    prunes: bool = True
    version: int = 0

    # -- edits --------------------------------------------------------------------------------------------------

    def edit(
        self, name: str, locked: set[str], *, calm: bool = True, broken: bool = False
    ) -> tuple[str, dict[str, str | None]]:
        """(what was done, files to write or to remove). Nothing in `locked` is referred to anew.

        `calm`: nobody else has a hand in its copies now, so that what is suspended stays as all know it. `broken`: a
        file with errors holds moves.
        """
        what = self.random.choice(EDITS)
        known, ruled = name in self.templates, name in self.rules
        files: dict[str, str | None] = {}
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
                files[f"apps/{name}.json"] = self._template(name, locked)
            if what == "place" or not ruled:
                files[f"policies/{name}.json"] = self._rule(name, calm=calm, broken=broken)
        return f"{what} {name}: template {self.templates.get(name)}, policy {self.rules.get(name)}", files

    def _template(self, name: str, locked: set[str]) -> str:
        self.version += 1
        protection = self.random.random()
        keeps, guarded = protection < 0.1, protection > 0.85
        if name in MAPS:
            self.templates[name] = made = Template(self.version, keeps=keeps, guarded=guarded)
            return config_map(name, {"version": str(self.version), "also": str(self.version)}, **made.metadata())
        wave = self.random.choice(["", "", "", "1"])
        free = [one for one in MAPS if one not in locked]
        refers = tuple(self.random.sample(free, min(len(free), self.random.choice([0, 1, 1, 2]))))
        self.templates[name] = Template(self.version, refers, wave, keeps, guarded)
        body = json.loads(workload(name, *refers, replicas=2))
        body["spec"]["template"]["spec"]["containers"][0]["image"] = f"nginx:{self.version}"
        body["metadata"] |= self.templates[name].metadata()
        return json.dumps(body)

    def _rule(self, name: str, *, calm: bool, broken: bool) -> str:
        clusters = tuple(sorted(self.random.sample(CLUSTERS, self.random.choice([1, 2, 2, 3]))))
        takes, preserves = name in APPS and self.random.random() < 0.6, self.random.random() < 0.1
        overwrites = self.random.random() < 0.2
        suspended = tuple(one for one in CLUSTERS if self.random.random() < 0.4) if self.random.random() < 0.15 else ()
        if not calm:
            suspended = ()
        preserves = preserves and not (broken and takes)
        self.rules[name] = Rule(clusters, takes, preserves, overwrites, suspended)
        kind = ("apps/v1", "Deployment") if name in APPS else ("v1", "ConfigMap")
        made = json.loads(policy(name, list(clusters), (kind,), propagateDeps=takes,
                                 preserveResourcesOnDeletion=preserves,
                                 conflictResolution="Overwrite" if overwrites else "Abort"))  # fmt: skip
        made["spec"]["resourceSelectors"][0]["name"] = name
        if suspended == tuple(CLUSTERS):
            made["spec"]["suspension"] = {"dispatching": True}
        elif suspended:
            made["spec"]["suspension"] = {"dispatchingOnClusters": {"clusterNames": [*suspended]}}
        return json.dumps(made)

    def edit_settings(self) -> tuple[str, dict[str, str | None]]:
        """Nothing is deleted any more, or that is over."""
        self.prunes = not self.prunes
        return f"prune: {self.prunes}", {"gitfed.json": self.settings()}

    def edit_gizmos(self) -> tuple[str, dict[str, str | None]]:
        """A definition and its objects come, change, move or go, in one push."""
        self.version += 1
        what = self.random.choice(["change", "place", "remove"]) if self.gizmos is not None else "add"
        if what == "remove":
            self.gizmos = None
            return "remove gizmos", dict.fromkeys(["gizmos.json", "policies/gizmos.json", *_GIZMO_FILES])
        clusters = tuple(sorted(self.random.sample(CLUSTERS, self.random.choice([1, 2, 3]))))
        if self.gizmos is not None and what == "change":
            clusters = self.gizmos.clusters
        self.gizmos = Gizmos(self.version, clusters)
        files: dict[str, str | None] = {
            "gizmos.json": definition("gizmos", "Gizmo"),
            "policies/gizmos.json": everything("gizmos", "Gizmo", [*clusters]),
        }
        files |= {path: custom("Gizmo", name, str(self.version)) for path, name in _GIZMO_FILES.items()}
        return f"{what} gizmos: {self.gizmos}", files

    def settings(self) -> str:
        return settings(guards=GUARDS, sync={"prune": self.prunes})

    # -- questions ----------------------------------------------------------------------------------------------

    def concerns(self, name: str) -> set[str]:
        """The names whose copies an edit of this one may move, by the repository alone."""
        template = self.templates.get(name)
        return {name, *(template.refers if template else ()),
                *(app for app, one in self.templates.items() if name in one.refers)}  # fmt: skip

    def takes(self, app: str, name: str) -> bool:
        rule = self.rules.get(app)
        return app in self.templates and rule is not None and rule.takes and name in self.templates[app].refers

    def is_needed(self, name: str, where: str) -> bool:
        return any(self.takes(app, name) and where in self.rules[app].clusters for app in self.rules)

    def suspends(self, name: str, where: str) -> bool:
        """Whether its policy lets nothing be written there. Those that take it along have no say in that."""
        return name in self.rules and where in self.rules[name].suspended

    def overwrites(self, name: str) -> bool:
        """Whether it takes over what others have or declare: its policy says so, or else those that take it along."""
        if name in self.rules:
            return self.rules[name].overwrites
        return any(self.rules[app].overwrites for app in self.rules if self.takes(app, name))

    def preserves(self, name: str) -> bool:
        """Whether copies outlive their place: its policy says so, or else those that take it along."""
        if name in self.rules:
            return self.rules[name].preserves
        return any(self.rules[app].preserves for app in self.rules if self.takes(app, name))

    def wants(self, name: str, where: str) -> bool:
        """Whether an object is placed there, whoever has its name."""
        rule = self.rules.get(name)
        return name in self.templates and (self.is_needed(name, where) or (rule is not None and where in rule.clusters))
