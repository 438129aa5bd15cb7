"""What is suspicious although it is valid."""

from __future__ import annotations

import pytest

from gitfed.source import lint, repo
from tests.source.trees import tree

_FLEET = "".join(
    "---\napiVersion: cluster.karmada.io/v1alpha1\nkind: Cluster\n"
    f"metadata: {{name: {name}}}\nspec: {{syncMode: Push}}\n"
    for name in ("eu-1", "us-1")
)
_WEB = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop, labels: {app: web}}\n"


def policy(name: str, spec: str, *, kind: str = "PropagationPolicy", selector: str = "name: web") -> str:
    namespace = "" if kind.startswith("Cluster") else ", namespace: shop"
    return (
        f"apiVersion: policy.karmada.io/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}{namespace}}}\n"
        f"spec:\n  resourceSelectors: [{{apiVersion: apps/v1, kind: Deployment, {selector}}}]\n{spec}"
    )


def warnings(*policies: str, fleet: str = _FLEET) -> list[str]:
    files = {f"p{i}.yaml": text for i, text in enumerate(policies)}
    snapshot = repo.read(tree({"fleet.yaml": fleet or "# none", "web.yaml": _WEB, **files}))
    assert snapshot.problems == ()
    return [str(problem) for problem in lint.check(snapshot)]


@pytest.mark.parametrize(
    ("kind", "spec", "message"),
    [
        (
            "PropagationPolicy",
            "  placement: {clusterAffinity: {clusterNames: [eu-1, us-2]}}\n",
            "spec.placement.clusterAffinity.clusterNames[1] names the cluster us-2, which is not declared "
            "(did you mean us-1?)",
        ),
        (
            "PropagationPolicy",
            "  placement: {clusterAffinities: [{affinityName: a, exclude: [mars]}]}\n",
            "spec.placement.clusterAffinities[0].exclude[0] names the cluster mars, which is not declared",
        ),
        (
            "ClusterPropagationPolicy",
            "  placement: {replicaScheduling: {weightPreference: {staticWeightList: "
            "[{targetCluster: {clusterNames: [mars]}, weight: 1}]}}}\n",
            "spec.placement.replicaScheduling.weightPreference.staticWeightList[0].targetCluster.clusterNames[0] "
            "names the cluster mars, which is not declared",
        ),
        (
            "PropagationPolicy",
            "  suspension: {dispatchingOnClusters: {clusterNames: [mars]}}\n",
            "spec.suspension.dispatchingOnClusters.clusterNames[0] names the cluster mars, which is not declared",
        ),
        (
            "OverridePolicy",
            "  overrideRules: [{targetCluster: {clusterNames: [mars]}, overriders: {}}]\n",
            "spec.overrideRules[0].targetCluster.clusterNames[0] names the cluster mars, which is not declared",
        ),
        (
            "PropagationPolicy",
            "  dependentOverrides: [images]\n",
            "spec.dependentOverrides[0] names the OverridePolicy images, which does not exist",
        ),
        (
            "ClusterPropagationPolicy",
            "  dependentOverrides: [images]\n",
            "spec.dependentOverrides[0] names the ClusterOverridePolicy images, which does not exist",
        ),
    ],
)
def test_names_of_nothing_are_told(kind: str, spec: str, message: str) -> None:
    assert warnings(policy("p", spec, kind=kind)) == [f"p0.yaml:1:1: warning: {message}"]


def test_a_registry_of_a_cluster_that_nobody_declares_is_told() -> None:
    registry = (
        "apiVersion: search.karmada.io/v1alpha1\nkind: ResourceRegistry\nmetadata: {name: pods}\n"
        "spec:\n  targetCluster: {clusterNames: [mars]}\n  resourceSelectors: [{apiVersion: v1, kind: Pod}]\n"
    )
    assert warnings(registry) == [
        "p0.yaml:1:1: warning: spec.targetCluster.clusterNames[0] names the cluster mars, which is not declared"
    ]


def test_a_repository_without_clusters_knows_no_unknown_ones() -> None:
    assert warnings(policy("p", "  placement: {clusterAffinity: {clusterNames: [mars]}}\n"), fleet="") == []


