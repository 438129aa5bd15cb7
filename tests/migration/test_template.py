"""What of a live object is a template: what a person wrote, and nothing that comes back by itself."""

from __future__ import annotations

from typing import Any

import pytest

from gitfed.migration import defaults, layout, member, template
from gitfed.migration.report import Code
from gitfed.model.base import Body


def live(kind: str, api_version: str = "v1", *, name: str = "web", namespace: str = "shop", **members: Any) -> Body:
    metadata = {
        "name": name, "namespace": namespace, "uid": "u", "resourceVersion": "7", "generation": 3,
        "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": [{"manager": "kubectl"}], "selfLink": "/x",
        **members.pop("metadata", {}),
    }  # fmt: skip
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **members}


POD: Body = {
    "containers": [{
        "name": "web", "image": "nginx:1.27", "imagePullPolicy": "IfNotPresent", "resources": {},
        "ports": [{"containerPort": 80, "protocol": "TCP"}], "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "env": [{"name": "NODE", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}}}],
        "readinessProbe": {"httpGet": {"path": "/", "port": 80, "scheme": "HTTP"}, "failureThreshold": 3,
                           "periodSeconds": 5, "successThreshold": 1, "timeoutSeconds": 1},
    }],
    "dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler",
    "securityContext": {}, "serviceAccount": "web", "serviceAccountName": "web", "terminationGracePeriodSeconds": 30,
    "volumes": [{"name": "conf", "configMap": {"name": "conf", "defaultMode": 420}}],
}  # fmt: skip


def test_of_a_deployment_what_was_written_is_left() -> None:
    body = live(
        "Deployment", "apps/v1",
        metadata={"annotations": {"deployment.kubernetes.io/revision": "4", "example.com/team": "shop",
                                  "kubectl.kubernetes.io/last-applied-configuration": "{}"},
                  "labels": {"app": "web", "propagationpolicy.karmada.io/permanent-id": "x"}},
        spec={"progressDeadlineSeconds": 600, "replicas": 3, "revisionHistoryLimit": 10,
              "selector": {"matchLabels": {"app": "web"}},
              "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}, "type": "RollingUpdate"},
              "template": {"metadata": {"creationTimestamp": None, "labels": {"app": "web"}}, "spec": POD}},
        status={"replicas": 3},
    )  # fmt: skip
    before = str(body)
    assert template.of(body) == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "annotations": {"example.com/team": "shop"},
            "labels": {"app": "web"},
        },
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {
                    "containers": [
                        {
                            "name": "web",
                            "image": "nginx:1.27",
                            "ports": [{"containerPort": 80}],
                            "env": [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
                            "readinessProbe": {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 5},
                        }
                    ],
                    "serviceAccountName": "web",
                    "volumes": [{"name": "conf", "configMap": {"name": "conf"}}],
                },
            },
        },
    }
    assert str(body) == before, "the live object stays as it was"


def test_what_one_cluster_chose_does_not_go_to_another() -> None:
    service = live("Service", spec={
        "clusterIP": "10.0.0.7", "clusterIPs": ["10.0.0.7"], "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
        "internalTrafficPolicy": "Cluster", "sessionAffinity": "None", "type": "NodePort",
        "ports": [{"port": 80, "targetPort": 80, "protocol": "TCP", "nodePort": 31000, "name": "http"}]})  # fmt: skip
    assert template.of(service)["spec"] == {"ports": [{"port": 80, "name": "http"}], "type": "NodePort"}
    headless = live("Service", spec={"clusterIP": "None", "clusterIPs": ["None"], "ports": [{"port": 1}]})
    assert template.of(headless)["spec"] == {"clusterIP": "None", "ports": [{"port": 1}]}
    claim = live("PersistentVolumeClaim", spec={"volumeName": "pv-1", "volumeMode": "Filesystem", "resources": {}})
    assert template.of(claim)["spec"] == {"resources": {}}
    job = live("Job", "batch/v1", spec={
        "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "x"}}, "suspend": False,
        "template": {"metadata": {"labels": {"batch.kubernetes.io/job-name": "web", "job-name": "web"}},
                     "spec": {"restartPolicy": "Never", "containers": []}}})  # fmt: skip
    assert template.of(job)["spec"] == {"template": {"spec": {"restartPolicy": "Never", "containers": []}}}


