"""Clusters come and go: join, cordon, taint, unjoin, by files of a checkout and with real clusters behind them."""

from __future__ import annotations

import subprocess

import pytest
import yaml

from tests.e2e.world import World, cluster, config_map, deployment, policy, settings
from tests.support import needs

pytestmark = pytest.mark.e2e

BASE = {
    "gitfed.json": settings(),
    "clusters/m1.json": cluster("m1"),
    "policies/all.json": policy("all", None, (("apps/v1", "Deployment"), ("v1", "ConfigMap"))),
    "apps/web.json": deployment("web"),
    "apps/conf.json": config_map("conf", {"a": "1"}),
}


def command(world: World, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    world.git("config", "user.name", "Test")
    world.git("config", "user.email", "test@example.com")
    return world.gitfed(*arguments, check=check)


def declared(world: World, name: str) -> dict:
    return yaml.safe_load((world.work / f"clusters/{name}.yaml").read_text())


def test_a_cluster_joins_with_an_account_of_its_own_and_gets_its_share(world: World) -> None:
    world.push(BASE)
    keys = world.directory / "keys"
    said = command(
        world, "join", "m2", "--cluster-kubeconfig", str(world.kubeconfig), "--credentials-dir", str(keys),
        "--cluster-region", "us", "--labels", "tier=edge,example.com/arch=arm64,spare=", "--commit",
    )  # fmt: skip
    assert said.stdout == "cluster(m2) is joined successfully\n"
    body = declared(world, "m2")
    uid = world.ask("m2", "GET", "/api/v1/namespaces/kube-system")["metadata"]["uid"]
    assert body["spec"] == {
        "syncMode": "Push", "id": uid, "apiEndpoint": body["spec"]["apiEndpoint"], "region": "us",
        "secretRef": {"namespace": "gitfed-system", "name": "m2"},
    }  # fmt: skip
    assert body["metadata"] == {
        "name": "m2", "labels": {"tier": "edge", "example.com/arch": "arm64", "spare": ""},
    }  # fmt: skip
    token = keys / "gitfed-system/m2/token"
    assert token.stat().st_mode & 0o777 == 0o600
    assert token.read_text() not in "".join(path.read_text() for path in world.work.rglob("*.yaml"))
    assert world.git("log", "-1", "--format=%s") == "Join m2"
    world.git("push", "-q", "origin", "main")
    # No context of that name any more: the daemon has nothing but the token.
    config = yaml.safe_load(world.kubeconfig.read_text())
    config["contexts"] = [context for context in config["contexts"] if context["name"] == "m1"]
    world.kubeconfig.write_text(yaml.safe_dump(config))
    world.daemon("--credentials-dir", str(keys))
    world.until(lambda: world.get("m2", "Deployment", "shop", "web"), "web in m2")


def test_joining_again_renews_the_token_and_nothing_else(world: World) -> None:
    world.push(BASE)
    keys = world.directory / "keys"
    by = ("--cluster-kubeconfig", str(world.kubeconfig), "--credentials-dir", str(keys))
    command(world, "join", "m2", *by, "--commit")
    head = world.git("rev-parse", "HEAD")
    token = keys / "gitfed-system/m2/token"
    token.unlink()
    again = command(world, "join", "m2", *by)
    assert again.stdout == "the token of cluster(m2) is renewed\n"
    assert token.stat().st_mode & 0o777 == 0o600
    assert (world.git("rev-parse", "HEAD"), world.git("status", "--porcelain")) == (head, "")
    body = declared(world, "m2")
    wrong = command(world, "join", "m2", *by, "--cluster-context", "m1", check=False)
    uid = world.ask("m1", "GET", "/api/v1/namespaces/kube-system")["metadata"]["uid"]
    assert (wrong.returncode, wrong.stderr) == (
        2, f"error: this is not m2: its id is {uid}, in clusters/m2.yaml it is {body['spec']['id']}\n",
    )  # fmt: skip
    accounts = world.ask("m1", "GET", "/api/v1/serviceaccounts")["items"]
    assert "gitfed" not in [one["metadata"]["name"] for one in accounts], "nothing is made in the wrong cluster"


def test_a_cluster_joins_once_whatever_it_is_called(world: World) -> None:
    world.push(BASE)
    command(world, "join", "m2", "--kubeconfig", str(world.kubeconfig), "--commit")
    assert declared(world, "m2")["spec"].keys() == {"syncMode", "id"}
    again = command(world, "join", "m2", "--kubeconfig", str(world.kubeconfig), check=False)
    assert (again.returncode, again.stderr) == (2, "error: cluster m2 is declared already: clusters/m2.yaml\n")
    other = command(
        world, "join", "other", "--kubeconfig", str(world.kubeconfig), "--cluster-context", "m2", check=False
    )
    assert (other.returncode, other.stderr) == (
        2,
        "error: this cluster is in the fleet already, as m2: clusters/m2.yaml\n",
    )
    away = command(world, "join", "m9", "--kubeconfig", str(world.kubeconfig), check=False)
    assert away.returncode == 4
    assert "has no context m9 (did you mean m1?)" in away.stderr or "has no context m9" in away.stderr
    away = command(world, "join", "tokyo", "--cluster-kubeconfig", str(world.kubeconfig), check=False)
    assert "has no context tokyo (it has m1, m2)" in away.stderr
    assert "name the context that leads to this cluster: --cluster-context NAME" in away.stderr


def test_a_cordoned_cluster_keeps_what_it_has_and_gets_nothing_new(world: World) -> None:
    world.push({**BASE, "clusters/m2.json": cluster("m2")})
    world.daemon()
    for name in world.names:
        world.until(lambda name=name: world.get(name, "Deployment", "shop", "web"), f"web in {name}")
    said = command(world, "cordon", "m2", "--commit")
    assert said.stdout == "m2 cluster cordoned\n"
    assert command(world, "cordon", "m2").stdout == "m2 cluster already cordoned\n"
    world.git("push", "-q", "origin", "main")
    world.push({"apps/new.json": deployment("new")})
    world.until(lambda: world.get("m1", "Deployment", "shop", "new"), "new in m1")
    head = world.git("rev-parse", "HEAD")
    world.until(lambda: head in world.state().get("state.yaml", ""), "the commit recorded")
    assert world.get("m2", "Deployment", "shop", "web") is not None
    assert world.get("m2", "Deployment", "shop", "new") is None
    assert command(world, "uncordon", "m2", "--commit").stdout == "m2 cluster uncordoned\n"
    world.git("push", "-q", "origin", "main")
    world.until(lambda: world.get("m2", "Deployment", "shop", "new"), "new in m2 too")


@needs.pushed("a pulled cluster leaves with gitfed unregister: test_registration.py")
@pytest.mark.parametrize("objects", ["--delete-objects", "--keep-objects"])
def test_a_cluster_leaves_and_what_is_not_ours_stays(world: World, objects: str) -> None:
    world.push({**BASE, "clusters/m2.json": cluster("m2"),
                "apps/kept.json": config_map("kept", {}, annotations={"gitfed.io/prune": "disabled"})})  # fmt: skip
    daemon = world.daemon()
    for name in world.names:
        world.until(lambda name=name: world.get(name, "Deployment", "shop", "web"), f"web in {name}")
        world.until(lambda name=name: world.get(name, "ConfigMap", "shop", "kept"), f"kept in {name}")
    world.until(lambda: world.state().get("state.yaml", "").count("outcome: applied") == 2, "the roll-out recorded")
    foreign = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "theirs"}, "data": {"x": "y"}}
    world.ask("m2", "POST", "/api/v1/namespaces/shop/configmaps", foreign)
    world.git("fetch", "-q", "origin", "gitfed/state:refs/remotes/origin/gitfed/state")
    looked = command(world, "unjoin", "m2", objects, "--kubeconfig", str(world.kubeconfig), "--dry-run=client")
    would = "would delete Deployment.apps/shop/web\n" if objects == "--delete-objects" else (
        "would leave Deployment.apps/shop/web there, unmanaged\n"
    )  # fmt: skip
    assert would in looked.stderr
    assert "theirs" not in looked.stderr
    body = world.get("m2", "Deployment", "shop", "web")
    assert body is not None, "only looked at"
    assert body["metadata"]["labels"]["gitfed.io/federation"] == "acme"
    said = command(world, "unjoin", "m2", objects, "--kubeconfig", str(world.kubeconfig), "--commit")
    assert said.stdout == "cluster(m2) is unjoined\n"
    assert not (world.work / "clusters/m2.json").exists()
    left = [name for name in world.objects("m2", "ConfigMap", "shop") if name != "kube-root-ca.crt"]
    if objects == "--keep-objects":
        assert left == ["conf", "kept", "theirs"]
        body = world.get("m2", "Deployment", "shop", "web")
        assert body is not None
        assert "gitfed.io/federation" not in (body["metadata"].get("labels") or {})
    else:
        assert left == ["kept", "theirs"]
        assert world.get("m2", "Deployment", "shop", "web") is None
        assert "kept ConfigMap/shop/kept: annotated gitfed.io/prune: disabled" in said.stderr
    assert [name for name in world.objects("m2", "ConfigMap", "gitfed-system") if name.startswith("gitfed-")] == []
    world.git("push", "-q", "origin", "main")
    head = world.git("rev-parse", "HEAD")
    world.until(lambda: head in world.state().get("state.yaml", ""), "the daemon goes on without it")
    planned = world.gitfed("plan", "--repo", str(world.bare), check=False)
    assert "m2 is no longer declared" not in planned.stderr, "nothing of ours is left there to tell of"
    assert world.get("m1", "Deployment", "shop", "web") is not None
    assert daemon.stop() == 0
    if objects == "--delete-objects":
        assert world.get("m2", "Deployment", "shop", "web") is None


