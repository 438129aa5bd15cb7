"""Orders to a running daemon through the state branch: let through what gates hold, look anew, place anew."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.shop import BASE, image
from tests.e2e.signed_shop import demanding, signs
from tests.e2e.world import World, cluster, config_map, deployment, policy, settings
from tests.support import signing

pytestmark = pytest.mark.e2e

MAPS: dict[str, str | None] = {f"apps/c{n}.json": config_map(f"c{n}", {"k": "v"}) for n in range(4)}
ALL_MAPS = policy("all", ["m1"], (("v1", "ConfigMap"),))


@pytest.fixture
def people(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "people"
    folder.mkdir()
    yield folder
    signing.end_agents(folder)


def left(world: World) -> list[str]:
    return [name for name in world.objects("m1", "ConfigMap", "shop") if re.fullmatch(r"c\d", name)]


def waits(world: World) -> dict[str, Any] | None:
    """What the state branch says that gates hold."""
    found = yaml.safe_load(world.state().get("state.yaml", "{}")).get("gates")
    return dict(found) if found else None


def rolled_out(world: World) -> None:
    """The newest commit is applied in every cluster, as the daemon wrote it down."""
    head = world.git("rev-parse", "HEAD")

    def everywhere() -> bool:
        state = yaml.safe_load(world.state().get("state.yaml", "{}"))
        found = state.get("clusters", {}).values()
        done = all((one.get("commit"), one.get("outcome")) == (head, "applied") for one in found)
        return state.get("appliedCommit") == head and done

    world.until(everywhere, f"{head[:12]} is applied everywhere")


def tip(world: World) -> str:
    command = ["git", "-C", str(world.bare), "rev-parse", "gitfed/state"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_a_held_deletion_is_approved_by_an_approver_and_carried_out(world: World, people: Path) -> None:
    ada, bob = signing.with_ssh("ada", people), signing.with_ssh("bob", people)
    signs(world, ada)
    world.push({**demanding(ada, maxDeletions=1, maxDeletionPercent=100), **MAPS, "policies/all.json": ALL_MAPS})
    daemon = world.daemon()
    rolled_out(world)
    done = world.gitfed("approve", "deletions", check=False)
    assert (done.returncode, "no gate holds anything" in done.stderr) == (2, True), done.stderr

    gone = world.push(dict.fromkeys(MAPS), "All maps go")
    held = world.until(lambda: waits(world), "what is held is written down")
    shown = world.gitfed("plan", "--live", "--kubeconfig", str(world.kubeconfig), "-o", "json", check=False)
    digest = json.loads(shown.stdout)["digest"]
    gates = [{"name": "deletions", "limit": "1", "value": "4", "changes": 4}]
    assert held == {"commit": gone, "digest": digest, "held": gates}

    before = tip(world)
    for what, why in (
        ("deadbeefcafe", f"deadbeefcafe is not what waits: gates hold changes of the plan {digest[:12]}"),
        ("history", "no gate 'history' holds anything"),
    ):
        done = world.gitfed("approve", what, check=False)
        assert (done.returncode, why in done.stderr) == (2, True), done.stderr
    signs(world, bob)
    done = world.gitfed("approve", digest, check=False)
    assert done.returncode == 3, done.stderr
    assert re.search(
        r"this order would not count: it is signed with the key SHA256:\S+, which is not trusted", done.stderr
    )
    assert tip(world) == before, "nothing of that was written"
    signs(world, ada)

    done = world.gitfed("approve", digest[:12], "--wait")
    assert done.stdout.splitlines() == [
        f"Approved of the plan {digest[:12]} for {gone[:7]}:", "  deletions 4/1: 4 changes", "Carried out.",
    ]  # fmt: skip
    assert left(world) == []
    assert waits(world) is None
    assert [line["allowed"] for line in daemon.said("approved")] == ["deletions=4"]
    log = world.gitfed("log", "--repo", str(world.bare)).stdout
    assert f"Approve deletions at {gone[:12]}" in log
    assert "approved by " in log
    events = world.gitfed("get", "events", "--repo", str(world.bare)).stdout
    assert re.search(r"ChangesApproved +Federation\S*/acme +.*let through by \S+: deletions \(4\)", events), events


def test_who_names_one_gate_opens_no_other_one(world: World) -> None:
    strict = settings(guards={"maxDeletions": 1, "maxDeletionPercent": 100, "maxClustersTouched": 1})
    both = policy("all", ["m1", "m2"], (("v1", "ConfigMap"),))
    loose = settings(guards={"maxDeletions": 1, "maxDeletionPercent": 100})
    world.push({**BASE, "gitfed.json": loose, **MAPS, "policies/all.json": both})
    world.daemon()
    rolled_out(world)
    world.push({"gitfed.json": strict})
    rolled_out(world)
    world.push(dict.fromkeys(MAPS))
    held = world.until(lambda: waits(world), "held")
    assert [gate["name"] for gate in held["held"]] == ["deletions", "clusters touched"]
    world.gitfed("approve", "deletions", "--wait")
    held = world.until(lambda: waits(world), "the other one holds on")
    assert [gate["name"] for gate in held["held"]] == ["clusters touched"]
    assert len(left(world)) == 4
    done = world.gitfed("approve", "clusters-touched", "--wait")
    assert "clusters touched 2/1: 8 changes" in done.stdout
    assert left(world) == []


def test_an_approval_of_a_plan_that_has_become_another_one_is_void(world: World) -> None:
    guards = settings(guards={"maxDeletions": 1, "maxDeletionPercent": 100})
    world.push({**BASE, "gitfed.json": guards, **MAPS, "policies/all.json": ALL_MAPS})
    daemon = world.daemon()
    rolled_out(world)
    world.push(dict.fromkeys(MAPS))
    world.until(lambda: waits(world), "held")
    daemon.stop()
    world.gitfed("approve", "deletions")
    world.push({"apps/web.json": None})
    again = world.daemon()
    world.until(lambda: again.said("an approval is void: what is held is another plan"), "said so")
    world.until(lambda: "approvals" not in world.state()["state.yaml"], "and dropped")
    assert len(left(world)) == 4
    assert image(world, "web", "m1") == "nginx:1.27"


def test_drift_that_is_left_alone_is_repaired_when_a_person_says_so(world: World) -> None:
    world.push({**BASE, "gitfed.json": settings(sync={"selfHeal": False}), "apps/other.json": deployment("other")})
    world.daemon()
    rolled_out(world)
    for name in ("web", "other"):
        world.ask("m1", "DELETE", world.path("Deployment", "shop", name))
    body = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "evil:1"}]}}}}
    world.ask("m2", "PATCH", world.path("Deployment", "shop", "web"), body, "application/strategic-merge-patch+json")
    world.until(lambda: image(world, "web", "m2") == "evil:1" and not image(world, "web", "m1"), "drift")
    done = world.gitfed("reconcile", "deploy/shop/web", "--wait")
    assert done.stdout.splitlines() == [
        "Deployment.apps/shop/web will be reconciled.", "Carried out.", "m1: applied", "m2: applied",
    ]  # fmt: skip
    assert (image(world, "web", "m1"), image(world, "web", "m2")) == ("nginx:1.27", "nginx:1.27")
    assert image(world, "other", "m1") is None, "nobody spoke of that one"
    assert "reconciliations" not in world.state()["state.yaml"]
    world.gitfed("reconcile", "cluster/m2", "--wait")
    assert image(world, "other", "m1") is None
    world.gitfed("reconcile", "--wait")
    assert image(world, "other", "m1") == "nginx:1.27"
    world.ask("m1", "DELETE", world.path("Deployment", "shop", "other"))
    world.gitfed("reconcile", "cluster/m2", "--wait")
    assert image(world, "other", "m1") is None, "the order for everything was carried out once, and is over"


def definition(most: int) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": {
        "type": "object", "properties": {"size": {"type": "integer", "maximum": most}}}}}  # fmt: skip
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "hats.example.org"},
        "spec": {"group": "example.org", "scope": "Namespaced",
                 "names": {"plural": "hats", "singular": "hat", "kind": "Hat", "listKind": "HatList"},
                 "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]},
    }  # fmt: skip


def test_what_a_server_refused_for_good_is_tried_again_when_a_person_says_so(world: World) -> None:
    for name in world.names:
        world.ask(name, "POST", world.path("CustomResourceDefinition", ""), definition(3))
    hat = {"apiVersion": "example.org/v1", "kind": "Hat", "metadata": {"name": "h", "namespace": "shop"},
           "spec": {"size": 5}}  # fmt: skip
    world.push({**BASE, "apps/hat.json": json.dumps(hat),
                "policies/hats.json": policy("hats", ["m1"], (("example.org/v1", "Hat"),))})  # fmt: skip
    daemon = world.daemon()
    world.until(lambda: daemon.said("change failed"), "refused")
    world.until(lambda: "failures: 1" in world.state().get("state.yaml", ""), "and written down")
    done = world.gitfed("reconcile", "--wait", check=False)
    assert (done.returncode, "m1: failed: 1 object refused or failed" in done.stdout) == (6, True), done.stdout
    path = world.path("CustomResourceDefinition", "", "hats.example.org")
    change = {"spec": {"versions": definition(9)["spec"]["versions"]}}
    world.ask("m1", "PATCH", path, change, "application/merge-patch+json")
    # A server takes a moment to go by a new definition.
    world.until(lambda: not world.gitfed("reconcile", "hat/shop/h", "--wait", check=False).returncode, "accepted")
    assert world.ask("m1", "GET", "/apis/example.org/v1/namespaces/shop/hats/h")["spec"] == {"size": 5}


def test_a_workload_is_placed_anew_when_a_person_says_so(world: World) -> None:
    divided = {"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}}
    world.push({"gitfed.json": settings(guards={"maxMovedReplicasPercent": 100}), "clusters/m1.json": cluster("m1"),
                "policies/web.json": policy("web", None, placement=divided),
                "apps/web.json": deployment("web", replicas=4)})  # fmt: skip
    world.daemon()
    rolled_out(world)
    world.push({"clusters/m2.json": cluster("m2")})
    rolled_out(world)
    assert image(world, "web", "m2") is None, "a divided workload stays where it is"
    done = world.gitfed("reschedule", "deploy/shop/web", "--wait")
    assert done.stdout.splitlines()[-2:] == ["Deployment.apps/shop/web → m1:2 m2:2", "Carried out."]
    world.until(lambda: image(world, "web", "m2"), "carried out")
