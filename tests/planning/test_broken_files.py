"""A new file with errors holds what it may have meant: that stays as it is, and everything else goes on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gitfed.model.base import ObjectKey
from tests.e2e.world import cluster, config_map, deployment, policy
from tests.planning.stage import ONE, WEB, Stage

PAY = ObjectKey("apps", "Deployment", "pay", "web")
GONE = {"shop": ObjectKey("", "ConfigMap", "shop", "gone"), "pay": ObjectKey("", "ConfigMap", "pay", "gone")}
KINDS = (("apps/v1", "Deployment"), ("v1", "ConfigMap"))


def stage() -> Stage:
    """A workload and a ConfigMap in each of two namespaces, in one cluster of three."""
    files = {
        "web.json": deployment("web"), "gone.json": config_map("gone", {}),
        "policy.json": policy("web", None, KINDS, placement=ONE, failover={"cluster": {"purgeMode": "Directly"}}),
        "pay/web.json": deployment("web", namespace="pay"), "pay/gone.json": config_map("gone", {}, namespace="pay"),
        "pay/policy.json": policy("web", None, KINDS, namespace="pay", placement=ONE,
                                  failover={"cluster": {"purgeMode": "Directly"}}),
    }  # fmt: skip
    made = Stage(3, files)
    made.turn(2)
    made.may_be_broken = True
    return made


def broken(text: str, **spec: Any) -> str:
    """A document with a field that nobody knows."""
    document = json.loads(text)
    document["spec"] = {**document.get("spec", {}), "priorty": 1, **spec}
    return json.dumps(document)


def where(one: Stage, key: ObjectKey) -> list[str]:
    return [share.cluster for share in one.decisions.bindings[key].scheduled.shares]


def there(one: Stage, key: ObjectKey) -> bool:
    return bool(one.objects.get(key))


CLUSTER_WIDE = json.loads(policy("all", None, KINDS)) | {
    "kind": "ClusterPropagationPolicy",
    "metadata": {"name": "all"},
}


@pytest.mark.parametrize(
    ("text", "held"),
    [
        pytest.param(broken(policy("new", None)), {"shop"}, id="a policy of a namespace"),
        pytest.param(policy("new", None)[:-3], {"shop"}, id="a policy that is no JSON"),
        pytest.param(broken(json.dumps(CLUSTER_WIDE)), {"shop", "pay"}, id="a policy of all namespaces"),
        pytest.param(
            broken(json.dumps(CLUSTER_WIDE), resourceSelectors=[{"apiVersion": "v1", "kind": "ConfigMap",
                                                                 "namespace": "pay"}]),
            {"pay"}, id="a policy of some objects"),
        pytest.param(config_map("gone", {}).replace("{}", "[]}"), {"shop"}, id="a template that is no JSON"),
        pytest.param(broken(cluster("m9")), set(), id="a cluster"),
        pytest.param("a: [", set(), id="no object"),
    ],
)  # fmt: skip
def test_what_is_removed_beside_a_broken_file_is_deleted_elsewhere(text: str, held: set[str]) -> None:
    one = stage()
    for path in ("gone.json", "pay/gone.json"):
        del one.files[path]
    one.files["new.yaml"] = text
    one.turn(2)
    assert {space for space, key in GONE.items() if there(one, key)} == held
    del one.files["new.yaml"]
    one.turn(2)
    assert not any(there(one, key) for key in GONE.values())


def test_a_broken_policy_holds_its_namespace_and_evictions_elsewhere_go_on() -> None:
    one = stage()
    old = where(one, PAY)
    one.files["new.json"] = broken(policy("new", None))
    one.fail(*where(one, WEB), *old)
    one.at(30).turn(2)
    one.at(1000).turn(2)
    one.at(2000).turn(3)
    assert where(one, PAY) != old
    assert where(one, WEB) == old
    assert "new.json cannot be used, and may be about it" in "\n".join(one.problems())
    del one.files["new.json"]
    one.at(2010).turn(3)
    assert where(one, WEB) != old


def test_a_workload_whose_policy_moved_into_a_broken_file_stays_where_it_is() -> None:
    one = stage()
    old = where(one, WEB)
    rule = one.files.pop("policy.json")
    other = next(name for name in one.names if name not in old)
    one.files["moved.yaml"] = rule[:-2]
    fallback = json.loads(policy("x", [other], KINDS)) | {"kind": "ClusterPropagationPolicy", "metadata": {"name": "x"}}
    one.files["other.json"] = json.dumps(fallback)
    one.turn(3)
    assert where(one, WEB) == old
    one.files["moved.yaml"] = rule
    one.turn(3)
    assert where(one, WEB) == old


def test_a_workload_in_a_cluster_that_moved_into_a_broken_file_stays_there() -> None:
    one = stage()
    old = where(one, WEB)
    text = one.files.pop(f"clusters/{old[0]}.json")
    one.files["moved.json"] = broken(text)
    one.turn(3)
    assert where(one, WEB) == old


def test_nothing_is_written_where_an_override_may_be_missing() -> None:
    one = stage()
    rule = {"apiVersion": "policy.karmada.io/v1alpha1", "kind": "OverridePolicy",
            "metadata": {"name": "o", "namespace": "shop"}, "spec": {"overridRules": []}}  # fmt: skip
    one.files |= {
        "new.json": json.dumps(rule),
        "web.json": deployment("web", image="nginx:2"),
        "pay/web.json": deployment("web", image="nginx:2", namespace="pay"),
        "api.json": deployment("api"),
    }  # fmt: skip
    one.turn(2)

    def image(key: ObjectKey) -> str:
        return str(one.bodies[key, where(one, key)[0]]["spec"]["template"]["spec"]["containers"][0]["image"])

    assert (image(WEB), image(PAY)) == ("nginx:1.27", "nginx:2")
    assert not there(one, ObjectKey("apps", "Deployment", "shop", "api"))
    del one.files["new.json"]
    one.turn(2)
    assert image(WEB) == "nginx:2"


@pytest.mark.parametrize("member", ["apiVersion", "kind"])
def test_nothing_leaves_a_cluster_whose_file_is_no_object_any_more(member: str) -> None:
    one = Stage(2, {"config.json": config_map("config", {}), "all.json": policy("all", ["m1", "m2"], KINDS[1:])})
    one.turn(2)
    before = {key: sorted(copies) for key, copies in one.objects.items()}
    one.may_be_broken = True
    one.files["clusters/m2.json"] = json.dumps({**json.loads(one.files["clusters/m2.json"]), member: None})
    plan = one.turn(2)
    assert {key: sorted(copies) for key, copies in one.objects.items()} == before
    kept = {str(change.reason) for change in plan.changes or () if change.cluster == "m2"}
    assert kept == {"no file that can be used declares m2"}


def test_a_word_that_keeps_copies_is_taken_back_only_with_a_new_place() -> None:
    """Else a cluster that the template leaves once the file is mended would have lost it before, and the copy then."""
    kept = {"annotations": {"gitfed.io/prune": "disabled"}}
    one = Stage(
        2, {"config.json": config_map("config", {}, **kept), "all.json": policy("all", ["m1", "m2"], KINDS[1:])}
    )
    one.turn(2)
    key = ObjectKey("", "ConfigMap", "shop", "config")
    one.may_be_broken = True
    one.files["new.yaml"] = broken(policy("new", None))
    one.files["config.json"] = config_map("config", {"a": "b"})
    for _ in range(3):
        plan = one.turn()
        assert plan.bindings[key].held == "new.yaml cannot be used, and may be about it"
        assert one.decisions.bindings[key].ownership.kept
        assert [one.bodies[key, name]["metadata"].get("annotations") for name in ("m1", "m2")] == [
            kept["annotations"]
        ] * 2
    del one.files["new.yaml"]
    one.turn(2)
    assert not one.decisions.bindings[key].ownership.kept
    assert one.bodies[key, "m1"]["data"] == {"a": "b"}