def test_a_cluster_that_was_emptied_is_not_said_to_hold_anything(world: World) -> None:
    base = {**BASE, "clusters/m2.json": cluster("m2")}
    world.push(base)
    world.apply()
    world.push({"policies/all.json": None})  # an orphan keeps its last decision, which goes on naming its clusters
    world.apply()

    def told() -> list[str]:
        planned = world.gitfed("plan", "--repo", str(world.bare), check=False)
        return [line for line in planned.stderr.splitlines() if "cluster m2 is no longer declared" in line]

    def leave(objects: str) -> None:
        world.git("fetch", "-q", "origin", "gitfed/state:refs/remotes/origin/gitfed/state")
        command(world, "unjoin", "m2", objects, "--kubeconfig", str(world.kubeconfig), "--commit")
        world.git("push", "-q", "origin", "main")

    leave("--delete-objects")
    assert told() == []
    said = world.gitfed("diff", "HEAD~1..HEAD", "--repo", str(world.work), check=False).stdout
    assert "kept" not in said, "and a review does not say that it keeps what was deleted"
    world.apply()
    assert told() == [], "nor in any later plan"
    assert "cleaned" in world.state()["state.yaml"], "as long as a decision names it"
    world.push(base)
    world.apply()
    assert "cleaned" not in world.state()["state.yaml"], "joined again, it holds something again"
    leave("--keep-objects")
    assert len(told()) == 1, "what stays there is said until the next decision"


