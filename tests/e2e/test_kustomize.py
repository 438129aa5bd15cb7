"""A folder that Kustomize builds reaches the clusters; one that it cannot build any more keeps what is there."""

from __future__ import annotations

import json

import pytest

from tests.e2e.shop import BASE, image
from tests.e2e.world import World, config_map, deployment
from tests.support import needs

pytestmark = pytest.mark.e2e


@pytest.fixture
def world(world: World) -> World:
    kubectl = needs.path_of("kubectl")
    world.environment["PATH"] = f"{kubectl.parent}:{world.environment['PATH']}"
    return world


def overlay(tag: str) -> str:
    return json.dumps(
        {
            "namePrefix": "prod-",
            "resources": ["../base"],
            "images": [{"name": "nginx", "newTag": tag}],
        }
    )


FILES = {
    **{path: text for path, text in BASE.items() if path != "apps/web.json"},
    "apps/base/kustomization.yaml": "resources: [web.json]\n",
    "apps/base/web.json": deployment("web"),
    "apps/prod/kustomization.yaml": overlay("1.28"),
}


def test_a_built_folder_is_applied_and_held_when_it_cannot_be_built_any_more(world: World) -> None:
    world.push(FILES)
    done = world.gitfed("plan", "-o", "name")
    assert "prod-web" in done.stdout
    daemon = world.daemon()
    world.until(lambda: image(world, "prod-web", "m1") == "nginx:1.28", "what was built")
    assert world.get("m1", "Deployment", "shop", "web") is None, "material is no template"
    world.push({"apps/prod/kustomization.yaml": overlay("1.29")})
    world.until(lambda: image(world, "prod-web", "m2") == "nginx:1.29", "the new build")
    world.until(lambda: "appliedCommit" in world.state().get("state.yaml", ""), "recorded")
    bad = json.dumps({"resources": ["../base", "https://example.com/x.yaml"]})
    world.push({"apps/prod/kustomization.yaml": bad, "apps/other.json": deployment("other")})
    world.until(lambda: image(world, "other", "m1"), "the rest of the commit is applied")
    said = world.until(lambda: daemon.said("problem"), "said so")
    assert "https://example.com/x.yaml is not a file of the repository" in said[0]["problem"]
    assert daemon.said("file held at its last good version")
    daemon.kill()
    daemon = world.daemon()
    world.push({"maps/a.json": config_map("a", {"a": "b"})})
    world.until(lambda: daemon.said("cycle finished"), "a cycle after the restart")
    world.ask("m1", "DELETE", world.path("Deployment", "shop", "prod-web"))
    world.until(lambda: image(world, "prod-web", "m1") == "nginx:1.29", "drift is repaired from the held build")
    world.push({"apps/prod/kustomization.yaml": overlay("1.30")})
    world.until(lambda: image(world, "prod-web", "m1") == "nginx:1.30", "healed")
    world.git("rm", "-rq", "apps/prod")
    world.push({})
    world.until(lambda: world.get("m1", "Deployment", "shop", "prod-web") is None, "what is no more built goes")
