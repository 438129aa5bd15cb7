"""Each field of a policy through the life of an object: first roll-out, change, move, orphaning, deletion."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.reasons import reasons
from tests.e2e.shop import BASE, image, inventory
from tests.e2e.world import World, config_map, deployment, policy, settings

pytestmark = pytest.mark.e2e

MAP = (("v1", "ConfigMap"),)


def data(world: World, where: str, name: str = "conf") -> Any:
    body = world.get(where, "ConfigMap", "shop", name)
    return None if body is None else body.get("data")


def replicas(world: World, where: str) -> int | None:
    body = world.get(where, "Deployment", "shop", "web")
    return None if body is None else int(body["spec"]["replicas"])


def divided(**weights: int) -> str:
    division = {
        "replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
        "weightPreference": {"staticWeightList": [
            {"targetCluster": {"clusterNames": [name]}, "weight": weight} for name, weight in weights.items()]},
    }  # fmt: skip
    return policy("web", sorted(weights), placement={"replicaScheduling": division})


def theirs(world: World, where: str, name: str = "conf") -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    if not world.endpoints[where].answers("/api/v1/namespaces/shop"):
        world.ask(where, "POST", "/api/v1/namespaces", space)
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "shop"},
            "data": {"whose": "theirs"}}  # fmt: skip
    world.ask(where, "POST", world.path("ConfigMap", "shop"), body)


def test_suspension_of_some_clusters_stops_writes_and_repairs_there_but_no_deletion(world: World) -> None:
    held: dict[str, Any] = {"suspension": {"dispatchingOnClusters": {"clusterNames": ["m2"]}}}
    world.push({**BASE, "apps/conf.json": config_map("conf", {"v": "1"}),
                "policies/conf.json": policy("conf", ["m1", "m2"], MAP)})  # fmt: skip
    world.daemon()
    world.until(lambda: data(world, "m1") and data(world, "m2"), "conf everywhere")
    world.push({"policies/conf.json": policy("conf", ["m1", "m2"], MAP, **held),
                "apps/conf.json": config_map("conf", {"v": "2"})})  # fmt: skip
    world.until(lambda: data(world, "m1") == {"v": "2"}, "m1 goes on")
    assert reasons(world)["m2", "conf"] == ("skip", "suspended by its policy")
    assert data(world, "m2") == {"v": "1"}
    world.push({"policies/conf.json": policy("conf", ["m1", "m2"], MAP)})
    world.until(lambda: data(world, "m2") == {"v": "2"}, "m2 catches up")
    world.push({"policies/conf.json": policy("conf", ["m1", "m2"], MAP, suspension={"dispatching": True})})
    world.push({"apps/conf.json": None, "apps/marker.json": deployment("marker")})
    world.until(lambda: image(world, "marker", "m1"), "a later push")
    world.until(lambda: data(world, "m1") is None and data(world, "m2") is None, "its removal is no write")


def test_conflict_resolution_of_the_policy_and_of_one_object(world: World) -> None:
    for name in ("conf", "mine"):
        theirs(world, "m1", name)
    abort = {"annotations": {"work.karmada.io/conflict-resolution": "abort"}}
    world.push({**BASE, "apps/conf.json": config_map("conf", {"whose": "ours"}),
                "apps/mine.json": config_map("mine", {"whose": "ours"}, **abort),
                "policies/conf.json": policy("conf", ["m1"], MAP, conflictResolution="Overwrite")})  # fmt: skip
    world.daemon()
    world.until(lambda: data(world, "m1") == {"whose": "ours"}, "adopted by its policy")
    assert data(world, "m1", "mine") == {"whose": "theirs"}
    world.until(lambda: reasons(world).get(("m1", "mine"), ("", ""))[0] == "skip", "the other one is left alone")


def test_the_best_policy_wins_at_every_commit(world: World) -> None:
    lazy = {"activationPreference": "Lazy", "preemption": "Never"}
    world.push({**BASE, "apps/conf.json": config_map("conf", {"v": "1"}),
                "policies/conf.json": policy("conf", ["m1"], MAP, **lazy)})  # fmt: skip
    world.daemon()
    world.until(lambda: data(world, "m1"), "by the first policy")
    world.push({"policies/better.json": policy("better", ["m2"], MAP, priority=5)})
    world.until(lambda: data(world, "m2") and data(world, "m1") is None, "by the better one")
    said = world.gitfed("validate").stdout
    assert "activationPreference Lazy has no effect: a policy takes effect with its commit" in said
    world.push({"policies/better.json": None})
    world.until(lambda: data(world, "m1") and data(world, "m2") is None, "by the first one again")


def test_replicas_move_when_those_that_replace_them_run(world: World) -> None:
    world.push({**BASE, "apps/web.json": deployment("web", replicas=6), "policies/web.json": divided(m1=2, m2=1)})
    daemon = world.daemon()
    world.until(lambda: (replicas(world, "m1"), replicas(world, "m2")) == (4, 2), "4 and 2")
    for name in world.names:
        world.mark_available(name, "shop", "web")
    world.push(
        {"policies/web.json": divided(m1=1, m2=2), "apps/web.json": deployment("web", replicas=6, image="nginx:9")}
    )
    world.until(lambda: (replicas(world, "m2"), image(world, "web", "m1")) == (4, "nginx:9"), "m2 grows, m1 is updated")
    assert replicas(world, "m1") == 4
    world.mark_available("m1", "shop", "web")
    world.until(lambda: reasons(world).get(("m1", "web")) == ("skip", "move: stays at 4 until m2 runs 4"), "it is said")
    daemon.kill()
    world.daemon()
    world.mark_available("m2", "shop", "web")
    world.until(lambda: replicas(world, "m1") == 2, "m1 gives them up")


def test_a_job_is_divided_with_its_completions(world: World) -> None:
    body = {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job", "namespace": "shop"},
        "spec": {"parallelism": 3, "completions": 10, "template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}}},
    }  # fmt: skip
    made = json.loads(divided(m1=1, m2=2))
    made["metadata"]["name"], made["spec"]["resourceSelectors"] = "job", [{"apiVersion": "batch/v1", "kind": "Job"}]
    world.push({**BASE, "apps/job.json": json.dumps(body), "policies/job.json": json.dumps(made)})
    world.daemon()

    def numbers(where: str) -> tuple[int, int] | None:
        found = world.get(where, "Job", "shop", "job")
        return (found["spec"]["parallelism"], found["spec"]["completions"]) if found else None

    world.until(lambda: [numbers(name) for name in world.names] == [(1, 3), (2, 7)], "1 of 3 and 2 of 7")


def test_an_immutable_field_is_reported_and_replaced_only_where_that_is_allowed(world: World) -> None:
    def app(**annotations: str) -> str:
        made = json.loads(deployment("web", annotations=annotations))
        for part in (made["spec"]["selector"]["matchLabels"], made["spec"]["template"]["metadata"]["labels"]):
            part["tier"] = "x"
        return json.dumps(made)

    world.push(BASE)
    daemon = world.daemon()
    first = world.until(lambda: world.get("m1", "Deployment", "shop", "web"), "web in m1")
    world.push({"apps/web.json": app()})
    said = world.until(lambda: daemon.said("change failed"), "refused")
    assert "field is immutable" in said[0]["error"]
    same = world.get("m1", "Deployment", "shop", "web")
    assert same is not None
    assert same["metadata"]["uid"] == first["metadata"]["uid"]
    world.push({"apps/web.json": app(**{"gitfed.io/replace": "allowed"})})

    def replaced() -> bool:
        body = world.get("m1", "Deployment", "shop", "web")
        return body is not None and body["spec"]["selector"]["matchLabels"].get("tier") == "x"

    world.until(replaced, "deleted and created again")


def test_a_finalizer_that_never_clears_is_reported_and_the_entry_stays(world: World) -> None:
    world.push(
        {**BASE, "apps/conf.json": config_map("conf", {"v": "1"}), "policies/conf.json": policy("conf", ["m1"], MAP)}
    )
    daemon = world.daemon()
    world.until(lambda: data(world, "m1"), "conf in m1")
    path = world.path("ConfigMap", "shop", "conf")
    finalized = {"metadata": {"finalizers": ["example.com/held"]}}
    world.ask("m1", "PATCH", path, finalized, "application/merge-patch+json")
    world.push({"apps/conf.json": None, "apps/marker.json": deployment("marker")})
    world.until(lambda: image(world, "marker", "m1"), "everything else goes on")
    expected = ("keep", "being deleted, waits for example.com/held")
    world.until(lambda: reasons(world).get(("m1", "conf")) == expected, "the plan says who holds it")
    assert "conf" in inventory(world, "m1")
    daemon.kill()
    world.daemon()
    world.ask("m1", "PATCH", path, {"metadata": {"finalizers": None}}, "application/merge-patch+json")
    world.until(lambda: data(world, "m1") is None and "conf" not in inventory(world, "m1"), "gone, and its entry too")


def test_a_renamed_object_is_made_under_its_new_name_and_leaves_the_old_one(world: World) -> None:
    world.push({**BASE, "apps/conf.json": config_map("conf", {"v": "1"}),
                "policies/conf.json": policy("conf", ["m1", "m2"], MAP)})  # fmt: skip
    world.daemon()
    world.until(lambda: data(world, "m2"), "the old name")
    world.push({"apps/conf.json": config_map("settings", {"v": "1"})})
    world.until(lambda: data(world, "m2", "settings") and data(world, "m1", "settings"), "the new name")
    world.until(lambda: data(world, "m1") is None and data(world, "m2") is None, "the old one is gone")


def test_a_cluster_whose_file_is_removed_keeps_everything(world: World) -> None:
    world.push({**BASE, "gitfed.json": settings(guards={"maxDeletionPercent": 100})})
    world.daemon()
    world.until(lambda: image(world, "web", "m2"), "web in m2")
    world.until(
        lambda: world.state().get("state.yaml", "").count("outcome: applied") == 2, "what they hold is recorded"
    )
    before = inventory(world, "m2")
    world.push({"clusters/m2.json": None, "apps/web.json": deployment("web", image="nginx:1.28")})
    world.until(lambda: image(world, "web", "m1") == "nginx:1.28", "m1 goes on")
    world.push({"apps/web.json": None, "apps/marker.json": deployment("marker")})
    world.until(lambda: image(world, "marker", "m1") and image(world, "web", "m1") is None, "and on")
    assert image(world, "web", "m2") == "nginx:1.27"
    assert inventory(world, "m2") == before
    plan = world.gitfed(
        "plan", "--repo", str(world.bare), "--live", "--kubeconfig", str(world.kubeconfig), "-o", "json"
    )
    said = [one["message"] for one in json.loads(plan.stdout)["problems"]]
    assert any(message.startswith("cluster m2 is no longer declared") for message in said)
