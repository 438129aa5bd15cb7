"""Server-side apply: who owns what, what conflicts, what goes away, in which order, with which times."""

from typing import Any

import pytest
from tests.fields.bodies import (
    CONFIG_MAP,
    DEPLOYMENT,
    apply,
    at,
    config_map,
    deployment,
    entry,
    owners,
    times,
    update,
    writer,
)

from kubesim import managed, schema
from kubesim.status import ApiError

Body = dict[str, Any]


def apply_deployment(live: Body | None, config: Body, manager: str, *, force: bool = False) -> Body:
    merged = managed.apply(live, config, writer(manager, 1, "apps/v1"), DEPLOYMENT, force=force, reset=[("status",)])
    return DEPLOYMENT.convert(merged)


def refusal(live: Body | None, config: Body, manager: str = "two", schema_: schema.Schema = CONFIG_MAP) -> ApiError:
    version = config.get("apiVersion") or "v1"
    with pytest.raises(ApiError) as caught:
        managed.apply(live, config, writer(manager, 9, version), schema_)
    return caught.value


def names(body: Body) -> list[str]:
    return [container["name"] for container in body["spec"]["template"]["spec"]["containers"]]


def test_an_apply_that_creates_owns_what_it_names_and_nothing_else() -> None:
    body = apply(None, config_map({"k": "1"}, labels={"app": "a"}), "one", 3)
    fields = {"f:data": {"f:k": {}}, "f:metadata": {"f:labels": {"f:app": {}}}}
    assert body["metadata"]["managedFields"] == [entry("one", "Apply", fields, 3)]
    assert body["data"] == {"k": "1"}


def test_an_apply_of_a_name_alone_owns_nothing() -> None:
    assert apply(None, config_map(), "one") == config_map()


def test_applying_the_same_again_changes_nothing_not_even_times() -> None:
    body = apply(None, config_map({"k": "1"}), "one", 1)
    assert apply(body, config_map({"k": "1"}), "one", 2) == body


def test_two_managers_with_different_fields_do_not_disturb_each_other() -> None:
    body = apply(apply(None, config_map({"k": "1"}), "one", 1), config_map({"l": "2"}), "two", 2)
    assert body["data"] == {"k": "1", "l": "2"}
    assert times(body) == {"one": at(1), "two": at(2)}


def test_a_field_left_out_goes_away_when_nobody_else_owns_it() -> None:
    body = apply(None, config_map({"k": "1", "l": "2"}, labels={"x": "y"}), "one", 1)
    body = apply(body, config_map({"k": "1"}), "one", 2)
    assert body["data"] == {"k": "1"}
    assert "labels" not in body["metadata"]
    assert owners(body) == {"one Apply": {"f:data": {"f:k": {}}}}


def test_a_field_owned_together_stays_when_one_owner_leaves() -> None:
    body = apply(apply(None, config_map({"k": "1"}), "one", 1), config_map({"k": "1"}), "two", 2)
    body = apply(body, config_map(), "one", 3)
    assert body["data"] == {"k": "1"}
    assert owners(body) == {"two Apply": {"f:data": {"f:k": {}}}}


def test_an_apply_that_only_joins_owners_has_no_time() -> None:
    body = apply(apply(None, config_map({"k": "1"}), "one", 1), config_map({"k": "1"}), "two", 2)
    assert times(body) == {"one": at(1), "two": None}
    assert [e["manager"] for e in body["metadata"]["managedFields"]] == ["two", "one"]


def test_one_conflict_is_told_in_one_line() -> None:
    error = refusal(apply(None, config_map({"k": "1"}), "one"), config_map({"k": "2"}))
    assert (error.code, error.reason) == (409, "Conflict")
    assert error.message == 'Apply failed with 1 conflict: conflict with "one": .data.k'
    cause = {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".data.k"}
    assert error.details == {"causes": [cause]}


