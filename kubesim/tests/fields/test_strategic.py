"""Strategic merge patches on a Deployment: lists by key, directives, order, refusals."""

import copy
from typing import Any

import pytest
from tests.fields.bodies import DEPLOYMENT, deployment

from kubesim import go_words, schema
from kubesim.patch import PatchError, misfit, strategic_merge

Body = dict[str, Any]


def live() -> Body:
    containers = [
        {
            "name": "web",
            "image": "w:1",
            "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
            "args": ["x"],
        },
        {"name": "side", "image": "s:1"},
        {"name": "third", "image": "t:1"},
    ]
    body = deployment(containers, strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}})
    body["metadata"]["finalizers"] = ["a", "b", "c"]
    return body


def pod_spec(patch: Body) -> Body:
    return {"spec": {"template": {"spec": patch}}}


def merged(patch: Body) -> Body:
    body = live()
    kept = copy.deepcopy((body, patch))
    result = strategic_merge(body, patch, DEPLOYMENT)
    assert (body, patch) == kept
    return result


def containers(patch: Body) -> list[Body]:
    found: list[Body] = merged(pod_spec(patch))["spec"]["template"]["spec"]["containers"]
    return found


def names(patch: Body) -> list[str]:
    return [container["name"] for container in containers(patch)]


def test_items_merge_by_key_and_new_ones_go_to_the_front() -> None:
    found = containers({"containers": [{"name": "new", "image": "n:1"}, {"name": "side", "image": "s:2"}]})
    assert [(c["name"], c["image"]) for c in found] == [
        ("new", "n:1"),
        ("web", "w:1"),
        ("side", "s:2"),
        ("third", "t:1"),
    ]
    assert names({"containers": [{"name": "new"}]}) == ["new", "web", "side", "third"]


def test_lists_within_items_merge_and_lists_without_key_are_replaced() -> None:
    web = containers({"containers": [{"name": "web", "env": [{"name": "B", "value": "3"}], "args": ["y"]}]})[0]
    assert web["env"] == [{"name": "A", "value": "1"}, {"name": "B", "value": "3"}]
    assert web["args"] == ["y"]


def test_null_removes() -> None:
    assert "image" not in containers({"containers": [{"name": "web", "image": None}]})[0]


def test_an_item_can_be_deleted() -> None:
    assert names({"containers": [{"name": "side", "$patch": "delete"}]}) == ["web", "third"]
    assert names({"containers": [{"name": "none", "$patch": "delete"}]}) == ["web", "side", "third"]


def test_a_list_can_be_replaced() -> None:
    assert containers({"containers": [{"$patch": "replace"}, {"name": "only"}]}) == [{"name": "only"}]


def test_a_map_can_be_replaced_or_emptied() -> None:
    strategy = merged({"spec": {"strategy": {"$patch": "replace", "type": "Recreate"}}})["spec"]["strategy"]
    assert strategy == {"type": "Recreate"}
    assert merged({"spec": {"strategy": {"$patch": "delete"}}})["spec"]["strategy"] == {}


def test_retain_keys_keeps_only_some() -> None:
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    assert merged(patch)["spec"]["strategy"] == {"type": "Recreate"}


def test_scalars_are_united_and_deleted() -> None:
    assert merged({"metadata": {"finalizers": ["d", "a"]}})["metadata"]["finalizers"] == ["d", "a", "b", "c"]
    patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["b", "x"]}}
    assert merged(patch)["metadata"]["finalizers"] == ["a", "c"]


def test_the_order_can_be_told() -> None:
    order = [{"name": "third"}, {"name": "new"}, {"name": "web"}]
    assert names({"containers": [{"name": "new"}], "$setElementOrder/containers": order}) == [
        "side",
        "third",
        "new",
        "web",
    ]
    assert names({"$setElementOrder/containers": order[::2]}) == ["side", "third", "web"]
    patch = {"metadata": {"finalizers": ["e"], "$setElementOrder/finalizers": ["e", "c", "a", "b"]}}
    assert merged(patch)["metadata"]["finalizers"] == ["e", "c", "a", "b"]


