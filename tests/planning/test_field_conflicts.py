from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gitfed.model.fleet import LiveState
from gitfed.model.plan import Action, Change
from gitfed.planning.objects import diff, field_conflicts
from tests.e2e.world import policy
from tests.e2e.world import settings as federation
from tests.planning.tree import WEB, WEB_KEY, plan_of, read, settled

OTHERS = {"f:spec": {"f:replicas": {}}}


def entry(fields: dict[str, Any], manager: str = "argo", operation: str = "Apply", **more: str) -> dict[str, Any]:
    return {"manager": manager, "operation": operation, "fieldsV1": fields, **more}


def found(desired: dict[str, Any], live: dict[str, Any], *entries: dict[str, Any]) -> list[str]:
    body = {**live, "metadata": {**live.get("metadata", {}), "managedFields": list(entries)}}
    differences = diff.diff(desired, body, owned=diff.owned_fields(body, "gitfed"))
    return [str(one) for one in field_conflicts.find(desired, body, differences)]


def deployment(image: str, *more: dict[str, Any], args: list[str] | None = None) -> dict[str, Any]:
    container = {"name": "main", "image": image, **({"args": args} if args else {})}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"template": {"spec": {"containers": [container, *more]}}}}  # fmt: skip


def in_containers(**fields: Any) -> dict[str, Any]:
    items = {f'k:{{"name":"{name}"}}': inside for name, inside in fields.items()}
    return {"f:spec": {"f:template": {"f:spec": {"f:containers": items}}}}


def test_a_field_that_another_applies_is_claimed_with_its_name() -> None:
    mine, theirs = {"kind": "X", "spec": {"replicas": 2}}, {"kind": "X", "spec": {"replicas": 9}}
    assert found(mine, theirs, entry(OTHERS)) == ['conflict with "argo": /spec/replicas']
    assert found(mine, theirs, entry(OTHERS), entry(OTHERS, "flux")) == ['conflict with "argo", "flux": /spec/replicas']
    assert found(mine, mine, entry(OTHERS)) == [], "who wants the same is in nobody's way"


@pytest.mark.parametrize(
    "record",
    [entry(OTHERS, operation="Update"), entry(OTHERS, manager="gitfed"), entry(OTHERS, subresource="scale")],
    ids=["an update is drift", "our own", "a subresource"],
)
def test_only_who_declares_an_object_claims_its_fields(record: dict[str, Any]) -> None:
    assert found({"kind": "X", "spec": {"replicas": 2}}, {"kind": "X", "spec": {"replicas": 9}}, record) == []


def test_what_both_own_is_changed_by_a_commit() -> None:
    """The deployer that was here before may have left; one that is still there takes the field back, and has it."""
    mine, theirs = {"kind": "X", "spec": {"replicas": 2}}, {"kind": "X", "spec": {"replicas": 9}}
    ours = entry(OTHERS, manager="gitfed")
    assert found(mine, theirs, ours, entry(OTHERS)) == []
    assert found(mine, theirs, entry({"f:spec": {"f:paused": {}}}, manager="gitfed"), entry(OTHERS)) == [
        'conflict with "argo": /spec/replicas'
    ]
    both = [entry(in_containers(main={".": {}, "f:image": {}}), manager=name) for name in ("gitfed", "argo")]
    assert found(deployment("nginx:2"), deployment("nginx:1"), *both) == []


def test_items_of_a_list_are_told_apart_by_their_keys() -> None:
    side = {"name": "side", "image": "proxy:1"}
    mine, theirs = deployment("nginx:2"), deployment("nginx:1", side)
    assert found(mine, theirs, entry(in_containers(side={".": {}, "f:image": {}}))) == []
    assert found(mine, theirs, entry(in_containers(main={".": {}, "f:image": {}}))) == [
        'conflict with "argo": /spec/template/spec/containers/0/image'
    ]


def test_a_list_that_is_one_value_is_claimed_and_left_out_as_a_whole() -> None:
    mine, theirs = deployment("nginx:1", args=["a", "b"]), deployment("nginx:1", args=["a", "c"])
    record = entry(in_containers(main={".": {}, "f:args": {}}))
    live = {**theirs, "metadata": {**theirs["metadata"], "managedFields": [record]}}
    differences = diff.diff(mine, live, owned=None)
    found = field_conflicts.find(mine, live, differences)
    assert [str(one) for one in found] == ['conflict with "argo": /spec/template/spec/containers/0/args']
    assert field_conflicts.unclaimed(found, differences) == ()
    assert field_conflicts.left_out(mine, found) == deployment("nginx:1")


