"""Orders of a person: suspend and resume, orphans deleted or adopted, protection from deletion."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from tests.e2e.reasons import reasons
from tests.e2e.shop import BASE, image
from tests.e2e.world import World, config_map, deployment, policy, settings

pytestmark = pytest.mark.e2e


def deployed(world: World, tag: str, *clusters: str) -> None:
    for name in clusters:
        world.until(lambda name=name: image(world, "web", name) == f"nginx:{tag}", f"{tag} in {name}")


def test_a_cluster_is_suspended_and_resumed(world: World) -> None:
    world.push({**BASE, "gitfed.json": settings(sync={"selfHeal": False})})
    daemon = world.daemon()
    deployed(world, "1.27", "m1", "m2")
    world.until(lambda: "appliedCommit" in world.state()["state.yaml"], "recorded")
    said = world.gitfed("suspend", "cluster/m2", "--reason", "maintenance", "--repo", str(world.bare)).stdout
    assert said.startswith("cluster/m2 is suspended by ")
    assert said.endswith(": maintenance.\n")
    # It looks, or a push of its own comes second.
    lines = "another client changed the state branch: reading it again", "the state moved: reading it again"
    world.until(lambda: any(map(daemon.said, lines)), "noticed")
    world.push({"apps/web.json": deployment("web", image="nginx:1.28")})
    deployed(world, "1.28", "m1")
    world.until(lambda: "unfinished" in world.state()["state.yaml"], "the roll-out is over without m2")
    assert image(world, "web", "m2") == "nginx:1.27"
    action, reason = reasons(world)["m2", "web"]
    assert (action, reason.startswith("suspended by "), reason.endswith(": maintenance")) == ("skip", True, True)
    daemon.kill()
    world.daemon()
    world.gitfed("resume", "cluster/m2", "--repo", str(world.bare))
    # Not taken for drift, which this federation leaves alone.
    deployed(world, "1.28", "m2")
    assert "suspensions" not in world.state()["state.yaml"]


def test_one_object_or_everything_is_suspended(world: World) -> None:
    world.push({**BASE, "apps/other.json": deployment("other")})
    world.daemon()
    deployed(world, "1.27", "m1", "m2")
    world.gitfed("suspend", "deploy/shop/web", "--repo", str(world.bare))
    world.push({"apps/web.json": None, "apps/other.json": deployment("other", image="nginx:1.28")})
    world.until(lambda: image(world, "other", "m2") == "nginx:1.28", "the other one goes on")
    assert image(world, "web", "m1") == "nginx:1.27"
    world.gitfed("suspend", "all", "--repo", str(world.bare))
    said = world.gitfed("resume", "deploy/shop/web", "--repo", str(world.bare)).stdout
    assert said.startswith("Deployment.apps/shop/web is resumed: it was suspended by "), "though its file is gone"
    world.until(lambda: reasons(world).get(("m1", "web"), ("", ""))[0] == "skip", "still suspended with all")
    world.gitfed("resume", "all", "--repo", str(world.bare))

    world.until(lambda: image(world, "web", "m1") is None, "its removal is carried out")
    done = world.gitfed("resume", "cluster/m1", "--repo", str(world.bare), check=False)
    assert done.returncode == 2
    assert "cluster/m1 is not suspended" in done.stderr


def test_suspended_scheduling_keeps_clusters_and_replicas(world: World) -> None:
    world.push(BASE)
    world.daemon()
    deployed(world, "1.27", "m1", "m2")
    world.gitfed("suspend", "deploy/shop/web", "--scheduling", "--repo", str(world.bare))
    world.push({"policies/web.json": policy("web", ["m1"]), "apps/web.json": deployment("web", image="nginx:1.28")})
    deployed(world, "1.28", "m1", "m2")
    world.gitfed("resume", "deploy/shop/web", "--repo", str(world.bare))
    world.mark_available("m1", "shop", "web")
    world.until(lambda: image(world, "web", "m2") is None, "now it is decided")


def test_an_order_needs_a_state_branch(world: World) -> None:
    world.push(BASE)
    done = world.gitfed("suspend", "all", "--repo", str(world.bare), check=False)
    assert done.returncode == 4
    assert "there is no branch gitfed/state to write an order to" in done.stderr


def test_a_branch_that_tells_of_no_decision_takes_no_order(world: World) -> None:
    world.push(BASE)
    git = ("git", "-C", str(world.bare))
    subprocess.run([*git, "update-ref", "refs/heads/gitfed/state", "HEAD"], check=True)
    done = world.gitfed("suspend", "all", "--repo", str(world.bare), check=False)
    assert done.returncode == 4
    assert "nothing was decided, as far as gitfed/state tells: no order is written to it" in done.stderr


def test_a_checkout_gives_orders_through_its_origin(world: World) -> None:
    world.push(BASE)
    world.daemon()
    deployed(world, "1.27", "m1", "m2")
    world.gitfed("suspend", "cluster/m1")
    world.until(lambda: "of: cluster/m1" in world.state()["state.yaml"], "written where the daemon reads")
    assert "gitfed/state" not in world.git("branch", "--list", "gitfed/state")


def test_an_orphan_is_deleted_or_adopted_when_a_person_says_so(world: World) -> None:
    world.push({**BASE, "apps/other.json": deployment("other")})
    world.daemon()
    deployed(world, "1.27", "m1", "m2")
    world.until(lambda: image(world, "other", "m2"), "the other one")
    world.push({"policies/web.json": None})
    live = ("--live", "--kubeconfig", str(world.kubeconfig), "--repo", str(world.bare))

    def listed() -> list[str]:
        every = world.gitfed("get", "orphans", "-o", "name", *live[1:]).stdout.split()
        return [name for name in every if "Deployment" in name]

    every = [f"{where}/Deployment.apps/shop/{name}" for where in ("m1", "m2") for name in ("other", "web")]
    world.until(lambda: sorted(listed()) == every, "four orphans")
    adopted = world.gitfed("orphans", "adopt", "Deployment.apps/shop/other", *live).stdout
    world.gitfed("orphans", "delete", "m1/Deployment.apps/shop/web", *live)
    world.until(lambda: image(world, "web", "m1") is None, "the orphan in m1 is gone")
    assert image(world, "web", "m2") == "nginx:1.27"
    world.push({"policies/adopted.yaml": adopted})
    world.until(lambda: listed() == ["m2/Deployment.apps/shop/web"], "one orphan left")
    world.push({"apps/other.json": deployment("other", image="nginx:1.28")})
    world.until(lambda: image(world, "other", "m2") == "nginx:1.28", "the adopted one follows again")
    world.until(lambda: "removals" not in world.state()["state.yaml"], "the order is carried out and forgotten")
    done = world.gitfed("orphans", "delete", "Deployment.apps/shop/none", *live, check=False)
    assert done.returncode == 2


def test_what_is_protected_from_deletion_stays_and_still_moves(world: World) -> None:
    labels = {"resourcetemplate.karmada.io/deletion-protected": "Always"}
    both: dict[str, Any] = {"policies/c.json": policy("c", ["m1", "m2"], (("v1", "ConfigMap"),))}
    world.push({**BASE, **both, "apps/conf.json": config_map("conf", {"a": "1"}, labels=labels)})
    world.daemon()
    world.until(lambda: world.get("m2", "ConfigMap", "shop", "conf"), "conf in m2")
    world.push({"policies/c.json": policy("c", ["m1"], (("v1", "ConfigMap"),))})
    world.until(lambda: world.get("m2", "ConfigMap", "shop", "conf") is None, "it moved")
    world.push({"apps/conf.json": None, "apps/marker.json": deployment("marker")})
    world.until(lambda: image(world, "marker", "m1"), "a later push")
    assert world.get("m1", "ConfigMap", "shop", "conf") is not None
    expected = ("keep", "label resourcetemplate.karmada.io/deletion-protected: Always")
    assert reasons(world)["m1", "conf"] == expected


def test_what_is_preserved_outlives_its_template_and_its_policy(world: World) -> None:
    keeping = policy("c", ["m1", "m2"], (("v1", "ConfigMap"),), preserveResourcesOnDeletion=True)
    world.push({**BASE, "policies/c.json": keeping, "apps/conf.json": config_map("conf", {"a": "1"})})
    daemon = world.daemon()
    world.until(lambda: world.get("m2", "ConfigMap", "shop", "conf"), "conf in m2")
    world.push({"policies/c.json": None, "apps/conf.json": None, "apps/marker.json": deployment("marker")})
    world.until(lambda: image(world, "marker", "m1"), "a later push")
    # The policy and the template are gone, and so may be the process that read them.
    daemon.kill()
    world.daemon()
    world.push({"apps/marker.json": deployment("marker", image="nginx:1.28")})
    world.until(lambda: image(world, "marker", "m2") == "nginx:1.28", "one more push")
    assert reasons(world)["m2", "conf"] == ("keep", "preserveResourcesOnDeletion")
    assert world.get("m1", "ConfigMap", "shop", "conf") is not None


def test_a_policy_waits_for_the_override_that_it_depends_on(world: World) -> None:
    override = json.dumps({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "OverridePolicy",
        "metadata": {"name": "mirror", "namespace": "shop"},
        "spec": {"overrideRules": [{"overriders": {"imageOverrider": [
            {"component": "Tag", "operator": "replace", "value": "1.28"}]}}]},
    })  # fmt: skip
    world.push({**BASE, "policies/web.json": policy("web", ["m1", "m2"], dependentOverrides=["mirror"])})
    world.daemon()
    world.until(lambda: "appliedCommit" in world.state().get("state.yaml", ""), "a cycle")
    assert image(world, "web", "m1") is None
    world.push({"policies/override.json": override})
    deployed(world, "1.28", "m1", "m2")
    # Without it again, what is there stays as it is.
    world.push({"policies/override.json": None, "apps/web.json": deployment("web", replicas=3)})
    expected = ("skip", "PropagationPolicy/shop/web waits for the OverridePolicy mirror, which does not exist")
    world.until(lambda: reasons(world).get(("m1", "web")) == expected, "it waits")
    assert image(world, "web", "m1") == "nginx:1.28"
