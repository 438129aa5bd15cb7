"""What must be true after each settling of a random walk: clusters as `walk_history` expects, and nothing else touched.

Read from the clusters and the state branch themselves. `Check.wrong` says all that is not (yet) as it should be; what
people and others do meanwhile is in `walk`.
"""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import yaml

from gitfed.edges.kube import inventory_format
from tests.clusters.rest import RefusedError
from tests.e2e.walk_broken import BASED
from tests.e2e.walk_history import Copies, Copy, History, Others, Seen, version
from tests.e2e.walk_model import (
    APPS,
    CLUSTERS,
    DEFINITION,
    GIZMOS,
    KINDS,
    MAPS,
    Repository,
)
from tests.e2e.world import World

Found: TypeAlias = dict[str, dict[str, dict[str, Any]]]
"""Cluster → name → body."""


@dataclass
class Check:
    world: World
    repository: Repository
    history: History
    others: Others
    notes: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    """(cluster, object of ours) → (uid, what somebody else wrote into an annotation of theirs)."""
    unrepaired: dict[tuple[str, str], str] = field(default_factory=dict)
    """(cluster, object of ours) → uid of what drifted where it was not wanted: nobody repairs that, and should it be
    wanted again by a policy that is suspended there, it stays so."""
    down: set[str] = field(default_factory=set)
    head: str = ""
    """The newest commit."""

    def look(self) -> Found:
        """Every Deployment, ConfigMap and Gizmo, and what defines these."""
        found: Found = {}
        for where in CLUSTERS:
            paths = [self.world.path("Deployment", "shop"), self.world.path("ConfigMap", "shop")]
            defined = self.world.get(where, "CustomResourceDefinition", "", DEFINITION)
            bodies = [defined] if defined is not None else []
            if defined is not None:
                paths.append("/apis/example.com/v1/namespaces/shop/gizmos")
            for path in paths:
                with contextlib.suppress(RefusedError):  # Gizmos in the moment that they come or go
                    bodies += self.world.ask(where, "GET", path)["items"]
            found[where] = {body["metadata"]["name"]: body for body in bodies}
        return found

    def is_ours(self, where: str, name: str, found: Found) -> bool:
        labels = found[where][name]["metadata"].get("labels") or {} if name in found[where] else {}
        return labels.get("gitfed.io/federation") == "acme" and (where, name) not in self.others.objects()

    def settled(self, found: Found) -> None:
        """What was taken over is ours from now on, and what is gone is nobody's."""
        others, repository = self.others, self.repository
        others.settled()
        self.unrepaired = {
            (where, name): uid for (where, name), uid in self.unrepaired.items()
            if not repository.wants(name, where) or repository.suspends(name, where)
        }  # fmt: skip
        others.rivals = {
            (where, name): (uid, text) for (where, name), (uid, text) in others.rivals.items()
            if name in found[where] and found[where][name]["metadata"]["uid"] == uid
            and not others.is_taken_over(where, name)
        }  # fmt: skip

    def copies(self, found: Found) -> Copies:
        return {
            (where, name): Copy.of(body)
            for where, bodies in found.items()
            for name, body in bodies.items()
            if name in KINDS and self.is_ours(where, name, found)
        }

    def wrong(self) -> list[str]:
        self.controllers()
        found = self.look()
        seen = self.others.seen(self.copies(found))
        wrong = [*self.wrong_in_clusters(found, seen), *self.wrong_with_others(), *self.unrecorded()]
        return wrong or [*self.wrongly_remembered(seen)]

    def wrong_in_clusters(self, everything: Found, seen: Seen) -> Iterator[str]:
        repository = self.repository
        expected = {name: self.history.expected(name, seen) for name in KINDS}
        gizmos = repository.gizmos
        expected |= {name: set(gizmos.clusters) if gizmos is not None else set() for name in (DEFINITION, *GIZMOS)}
        for where, found in everything.items():
            owned = {name: body["metadata"]["uid"] for name, body in found.items()
                     if self.is_ours(where, name, everything)}  # fmt: skip
            should = {name for name, clusters in expected.items() if where in clusters}
            stopped = self.others.stopped(where)
            if BASED in found:
                yield f"{where}: {BASED} is deployed, which only a broken overlay uses"
            may = {name for name in expected if where in self.history.may_stay(name, seen)}
            for name in sorted((should ^ owned.keys()) - stopped - may):
                yield f"{where}: {name} is {'missing' if name in should else 'too much'}"
            for name in sorted((should & owned.keys() & repository.templates.keys()) - stopped):
                if not repository.wants(name, where):
                    continue  # an orphan, or kept where it was: it stays as it is
                body, template = found[name], repository.templates[name]
                if repository.suspends(name, where) and self.unrepaired.get((where, name)) == owned[name]:
                    continue
                should_be = self.history.version(name, where)
                if should_be == str(template.version):
                    _, kept, guarded = Copy.of(body)
                    if (kept, guarded) != (template.keeps, template.guarded):
                        yield f"{where}: {name} is not protected as its template says"
                declared = self.others.declared(where, name, body["metadata"]["uid"])
                if version(body) != (declared or should_be) or (name in APPS and body["spec"]["replicas"] != 2):
                    yield f"{where}: {name} is at {version(body)}, not at {declared or should_be}"
                if name in MAPS and body["data"].get("also") != should_be:
                    yield f"{where}: of {name} the rest is at {body['data'].get('also')}, not at {should_be}"
            for name in should & owned.keys() & set(GIZMOS):
                if gizmos is not None and version(found[name]) != str(gizmos.version):
                    yield f"{where}: {name} is at {version(found[name])}, not at {gizmos.version}"
            listed = self.inventory(where)
            if listed != owned:
                odd = {name for name in listed.keys() | owned.keys() if listed.get(name) != owned.get(name)}
                entries = [f"{name}: {listed.get(name, 'none')} for {owned.get(name, 'none')}" for name in sorted(odd)]
                yield f"{where}: the inventory is not exact: {', '.join(entries)}"

    def wrong_with_others(self) -> Iterator[str]:
        for where, name in self.others.objects():
            if self.content(where, name) != self.others.foreign[where, name]:
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

    def wrongly_remembered(self, seen: Seen) -> Iterator[str]:
        """The bindings say who takes an object along, and who still runs with it: later that cannot be seen."""
        command = ["git", "-C", str(self.world.bare), "archive", "gitfed/state", "bindings/shop"]
        archive = subprocess.run(command, check=False, capture_output=True).stdout
        recorded: dict[str, set[tuple[str, str, bool]]] = {}
        if archive:
            with tarfile.open(fileobj=io.BytesIO(archive)) as files:
                for name in MAPS:
                    with contextlib.suppress(KeyError):
                        file = files.extractfile(f"bindings/shop/{name}-ConfigMap.core.yaml")
                        assert file is not None
                        recorded[name] = set(requirements(yaml.safe_load(file.read())))
        history = self.history
        history.still_held = {
            (name, where, app)
            for name in MAPS
            for where, app in history.perhaps_holders(name, seen)
            if (app, where, False) in recorded.get(name, ())
        }
        for name in MAPS:
            if name in self.repository.templates:
                should, has = history.requirements(name, seen), recorded.get(name, set())
                if should != has:
                    yield f"{name}: remembered {sorted(has - should)} too much, {sorted(should - has)} not"
            elif name in recorded and not self.history.expected(name, seen):
                yield f"{name}: a binding of something that is gone everywhere"

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
                if key not in ("count", "schemaVersion", "repositoryId", "term", "leader", "shards"):
                    entry = inventory_format.decode(key, value)
                    if entry.key.namespace == "shop" or entry.key.name == DEFINITION:
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


def requirements(document: Mapping[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """(workload, cluster, whether it takes the object there or only runs with it) of one binding."""
    for one in document["spec"].get("requiredBy", ()):
        owner = one["resource"].rpartition("/")[2]
        yield from ((owner, item["name"], True) for item in one.get("clusters", ()))
        yield from ((owner, where, False) for where in one.get("stillIn", ()))
