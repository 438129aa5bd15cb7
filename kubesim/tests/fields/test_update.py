"""Updates: what they take, what times move, managedFields that clients send, other versions, the cap."""

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


def test_a_creator_owns_the_maps_it_made_too() -> None:
    body = update(None, config_map({"k": "1"}, labels={"a": ""}, finalizers=["x"]), "create", 1)
    fields = {
        "f:data": {".": {}, "f:k": {}},
        "f:metadata": {"f:finalizers": {".": {}, 'v:"x"': {}}, "f:labels": {".": {}, "f:a": {}}},
    }
    assert body["metadata"]["managedFields"] == [entry("create", "Update", fields, 1)]


def test_an_object_with_nothing_but_a_name_has_no_owners() -> None:
    assert update(None, config_map(), "create") == config_map()


def test_lists_that_an_empty_object_has_anyway_are_not_owned_only_their_items() -> None:
    body = managed.update(
        None, DEPLOYMENT.convert(deployment([{"name": "a", "image": "x"}])), writer("c", 0, "apps/v1"), DEPLOYMENT
    )
    spec = owners(body)["c Update"]["f:spec"]
    assert spec["f:selector"] == {}
    assert spec["f:template"]["f:spec"] == {
        "f:containers": {'k:{"name":"a"}': {".": {}, "f:image": {}, "f:name": {}, "f:resources": {}}}
    }


def test_an_update_takes_what_it_changes_and_what_is_removed_has_no_owner() -> None:
    body = apply(None, config_map({"k": "1", "l": "1", "m": "1"}), "one", 1)
    body = update(body, {**body, "data": {"k": "2", "m": "1"}}, "two", 2)
    assert owners(body) == {"one Apply": {"f:data": {"f:m": {}}}, "two Update": {"f:data": {"f:k": {}}}}


def test_an_update_that_only_removes_moves_no_time() -> None:
    body = update(None, config_map({"k": "1", "l": "1"}), "one", 1)
    body = update(body, {**body, "data": {"k": "1"}}, "one", 2)
    assert times(body) == {"one": at(1)}


def test_an_update_that_sets_what_is_there_takes_nothing() -> None:
    body = apply(None, config_map({"k": "1"}), "one", 1)
    assert update(body, body, "two", 2) == body


def test_the_time_moves_when_the_same_manager_changes_a_value() -> None:
    body = update(None, config_map({"k": "1"}), "one", 1)
    assert times(update(body, {**body, "data": {"k": "2"}}, "one", 2)) == {"one": at(2)}


def test_an_object_without_owners_gets_none_by_updates() -> None:
    body = update(None, config_map(uid="u"), "one", 1)
    assert owners(update(body, {**body, "data": {"k": "1"}}, "two", 2)) == {}


def test_leaving_managed_fields_out_keeps_them() -> None:
    body = update(None, config_map({"k": "1"}, uid="u"), "one", 1)
    assert owners(update(body, config_map({"k": "1"}, uid="u"), "two", 2)) == owners(body)


def test_an_empty_list_or_one_empty_entry_forgets_all_owners() -> None:
    body = update(None, config_map({"k": "1"}, uid="u"), "one", 1)
    for sent in ([], [{}], [{"manager": ""}]):
        assert owners(update(body, config_map({"k": "1"}, uid="u", managedFields=sent), "two", 2)) == {}


def test_entries_that_are_understood_replace_the_stored_ones() -> None:
    body = update(None, config_map({"k": "1"}, uid="u"), "one", 1)
    mine = [entry("x", "Apply", {"f:data": {"f:k": {}}}, 0)]
    assert (
        update(body, config_map({"k": "1"}, uid="u", managedFields=mine), "two", 2)["metadata"]["managedFields"] == mine
    )


