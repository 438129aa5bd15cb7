"""Commits are told how they fare."""

from __future__ import annotations

import pytest

from tests.e2e.world import World, cluster, deployment, policy, settings
from tests.edges.forge import servers

pytestmark = pytest.mark.e2e


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
