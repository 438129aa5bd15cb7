"""Two who declare one field: named, and resolved as the policy or the object says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.shop import BASE, image
from tests.e2e.world import World, deployment, policy

pytestmark = pytest.mark.e2e


def declare(world: World, where: str, manager: str, **spec: Any) -> None:
    """Another deployer applies a part of web, and does not ask."""
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"},
            "spec": spec}  # fmt: skip
    path = world.path("Deployment", "shop", "web") + f"?fieldManager={manager}&force=true"
    world.ask(where, "PATCH", path, body, "application/apply-patch+yaml")


def replicas(world: World, where: str) -> int:
    body = world.get(where, "Deployment", "shop", "web")
    return int(body["spec"]["replicas"]) if body is not None else -1


def said(world: World) -> list[tuple[str, str, str]]:
    done = world.gitfed("plan", "--repo", str(world.bare), "--live", "--kubeconfig", str(world.kubeconfig),
                        "-o", "json")  # fmt: skip
    return [(c["cluster"], c["action"], c["reason"]) for c in json.loads(done.stdout)["changes"] if c["name"] == "web"]


def settle(world: World, files: dict[str, str]) -> Any:
    world.push({**BASE, **files})
    daemon = world.daemon()
    world.until(lambda: image(world, "web", "m1") and image(world, "web", "m2"), "web everywhere")
    world.until(lambda: world.state().get("state.yaml", "").count("outcome: applied") == 2, "recorded")
    return daemon


def test_abort_leaves_a_field_to_who_else_declares_it_and_writes_the_rest(world: World) -> None:
    daemon = settle(world, {})
    declare(world, "m1", "other-deployer", replicas=5)
    complaint = world.until(lambda: daemon.said("binding not applied"), "it is said")[0]
    assert 'm1: conflict with "other-deployer": /spec/replicas' in complaint["error"]
    conflict = (
        'conflict with "other-deployer": /spec/replicas (conflictResolution Abort leaves it, Overwrite takes it over)'
    )
    assert said(world) == [("m1", "skip", conflict)]
    world.push({"apps/web.json": deployment("web", image="nginx:1.28", replicas=3)})
    world.until(lambda: {image(world, "web", "m1"), image(world, "web", "m2")} == {"nginx:1.28"}, "the rest is written")
    assert replicas(world, "m2") == 3
    assert replicas(world, "m1") == 5


@pytest.mark.parametrize("way", ["policy", "annotation"])
def test_overwrite_takes_the_field_over_and_says_from_whom(world: World, way: str) -> None:
    if way == "policy":
        files = {"policies/all.json": policy("all", ["m1", "m2"], conflictResolution="Overwrite")}
    else:
        files = {"apps/web.json": deployment("web", annotations={"work.karmada.io/conflict-resolution": "overwrite"})}
    daemon = settle(world, files)
    declare(world, "m1", "other-deployer", replicas=5)
    world.until(lambda: replicas(world, "m1") == 2, "taken over")

    def reasons() -> list[str]:
        return [line.get("reason", "") for line in daemon.said("object configured")]

    world.until(lambda: "changed by other-deployer" in reasons(), "the log says from whom")


def test_what_was_left_is_ours_again_when_the_other_gives_it_up(world: World) -> None:
    settle(world, {})
    declare(world, "m1", "other-deployer", replicas=5)
    world.until(lambda: [action for _, action, _ in said(world)] == ["skip"], "left alone")
    declare(world, "m1", "other-deployer")
    world.until(lambda: replicas(world, "m1") == 2, "ours again")


def test_a_commit_changes_what_both_wanted_alike(world: World) -> None:
    settle(world, {})
    declare(world, "m1", "the-one-before", replicas=2)
    world.push({"apps/web.json": deployment("web", replicas=3)})
    world.until(lambda: replicas(world, "m1") == 3, "the deployer before us does not hold it back")


def test_what_was_left_to_others_is_left_too_when_a_policy_takes_an_orphan_up_again(world: World) -> None:
    settle(world, {})
    declare(world, "m1", "other-deployer", replicas=5)
    world.until(lambda: [action for _, action, _ in said(world)] == ["skip"], "left alone")
    orphaned = world.push({"policies/web.json": None})
    world.until(lambda: world.state()["state.yaml"].count(orphaned) == 3, "nothing places it any more")
    again = {
        "apps/web.json": deployment("web", image="nginx:1.28", replicas=3),
        "policies/web.json": BASE["policies/web.json"],
    }
    world.push(again)
    world.until(lambda: {image(world, "web", "m1"), image(world, "web", "m2")} == {"nginx:1.28"}, "the rest is written")
    assert (replicas(world, "m1"), replicas(world, "m2")) == (5, 3)


def test_a_job_that_was_there_is_taken_over_and_is_no_difference_any_more(world: World) -> None:
    """Its generated selector goes along with what is sent, and is recorded as ours. Karmada creates a Job with an empty
    one, so that it is the owner of what the server fills in."""
    pods = {"spec": {"containers": [{"name": "c", "image": "busybox"}], "restartPolicy": "Never"}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once", "namespace": "shop"},
           "spec": {"template": pods}}  # fmt: skip
    space = {"metadata": {"name": "shop"}}
    world.ask("m1", "POST", "/api/v1/namespaces", space)
    theirs = {**job, "spec": {"selector": {}, "template": pods}}
    made = world.ask("m1", "POST", world.path("Job", "shop") + "?fieldManager=karmada-controller-manager", theirs)
    rule = policy("jobs", ["m1"], (("batch/v1", "Job"),), conflictResolution="Overwrite")
    world.push({**BASE, "job.json": json.dumps(job), "policies/jobs.json": rule})
    world.apply()
    found = world.get("m1", "Job", "shop", "once")
    assert found is not None
    assert found["metadata"]["uid"] == made["metadata"]["uid"]
    assert "gitfed.io/binding" in found["metadata"]["labels"]
    assert found["spec"]["selector"] == made["spec"]["selector"]
    left = json.loads(
        world.gitfed("plan", "--repo", str(world.bare), "--live", "--kubeconfig", str(world.kubeconfig),
                     "-o", "json").stdout
    )["changes"]  # fmt: skip
    assert [one["action"] for one in left if one["kind"] == "Job"] in ([], ["noop"])