def test_entries_that_are_not_understood_leave_the_stored_ones() -> None:
    body = update(None, config_map({"k": "1"}, uid="u"), "one", 1)
    good = entry("x", "Apply", {"f:data": {}}, 0)
    for bad in (
        {**good, "operation": "Nope"},
        {**good, "fieldsType": "FieldsV2"},
        {**good, "apiVersion": ""},
        {**good, "fieldsV1": {"x:data": {}}},
    ):
        assert owners(update(body, config_map({"k": "1"}, uid="u", managedFields=[bad]), "two", 2)) == owners(body)


def test_a_subresource_cannot_write_managed_fields() -> None:
    body = update(None, config_map({"k": "1"}, uid="u"), "one", 1)
    sent = config_map({"k": "1"}, uid="u", managedFields=[])
    assert owners(managed.update(body, sent, writer("two", 2, subresource="status"), CONFIG_MAP)) == owners(body)


def test_entries_are_ordered_by_operation_time_manager_and_subresource() -> None:
    entries = [
        entry("b", "Update", {"f:data": {}}, 1),
        entry("c", "Apply", {"f:data": {}}, 2),
        entry("a", "Apply", {"f:data": {}}, 2, subresource="status"),
        entry("a", "Apply", {"f:data": {}}, 2),
        entry("z", "Apply", {"f:data": {}}),
    ]
    body = update(config_map({"k": "1"}, uid="u"), config_map({"k": "1"}, uid="u", managedFields=entries), "one", 1)
    order = [(e["manager"], e.get("subresource", "")) for e in body["metadata"]["managedFields"]]
    assert order == [("z", ""), ("a", ""), ("a", "status"), ("c", ""), ("b", "")]


def test_a_body_with_an_item_without_key_leaves_the_owners_as_they_are() -> None:
    kind = schema.for_kind("", "v1", "ServiceAccount")
    body: Body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}, "secrets": [{}]}
    assert managed.update(None, body, writer("one"), kind) == body
    named = managed.update(None, {**body, "secrets": [{"name": "x"}]}, writer("one"), kind)
    assert owners(managed.update(named, {**named, "secrets": [{}]}, writer("two"), kind)) == owners(named)
    live = {**body, "metadata": {"name": "a", "uid": "u"}}
    with pytest.raises(ApiError) as caught:
        managed.apply(live, {**body, "secrets": [{"name": "x"}]}, writer("one"), kind)
    assert caught.value.message == (
        "failed to create typed live object (/a; /v1, Kind=ServiceAccount): .secrets: element 0: associative list with "
        'keys has an element that omits all key fields ["name"] (and doesn\'t have default values for any key fields)'
    )


def test_owners_of_a_version_that_is_gone_are_struck() -> None:
    old = [
        entry("x", "Apply", {"f:data": {"f:k": {}}}, 0, api_version="v0"),
        entry("y", "Apply", {"f:data": {"f:k": {}}}, 0),
    ]
    body = config_map({"k": "1"}, uid="u", managedFields=old)
    assert owners(update(body, {**body, "data": {"k": "1", "l": "1"}}, "one", 1)).keys() == {"y Apply", "one Update"}


def test_more_than_ten_updaters_are_told_as_ancient_changes() -> None:
    body = update(None, config_map({"k0": "1"}, uid="u"), "m00", 0)
    for index in range(1, 13):
        body = update(body, {**body, "data": {**body["data"], f"k{index}": "1"}}, f"m{index:02d}", index)
    entries = body["metadata"]["managedFields"]
    assert [e["manager"] for e in entries] == ["ancient-changes", *(f"m{index:02d}" for index in range(4, 13))]
    assert entries[0]["fieldsV1"] == {"f:data": {".": {}, "f:k0": {}, "f:k1": {}, "f:k2": {}, "f:k3": {}}}
    assert entries[0]["time"] == at(3)


ONE = schema.from_openapi(
    {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}}}
)
TWO = schema.from_openapi(
    {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}},
    }
)


def relabelled(body: Body, api_version: str) -> tuple[Body, schema.Schema] | None:
    known = {"example.com/v1": ONE, "example.com/v2": TWO}.get(api_version)
    return ({**body, "apiVersion": api_version}, known) if known else None