def test_wildcards_in_cluster_names_are_told() -> None:
    found = warnings(policy("p", '  placement: {clusterAffinity: {clusterNames: ["eu-*"]}}\n'))
    assert found == [
        "p0.yaml:1:1: warning: spec.placement.clusterAffinity.clusterNames[0] names the cluster eu-*, "
        "which is not declared (names have no wildcards: use a labelSelector)"
    ]


def test_policies_that_tie_over_a_name_are_told() -> None:
    assert warnings(policy("b", ""), policy("a", "")) == [
        "p0.yaml:1:1: warning: PropagationPolicy shop/a selects Deployment/shop/web by name too, with equal "
        "priority, and wins by its name (set spec.priority, or select it once)"
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (policy("a", ""), policy("b", "  priority: 1\n")),
        (policy("a", ""), policy("b", "", selector="labelSelector: {matchLabels: {app: web}}")),
        (policy("a", ""), policy("a", "", kind="ClusterPropagationPolicy")),
    ],
    ids=["priorities differ", "one by label", "the namespaced kind always wins"],
)
def test_policies_that_do_not_tie_are_fine(one: str, other: str) -> None:
    assert warnings(one, other) == []


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("name: wep", "spec.resourceSelectors[0] selects nothing: no Deployment shop/wep (did you mean web?)"),
        (
            "labelSelector: {matchLabels: {app: db}}",
            "spec.resourceSelectors[0] selects nothing: no Deployment in shop",
        ),
    ],
)
def test_selectors_that_match_nothing_are_told(selector: str, message: str) -> None:
    assert warnings(policy("p", "", selector=selector)) == [f"p0.yaml:1:1: warning: {message}"]


def test_a_selector_of_another_version_is_told_which_one_there_is() -> None:
    text = policy("p", "", kind="ClusterOverridePolicy").replace("apps/v1", "apps/v1beta1")
    assert warnings(text) == [
        "p0.yaml:1:1: warning: spec.resourceSelectors[0] selects nothing: no Deployment web "
        "(the repository has it as apps/v1)"
    ]


def test_quotas_taints_and_overflows_name_clusters_too() -> None:
    quota = (
        "apiVersion: policy.karmada.io/v1alpha1\nkind: FederatedResourceQuota\nmetadata: {name: q, namespace: shop}\n"
        "spec: {overall: {cpu: 1}, staticAssignments: [{clusterName: mars, hard: {cpu: 1}}]}\n"
    )
    taints = (
        "apiVersion: policy.karmada.io/v1alpha1\nkind: ClusterTaintPolicy\nmetadata: {name: t}\n"
        "spec: {targetClusters: {clusterNames: [mars]}, taints: [{key: a, effect: NoSchedule}]}\n"
    )
    overflow = policy(
        "p",
        "  placement:\n    replicaScheduling: {replicaDivisionPreference: Aggregated}\n    clusterAffinities: "
        "[{affinityName: a, clusterNames: [eu-1], overflowAffinities: [{affinityName: b, clusterNames: [mars]}]}]\n",
    )
    old = policy("o", "  targetCluster: {exclude: [mars]}\n", kind="OverridePolicy")
    named = [message for message in warnings(quota, taints, overflow, old) if " names " in message]
    fields = [message.split("warning: ")[1].split(" names ")[0] for message in named]
    assert fields == [
        "spec.staticAssignments[0].clusterName",
        "spec.targetClusters.clusterNames[0]",
        "spec.placement.clusterAffinities[0].overflowAffinities[0].clusterNames[0]",
        "spec.targetCluster.exclude[0]",
    ]


def test_a_selector_of_a_kind_that_is_not_there_suggests_one_that_is() -> None:
    text = policy("p", "", selector="namespace: shop").replace("kind: Deployment,", "kind: Deploymnt,")
    assert warnings(text) == [
        "p0.yaml:1:1: warning: spec.resourceSelectors[0] selects nothing: no Deploymnt in shop "
        "(did you mean Deployment?)"
    ]


