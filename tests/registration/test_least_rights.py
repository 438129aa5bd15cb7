"""The rights that an account needs in a cluster, and none beside them."""

from __future__ import annotations

from typing import Any

import pytest

from gitfed.model.base import Kind
from gitfed.model.declared import access, cluster
from gitfed.registration import least_rights


def rules(*kinds: Kind, **plurals: str) -> list[dict[str, Any]]:
    named = {kind: plurals[kind.kind] for kind in kinds if kind.kind in plurals}
    needs = least_rights.Needs(frozenset(kinds), plurals=named)
    found = least_rights.objects(needs, account="gitfed-agent", namespace="gitfed-system")
    assert [one["kind"] for one in found] == ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]
    return list(found[0]["rules"])


def test_nothing_that_is_sent_needs_nothing_but_to_look() -> None:
    assert rules() == [
        {"nonResourceURLs": ["/readyz", "/healthz", "/version", "/api", "/api/*", "/apis", "/apis/*"],
         "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["nodes", "pods", "resourcequotas"], "verbs": ["list", "watch"]},
        {"apiGroups": ["apps"], "resources": ["deployments", "replicasets"], "verbs": ["get"]},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list"]},
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch", "create", "patch"]},
    ]  # fmt: skip


def test_each_kind_is_named_and_namespaces_are_deleted_only_if_they_are_sent() -> None:
    verbs = ["get", "list", "watch", "create", "patch", "delete"]
    found = rules(Kind("apps", "Deployment"), Kind("", "Secret"), Kind("", "Namespace"), Kind("x.io", "Thing"),
                  Thing="thingies")  # fmt: skip
    assert found[4:] == [
        {"apiGroups": [""], "resources": ["namespaces", "secrets"], "verbs": verbs},
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": verbs},
        {"apiGroups": ["x.io"], "resources": ["thingies"], "verbs": verbs},
    ]


def test_whoever_sends_roles_and_bindings_needs_escalate_and_bind() -> None:
    group = "rbac.authorization.k8s.io"
    found = rules(Kind(group, "Role"), Kind(group, "RoleBinding"))
    assert {"apiGroups": [group], "resources": ["roles", "clusterroles"], "verbs": ["bind"]} in found
    assert next(one["verbs"][6:] for one in found if one.get("resources") == ["roles"]) == ["escalate"]
    assert least_rights.grants_rights([Kind(group, "RoleBinding")])
    assert not least_rights.grants_rights([Kind("apps", "Deployment")])


def test_what_goes_elsewhere_is_looked_for_and_deleted_but_not_made() -> None:
    needs = least_rights.Needs(frozenset(), frozenset({Kind("batch", "Job"), Kind("", "Namespace")}))
    found = least_rights.objects(needs, account="a", namespace="n")[0]["rules"]
    assert found[4:] == [
        {"apiGroups": [""], "resources": ["namespaces"],
         "verbs": ["get", "list", "watch", "create", "patch", "delete"]},
        {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get", "list", "watch", "delete"]},
    ]  # fmt: skip


def test_no_rule_has_a_star() -> None:
    found = rules(Kind("apps", "Deployment"), Kind("", "Namespace"))
    listed = [value for rule in found for values in (rule.get("resources", []), rule["verbs"]) for value in values]
    assert "*" not in listed


@pytest.mark.parametrize(
    ("kind", "plural"),
    [
        ("Deployment", "deployments"), ("Ingress", "ingresses"), ("NetworkPolicy", "networkpolicies"),
        ("Endpoints", "endpoints"), ("StorageClass", "storageclasses"), ("DaemonSet", "daemonsets"),
        ("HorizontalPodAutoscaler", "horizontalpodautoscalers"),
    ],
)  # fmt: skip
def test_kinds_of_kubernetes_have_the_plurals_that_it_gives_them(kind: str, plural: str) -> None:
    assert least_rights.plural(kind) == plural


def test_what_is_searched_is_read_and_no_more() -> None:
    searched = frozenset({Kind("", "Secret"), Kind("apps", "Deployment")})
    needs = least_rights.Needs(frozenset({Kind("apps", "Deployment")}), searched=searched)
    found = least_rights.objects(needs, account="gitfed", namespace="gitfed-system")[0]["rules"]
    assert {"apiGroups": [""], "resources": ["secrets"], "verbs": ["list", "watch"]} in found
    assert [rule["verbs"] for rule in found if rule.get("resources") == ["deployments"]] == [
        ["get", "list", "watch", "create", "patch", "delete"]
    ]


def test_an_agent_searches_as_a_user_who_may_do_nothing_else() -> None:
    deployments, feet = Kind("apps", "Deployment"), Kind("example.com", "Foot")
    needs = least_rights.Needs(
        frozenset({deployments}), plurals={feet: "feet"}, searched=frozenset({deployments, feet}), pulled=True
    )
    own, *_, role, binding = least_rights.objects(needs, account="gitfed-agent", namespace="gitfed-system")
    user = "system:gitfed:search"
    impersonates = {"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"], "resourceNames": [user]}
    assert own["rules"][-1] == impersonates
    assert not any(rule.get("resources") == ["feet"] for rule in own["rules"])
    assert role["rules"] == [
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["list", "watch"]},
        {"apiGroups": ["example.com"], "resources": ["feet"], "verbs": ["list", "watch"]},
    ]
    assert (binding["roleRef"]["name"], [one["name"] for one in binding["subjects"]]) == ("gitfed-search", [user])
    nothing = least_rights.Needs(frozenset({deployments}), pulled=True)
    assert len(least_rights.objects(nothing, account="gitfed-agent", namespace="gitfed-system")) == 4