def test_several_conflicts_are_grouped_by_manager() -> None:
    body = apply(None, config_map({"k": "1", "l": "1"}), "one", 1)
    body = apply(body, config_map({"m": "1"}), "another", 2)
    body = update(body, {**body, "data": {**body["data"], "u": "1"}}, "ctl", 3)
    error = refusal(body, config_map({"k": "2", "l": "2", "m": "2", "u": "2"}))
    assert error.message == (
        'Apply failed with 4 conflicts: conflicts with "another":\n- .data.m\n'
        'conflicts with "ctl" using v1:\n- .data.u\n'
        'conflicts with "one":\n- .data.k\n- .data.l'
    )
    assert error.details is not None
    assert [cause["field"] for cause in error.details["causes"]] == [".data.m", ".data.u", ".data.k", ".data.l"]


def test_a_manager_of_a_subresource_is_told_with_it() -> None:
    live = config_map(
        {"k": "1"}, managedFields=[entry("ctl", "Update", {"f:data": {"f:k": {}}}, 1, subresource="status")]
    )
    error = refusal(live, config_map({"k": "2"}))
    assert (
        error.message == 'Apply failed with 1 conflict: conflict with "ctl" with subresource "status" using v1: .data.k'
    )


def test_force_takes_the_field_over() -> None:
    body = apply(None, config_map({"k": "1", "l": "1"}), "one", 1)
    body = apply(body, config_map({"k": "2"}), "two", 2, force=True)
    assert body["data"] == {"k": "2", "l": "1"}
    assert owners(body) == {"one Apply": {"f:data": {"f:l": {}}}, "two Apply": {"f:data": {"f:k": {}}}}


def test_items_of_a_keyed_list_are_found_by_key_and_keep_the_appliers_order() -> None:
    body = apply_deployment(None, deployment([{"name": n, "image": f"{n}:1"} for n in "cba"]), "one")
    side = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}
    body = apply_deployment(body, {**side, "spec": {"template": {"spec": {"containers": [{"name": "x"}]}}}}, "two")
    assert names(body) == ["c", "b", "a", "x"]
    body = apply_deployment(body, deployment([{"name": n, "image": f"{n}:1"} for n in "acb"]), "one")
    assert names(body) == ["a", "x", "c", "b"]


def test_an_item_goes_with_what_the_server_filled_in() -> None:
    body = apply_deployment(None, deployment([{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}]), "one")
    body["spec"]["template"]["spec"]["containers"][1]["imagePullPolicy"] = "Always"
    assert names(apply_deployment(body, deployment([{"name": "a", "image": "a:1"}]), "one")) == ["a"]


def test_a_missing_key_with_a_default_has_it() -> None:
    ports = [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]
    body = apply_deployment(None, deployment([{"name": "a", "image": "a:1", "ports": ports}]), "one")
    template = owners(body)["one Apply"]["f:spec"]["f:template"]["f:spec"]
    owned = template["f:containers"]['k:{"name":"a"}']["f:ports"]
    assert owned == {
        'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}},
        'k:{"containerPort":80,"protocol":"UDP"}': {".": {}, "f:containerPort": {}, "f:protocol": {}},
    }


def test_a_value_with_one_owner_conflicts_as_a_whole() -> None:
    body = apply_deployment(None, deployment([{"name": "a", "image": "a:1", "args": ["x"]}]), "one")
    other = deployment([{"name": "a", "args": ["y"]}])
    error = refusal(body, other, schema_=DEPLOYMENT)
    field = '.spec.template.spec.containers[name="a"].args'
    assert error.message == f'Apply failed with 1 conflict: conflict with "one": {field}'


def test_values_of_a_set_are_owned_one_by_one() -> None:
    body = apply(None, config_map(finalizers=["example.com/a", "example.com/b"]), "one", 1)
    body = apply(body, config_map(finalizers=["example.com/b", "example.com/c"]), "two", 2)
    body = apply(body, config_map(finalizers=["example.com/a"]), "one", 3)
    assert body["metadata"]["finalizers"] == ["example.com/a", "example.com/b", "example.com/c"]
    body = apply(body, config_map(finalizers=["example.com/c"]), "two", 4)
    assert body["metadata"]["finalizers"] == ["example.com/a", "example.com/c"]