def test_maps_with_directives_do_not_become_new_items() -> None:
    result = merged(pod_spec({"volumes": [{"name": "x", "$patch": "delete"}, {"name": "y"}]}))
    assert result["spec"]["template"]["spec"]["volumes"] == [{"name": "y"}]
    assert "affinity" not in merged(pod_spec({"affinity": {"$patch": "replace", "x": 1}}))["spec"]["template"]["spec"]


def test_other_directives_stay_in_what_is_new() -> None:
    volume = {"name": "v", "emptyDir": {"$retainKeys": ["medium"], "medium": "Memory", "sizeLimit": None}}
    kept = {"name": "v", "emptyDir": {"$retainKeys": ["medium"], "medium": "Memory"}}
    result = merged(pod_spec({"volumes": [volume], "$setElementOrder/volumes": [{"name": "v"}]}))
    assert result["spec"]["template"]["spec"]["volumes"] == [kept]
    new = {"name": "new", "ports": [{"$patch": "replace"}]}
    assert containers({"containers": [new]})[0] == new


def test_a_budgets_selector_is_replaced() -> None:
    budget = schema.for_kind("policy", "v1", "PodDisruptionBudget")
    body = {"spec": {"selector": {"matchLabels": {"a": "1"}}}}
    patch = {"spec": {"selector": {"matchLabels": {"b": "1"}}}}
    assert strategic_merge(body, patch, budget) == patch


@pytest.mark.parametrize(
    ("patch", "kind", "message"),
    [
        (
            pod_spec({"containers": [{"image": "x"}]}),
            "internal",
            "map: map[image:x] does not contain declared merge key: name",
        ),
        (
            pod_spec({"containers": [{"name": "web", "$patch": "nope"}]}),
            "internal",
            "unknown patch type: nope in map: map[$patch:nope name:web]",
        ),
        ({"spec": {"$patch": "nope"}}, "internal", "unknown patch type: nope in map: map[$patch:nope]"),
        (
            pod_spec({"containers": [{"name": "web", "$patch": "merge"}]}),
            "internal",
            "merging lists cannot yet be specified in the patch",
        ),
        (
            {"spec": {"strategy": {"$retainKeys": ["x"], "type": "y"}}},
            "bad_request",
            "invalid patch format of retainKeys",
        ),
        ({"spec": {"strategy": {"$retainKeys": "x"}}}, "bad_request", "invalid patch format of retainKeys"),
        (
            {"metadata": {"$deleteFromPrimitiveList/finalizers": "a"}},
            "bad_request",
            "invalid patch format of primitive list",
        ),
        ([], "bad_request", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ("x", "bad_request", "json: cannot unmarshal string into Go value of type map[string]interface {}"),
    ],
)
def test_refusals(patch: Any, kind: str, message: str) -> None:
    with pytest.raises(PatchError) as caught:
        strategic_merge(live(), patch, DEPLOYMENT)
    assert (caught.value.kind, caught.value.message) == (kind, message)


def test_an_order_that_contradicts_the_changes_is_refused() -> None:
    changes = [{"name": "web"}, {"name": "side"}]
    patch = pod_spec({"containers": changes, "$setElementOrder/containers": [{"name": "side"}, {"name": "web"}]})
    with pytest.raises(PatchError, match="doesn't match") as caught:
        strategic_merge(live(), patch, DEPLOYMENT)
    assert caught.value.kind == "internal"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (deployment([], replicas="x"), "unrecognized type: int32"),
        ({"spec": {"template": {"spec": {"containers": {}}}}}, "cannot restore slice from map"),
        ({"spec": {"template": []}}, "cannot restore struct from: slice"),
        ({"metadata": {"labels": ["x"]}}, "cannot restore map from slice"),
        ({"metadata": {"name": 5}}, "cannot convert int64 to string"),
        ({"spec": {"paused": "yes"}}, "unrecognized type: bool"),
        (deployment([{"name": "c", "image": None}], replicas=1), ""),
    ],
)
def test_a_result_that_is_no_object_any_more(body: Body, text: str) -> None:
    assert misfit(DEPLOYMENT, body) == text


def test_values_are_printed_as_go_prints_maps() -> None:
    assert go_words.printed({"b": [1, "x", None], "a": {"c": True}}) == "map[a:map[c:true] b:[1 x <nil>]]"
