"""Objects, Tables and kinds of several clusters in one."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gitfed.fleet_api import discovery, merge, versions
from gitfed.model.keys import CACHED_FROM_CLUSTER
from tests.fleet_api.lists import names, pod, table


def test_an_object_says_where_it_is_from() -> None:
    found = merge.marked(pod("a", a="b"), "member1")
    assert found["metadata"]["annotations"] == {"a": "b", CACHED_FROM_CLUSTER: "member1"}
    assert found["metadata"]["resourceVersion"] == "eyJtZW1iZXIxIjoiNSJ9"


def test_what_is_sent_back_is_as_the_cluster_knows_it() -> None:
    sent = merge.marked(pod("a", a="b"), "m1", lambda own: versions.encode({"m1": own, "m2": "77"}))
    assert merge.unmarked(sent, "m1") == pod("a", a="b")
    assert merge.unmarked(pod("a", "5"), "m1") == pod("a", "5")  # of the cluster itself: not made unconditional
    assert merge.unmarked(sent, "m3")["metadata"]["resourceVersion"] == sent["metadata"]["resourceVersion"]
    assert merge.unmarked({"spec": 1}, "m1") == {"spec": 1}


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=5), min_size=1), st.sampled_from(["m1", "m2"]))
def test_marking_can_be_undone(annotations: dict[str, str], cluster: str) -> None:
    body = {"metadata": {"name": "a", "resourceVersion": "5", "annotations": annotations}}
    assert merge.unmarked(merge.marked(body, cluster), cluster) == body


def test_tables_get_a_column_for_the_cluster() -> None:
    found = merge.lists(
        [("m1", table("Name Ready", ("a", ["a", "1/1"]))), ("m2", table("Name Ready", ("a", ["a", "0/1"])))]
    )
    assert names(found) == ["Name", "Cluster", "Ready"]
    assert [row["cells"] for row in found["rows"]] == [["a", "m1", "1/1"], ["a", "m2", "0/1"]]
    assert found["rows"][1]["object"]["metadata"]["annotations"] == {CACHED_FROM_CLUSTER: "m2"}


def test_clusters_that_show_a_kind_in_other_columns_fit_into_one_table() -> None:
    found = merge.lists(
        [("m1", table("Name Age", ("a", ["a", "1d"]))), ("m2", table("Name Data Age", ("b", ["b", 2, "2d"])))]
    )
    assert names(found) == ["Name", "Cluster", "Age", "Data"]
    assert [row["cells"] for row in found["rows"]] == [["a", "m1", "1d", None], ["b", "m2", "2d", 2]]


def test_a_list_beside_tables_becomes_rows() -> None:
    plain = {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [pod("b")]}
    found = merge.lists([("m1", plain), ("m2", table("Name Age", ("a", ["a", "1d"])))])
    assert [row["cells"] for row in found["rows"]] == [["b", "m1", None], ["a", "m2", "1d"]]


# -- kinds ------------------------------------------------------------------------------------------------------------


def group(name: str, *found: str) -> dict[str, Any]:
    listed = [{"groupVersion": f"{name}/{one}", "version": one} for one in found]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def test_groups_and_versions_of_all_clusters_are_there() -> None:
    one = {"kind": "APIGroupList", "apiVersion": "v1", "groups": [group("apps", "v1"), group("x.io", "v1beta1")]}
    two = {"kind": "APIGroupList", "apiVersion": "v1", "groups": [group("x.io", "v1", "v1beta1"), group("y.io", "v1")]}
    found = discovery.union([one, two])
    assert found is not None
    assert {each["name"]: [v["version"] for v in each["versions"]] for each in found["groups"]} == {
        "apps": ["v1"], "x.io": ["v1", "v1beta1"], "y.io": ["v1"],
    }  # fmt: skip
    assert found["groups"][1]["preferredVersion"]["version"] == "v1"


def test_resources_are_joined_with_their_verbs() -> None:
    def listed(*resources: tuple[str, list[str]]) -> dict[str, Any]:
        return {
            "kind": "APIResourceList",
            "groupVersion": "v1",
            "resources": [{"name": n, "verbs": v} for n, v in resources],
        }

    found = discovery.union([listed(("pods", ["get"])), listed(("pods", ["get", "list"]), ("nodes", ["get"]))])
    assert found is not None
    assert found["resources"] == [{"name": "pods", "verbs": ["get", "list"]}, {"name": "nodes", "verbs": ["get"]}]


def aggregated(*versions_of_x: str, resources: tuple[str, ...] = ("things",)) -> dict[str, Any]:
    listed = [
        {"version": one, "resources": [{"resource": name, "verbs": ["get"]} for name in resources]}
        for one in versions_of_x
    ]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {},
            "items": [{"metadata": {"name": "x.io"}, "versions": listed}]}  # fmt: skip


def test_aggregated_discovery_is_joined_at_every_level() -> None:
    found = discovery.union([aggregated("v1"), aggregated("v2", "v1", resources=("things", "others"))])
    assert found is not None
    assert [one["version"] for one in found["items"][0]["versions"]] == ["v2", "v1"]
    assert [one["resource"] for one in found["items"][0]["versions"][1]["resources"]] == ["things", "others"]


def test_answers_of_several_kinds_have_no_union() -> None:
    legacy = {"kind": "APIGroupList", "apiVersion": "v1", "groups": []}
    assert discovery.union([aggregated("v1"), legacy]) is None
    assert discovery.union([{"kind": "Pod", "apiVersion": "v1"}]) is None


VERSIONS = st.sampled_from(["v1", "v2", "v1beta1", "v1alpha1", "v2beta2", "odd"])


@given(st.lists(st.lists(VERSIONS, min_size=1, unique=True), min_size=1, max_size=4), st.randoms())
def test_the_union_has_what_any_cluster_has_whatever_the_order(found: list[list[str]], order: random.Random) -> None:
    def kinds(lists: list[list[str]]) -> set[str]:
        made = discovery.union([aggregated(*one) for one in lists])
        assert made is not None
        return {one["version"] for one in made["items"][0]["versions"]}

    shuffled = list(found)
    order.shuffle(shuffled)
    assert kinds(found) == kinds(shuffled) == {one for listed in found for one in listed}