def test_an_empty_map_that_another_applies_claims_nothing_in_it() -> None:
    mine, theirs = {"kind": "X", "spec": {"replicas": 2, "a": 1}}, {"kind": "X", "spec": {"replicas": 1, "a": 1}}
    ours = entry({"f:spec": {"f:a": {}}}, manager="gitfed")
    assert found(mine, theirs, ours, entry({"f:spec": {}})) == []
    assert found(mine, theirs, entry({"f:spec": {}})) == ['conflict with "argo": /spec'], "a map that is one value"


def test_our_own_labels_are_given_away_to_nobody() -> None:
    mine = {"kind": "X", "metadata": {"labels": {"gitfed.io/federation": "acme", "team": "a"}}}
    theirs = {"kind": "X", "metadata": {"labels": {"gitfed.io/federation": "other", "team": "b"}}}
    record = entry({"f:metadata": {"f:labels": {"f:gitfed.io/federation": {}, "f:team": {}}}})
    assert found(mine, theirs, record) == ['conflict with "argo": /metadata/labels/team']


def test_a_claimed_value_of_a_secret_is_left_out_in_either_form() -> None:
    body = {"kind": "Secret", "apiVersion": "v1", "stringData": {"a": "1", "b": "2"}}
    claim = field_conflicts.Claim(("data", "a"), ("argo",))
    assert field_conflicts.left_out(body, [claim])["stringData"] == {"b": "2"}


# -- what a plan makes of it --------------------------------------------------------------------------------------


def declared_elsewhere(live: LiveState, image: str | None = None) -> LiveState:
    """Another manager applies 9 replicas by force; `image`: and somebody edits that."""
    copy = live.objects[WEB_KEY]["a"]
    assert copy.body is not None
    spec = {**copy.body["spec"], "replicas": 9}
    if image:
        containers = [{**spec["template"]["spec"]["containers"][0], "image": image}]
        spec["template"] = {**spec["template"], "spec": {**spec["template"]["spec"], "containers": containers}}
    metadata = {**copy.body["metadata"], "managedFields": [entry(OTHERS)]}
    body = {**copy.body, "metadata": metadata, "spec": spec}
    return replace(live, objects={**live.objects, WEB_KEY: {"a": replace(copy, body=body)}})


def change_of(files: dict[str, str], image: str | None = None) -> Change:
    live, decisions = settled(WEB)
    plan = plan_of(read(files), declared_elsewhere(live, image), decisions)
    return next(change for change in plan.changes or () if change.key == WEB_KEY)


def annotated(value: str) -> dict[str, str]:
    import json

    name = next(name for name, text in WEB.items() if json.loads(text)["kind"] == "Deployment")
    body = json.loads(WEB[name])
    body["metadata"]["annotations"] = {"work.karmada.io/conflict-resolution": value}
    return {**WEB, name: json.dumps(body)}


def test_abort_leaves_the_field_and_says_whose_it_is() -> None:
    change = change_of(WEB)
    assert (change.action, str(change.reason)) == (
        Action.SKIP,
        'conflict with "argo": /spec/replicas (conflictResolution Abort leaves it, Overwrite takes it over)',
    )


def test_the_rest_of_the_object_is_written_all_the_same() -> None:
    change = change_of(WEB, image="nginx:drifted")
    assert change.action is Action.UPDATE
    assert [one.pointer for one in change.write.diff] == ["/spec/template/spec/containers/0/image"]
    assert change.write.body is not None
    assert "replicas" not in change.write.body["spec"]


@pytest.mark.parametrize("files", [{**WEB, "p.json": policy("p", ["a"], conflictResolution="Overwrite")},
                                   annotated("overwrite")], ids=["by policy", "by annotation"])  # fmt: skip
def test_overwrite_takes_the_field_over_and_says_from_whom(files: dict[str, str]) -> None:
    change = change_of(files)
    assert change.action is Action.UPDATE
    assert "argo" in str(change.reason)
    assert change.write.body is None or change.write.body["spec"]["replicas"] == 2


def test_the_annotation_is_stronger_than_the_policy() -> None:
    files = {**annotated("abort"), "p.json": policy("p", ["a"], conflictResolution="Overwrite")}
    live, decisions = settled(files)
    plan = plan_of(read(files), declared_elsewhere(live), decisions)
    assert [c.action for c in plan.changes or () if c.key == WEB_KEY] == [Action.SKIP]


def test_what_heals_nothing_says_so_before_it_says_whose_it_is() -> None:
    change = change_of({**WEB, "gitfed.json": federation(sync={"selfHeal": False})})
    assert str(change.reason) == "drift: changed by argo, and selfHeal is off"
