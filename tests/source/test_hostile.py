"""Whatever a file holds, reading it gives a snapshot and problems, never an exception."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gitfed.source import lint, repo
from gitfed.text import yaml
from tests.source.trees import tree

_OBJECTS: list[dict[str, Any]] = yaml.load_all(
    b"""
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: p, namespace: shop, labels: {a: b}, annotations: {a: b}}
spec:
  resourceSelectors: [{apiVersion: v1, kind: ConfigMap, labelSelector: {matchLabels: {a: b}, matchExpressions: [{key: a, operator: In, values: [b]}]}}]
  placement:
    clusterAffinities: [{affinityName: a, clusterNames: [m1], overflowAffinities: [{affinityName: b, exclude: [m1]}]}]
    clusterTolerations: [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 3}]
    spreadConstraints: [{spreadByField: cluster, minGroups: 1, maxGroups: 2}]
    replicaScheduling: {replicaSchedulingType: Divided, weightPreference: {staticWeightList: [{targetCluster: {}, weight: 1}]}}
  failover: {application: {decisionConditions: {tolerationSeconds: 1}, statePreservation: {rules: [{aliasLabelName: a, jsonPath: b}]}}}
  propagateDeps: true
  suspension: {dispatchingOnClusters: {clusterNames: [m1]}}
---
apiVersion: policy.karmada.io/v1alpha1
kind: ClusterOverridePolicy
metadata: {name: o}
spec:
  overrideRules:
  - targetCluster: {fieldSelector: {matchExpressions: [{key: zone, operator: In, values: [a]}]}}
    overriders:
      plaintext: [{path: /a, operator: add, value: 1}]
      imageOverrider: [{predicate: {path: /a}, component: Tag, operator: add, value: a}]
      labelsOverrider: [{operator: add, value: {a: b}}]
      fieldOverrider: [{fieldPath: /a, json: [{subPath: /a, operator: add, value: {a: [1]}}]}]
---
apiVersion: policy.karmada.io/v1alpha1
kind: FederatedResourceQuota
metadata: {name: q, namespace: shop}
spec: {overall: {cpu: 1}, staticAssignments: [{clusterName: m1, hard: {cpu: 1}}]}
---
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: m1}
spec: {syncMode: Push, apiEndpoint: "https://h", zones: [a], taints: [{key: a, effect: NoSchedule}], resourceModels: [{grade: 0, ranges: [{name: cpu, min: 0, max: 1}]}]}
---
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterWebhookConfiguration
metadata: {name: w}
webhooks: [{name: a.b.c, clientConfig: {url: "https://h/x"}, rules: [{operations: ["*"], apiGroups: [""], apiVersions: [v1], kinds: [A]}], interpreterContextVersions: [v1alpha1]}]
---
apiVersion: gitfed.io/v1alpha1
kind: Federation
metadata: {name: other}
spec: {sources: {include: [a]}, sync: {interval: 1m}, namespaces: {skip: [a]}, featureGates: {Failover: true}, state: {branch: a}}
---
apiVersion: gitfed.io/v1alpha1
kind: PlacementTest
metadata: {name: t}
spec: {facts: fleet.yaml, given: {fail: [region/eu]}, expect: [{workload: {kind: A, name: b}, replicas: {region: {us: {min: 1}}}}]}
---
apiVersion: v1
kind: List
items: [{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, labels: {a: b}, annotations: {a: b}}, spec: {replicas: 1}}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: xs.example.io}
spec: {group: example.io, scope: Cluster, names: {kind: X}}
---
apiVersion: example.io/v1
kind: X
metadata: {name: x, namespace: shop}
"""
)
_TEXTS = st.sampled_from(["", "a", "A B", "a/b", "*", "m1", "1Gi", "\u202e", "x" * 300, "[", "https://[", "é"])
_JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXTS,
    lambda below: st.lists(below, max_size=2) | st.dictionaries(_TEXTS, below, max_size=2),
    max_leaves=4,
)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, member in below for found in _paths(member, (*path, key)))]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_junk_value_anywhere_is_a_problem_not_a_crash(data: st.DataObject) -> None:
    value = copy.deepcopy(data.draw(st.sampled_from(_OBJECTS)))
    for _ in range(data.draw(st.integers(1, 2))):
        path = data.draw(st.sampled_from(_paths(value)))
        junk = data.draw(_JUNK)
        if not path:
            value = junk
            break
        parent = value
        for part in path[:-1]:
            parent = parent[part]
        parent[path[-1]] = junk
    snapshot = repo.read(tree({"a.yaml": yaml.dump(value)}))
    lint.check(snapshot)
    for problem in snapshot.problems:
        assert problem.message
        assert problem.origin.path


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=100), st.sampled_from(["a.yaml", "a.json", "gitfed.yaml"]))
def test_no_bytes_crash_the_reader(data: bytes, path: str) -> None:
    repo.read(tree({path: data}, settings=None))


def test_a_file_of_many_small_mistakes_is_cut_off() -> None:
    snapshot = repo.read(tree({"a.yaml": "a: .nan\n---\n" * 9000}))
    assert len(snapshot.problems) < 300


def test_a_bomb_among_good_files_costs_only_its_own_file() -> None:
    bomb = "a: &a [x, x]\n" + "\n".join(f"b{i}: &b{i} [*b{i - 1}, *b{i - 1}]" for i in range(1, 60)).replace(
        "*b0", "*a"
    )
    good = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
    snapshot = repo.read(tree({"bomb.yaml": bomb, "good.yaml": good}))
    assert [problem.message for problem in snapshot.problems] == ["aliases expand to more than 2000000 bytes"]
    assert len(snapshot.manifests) == 1
