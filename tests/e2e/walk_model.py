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
from tests.e2e.world import config_map, policy

CLUSTERS = ["m1", "m2", "m3"]
APPS = [f"d{n}" for n in range(6)]
MAPS = [f"c{n}" for n in range(6)]
KINDS = {**dict.fromkeys(APPS, "Deployment"), **dict.fromkeys(MAPS, "ConfigMap")}
EDITS = ("change", "change", "place", "place", "remove", "remove-policy", "both")


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
class Repository:
    random: random.Random
    templates: dict[str, Template] = field(default_factory=dict)
    rules: dict[str, Rule] = field(default_factory=dict)
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
            return config_map(name, {"version": str(self.version)})
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
        self.rules[name] = Rule(clusters, takes, preserves)
        kind = ("apps/v1", "Deployment") if name in APPS else ("v1", "ConfigMap")
        made = json.loads(policy(name, list(clusters), (kind,), propagateDeps=takes,
                                 preserveResourcesOnDeletion=preserves))  # fmt: skip
        made["spec"]["resourceSelectors"][0]["name"] = name
        return json.dumps(made)

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

    def wants(self, name: str, where: str) -> bool:
        """Whether an object is placed there, whoever has its name."""
        rule = self.rules.get(name)
        return name in self.templates and (self.is_needed(name, where) or (rule is not None and where in rule.clusters))


@dataclass
class History:
    repository: Repository
    ours: dict[str, set[str]] = field(default_factory=dict)
    """Where copies of ours were when all was settled last."""
    placed: set[str] = field(default_factory=set)
    """Templates that a policy placed since they are there: without it their copies are orphans."""
    preserved: set[str] = field(default_factory=set)
    """Templates whose last policy said that copies outlive them."""
    needed: dict[str, set[str]] = field(default_factory=dict)
    """Which workloads took an object along: those that became orphans still need it where they are."""

    def expected(self, name: str, taken: set[str]) -> set[str]:
        """Where copies of ours should be, once all is settled; in `taken` others have the name."""
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
            wanted, stays = needed, set()
        for app in self.needed.get(name, set()):
            # A copy that is nowhere wanted but stays (an orphan, or preserved) still runs, with what it had.
            stays |= {where for where in before & self.expected(app, set()) if not repository.wants(app, where)}
        return (wanted - taken) | stays

    def settled(self, ours: dict[str, set[str]], expected: dict[str, set[str]]) -> None:
        """All is as it should be: this is what the next edits begin from."""
        self.ours = ours
        for name in MAPS:
            self.needed[name] = {
                app for app in APPS
                if (name in self.repository.templates or ours[name])  # its binding, which remembers, is there as long
                and any(ours[app]) and (app in self.needed.get(name, ()) or self.repository.takes(app, name))
            }  # fmt: skip
        for name in KINDS:
            if name not in self.repository.templates:
                self.placed.discard(name)
                if not expected[name]:
                    self.preserved.discard(name)
            elif name in self.repository.rules:
                self.placed.add(name)
                preserves = self.repository.rules[name].preserves
                (self.preserved.add if preserves else self.preserved.discard)(name)