def widget(version: str, **spec: str) -> Body:
    return {"apiVersion": f"example.com/{version}", "kind": "W", "metadata": {"name": "w", "uid": "u"}, "spec": spec}


def test_a_change_is_seen_by_owners_of_another_version() -> None:
    body = managed.update(None, widget("v1", a="1"), writer("one", 1, "example.com/v1"), ONE)
    new = {**body, "apiVersion": "example.com/v2", "spec": {"a": "2"}}
    after = managed.update(
        {**body, "apiVersion": "example.com/v2"}, new, writer("two", 2, "example.com/v2"), TWO, convert=relabelled
    )
    assert owners(after) == {"one Update": {"f:spec": {}}, "two Update": {"f:spec": {"f:a": {}}}}
    assert [e["apiVersion"] for e in after["metadata"]["managedFields"]] == ["example.com/v1", "example.com/v2"]


def test_a_field_that_an_owners_version_does_not_know_forgets_all_owners() -> None:
    body = managed.update(None, widget("v1", a="1"), writer("one", 1, "example.com/v1"), ONE)
    body = {**body, "apiVersion": "example.com/v2"}
    new = {**body, "spec": {"a": "1", "b": "2"}}
    assert owners(managed.update(body, new, writer("two", 2, "example.com/v2"), TWO, convert=relabelled)) == {}


def test_an_apply_that_an_owners_version_cannot_follow_is_refused() -> None:
    body = managed.apply(None, widget("v1", a="1"), writer("one", 1, "example.com/v1"), ONE)
    live = {**body, "apiVersion": "example.com/v2"}
    config = widget("v2", b="2")
    for manager, beginning in (
        ("two", "failed to convert new object"),
        ("one", "failed to prune fields: failed to convert merged object to last applied version"),
    ):
        with pytest.raises(ApiError) as caught:
            managed.apply(live, config, writer(manager, 2, "example.com/v2"), TWO, convert=relabelled)
        assert (caught.value.code, caught.value.reason) == (500, "")
        assert caught.value.message == f"{beginning}: .spec.b: field not declared in schema"


def test_an_apply_in_another_version_prunes_what_was_applied_in_the_first() -> None:
    body = managed.apply(None, widget("v1", a="1"), writer("one", 1, "example.com/v1"), ONE)
    live = {**body, "apiVersion": "example.com/v2"}
    config = {**widget("v2"), "metadata": {"name": "w", "labels": {"x": "y"}}}
    after = managed.apply(live, config, writer("one", 2, "example.com/v2"), TWO, convert=relabelled)
    assert after["spec"] == {}
    assert owners(after) == {"one Apply": {"f:metadata": {"f:labels": {"f:x": {}}}, "f:spec": {}}}
    assert [e["apiVersion"] for e in after["metadata"]["managedFields"]] == ["example.com/v2"]


def test_managers_are_validated() -> None:
    entries = [entry("x" * 129, "Apply", {}), entry("bad\x07", "Apply", {}, subresource="s" * 257)]
    assert [error.message() for error in managed.invalid(entries)] == [
        "metadata.managedFields[0].manager: Too long: may not be more than 128 bytes",
        'metadata.managedFields[1].manager: Invalid value: "bad\\a": invalid character U+0007 (at position 3)',
        "metadata.managedFields[1].subresource: Too long: may not be more than 256 bytes",
    ]


def test_a_write_that_moves_nothing_but_times_is_none() -> None:
    old = config_map({"k": "1"}, resourceVersion="7", managedFields=[entry("one", "Apply", {"f:data": {}}, 1)])
    new = config_map({"k": "1"}, managedFields=[entry("one", "Apply", {"f:data": {}}, 2)])
    assert managed.settle(old, new)["metadata"]["managedFields"] == old["metadata"]["managedFields"]
    other = config_map({"k": "2"}, managedFields=[entry("one", "Apply", {"f:data": {}}, 2)])
    assert managed.settle(old, other) is other
    fields = config_map({"k": "1"}, managedFields=[entry("one", "Apply", {}, 2)])
    assert managed.settle(old, fields) is fields
