"""A mistake in one object on its way to real clusters."""

from __future__ import annotations

import json

from tests.e2e.world import World, cluster, config_map, deployment, policy, settings


def test_an_object_that_no_api_server_takes_stays_as_it_was_and_holds_no_other(world: World) -> None:
    both = (("apps/v1", "Deployment"), ("v1", "ConfigMap"))
    world.push(
        {
            "gitfed.json": settings(),
            "clusters/m1.json": cluster("m1"),
            "policies/all.json": policy("all", ["m1"], both),
            "apps/web.json": deployment("web", replicas=2),
            "apps/conf.json": config_map("conf", {"k": "v"}),
        }
    )
    world.apply()
    body = json.loads(deployment("web", replicas=5))
    body["spec"]["replica"] = body["spec"].pop("replicas")
    world.push({"apps/web.json": json.dumps(body), "apps/conf.json": config_map("conf", {"k": "new"})})
    done = world.apply(check=False)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "spec.replica: unknown field of DeploymentSpec (did you mean replicas?)" in done.stderr
    web, conf = world.get("m1", "Deployment", "shop", "web"), world.get("m1", "ConfigMap", "shop", "conf")
    assert web is not None
    assert web["spec"]["replicas"] == 2
    assert conf is not None
    assert conf["data"] == {"k": "new"}
    world.push({"apps/web.json": deployment("web", replicas=5)})
    world.apply()
    web = world.get("m1", "Deployment", "shop", "web")
    assert web is not None
    assert web["spec"]["replicas"] == 5
