"""Types of kinds: what decoding drops, adds, respells and complains of; where the facts come from."""

from typing import Any

import pytest
from tests.fields.bodies import CONFIG_MAP, DEPLOYMENT, deployment, owners, writer

from kubesim import managed, schema
from kubesim.schema_decode import duplicate_fields

Body = dict[str, Any]

POD = schema.for_kind("", "v1", "Pod")


def pod(**container: Any) -> Body:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i", **container}]}}


def container(body: Body) -> Body:
    found: Body = body["spec"]["containers"][0]
    return found


def test_an_unknown_kind_has_no_type() -> None:
    with pytest.raises(KeyError):
        schema.for_kind("apps", "v1beta1", "Deployment")


def test_an_empty_object_has_what_is_always_written() -> None:
    assert DEPLOYMENT.empty() == {
        "metadata": {},
        "spec": {
            "selector": None,
            "strategy": {},
            "template": {"metadata": {}, "spec": {"containers": None}},
        },
        "status": {},
    }


def test_empty_optional_fields_are_dropped_and_pointers_to_zero_kept() -> None:
    body = DEPLOYMENT.convert(
        {
            **deployment([{"name": "c", "image": "i", "args": [], "tty": False, "env": None}]),
            "metadata": {"name": "d", "labels": {}, "generation": 0},
        }
    )
    assert body["metadata"] == {"name": "d"}
    assert body["spec"]["template"]["spec"]["containers"] == [{"name": "c", "image": "i", "resources": {}}]
    zero = DEPLOYMENT.convert(deployment([], replicas=0, minReadySeconds=0, paused=False))["spec"]
    assert zero["replicas"] == 0
    assert "minReadySeconds" not in zero
    assert "paused" not in zero


def test_what_is_fine_is_shared_with_the_input() -> None:
    body = DEPLOYMENT.convert(deployment([{"name": "c", "image": "i"}], replicas=1))
    assert DEPLOYMENT.convert(body) is body
    changed = DEPLOYMENT.convert({**body, "metadata": {"name": "d", "labels": {}}})
    assert changed["spec"] is body["spec"]


def test_unknown_fields_are_dropped_and_told_with_their_path() -> None:
    body = deployment([{"name": "c", "imagee": "i"}], replicsa=1)
    decoded, findings = DEPLOYMENT.decode({**body, "nope": 1})
    assert findings.unknown == [
        'unknown field "spec.template.spec.containers[0].imagee"',
        'unknown field "spec.replicsa"',
        'unknown field "nope"',
    ]
    assert "replicsa" not in decoded["spec"]


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        (CONFIG_MAP, {"data": {"k": 5}}, "number into Go struct field ConfigMap.data of type string"),
        (CONFIG_MAP, {"data": []}, "array into Go struct field ConfigMap.data of type map[string]string"),
        (CONFIG_MAP, {"metadata": "a"}, "string into Go struct field ConfigMap.metadata of type v1.ObjectMeta"),
        (CONFIG_MAP, {"immutable": "x"}, "string into Go struct field ConfigMap.immutable of type bool"),
        (
            DEPLOYMENT,
            {"spec": {"replicas": "3"}},
            "string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            DEPLOYMENT,
            {"spec": {"replicas": 3.5}},
            "number 3.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            DEPLOYMENT,
            {"spec": {"replicas": 1 << 31}},
            "number 2147483648 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (POD, pod(args=[1]), "number into Go struct field Container.spec.containers.args of type string"),
        (POD, pod(env={}), "object into Go struct field Container.spec.containers.env of type []v1.EnvVar"),
    ],
)
def test_wrong_types_are_told_as_go_tells_them(kind: schema.Schema, body: Body, text: str) -> None:
    assert kind.check(body).type_errors == [f"json: cannot unmarshal {text}"]


def test_a_field_takes_whole_numbers_of_its_width() -> None:
    body = {"spec": {"activeDeadlineSeconds": 1 << 40, "containers": None}}
    assert POD.check(body).type_errors == []


def test_quantities_in_resource_lists_are_canonical_and_keep_thousandths() -> None:
    resources = {"limits": {"cpu": "1000m", "memory": 1073741824}, "requests": {"cpu": "100u", "memory": "1024Mi"}}
    assert container(POD.convert(pod(resources=resources)))["resources"] == {
        "limits": {"cpu": "1", "memory": "1073741824"},
        "requests": {"cpu": "1m", "memory": "1Gi"},
    }


def test_ports_are_numbers_or_names() -> None:
    for port in (80, "http"):
        body = pod(livenessProbe={"httpGet": {"port": port}})
        assert container(POD.convert(body))["livenessProbe"]["httpGet"] == {"port": port}
    findings = POD.check(pod(livenessProbe={"httpGet": {"port": True}}))
    field = "HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port"
    assert findings.type_errors == [f"json: cannot unmarshal bool into Go struct field {field} of type int32"]


def test_reading_ends_at_a_value_that_cannot_be_read() -> None:
    body = pod(args=[1], resources={"limits": {"cpu": "two"}})
    assert POD.check(body).type_errors == [
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        "json: cannot unmarshal number into Go struct field Container.spec.containers.args of type string",
    ]
    assert POD.check({"metadata": {"creationTimestamp": 5}, "spec": {"containers": 1}}).type_errors[0] == (
        "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string"
    )


