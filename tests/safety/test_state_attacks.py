"""The same on a running daemon: what a push token without a key can do to the state branch, tried."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.e2e.shop import image
from tests.e2e.signed_shop import demanding, signs
from tests.e2e.world import World, config_map, policy
from tests.support import signing

pytestmark = pytest.mark.e2e


def forge(world: World, path: str, **members: object) -> str:
    """Push a change to the state branch without a signature; `members` of its spec, or of state.yaml."""
    world.git("fetch", "-q", "origin")
    world.git("checkout", "-q", "-B", "forged", "origin/gitfed/state")
    document = yaml.safe_load((world.work / path).read_text())
    document.get("spec", document).update(members)
    world.write({path: yaml.safe_dump(document)})
    world.git("commit", "-q", "-a", "--no-gpg-sign", "-m", "Decide for everybody [skip ci]")
    commit = world.git("rev-parse", "HEAD")
    world.until(lambda: _pushed(world), "pushed, although the daemon may write the branch in the same moment")
    world.git("checkout", "-q", "main")
    return commit


def _pushed(world: World) -> bool:
    try:
        world.git("push", "-q", "--force", "origin", "forged:gitfed/state")
    except subprocess.CalledProcessError:
        return False
    return True


def test_forged_evictions_and_approvals_on_the_state_branch_do_nothing(world: World, people: Path) -> None:
    ada = signing.with_ssh("ada", people)
    signs(world, ada)
    maps: dict[str, str | None] = {f"apps/c{n}.json": config_map(f"c{n}", {"a": "b"}) for n in range(4)}
    maps["policies/maps.json"] = policy("maps", ["m1"], (("v1", "ConfigMap"),))
    world.push({**demanding(ada, maxDeletions=1), **maps})
    daemon = world.daemon()
    world.until(lambda: image(world, "web", "m1") and image(world, "web", "m2"), "web in both clusters")
    world.until(lambda: "appliedCommit" in world.state().get("state.yaml", ""), "the commit recorded")
    before = world.versions("Deployment", "shop", "web")

    tasks = [{"fromCluster": name, "purgeMode": "Directly", "reason": "x", "producer": "x"} for name in world.names]
    evil = forge(world, "bindings/shop/web-Deployment.apps.yaml", clusters=[], gracefulEvictionTasks=tasks)
    told = "the state branch is not believed: what was pushed there is left out"
    said = world.until(lambda: daemon.said(told), "said so")
    assert said[0]["reason"] == f"{evil[:12]} is not signed"
    world.until(lambda: "gracefulEvictionTasks" not in str(world.state()), "and overwritten")

    gone = world.push({f"apps/c{n}.json": None for n in range(4)}, "All maps go")
    world.until(lambda: any(line["held"] for line in daemon.said("cycle finished")), "held by the gate")
    approval = {"digest": "x", "commit": gone, "allowed": {"deletions": 99, "deletion percent": 99}, "by": "mallory"}
    forge(world, "state.yaml", approvals=[{**approval, "at": "2026-01-01T00:00:00+00:00"}])
    world.until(lambda: len(daemon.said(told)) == 2, "said so")
    world.until(lambda: "mallory" not in str(world.state()), "and overwritten")
    assert len([name for name in world.objects("m1", "ConfigMap", "shop") if re.fullmatch(r"c\d", name)]) == 4
    assert world.versions("Deployment", "shop", "web") == before

    world.git("config", "--unset", "user.signingKey")
    refused = world.gitfed("suspend", "cluster/m1", check=False)
    assert refused.returncode == 4
    assert "an order must be signed here, and git names no key of yours" in refused.stderr
    signs(world, ada)
    world.gitfed("suspend", "cluster/m1", "--reason", "maintenance")
    world.push({"apps/c9.json": config_map("c9", {"a": "b"})})
    world.until(lambda: "suspended" in str(daemon.lines()) or world.gitfed("get", "bindings"), "planned")
    world.until(lambda: "maintenance" in world.state().get("state.yaml", ""), "the order stands")
    assert "c9" not in world.objects("m1", "ConfigMap", "shop")