def test_a_cluster_that_leaves_by_force_is_said_to_hold_what_it_held(world: World) -> None:
    world.push({**BASE, "clusters/m2.json": cluster("m2")})
    world.apply()
    world.git("fetch", "-q", "origin", "gitfed/state:refs/remotes/origin/gitfed/state")
    nowhere = world.kubeconfig.with_name("nowhere")
    config = yaml.safe_load(world.kubeconfig.read_text())
    for one in config["clusters"]:
        one["cluster"]["server"] = "https://127.0.0.1:9"
    nowhere.write_text(yaml.safe_dump(config))
    said = command(world, "unjoin", "m2", "--delete-objects", "--force", "--kubeconfig", str(nowhere), "--commit")
    assert "what runs there stays there" in said.stderr
    world.git("push", "-q", "origin", "main")
    world.apply()
    planned = world.gitfed("plan", "--repo", str(world.bare), check=False)
    assert "cluster m2 is no longer declared" in planned.stderr


def test_an_object_that_cannot_go_keeps_its_cluster_in_the_fleet(world: World) -> None:
    world.push({**BASE, "clusters/m2.json": cluster("m2"), "apps/stuck.json": config_map("stuck", {})})
    world.apply()
    merge = "application/merge-patch+json"
    held = {"metadata": {"finalizers": ["example.com/never"]}}
    world.ask("m2", "PATCH", world.path("ConfigMap", "shop", "stuck"), held, merge)
    asked = ("unjoin", "m2", "--delete-objects", "--kubeconfig", str(world.kubeconfig), "--wait", "1s")
    said = command(world, *asked, check=False)
    assert said.returncode == 4
    assert "still there: ConfigMap/shop/stuck waits for example.com/never\n" in said.stderr
    assert (world.work / "clusters/m2.json").exists()
    world.ask("m2", "PATCH", world.path("ConfigMap", "shop", "stuck"), {"metadata": {"finalizers": None}}, merge)
    assert command(world, *asked).returncode == 0
    assert not (world.work / "clusters/m2.json").exists()


@needs.pushed("a pulled cluster leaves with gitfed unregister: test_registration.py")
def test_an_unreachable_cluster_leaves_only_by_force(world: World) -> None:
    world.push({**BASE, "clusters/gone.json": cluster("gone")})
    said = command(world, "unjoin", "gone", "--keep-objects", "--kubeconfig", str(world.kubeconfig), check=False)
    assert said.returncode == 4
    assert (world.work / "clusters/gone.json").exists()
    said = command(world, "unjoin", "gone", "--keep-objects", "--force", "--kubeconfig", str(world.kubeconfig))
    assert "what runs there stays there" in said.stderr
    assert not (world.work / "clusters/gone.json").exists()
