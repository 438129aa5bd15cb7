"""What a review says is what an apply does; and commits are told how they fare."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from tests.e2e.world import World, cluster, config_map, deployment, policy, settings
from tests.edges.forge import servers

pytestmark = pytest.mark.e2e

KINDS = ("Deployment", "ConfigMap", "Secret", "Service")
MADE_BY_SERVER = {"kube-root-ca.crt"}


def test_statuses_follow_a_commit_until_it_is_everywhere(world: World) -> None:
    with servers.serving("github") as fake:
        world.environment["GITFED_FORGE_TOKEN"] = servers.TOKEN
        first = world.push(
            {
                "gitfed.yaml": settings(),
                "clusters.yaml": f"{cluster('m1')}\n---\n{cluster('m2')}",
                "policy.yaml": policy("all", ["m1", "m2"]),
                "web.yaml": deployment("web"),
            }
        )
        world.daemon("--forge", "github", "--forge-api", fake.api, "--forge-project", "acme/fleet")

        def state(commit: str, name: str) -> str:
            return str(fake.statuses.get((commit, name), {}).get("state", ""))

        # Nobody runs the pods yet.
        world.until(lambda: state(first, "gitfed/acme/cluster/m1") == "pending", "m1 is on its way")
        world.until(lambda: world.objects("m1", "Deployment", "shop"), "m1 has web")
        for name in world.names:
            world.until(lambda name=name: world.get(name, "Deployment", "shop", "web"), "the deployment")
            world.mark_available(name, "shop", "web")
        world.until(lambda: state(first, "gitfed/acme") == "success", "all is applied and healthy")
        assert {name for commit, name in fake.statuses if commit == first} == {
            "gitfed/acme", "gitfed/acme/cluster/m1", "gitfed/acme/cluster/m2",
        }  # fmt: skip
        described = fake.statuses[first, "gitfed/acme"]["description"]
        assert described == f"{first[:7]} is applied and healthy in 2 clusters"
        second = world.push({"web.yaml": deployment("web").replace('"main"', '"No_Name"')})
        world.until(lambda: state(second, "gitfed/acme") == "failure", "the servers refuse it")
        assert "1 change failed: Deployment.apps/shop/web" in fake.statuses[second, "gitfed/acme"]["description"]
        third = world.push({"web.yaml": "a: ["})
        world.until(lambda: state(third, "gitfed/acme") == "failure", "a file that cannot be read is no success")
        assert fake.statuses[third, "gitfed/acme"]["description"].startswith("1 error: web.yaml:")
        fourth = world.push({"gitfed.yaml": None})
        world.until(lambda: state(fourth, "gitfed/acme") == "failure", "nobody says whose fleet it is")
        assert fake.statuses[fourth, "gitfed/acme"]["description"].startswith("not applied: it has no Federation")
        assert state(first, "gitfed/acme") == "success"


def contents(world: World) -> dict[tuple[str, str, str], str]:
    """(cluster, kind, name) → resourceVersion, of everything in the namespace of the test."""
    found = {}
    for name in world.names:
        for kind in KINDS:
            for item in world.ask(name, "GET", world.path(kind, "shop"))["items"]:
                if item["metadata"]["name"] not in MADE_BY_SERVER:
                    found[name, kind, item["metadata"]["name"]] = item["metadata"]["resourceVersion"]
    return found


def settle(world: World) -> None:
    """Applied, healthy, and applied again until nothing is left to do: moves end when the new copy is healthy."""
    for _ in range(4):
        done = world.apply(check=False)
        if ": 0 writes." in done.stdout:
            return
        for cluster_name, kind, name in contents(world):
            if kind == "Deployment":
                world.mark_available(cluster_name, "shop", name)


def secret(name: str, value: str) -> str:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "shop"}}
    return json.dumps({**body, "stringData": {"password": value}})


def override(name: str, clusters: list[str], value: str) -> str:
    return json.dumps(
        {
            "apiVersion": "policy.karmada.io/v1alpha1", "kind": "OverridePolicy",
            "metadata": {"name": name, "namespace": "shop"},
            "spec": {
                "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}],
                "overrideRules": [{
                    "targetCluster": {"clusterNames": clusters},
                    "overriders": {"imageOverrider": [{"component": "Tag", "operator": "replace", "value": value}]},
                }],
            },
        }
    )  # fmt: skip


def weighted(first: int, second: int) -> dict[str, Any]:
    weights = [{"targetCluster": {"clusterNames": [name]}, "weight": weight}
               for name, weight in (("m1", first), ("m2", second)) if weight]  # fmt: skip
    return {
        "replicaScheduling": {
            "replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
            "weightPreference": {"staticWeightList": weights},
        }
    }  # fmt: skip


def change(chance: random.Random, files: dict[str, str]) -> dict[str, str | None]:
    """One to four random edits of a fleet repository."""
    edits: dict[str, str | None] = {}
    for _ in range(chance.randint(1, 4)):
        number = chance.randint(0, 3)
        match chance.randint(0, 9):
            case 0 | 1:
                image = f"nginx:1.{chance.randint(1, 9)}"
                edits[f"d{number}.yaml"] = deployment(f"d{number}", replicas=chance.randint(0, 5), image=image)
            case 2:
                edits[f"c{number}.yaml"] = config_map(f"c{number}", {"k": str(chance.randint(0, 9))})
            case 3:
                edits[f"s{number}.yaml"] = secret(f"s{number}", f"value-{chance.randint(0, 9)}")
            case 4 | 8 | 9 if files:
                gone = chance.choice(sorted(files))
                if gone[0] in "dcs":
                    edits[gone] = None
            case 5:
                first = chance.randint(0, 3)
                edits["policy.yaml"] = policy("web", None, placement=weighted(first, chance.randint(not first, 3)))
            case 6:
                where = chance.sample(world_names, chance.randint(1, 2))
                edits["rest.yaml"] = policy("rest", where, (("v1", "ConfigMap"), ("v1", "Secret")))
            case _:
                where = chance.sample(world_names, chance.randint(1, 2))
                edits["override.yaml"] = override("tags", where, f"9.{chance.randint(0, 9)}")
    return {name: text for name, text in edits.items() if text is not None or name in files}


world_names = ["m1", "m2"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_preview_equals_what_is_applied(world: World, seed: int) -> None:
    """Random changes: what `gitfed diff` says of two commits is what then happens in the clusters, object by object."""
    chance = random.Random(seed)
    guards = {"maxDeletions": 1000, "maxDeletionPercent": 100, "maxMovedReplicasPercent": 100}
    files = {
        "policy.yaml": policy("web", None, placement=weighted(2, 1)),
        "rest.yaml": policy("rest", ["m1", "m2"], (("v1", "ConfigMap"), ("v1", "Secret"))),
        "d0.yaml": deployment("d0", replicas=3),
        "c0.yaml": config_map("c0", {"k": "0"}),
        "s0.yaml": secret("s0", "value-0"),
    }
    clusters = f"{cluster('m1')}\n---\n{cluster('m2')}"
    world.push({"gitfed.yaml": settings(guards=guards), "clusters.yaml": clusters, **files})
    settle(world)
    seen = set()
    for _ in range(5):
        edits = change(chance, files)
        files = {**files, **{name: text for name, text in edits.items() if text is not None}}
        files = {name: text for name, text in files.items() if edits.get(name, "") is not None}
        world.push(edits)
        said = world.gitfed("diff", "--repo", str(world.bare), "main~1..main", "-o", "json", check=False)
        assert said.returncode in (0, 1), said.stderr
        before = contents(world)
        settle(world)
        after = contents(world)
        happened = {(*place, "create") for place in after.keys() - before.keys()}
        happened |= {(*place, "delete") for place in before.keys() - after.keys()}
        # Deployments also change when they become healthy: theirs are looked at field by field.
        review = json.loads(said.stdout)
        foretold = {
            (one["cluster"], one["kind"], one["name"], one["action"])
            for one in review["changes"] if one["kind"] in KINDS and one["action"] in ("create", "update", "delete")
        }  # fmt: skip
        updated = {place for place in foretold if place[3] == "update"}
        changed = {
            place
            for place in before.keys() & after.keys()
            if place[1] != "Deployment" and before[place] != after[place]
        }
        assert foretold - updated == happened
        assert {place[:3] for place in updated if place[1] != "Deployment"} == changed
        for item in review["manifests"]:
            if item["kind"] == "Deployment" and item["change"] == "changed":
                for name in item["clusters"]:
                    body = world.get(name, "Deployment", "shop", item["name"])
                    assert body is not None
                    container = body["spec"]["template"]["spec"]["containers"][0]
                    for line in item["diff"].splitlines():
                        if line.startswith("+  replicas: "):
                            assert body["spec"]["replicas"] == int(line.split(": ")[1])
                        if line.startswith("+") and "image: " in line:
                            assert container["image"] == line.split("image: ")[1].strip('"')
        for one in review["placement"]:
            for share in one["after"]:
                if one["resource"]["kind"] == "Deployment" and share["replicas"] is not None:
                    body = world.get(share["name"], "Deployment", "shop", one["resource"]["name"])
                    assert body is not None
                    assert body["spec"]["replicas"] == share["replicas"]
        seen |= {place[3] for place in foretold}
    assert seen == {"create", "update", "delete"}
