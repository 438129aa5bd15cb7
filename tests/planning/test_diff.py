"""What has to be written: desired against live, by meaning."""

from __future__ import annotations

import base64
import copy
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitfed.model.plan import FieldChange
from gitfed.planning.objects import diff, redact

DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}},
    "spec": {
        "replicas": 3,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "containers": [
                    {
                        "name": "app",
                        "image": "r.io/web:1",
                        "ports": [{"containerPort": 80}],
                        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                        "resources": {"limits": {"memory": "1Gi", "cpu": "1000m"}},
                    }
                ]
            },
        },
    },
}
APP = "/spec/template/spec/containers/0"


def changed(body: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A deep copy with one member set; `...` removes it."""
    body = copy.deepcopy(body)
    *way, last = path.strip("/").split("/")
    place: Any = body
    for name in way:
        place = place[int(name)] if isinstance(place, list) else place.setdefault(name, {})
    key: Any = int(last) if isinstance(place, list) else last
    if value is ...:
        del place[key]
    else:
        place[key] = value
    return body


def as_stored(body: dict[str, Any]) -> dict[str, Any]:
    """With what an API server and its controllers add."""
    live = copy.deepcopy(body)
    live["metadata"].update(uid="u", resourceVersion="7", creationTimestamp="2025-01-01T00:00:00Z", generation=1)
    live["metadata"]["annotations"] = {"deployment.kubernetes.io/revision": "1"}
    live["spec"].update(revisionHistoryLimit=10, strategy={"type": "RollingUpdate"})
    container = live["spec"]["template"]["spec"]["containers"][0]
    container.update(imagePullPolicy="IfNotPresent", terminationMessagePath="/dev/termination-log")
    container["ports"][0]["protocol"] = "TCP"
    container["resources"]["limits"]["cpu"] = "1"
    live["status"] = {"replicas": 3}
    return live


LIVE = as_stored(DEPLOYMENT)


def pointers(changes: tuple[FieldChange, ...]) -> list[str]:
    return [change.pointer for change in changes]


def test_defaults_and_status_are_no_difference() -> None:
    assert diff.diff(DEPLOYMENT, LIVE, owned=None) == ()


@pytest.mark.parametrize(
    ("path", "value", "change"),
    [
        ("/spec/replicas", 5, FieldChange("/spec/replicas", 3, 5)),
        (f"{APP}/image", "r.io/web:2", FieldChange(f"{APP}/image", "r.io/web:1", "r.io/web:2")),
        ("/metadata/labels/tier", "gold", FieldChange("/metadata/labels/tier", None, "gold", absent_before=True)),
        (f"{APP}/resources/limits/memory", "2Gi", FieldChange(f"{APP}/resources/limits/memory", "1Gi", "2Gi")),
        (
            f"{APP}/ports/0/containerPort",
            81,
            FieldChange(f"{APP}/ports/0", None, {"containerPort": 81}, absent_before=True),
        ),
        ("/spec/paused", True, FieldChange("/spec/paused", None, True, absent_before=True)),
    ],
)
def test_a_field_of_the_manifest_that_differs_is_a_difference(path: str, value: Any, change: FieldChange) -> None:
    assert diff.diff(changed(DEPLOYMENT, path, value), LIVE, owned=None) == (change,)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (f"{APP}/resources/limits/memory", "1024Mi"),
        (f"{APP}/resources/limits/cpu", 1),
        ("/spec/replicas", 3.0),
        (f"{APP}/ports/0/protocol", "TCP"),
    ],
)
def test_the_same_amount_in_another_spelling_is_no_difference(path: str, value: Any) -> None:
    assert diff.diff(changed(DEPLOYMENT, path, value), LIVE, owned=None) == ()


def test_a_boolean_is_not_a_number() -> None:
    desired = {"apiVersion": "example.com/v1", "kind": "W", "metadata": {"name": "w"}, "spec": {"a": True}}
    assert pointers(diff.diff(desired, changed(desired, "/spec/a", 1), owned=None)) == ["/spec/a"]


def test_lists_that_are_maps_are_matched_by_key_in_any_order() -> None:
    live = copy.deepcopy(LIVE)
    env = live["spec"]["template"]["spec"]["containers"][0]["env"]
    env.reverse()
    env.append({"name": "INJECTED", "value": "by somebody"})
    assert diff.diff(DEPLOYMENT, live, owned=None) == ()
    env[1]["value"] = "other"
    assert diff.diff(DEPLOYMENT, live, owned=None) == (FieldChange(f"{APP}/env/0/value", "other", "1"),)


def test_the_order_of_init_containers_is_theirs() -> None:
    first, second = {"name": "a", "image": "a"}, {"name": "b", "image": "b"}
    desired = changed(DEPLOYMENT, "/spec/template/spec/initContainers", [first, second])
    live = changed(LIVE, "/spec/template/spec/initContainers", [second, first])
    assert pointers(diff.diff(desired, live, owned=None)) == ["/spec/template/spec/initContainers"]


def test_an_atomic_list_is_one_value_with_its_order() -> None:
    desired = changed(DEPLOYMENT, f"{APP}/args", ["a", "b"])
    assert diff.diff(desired, changed(LIVE, f"{APP}/args", ["a", "b"]), owned=None) == ()
    assert pointers(diff.diff(desired, changed(LIVE, f"{APP}/args", ["b", "a"]), owned=None)) == [
        f"{APP}/args/0",
        f"{APP}/args/1",
    ]
    assert pointers(diff.diff(desired, changed(LIVE, f"{APP}/args", ["a", "b", "c"]), owned=None)) == [f"{APP}/args"]


def test_service_ports_are_told_apart_by_number_and_protocol() -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "dns"},
        "spec": {"ports": [{"name": "t", "port": 53}, {"name": "u", "port": 53, "protocol": "UDP"}]},
    }
    live = copy.deepcopy(service)
    live["spec"]["ports"] = [
        {"name": "u", "port": 53, "protocol": "UDP", "targetPort": 53},
        {"name": "t", "port": 53, "protocol": "TCP", "targetPort": 53},
    ]
    assert diff.diff(service, live, owned=None) == ()


OURS = {
    "f:metadata": {"f:labels": {"f:app": {}, "f:old": {}}},
    "f:spec": {
        "f:replicas": {},
        "f:paused": {},
        "f:selector": {},
        "f:template": {
            "f:metadata": {"f:labels": {"f:app": {}}},
            "f:spec": {
                "f:hostNetwork": {},
                "f:containers": {
                    'k:{"name":"app"}': {
                        ".": {},
                        "f:name": {},
                        "f:image": {},
                        "f:args": {},
                        "f:resources": {"f:limits": {"f:memory": {}, "f:cpu": {}}},
                        "f:env": {
                            'k:{"name":"A"}': {".": {}, "f:name": {}, "f:value": {}},
                            'k:{"name":"B"}': {".": {}, "f:name": {}, "f:value": {}},
                            'k:{"name":"OLD"}': {".": {}, "f:name": {}, "f:value": {}},
                        },
                        "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}},
                    }
                },
            },
        },
    },
}


def test_what_we_own_and_do_not_want_any_more_is_removed() -> None:
    live = changed(changed(LIVE, "/metadata/labels/old", "x"), "/spec/paused", True)
    live["spec"]["template"]["spec"]["containers"][0]["env"].append({"name": "OLD", "value": "v"})
    assert diff.diff(DEPLOYMENT, live, owned=OURS) == (
        FieldChange("/metadata/labels/old", "x", None, absent_after=True),
        FieldChange(f"{APP}/env/2", {"name": "OLD", "value": "v"}, None, absent_after=True),
        FieldChange("/spec/paused", True, None, absent_after=True),
    )


def test_what_others_own_stays() -> None:
    live = changed(LIVE, "/metadata/labels/theirs", "x")
    assert diff.diff(DEPLOYMENT, live, owned=OURS) == ()


def test_null_in_the_manifest_asks_for_absence() -> None:
    desired = changed(DEPLOYMENT, "/spec/paused", None)
    assert diff.diff(desired, LIVE, owned=OURS) == ()
    assert pointers(diff.diff(desired, changed(LIVE, "/spec/paused", True), owned=OURS)) == ["/spec/paused"]


def test_an_empty_value_counts_until_the_server_has_recorded_it() -> None:
    desired = changed(DEPLOYMENT, "/spec/template/spec/hostNetwork", False)
    assert diff.diff(desired, LIVE, owned=OURS) == ()
    assert diff.diff(desired, LIVE, owned=None) == ()
    other = changed(DEPLOYMENT, "/spec/template/spec/securityContext", {})
    assert pointers(diff.diff(other, LIVE, owned=OURS)) == ["/spec/template/spec/securityContext"]


def test_an_atomic_value_that_somebody_took_over_is_compared_strictly() -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s"},
        "spec": {"selector": {"app": "web"}, "type": "ClusterIP"},
    }
    live = changed(service, "/spec/selector/evil", "x")
    gone = (FieldChange("/spec/selector/evil", "x", None, absent_after=True),)
    assert diff.diff(service, live, owned={"f:spec": {"f:type": {}}}) == gone
    # Nobody can add to it without taking it over: if it is ours, we sent it once.
    assert diff.diff(service, live, owned={"f:spec": {"f:type": {}, "f:selector": {}}}) == gone


def test_what_an_atomic_value_of_ours_has_more_goes_unless_the_server_filled_it_in() -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"},
            "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]}  # fmt: skip
    live = changed(role, "/rules/0/resourceNames", ["mine"])
    assert pointers(diff.diff(role, live, owned={"f:rules": {}})) == ["/rules/0/resourceNames"]
    assert diff.diff(role, live, owned=None) == ()  # nobody knows whose it is
    binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "r"},
               "subjects": [{"kind": "User", "name": "me"}]}  # fmt: skip
    live = changed(binding, "/subjects/0/apiGroup", "rbac.authorization.k8s.io")
    assert diff.diff(binding, live, owned={"f:subjects": {}}) == ()


def test_of_a_kind_that_users_define_nobody_knows_what_servers_fill_in() -> None:
    route = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": "r"},
             "spec": {"rules": [{"backendRefs": [{"name": "a", "port": 80}]}], "selector": {"a": "1"}}}  # fmt: skip
    owned: dict[str, Any] = {"f:spec": {"f:rules": {}, "f:selector": {}}}
    assert diff.diff(route, changed(route, "/spec/rules/0/backendRefs/0/weight", 1), owned=owned) == ()
    more = changed(route, "/spec/selector/b", "2")
    assert pointers(diff.diff(route, more, owned=owned)) == ["/spec/selector/b"]


def test_only_what_we_applied_is_ours() -> None:
    entry = {"manager": "gitfed", "operation": "Apply", "fieldsV1": {"f:spec": {"f:a": {}}}}
    entries = [
        entry,
        {**entry, "apiVersion": "v2", "fieldsV1": {"f:spec": {"f:b": {}}}},
        {**entry, "operation": "Update", "fieldsV1": {"f:x": {}}},
        {**entry, "subresource": "status", "fieldsV1": {"f:y": {}}},
        {**entry, "manager": "kubectl", "fieldsV1": {"f:z": {}}},
    ]
    assert diff.owned_fields({"metadata": {"managedFields": entries}}, "gitfed") == {"f:spec": {"f:a": {}, "f:b": {}}}
    assert diff.owned_fields({"metadata": {"managedFields": entries[2:]}}, "gitfed") == {}
    assert diff.owned_fields({"metadata": {}}, "gitfed") is None


def test_ignored_fields_are_never_drift() -> None:
    annotated = changed(
        DEPLOYMENT, "/metadata/annotations", {"gitfed.io/ignore-differences": "/spec/replicas, /spec/none,bad"}
    )
    live = changed(changed(LIVE, "/spec/replicas", 9), "/metadata/annotations", annotated["metadata"]["annotations"])
    ignore = diff.ignored_pointers(annotated, live)
    assert ignore == (("spec", "replicas"), ("spec", "none"))
    assert diff.diff(annotated, live, owned=OURS, ignore=ignore) == ()


def test_what_is_retained_is_ignored() -> None:
    desired = changed(DEPLOYMENT, "/metadata/labels/resourcetemplate.karmada.io~1retain-replicas", "true")
    desired["metadata"]["labels"] = {"resourcetemplate.karmada.io/retain-replicas": "true"}
    assert diff.ignored_pointers(desired, LIVE) == (("spec", "replicas"),)
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"clusterIP": "10.0.0.1"}}
    assert diff.ignored_pointers(service, service) == (("spec", "clusterIP"),)


def test_a_set_has_no_order_and_loses_only_what_is_ours() -> None:
    desired = changed(DEPLOYMENT, "/metadata/finalizers", ["a", "b"])
    live = changed(LIVE, "/metadata/finalizers", ["theirs", "b", "a"])
    recorded = {"f:metadata": {"f:finalizers": {'v:"a"': {}, 'v:"b"': {}}}}
    assert diff.diff(desired, live, owned=recorded) == ()
    fewer = changed(desired, "/metadata/finalizers", ["a"])
    assert pointers(diff.diff(fewer, live, owned=recorded)) == ["/metadata/finalizers"]
    more = changed(desired, "/metadata/finalizers", ["a", "b", "c"])
    assert pointers(diff.diff(more, live, owned=None)) == ["/metadata/finalizers"]


def test_a_list_whose_keys_repeat_is_compared_by_position() -> None:
    twice = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    desired = changed(DEPLOYMENT, f"{APP}/env", twice)
    assert diff.diff(desired, changed(LIVE, f"{APP}/env", twice), owned=None) == ()
    assert pointers(diff.diff(desired, changed(LIVE, f"{APP}/env", twice[::-1]), owned=None)) == [
        f"{APP}/env/0/value",
        f"{APP}/env/1/value",
    ]


def test_ignored_fields_may_be_missing_or_left_over() -> None:
    ignore = (("spec", "paused"), ("metadata", "labels", "old"))
    assert diff.diff(changed(DEPLOYMENT, "/spec/paused", True), LIVE, owned=OURS, ignore=ignore) == ()
    assert diff.diff(DEPLOYMENT, changed(LIVE, "/metadata/labels/old", "x"), owned=OURS, ignore=ignore) == ()


def test_text_that_is_no_quantity_is_compared_as_text() -> None:
    desired = changed(DEPLOYMENT, f"{APP}/resources/limits/memory", "much")
    assert pointers(diff.diff(desired, LIVE, owned=None)) == [f"{APP}/resources/limits/memory"]


def test_what_a_cluster_fills_into_a_pod_and_a_token_is_ignored() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "spec": {"nodeName": "n", "containers": [{"name": "a", "volumeMounts": []}]},
    }
    assert diff.ignored_pointers(pod, pod) == (("spec", "nodeName"), ("spec", "containers", "0", "volumeMounts"))
    token = secret(type="kubernetes.io/service-account-token", data={"token": "x"})
    assert diff.ignored_pointers(token, token) == (("data",),)
    assert diff.ignored_pointers(secret(data={"a": "x"}), token) == ()


def test_base64_that_cannot_be_read_is_compared_as_it_is() -> None:
    assert diff.diff(secret(data={"a": "?"}), secret(data={"a": "?"}), owned=None) == ()


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def secret(**members: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, **members}


def test_string_data_is_data() -> None:
    live = secret(data={"a": encoded("one")}, type="Opaque")
    assert diff.diff(secret(stringData={"a": "one"}), live, owned=None) == ()
    wrapped = secret(data={"a": encoded("one") + "\n"})
    assert diff.diff(wrapped, live, owned=None) == ()


def test_a_secret_shows_that_it_differs_and_not_how() -> None:
    live = secret(data={"a": encoded("hunter2"), "b": encoded("gone")})
    fields = {"f:stringData": {"f:a": {}, "f:b": {}}}
    found = diff.diff(secret(stringData={"a": "hunter3"}), live, owned=fields)
    assert found == (
        FieldChange("/data/a", redact.BEFORE, redact.AFTER),
        FieldChange("/data/b", redact.BEFORE, None, absent_after=True),
    )
    whole = diff.diff(secret(data={"a": encoded("x")}), secret(), owned=None)
    assert whole == (FieldChange("/data", None, redact.AFTER, absent_before=True),)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("abc", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "name", "env"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(json_values)
@example({"env": [{"name": []}]})
def test_an_object_does_not_differ_from_itself(spec: Any) -> None:
    body = {"apiVersion": "example.com/v1", "kind": "W", "metadata": {"name": "w"}, "spec": spec}
    assert diff.diff(body, copy.deepcopy(body), owned=None) == ()
    assert diff.diff(body, copy.deepcopy(body), owned={}) == ()


@given(json_values, json_values)
def test_comparing_changes_neither_side(left: Any, right: Any) -> None:
    desired, live = ({"kind": "W", "apiVersion": "v1", "metadata": {}, "spec": spec} for spec in (left, right))
    before = copy.deepcopy((desired, live))
    diff.diff(desired, live, owned={"f:spec": {"f:a": {}}})
    assert (desired, live) == before
