"""Owners of replicas through the scale subresource."""

from typing import Any

from tests.fields.bodies import entry, writer

from kubesim import managed, schema

Body = dict[str, Any]

SCALE = schema.for_kind("autoscaling", "v1", "Scale")
PATH = ("spec", "replicas")
ONE = entry("one", "Apply", {"f:spec": {"f:replicas": {}, "f:selector": {}}}, 1, api_version="apps/v1")


def scale(replicas: int, entries: list[Body]) -> Body:
    metadata: Body = {"name": "d", "uid": "u", "managedFields": entries}
    return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": metadata, "spec": {"replicas": replicas}}


def test_an_owner_of_replicas_owns_them_in_the_scale() -> None:
    other = entry("two", "Update", {"f:spec": {"f:selector": {}}}, 1, api_version="apps/v1")
    fields = {"f:spec": {"f:replicas": {}}}
    expected = [entry("one", "Apply", fields, 1, api_version="autoscaling/v1")]
    assert managed.scale_fields([ONE, other], "apps/v1", PATH) == expected


def test_an_update_of_the_scale_takes_replicas_and_has_no_time() -> None:
    old = scale(2, managed.scale_fields([ONE], "apps/v1", PATH))
    who = writer("ctl", 5, "autoscaling/v1", "scale")
    new = managed.update(old, scale(4, []), who, SCALE)
    assert managed.parent_fields([ONE], new["metadata"]["managedFields"], "apps/v1", PATH) == [
        entry("one", "Apply", {"f:spec": {"f:selector": {}}}, 1, api_version="apps/v1"),
        entry("ctl", "Update", {"f:spec": {"f:replicas": {}}}, None, api_version="apps/v1", subresource="scale"),
    ]


def test_a_scale_that_changes_nothing_leaves_the_owners() -> None:
    entries = managed.scale_fields([ONE], "apps/v1", PATH)
    assert managed.parent_fields([ONE], entries, "apps/v1", PATH) == [ONE]


def test_entries_of_other_versions_are_dropped() -> None:
    old = entry("old", "Update", {"f:spec": {}}, 1, api_version="extensions/v1beta1")
    assert managed.parent_fields([old, ONE], managed.scale_fields([ONE], "apps/v1", PATH), "apps/v1", PATH) == [ONE]


def test_the_field_may_be_anywhere_in_the_object() -> None:
    fields = {"f:spec": {"f:size": {".": {}, "f:n": {}}}}
    parent = [entry("one", "Update", fields, 1, api_version="example.com/v1")]
    entries = managed.scale_fields(parent, "example.com/v1", ("spec", "size", "n"))
    assert [e["fieldsV1"] for e in entries] == [{"f:spec": {"f:replicas": {}}}]
    assert managed.parent_fields(parent, [], "example.com/v1", ("spec", "size", "n")) == [
        entry("one", "Update", {"f:spec": {"f:size": {}}}, 1, api_version="example.com/v1")
    ]


def test_an_updater_that_keeps_replicas_has_two_entries() -> None:
    fields = {"f:spec": {"f:replicas": {}, "f:paused": {}}}
    parent = [entry("ctl", "Update", fields, 1, api_version="apps/v1")]
    entries = managed.scale_fields(parent, "apps/v1", PATH)
    assert managed.parent_fields(parent, entries, "apps/v1", PATH) == [
        entry("ctl", "Update", {"f:spec": {"f:replicas": {}}}, None, api_version="apps/v1"),
        entry("ctl", "Update", {"f:spec": {"f:paused": {}}}, 1, api_version="apps/v1"),
    ]