def test_null_in_a_map_is_an_empty_text_and_a_null_map_an_owned_empty_one() -> None:
    body = apply(None, config_map({"k": None}), "one", 1)
    assert body["data"] == {"k": ""}
    nothing = {**config_map(), "data": None}
    assert owners(apply(body, nothing, "two", 2))["two Apply"] == {"f:data": {}}


def test_what_was_there_before_the_first_apply_has_an_owner_of_its_own() -> None:
    body = apply(config_map({"k": "1", "l": "1"}, uid="u"), config_map({"k": "1"}), "one", 5)
    assert owners(body) == {
        "before-first-apply Update": {"f:data": {".": {}, "f:k": {}, "f:l": {}}},
        "one Apply": {"f:data": {"f:k": {}}},
    }
    error = refusal(config_map({"k": "1"}, uid="u"), config_map({"k": "2"}))
    assert error.message == 'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.k'


def test_fields_of_the_other_side_are_not_owned() -> None:
    config = {**deployment([{"name": "a", "image": "a:1"}]), "status": {"replicas": 9}}
    assert "f:status" not in owners(apply_deployment(None, config, "one"))["one Apply"]


@pytest.mark.parametrize(
    ("config", "code", "message"),
    [
        ({"kind": "ConfigMap"}, 400, "invalid object type: /, Kind=ConfigMap"),
        ({"apiVersion": "v1"}, 400, "invalid object type: /v1, Kind="),
        ({"apiVersion": "v1", "kind": "Secret"}, 400, "invalid object type: /v1, Kind=Secret"),
        ({"apiVersion": "apps/v2", "kind": "ConfigMap"}, 400, "invalid object type: apps/v2, Kind=ConfigMap"),
        (config_map(managedFields=[]), 400, "metadata.managedFields must be nil"),
        (
            {**config_map(), "nope": 1},
            500,
            "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .nope: field not declared in schema",
        ),
        (
            config_map({"k": 5}),
            500,
            "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .data.k: expected string, got "
            "&value.valueUnstructured{Value:5}",
        ),
        (
            {**config_map(), "data": ["x"]},
            500,
            "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .data: expected map, got &{[x]}",
        ),
        (
            config_map(finalizers=["x", "x"], namespace="n"),
            500,
            "failed to create typed patch object (n/a; /v1, Kind=ConfigMap): .metadata.finalizers: duplicate entries "
            'for key [="x"]',
        ),
        (
            {**config_map({"k": True}), "immutable": "yes"},
            500,
            "failed to create typed patch object (/a; /v1, Kind=ConfigMap): errors:\n"
            "  .data.k: expected string, got &value.valueUnstructured{Value:true}\n"
            "  .immutable: expected boolean, got &{yes}",
        ),
    ],
)
def test_what_does_not_fit_is_refused(config: Body, code: int, message: str) -> None:
    who = managed.Writer("one", "v1", writer("one").now, kind="ConfigMap")
    with pytest.raises(ApiError) as caught:
        managed.apply(None, config, who, CONFIG_MAP)
    assert (caught.value.code, caught.value.reason, caught.value.message) == (
        code,
        "BadRequest" if code == 400 else "",
        message,
    )


LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def applied_by_the_client() -> Body:
    text = (
        '{"apiVersion":"v1","data":{"k":"1","old":"1"},"kind":"ConfigMap","metadata":{"annotations":{},"name":"a"}}\n'
    )
    return update(
        None, config_map({"k": "1", "old": "1"}, annotations={LAST_APPLIED: text}), "kubectl-client-side-apply"
    )


def test_kubectl_may_change_what_its_annotation_names_and_keeps_the_annotation() -> None:
    body = apply(applied_by_the_client(), config_map({"k": "2"}), "kubectl", 2)
    assert body["data"] == {"k": "2", "old": "1"}
    text = '{"apiVersion":"v1","data":{"k":"2"},"kind":"ConfigMap","metadata":{"name":"a"}}\n'
    assert body["metadata"]["annotations"] == {LAST_APPLIED: text}


def test_others_may_not() -> None:
    message = 'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using v1: .data.k'
    assert refusal(applied_by_the_client(), config_map({"k": "2"}), "other").message == message


