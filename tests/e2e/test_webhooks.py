"""The same kind of a user's own, with its rules in a webhook: over real HTTPS, from a push to the clusters."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.e2e.workloads import GROUP, arrived, image_of, pause, spec_of, workload, workload_repository
from tests.e2e.world import World, config_map, policy
from tests.support import needs, patience
from tests.webhooks.serving import Authority, Running, answering, example, raw, reply, serving

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture
def server(authority: Authority) -> Iterator[Running]:
    with serving(authority) as running:
        yield running


IMPLEMENTED = list(example().OPERATIONS)


def rules(url: str, authority: Authority) -> str:
    return yaml.safe_dump(
        {
            "apiVersion": "config.karmada.io/v1alpha1",
            "kind": "ResourceInterpreterWebhookConfiguration",
            "metadata": {"name": "workloads"},
            "webhooks": [
                {
                    "name": "workloads.example.com",
                    "clientConfig": {"url": url, "caBundle": authority.bundle},
                    "rules": [
                        {
                            "operations": IMPLEMENTED,
                            "apiGroups": [GROUP],
                            "apiVersions": ["v1alpha1"],
                            "kinds": ["Workload"],
                        }
                    ],
                    "interpreterContextVersions": ["v1alpha1"],
                }
            ],
        }
    )


def everywhere(world: World) -> None:
    for name in ("m1", "m2"):
        world.until(lambda name=name: arrived(world, name), f"the object in {name}")


def recorded(world: World) -> dict[str, Any]:
    """(operation, replicas) → response, of the pushed state branch."""
    documents = [yaml.safe_load(text) for path, text in world.state().items() if path.startswith("answers/")]
    return {(one["operation"], one.get("replicas")): one for one in documents}


def test_a_webhook_divides_a_kind_and_says_what_a_member_keeps(
    world: World, server: Running, authority: Authority
) -> None:
    world.push(workload_repository(rules(server.url, authority)))
    daemon = world.daemon()
    everywhere(world)
    assert [spec_of(world, name)["replicas"] for name in ("m1", "m2")] == [2, 1]
    pause(world, "m1")
    world.push({"web.yaml": workload("nginx:1.28")})
    for name in ("m1", "m2"):
        world.until(lambda name=name: image_of(world, name) == "nginx:1.28", f"the new image in {name}")
    assert [spec_of(world, name)["replicas"] for name in ("m1", "m2")] == [2, 1]
    assert [spec_of(world, name)["paused"] for name in ("m1", "m2")] == [True, False]
    assert {one["kind"]["kind"] for one in (received["request"] for received in server.received)} == {"Workload"}

    # What decisions were made from is on the state branch, for the present object only; what was retained is not.
    world.until(lambda: all("1.28" in str(one) or one["operation"] for one in recorded(world).values()), "the answers")
    world.until(lambda: len([path for path in world.state() if path.startswith("answers/")]) == 3, "three answers")
    answers = recorded(world)
    assert sorted(answers, key=str) == [("InterpretReplica", None), ("ReviseReplica", 1), ("ReviseReplica", 2)]
    assert answers["InterpretReplica", None] == {
        "webhook": "workloads/workloads.example.com",
        "operation": "InterpretReplica",
        "object": "Workload.workload.example.io/shop/web",
        "response": {"replicas": 3, "replicaRequirements": {"resourceRequest": {"cpu": "100m"}}},
    }

    # A look asks nobody, and gets the same from what was recorded.
    daemon.stop()
    before = len(server.received)
    plan = world.gitfed("plan", "--repo", str(world.bare), "-o", "json").stdout
    (found,) = [one for one in yaml.safe_load(plan)["bindings"] if one["resource"]["kind"] == "Workload"]
    assert [(one["name"], one["replicas"]) for one in found["clusters"]] == [("m1", 2), ("m2", 1)]
    assert "The same bytes" in world.gitfed("replay", "--repo", str(world.bare)).stdout
    assert "no recorded answer" not in world.gitfed("validate", "--repo", str(world.bare)).stdout
    (world.work / "none.yaml").write_text("")
    plan = world.gitfed("plan", "--repo", str(world.bare), "--decisions", "none.yaml", "-o", "json").stdout
    assert next(one for one in yaml.safe_load(plan)["bindings"] if one["resource"]["kind"] == "Workload")["clusters"]
    assert len(server.received) == before


def test_a_webhook_that_is_down_stops_nobody_else_and_keeps_what_was_decided(
    world: World, authority: Authority
) -> None:
    with serving(authority) as first:
        port, url = first.port, first.url
        world.push(workload_repository(rules(url, authority)))
        daemon = world.daemon()
        everywhere(world)
    world.push({
        "web.yaml": workload("nginx:1.28"),
        "other.json": config_map("other", {"a": "b"}), "others.json": policy("others", None, (("v1", "ConfigMap"),)),
    })  # fmt: skip
    world.until(lambda: world.get("m2", "ConfigMap", "shop", "other"), "another object of the same push")
    world.until(
        lambda: (
            ("workloads/workloads.example.com", "Workload", "InterpretReplica")
            in {(line["webhook"], line["kind"], line["operation"]) for line in daemon.said("webhook gives no answer")}
        ),
        "the failure in the log",
    )
    assert [image_of(world, name) for name in ("m1", "m2")] == ["nginx:1.27"] * 2
    assert [spec_of(world, name)["replicas"] for name in ("m1", "m2")] == [2, 1]
    with serving(authority, port=port):
        for name in ("m1", "m2"):
            world.until(lambda name=name: image_of(world, name) == "nginx:1.28", f"the new image in {name}")
    assert daemon.said("webhook answers again")
    assert daemon.process.poll() is None


@pytest.mark.parametrize(
    "lie",
    [
        pytest.param(lambda handler, context: raw(handler, b"<html>"), id="no JSON"),
        pytest.param(answering(replicas="many", patchType="JSONPatch", patch="e30="), id="wrong types"),
        pytest.param(answering(replicas=3, patchType="JSONPatch", patch="W3sib3AiOiJyZW1vdmUiLCJwYXRoIjoiL25vbmUifV0="),
                     id="a patch that does not apply"),
    ],
)  # fmt: skip
def test_a_webhook_that_lies_changes_nothing(world: World, server: Running, authority: Authority, lie: Any) -> None:
    world.push(workload_repository(rules(server.url, authority)))
    daemon = world.daemon()
    everywhere(world)
    server.react = lie
    world.push({"web.yaml": workload("nginx:1.28")})
    (line, *_) = world.until(lambda: daemon.said("webhook gives no answer"), "the failure in the log")
    assert line["object"] == "Workload.workload.example.io/shop/web"
    assert [image_of(world, name) for name in ("m1", "m2")] == ["nginx:1.27"] * 2
    server.react = None
    for name in ("m1", "m2"):
        world.until(lambda name=name: image_of(world, name) == "nginx:1.28", f"the new image in {name}")


def test_a_revision_under_review_is_never_asked_about(world: World, server: Running, authority: Authority) -> None:
    """`plan`, `diff` and `validate` of a branch that names a server of its own."""
    with serving(authority) as theirs:
        world.push(workload_repository(rules(server.url, authority)))
        world.apply()
        world.git("checkout", "-q", "-b", "review")
        world.write({"rules.yaml": rules(theirs.url, authority), "web.yaml": workload("nginx:1.28")})
        world.git("commit", "-aqm", "mine")
        before = len(server.received)
        for command in (["plan", "-o", "json"], ["diff", "main..HEAD"], ["validate"], ["render"]):
            done = (
                world.gitfed(*command, "--kubeconfig", str(world.kubeconfig), check=False)
                if command[0] == "plan"
                else world.gitfed(*command, check=False)
            )
            assert done.returncode in (0, 1), done.stderr
        assert theirs.received == []
        assert len(server.received) == before
        plan = yaml.safe_load(world.gitfed("plan", "-o", "json").stdout)
    said = [one["message"] for one in plan["problems"]]
    assert said == [
        "Workload.workload.example.io/shop/web: InterpretReplica of Workload: the webhook "
        "workloads/workloads.example.com has no recorded answer; it is asked when the commit is applied"
    ]


@needs.pushed("agents listen to gitfed run alone: gitfed apply carries out nothing in pulled clusters")
def test_a_webhook_that_takes_its_time_holds_up_its_own_objects_alone(
    world: World, server: Running, authority: Authority
) -> None:
    think = threading.Event()

    def slowly(handler: Any, context: dict[str, Any]) -> None:
        think.wait(patience.SECONDS)
        reply(handler, example().respond(context))

    server.react = slowly
    world.push({
        **workload_repository(rules(server.url, authority)),
        "other.json": config_map("other", {"a": "b"}), "others.json": policy("others", None, (("v1", "ConfigMap"),)),
    })  # fmt: skip
    applying = threading.Thread(target=world.apply)
    applying.start()
    try:
        for name in ("m1", "m2"):
            world.until(lambda name=name: world.get(name, "ConfigMap", "shop", "other"), "the other object")
        assert not arrived(world, "m1")
        assert applying.is_alive()
    finally:
        think.set()
        applying.join(patience.SECONDS)
    assert [spec_of(world, name)["replicas"] for name in ("m1", "m2")] == [2, 1]


def test_apply_asks_and_waits_for_the_answers(world: World, server: Running, authority: Authority) -> None:
    world.push(workload_repository(rules(server.url, authority)))
    world.apply()
    assert [spec_of(world, name)["replicas"] for name in ("m1", "m2")] == [2, 1]
    before = len(server.asked("InterpretReplica"))
    world.apply()
    assert len(server.asked("InterpretReplica")) == before


def test_a_killed_daemon_asks_nothing_twice_that_was_recorded(
    world: World, server: Running, authority: Authority
) -> None:
    world.push(workload_repository(rules(server.url, authority)))
    daemon = world.daemon()
    everywhere(world)
    world.until(lambda: len(recorded(world)) == 3, "the answers")
    daemon.kill()
    asked = len(server.asked("InterpretReplica")) + len(server.asked("ReviseReplica"))
    again = world.daemon()
    world.until(lambda: again.said("cycle finished"), "a cycle")
    assert len(server.asked("InterpretReplica")) + len(server.asked("ReviseReplica")) == asked
    assert len(recorded(world)) == 3


def test_answers_about_an_object_that_is_gone_are_dropped(world: World, server: Running, authority: Authority) -> None:
    world.push(workload_repository(rules(server.url, authority)))
    world.daemon()
    everywhere(world)
    world.until(lambda: len(recorded(world)) == 3, "the answers")
    world.push({"web.yaml": None})
    world.until(lambda: not recorded(world), "no answer left")


def test_a_webhook_with_rules_for_everything_never_sees_a_secret(
    world: World, server: Running, authority: Authority
) -> None:
    everything = yaml.safe_load(rules(server.url, authority))
    everything["webhooks"][0]["rules"] = [
        {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "kinds": ["*"]}
    ]
    server.react = lambda handler, context: reply(
        handler,
        {
            "response": {
                "uid": context["request"]["uid"], "successful": True, "replicas": 0, "healthy": True,
                "rawStatus": {}, "dependencies": [],
            }
        },
    )  # fmt: skip
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "shop"},
              "stringData": {"password": "planted-hunter2"}}  # fmt: skip
    repository = workload_repository(yaml.safe_dump(everything))
    world.push({
        **repository, "secret.yaml": yaml.safe_dump(secret), "map.json": config_map("map", {"a": "b"}),
        "secrets.json": policy("secrets", None, (("v1", "Secret"), ("v1", "ConfigMap"))),
    })  # fmt: skip
    world.apply()
    for name in ("m1", "m2"):
        assert world.get(name, "Secret", "shop", "s")
        assert world.get(name, "ConfigMap", "shop", "map")
    kinds = {one["request"]["kind"]["kind"] for one in server.received}
    assert "ConfigMap" in kinds
    assert "Secret" not in kinds
    everywhere_written = [*map(str, server.received), *world.state().values()]
    for form in ("planted-hunter2", "cGxhbnRlZC1odW50ZXIy"):
        assert not [text for text in everywhere_written if form in text]