@pytest.mark.parametrize(
    ("image", "policy", "left"),
    [
        ("nginx", "Always", False), ("nginx:latest", "Always", False), ("nginx:1", "Always", True),
        ("registry:5000/nginx", "Always", False), ("registry:5000/nginx:1", "IfNotPresent", False),
        ("nginx@sha256:00", "IfNotPresent", False), ("nginx", "IfNotPresent", True),
    ],
)  # fmt: skip
def test_a_pull_policy_goes_where_the_tag_says_it_anyway(image: str, policy: str, left: bool) -> None:
    body: Body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
                  "spec": {"containers": [{"name": "a", "image": image, "imagePullPolicy": policy}]}}  # fmt: skip
    assert ("imagePullPolicy" in defaults.without(body)["spec"]["containers"][0]) is left


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (live("ConfigMap"), None),
        (live("ConfigMap", name="kube-root-ca.crt"), Code.GENERATED),
        (live("ConfigMap", namespace="kube-system"), Code.SYSTEM),
        (live("ReplicaSet", "apps/v1", metadata={"ownerReferences": [{"controller": True}]}), Code.GENERATED),
        (live("ReplicaSet", "apps/v1", metadata={"ownerReferences": [{"kind": "X"}]}), None),
        (live("Secret", type="kubernetes.io/service-account-token"), Code.GENERATED),
        (live("Secret", type="Opaque"), None),
        (live("Service", name="kubernetes", namespace="default"), Code.SYSTEM),
        (live("Namespace", name="default", namespace=""), Code.SYSTEM),
        (live("Namespace", name="shop", namespace=""), None),
        (live("ClusterRole", "rbac.authorization.k8s.io/v1", name="system:node", namespace=""), Code.SYSTEM),
        (live("ClusterRole", "rbac.authorization.k8s.io/v1", name="view", namespace="",
              metadata={"labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}}), Code.SYSTEM),
        (live("Endpoints"), Code.GENERATED),
        (live("PersistentVolume", namespace="", metadata={"annotations": {"pv.kubernetes.io/provisioned-by": "x"}}),
         Code.GENERATED),
    ],
)  # fmt: skip
def test_what_nobody_wrote_is_no_template(body: Body, code: Code | None) -> None:
    assert template.why_not(body) == code


def test_a_secret_is_left_out_unless_it_is_asked_for() -> None:
    secret = live("Secret", type="Opaque", data={"password": "aHVudGVyMg=="})
    imported = member.convert([secret, live("ConfigMap", data={"a": "b"})], "eu-1")
    assert [*imported.files] == ["policies/shop/in-eu-1.yaml", "shop/configmap-web.yaml"]
    assert [(one.code, one.subject) for one in imported.findings] == [(Code.SECRET, "Secret/shop/web")]
    assert "aHVudGVyMg" not in str(imported)
    assert "shop/secret-web.yaml" in member.convert([secret], "eu-1", with_secrets=True).files


def test_files_are_named_for_what_is_in_them() -> None:
    bodies = [
        live("Deployment", "apps/v1"),
        live("ClusterRole", "rbac.authorization.k8s.io/v1", name="shop:Admin", namespace=""),
        live("Namespace", name="shop", namespace=""),
        live("OverridePolicy", "policy.karmada.io/v1alpha1"),
        live("ClusterPropagationPolicy", "policy.karmada.io/v1alpha1", namespace=""),
        live("Cluster", "cluster.karmada.io/v1alpha1", name="eu-1", namespace=""),
        live("Cluster", "example.com/v1", name="../../etc/x"),
    ]
    assert [layout.path_of(body) for body in bodies] == [
        "shop/deployment-web.yaml",
        "cluster-wide/clusterrole-shop-admin.yaml",
        "shop/namespace.yaml",
        "policies/shop/web-override.yaml",
        "policies/web.yaml",
        "clusters/eu-1.yaml",
        "shop/cluster-etc-x.yaml",
    ]
