"""Commands that look into clusters, for people who reach none of them: through the doors of a hub, by their rights.

Only the agents reach these clusters.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.world import Result, gitfed
from tests.e2e.pulled import Agent, Pulled
from tests.e2e.pulled_shop import FEDERATION, POLICY, config, holds
from tests.e2e.pulled_shop import pulled as pulled
from tests.e2e.world import World
from tests.support import needs

pytestmark = [pytest.mark.e2e, pytest.mark.slow, needs.pushed("it brings its agents along")]


def access(name: str, *more: str) -> str:
    spec = "".join(f"  {line}\n" for line in more)
    return (
        f"apiVersion: gitfed.io/v1alpha1\nkind: AccessPolicy\nmetadata: {{name: {name}}}\n"
        f"spec:\n  subjects: [{{kind: User, name: {name}}}]\n  allow: [proxy]\n{spec}"
    )


READS = {
    "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "looks"},
    "rules": [
        {"apiGroups": [""], "verbs": ["list"], "resources": ["configmaps", "namespaces", "nodes", "pods"]},
        {"apiGroups": [""], "verbs": ["get"], "resources": ["configmaps"]},
    ],
}  # fmt: skip
"""What `docs/how-to/doors.md` says that a look needs, for a repository of ConfigMaps."""


def binding(user: str) -> dict[str, object]:
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": f"{user}-looks"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "looks"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    }  # fmt: skip


class Looking:
    """What a person at a desk has: a checkout, and a credential for the hub."""

    def __init__(self, pulled: Pulled) -> None:
        self.pulled = pulled
        self.agents: dict[str, Agent] = {}

    def credential(self, user: str) -> Path:
        file = self.pulled.world.directory / f"{user}.conf"
        made = gitfed(
            "kubeconfig", "--admin", "--user", user, "--data-dir", self.pulled.world.data, "--hub-url", self.pulled.url
        )
        file.write_text(made.out)
        return file

    def __call__(self, *words: str, user: str = "ann") -> Result:
        world = self.pulled.world
        return gitfed(*words, "--live", "--repo", world.work, "--server", self.pulled.url,
                      "--kubeconfig", world.directory / f"{user}.conf")  # fmt: skip


@pytest.fixture
def look(pulled: Pulled) -> Looking:
    """Two clusters with a ConfigMap each. ann may look; the policy of ben names a namespace; carl has no RBAC there; of
    dora no policy speaks."""
    world, made = pulled.world, Looking(pulled)
    made.agents = {name: pulled.agent(name) for name in world.names}
    pulled.daemon()
    world.push({
        "federation.yaml": FEDERATION, "policy.yaml": POLICY, **pulled.clusters(), "a.json": config("a", x="1"),
        "ann.yaml": access("ann"), "ben.yaml": access("ben", "namespaces: [shop]"), "carl.yaml": access("carl"),
    })  # fmt: skip
    roles = "/apis/rbac.authorization.k8s.io/v1"
    for name in world.names:
        world.until(lambda name=name: holds(world, name, "a", x="1"), f"the object in {name}")
        world.ask(name, "POST", f"{roles}/clusterroles", READS)
        for user in ("ann", "ben"):
            world.ask(name, "POST", f"{roles}/clusterrolebindings", binding(user))
    for user in ("ann", "ben", "carl", "dora"):
        made.credential(user)
    return made


def changes(plan: Result) -> list[tuple[str, str]]:
    return sorted((one["cluster"], one["action"]) for one in json.loads(plan.out)["changes"])


def settled(look: Looking) -> World:
    world = look.pulled.world
    world.until(lambda: world.state().get("state.yaml", "").count("outcome: applied") == 2, "the roll-out is recorded")
    return world


def test_commands_read_pulled_clusters_through_the_hub_as_who_asks(look: Looking) -> None:
    world = settled(look)
    plan = look("plan", "-o", "json")
    assert (plan.code, changes(plan)) == (0, []), plan.err + plan.out
    assert json.loads(plan.out)["facts"]["source"] == "live"
    assert look("diff").code == 0

    world.write({"a.json": config("a", x="2")})
    plan = look("plan", "--worktree", "-o", "json")
    assert (plan.code, changes(plan)) == (0, [("m1", "update"), ("m2", "update")]), plan.err + plan.out
    differing = look("diff", "--worktree")
    assert differing.code == 1, differing.err
    assert '+ /data/x: "2"' in differing.out, differing.out

    works = look("get", "works", "--cluster", "m2", "-o", "json")
    assert works.code == 0, works.err
    assert {one["state"] for one in json.loads(works.out)["items"]} == {"applied"}, works.out
    orphans = look("get", "orphans")
    assert orphans.code == 0, orphans.err
    top = look("top", "clusters", "-o", "json")
    assert top.code == 0, top.err
    assert [(one["name"], one["assumed"]) for one in json.loads(top.out)["items"]] == [("m1", False), ("m2", False)]


LOOKS = (("plan",), ("diff",), ("get", "works"), ("top", "clusters"))


@pytest.mark.parametrize(
    ("user", "why"),
    [
        pytest.param("dora", "no AccessPolicy lets dora proxy", id="no AccessPolicy"),
        pytest.param(
            "ben",
            "no AccessPolicy lets ben through the door of cluster m1 to configmaps in namespace gitfed-system",
            id="an AccessPolicy for a namespace",
        ),
        pytest.param("carl", 'configmaps is forbidden: User "carl" cannot list resource "configmaps"', id="no RBAC"),
    ],
)
def test_who_may_not_look_is_told_why_and_nothing_is_taken_for_gone(look: Looking, user: str, why: str) -> None:
    settled(look)
    for words in LOOKS:
        done = look(*words, user=user)
        assert done.code == 4, done.out + done.err
        assert f"could not be read: {why}" in done.err + done.out, words
    plan = look("plan", "-o", "json", user=user)
    assert set(changes(plan)) == {("m1", "skip"), ("m2", "skip")}


def test_an_agent_that_is_away_and_a_hub_that_is_are_told_apart(look: Looking) -> None:
    world = settled(look)
    look.agents["m2"].kill()
    why = "Cluster m2 could not be read: it is pulled, and its agent is not connected"
    world.until(lambda: why in look("get", "works").err, "the agent is missed")
    for words in LOOKS:
        done = look(*words)
        assert done.code == 4, done.out + done.err
        assert why in done.err + done.out, words
        assert "m1 could not be read" not in done.err + done.out, words
    assert "m2 assumed" in " ".join(look("top", "clusters").out.split()), "that is no fact about the cluster"

    world.daemons[0].kill()
    for words in LOOKS:
        done = look(*words)
        assert (done.code, done.out) == (4, ""), words
        assert done.err == f"error: the hub at {look.pulled.url} refuses the connection\n"


def test_a_look_without_a_hub_says_who_reaches_a_pulled_cluster(look: Looking) -> None:
    world = settled(look)
    for words in LOOKS:
        done = gitfed(*words, "--live", "--repo", world.work, "--kubeconfig", look.pulled.nowhere)
        assert done.code == 4, done.out + done.err
        assert "it is pulled: its agent reaches it, and this process does not" in done.err + done.out, words
        assert "gitfed plan --server looks through a hub" in done.err + done.out, words
    token = world.directory / "token"
    token.write_text("a-token-of-somebody-else")
    refused = gitfed("plan", "--live", "--repo", world.work, "--server", look.pulled.url,
                     "--certificate-authority", look.pulled.folder / "ca.crt", "--token-file", token)  # fmt: skip
    assert refused.code == 4
    assert refused.err.startswith(f"error: the hub at {look.pulled.url}: "), refused.err
    assert "a-token-of-somebody-else" not in refused.err