def test_a_value_changed_since_the_last_client_side_apply_still_conflicts() -> None:
    live = applied_by_the_client()
    live = update(live, {**live, "data": {"k": "edited", "old": "1"}}, "edit", 1)
    message = 'Apply failed with 1 conflict: conflict with "edit" using v1: .data.k'
    assert refusal(live, config_map({"k": "2"}), "kubectl").message == message


WIDGET = schema.from_openapi(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "ports": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["port", "proto"],
                        "items": {
                            "type": "object",
                            "properties": {
                                "port": {"type": "integer"},
                                "proto": {"type": "string", "default": "TCP"},
                                "name": {"type": "string"},
                            },
                        },
                    },
                    "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                    "whole": {
                        "type": "object",
                        "x-kubernetes-map-type": "atomic",
                        "additionalProperties": {"type": "string"},
                    },
                    "map": {"type": "object", "additionalProperties": {"type": "string"}},
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                },
            }
        },
    }
)


def widget(**spec: Any) -> Body:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec}


def test_a_custom_kind_owns_by_its_list_and_map_types() -> None:
    config = widget(
        ports=[{"port": 80, "name": "http"}],
        tags=["a"],
        whole={"k": "1"},
        map={"k": "1"},
        free={"deep": {"er": 1}},
    )
    body = managed.apply(None, config, writer("one", 1, "example.com/v1"), WIDGET)
    assert owners(body)["one Apply"] == {
        "f:spec": {
            "f:ports": {'k:{"port":80,"proto":"TCP"}': {".": {}, "f:name": {}, "f:port": {}}},
            "f:tags": {'v:"a"': {}},
            "f:whole": {},
            "f:map": {"f:k": {}},
            "f:free": {"f:deep": {".": {}, "f:er": {}}},
        }
    }


def test_without_a_schema_objects_are_granular_and_lists_have_one_owner() -> None:
    config = widget(a={"b": 1}, l=[{"name": "x"}])
    body = managed.apply(None, config, writer("one", 1, "example.com/v1"), schema.OPEN)
    assert owners(body)["one Apply"] == {"f:spec": {".": {}, "f:a": {".": {}, "f:b": {}}, "f:l": {}}}


def test_what_was_granular_under_an_older_definition_has_one_owner_now() -> None:
    fields = {"f:spec": {"f:whole": {"f:k": {}}}}
    live = widget(whole={"k": "1"})
    live["metadata"] |= {"uid": "u", "managedFields": [entry("one", "Apply", fields, 1, api_version="example.com/v1")]}
    with pytest.raises(ApiError) as caught:
        managed.apply(live, widget(whole={"l": "1"}), writer("two", 2, "example.com/v1"), WIDGET)
    assert caught.value.message == 'Apply failed with 1 conflict: conflict with "one": .spec.whole'


def test_true_is_not_one() -> None:
    body = managed.apply(None, widget(free={"x": 1}), writer("one", 1, "example.com/v1"), WIDGET)
    body = managed.apply(body, widget(free={"x": True}), writer("one", 2, "example.com/v1"), WIDGET)
    assert body["spec"]["free"]["x"] is True
    assert times(body) == {"one": at(2)}


def test_one_and_one_point_zero_are_the_same_number() -> None:
    body = managed.apply(None, widget(free={"x": 1}), writer("one", 1, "example.com/v1"), WIDGET)
    again = managed.apply(body, widget(free={"x": 1.0}), writer("one", 2, "example.com/v1"), WIDGET)
    assert again == body
    assert type(again["spec"]["free"]["x"]) is int


def test_a_list_item_without_any_of_its_keys_is_refused() -> None:
    keyed = schema.from_openapi(
        {
            "type": "object",
            "properties": {
                "items": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "properties": {"name": {"type": "string"}, "x": {"type": "string"}}},
                }
            },
        }
    )
    config = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "items": [{"x": "1"}]}
    assert refusal(None, config, schema_=keyed).message == (
        "failed to create typed patch object (/w; example.com/v1, Kind=Widget): .items: element 0: associative list "
        "with keys has an element "
        'that omits all key fields ["name"] (and doesn\'t have default values for any key fields)'
    )
