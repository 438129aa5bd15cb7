"""Only signed commits reach the clusters, and a signed trailer opens a gate."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.shop import image
from tests.e2e.signed_shop import demanding, signs
from tests.e2e.world import World, config_map, deployment, policy, settings
from tests.support import signing

pytestmark = pytest.mark.e2e


@pytest.fixture
def people(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "people"
    folder.mkdir()
    yield folder
    signing.end_agents(folder)


@pytest.mark.parametrize("kind", ["ssh", "pgp"])
def test_an_unsigned_push_waits_nothing_is_lost_and_a_signed_one_cannot_hide_it(
    world: World, people: Path, kind: str
) -> None:
    ada = signing.with_ssh("ada", people) if kind == "ssh" else signing.with_pgp("ada", people)
    signs(world, ada)
    world.push(demanding(ada))
    daemon = world.daemon()
    world.until(lambda: image(world, "web", "m2"), "web")
    world.until(lambda: "appliedCommit" in world.state().get("state.yaml", ""), "the commit recorded")
    signs(world, None)
    bad = world.push({"apps/web.json": deployment("web", image="evil:1"), "gitfed.json": settings()})
    said = world.until(lambda: daemon.said("commit waits"), "said so")
    assert said[0]["reason"] == f"{bad[:12]} is not signed"
    world.ask("m1", "DELETE", world.path("Deployment", "shop", "web"))
    world.until(lambda: image(world, "web", "m1") == "nginx:1.27", "drift is repaired by the last good commit")
    daemon.kill()
    daemon = world.daemon()
    world.until(lambda: daemon.said("commit waits"), "said so after a restart")
    world.ask("m1", "DELETE", world.path("Deployment", "shop", "web"))
    world.until(lambda: image(world, "web", "m1") == "nginx:1.27", "and the last good commit stays in force")
    daemon.stop()
    key = world.data.with_name("kept-key")
    (world.data / "state-key").rename(key)
    world.forget()
    daemon = world.daemon("--state-key", str(key))
    world.until(lambda: daemon.said("commit waits"), "said so by a daemon that knows only its key and the state branch")
    signs(world, ada)
    world.push({"apps/web.json": deployment("web", image="evil:2")})
    world.until(lambda: len(daemon.said("commit waits")) == 2, "a signed commit on an unsigned one waits too")
    assert image(world, "web", "m1") == "nginx:1.27"
    world.git("reset", "-q", "--hard", "HEAD~2")
    world.push({"apps/web.json": deployment("web", image="nginx:1.28")}, force=True)
    world.until(lambda: image(world, "web", "m1") == "nginx:1.28", "the branch without the unsigned commit")


def test_apply_says_why_an_unsigned_commit_is_not_applied(world: World, people: Path) -> None:
    ada = signing.with_ssh("ada", people)
    signs(world, ada)
    world.push(demanding(ada))
    world.apply()
    signs(world, None)
    bad = world.push({"apps/web.json": deployment("web", image="evil:1")})
    world.git("fetch", "-q", "origin")
    said = world.gitfed("plan").stderr
    assert f"note: a daemon would not apply this commit: {bad[:12]} is not signed" in said
    done = world.apply(check=False)
    assert done.returncode == 3
    assert f"the newest commit is not applied: {bad[:12]} is not signed" in done.stderr
    assert image(world, "web", "m1") == "nginx:1.27"


def test_a_signed_trailer_opens_its_gate_in_the_preview_and_in_the_daemon(world: World, people: Path) -> None:
    ada = signing.with_ssh("ada", people)
    signs(world, ada)
    files: dict[str, str | None] = {f"apps/c{n}.json": config_map(f"c{n}", {"a": "b"}) for n in range(4)}
    files["policies/maps.json"] = policy("maps", ["m1"], (("v1", "ConfigMap"),))
    world.push({**demanding(ada, maxDeletions=1), **files})
    daemon = world.daemon()
    world.until(lambda: len(world.objects("m1", "ConfigMap", "shop")) >= 4, "the maps")
    world.until(lambda: "appliedCommit" in world.state().get("state.yaml", ""), "the commit recorded")
    first = world.push({"apps/c0.json": None, "apps/c1.json": None}, "Two go\n\nGitfed-Allow: deletions=1")
    world.until(lambda: any(line["held"] for line in daemon.said("cycle finished")), "one was allowed, two are held")
    assert "c0" in world.objects("m1", "ConfigMap", "shop")
    world.git("commit", "-q", "--amend", "-m", "Two go\n\nGitfed-Allow: deletions=2\nGitfed-Allow: history=9")
    world.git("push", "-q", "--force", "origin", "main")
    world.until(lambda: daemon.said("commit waits"), "it does not descend from the one that was accepted")
    message = f"Two go\n\nGitfed-Replaces: {first}\nGitfed-Allow: deletions=2\nGitfed-Allow: history=9"
    world.git("commit", "-q", "--amend", "-m", message)
    world.git("push", "-q", "--force", "origin", "main")
    world.until(lambda: "c0" not in world.objects("m1", "ConfigMap", "shop"), "two were allowed")
    assert world.objects("m1", "ConfigMap", "shop").count("c2") == 1
    assert "ada" in world.until(lambda: world.state().get("state.yaml", ""), "the approval is recorded")
    assert not daemon.said("approval by trailer does not count")
