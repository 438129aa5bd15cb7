"""Native rules: what the recorded cases do not say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.interpret.native import Native
from gitfed.interpret.native.replicas import requirements
from gitfed.interpret.registry import Interpretation, Interpreter, Unknown

INTERPRETER = Interpreter([Native()])


def workload(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "generation": 1}, "spec": spec}


def test_a_selector_that_is_empty_asks_for_no_node() -> None:
    assert requirements({"nodeSelector": {}, "tolerations": [], "affinity": {}, "containers": []}) is None


def test_amounts_are_not_cut() -> None:
    pod = {"containers": [{"name": "a", "resources": {"requests": {"memory": "9Ei"}}}]}
    assert requirements(pod) == {"resourceRequest": {"memory": "9Ei"}}


def test_less_than_nothing_is_not_asked_for() -> None:
    pod = {"containers": [{"resources": {"requests": {"cpu": "500m", "memory": "-1"}}}], "overhead": {"cpu": -1}}
    assert requirements(pod) is None


def test_what_is_asked_of_a_node_has_the_members_that_kubernetes_knows() -> None:
    term = {"matchExpressions": [{"operator": "Exists", "weight": 1}], "matchFields": []}
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    pod = {"affinity": {"nodeAffinity": affinity}, "tolerations": [{"key": "gpu", "value": "", "why": "it is ours"}]}
    assert requirements(pod) == {
        "nodeClaim": {
            "hardNodeAffinity": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "", "operator": "Exists"}]}]},
            "tolerations": [{"key": "gpu"}],
        }
    }


@pytest.mark.parametrize(
    "spec",
    [
        {"template": {"spec": {"tolerations": "all"}}},
        {"replicas": "3"},
        {"replicas": True},
        {"replicas": 1.5},
        {"template": []},
        {"template": {"spec": {"containers": {}}}},
        {"template": {"spec": {"containers": ["x"]}}},
        {"template": {"spec": {"containers": [{"resources": {"requests": {"cpu": "lots"}}}]}}},
        {"template": {"spec": {"containers": [{"resources": {"requests": {"cpu": True}}}]}}},
    ],
)
def test_a_malformed_template_is_an_error_that_is_said(spec: dict[str, Any]) -> None:
    answer = INTERPRETER.replicas(workload(**spec))
    assert isinstance(answer, Unknown)
    assert answer.permanent


def test_an_unusual_status_is_no_crash() -> None:
    answer = INTERPRETER.health({**workload(), "status": {"observedGeneration": 1, "updatedReplicas": "many"}})
    assert answer == Unknown("status.updatedReplicas is no whole number: 'many'", "native")


def test_dependencies_are_unique_and_sorted() -> None:
    pod = {
        "containers": [
            {"name": "a", "envFrom": [{"secretRef": {"name": "z"}}, {"configMapRef": {"name": "m"}}]},
            {"name": "b", "envFrom": [{"secretRef": {"name": "z"}}, {"secretRef": {"name": "a"}}]},
        ],
        "serviceAccountName": "default",
    }
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop"}, "spec": pod}
    answer = INTERPRETER.dependencies(body)
    assert isinstance(answer, Interpretation)
    assert [(item["kind"], item["name"], item["namespace"]) for item in answer.value] == [
        ("ConfigMap", "m", "shop"),
        ("Secret", "a", "shop"),
        ("Secret", "z", "shop"),
    ]


@pytest.mark.parametrize("kind", [("batch/v1", "Job"), ("v1", "Service"), ("v1", "PersistentVolumeClaim")])
def test_nothing_is_retained_in_what_is_no_object(kind: tuple[str, str]) -> None:
    head = {"apiVersion": kind[0], "kind": kind[1], "metadata": {"name": "n", "namespace": "shop"}}
    kept = {"selector": {"matchLabels": {"a": "b"}}, "clusterIP": "10.0.0.1", "volumeName": "v"}
    answer = INTERPRETER.retain({**head, "spec": 5}, {**head, "spec": kept})
    assert isinstance(answer, Unknown)
    assert "cannot be retained" in answer.reason


def test_a_deployment_that_reports_nothing_yet_still_says_which_generation_it_is_of() -> None:
    stamped = {"annotations": {"resourcetemplate.karmada.io/generation": "2"}}
    fresh = {**workload(), "metadata": {"name": "d", "generation": 3, **stamped}, "status": {}}
    assert INTERPRETER.status(fresh) == Interpretation({"generation": 3, "resourceTemplateGeneration": 2}, "native")


def test_null_elements_and_amounts_count_as_empty_ones() -> None:
    pod = {"containers": [None, {"resources": {"requests": {"cpu": None, "memory": "1Mi"}}}]}
    assert requirements(pod) == {"resourceRequest": {"memory": "1Mi"}}


def test_an_import_without_a_namespace_refers_to_objects_without_one() -> None:
    body = {"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ServiceImport", "metadata": {"name": "db"}}
    answer = INTERPRETER.dependencies(body)
    assert isinstance(answer, Interpretation)
    assert answer.value[1] == {"apiVersion": "v1", "kind": "Service", "name": "derived-db"}


def test_an_account_keeps_its_own_entries_and_gets_new_ones_once() -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot", "namespace": "shop"}}
    desired = {**account, "secrets": [{"name": "a"}, {"name": "a"}]}
    observed = {**account, "secrets": [{"name": "a"}, {"name": "t"}, {"name": "t", "namespace": "x"}]}
    answer = INTERPRETER.retain(desired, observed)
    assert isinstance(answer, Interpretation)
    assert answer.value["secrets"] == [{"name": "a"}, {"name": "a"}, {"name": "t"}]


def test_the_first_report_on_a_disruption_budget_is_written_even_if_all_zero() -> None:
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b", "namespace": "shop"}}
    answer = INTERPRETER.aggregate_status(budget, [], "2026-01-02T03:04:05Z")
    assert isinstance(answer, Interpretation)
    assert answer.value["status"] == {
        "currentHealthy": 0,
        "desiredHealthy": 0,
        "disruptionsAllowed": 0,
        "expectedPods": 0,
    }


def test_ports_of_a_balancer_and_active_jobs_have_only_members_that_say_something() -> None:
    ingress = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "i", "namespace": "shop"}}
    ports = [{"port": 443, "error": ""}, {"port": 443, "protocol": ""}]
    report = {"clusterName": "m", "status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.1", "ports": ports}]}}}
    answer = INTERPRETER.aggregate_status(ingress, [report], "2026-01-02T03:04:05Z")
    assert isinstance(answer, Interpretation)
    assert answer.value["status"]["loadBalancer"]["ingress"][0]["ports"] == [
        {"port": 443, "protocol": ""},
        {"port": 443, "protocol": "", "error": ""},  # an error without words is one
    ]
    cron = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c", "namespace": "shop"}}
    report = {"clusterName": "m", "status": {"active": [{"kind": "Job", "name": "c-1", "uid": ""}]}}
    answer = INTERPRETER.aggregate_status(cron, [report], "2026-01-02T03:04:05Z")
    assert isinstance(answer, Interpretation)
    assert answer.value["status"] == {"active": [{"kind": "Job", "name": "c-1"}]}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab1", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["replicas", "template", "spec", "containers", "resources", "requests", "volumes", "loadBalancer"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=10,
)
KINDS = [
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("batch/v1", "Job"),
    ("v1", "Pod"),
    ("v1", "Service"),
    ("networking.k8s.io/v1", "Ingress"),
]


@given(st.sampled_from(KINDS), json_values, json_values)
def test_no_content_whatever_makes_an_operation_crash(kind: tuple[str, str], spec: Any, status: Any) -> None:
    body = {"apiVersion": kind[0], "kind": kind[1], "metadata": {"name": "x"}, "spec": spec, "status": status}
    items = [{"clusterName": "m1", "status": status}]
    for answer in (
        INTERPRETER.replicas(body),
        INTERPRETER.revise_replica(body, 3),
        INTERPRETER.retain(body, body),
        INTERPRETER.health(body),
        INTERPRETER.status(body),
        INTERPRETER.aggregate_status(body, items, "2030-01-01T00:00:00Z"),
        INTERPRETER.dependencies(body),
    ):
        assert isinstance(answer, Interpretation | Unknown)


def test_an_ingress_depends_on_the_secret_of_each_host() -> None:
    tls = [{"secretName": "b"}, {"secretName": "a"}, {"secretName": "b"}]
    ingress = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "i"}, "spec": {"tls": tls}}
    answer = INTERPRETER.dependencies(ingress)
    assert isinstance(answer, Interpretation)
    assert [item["name"] for item in answer.value] == ["a", "b", "b"]


def aggregated(body: dict[str, Any], *statuses: dict[str, Any]) -> Any:
    items = [{"clusterName": f"m{number}", "status": status} for number, status in enumerate(statuses)]
    answer = INTERPRETER.aggregate_status(body, items, "2030-01-01T00:00:00Z")
    assert isinstance(answer, Interpretation)
    return answer.value["status"]


def test_of_a_job_that_says_two_ends_the_first_counts() -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}
    ends = [{"type": "Complete", "status": "True"}, {"type": "Failed", "status": "True"}]
    assert [one["type"] for one in aggregated(job, {"conditions": ends})["conditions"]] == ["Complete"]
    assert [one["type"] for one in aggregated(job, {"conditions": ends[::-1]})["conditions"]] == ["Failed"]


def test_moments_are_written_as_a_server_does() -> None:
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}}
    found = aggregated(budget, {"disruptedPods": {"a": "2026-01-01T02:00:00+01:00"}})
    assert found["disruptedPods"] == {"m0/a": "2026-01-01T01:00:00Z"}
    started = {"startTime": "2026-01-01T02:00:00+01:00"}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "status": started}
    assert aggregated(job, {"active": 1})["startTime"] == "2026-01-01T01:00:00Z"
