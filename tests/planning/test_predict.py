"""What a review foretells of clusters that nobody looks at: each of these a random preview once got wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import orjson
import pytest

from gitfed.model.decisions import Decisions
from gitfed.model.fleet import ClusterLive
from gitfed.model.operator_orders import Suspension
from gitfed.model.plan import Action
from gitfed.offline import inputs
from gitfed.planning.ordering import gate
from gitfed.planning.review import review as reviewing
from tests.e2e.world import cluster, config_map, deployment, policy
from tests.planning.dependants import Story, kept, workload
from tests.planning.tree import INTERPRETER, NOW, WEB, decided, empty, plan_of, read, settled

ONE = {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]}
ORPHAN = "orphaned: no policy selects its template any more"
NO_POLICY = {"web.json": WEB["web.json"]}
SUSPENDED = {**WEB, "p.json": policy("p", ["a"], suspension={"dispatching": True})}


def foreseen(
    before: Mapping[str, str], after: Mapping[str, str], past: Decisions | None = None
) -> list[tuple[str, str, str, str]]:
    """(action, cluster, name, reason) of what a merge of `after` into `before` would do."""
    past = past or Decisions(repository_id="r")
    base_repo, head_repo = read(before), read(after, "2")
    base = plan_of(base_repo, decisions=past)
    between = inputs.after(base, past)
    head = replace(plan_of(head_repo, decisions=between), base=base_repo.commit)
    found = reviewing.review(base_repo, head_repo, base, head, between, INTERPRETER)
    return [(one.action.value, one.cluster, one.key.name, str(one.reason)) for one in found.changes]


def recorded(files: dict[str, str], after: dict[str, str]) -> Decisions:
    """What stands on the state branch when first the one and then the other was rolled out."""
    live, decisions = settled(files)
    return decided(plan_of(read(after), live, decisions), decisions)


def test_an_orphan_goes_with_its_template() -> None:
    assert foreseen(NO_POLICY, {}, recorded(WEB, NO_POLICY)) == [
        ("delete", "a", "shop", "removed from the repository, once it is empty"),
        ("delete", "a", "web", "removed from the repository"),
    ]


def test_an_orphan_that_a_policy_selects_again_is_there_already() -> None:
    taken = foreseen(NO_POLICY, {**NO_POLICY, "p.json": policy("p", ["a", "b"])}, recorded(WEB, NO_POLICY))
    assert [one for one in taken if one[2] == "web"] == [
        ("update", "a", "web", "left by an earlier commit: updated where it differs"),
        ("create", "b", "web", ""),
    ]
    assert [one[:3] for one in taken if one[2] == "shop"] == [("update", "a", "shop"), ("create", "b", "shop")]


def test_an_orphan_that_stays_one_is_no_news() -> None:
    assert foreseen(NO_POLICY, {"web.json": deployment("web", replicas=7)}, recorded(WEB, NO_POLICY)) == []


def test_the_end_of_a_suspension_writes_what_waited() -> None:
    assert foreseen(SUSPENDED, WEB) == [("update", "a", "web", "suspension ended: applied where it differs")]
    assert foreseen(WEB, SUSPENDED) == []


def test_what_a_suspended_policy_left_alone_may_not_be_there_to_be_deleted() -> None:
    gone = foreseen(SUSPENDED, {"p.json": SUSPENDED["p.json"]})
    assert gone[-1] == (
        "delete", "a", "web", "removed from the repository (if it exists; its policy suspends it at present)",
    )  # fmt: skip


def test_a_limit_that_counts_what_may_not_be_there_says_so() -> None:
    none = orjson.dumps({"apiVersion": "gitfed.io/v1alpha1", "kind": "Federation", "metadata": {"name": "acme"},
                         "spec": {"guards": {"maxDeletions": 0}}}).decode()  # fmt: skip
    rule = {"p.json": SUSPENDED["p.json"], "gitfed.json": none}
    assert foreseen({**SUSPENDED, **rule}, rule)[-1] == (
        "skip", "a", "web", "gate deletions: 2 of at most 0 (if it exists; its policy suspends it at present)",
    )  # fmt: skip


def test_what_a_person_suspended_is_skipped() -> None:
    order = Suspension("cluster/a", "me", NOW)
    past = replace(Decisions(repository_id="r"), suspensions=(order,))
    (change,) = foreseen(WEB, {**WEB, "web.json": deployment("web", replicas=7)}, past)
    assert change == ("skip", "a", "web", str(order))


def test_a_copy_that_its_label_protects_stays() -> None:
    labels = {"resourcetemplate.karmada.io/deletion-protected": "Always"}
    before = {**WEB, "web.json": deployment("web", labels=labels)}
    assert ("keep", "a", "web", f"label {next(iter(labels))}: Always") in foreseen(before, {"p.json": WEB["p.json"]})


def test_a_namespace_stays_for_what_outlived_its_template() -> None:
    """`web` goes; the orphan `left` was left in the same namespace by an earlier commit, and stays."""
    maps = policy("maps", ["a"], (("v1", "ConfigMap"),))
    left = config_map("left", {})
    base = {**WEB, "left.json": left}
    past = recorded({**base, "maps.json": maps}, base)
    assert foreseen(base, {"p.json": WEB["p.json"], "left.json": left}, past) == [
        ("keep", "a", "shop", "stays until ConfigMap/shop/left has left it"),
        ("delete", "a", "web", "removed from the repository"),
    ]


def test_what_a_policy_preserved_is_there_when_its_template_comes_back() -> None:
    keeping = {**WEB, "p.json": policy("p", ["a"], preserveResourcesOnDeletion=True)}
    rule = {"p.json": keeping["p.json"]}
    back = foreseen(rule, keeping, recorded(keeping, rule))
    assert [one for one in back if one[2] == "web"] == [
        ("update", "a", "web", "left by an earlier commit: updated where it differs")
    ]


def test_deletions_in_a_cluster_that_cannot_be_read_count_for_the_limit() -> None:
    """Else a limit could be passed piece by piece: first where clusters answer, then where they answer again."""
    everywhere = {"p.json": policy("p", ["a", "b", "c"], (("v1", "ConfigMap"),)), "c.json": config_map("c", {})}
    guards = orjson.dumps({"apiVersion": "gitfed.io/v1alpha1", "kind": "Federation", "metadata": {"name": "acme"},
                           "spec": {"guards": {"maxDeletions": 2}}}).decode()  # fmt: skip
    live, decisions = settled({**everywhere, "gitfed.json": guards})
    later = read({"p.json": everywhere["p.json"], "gitfed.json": guards}, "2")
    for unread, value in (((), "3"), (("c",), "3"), (("b", "c"), "3")):
        clusters = {**empty().clusters, **{name: ClusterLive(name, inventory_read=False) for name in unread}}
        plan = plan_of(later, replace(live, clusters=clusters), decisions)
        held = gate.holding(plan.gates)
        assert [(one.name, one.value, one.held) for one in held] == [("deletions", value, 3 - len(unread))]
        assert not [one for one in plan.changes or () if one.action is Action.DELETE and one.key.name == "c"]


def test_namespaces_in_clusters_that_cannot_be_read_count_too() -> None:
    """They go everywhere, so no decision names their clusters."""
    space = {"apiVersion": "v1", "kind": "Namespace"}
    spaces = {f"{name}.json": orjson.dumps({**space, "metadata": {"name": name}}).decode()
              for name in ("one", "two")}  # fmt: skip
    live, decisions = settled(spaces)
    clusters = {**empty().clusters, "b": ClusterLive("b", inventory_read=False)}
    plan = plan_of(read({}, "2"), replace(live, clusters=clusters), decisions)
    assert next(one.value for one in plan.gates if one.name == "deletions") == "6"


def test_an_evicted_copy_goes_once_its_replacement_is_healthy() -> None:
    """The head taints a cluster, and its copy moves: the review shows where that ends."""
    rule = {"web.json": WEB["web.json"], "p.json": policy("p", None, placement=ONE)}
    (first,) = [one[1] for one in foreseen({"p.json": rule["p.json"]}, rule) if one[2] == "web"]
    path = f"clusters/{first}.json"
    tainted = cluster(first, region=first, taints=[{"key": "drain", "value": "now", "effect": "NoExecute"}])
    moved = [one for one in foreseen(rule, {**rule, path: tainted}) if one[2] == "web"]
    assert [(one[0], one[1] == first, one[3]) for one in moved] == [
        ("create", False, ""),
        ("delete", True, "evicted, once its replacement is healthy"),
    ]


def test_what_is_preserved_stays_where_it_was_evicted_too() -> None:
    keeping = policy("p", None, placement=ONE, preserveResourcesOnDeletion=True)
    rule = {"web.json": WEB["web.json"], "p.json": keeping}
    (first,) = [one[1] for one in foreseen({"p.json": keeping}, rule) if one[2] == "web"]
    tainted = cluster(first, region=first, taints=[{"key": "drain", "value": "now", "effect": "NoExecute"}])
    moved = [one for one in foreseen(rule, {**rule, f"clusters/{first}.json": tainted}) if one[2] == "web"]
    assert [(one[0], one[1] == first, one[3]) for one in moved] == [
        ("create", False, "unless it is there: its copies stay where it leaves"),
        ("keep", True, "preserveResourcesOnDeletion"),
    ]


def test_what_an_orphan_needs_stays_with_it_and_goes_with_it() -> None:
    """The Deployment stays as it was, and must not lose its configuration."""
    taking = {"web.json": workload("web", "c"), "c.json": config_map("c", {}),
              "p.json": policy("p", ["a"], propagateDeps=True)}  # fmt: skip
    orphaned = {name: text for name, text in taking.items() if name != "p.json"}
    needs = "Deployment.apps/shop/web still needs it here"
    assert foreseen(taking, orphaned) == [
        ("keep", "a", "c", needs),
        ("keep", "a", "shop", "stays until ConfigMap/shop/c has left it"),
        ("keep", "a", "web", ORPHAN),
    ]
    past = recorded(taking, orphaned)
    assert foreseen(orphaned, {**orphaned, "maps.json": policy("maps", ["b"], (("v1", "ConfigMap"),))}, past) == [
        ("create", "b", "c", ""),
        ("create", "b", "shop", "unless it is there already"),
    ]
    assert [one[:3] for one in foreseen(orphaned, {"c.json": taking["c.json"]}, past)] == [
        ("delete", "a", "c"), ("delete", "a", "shop"), ("delete", "a", "web"),
    ]  # fmt: skip
    back = foreseen(orphaned, taking, past)
    assert [one[:3] for one in back] == [("update", "a", "c"), ("update", "a", "shop"), ("update", "a", "web")]


def test_what_means_the_same_is_not_written() -> None:
    def web(ports: list[dict[str, object]], cpu: object, **spec: object) -> dict[str, str]:
        made = orjson.loads(WEB["web.json"])
        pods = made["spec"]["template"]["spec"]
        pods["containers"][0] |= {"ports": ports, "resources": {"requests": {"cpu": cpu}}}
        return {**WEB, "web.json": orjson.dumps({**made, "spec": {**made["spec"], **spec}}).decode()}

    one, other = {"containerPort": 80}, {"containerPort": 443}
    before = web([one, other], "1000m")
    assert foreseen(before, web([other, one], 1)) == []
    assert foreseen(before, web([one], 1)) == [("update", "a", "web", "")]
    assert foreseen(before, web([one, other], "1001m")) == [("update", "a", "web", "")]
    assert foreseen(before, web([one, other], "1", paused=False)) == [("update", "a", "web", "")]
    assert foreseen(web([one], 1, paused=True), web([one], 1)) == [("update", "a", "web", "")]


def test_what_belongs_to_the_cluster_is_not_written() -> None:
    free = {"gitfed.io/ignore-differences": "/spec/replicas"}
    before, after = ({**WEB, "web.json": deployment("web", replicas=number, annotations=free)} for number in (2, 3))
    assert foreseen(before, after) == []


@pytest.mark.parametrize(
    ("template", "rule", "guards", "action", "reason"),
    [
        ({"annotations": {"gitfed.io/prune": "disabled"}}, {}, {}, "keep", "annotation gitfed.io/prune: disabled"),
        ({}, {"preserveResourcesOnDeletion": True}, {}, "keep", "preserveResourcesOnDeletion"),
        (
            {"labels": {"resourcetemplate.karmada.io/deletion-protected": "Always"}}, {}, {}, "keep",
            "label resourcetemplate.karmada.io/deletion-protected: Always",
        ),
        ({}, {}, {"maxDeletions": 0}, "skip", "gate deletions: 1 of at most 0"),
        ({}, {}, {}, "delete", "removed from the repository"),
    ],
)  # fmt: skip
def test_what_a_workload_takes_along_stays_where_the_workload_does(
    template: dict[str, object], rule: dict[str, object], guards: dict[str, object], action: str, reason: str
) -> None:
    """A namespace that is declared, so that it stays: only the workload and its configuration are in question."""
    made = orjson.loads(workload("web", "c"))
    made["metadata"] |= template
    space = orjson.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}).decode()
    limits = orjson.dumps({"apiVersion": "gitfed.io/v1alpha1", "kind": "Federation", "metadata": {"name": "acme"},
                           "spec": {"guards": guards}}).decode()  # fmt: skip
    after = {"c.json": config_map("c", {}), "p.json": policy("p", ["a"], propagateDeps=True, **rule),
             "shop.json": space, "gitfed.json": limits}  # fmt: skip
    before = {**after, "web.json": orjson.dumps(made).decode()}
    assert foreseen(before, after, recorded(before, before)) == [
        ("delete", "a", "c", "nothing needs it any more") if action == "delete"
        else ("keep", "a", "c", "Deployment.apps/shop/web still needs it here"),
        ("delete" if action == "delete" else action, "a", "web", reason),
    ]  # fmt: skip


def test_a_copy_that_was_left_when_its_template_was_protected_outlives_it() -> None:
    """It never got the annotation: the template left its cluster in that very commit."""
    rules = {name: policy("p", [name], (("v1", "ConfigMap"),)) for name in "ab"}
    story = Story({"c.json": config_map("c", {}), "p.json": rules["a"]})
    said = "annotation gitfed.io/prune: disabled"
    story.push(c=config_map("c", {}, annotations={"gitfed.io/prune": "disabled"}), p=rules["b"])
    assert kept(story.turn(), "c") == [("a", said)]
    before = dict(story.files)
    story.push(c=None)
    assert kept(story.turn(), "c") == kept(story.turn(), "c") == [("a", said), ("b", said)]
    assert ("keep", "b", "c", said) in foreseen(before, story.files)  # where else it is Git does not tell


def test_what_a_copy_needs_that_waits_for_a_suspended_one_stays_with_it() -> None:
    """`web` was to move from a to b, where it is suspended: it runs in a until somebody ends that."""
    held = {"suspension": {"dispatchingOnClusters": {"clusterNames": ["b"]}}}
    rule = policy("p", ["b"], propagateDeps=True, **held)
    maps = {name: policy("maps", [name], (("v1", "ConfigMap"),)) for name in "ac"}
    story = Story({"web.json": workload("web", "c"), "c.json": config_map("c", {}), "maps.json": maps["a"],
                   "p.json": policy("p", ["a"], propagateDeps=True)})  # fmt: skip
    story.push(p=rule)
    story.turn()
    before = dict(story.files)
    told = foreseen(before, {**before, "maps.json": maps["c"]}, story.decisions)
    story.push(maps=maps["c"])
    needs = "Deployment.apps/shop/web still needs it here"
    assert kept(story.turn(), "c") == [("a", needs)]
    assert [one for one in told if one[1:3] == ("a", "c")] == [("keep", "a", "c", needs)]