def test_what_has_no_effect_in_this_version_is_said() -> None:
    taints = (
        "apiVersion: policy.karmada.io/v1alpha1\nkind: ClusterTaintPolicy\nmetadata: {name: t}\n"
        "spec: {taints: [{key: a, effect: NoSchedule}]}\n"
    )
    moves = policy("p", "  propagateDeps: true\n  failover: {application: {decisionConditions: {}}}\n")
    said = [message.split("warning: ")[1] for message in warnings(taints, moves) if "not acted on yet" in message]
    assert said == []


def test_what_keeps_preserved_state_from_going_along_is_said_before_a_cluster_fails() -> None:
    def said(placement: str, mode: str, path: str) -> list[str]:
        text = policy("p", (
            f"  placement: {placement}\n  failover: {{cluster: {{purgeMode: {mode}, statePreservation: {{rules: "
            f"[{{aliasLabelName: job, jsonPath: \"{path}\"}}]}}}}}}\n"
        ))  # fmt: skip
        return [one.split("warning: ")[1] for one in warnings(text) if "statePreservation" in one]

    one = "{spreadConstraints: [{spreadByField: cluster, minGroups: 1, maxGroups: 1}]}"
    name = "spec.failover.cluster.statePreservation"
    assert said(one, "Directly", "{.jobId}") == []
    assert said("{clusterAffinity: {clusterNames: [m1]}}", "Directly", "{.jobId}") == []
    assert said(one, "Gracefully", "{.jobId}") == [
        f"{name} has no effect with purgeMode Gracefully (Directly passes state on)"
    ]
    assert said("{}", "Directly", "{.jobId}") == [
        f"{name} has an effect only while there is exactly one target "
        "(a spreadConstraint by cluster with maxGroups 1, or Aggregated)"
    ]
    assert said(one, "Directly", ".jobId") == [
        f"{name}: the jsonPath .jobId is plain text and names nothing (write {{.jobId}})"
    ]


def test_what_sops_encrypted_is_said_to_be_applied_as_it_is() -> None:
    secret = (
        "apiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: shop}\n"
        "data: {password: 'ENC[AES256_GCM,data:x]'}\nsops: {mac: 'ENC[x]', version: 3.9.0}\n"
    )
    assert [str(problem) for problem in lint.check(repo.read(tree({"login.yaml": secret})))] == [
        "login.yaml:1:1: warning: Secret/shop/login is encrypted with SOPS, and is applied as it is: gitfed decrypts "
        "nothing (let an operator in the clusters make the Secret, such as External Secrets)"
    ]


def told_of_cluster(spec: str, *, name: str = "edge") -> list[str]:
    text = f"apiVersion: cluster.karmada.io/v1alpha1\nkind: Cluster\nmetadata: {{name: {name}}}\nspec: {{{spec}}}\n"
    return [str(problem) for problem in lint.check(repo.read(tree({"edge.yaml": text})))]


@pytest.mark.parametrize(
    ("spec", "idle"),
    [
        pytest.param("apiEndpoint: 'https://edge:6443'", "spec.apiEndpoint has", id="an address"),
        pytest.param("proxyURL: 'http://proxy:3128'", "spec.proxyURL has", id="a proxy"),
        pytest.param("insecureSkipTLSVerification: true", "spec.insecureSkipTLSVerification has", id="no check"),
        pytest.param(
            "apiEndpoint: 'https://edge:6443', secretRef: {namespace: a, name: b}",
            "spec.apiEndpoint and spec.secretRef have", id="an address and a credential",
        ),
    ],
)  # fmt: skip
def test_how_a_pulled_cluster_would_be_reached_is_said_to_be_idle(spec: str, idle: str) -> None:
    assert told_of_cluster(f"syncMode: Pull, {spec}") == [
        f"edge.yaml:1:1: warning: {idle} no effect with syncMode Pull: the agent dials out"
    ]
    assert told_of_cluster(f"syncMode: Push, {spec}") == []


def test_a_pulled_cluster_that_says_nothing_of_its_address_is_fine() -> None:
    assert told_of_cluster("syncMode: Pull") == []


def test_a_pulled_cluster_with_a_name_no_certificate_holds_is_told_early() -> None:
    name = "e" * 45
    assert told_of_cluster("syncMode: Pull", name=name) == [
        f"edge.yaml:1:1: warning: the hub signs no certificate for an agent of {name}: it has 45 characters, at most "
        "44 are allowed"
    ]
