"""Files with errors of every kind in a random walk: what they may mean stays as it is until they are mended."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tests.e2e.definitions import definition
from tests.e2e.walk_history import History
from tests.e2e.walk_model import CLUSTERS, KINDS, Repository
from tests.e2e.world import cluster, config_map, deployment, policy

BASED = "based"
"""The ConfigMap of a base that only a broken overlay uses: it is never deployed."""
_MAP = (("v1", "ConfigMap"),)
_OVERLAYS = ("resources: [../base\n", "resources: [../base]\npatches: [{path: missing.yaml}]\n", "resources: ../base\n")


@dataclass
class Broken:
    random: random.Random
    repository: Repository
    history: History
    read: Callable[[str], str]
    """A file as it is now."""
    files: dict[str, str | None] = field(default_factory=dict)
    """Path of every broken file, and of what came with it → what it was before."""

    def spoil(self, locked: set[str]) -> tuple[str, dict[str, str | None]]:
        """(what is broken, files to write), and in `locked` what is not to be edited before that is mended."""
        kinds = [self.overlay, self.settings, self.rule, self.template, self.cluster, self.new_rule, self.new_override,
                 self.new_template, self.definition, self.script]  # fmt: skip
        broken = self.random.choice(kinds)(locked)
        return ", ".join(broken), broken

    def mend(self) -> dict[str, str | None]:
        files, self.files = self.files, {}
        return files

    # -- what breaks --------------------------------------------------------------------------------------------

    def overlay(self, _: set[str]) -> dict[str, str | None]:
        """Its base is no template by itself, whatever the mistake is."""
        return self.new({
            "built/base/kustomization.yaml": "resources: [map.yaml]\n",
            "built/base/map.yaml": config_map(BASED, {"version": "1"}),
            "built/overlay/kustomization.yaml": self.random.choice(_OVERLAYS),
            "built/policy.json": self.about(policy(BASED, CLUSTERS, _MAP), BASED),
        })  # fmt: skip

    def settings(self, _: set[str]) -> dict[str, str | None]:
        return self.place("gitfed.json", self.repository.settings())

    def rule(self, locked: set[str]) -> dict[str, str | None]:
        """The file of a policy, with a policy that would move everything if it counted."""
        name = self.some(self.repository.rules, locked)
        if not name:
            return {}
        kind = ("apps/v1", "Deployment") if KINDS[name] == "Deployment" else _MAP[0]
        return self.place(f"policies/{name}.json", self.about(policy(name, CLUSTERS[:1], (kind,)), name))

    def template(self, locked: set[str]) -> dict[str, str | None]:
        name = self.some(self.repository.templates, locked)
        if not name:
            return {}
        made = deployment(name) if KINDS[name] == "Deployment" else config_map(name, {"version": "broken"})
        return self.place(f"apps/{name}.json", made)

    def cluster(self, _: set[str]) -> dict[str, str | None]:
        name = self.random.choice(CLUSTERS)
        return self.place(f"clusters/{name}.json", cluster(name))

    def new_rule(self, _: set[str]) -> dict[str, str | None]:
        made = json.loads(policy("broken", CLUSTERS[:1], _MAP))
        if self.random.random() < 0.5:
            made |= {"kind": "ClusterPropagationPolicy", "metadata": {"name": "broken"}}
        return self.new({"broken/policy.json": self.wrong(json.dumps(made))})

    def new_override(self, _: set[str]) -> dict[str, str | None]:
        made = json.loads(policy("broken", None)) | {"kind": "OverridePolicy", "spec": {"overrideRules": []}}
        return self.new({"broken/override.json": self.wrong(json.dumps(made))})

    def new_template(self, _: set[str]) -> dict[str, str | None]:
        return self.new({"broken/template.json": self.wrong(config_map("broken", {"version": "1"}))})

    def definition(self, locked: set[str]) -> dict[str, str | None]:
        if self.repository.gizmos is None:
            return self.new({"broken/definition.json": self.wrong(definition("gadgets", "Gadget"))})
        if "gizmos" in locked:
            return {}
        locked.add("gizmos")
        return self.place("gizmos.json", definition("gizmos", "Gizmo"))

    def script(self, _: set[str]) -> dict[str, str | None]:
        """A rule for a kind that does not compile."""
        return self.new({"broken/script.json": json.dumps({
            "apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterCustomization",
            "metadata": {"name": "broken"},
            "spec": {"target": {"apiVersion": "apps/v1", "kind": "Deployment"},
                     "customizations": {"replicaResource": {"luaScript": "function GetReplicas(obj) return 7 +"}}},
        })})  # fmt: skip

    # -- how ----------------------------------------------------------------------------------------------------

    def some(self, names: Iterable[str], locked: set[str]) -> str:
        """One that nobody has edited in this burst, nor will."""
        free = [name for name in sorted(names) if not self.history.concerns(name) & locked]
        name = self.random.choice(free) if free else ""
        locked |= self.history.concerns(name) if name else set()
        return name

    def new(self, files: dict[str, str]) -> dict[str, str | None]:
        if files.keys() & self.files.keys():
            return {}
        self.files |= dict.fromkeys(files)
        return {**files}

    def place(self, path: str, text: str) -> dict[str, str | None]:
        """In the place of a good file."""
        if path in self.files:
            return {}
        self.files[path] = self.read(path)
        return {path: self.wrong(text)}

    def wrong(self, text: str) -> str:
        """No JSON, or with a slip."""
        if self.random.random() < 0.5:
            return text.rstrip("}") + "["
        document = json.loads(text)
        if document["kind"] in (*KINDS.values(), "CustomResourceDefinition"):
            document["metadata"]["name"] = "No_name"
        else:
            document["spec"]["unknwn"] = 1
        return json.dumps(document)

    @staticmethod
    def about(rule: str, name: str) -> str:
        made = json.loads(rule)
        made["spec"]["resourceSelectors"][0]["name"] = name
        return json.dumps(made)
