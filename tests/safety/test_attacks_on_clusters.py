"""Attacks by commit on a running daemon whose clusters are whole ones: what it guards stays where it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.shop import BASE, image
from tests.e2e.signed_shop import demanding, signs
from tests.e2e.world import Daemon, World, config_map, deployment, policy, settings
from tests.safety.thief import Asked, asked
from tests.safety.thief import thief as thief
from tests.support import signing
from tests.support.git_servers import basic, needs_git_program, serving

pytestmark = pytest.mark.e2e
PASSWORD = "pr0xy-passw0rd"


@pytest.fixture
def proxy() -> Iterator[Asked]:
    with asked() as server:
        yield server


def maps(clusters: list[str]) -> dict[str, str | None]:
    files: dict[str, str | None] = {f"apps/c{n}.json": config_map(f"c{n}", {"a": "b"}) for n in range(4)}
    return {**files, "policies/maps.json": policy("maps", clusters, (("v1", "ConfigMap"),))}


def test_going_backwards_and_shrinking_a_policy_take_nothing_away(world: World, people: Path) -> None:
    ada = signing.with_ssh("ada", people)
    before = world.push({**BASE, **maps(world.names), "gitfed.json": settings()})
    signs(world, ada)
    good = world.push(demanding(ada, maxDeletions=1))
    daemon = world.daemon()
    world.until(lambda: good in world.state().get("state.yaml", ""), "the signed commit recorded")
    signs(world, None)
    world.git("reset", "-q", "--hard", before)
    world.git("push", "-q", "--force", "origin", "main")
    said = world.until(lambda: daemon.said("commit waits"), "the ancestor waits")
    assert said[0]["reason"].startswith(f"{before[:12]} does not descend from {good[:12]}, which was accepted last")
    world.push({"apps/web.json": deployment("web", image="evil:1"), "apps/c0.json": None, "apps/c1.json": None})
    world.until(lambda: len(daemon.said("commit waits")) > 1, "and so does what is built on it")
    assert {image(world, "web", name) for name in world.names} == {"nginx:1.27"}

    world.git("reset", "-q", "--hard", good)
    signs(world, ada)
    world.push(maps(["m1"]), "The maps live in one cluster", force=True)
    world.until(lambda: any(line["held"] for line in daemon.said("cycle finished")), "held by the gate")
    recorded = world.until(lambda: _record(world, "m2"), "recorded")
    assert (recorded["outcome"], recorded["held"]) == ("held", {"gate deletions": 4})
    for name in world.names:
        assert {f"c{n}" for n in range(4)} <= set(world.objects(name, "ConfigMap", "shop"))
    assert world.objects("m2", "Deployment", "shop") == ["web"]


@needs_git_program("git-http-backend")
def test_a_commit_sends_no_password_and_no_token_elsewhere(
    world: World, tmp_path: Path, thief: Asked, proxy: Asked
) -> None:
    world.push({path: text for path, text in BASE.items() if path != "clusters/m2.json"})
    keys, login = world.directory / "keys", world.directory / "login"
    for name in ("user.name", "user.email"):
        world.git("config", name, "test@example.com")
    world.gitfed(
        "join", "m2", "--cluster-kubeconfig", str(world.kubeconfig), "--credentials-dir", str(keys), "--commit"
    )
    world.git("push", "-q", "origin", "main")
    mounted = keys / "gitfed-system/m2"
    token, joined = (mounted / "token").read_text().strip(), (world.work / "clusters/m2.yaml").read_text()
    config = yaml.safe_load(world.kubeconfig.read_text())
    config["contexts"] = [context for context in config["contexts"] if context["name"] == "m1"]
    world.kubeconfig.write_text(yaml.safe_dump(config))
    world.git("-C", str(world.bare), "config", "http.receivepack", "true")
    with serving(world.directory, tmp_path) as https:
        https.wanted = basic("git:hunter2hunter2")
        login.mkdir()
        (login / "password").write_text("hunter2hunter2\n")
        (login / "ca.crt").write_text(https.authority.read_text())
        daemon = world.daemon("--repo", https.url, "--git-credentials", str(login), "--credentials-dir", str(keys))
        world.until(lambda: image(world, "web", "m1") and image(world, "web", "m2"), "web in both clusters")

        world.push({"clusters/m2.yaml": _with(joined, apiEndpoint=thief.url), "apps/a.json": deployment("a")})
        world.until(lambda: image(world, "a", "m1"), "the other cluster goes on")
        world.until(lambda: "not to spec.apiEndpoint" in daemon.log_path.read_text(), "the redirect is refused")

        (mounted / "proxy").write_text(proxy.url.replace("://", f"://u:{PASSWORD}@"))
        world.push({"clusters/m2.yaml": _with(joined, proxyURL=proxy.url), "apps/b.json": deployment("b")})
        world.until(lambda: image(world, "b", "m1"), "the other cluster goes on")
        world.until(lambda: proxy.paths and len(_unusable(daemon)) > 1, "and the allowed proxy, which refuses, is told")

        world.push({"gitfed.json": settings(state={"url": thief.url}), "clusters/m2.yaml": joined})
        daemon.stop()  # where the state goes is read once
        again = world.daemon("--repo", https.url, "--git-credentials", str(login), "--credentials-dir", str(keys))
        world.until(lambda: "/fleet.git" in str(thief.paths), "the server that the commit names is asked")
        again.stop()
    assert not {one for one in thief.authorizations if one}
    everything = daemon.log_path.read_text() + again.log_path.read_text() + json.dumps(world.state())
    everything += "".join(path.read_text(errors="replace") for path in world.data.rglob("*") if path.is_file())
    for secret in (token, PASSWORD, "hunter2"):
        assert secret not in everything


def _unusable(daemon: Daemon) -> list[str]:
    return [line["error"] for line in daemon.said("cluster cannot be used") if line["cluster"] == "m2"]


def _record(world: World, cluster: str) -> dict[str, Any]:
    """What the state branch says of a cluster, once something of it is held."""
    recorded: dict[str, Any] = yaml.safe_load(world.state()["state.yaml"])["clusters"].get(cluster, {})
    return recorded if "held" in recorded else {}


def _with(declared: str, **spec: str) -> str:
    body = yaml.safe_load(declared)
    body["spec"].update(spec)
    return yaml.safe_dump(body)
