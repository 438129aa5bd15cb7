"""A fleet repository that changes at random, for previews that must equal what is then applied.

Everything a review has to foresee happens here: objects come, change and go; policies move them, divide them, suspend
them, keep them, take dependencies along; overrides, interpreters, taints and labels of clusters change what the same
template becomes. What the API servers would refuse, or what nobody foresees from Git, is left out: each edit says so.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable
from typing import Any

from tests.e2e.workloads import DEFINITION, GROUP
from tests.e2e.world import cluster, config_map, policy, settings
from tests.planning.dependants import workload

CLUSTERS = ("m1", "m2", "m3")
APPS = tuple(f"d{number}" for number in range(4))
MAPS = tuple(f"c{number}" for number in range(4))
CUSTOM = tuple(f"w{number}" for number in range(2))
REST = (("v1", "ConfigMap"), ("v1", "Secret"), ("v1", "Service"))
GUARDS = {"maxDeletions": 1000, "maxDeletionPercent": 100, "maxMovedReplicasPercent": 100}
Files = dict[str, str | None]

RULES = f"""
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {{name: workloads}}
spec:
  target: {{apiVersion: {GROUP}/v1alpha1, kind: Workload}}
  customizations:
    replicaResource:
      luaScript: |
        function GetReplicas(obj)
          return obj.spec.replicas, nil
        end
    replicaRevision:
      luaScript: |
        function ReviseReplica(obj, desiredReplica)
          obj.spec.replicas = desiredReplica
          return obj
        end
