"""Names are given out once; a definition lives, and dies, by its conditions."""

from __future__ import annotations

from typing import Any

from kubesim import crd
from tests.crd import made

Body = dict[str, Any]


def conditions(body: Body) -> dict[str, tuple[str, str]]:
    return {one["type"]: (one["status"], one["reason"]) for one in body["status"]["conditions"]}


def test_a_new_definition_is_accepted_and_established() -> None:
    body = made.established(made.definition())
    assert conditions(body) == {
        "NamesAccepted": ("True", "NoConflicts"),
        "Established": ("True", "InitialNamesAccepted"),
    }
    assert body["status"]["acceptedNames"] == body["spec"]["names"]
    assert crd.settle(body, [body], made.NOW) is None


def test_names_already_taken_are_refused_and_the_rest_is_kept() -> None:
    first = made.established(made.definition(shortNames=["w"]))
    second = crd.settle(made.stored(made.definition(plural="gadgets", shortNames=["g", "w"])), [first], made.NOW)
    assert second is not None
    assert conditions(second) == {
        "NamesAccepted": ("False", "ListKindConflict"),
        "Established": ("False", "NotAccepted"),
    }
    assert second["status"]["conditions"][0]["message"] == '"WidgetList" is already in use'
    assert second["status"]["acceptedNames"] == {"plural": "gadgets", "kind": ""}
    assert crd.custom_kinds(second) == []


def test_a_freed_name_is_accepted_later() -> None:
    first = made.established(made.definition())
    second = crd.settle(made.stored(made.definition(plural="gadgets")), [first], made.NOW)
    assert second is not None
    third = crd.settle(second, [second], "2026-01-01T00:01:00Z")
    assert third is not None
    assert conditions(third)["Established"] == ("True", "InitialNamesAccepted")
    assert third["status"]["conditions"][0]["lastTransitionTime"] == "2026-01-01T00:01:00Z"


def test_other_groups_do_not_matter() -> None:
    first = made.established(made.definition())
    other = crd.settle(made.stored(made.definition(group="other.example.com")), [first], made.NOW)
    assert other is not None
    assert conditions(other)["NamesAccepted"] == ("True", "NoConflicts")


def test_a_protected_group_shows_its_approval() -> None:
    body = made.definition(group="x.k8s.io")
    body["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, a test"}
    settled = made.established(body)
    assert conditions(settled)["KubernetesAPIApprovalPolicyConformant"] == ("False", "UnapprovedAnnotation")


def test_a_schema_that_is_not_structural_is_marked_until_it_is() -> None:
    body = made.definition(made.version(schema={"type": "object", "properties": {"a": {}}}))
    settled = made.established(body)
    assert conditions(settled)["NonStructuralSchema"] == ("True", "Violations")
    better = {**settled, "spec": made.definition()["spec"]}
    after = crd.settle(better, [], made.NOW)
    assert after is not None
    assert "NonStructuralSchema" not in conditions(after)


def test_a_deleted_definition_waits_for_its_objects() -> None:
    body = made.established(made.definition())
    body["metadata"]["deletionTimestamp"] = made.NOW
    marked = crd.begin_deletion(body, made.NOW)
    assert marked["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    assert conditions(marked)["Terminating"] == ("True", "InstanceDeletionPending")
    assert crd.is_terminating(marked)
    gone = crd.finish_deletion(marked, made.NOW)
    assert "finalizers" not in gone["metadata"]
    assert conditions(gone)["Terminating"] == ("False", "InstanceDeletionCompleted")
