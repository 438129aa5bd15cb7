"""`gitfed diff` of a large repository, each time a process of its own: one file that changes, and a thousand.

One file may concern one object, the objects of a policy, or all: a rule of the override that touches every template,
and a script that says what every Deployment means.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

from bench import ground, scale
from gitfed.cli.output.diff.comment import LIMIT
from gitfed.model.fleet import ClusterFacts

MANY = 1000
OWN = 42
"""The workload that has a policy of its own, by room."""

_POLICY = """apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {{name: app-{number}, namespace: team-{number}}}
spec:
  resourceSelectors: [{{apiVersion: apps/v1, kind: Deployment, name: app-{number}}}]
  placement:
    clusterAffinity: {{clusterNames: [{names}]}}
    replicaScheduling: {{replicaSchedulingType: Divided, replicaDivisionPreference: Aggregated}}
"""
_SETTINGS = "apiVersion: gitfed.io/v1alpha1\nkind: Federation\nmetadata: {name: bench}\n"
_SCRIPT = """apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {name: health}
spec:
  target: {apiVersion: apps/v1, kind: Deployment}
  customizations:
    healthInterpretation:
      luaScript: |
        function InterpretHealth(observed)
          return observed.status ~= nil and observed.status.readyReplicas == observed.spec.replicas
        end
"""
_CLUSTER = """apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: c007, labels: {tier: gold}}
spec: {syncMode: Push, region: r7, provider: example}
"""


def one_file() -> Mapping[str, tuple[str, bytes | None]]:
    """What a pull request does most, by what to call it: (path, what it holds then; None: it is gone)."""
    more = scale.deployment(OWN).replace(f"replicas: {OWN % 40 + 1}".encode(), b"replicas: 30")
    return {
        "an edit": ("apps/7/4207.yaml", scale.deployment(4207, "2.0")),
        "a deletion": ("apps/7/4207.yaml", None),
        "a move": ("policies/own.yaml", _POLICY.format(number=OWN, names="c002, c004").encode()),
        "replicas by room": (f"apps/{OWN}/{OWN}.yaml", more),
        "a setting": ("gitfed.yaml", (_SETTINGS + "spec: {sync: {interval: 90s}}\n").encode()),
        "a cluster's label": ("clusters/7.yaml", _CLUSTER.encode()),
    }  # fmt: skip


def one_file_for_many(registries: bytes) -> Mapping[str, tuple[str, bytes | None]]:
    """What concerns many objects, as above. `registries`: the override policy as it is."""
    policy = scale.policy(7).replace(b"clusterAffinity: {}", b"clusterAffinity: {exclude: [c099]}")
    return {
        "a policy of 200 templates": ("policies/7.yaml", policy),
        "an override rule that touches every template": (
            "policies/registries.yaml", registries.replace(b"value: r3.example", b"value: r3.internal.example"),
        ),
        "a script for the kind of every template": ("interpreters/health.yaml", _SCRIPT.encode()),
    }  # fmt: skip


def diff(path: Path, cache: Path, *arguments: str, codes: Collection[int] = (1,)) -> tuple[float, float, str]:
    """(seconds, seconds of the processor, what it printed)."""
    return ground.command(path, cache, "diff", *arguments, codes=codes)


def repository(path: Path) -> None:
    """The repository of `scale` in Git, with a branch for each change of one file and one for a thousand."""
    tree = scale.repository()
    own = _POLICY.format(number=OWN, names="c001, c003").encode()
    ground.commit(path, {name: tree.blobs[blob] for name, blob in tree.paths.items()} | {"policies/own.yaml": own})
    changes = {**one_file(), **one_file_for_many((path / "policies/registries.yaml").read_bytes())}
    for number, (name, content) in enumerate(changes.values()):
        ground.git(path, "switch", "-q", "-c", f"one-{number}", "main")
        ground.commit(path, {name: content}, "one")
    ground.git(path, "switch", "-q", "-c", "many", "main")
    many = range(0, 10 * MANY, 10)
    ground.commit(path, {f"apps/{number % 100}/{number}.yaml": scale.deployment(number, "3.0") for number in many},
                  "many")  # fmt: skip
    ground.git(path, "switch", "-q", "main")


async def run() -> list[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as scratch:
        path, cache = Path(scratch, "fleet"), Path(scratch, "cache")
        repository(path)
        room = {"allocatable": {"cpu": "4000", "memory": "16Ti", "pods": "9000"}}
        names = [f"c{number:03}" for number in range(scale.CLUSTERS)]
        ground.facts(path, {name: ClusterFacts(name, resource_summary=room) for name in names})
        ground.state(path, from_facts=True)
        cold, _, _ = diff(path, cache, "main..one-0", "-q")
        single = one_file()
        one = {
            kind: min(diff(path, cache, f"main..one-{number}")[0] for _ in range(3))
            for number, kind in enumerate(single)
        }
        # The script says of health what the rule of gitfed says: no manifest differs, and the command ends with 0.
        wide = {
            kind: min(diff(path, cache, f"main..one-{number}", codes=(0, 1))[1] for _ in range(2))
            for number, kind in enumerate(one_file_for_many(b""), len(single))
        }
        ground.put(path, *one_file()["an edit"])
        uncommitted = min(diff(path, cache, "main", "--worktree")[0] for _ in range(3))
        many = [diff(path, cache, "main..many") for _ in range(2)]
        *_, comment = diff(path, cache, "main..many", "-o", "md")
    return [
        ("templates × clusters", f"{scale.TEMPLATES} × {scale.CLUSTERS}"),
        ("one changed file, nothing cached", f"{cold:.2f} s"),
        *((f"{kind}, warm cache, best of 3 (target ≤ 2 s)", f"{took:.2f} s") for kind, took in one.items()),
        ("an edit that is not committed, warm cache, best of 3 (target ≤ 2 s)", f"{uncommitted:.2f} s"),
        *((f"{kind}, warm cache, processor, best of 2 (target ≤ 5 s)", f"{took:.2f} s") for kind, took in wide.items()),
        (f"{MANY} changed files, best of 2 (target ≤ 20 s)", f"{min(took for took, *_ in many):.2f} s"),
        (f"characters of the comment for those (limit {LIMIT})", str(len(comment))),
    ]