def test_who_may_view_a_searched_cluster_is_asked_about_in_it() -> None:
    policies = [
        access.AccessPolicy.read(
            {"apiVersion": "gitfed.io/v1alpha1", "kind": "AccessPolicy", "metadata": {"name": right},
             "spec": {"subjects": [{"kind": "User", "name": right}], "allow": [right]}}
        )
        for right in ("view", "proxy", "operate")
    ]  # fmt: skip
    body = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "m1"}}
    declared = cluster.Cluster.read({**body, "spec": {"syncMode": "Push"}})

    def names(*, searched: bool) -> list[str]:
        return [one.name for one in least_rights.through_the_door(policies, declared, searched=searched)]

    assert (names(searched=False), names(searched=True)) == (["proxy"], ["view", "proxy"])


def test_a_definition_says_the_plural_itself() -> None:
    body = {
        "kind": "CustomResourceDefinition",
        "spec": {"group": "x.io", "names": {"kind": "Foot", "plural": "feet"}},
    }
    assert least_rights.defined([body, {"kind": "ConfigMap"}]) == {Kind("x.io", "Foot"): "feet"}


def test_where_services_are_shared_it_writes_their_slices() -> None:
    needs = least_rights.Needs(frozenset(), endpoints=True)
    found = least_rights.objects(needs, account="a", namespace="n")[0]["rules"]
    assert found[3] == {
        "apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"],
        "verbs": ["get", "list", "watch", "create", "update", "delete"],
    }  # fmt: skip


def test_where_load_is_followed_metrics_and_the_scale_of_workloads_are_read() -> None:
    kind = Kind("x.io", "Foot")
    web = Kind("apps", "Deployment")
    needs = least_rights.Needs(frozenset(), plurals={kind: "feet"}, scaled=frozenset({kind, web}))
    found = least_rights.objects(needs, account="a", namespace="n")[0]["rules"]
    assert found[5:] == [
        {"apiGroups": ["apps"], "resources": ["deployments/scale"], "verbs": ["get"]},
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["list"]},
        {"apiGroups": ["x.io"], "resources": ["feet/scale"], "verbs": ["get"]},
        {"apiGroups": ["metrics.k8s.io"], "resources": ["pods"], "verbs": ["list"]},
        {"apiGroups": ["custom.metrics.k8s.io", "external.metrics.k8s.io"], "resources": ["*"],
         "verbs": ["get", "list"]},
        {"apiGroups": ["autoscaling"], "resources": ["horizontalpodautoscalers"], "verbs": ["list"]},
    ]  # fmt: skip
