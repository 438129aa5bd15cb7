"""Who decided what, when and why; and that the same inputs give the same bytes."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from tests.e2e.world import World, cluster, config_map, deployment, policy, settings

pytestmark = pytest.mark.e2e


def weighted(first: int, second: int) -> dict[str, Any]:
    weights = [{"targetCluster": {"clusterNames": [name]}, "weight": weight}
               for name, weight in (("m1", first), ("m2", second))]  # fmt: skip
    return {
        "replicaScheduling": {
            "replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
            "weightPreference": {"staticWeightList": weights},
        }
    }  # fmt: skip


def started(world: World) -> list[str]:
    """Three commits, each applied; their names."""
    files = {
        "gitfed.yaml": settings(),
        "clusters.yaml": f"{cluster('m1')}\n---\n{cluster('m2')}",
        "web.yaml": deployment("web", replicas=3),
        "policy.yaml": policy("web", None, placement=weighted(2, 1)),
    }
    commits = [world.push(files, "A fleet")]
    world.apply()
    commits.append(world.push({"web.yaml": deployment("web", replicas=6)}, "More web"))
    world.apply()
    more = policy("rest", ["m1"], (("v1", "ConfigMap"),))
    commits.append(world.push({"c.yaml": config_map("c", {"a": "b"}), "rest.yaml": more}, "A map"))
    world.apply()
    return commits


def ask(world: World, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    command, *rest = arguments
    return world.gitfed(command, "--repo", str(world.bare), *rest, check=check)


def test_the_log_says_what_was_decided_and_blame_since_when(world: World) -> None:
    first, second, third = started(world)
    text = ask(world, "log").stdout
    assert f"Decide for {second[:7]} More web (Test)\n" in text
    assert "    Deployment.apps/shop/web → m1:4 m2:2 (" in text
    entries = json.loads(ask(world, "log", "deploy/shop/web", "-o", "json").stdout)["entries"]
    decided = [one["source"] for one in entries if one["what"].startswith("Decide")]
    assert decided == [second, first], "the third commit did not concern it"
    document = json.loads(ask(world, "blame", "deploy/shop/web", "-o", "json").stdout)
    by_cluster = {one["name"]: one for one in document["clusters"]}
    assert by_cluster["m1"]["replicas"] == 4
    assert by_cluster["m1"]["before"] == 2
    assert by_cluster["m1"]["entry"]["source"] == second
    blamed = ask(world, "blame", "deploy/shop/web", "--cluster", "m2").stdout
    assert blamed.startswith("shop/Deploy/web\n  m2  1 → 2  since ")
    assert f"    commit    {second[:7]} More web (Test)\n" in blamed
    assert "    because   m1:4 m2:2 (" in blamed
    assert json.loads(ask(world, "blame", "cm/shop/c", "-o", "json").stdout)["clusters"][0]["entry"]["source"] == third


def test_what_is_gone_is_told_of_by_its_name(world: World) -> None:
    """Eight objects: the log of one shows what was decided for it, not the first five in the alphabet."""
    maps = {f"a{number}.yaml": config_map(f"a{number}", {"a": "b"}) for number in range(7)}
    world.push({"gitfed.yaml": settings(), "clusters.yaml": cluster("m1"), "web.yaml": deployment("web", image="web:1"),
                "all.yaml": policy("all", ["m1"], (("apps/v1", "Deployment"), ("v1", "ConfigMap"))),
                **maps})  # fmt: skip
    world.apply()
    second = world.push({"web.yaml": deployment("web", image="web:2")}, "Two")
    world.apply()
    decided = ask(world, "log", "deploy/shop/web").stdout
    assert "    Deployment.apps/shop/web → m1:2 (every matching cluster by PropagationPolicy/shop/all)\n" in decided
    assert "    and 7 more of other objects (-o wide shows them)\n" in decided
    third = world.push({"web.yaml": None}, "None")
    world.apply()
    world.apply()  # the copy is gone, and so is what was decided for it
    assert not [path for path in world.state() if "web-Deployment" in path]
    assert "    Deployment.apps/shop/web → m1:2 (" in ask(world, "log", "deploy/shop/web").stdout
    blamed = ask(world, "blame", "deploy/shop/web").stdout
    assert blamed.startswith("shop/Deploy/web\n  gone from every cluster since ")
    assert json.loads(ask(world, "blame", "deploy/shop/web", "-o", "json").stdout)["gone"]["commit"]
    told = json.loads(ask(world, "get", "events", "deploy/shop/web", "-o", "json").stdout)["items"]
    assert [(one["reason"], one["message"]) for one in told if not one["reason"].startswith("S")] == [
        ("BindingRemoved", "gone from every cluster"),
        ("TemplateRemoved", f"{third[:7]} has it no more"),
        ("TemplateChanged", f"by {second[:7]}: main web:1 → web:2"),
    ]
    missing = ask(world, "log", "deploy/shop/wbe", check=False)
    assert missing.returncode == 2
    assert "no object 'deploy/shop/wbe'" in missing.stderr


def test_a_replay_of_every_decision_gives_the_same_bytes(world: World) -> None:
    commits = started(world)
    for commit in commits:
        done = ask(world, "replay", commit, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.startswith("The same bytes: ")
    once, twice = (ask(world, "replay", "-o", "json").stdout for _ in range(2))
    assert once == twice
    assert json.loads(once)["same"] is True
    # A decision that does not follow from its inputs is found out: here somebody wrote another one by hand.
    world.git("fetch", "-q", "origin", "gitfed/state")
    world.git("checkout", "-q", "-b", "state", "FETCH_HEAD")
    path = next(name for name in world.state() if "web-Deployment" in name)
    world.write({path: world.state()[path].replace("replicas: 4", "replicas: 5")})
    world.git("commit", "-qam", f"Decide for {commits[-1][:12]} [skip ci]\n\nFacts: assumed")
    world.git("push", "-q", "origin", "state:gitfed/state")
    told = ask(world, "replay", check=False)
    assert told.returncode == 1
    assert "1 of 2 decisions differs: " in told.stdout
    assert "-  - name: m1\n-    replicas: 5" in told.stdout or "-    replicas: 5\n" in told.stdout


def test_a_decision_from_live_objects_is_named_and_the_rest_is_replayed(world: World) -> None:
    """Two such decisions: a move that a gate holds, and a template that is gone while a copy of it is left."""
    base = {
        "gitfed.yaml": settings(), "clusters.yaml": f"{cluster('m1')}\n---\n{cluster('m2')}",
        "all.yaml": policy("all", ["m1", "m2"], (("v1", "ConfigMap"),)), "old.yaml": config_map("old", {"k": "v"}),
        "web.yaml": deployment("web", replicas=10),
        "policy.yaml": policy("web", None, placement=weighted(1, 9)),
    }  # fmt: skip
    world.push(base)
    world.apply()
    pushed = world.push({"policy.yaml": policy("web", None, placement=weighted(9, 1)), "old.yaml": None,
                         "new.yaml": config_map("new", {"k": "v"})})  # fmt: skip
    assert world.apply(check=False).returncode == 5
    told = ask(world, "replay", pushed, check=False)
    assert told.returncode == 0, told.stdout
    assert "bindings/shop/web-Deployment.apps.yaml: a gate held its move, as far as there were copies" in told.stdout
    found = json.loads(ask(world, "replay", pushed, "-o", "json").stdout)
    assert found["same"] is True
    assert "bindings/shop/web-Deployment.apps.yaml" in [one["path"] for one in found["notReplayed"]]
    assert "bindings/shop/new-ConfigMap.core.yaml" not in [one["path"] for one in found["notReplayed"]]


def test_without_a_state_branch_it_is_said_how_to_get_it(world: World) -> None:
    world.push({"gitfed.yaml": settings(), "clusters.yaml": cluster("m1")})
    for arguments, code in ((("log",), 0), (("replay",), 4)):
        done = ask(world, *arguments, check=False)
        assert (done.returncode, done.stdout) == (code, "")
        assert "nothing was decided yet: there is no branch gitfed/state" in done.stderr
        assert "gitfed apply or gitfed run decides, and writes it" in done.stderr
        done = world.gitfed(*arguments, "--repo", str(world.work), check=False)
        assert done.returncode == 4
        assert "nothing was decided yet: there is no branch gitfed/state, or it was not fetched\n" in done.stderr
        assert "hint: git fetch origin +gitfed/state:refs/remotes/origin/gitfed/state\n" in done.stderr
