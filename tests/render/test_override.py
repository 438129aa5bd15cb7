"""Override policies: selection, order, classes of clusters, failures (Karmada: policies §4.1-4.7)."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.model.base import Origin
from gitfed.model.decisions import PolicyRef
from gitfed.model.declared.policy import Override
from gitfed.model.plan import Edit
from gitfed.placement.scheduling.cluster import Candidate
from gitfed.render import override

BODY: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}},
    "spec": {
        "template": {
            "spec": {
                "initContainers": [{"name": "app", "image": "busybox"}],
                "containers": [{"name": "app", "image": "r.io/web:1", "args": ["-v", "-v", "--port=80"]}],
            }
        }
    },
}
CONTAINER = "/spec/template/spec/containers/0"
M1, M2 = Candidate("m1", {"env": "prod"}), Candidate("m2", {"env": "test"})
DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment"}


def policy(name: str, *rules: dict[str, Any], wide: bool = False, selectors: Any = None, **spec: Any) -> Override:
    return Override.read(
        {
            "apiVersion": "policy.karmada.io/v1alpha1",
            "kind": "ClusterOverridePolicy" if wide else "OverridePolicy",
            "metadata": {"name": name} if wide else {"name": name, "namespace": "shop"},
            "spec": {
                **({} if selectors is None else {"resourceSelectors": [{**DEPLOYMENT, **item} for item in selectors]}),
                **({"overrideRules": list(rules)} if rules else {}),
                **spec,
            },
        }
    ).at(Origin(f"{name}.yaml", 3))


def rule(target: dict[str, Any] | None = None, **overriders: Any) -> dict[str, Any]:
    return {**({} if target is None else {"targetCluster": target}), "overriders": overriders}


def labelled(key: str, value: str = "x") -> dict[str, Any]:
    return {"labelsOverrider": [{"operator": "add", "value": {key: value}}]}


def applied(*policies: Override, cluster: Candidate = M1) -> list[str]:
    return [ref.name for ref in override.Overrides(policies).apply(BODY, cluster).applied]


def test_precision_then_name_decide_who_writes_last() -> None:
    label = [{"labelSelector": {"matchLabels": {"app": "web"}}}]
    policies = [
        policy("z-all", rule()),
        policy("m-kind", rule(), selectors=[{}]),
        policy("b-lbl", rule(), selectors=label),
        policy("a-name", rule(), selectors=[{"name": "web"}]),
        policy("c-name", rule(), selectors=[{"name": "web"}]),
    ]
    assert applied(*policies) == ["m-kind", "z-all", "b-lbl", "a-name", "c-name"]


def test_cluster_wide_policies_come_first_and_can_select_for_namespaced_ones() -> None:
    seen = [{"labelSelector": {"matchLabels": {"new": "x"}}}]
    policies = [
        policy("zz", rule(**labelled("new")), wide=True),
        policy("also-wide", rule(), wide=True, selectors=seen),
        policy("aa", rule(), selectors=seen),
    ]
    assert applied(*policies) == ["zz", "aa"]


def test_policies_of_other_namespaces_have_no_say() -> None:
    other = Override.read(
        {
            "apiVersion": "policy.karmada.io/v1alpha1",
            "kind": "OverridePolicy",
            "metadata": {"name": "x", "namespace": "bank"},
            "spec": {"overrideRules": [rule(**labelled("a"))]},
        }
    )
    assert applied(other) == []


def test_rules_apply_where_their_target_matches() -> None:
    both = policy(
        "p",
        rule({"labelSelector": {"matchLabels": {"env": "prod"}}}, **labelled("a")),
        rule({"clusterNames": ["m2"]}, **labelled("b")),
        rule(None, **labelled("c")),
    )
    assert applied(both) == ["p", "p"]
    index = override.Overrides([both])
    assert index.apply(BODY, M1).body["metadata"]["labels"].keys() == {"app", "a", "c"}
    assert index.apply(BODY, M2).body["metadata"]["labels"].keys() == {"app", "b", "c"}


def test_the_older_form_counts_without_rules() -> None:
    old = policy("old", targetCluster={"clusterNames": ["m1"]}, overriders=labelled("a"))
    assert applied(old) == ["old"]
    assert applied(old, cluster=M2) == []


def test_overriders_of_a_rule_have_a_fixed_order() -> None:
    everything = policy(
        "p",
        rule(
            plaintext=[{"path": f"{CONTAINER}/image", "operator": "replace", "value": "last"}],
            imageOverrider=[{"component": "Tag", "operator": "replace", "value": "2"}],
            argsOverrider=[{"containerName": "app", "operator": "remove", "value": ["-v"]}],
            commandOverrider=[{"containerName": "app", "operator": "add", "value": ["sh"]}],
        ),
    )
    result = override.Overrides([everything]).apply(BODY, M1)
    container = result.body["spec"]["template"]["spec"]["containers"][0]
    assert container == {"name": "app", "image": "last", "args": ["--port=80"], "command": ["sh"]}
    assert [edit.what for edit in result.edits] == ["imageOverrider", "commandOverrider", "argsOverrider", "plaintext"]
    assert result.edits[0] == Edit("OverridePolicy/shop/p", Origin("p.yaml", 3), "imageOverrider")


def test_init_containers_are_left_alone_unless_named_by_a_predicate() -> None:
    tag = {"component": "Tag", "operator": "replace", "value": "2"}
    path = "/spec/template/spec/initContainers/0/image"
    plain = override.Overrides([policy("p", rule(imageOverrider=[tag]))]).apply(BODY, M1).body
    named = override.Overrides([policy("p", rule(imageOverrider=[{**tag, "predicate": {"path": path}}]))])
    assert plain["spec"]["template"]["spec"]["initContainers"][0]["image"] == "busybox"
    assert named.apply(BODY, M1).body["spec"]["template"]["spec"]["initContainers"][0]["image"] == "busybox:2"


def test_a_rule_that_changes_nothing_is_in_force_but_no_edit() -> None:
    same = policy("p", rule(labelsOverrider=[{"operator": "replace", "value": {"nope": "z"}}]))
    result = override.Overrides([same]).apply(BODY, M1)
    assert result.body is BODY
    assert result.edits == ()
    assert [ref.name for ref in result.applied] == ["p"]


@pytest.mark.parametrize(
    ("overriders", "message", "pointer"),
    [
        (
            {"plaintext": [{"path": "/spec/x", "operator": "remove"}]},
            "cannot remove /spec/x: /spec/x does not exist",
            "/spec/x",
        ),
        (
            {"plaintext": [{"path": "", "operator": "replace", "value": 1}]},
            "the object was replaced by something else",
            "",
        ),
        (
            {"plaintext": [{"path": "/metadata/name", "operator": "replace", "value": "x"}]},
            "an override cannot change which object it is (Deployment.apps/shop/web)",
            "",
        ),
        (
            {"plaintext": [{"path": "/metadata/labels", "operator": "replace", "value": []}]},
            "an override cannot make /metadata/labels something else than a map",
            "/metadata/labels",
        ),
        (
            {"plaintext": [{"path": "/kind", "operator": "remove"}]},
            "an override cannot change which object it is (Deployment.apps/shop/web)",
            "",
        ),
        (
            {"fieldOverrider": [{"fieldPath": "/data/x", "json": [{"subPath": "/a", "operator": "add", "value": 1}]}]},
            "/data/x: /data does not exist",
            "/data/x",
        ),
        (
            {
                "fieldOverrider": [
                    {"fieldPath": "/metadata/name", "json": [{"subPath": "/a", "operator": "add", "value": 1}]}
                ]
            },
            "/metadata/name: the text is no JSON: Expecting value: line 1 column 1 (char 0)",
            "/metadata/name",
        ),
        (
            {
                "imageOverrider": [
                    {"predicate": {"path": f"{CONTAINER}/args/0"}, "component": "Tag", "operator": "remove"}
                ]
            },
            f"{CONTAINER}/args/0 is no text member of an object",
            f"{CONTAINER}/args/0",
        ),
        (
            {
                "imageOverrider": [
                    {"component": "Repository", "operator": "replace", "value": "Bad"},
                    {"component": "Tag", "operator": "remove"},
                ]
            },
            f"{CONTAINER}/image: 'r.io/Bad:1' is no image reference",
            f"{CONTAINER}/image",
        ),
    ],
)
def test_a_rule_that_fails_names_policy_reason_and_place(
    overriders: dict[str, Any], message: str, pointer: str
) -> None:
    with pytest.raises(override.OverrideError) as caught:
        override.Overrides([policy("p", rule(**overriders))]).apply(BODY, M1)
    assert caught.value.message == message
    assert str(caught.value) == f"OverridePolicy/shop/p: {message}"
    assert caught.value.pointer == pointer
    assert caught.value.policy == PolicyRef("OverridePolicy", "shop", "p")


def test_words_are_added_to_a_list_and_to_nothing_else() -> None:
    odd = rule(plaintext=[{"path": f"{CONTAINER}/args", "operator": "replace", "value": 5}])
    add = rule(argsOverrider=[{"containerName": "app", "operator": "add", "value": ["-v"]}])
    with pytest.raises(override.OverrideError, match=f"{CONTAINER}/args is no list"):
        override.Overrides([policy("p", odd, add)]).apply(BODY, M1)


def test_a_failure_stays_in_its_clusters() -> None:
    bad = policy(
        "p", rule({"clusterNames": ["m2"]}, plaintext=[{"path": "/x", "operator": "remove"}]), rule(**labelled("a"))
    )
    good, failed = override.Overrides([bad]).classes(BODY, [M1, M2])
    assert (good.clusters, good.error) == (("m1",), None)
    assert failed.clusters == ("m2",)
    assert failed.error is not None


def test_clusters_with_equal_rules_share_one_manifest() -> None:
    fleet = [Candidate(f"c{index}", {"n": str(index % 2)}) for index in range(6)]
    odd = policy("p", rule({"labelSelector": {"matchLabels": {"n": "1"}}}, **labelled("odd")))
    classes = override.Overrides([odd]).classes(BODY, fleet)
    assert [item.clusters for item in classes] == [("c0", "c2", "c4"), ("c1", "c3", "c5")]
    assert classes[0].body is BODY


def test_the_key_of_a_cluster_is_the_rules_that_hit_it() -> None:
    one = policy("p", rule({"clusterNames": ["m1"]}, **labelled("a")), rule(**labelled("b")))
    index = override.Overrides([one])
    rules = index.plan_rules(BODY, cluster_wide=False)
    ref = PolicyRef("OverridePolicy", "shop", "p")
    assert override.rule_key(rules, M1) == ((ref, 0), (ref, 1))
    assert override.rule_key(rules, M2) == ((ref, 1),)
    assert index.origin(ref) == Origin("p.yaml", 3)


def test_the_answer_for_a_changed_cluster_is_not_remembered() -> None:
    prod = policy("p", rule({"labelSelector": {"matchLabels": {"env": "prod"}}}, **labelled("a")))
    index = override.Overrides([prod])
    assert len(index.apply(BODY, M1).applied) == 1
    assert len(index.apply(BODY, Candidate("m1", {"env": "test"})).applied) == 0


def test_the_template_is_never_changed() -> None:
    before = copy.deepcopy(BODY)
    edits = policy("p", rule(plaintext=[{"path": f"{CONTAINER}/args/-1", "operator": "remove"}], **labelled("a")))
    override.Overrides([edits]).apply(BODY, M1)
    assert before == BODY


POLICIES = [
    policy("a", rule(**labelled("k", "a"))),
    policy("b", rule({"clusterNames": ["m1"]}, **labelled("k", "b"))),
    policy("c", rule(**labelled("k", "c")), wide=True),
    policy("d", rule({"clusterNames": ["m2"]}, **labelled("k", "d")), selectors=[{"name": "web"}]),
]


@given(st.permutations(POLICIES), st.permutations([M1, M2, Candidate("m3")]))
def test_the_order_of_policies_and_clusters_never_matters(policies: list[Override], fleet: list[Candidate]) -> None:
    assert override.Overrides(policies).classes(BODY, fleet) == override.Overrides(POLICIES).classes(
        BODY, [M1, M2, Candidate("m3")]
    )


@given(st.permutations(POLICIES))
def test_classes_say_what_single_clusters_say(policies: list[Override]) -> None:
    index = override.Overrides(policies)
    for item in index.classes(BODY, [M1, M2]):
        for name in item.clusters:
            single = index.apply(BODY, {"m1": M1, "m2": M2}[name])
            assert (single.body, single.applied) == (item.body, item.applied)
