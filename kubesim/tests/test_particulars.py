"""What a kube-apiserver 1.36 was seen to do with requests that nobody plans: each a thing that once differed here."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.asking import APPLY, JSON_PATCH, MERGE, STRATEGIC, Answer, Asker, fresh_cluster

CORE = "/api/v1/namespaces/default"
APPS = "/apis/apps/v1/namespaces/default"
TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"app": "w"}},
    "spec": {"containers": [{"name": "c", "image": "x:1"}]},
}
DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "d"},
    "spec": {"selector": {"matchLabels": {"app": "w"}}, "template": TEMPLATE},
}


@pytest.fixture
async def ask() -> AsyncIterator[Asker]:
    async with fresh_cluster() as asker:
        yield asker


def fields(answer: Answer) -> list[str]:
    """The fields that a refusal names, in its order."""
    return [cause["field"] for cause in answer.body["details"]["causes"]]


# apply -------------------------------------------------------------------------------------------------------------


def with_replicas(value: Any) -> dict[str, Any]:
    return {**DEPLOYMENT, "spec": {**DEPLOYMENT["spec"], "replicas": value}}


@pytest.mark.parametrize(("sent", "kept"), [(2.0, 2), (2**40, 0), (2**32 + 3, 3)])
async def test_an_applied_number_is_fitted_to_its_field(ask: Asker, sent: Any, kept: int) -> None:
    answer = await ask("PATCH", f"{APPS}/deployments/d?fieldManager=m", with_replicas(sent), APPLY)
    assert (answer.status, answer.body["spec"]["replicas"]) == (201, kept)


UNCONVERTED = "failed to convert new object (/{}) to proper version: unable to convert unstructured object to {}: {}"


@pytest.mark.parametrize(
    ("path", "body", "why"),
    [
        (f"{APPS}/deployments/d", with_replicas(1.5), "cannot convert float64 to int32"),
        (
            f"{CORE}/secrets/s",
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "bad!"}},
            "error decoding from json: illegal base64 data at input byte 3",
        ),
        (
            "/apis/coordination.k8s.io/v1/namespaces/default/leases/l",
            {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": "l"},
                "spec": {"renewTime": "soon"},
            },
            'parsing time "soon" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "soon" as "2006"',
        ),
    ],
)
async def test_what_an_apply_came_to_may_not_be_an_object_of_its_kind(
    ask: Asker, path: str, body: dict[str, Any], why: str
) -> None:
    answer = await ask("PATCH", f"{path}?fieldManager=m", body, APPLY)
    version = body["apiVersion"] if "/" in body["apiVersion"] else f"/{body['apiVersion']}"
    called = f"{version}, Kind={body['kind']}"
    said = UNCONVERTED.format(f"{body['metadata']['name']}; {called}", called, why)
    assert (answer.status, answer.message) == (500, said)


# patches -----------------------------------------------------------------------------------------------------------


async def test_a_patch_may_take_away_the_kind_but_not_the_version(ask: Asker) -> None:
    await ask("POST", f"{CORE}/configmaps", {"metadata": {"name": "a"}, "data": {"k": "1"}})
    for body, media in (
        ({"kind": None}, MERGE),
        ({"kind": ""}, STRATEGIC),
        ([{"op": "remove", "path": "/kind"}], JSON_PATCH),
    ):
        answer = await ask("PATCH", f"{CORE}/configmaps/a", body, media)
        assert (answer.status, answer.body["kind"]) == (200, "ConfigMap")
    answer = await ask("PATCH", f"{CORE}/configmaps/a", {"apiVersion": None}, MERGE)
    said = "the name of the object (a based on URL) was undeterminable: name must be provided"
    assert (answer.status, answer.message) == (400, said)


async def test_a_merge_patch_has_no_nulls_inside_its_lists(ask: Asker) -> None:
    await ask("POST", f"{APPS}/deployments", DEPLOYMENT)
    containers = [{"name": "c", "image": "x:2", "unheard": None, "env": [{"name": "A", "odd": None}]}]
    answer = await ask(
        "PATCH", f"{APPS}/deployments/d", {"spec": {"template": {"spec": {"containers": containers}}}}, MERGE
    )
    assert (answer.status, answer.warnings) == (200, [])


async def test_unknown_fields_of_a_patch_are_told_in_order_of_keys(ask: Asker) -> None:
    await ask("POST", f"{APPS}/deployments", DEPLOYMENT)
    body = {"zz": 1, "spec": {"b": 1, "a": 2, "template": {"y": 1}}}
    told = [f'299 - "unknown field \\"{path}\\""' for path in ("spec.a", "spec.b", "spec.template.y", "zz")]
    for media in (MERGE, STRATEGIC):
        assert (await ask("PATCH", f"{APPS}/deployments/d", body, media)).warnings == told


# kinds -------------------------------------------------------------------------------------------------------------


async def test_a_job_shares_the_labels_that_its_template_lends_it(ask: Asker) -> None:
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    spec = {"template": {**TEMPLATE, "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}}
    lent = (await ask("POST", jobs, {"metadata": {"name": "lent"}, "spec": spec})).body
    own = (await ask("POST", jobs, {"metadata": {"name": "own", "labels": {"app": "w"}}, "spec": spec})).body
    assert lent["metadata"]["labels"] == lent["spec"]["template"]["metadata"]["labels"]
    assert lent["metadata"]["labels"]["job-name"] == "lent"
    assert own["metadata"]["labels"] == {"app": "w"}


async def test_a_stateful_set_is_looked_through_from_its_strategy_to_its_template(ask: Asker) -> None:
    spec = {
        **DEPLOYMENT["spec"],
        "serviceName": "Bad_",
        "replicas": -1,
        "podManagementPolicy": "x",
        "template": {**TEMPLATE, "spec": {}},
        "volumeClaimTemplates": [{"metadata": {"name": "v"}, "spec": {"accessModes": ["ReadWriteOnce"]}}],
    }
    answer = await ask("POST", f"{APPS}/statefulsets", {"metadata": {"name": "a"}, "spec": spec})
    assert fields(answer) == [
        "spec.podManagementPolicy",
        "spec.volumeClaimTemplates[0].spec.resources[storage]",
        "spec.replicas",
        "spec.serviceName",
        "spec.template.spec.containers",
    ]


async def test_a_service_accounts_secrets_are_names(ask: Asker) -> None:
    secrets = [{"name": "s", "kind": "Secret", "namespace": "x"}, {"kind": "Secret"}]
    answer = await ask("POST", f"{CORE}/serviceaccounts", {"metadata": {"name": "a"}, "secrets": secrets})
    assert answer.body["secrets"] == [{"name": "s"}, {}]


@pytest.mark.parametrize(
    ("certificate", "word"), [("x", "certificate"), ("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n", "key")]
)
async def test_a_pair_without_certificate_or_key_is_warned_of(ask: Asker, certificate: str, word: str) -> None:
    data = {"tls.crt": certificate, "tls.key": "y"}
    body = {"metadata": {"name": "a"}, "type": "kubernetes.io/tls", "stringData": data}
    answer = await ask("POST", f"{CORE}/secrets", body)
    assert answer.warnings == [f'299 - "tls: failed to find any PEM data in {word} input"']


async def test_of_two_views_of_a_pods_address_the_single_one_counts(ask: Asker) -> None:
    await ask("POST", f"{CORE}/pods", {"metadata": {"name": "p"}, "spec": TEMPLATE["spec"]})
    status = {"podIP": "10.1.1.1", "podIPs": [{"ip": "nonsense"}]}
    answer = await ask("PATCH", f"{CORE}/pods/p/status", {"status": status}, MERGE)
    assert answer.body["status"]["podIPs"] == [{"ip": "10.1.1.1"}]
    answer = await ask("PATCH", f"{CORE}/pods/p/status", {"status": {"hostIPs": [{"ip": "x"}]}}, MERGE)
    assert fields(answer) == ["status.hostIPs[0].ip", "status.hostIPs[0]"]


async def test_of_a_changed_priority_class_only_the_change_is_told(ask: Asker) -> None:
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    await ask("POST", classes, {"metadata": {"name": "p"}, "value": 1})
    answer = await ask("PATCH", f"{classes}/p", {"value": 2000000000, "preemptionPolicy": "x"}, MERGE)
    assert fields(answer) == ["value", "preemptionPolicy"]


async def test_a_nodes_ranges_are_looked_at_whenever_it_is_written(ask: Asker) -> None:
    nodes = "/api/v1/nodes"
    await ask("POST", nodes, {"metadata": {"name": "n"}})
    answer = await ask("PATCH", f"{nodes}/n", {"spec": {"podCIDRs": ["x"]}}, MERGE)
    assert (answer.status, fields(answer)) == (422, ["spec.podCIDRs[0]"])
    answer = await ask("PATCH", f"{nodes}/n/status", {"status": {"config": {"error": "e"}}}, MERGE)
    assert "config" not in answer.body["status"]


async def test_a_field_reference_speaks_of_pods_of_version_one(ask: Asker) -> None:
    env = [{"name": "A", "valueFrom": {"fieldRef": {"apiVersion": "v2", "fieldPath": "metadata.name"}}}]
    spec = {"containers": [{"name": "c", "image": "x", "env": env}]}
    answer = await ask("POST", f"{CORE}/pods", {"metadata": {"name": "p"}, "spec": spec})
    said = 'Invalid value: "metadata.name": error converting fieldPath: unsupported pod version: v2'
    assert [cause["message"] for cause in answer.body["details"]["causes"]] == [said]


async def test_counts_that_are_missing_count_as_none(ask: Asker) -> None:
    await ask("POST", f"{APPS}/replicasets", {**DEPLOYMENT, "kind": "ReplicaSet"})
    answer = await ask("PATCH", f"{APPS}/replicasets/d/status", {"status": {"replicas": -1}}, MERGE)
    assert "Invalid value: 0: cannot be greater than status.replicas" in answer.message


async def test_a_trial_put_of_something_missing_names_no_prefix_of_the_storage(ask: Asker) -> None:
    body = {"metadata": {"name": "a", "uid": "u"}}
    for query, key in (("", "/rec/leases/default/a"), ("?dryRun=All", "/leases/default/a")):
        answer = await ask("PUT", f"/apis/coordination.k8s.io/v1/namespaces/default/leases/a{query}", body)
        assert (answer.status, f"Key: {key}, " in answer.message) == (409, True)


async def test_a_removed_pod_template_is_shown(ask: Asker) -> None:
    await ask("POST", f"{CORE}/podtemplates", {"metadata": {"name": "t"}, "template": TEMPLATE})
    assert (await ask("DELETE", f"{CORE}/podtemplates/t")).body["kind"] == "PodTemplate"


async def test_a_custom_object_is_stored_with_whole_numbers_written_so(ask: Asker) -> None:
    open_schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": open_schema}
    names = {"plural": "widgets", "kind": "Widget"}
    spec = {"group": "example.com", "scope": "Cluster", "names": names, "versions": [version]}
    definition = {"metadata": {"name": "widgets.example.com"}, "spec": spec}
    await ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": [1.0, 1.5, 2**63]}
    kept = (await ask("POST", "/apis/example.com/v1/widgets", widget)).body["spec"]
    assert [(type(one), one) for one in kept] == [(int, 1), (float, 1.5), (float, 2.0**63)]


async def test_a_number_of_seconds_that_nobody_gave_cannot_become_none(ask: Asker) -> None:
    await ask("POST", f"{CORE}/configmaps", {"metadata": {"name": "a"}})
    answer = await ask("PATCH", f"{CORE}/configmaps/a", {"metadata": {"deletionGracePeriodSeconds": 0}}, MERGE)
    assert (answer.status, set(fields(answer))) == (422, {"metadata.deletionGracePeriodSeconds"})


@pytest.mark.parametrize(
    ("path", "spec", "said"),
    [
        (
            f"{APPS}/deployments",
            {"strategy": {"type": "x", "rollingUpdate": {"maxSurge": 1}}},
            'spec.strategy: Unsupported value: {"Type":"x","RollingUpdate":{"MaxUnavailable":0,"MaxSurge":1}}: '
            'supported values: "Recreate", "RollingUpdate"',
        ),
        (
            f"{APPS}/daemonsets",
            {"updateStrategy": {"type": "x", "rollingUpdate": {"maxUnavailable": "5%"}}},
            'spec.updateStrategy: Unsupported value: {"Type":"x","RollingUpdate":{"MaxUnavailable":"5%","MaxSurge":0}}'
            ': supported values: "RollingUpdate", "OnDelete"',
        ),
        (
            f"{APPS}/statefulsets",
            {"updateStrategy": {"type": "x", "rollingUpdate": {}}},
            'spec.updateStrategy: Invalid value: {"Type":"x","RollingUpdate":{"Partition":0,"MaxUnavailable":null}}: '
            "must be 'RollingUpdate' or 'OnDelete'",
        ),
    ],
)
async def test_a_strategy_that_does_not_exist_is_shown_as_go_has_it(
    ask: Asker, path: str, spec: dict[str, Any], said: str
) -> None:
    answer = await ask("POST", path, {"metadata": {"name": "a"}, "spec": {**DEPLOYMENT["spec"], **spec}})
    assert answer.message.partition(" is invalid: ")[2] == said


async def test_a_quotas_scopes_fit_what_it_counts(ask: Asker) -> None:
    term = {"scopeName": "BestEffort", "operator": "Exists"}
    spec = {"hard": {"limits.ephemeral-storage": "1"}, "scopes": ["Terminating"]}
    answer = await ask("POST", f"{CORE}/resourcequotas", {"metadata": {"name": "a"}, "spec": spec})
    said = 'spec.scopes: Invalid value: ["Terminating"]: unsupported scope applied to resource'
    assert answer.message.endswith(said)
    spec = {"hard": {"cpu": "1"}, "scopeSelector": {"matchExpressions": [term]}}
    answer = await ask("POST", f"{CORE}/resourcequotas", {"metadata": {"name": "a"}, "spec": spec})
    assert '{"MatchExpressions":[{"ScopeName":"BestEffort","Operator":"Exists","Values":null}]}' in answer.message


async def test_a_claim_tells_of_resources_that_claims_have(ask: Asker) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    await ask("POST", f"{CORE}/persistentvolumeclaims", {"metadata": {"name": "a"}, "spec": spec})
    status = {
        "capacity": {"storage": "-1"},
        "allocatedResourceStatuses": {"a": "NodeResizePending", "b.example.com/c": "x"},
        "allocatedResources": {"storage": "1Gi", "kubernetes.io/x": "1"},
    }
    answer = await ask("PATCH", f"{CORE}/persistentvolumeclaims/a/status", {"status": status}, MERGE)
    assert [cause["message"].partition(": supported")[0] for cause in answer.body["details"]["causes"]] == [
        "Invalid value: -1: must be a valid resource quantity",
        'Unsupported value: "a"',
        'Unsupported value: "b.example.com/c"',
        'Unsupported value: "kubernetes.io/x"',
    ]


async def test_a_suspended_job_may_move_to_other_nodes_but_not_to_other_neighbours(ask: Asker) -> None:
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    pods = {**TEMPLATE["spec"], "restartPolicy": "Never"}
    spec = {"suspend": True, "template": {**TEMPLATE, "spec": pods}}
    await ask("POST", jobs, {"metadata": {"name": "a"}, "spec": spec})
    term = {"matchExpressions": [{"key": "a", "operator": "Exists"}]}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    for affinity, status in (
        ({"nodeAffinity": {required: {"nodeSelectorTerms": [term]}}}, 200),
        ({"podAffinity": {required: [{"topologyKey": "zone", "labelSelector": {}}]}}, 422),
        (None, 200),
    ):
        change = {"spec": {"template": {"spec": {"affinity": affinity}}}}
        assert (await ask("PATCH", f"{jobs}/a", change, MERGE)).status == status


async def test_what_is_behind_a_closed_gate_is_read_and_dropped(ask: Asker) -> None:
    container = {"name": "c", "image": "x", "lifecycle": {"stopSignal": "SIGTERM"}}
    answer = await ask("POST", f"{CORE}/pods", {"metadata": {"name": "p"}, "spec": {"containers": [container]}})
    assert (answer.status, "lifecycle" in answer.body["spec"]["containers"][0]) == (201, False)


async def test_a_pod_is_warned_of_what_has_no_effect(ask: Asker) -> None:
    port = {"containerPort": 80, "hostIP": "1.2.3.4"}
    spec = {
        "containers": [{"name": "c", "image": "x", "ports": [port]}],
        "volumes": [{"name": "v", "projected": {"sources": [{}]}}],
    }
    told = (await ask("POST", f"{CORE}/pods", {"metadata": {"name": "p"}, "spec": spec})).warnings
    assert told == [
        '299 - "volume \\"v\\" (Projected) has no sources provided"',
        '299 - "spec.containers[0].ports[0]: hostIP set without hostPort: '
        '{Name: HostPort:0 ContainerPort:80 Protocol:TCP HostIP:1.2.3.4}"',
    ]


async def test_a_limit_range_is_made_by_a_put(ask: Asker) -> None:
    body = {"metadata": {"name": "a"}, "spec": {"limits": [{"type": "Pod", "max": {"cpu": "1"}}]}}
    assert (await ask("PUT", f"{CORE}/limitranges/a", body)).status == 201


async def test_a_claim_template_is_a_claim_whatever_it_says(ask: Asker) -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    odd = {"kind": "Odd", "metadata": {"name": "v"}, "spec": claim}
    spec = {**DEPLOYMENT["spec"], "serviceName": "s", "volumeClaimTemplates": [odd]}
    answer = await ask("POST", f"{APPS}/statefulsets", {"metadata": {"name": "a"}, "spec": spec})
    assert answer.body["spec"]["volumeClaimTemplates"][0]["kind"] == "PersistentVolumeClaim"


# what may be done --------------------------------------------------------------------------------------------------

RBAC = "/apis/rbac.authorization.k8s.io/v1"


async def test_a_refusal_tells_of_bound_roles_that_do_not_exist(ask: Asker) -> None:
    subject = {"kind": "Group", "name": "system:unauthenticated"}
    for kind, name in (("Role", "gone"), ("ClusterRole", "lost")):
        ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
        body = {"metadata": {"name": name}, "roleRef": ref, "subjects": [subject]}
        await ask("POST", f"{RBAC}/namespaces/default/rolebindings", body)
    resource = {"verb": "get", "resource": "pods", "namespace": "default"}
    spec = {"user": "alice", "groups": ["system:unauthenticated"], "resourceAttributes": resource}
    answer = await ask("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": spec})
    assert answer.body["status"] == {
        "allowed": False,
        "reason": 'RBAC: [role.rbac.authorization.k8s.io "gone" not found, '
        'clusterrole.rbac.authorization.k8s.io "lost" not found]',
    }


async def test_a_deletion_of_jobs_warns_also_where_there_are_none(ask: Asker) -> None:
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    for path, status in ((f"{jobs}/none", 404), (jobs, 200)):
        answer = await ask("DELETE", path)
        assert answer.status == status
        assert answer.warnings[0].startswith('299 - "child pods are preserved by default')


async def test_an_action_that_shows_no_table_is_not_done_for_one(ask: Asker) -> None:
    await ask("POST", f"{CORE}/pods", {"metadata": {"name": "p"}, "spec": TEMPLATE["spec"]})
    table = "application/json;as=Table;v=v1;g=meta.k8s.io"
    body = {"metadata": {"name": "p"}, "target": {"name": "n"}}
    assert (await ask("POST", f"{CORE}/pods/p/binding", body, accept=table)).status == 406
    assert "nodeName" not in (await ask("GET", f"{CORE}/pods/p")).body["spec"]


@pytest.mark.parametrize(
    ("amount", "said"),
    [
        ("100MB", "quantities must match the regular expression"),
        ("50%", "quantities must match the regular expression"),
        ("1.5.5", "quantities must match the regular expression"),
        ("1kk", "unable to parse quantity's suffix"),
        ("--1", "unable to parse quantity's suffix"),
    ],
)
async def test_an_amount_has_the_wrong_form_or_the_wrong_suffix(ask: Asker, amount: str, said: str) -> None:
    container = {"name": "c", "image": "x", "resources": {"requests": {"memory": amount}}}
    answer = await ask("POST", f"{CORE}/pods", {"metadata": {"name": "p"}, "spec": {"containers": [container]}})
    assert (answer.status, f"cannot be handled as a Pod: {said}" in answer.message) == (400, True)


async def test_limits_that_a_strategy_does_not_ask_for_are_none(ask: Asker) -> None:
    strategy = {"type": "OnDelete", "rollingUpdate": {}}
    spec = {**DEPLOYMENT["spec"], "updateStrategy": strategy}
    answer = await ask("POST", f"{APPS}/daemonsets", {"metadata": {"name": "a"}, "spec": spec})
    assert answer.body["spec"]["updateStrategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 0}


async def test_an_apply_that_creates_wants_a_version_that_is_one(ask: Asker) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "resourceVersion": "x"}}
    answer = await ask("PATCH", f"{CORE}/configmaps/a?fieldManager=m", body, APPLY)
    assert (answer.status, answer.message) == (500, 'strconv.ParseUint: parsing "x": invalid syntax')


async def test_a_namespaces_finalizers_are_complained_of_twice(ask: Asker) -> None:
    answer = await ask("PATCH", "/api/v1/namespaces/default", {"metadata": {"finalizers": ["bad"]}}, MERGE)
    assert fields(answer) == ["metadata.finalizers[0]"] * 2