"""


class Repository:
    """`files` are what the last commit holds; `edit` gives the next commit's changes and says them."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.files: dict[str, str] = {}
        self.spaces = 0
        self.bearing: set[str] = set()
        """Names of objects that say that they are never to be deleted."""
        self.preserving = chance.random() < 0.2
        """Whether policies of workloads preserve what they leave."""
        self.kept: set[str] = set()
        """Files whose objects may have outlived them: nobody foresees from Git what stands there."""

    def first(self) -> Files:
        tight = self.chance.random() < 0.3
        guards = {**GUARDS, "maxDeletions": 2} if tight else GUARDS
        # Declared, so that it stays everywhere: nobody ends the deletion of a namespace here (see `space`).
        shop = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
        files: Files = {"gitfed.json": settings(guards=guards), "shop.json": json.dumps(shop)}
        for name in CLUSTERS:
            files[f"clusters/{name}.json"] = self._cluster(name)
        files |= {"policies/apps.json": self._apps(), "policies/rest.json": self._rest("rest", REST)}
        for edit in (self.app, self.app, self.map, self.map, self.secret, self.service):
            files |= edit()
        return self._known(files)

    def edit(self) -> Files:
        """One to five edits. At least one file differs."""
        edits: list[Callable[[], Files]] = [
            self.app, self.app, self.app, self.map, self.map, self.secret, self.service, self.job, self.role, self.role,
            self.custom, self.custom, self.interpreter, self.space, self.remove, self.remove, self.remove,
            self.policy, self.policy, self.policy, self.policy, self.override, self.override, self.cluster,
        ]  # fmt: skip
        while True:
            files: Files = {}
            for _ in range(self.chance.randint(1, 5)):
                for name, text in self.chance.choice(edits)().items():
                    if name not in files:  # two edits of one file in one commit: the first counts
                        files[name] = text
            files = {name: text for name, text in files.items() if text != self.files.get(name)}
            if files:
                return self._known(files)

    def _known(self, files: Files) -> Files:
        for name, text in files.items():
            if text is None:
                self.files.pop(name, None)
            else:
                self.files[name] = text
        return files

    # -- objects ------------------------------------------------------------------------------------------------

    def app(self) -> Files:
        name = self.chance.choice(APPS)
        refers = self.chance.sample(MAPS, self.chance.choice([0, 0, 1, 2]))
        made = json.loads(workload(name, *refers, replicas=self.chance.randint(0, 6)))
        made["spec"]["template"]["spec"]["containers"][0]["image"] = f"nginx:1.{self.chance.randint(1, 9)}"
        if self.chance.random() < 0.3:
            cpu = self.chance.choice([1, "1", "1000m", "1500m"])
            made["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"cpu": cpu}}
        made["metadata"]["labels"] = {"tier": self.chance.choice(["front", "back"])}
        if self.chance.random() < 0.1:
            made["metadata"]["labels"]["resourcetemplate.karmada.io/deletion-protected"] = "Always"
        if self.chance.random() < 0.2:
            made["metadata"]["annotations"] = {"gitfed.io/wave": self.chance.choice(["-1", "1"])}
        self._perhaps_kept(name, made)
        return self._written(f"apps/{name}.json", made)

    def map(self) -> Files:
        name = self.chance.choice(MAPS)
        made = json.loads(config_map(name, {"k": str(self.chance.randint(0, 9))}))
        self._perhaps_kept(name, made)
        return self._written(f"apps/{name}.json", made)

    def _perhaps_kept(self, name: str, made: dict[str, Any]) -> None:
        """Once, then for ever: what it left behind meanwhile goes when it is not kept any more, and nobody foresees
        from Git where that is."""
        if self.chance.random() < 0.06:
            self.bearing.add(name)
        if name in self.bearing:
            made["metadata"].setdefault("annotations", {})["gitfed.io/prune"] = "disabled"

    def secret(self) -> Files:
        name = self.chance.choice(["s0", "s1"])
        value = base64.b64encode(f"a-long-value-{self.chance.randint(0, 9)}".encode()).decode()
        return self._written(f"apps/{name}.json", {"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
                                                   "metadata": {"name": name, "namespace": "shop"},
                                                   "data": {"password": value}})  # fmt: skip

    def service(self) -> Files:
        stage = self.chance.choice([{}, {"stage": "live"}])
        # In any order: it means nothing to a server.
        ports = [{"name": f"p{port}", "port": port} for port in self.chance.sample([80, 443, 8080], 2)]
        return self._written("apps/v0.json", {"apiVersion": "v1", "kind": "Service",
                                              "metadata": {"name": "v0", "namespace": "shop"},
                                              "spec": {"selector": {"app": self.chance.choice(APPS), **stage},
                                                       "ports": ports}})  # fmt: skip

    def job(self) -> Files:
        """Its template cannot be changed, so it is made anew."""
        spec = {"restartPolicy": "Never",
                "containers": [{"name": "main", "image": f"busybox:1.{self.chance.randint(1, 9)}"}]}  # fmt: skip
        made = {"apiVersion": "batch/v1", "kind": "Job",
                "metadata": {"name": "j0", "namespace": "shop", "annotations": {"gitfed.io/replace": "allowed"}},
                "spec": {"template": {"spec": spec}}}  # fmt: skip
        rule = policy("jobs", ["m1", "m2"], (("batch/v1", "Job"),))
        return {**self._written("apps/j0.json", made), "policies/jobs.json": rule}

    def role(self) -> Files:
        """An object of no namespace."""
        verbs = self.chance.sample(["get", "list", "watch"], self.chance.randint(1, 3))
        made = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "preview"},
                "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": verbs}]}  # fmt: skip
        rule = self._wide("roles", [("rbac.authorization.k8s.io/v1", "ClusterRole")], self._some())
        return {**self._written("apps/role.json", made), "policies/roles.json": rule}

    def custom(self) -> Files:
        """A kind of the user's own with its definition, which goes everywhere: it goes only with all that is of it."""
        name = self.chance.choice(CUSTOM)
        made = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "Workload",
                "metadata": {"name": name, "namespace": "shop"},
                "spec": {"replicas": self.chance.randint(1, 6), "size": self.chance.randint(1, 9)}}  # fmt: skip
        definition = self._wide("definitions", [("apiextensions.k8s.io/v1", "CustomResourceDefinition")], None)
        rule = policy("custom", None, ((f"{GROUP}/v1alpha1", "Workload"),), placement=self._division())
        return {
            **self._written(f"apps/{name}.json", made),
            "apps/definition.json": json.dumps(DEFINITION),
            "policies/definitions.json": definition, "policies/custom.json": rule,
        }  # fmt: skip

    def space(self) -> Files:
        """A namespace, mostly declared, with something in it. Its name is used once: without controllers nobody ends
        the deletion of a namespace."""
        known = [name for name in self.files if name.startswith("spaces/")]
        if known and self.chance.random() < 0.5:
            return dict.fromkeys(known)
        self.spaces += 1
        name = f"space{self.spaces}"
        declared = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"of": "preview"}}}
        content = self.chance.random() < 0.7
        files: Files = {}
        if not content or self.chance.random() < 0.7:
            files[f"spaces/{name}/space.json"] = json.dumps(declared)
        if content:
            files[f"spaces/{name}/map.json"] = config_map("inside", {"k": "1"}, namespace=name)
            files[f"spaces/{name}/rule.json"] = policy("inside", self._some(), (("v1", "ConfigMap"),), namespace=name)
        return files

    def remove(self) -> Files:
        found = [name for name in sorted(self.files) if name.startswith("apps/") and name != "apps/definition.json"]
        if not found:
            return {}
        gone = self.chance.choice(found)
        if (
            "gitfed.io/prune" in self.files[gone] or "deletion-protected" in self.files[gone]
            or "policies/keeper.json" in self.files or self.preserving
        ):  # fmt: skip
            self.kept.add(gone)
        files: Files = {gone: None}
        if self.chance.random() < 0.3:
            # The definition and everything of it, in one commit.
            files |= {name: None for name in (*(f"apps/{one}.json" for one in CUSTOM), "apps/definition.json",
                                              "policies/custom.json", "policies/definitions.json", "rules.yaml")
                      if name in self.files}  # fmt: skip
        return files

    def _written(self, path: str, body: dict[str, Any]) -> Files:
        return {} if path in self.kept else {path: json.dumps(body)}

    # -- what is declared ---------------------------------------------------------------------------------------

    def policy(self) -> Files:
        match self.chance.randint(0, 7):
            case 0 | 1 | 2:
                return {"policies/apps.json": self._apps()}
            case 3:
                return {"policies/rest.json": self._rest("rest", REST)}
            case 4:
                return self._toggled("policies/first.json", self._first)
            case 5:
                return self._toggled("policies/apps.json", self._apps)
            case 6:
                return self._toggled("policies/rest.json", lambda: self._rest("rest", REST))
            case _:
                return self._toggled("policies/keeper.json", self._keeper)

    def interpreter(self) -> Files:
        return self._toggled("rules.yaml", lambda: RULES) if "apps/definition.json" in self.files else {}

    def override(self) -> Files:
        kind = self.chance.choice(["tags", "labels", "text", "wide"])
        return self._toggled(f"policies/{kind}.json", lambda: self._override(kind), gone=0.3)

    def cluster(self) -> Files:
        name = self.chance.choice(CLUSTERS)
        return {f"clusters/{name}.json": self._cluster(name)}

    def _toggled(self, path: str, made: Callable[[], str], gone: float = 0.5) -> Files:
        return {path: None if path in self.files and self.chance.random() < gone else made()}

    def _apps(self) -> str:
        spec: dict[str, Any] = {"placement": self._division(), **self._preserving()}
        if self.chance.random() < 0.5:
            spec["propagateDeps"] = True
        if self.chance.random() < 0.15:
            spec["suspension"] = self.chance.choice(
                [{"dispatching": True}, {"dispatchingOnClusters": {"clusterNames": [self.chance.choice(CLUSTERS)]}}]
            )
        if self.chance.random() < 0.15:
            return policy("apps", self._some(), **spec)
        return policy("apps", None, **spec)

    def _first(self) -> str:
        """It wins over the others for one object of each kind."""
        made = json.loads(policy("first", self._some(), priority=5, placement=self._division(), **self._preserving()))
        made["spec"]["resourceSelectors"] = [
            {"apiVersion": "apps/v1", "kind": "Deployment", "name": self.chance.choice(APPS)},
            {"apiVersion": "v1", "kind": "ConfigMap", "name": self.chance.choice(MAPS)},
        ]
        return json.dumps(made)

    def _preserving(self) -> dict[str, Any]:
        return {"preserveResourcesOnDeletion": True} if self.preserving else {}

    def _keeper(self) -> str:
        made = json.loads(policy("keeper", self._some(), (("v1", "Secret"),), priority=9,
                                 preserveResourcesOnDeletion=True))  # fmt: skip
        return json.dumps(made)

    def _rest(self, name: str, kinds: tuple[tuple[str, str], ...]) -> str:
        if self.chance.random() < 0.3:
            zone = {"clusterAffinity": {"labelSelector": {"matchLabels": {"zone": self.chance.choice(["a", "b"])}}}}
            return policy(name, None, kinds, placement=zone)
        return policy(name, self._some(), kinds)

    def _wide(self, name: str, kinds: list[tuple[str, str]], clusters: list[str] | None) -> str:
        made = json.loads(policy(name, clusters, tuple(kinds)))
        made["kind"] = "ClusterPropagationPolicy"
        del made["metadata"]["namespace"]
        if clusters is None:  # everywhere, whatever taints there are
            made["spec"]["placement"]["clusterTolerations"] = [{"operator": "Exists"}]
        return json.dumps(made)

    def _division(self) -> dict[str, Any]:
        weights = {name: self.chance.randint(0, 3) for name in CLUSTERS}
        listed = [{"targetCluster": {"clusterNames": [name]}, "weight": weight}
                  for name, weight in weights.items() if weight]  # fmt: skip
        divided = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}
        match self.chance.randint(0, 4):
            case 0 | 1 if listed:
                return {"replicaScheduling": {**divided, "weightPreference": {"staticWeightList": listed}}}
            case 2:
                return {"replicaScheduling": divided}
            case 3:
                number = self.chance.randint(1, 2)
                limits = {"spreadByField": "cluster", "minGroups": number, "maxGroups": number}
                return {"spreadConstraints": [limits]}
            case _:
                return {}

    def _override(self, kind: str) -> str:
        rule: dict[str, Any] = {"targetCluster": {"clusterNames": self._some()}}
        number = self.chance.randint(0, 9)
        selected = [{"apiVersion": "apps/v1", "kind": "Deployment"}]
        match kind:
            case "tags":
                rule["overriders"] = {
                    "imageOverrider": [{"component": "Tag", "operator": "replace", "value": f"9.{number}"}]
                }
            case "labels":
                rule["overriders"] = {"labelsOverrider": [{"operator": "add", "value": {"over": str(number)}}]}
            case "text":
                selected = [{"apiVersion": "v1", "kind": "ConfigMap"}]
                rule["overriders"] = {
                    "plaintext": [{"path": "/data/where", "operator": "add", "value": f"here-{number}"}]
                }
            case _:
                rule["overriders"] = {"annotationsOverrider": [{"operator": "add", "value": {"wide": str(number)}}]}
        made: dict[str, Any] = {
            "apiVersion": "policy.karmada.io/v1alpha1", "kind": "OverridePolicy",
            "metadata": {"name": kind, "namespace": "shop"},
            "spec": {"resourceSelectors": selected, "overrideRules": [rule]},
        }  # fmt: skip
        if kind == "wide":
            made["kind"] = "ClusterOverridePolicy"
            del made["metadata"]["namespace"]
            made["spec"]["resourceSelectors"] = [{"apiVersion": version, "kind": one} for version, one in REST]
        return json.dumps(made)

    def _cluster(self, name: str) -> str:
        made = json.loads(cluster(name))
        made["metadata"]["labels"] = {"zone": self.chance.choice(["a", "b"])}
        if self.chance.random() < 0.2:
            effect = self.chance.choice(["NoSchedule", "NoExecute"])
            made["spec"]["taints"] = [{"key": "drain", "value": "now", "effect": effect}]
        return json.dumps(made)

    def _some(self) -> list[str]:
        return sorted(self.chance.sample(CLUSTERS, self.chance.randint(1, 3)))
