"""What a random walk expects: which object should be where, from the repository alone.

The rules are a few lines each and were written without a look at the planner. `Repository` is what people pushed;
`History` what the daemon must remember of it (orphans, preserved copies, what a workload that is an orphan needs), kept
up to date at each settling, which is why one burst of edits touches a name once at most.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field

from tests.change.test_dependencies import workload
from tests.e2e.test_definitions import custom, definition, everything
from tests.e2e.world import config_map, policy

CLUSTERS = ["m1", "m2", "m3"]
APPS = [f"d{n}" for n in range(6)]
MAPS = [f"c{n}" for n in range(6)]
KINDS = {**dict.fromkeys(APPS, "Deployment"), **dict.fromkeys(MAPS, "ConfigMap")}
GIZMOS = ["g0", "g1"]
DEFINITION = "gizmos.example.com"
EDITS = ("change", "change", "place", "place", "remove", "remove-policy", "both")
_GIZMO_FILES = {f"gizmos/{name}.json": name for name in GIZMOS}


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
    overwrites: bool = False


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
    version: int = 0

    # -- edits --------------------------------------------------------------------------------------------------

    def edit(self, name: str, locked: set[str]) -> tuple[str, dict[str, str | None]]:
        """(what was done, files to write or to remove). Nothing in `locked` is referred to anew."""
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
                files[f"policies/{name}.json"] = self._rule(name)
        return f"{what} {name}: template {self.templates.get(name)}, policy {self.rules.get(name)}", files

    def _template(self, name: str, locked: set[str]) -> str:
        self.version += 1
        if name in MAPS:
            self.templates[name] = Template(self.version)
            return config_map(name, {"version": str(self.version), "also": str(self.version)})
        wave = self.random.choice(["", "", "", "1"])
        free = [one for one in MAPS if one not in locked]
        refers = tuple(self.random.sample(free, min(len(free), self.random.choice([0, 1, 1, 2]))))
        self.templates[name] = Template(self.version, refers, wave)
        made = json.loads(workload(name, *refers, replicas=2))
        made["spec"]["template"]["spec"]["containers"][0]["image"] = f"nginx:{self.version}"
        if wave:
            made["metadata"]["annotations"] = {"gitfed.io/wave": wave}
        return json.dumps(made)

    def _rule(self, name: str) -> str:
        clusters = tuple(sorted(self.random.sample(CLUSTERS, self.random.choice([1, 2, 2, 3]))))
        takes, preserves = name in APPS and self.random.random() < 0.6, self.random.random() < 0.1
        overwrites = self.random.random() < 0.2
        self.rules[name] = Rule(clusters, takes, preserves, overwrites)
        kind = ("apps/v1", "Deployment") if name in APPS else ("v1", "ConfigMap")
        made = json.loads(policy(name, list(clusters), (kind,), propagateDeps=takes,
                                 preserveResourcesOnDeletion=preserves,
                                 conflictResolution="Overwrite" if overwrites else "Abort"))  # fmt: skip
        made["spec"]["resourceSelectors"][0]["name"] = name
        return json.dumps(made)

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

    # -- questions ----------------------------------------------------------------------------------------------

    def concerns(self, name: str) -> set[str]:
        """The names whose copies an edit of this one may move."""
        template = self.templates.get(name)
        return {name, *(template.refers if template else ()),
                *(app for app, one in self.templates.items() if name in one.refers)}  # fmt: skip

    def takes(self, app: str, name: str) -> bool:
        rule = self.rules.get(app)
        return app in self.templates and rule is not None and rule.takes and name in self.templates[app].refers

    def is_needed(self, name: str, where: str) -> bool:
        return any(self.takes(app, name) and where in self.rules[app].clusters for app in self.rules)

    def overwrites(self, name: str) -> bool:
        """Whether it takes over what others have or declare: its policy says so, or else those that take it along."""
        if name in self.rules:
            return self.rules[name].overwrites
        return any(self.rules[app].overwrites for app in self.rules if self.takes(app, name))

    def wants(self, name: str, where: str) -> bool:
        """Whether an object is placed there, whoever has its name."""
        rule = self.rules.get(name)
        return name in self.templates and (self.is_needed(name, where) or (rule is not None and where in rule.clusters))


@dataclass(frozen=True)
class Seen:
    """What the clusters show, as far as the rules ask for it."""

    taken: frozenset[tuple[str, str]] = frozenset()
    """(cluster, name) that others have, or that a wave before it keeps from being written."""
    behind: frozenset[tuple[str, str]] = frozenset()
    """(cluster, workload) whose copy there does not run the template's version: a wave before it cannot end."""


