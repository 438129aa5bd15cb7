"""Bad input and failure: a clear message, and nothing lost, doubled or taken from others."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from typing import Any

import pytest

from tests.e2e.failing import FAST
from tests.e2e.shop import BASE, image, inventory
from tests.e2e.world import Daemon, World, cluster, config_map, deployment, policy, settings
from tests.support import needs

pytestmark = pytest.mark.e2e


def test_a_broken_file_holds_its_objects_and_others_go_on(world: World) -> None:
    world.push({**BASE, "apps/cache.json": deployment("cache")})
    daemon = world.daemon()
    world.until(lambda: image(world, "web", "m2") and image(world, "cache", "m2"), "both in m2")
    world.push(
        {"apps/web.json": '{"apiVersion": "apps/v1", oops', "apps/cache.json": deployment("cache", image="redis:8")}
    )
    world.until(lambda: image(world, "cache", "m2") == "redis:8", "the good file applied")
    assert image(world, "web", "m1") == "nginx:1.27"
    assert any("apps/web.json:1:" in line["problem"] for line in daemon.said("problem"))
    held = world.until(lambda: world.state().get("held/apps/web.json.yaml"), "the held file recorded")
    assert "path: apps/web.json" in held
    assert "nginx" not in held
    done = world.gitfed("validate", check=False)
    assert done.returncode == 3
    assert "apps/web.json:1:" in done.stdout + done.stderr


def test_an_emptied_repository_deletes_nothing(world: World) -> None:
    world.push({**BASE, **{f"apps/c{n}.json": config_map(f"c{n}", {"n": str(n)}) for n in range(10)},
                "policies/c.json": policy("c", ["m1", "m2"], (("v1", "ConfigMap"),))})  # fmt: skip
    daemon = world.daemon()
    world.until(
        lambda: len([n for n in world.objects("m2", "ConfigMap", "shop") if n.startswith("c")]) == 10, "all there"
    )
    world.until(lambda: daemon.said("cycle finished"), "a cycle")
    for path in world.work.rglob("*.json"):
        path.unlink()
    world.push({}, "empty")
    world.until(
        lambda: any("problem" in line for line in daemon.lines()) or daemon.said("problem"), "the problem is said"
    )
    world.push({"README.md": "still empty\n"})
    assert len([n for n in world.objects("m2", "ConfigMap", "shop") if n.startswith("c")]) == 10
    assert image(world, "web", "m1") == "nginx:1.27"


def test_too_many_deletions_wait_behind_a_gate_until_somebody_confirms(world: World) -> None:
    maps = {f"apps/c{n}.json": config_map(f"c{n}", {"n": str(n)}) for n in range(10)}
    world.push({**BASE, **maps, "policies/c.json": policy("c", ["m1"], (("v1", "ConfigMap"),))})
    world.apply()
    world.push(dict.fromkeys(maps))
    held = world.apply(check=False)
    assert held.returncode == 5
    assert "deletion percent" in held.stdout + held.stderr
    assert len([n for n in world.objects("m1", "ConfigMap", "shop") if n.startswith("c")]) == 10
    plan = world.gitfed("plan", "--repo", str(world.bare), "--live", "--kubeconfig", str(world.kubeconfig),
                        "-o", "json", check=False)  # fmt: skip
    assert plan.returncode == 5
    import json

    digest = json.loads(plan.stdout)["digest"]
    world.apply("--confirm", digest)
    world.until(
        lambda: not [n for n in world.objects("m1", "ConfigMap", "shop") if n.startswith("c")], "the maps are gone"
    )
    assert "approvals" in world.state()["state.yaml"]


def test_history_that_runs_backwards_waits(world: World) -> None:
    first = world.push(BASE)
    second = world.push({"apps/web.json": deployment("web", image="nginx:1.28")})
    daemon = world.daemon()
    world.until(lambda: image(world, "web", "m1") == "nginx:1.28", "the second commit")
    world.until(lambda: second in world.state().get("state.yaml", ""), "recorded")
    world.git("reset", "-q", "--hard", first)
    world.push({"apps/extra.json": deployment("extra")}, force=True)
    world.until(lambda: any(line.get("held") for line in daemon.said("cycle finished")), "held")
    assert image(world, "web", "m1") == "nginx:1.28"
    assert image(world, "extra", "m1") is None


def test_a_deleted_branch_leaves_everything_as_it_is(world: World) -> None:
    world.push(BASE)
    daemon = world.daemon()
    world.until(lambda: image(world, "web", "m1") and image(world, "web", "m2"), "web everywhere")
    subprocess.run(["git", "-C", str(world.bare), "update-ref", "-d", "refs/heads/main"], check=True)
    world.until(lambda: daemon.said("the repository cannot be read"), "said so")
    assert image(world, "web", "m1") == "nginx:1.27"
    world.ask("m1", "DELETE", world.path("Deployment", "shop", "web"))
    world.until(lambda: image(world, "web", "m1"), "drift is still repaired")


def test_a_lost_state_branch_is_rebuilt_and_nothing_moves(world: World) -> None:
    world.push({**BASE, "apps/web.json": deployment("web", replicas=3), "policies/web.json": policy(
        "web", ["m1", "m2"], placement={"replicaScheduling": {"replicaSchedulingType": "Divided"}})})  # fmt: skip
    daemon = world.daemon()
    world.until(lambda: image(world, "web", "m1") and image(world, "web", "m2"), "web everywhere")
    world.until(lambda: "bindings/shop/web-Deployment.apps.yaml" in world.state(), "the binding recorded")
    before = world.versions("Deployment", "shop", "web")
    repository = world.state()["state.yaml"].split("repositoryId: ")[1].split()[0]
    daemon.stop()
    subprocess.run(["git", "-C", str(world.bare), "update-ref", "-d", "refs/heads/gitfed/state"], check=True)
    world.forget()
    again = world.daemon()
    world.until(lambda: again.said("state rebuilt from inventories"), "rebuilt")
    world.until(lambda: "bindings/shop/web-Deployment.apps.yaml" in world.state(), "recorded again")
    assert repository in world.state()["state.yaml"]
    assert world.versions("Deployment", "shop", "web") == before


def test_two_repositories_on_one_cluster_the_second_gets_no_write(world: World) -> None:
    world.push(BASE)
    world.apply()
    before = inventory(world, "m1")
    subprocess.run(["git", "-C", str(world.bare), "update-ref", "-d", "refs/heads/gitfed/state"], check=True)
    other = world.directory / "other.git"
    subprocess.run(["git", "clone", "-q", "--bare", str(world.bare), str(other)], check=True)
    clone = world.directory / "otherwork"
    subprocess.run(["git", "clone", "-q", str(other), str(clone)], check=True)
    (clone / "state.txt").write_text("x")
    # The other repository has a state of its own, with its own id.
    made = subprocess.run(
        ["git", "-C", str(clone), "-c", "user.name=T", "-c", "user.email=t@e", "commit-tree", "-m", "state",
         _tree(clone, "repositoryId: 11111111-2222-3333-4444-555555555555\nschemaVersion: 1\n")],
        check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    subprocess.run(["git", "-C", str(clone), "push", "-q", "origin", f"{made}:refs/heads/gitfed/state"], check=True)
    (world.directory / "data2").mkdir()
    done = world.gitfed(
        "apply", "--repo", str(other), "--kubeconfig", str(world.kubeconfig), "--data-dir",
        str(world.directory / "data2"), "--timeout", "10s", check=False,
    )  # fmt: skip
    assert done.returncode == 4
    assert "belongs to repository" in done.stdout + done.stderr
    assert inventory(world, "m1") == before


def _tree(clone: object, text: str) -> str:
    blob = subprocess.run(["git", "-C", str(clone), "hash-object", "-w", "--stdin"], input=text, check=True,
                          capture_output=True, text=True).stdout.strip()  # fmt: skip
    listing = f"100644 blob {blob}\tstate.yaml\n"
    return subprocess.run(["git", "-C", str(clone), "mktree"], input=listing, check=True, capture_output=True,
                          text=True).stdout.strip()  # fmt: skip


def test_a_cluster_that_is_down_at_start_delays_only_itself(world: World) -> None:
    world.push(BASE)
    world.servers["m2"].kill()
    daemon = world.daemon()
    world.until(lambda: image(world, "web", "m1"), "web in m1 although m2 is down")
    world.until(lambda: any(one["cluster"] == "m2" for one in daemon.said("cluster cannot be used")), "m2 is named")
    world.servers["m2"].start()
    world.until(lambda: image(world, "web", "m2"), "web in m2 when it is back")


@needs.pushed("what cannot be followed in a pulled cluster stands in its agent's log")
def test_clusters_that_are_dead_for_long_are_said_to_be_once_and_so_is_their_return(world: World) -> None:
    world.push(BASE)
    daemon = world.daemon("--log-level", "debug", *FAST)
    world.until(lambda: image(world, "web", "m1") and image(world, "web", "m2"), "web in both")
    world.until(lambda: "appliedCommit" in world.state().get("state.yaml", ""), "it is recorded as applied")
    before = len(daemon.lines())
    for name in world.names:
        world.servers[name].kill()

    def tries(name: str) -> int:
        return max(
            Counter(one["path"] for one in daemon.said("cannot follow") if one["cluster"] == name).values() or [0]
        )

    world.until(lambda: tries("m1") > 4 and tries("m2") > 4, "each was asked again and again")
    world.until(lambda: len(events(daemon, "does not answer")) == 2, "each is said to be away")
    for name in world.names:
        world.servers[name].start()
    world.until(lambda: len(events(daemon, "is ready again")) == 2, "each is said to be back")
    assert {one["level"] for one in events(daemon, "does not answer")} == {"warning"}
    assert {one["level"] for one in events(daemon, "is ready again")} == {"info"}
    shown = [one for one in daemon.lines()[before:] if one["level"] != "debug" and one["msg"] != "cycle finished"]
    said = Counter((one["msg"], one.get("cluster"), one.get("event")) for one in shown)
    assert [what for what, times in said.items() if times > 1] == []
    assert not [one for one in shown if one["msg"].startswith("cannot")]


def test_apply_says_each_problem_once(world: World) -> None:
    refused = json.loads(deployment("refused"))
    refused["spec"]["selector"] = {"matchLabels": {"other": "label"}}
    world.push({**BASE, "apps/refused.json": json.dumps(refused)})
    world.servers["m2"].kill()
    done = world.apply(check=False)
    assert done.returncode == 4
    said = [line for line in done.stderr.splitlines() if not line.startswith("note: ")]
    assert [line.split(": ")[:2] for line in said] == [["failed", "m1"], ["unreachable", "m2"]]
    assert "Deployment.apps/shop/refused: " in said[0]
    assert said[1].endswith("refuses the connection")
    world.servers["m2"].start()
    maps = {f"apps/c{n}.json": config_map(f"c{n}", {"a": "1"}) for n in range(5)}
    world.push({"apps/refused.json": None, "gitfed.json": settings(guards={"maxDeletions": 1}), **maps,
                "policies/c.json": policy("c", ["m1", "m2"], (("v1", "ConfigMap"),))})  # fmt: skip
    world.apply()
    world.push(dict.fromkeys(maps))
    held = world.apply(check=False)
    assert (held.returncode, held.stderr.count("--confirm"), "WARNING" in held.stderr) == (5, 1, False), held.stderr


def events(daemon: Daemon, words: str) -> list[dict[str, Any]]:
    return [one for one in daemon.said("failover") if words in one["event"]]


def test_a_cluster_that_dies_in_the_middle_catches_up(world: World) -> None:
    world.push(BASE)
    world.daemon()
    world.until(lambda: image(world, "web", "m2"), "web in m2")
    world.servers["m2"].kill()
    world.push({"apps/web.json": deployment("web", image="nginx:1.28")})
    world.until(lambda: image(world, "web", "m1") == "nginx:1.28", "m1 is not held up")
    world.servers["m2"].start()
    world.until(lambda: image(world, "web", "m2") == "nginx:1.28", "m2 caught up")


def test_an_object_that_is_not_ours_is_neither_changed_nor_deleted(world: World) -> None:
    theirs = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "conf", "namespace": "shop"},
        "data": {"whose": "theirs"},
    }
    world.ask(
        "m1", "POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    )
    world.ask("m1", "POST", world.path("ConfigMap", "shop"), theirs)
    world.push({**BASE, "apps/conf.json": config_map("conf", {"whose": "ours"}),
                "policies/conf.json": policy("conf", ["m1", "m2"], (("v1", "ConfigMap"),))})  # fmt: skip
    daemon = world.daemon()
    world.until(lambda: image(world, "web", "m1"), "web in m1, in a namespace that somebody else made")
    said = world.until(lambda: daemon.said("change failed"), "the refusal")
    assert "work.karmada.io/conflict-resolution: overwrite" in said[0]["error"]
    world.until(lambda: world.get("m2", "ConfigMap", "shop", "conf"), "our copy in the other cluster")
    plan = world.gitfed(
        "plan", "--repo", str(world.bare), "--live", "--kubeconfig", str(world.kubeconfig), "-o", "json"
    )
    assert [(c["cluster"], c["action"]) for c in json.loads(plan.stdout)["changes"] if c["name"] == "conf"] == [
        ("m1", "skip")
    ]
    world.push({"apps/conf.json": None})
    world.push({"apps/marker.json": deployment("marker")})
    world.until(lambda: image(world, "marker", "m1"), "a later push")
    body = world.get("m1", "ConfigMap", "shop", "conf")
    assert body is not None
    assert body["data"] == {"whose": "theirs"}
    assert "gitfed.io/federation" not in body["metadata"].get("labels", {})


def test_an_object_that_is_not_ours_is_adopted_when_asked(world: World) -> None:
    world.ask(
        "m1", "POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    )
    theirs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "conf", "namespace": "shop"},
              "data": {"whose": "theirs", "old": "key"}}  # fmt: skip
    world.ask("m1", "POST", world.path("ConfigMap", "shop") + "?fieldManager=kubectl-create", theirs)
    world.push({**BASE, "apps/conf.json": config_map(
        "conf", {"whose": "ours"}, annotations={"work.karmada.io/conflict-resolution": "overwrite"}),
        "policies/conf.json": policy("conf", ["m1"], (("v1", "ConfigMap"),))})  # fmt: skip
    world.daemon()
    world.until(
        lambda: (world.get("m1", "ConfigMap", "shop", "conf") or {}).get("data") == {"whose": "ours"}, "adopted"
    )


def test_an_autoscaler_that_owns_replicas_keeps_them(world: World) -> None:
    labels = {"resourcetemplate.karmada.io/retain-replicas": "true"}
    world.push({**BASE, "apps/web.json": deployment("web", labels=labels)})
    world.daemon()
    world.until(lambda: image(world, "web", "m1"), "web in m1")
    scale = world.path("Deployment", "shop", "web") + "/scale"
    now = world.ask("m1", "GET", scale)
    world.ask("m1", "PUT", scale + "?fieldManager=autoscaler", {**now, "spec": {"replicas": 7}})
    world.push({"apps/web.json": deployment("web", image="nginx:1.28", labels=labels)})
    world.until(lambda: image(world, "web", "m1") == "nginx:1.28", "the new image")
    body = world.get("m1", "Deployment", "shop", "web")
    assert body is not None
    assert body["spec"]["replicas"] == 7


def test_a_stripped_label_is_put_back_and_deletes_nothing(world: World) -> None:
    world.push(BASE)
    world.daemon()
    first = world.until(lambda: world.get("m1", "Deployment", "shop", "web"), "web in m1")
    patch = {"metadata": {"labels": {"gitfed.io/federation": None}}}
    world.ask("m1", "PATCH", world.path("Deployment", "shop", "web"), patch, "application/merge-patch+json")

    def labelled() -> bool:
        body = world.get("m1", "Deployment", "shop", "web")
        assert body is not None
        assert body["metadata"]["uid"] == first["metadata"]["uid"]
        return bool(body["metadata"].get("labels", {}).get("gitfed.io/federation") == "acme")

    world.until(labelled, "the label back")


def test_killed_repeatedly_during_a_roll_out_nothing_is_lost_or_doubled(world: World) -> None:
    count = 60
    apps = {f"apps/d{n}.json": deployment(f"d{n}") for n in range(count)}
    theirs = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "theirs", "namespace": "shop"},
        "data": {"a": "1"},
    }
    for name in world.names:
        world.ask(
            name, "POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
        )
        world.ask(name, "POST", world.path("ConfigMap", "shop"), theirs)
    world.push({**BASE, **apps})
    written = 0
    for _ in range(6):
        daemon = world.daemon()
        world.until(lambda daemon=daemon: len(daemon.said("object created")) >= 8 or _complete(world, count),
                    "some progress", 60)  # fmt: skip
        daemon.kill()
        written += len(daemon.said("object created"))
        if _complete(world, count):
            break
    last = world.daemon()
    world.until(lambda: _complete(world, count), "everything there")
    for name in world.names:
        world.until(
            lambda name=name: all(f"d{n}" in inventory(world, name) for n in range(count)), "all in the inventory"
        )
        assert world.objects(name, "ConfigMap", "shop").count("theirs") == 1
    uids = {name: _uids(world, name) for name in world.names}
    last.kill()
    again = world.daemon()
    world.until(lambda: again.said("cycle finished"), "a cycle")
    world.push({"apps/marker.json": deployment("marker")})
    world.until(lambda: image(world, "marker", "m2") and image(world, "marker", "m1"), "a later push")
    assert {name: _uids(world, name) - {None} for name in world.names} == uids


def _complete(world: World, count: int) -> bool:
    return all({f"d{n}" for n in range(count)} <= set(_deployments(world, name)) for name in world.names)


def _deployments(world: World, name: str) -> list[str]:
    return world.objects(name, "Deployment", "shop")


def _uids(world: World, name: str) -> set[str]:
    items = world.ask(name, "GET", world.path("Deployment", "shop"))["items"]
    return {item["metadata"]["uid"] for item in items if item["metadata"]["name"].startswith("d")}


@needs.pushed("an agent listens to the one hub that it dialled: no other daemon takes the lead in its cluster")
def test_two_daemons_the_newer_one_leads_and_the_older_one_stops_writing(world: World) -> None:
    world.push(BASE)
    old = world.daemon()
    world.until(lambda: image(world, "web", "m1") and image(world, "web", "m2"), "web everywhere")
    new = world.daemon("--data-dir", str(world.directory / "data-of-the-new"))
    said = world.until(lambda: new.said("another gitfed follows this repository: who came last leads"), "said at once")
    assert [line["pid"] for line in said] == [str(old.process.pid)]
    for name in world.names:
        world.until(lambda name=name: _term(world, name) == "2", f"the new one leads in {name}")
        world.until(lambda name=name: name in [line["cluster"] for line in old.said("cluster gets no write")],
                    f"the old one noticed in {name}")  # fmt: skip
    world.push({"apps/extra.json": deployment("extra")})
    world.until(lambda: image(world, "extra", "m1"), "somebody applied it")
    assert not [line for line in old.said("object created") if "extra" in line["object"]]


def _term(world: World, name: str) -> str:
    path = "/api/v1/namespaces/gitfed-system/configmaps/gitfed-inventory-acme-0"
    return str(world.ask(name, "GET", path)["data"]["term"])


def test_a_file_that_only_settings_made_wrong_is_said_with_its_place(world: World) -> None:
    world.push({**BASE, "gitfed.json": settings(guards={"maxDeletion": 3})})
    done = world.gitfed("validate", check=False)
    assert done.returncode == 3
    assert "unknown field maxDeletion (did you mean maxDeletions?)" in done.stdout + done.stderr


def test_a_removed_cluster_keeps_its_objects(world: World) -> None:
    world.push(BASE)
    world.daemon()
    world.until(lambda: image(world, "web", "m1") and image(world, "web", "m2"), "web everywhere")
    world.push({"clusters/m2.json": None, "apps/web.json": deployment("web", image="nginx:1.28")})
    world.until(lambda: image(world, "web", "m1") == "nginx:1.28", "the change in m1")
    assert image(world, "web", "m2") == "nginx:1.27"


def test_a_policy_that_goes_away_orphans_its_objects(world: World) -> None:
    world.push({**BASE, "apps/marker.json": deployment("marker", namespace="other"),
                "policies/other.json": policy("other", ["m1"], namespace="other")})  # fmt: skip
    world.daemon()
    world.until(lambda: image(world, "web", "m1"), "web in m1")
    world.push({"policies/web.json": None, "apps/marker.json": deployment("marker", namespace="other", image="x:2")})
    world.until(lambda: _image(world, "m1", "other", "marker") == "x:2", "the later change")
    assert image(world, "web", "m1") == "nginx:1.27"
    done = world.gitfed("get", "orphans", "--repo", str(world.bare), "--live", "--kubeconfig", str(world.kubeconfig))
    assert "web" in done.stdout


def _image(world: World, where: str, namespace: str, name: str) -> str | None:
    body = world.get(where, "Deployment", namespace, name)
    return body["spec"]["template"]["spec"]["containers"][0]["image"] if body else None


def test_a_new_cluster_file_takes_the_cluster_in(world: World) -> None:
    world.push({path: text for path, text in BASE.items() if path != "clusters/m2.json"})
    world.daemon()
    world.until(lambda: image(world, "web", "m1"), "web in m1")
    world.push({"clusters/m2.json": cluster("m2")})
    world.until(lambda: image(world, "web", "m2"), "web in m2")


def test_a_wiped_inventory_stops_everything_there_until_a_person_takes_it_over(world: World) -> None:
    apps = {f"apps/d{n}.json": deployment(f"d{n}") for n in range(12)}
    world.push({**BASE, **apps})
    world.apply()
    for item in world.ask("m1", "GET", "/api/v1/namespaces/gitfed-system/configmaps")["items"]:
        name = item["metadata"]["name"]
        if name.startswith("gitfed-inventory"):
            world.ask("m1", "DELETE", f"/api/v1/namespaces/gitfed-system/configmaps/{name}")
    world.push({"apps/d0.json": None, "apps/web.json": deployment("web", image="nginx:1.28")})
    done = world.apply("--timeout", "10s", check=False)
    assert done.returncode == 4
    assert "cannot be relied on" in done.stdout + done.stderr
    assert image(world, "web", "m1") == "nginx:1.27"
    assert image(world, "web", "m2") == "nginx:1.28"
    world.apply("--adopt", "m1")
    assert image(world, "web", "m1") == "nginx:1.28"
    assert image(world, "d0", "m1") is not None, "what no inventory lists is not ours to delete"


def test_a_commit_without_a_federation_writes_nothing(world: World) -> None:
    world.push(BASE)
    daemon = world.daemon()
    world.until(lambda: image(world, "web", "m2"), "web in m2")
    before = world.versions("Deployment", "shop", "web")
    world.push({"gitfed.json": None, "apps/web.json": deployment("web", image="nginx:1.28")})
    said = world.until(lambda: daemon.said("commit waits"), "the commit waits")
    assert "no Federation" in said[0]["reason"]
    done = world.apply("--data-dir", str(world.directory / "data-apply"), check=False)
    assert done.returncode == 3
    assert world.versions("Deployment", "shop", "web") == before


def test_a_commit_that_renames_the_federation_waits(world: World) -> None:
    world.push(BASE)
    daemon = world.daemon()
    world.until(lambda: image(world, "web", "m2"), "web in m2")
    world.push({"gitfed.json": settings().replace("acme", "other")})
    said = world.until(lambda: daemon.said("commit waits"), "the commit waits")
    assert "renames the federation acme to other" in said[0]["reason"]
    world.push({"gitfed.json": settings(), "apps/web.json": deployment("web", image="nginx:1.28")})
    world.until(lambda: image(world, "web", "m1") == "nginx:1.28", "the way back")


def test_who_dies_before_it_wrote_down_what_it_made_knows_it_again_after_a_restart(world: World) -> None:
    """The entry is there, the object is there as it should be, and only the uid was not written yet."""
    world.push(BASE)
    daemon = world.daemon()
    world.until(lambda: entry(world) and "," in entry(world) and not entry(world).startswith(","), "web is listed")
    before = entry(world)
    daemon.kill()
    forget_uid(world)
    world.daemon()
    world.until(lambda: entry(world) == before, "the entry names its object again")


def test_a_plan_looks_at_what_stands_where_something_was_only_meant_to_be_written(world: World) -> None:
    """A daemon died between its entry and its write, and then somebody else took the name."""
    world.push(BASE)
    daemon = world.daemon()
    world.until(lambda: entry(world) and "," in entry(world) and not entry(world).startswith(","), "web is listed")
    daemon.kill()
    forget_uid(world)
    world.ask("m1", "DELETE", world.path("Deployment", "shop", "web"))
    world.until(lambda: world.get("m1", "Deployment", "shop", "web") is None, "ours has gone")
    world.ask("m1", "POST", world.path("Deployment", "shop"), json.loads(deployment("web")))
    options = ("--repo", str(world.bare), "--kubeconfig", str(world.kubeconfig), "--live", "-o", "json")
    changes = json.loads(world.gitfed("plan", *options).stdout)["changes"]
    found = [(one["action"], one["reason"][:21]) for one in changes if (one["cluster"], one["name"]) == ("m1", "web")]
    assert found == [("skip", "exists and is not our")]


def forget_uid(world: World) -> None:
    """What the inventory of m1 says of web is only that somebody meant to write it."""
    for shard in world.ask("m1", "GET", SHARDS)["items"]:
        for name, value in (shard.get("data") or {}).items():
            if "web" in name:
                path = f"{SHARDS}/{shard['metadata']['name']}"
                cut = {"data": {name: "," + value.partition(",")[2]}}
                world.ask("m1", "PATCH", path, cut, "application/merge-patch+json")
    assert entry(world).startswith(",")


SHARDS = "/api/v1/namespaces/gitfed-system/configmaps"


def entry(world: World) -> str:
    """What the inventory of m1 says of web."""
    items = world.ask("m1", "GET", SHARDS)["items"]
    return next((str(value) for item in items for name, value in (item.get("data") or {}).items() if "web" in name), "")
