"""Whose managed fields become ours."""

from __future__ import annotations

from typing import Any

from gitfed.edges.kube import adopt


def managed(manager: str, fields: dict[str, Any], operation: str = "Update", **more: Any) -> dict[str, Any]:
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": "v1",
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        **more,
    }


def live(*entries: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": "a", "uid": "u", "resourceVersion": "7", "managedFields": list(entries)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def test_earlier_writers_fields_become_one_entry_of_ours() -> None:
    operator = managed("some-operator", {"f:data": {"f:live": {}}})
    patch = adopt.patch(
        live(
            managed("kubectl-client-side-apply", {"f:data": {".": {}, "f:k": {}}}),
            operator,
            managed("karmada-controller-manager", {"f:data": {"f:l": {}}}, time="2026-02-01T00:00:00Z"),
        ),
        manager="gitfed",
    )
    assert patch == [
        {
            "op": "replace",
            "path": "/metadata/managedFields",
            "value": [
                managed("gitfed", {"f:data": {"f:k": {}, "f:l": {}}}, "Apply", time="2026-02-01T00:00:00Z"),
                operator,
            ],
        },
        {"op": "replace", "path": "/metadata/resourceVersion", "value": "7"},
    ]


def test_an_entry_that_is_ours_already_takes_them_in() -> None:
    patch = adopt.patch(
        live(managed("gitfed", {"f:data": {"f:k": {}}}, "Apply"), managed("kubectl", {"f:data": {"f:l": {}}})),
        manager="gitfed",
    )
    assert patch is not None
    assert patch[0]["value"] == [managed("gitfed", {"f:data": {"f:k": {}, "f:l": {}}}, "Apply")]


def test_what_others_apply_and_what_we_only_update_stays_theirs() -> None:
    others = managed("argocd", {"f:data": {"f:theirs": {}}}, "Apply")
    scaled = managed("gitfed-scale", {"f:spec": {"f:replicas": {}}}, "Apply", subresource="scale")
    ours = managed("gitfed-scale", {"f:data": {"f:k": {}}}, "Apply")
    patch = adopt.patch(live(others, scaled, ours, managed("kubectl", {"f:data": {"f:l": {}}})), manager="gitfed-scale")
    assert patch is not None
    assert patch[0]["value"] == [managed("gitfed-scale", {"f:data": {"f:k": {}, "f:l": {}}}, "Apply"), others, scaled]


def test_items_of_keyed_lists_keep_their_own_mark() -> None:
    fields = {"f:spec": {"f:ports": {".": {}, 'k:{"port":80}': {".": {}, "f:port": {}}}}}
    patch = adopt.patch(live(managed("kubectl-create", fields)), manager="gitfed")
    assert patch is not None
    assert patch[0]["value"][0]["fieldsV1"] == {"f:spec": {"f:ports": {'k:{"port":80}': {".": {}, "f:port": {}}}}}


def test_controllers_subresources_and_other_versions_are_left_alone() -> None:
    assert (
        adopt.patch(
            live(
                managed("kube-controller-manager", {"f:spec": {}}),
                managed("kubectl-edit", {"f:status": {}}, subresource="status"),
                managed("kubectl-edit", {"f:spec": {}}, apiVersion="v1beta1"),
                managed("kubectl", {"f:spec": {}}, "Apply"),
            ),
            manager="gitfed",
        )
        is None
    )


def test_an_object_without_managers_needs_no_patch() -> None:
    assert adopt.patch(live(), manager="gitfed") is None