@dataclass
class History:
    repository: Repository
    ours: dict[str, set[str]] = field(default_factory=dict)
    """Where copies of ours were when all was settled last."""
    placed: set[str] = field(default_factory=set)
    """Templates that a policy placed since they are there: without it their copies are orphans."""
    preserved: set[str] = field(default_factory=set)
    """Templates whose last policy said that copies outlive them."""
    holds: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    """By object: (cluster, workload) of copies whose running version took it along."""

    def expected(self, name: str, seen: Seen) -> set[str]:
        """Where copies of ours should be, once all is settled."""
        repository = self.repository
        before = self.ours.get(name, set())
        if name not in repository.templates:
            return set(before) if name in self.preserved else set()
        rule = repository.rules.get(name)
        needed = {where for where in CLUSTERS if repository.is_needed(name, where)}
        if rule is not None:
            wanted = set(rule.clusters) | needed
            stays = set(before) if rule.preserves else set()
        elif name in self.placed or name in self.preserved:
            wanted, stays = needed, set(before)
        else:
            # Those that take it along say whether it is preserved where it leaves.
            owners = [app for app in repository.rules if repository.takes(app, name)]
            wanted, stays = needed, set(before) if any(repository.rules[app].preserves for app in owners) else set()
        stays |= before & {where for where, _ in self.holders(name, seen)}
        taken = {where for where in wanted if (where, name) in seen.taken}
        # A move is over when all that should be is there: until then nothing leaves.
        return (wanted - taken) | (set(before) if taken else stays)

    def holders(self, name: str, seen: Seen) -> set[tuple[str, str]]:
        """(cluster, workload) of copies that run with an object that they do not take along any more.

        One that is nowhere wanted but stays (an orphan, or preserved) runs with what it had; one that is wanted
        as soon as it runs its new version lets go of the rest.
        """
        return {
            (where, app)
            for where, app in self.holds.get(name, ())
            if where in self.ours.get(app, ())
            and ((where, app) in seen.behind or not self.repository.wants(app, where))
            and where in self.expected(app, seen)
            and not (self.repository.takes(app, name) and where in self.repository.rules[app].clusters)
        }

    def requirements(self, name: str, seen: Seen) -> set[tuple[str, str, bool]]:
        """(workload, cluster, whether it takes the object there or only runs with it) as the state branch must say."""
        repository = self.repository
        takers = [app for app in repository.rules if repository.takes(app, name)]
        active = {(app, where, True) for app in takers for where in repository.rules[app].clusters}
        return active | {(app, where, False) for where, app in self.holders(name, seen)}

    def settled(self, ours: dict[str, set[str]], seen: Seen) -> None:
        """All is as it should be: this is what the next edits begin from."""
        expected = {name: self.expected(name, seen) for name in KINDS}
        holds = {
            name: {(where, app) for app, where, _ in self.requirements(name, seen) if where in ours[app]}
            for name in MAPS if name in self.repository.templates
        }  # fmt: skip
        # While a template is gone nobody looks at what is remembered of it, which lasts as long as its copies.
        holds |= {name: self.holds.get(name, set()) for name in MAPS if name not in holds and ours[name]}
        self.ours, self.holds = ours, holds
        for name in KINDS:
            if name not in self.repository.templates:
                self.placed.discard(name)
                if not expected[name]:
                    self.preserved.discard(name)
            elif name in self.repository.rules:
                self.placed.add(name)
                preserves = self.repository.rules[name].preserves
                (self.preserved.add if preserves else self.preserved.discard)(name)