def test_bytes_have_to_be_base64() -> None:
    secret = schema.for_kind("", "v1", "Secret")
    assert secret.check({"data": {"k": "MQ=="}}).type_errors == []
    assert secret.convert({"metadata": {}, "data": {"k": [104, None], "l": None}})["data"] == {"k": "aAA=", "l": ""}
    assert secret.check({"data": {"k": "1"}}).type_errors == ["illegal base64 data at input byte 0"]


def test_times_are_normal_and_null_where_they_are_always_written() -> None:
    body = pod()
    body["status"] = {
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2020-01-01T01:00:00+01:00"}]
    }
    assert POD.convert(body)["status"]["conditions"] == [
        {"type": "Ready", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z", "lastProbeTime": None}
    ]


def test_null_items_and_null_values_become_empty_ones() -> None:
    assert CONFIG_MAP.convert({"metadata": {}, "data": {"k": None}})["data"] == {"k": ""}
    assert POD.convert({"metadata": {}, "spec": {"containers": [None]}})["spec"] == {
        "containers": [{"name": "", "resources": {}}]
    }


def test_an_empty_list_of_managed_fields_stays_an_order_to_forget_owners() -> None:
    assert CONFIG_MAP.convert({"metadata": {"managedFields": [], "finalizers": []}}) == {
        "metadata": {"managedFields": []}
    }


def test_raw_data_has_one_owner() -> None:
    kind = schema.for_kind("apps", "v1", "ControllerRevision")
    body = {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {},
        "data": {"a": {"b": 1}},
        "revision": 1,
    }
    owned = managed.update(None, body, writer("one", 0, "apps/v1"), kind)
    assert owners(owned) == {"one Update": {"f:data": {}, "f:revision": {}}}


def test_fields_of_a_later_version_are_unknown() -> None:
    assert POD.check(pod(livenessProbe={"httpGet": {"port": 80, "protocol": "x"}})).unknown == [
        'unknown field "spec.containers[0].livenessProbe.httpGet.protocol"'
    ]


def test_types_of_definitions_contain_themselves() -> None:
    kind = schema.for_kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    inner = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string", "nope": 1}}}}
    spec = {"group": "g", "names": {"kind": "K", "plural": "ks"}, "scope": "Cluster"}
    body = {
        "spec": {
            **spec,
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": inner}}],
        }
    }
    path = "spec.versions[0].schema.openAPIV3Schema.properties.a.items.nope"
    assert kind.check(body).unknown == [f'unknown field "{path}"']


CUSTOM = schema.from_openapi(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "a": {"type": "string"},
                    "list": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "string"}}}},
                    "map": {"type": "object", "additionalProperties": {"type": "string"}},
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                    "pod": {"type": "object", "x-kubernetes-embedded-resource": True},
                },
            }
        },
    }
)


def test_a_custom_kind_decodes_its_metadata_and_finds_unknown_fields() -> None:
    body = {
        "apiVersion": "g/v1",
        "kind": "K",
        "metadata": {"name": "w", "labels": {}, "nope": 1},
        "spec": {
            "a": "1",
            "b": 1,
            "list": [{"x": "1", "y": "2"}],
            "map": {"any": "1"},
            "free": {"any": {"thing": 1}},
            "pod": {"kind": "P", "metadata": {"name": "p"}},
        },
    }
    decoded, findings = CUSTOM.decode(body)
    assert decoded["metadata"] == {"name": "w"}
    assert decoded["spec"] is body["spec"]
    assert sorted(findings.unknown) == [
        'unknown field "metadata.nope"',
        'unknown field "spec.b"',
        'unknown field "spec.list[0].y"',
    ]


def test_repeated_fields_are_told_with_their_path() -> None:
    raw = b'{"spec":{"replicas":1,"replicas":2,"list":[{"a":1,"a":1,"a":1}]},"kind":"x","kind":"y"}'
    assert duplicate_fields(raw) == [
        'duplicate field "spec.replicas"',
        'duplicate field "spec.list[0].a"',
        'duplicate field "spec.list[0].a"',
        'duplicate field "kind"',
    ]


@pytest.mark.parametrize(
    ("path", "keys", "merge_key"),
    [
        ("spec.template.spec.containers", ("name",), "name"),
        ("spec.template.spec.containers.ports", ("containerPort", "protocol"), "containerPort"),
        ("spec.template.spec.volumes", ("name",), "name"),
        ("spec.template.spec.tolerations", (), None),
        ("spec.template.spec.topologySpreadConstraints", ("topologyKey", "whenUnsatisfiable"), "topologyKey"),
        ("metadata.ownerReferences", ("uid",), "uid"),
        ("metadata.finalizers", (), ""),
    ],
)
def test_lists_are_keyed_and_merged_as_kubernetes_declares(
    path: str, keys: tuple[str, ...], merge_key: str | None
) -> None:
    node: Any = DEPLOYMENT
    for name in path.split("."):
        node = (node.value if node.shape == schema.LIST else node).fields[name]
    assert (node.keys, node.merge_key) == (keys, merge_key)
    assert node.atomic == (not keys and not node.unique)
