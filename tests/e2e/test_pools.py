"""A pool of agents beside the hub: its members share push clusters, and who dies is replaced."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clusters.faulty import Faulty
from tests.e2e import worlds
from tests.e2e.pool import Pool, cluster
from tests.e2e.through_door import Kubectl
from tests.e2e.world import World, config_map, deployment, policy, settings
from tests.support import needs

pytestmark = [pytest.mark.e2e, pytest.mark.slow, needs.pushed("it brings its agents along")]


@pytest.fixture
def pool(world: World) -> Iterator[Pool]:
    with contextlib.closing(Pool(world)) as made:
        yield made


def test_a_member_killed_in_a_roll_out_is_replaced_and_all_is_applied_once(
    world: World, faulty: Faulty, pool: Pool
) -> None:
    until = world.until
    daemon = pool.daemon()
    world.push(
        {
            "gitfed.json": settings(), "clusters/m1.yaml": cluster("m1"), "clusters/m2.yaml": cluster("m2"),
            "policy.json": policy("all", ["m1", "m2"], (("v1", "ConfigMap"), ("apps/v1", "Deployment"))),
            "web.json": deployment("web", replicas=1), "one.json": config_map("one", {"n": "1"}),
        }
    )  # fmt: skip
    until(lambda: (world.data / "hub" / "ca.crt").exists(), "the hub has an authority")
    until(lambda: daemon.said("cycle finished"), "the hub has read the repository")
    pool.register()
    pool.member(), pool.member()
    until(lambda: len(set(map(id, pool.holders().values()))) == 2, "each member holds one of the clusters")
    for name in ("m1", "m2"):
        until(lambda name=name: world.get(name, "ConfigMap", "shop", "one"), f"it is applied in {name}")
    uids = {name: world.get(name, "Deployment", "shop", "web")["metadata"]["uid"] for name in ("m1", "m2")}  # type: ignore[index]

    faulty.tell("m2", lambda f: f.cut(verb="patch", resource="configmaps", namespace="shop"))
    world.push({"two.json": config_map("two", {"n": "2"}), "web.json": deployment("web", replicas=3)})
    until(lambda: world.get("m2", "ConfigMap", "shop", "two"), "it is stored in m2, and the member has no answer")
    two = world.get("m2", "ConfigMap", "shop", "two")
    victim = pool.holders()["m2"]
    survivor = next(one for one in pool.members if one is not victim)
    victim.kill()
    faulty.tell("m2", lambda f: f.clear())
    until(lambda: pool.holders().get("m2") is survivor, "the other one takes it over")
    until(lambda: "outcome: applied" in world.state().get("state.yaml", ""), "the roll-out is over")
    for name in ("m1", "m2"):
        until(lambda name=name: world.get(name, "Deployment", "shop", "web")["spec"]["replicas"] == 3, "all is there")  # type: ignore[index]
        web = world.get(name, "Deployment", "shop", "web")
        assert web is not None
        assert (web["metadata"]["uid"], web["metadata"]["generation"]) == (uids[name], 2)
    again = world.get("m2", "ConfigMap", "shop", "two")
    assert two is not None
    assert again is not None
    assert again["metadata"]["uid"] == two["metadata"]["uid"]

    third = pool.member()
    until(lambda: third in pool.holders().values(), "who comes gets its share")
    assert survivor.stop() == 0
    until(lambda: set(pool.holders().values()) == {third}, "and who goes gives its own back")
    world.push({"three.json": config_map("three", {"n": "3"})})
    for name in ("m1", "m2"):
        until(lambda name=name: world.get(name, "ConfigMap", "shop", "three"), f"it is applied in {name}")


_ACCESS = json.dumps(
    {
        "apiVersion": "gitfed.io/v1alpha1", "kind": "AccessPolicy", "metadata": {"name": "team"},
        "spec": {"subjects": [{"kind": "User", "name": "ann"}], "allow": ["proxy"]},
    }
)  # fmt: skip
_ALL = {
    "metadata": {"name": "ann"}, "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}],
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
}  # fmt: skip


@needs.program("kubectl")
def test_kubectl_reaches_the_containers_of_a_members_cluster_whether_it_lives_or_not(tmp_path: Path) -> None:
    with worlds.embedded_with_pods(["m1"], tmp_path) as world, contextlib.closing(Pool(world)) as pool:
        world.ask("m1", "POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", _ALL)
        world.push(
            {
                "gitfed.json": settings(), "access.json": _ACCESS, "clusters/m1.yaml": cluster("m1"),
                "policy.json": policy("all", ["m1"], (("apps/v1", "Deployment"),)),
                "web.json": deployment("web", replicas=1),
            }
        )  # fmt: skip
        daemon = pool.daemon()
        world.until(lambda: daemon.said("cycle finished"), "the hub has read the repository")
        pool.register()
        member = pool.member()
        kubectl = Kubectl(world, daemon, "--cluster", "m1")
        world.until(lambda: world.get("m1", "Deployment", "shop", "web"), "the member has applied it")
        assert pool.holders() == {"m1": member}
        world.until(lambda: kubectl.works("rollout", "status", "deployment/web", "-n", "shop"), "its pod runs")

        for alive in (True, False):
            if not alive:
                member.kill()  # the hub goes there itself
            assert kubectl("get", "deployment", "web", "-n", "shop", "-o", "jsonpath={.spec.replicas}") == "1"
            assert kubectl("exec", "-i", "-n", "shop", "deployment/web", "--", "cat", given="typed\n") == "typed\n"
            with kubectl.following("logs -f deployment/web -n shop --tail=1") as logs:
                assert logs.stdout is not None
                assert "is alive" in logs.stdout.readline() + logs.stdout.readline()
        assert daemon.stop() == 0
