"""An admission webhook that lets nothing be deleted: said in its words, and nobody else waits for it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.shop import BASE, image, inventory
from tests.e2e.world import World, config_map, deployment, policy, settings
from tests.webhooks.serving import Authority, reply, serving

pytestmark = pytest.mark.e2e

WORDS = "web is under legal hold"
HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


@contextlib.contextmanager
def denying(world: World, where: str) -> Iterator[None]:
    """While this is open, that cluster refuses to delete Deployments of the name web."""
    server = world.servers[where]
    if hasattr(server, "tell"):
        server.tell(lambda faults: faults.reject(WORDS, verb="delete", resource="deployments", name="web"))
        yield
        server.tell(lambda faults: faults.clear())
        return

    def deny(handler: Any, review: dict[str, Any]) -> None:
        request = review["request"]
        allowed = request["name"] != "web"
        response = {"uid": request["uid"], "allowed": allowed, **({} if allowed else {"status": {"message": WORDS}})}
        reply(handler, {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response})

    authority = Authority()
    with serving(authority, react=deny) as webhook:
        rule = {"operations": ["DELETE"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"]}
        hook = {"name": "hold.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "rules": [rule],
                "clientConfig": {"url": webhook.url, "caBundle": authority.bundle}}  # fmt: skip
        body = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
                "metadata": {"name": "hold"}, "webhooks": [hook]}  # fmt: skip
        world.ask(where, "POST", HOOKS, body)
        # The server takes a moment until it asks.
        probe = {"apiVersion": "apps/v1", "kind": "Deployment", **_probe()}
        world.ask(where, "POST", world.path("Deployment", "default"), probe)

        def held() -> bool:
            with contextlib.suppress(AssertionError):
                world.ask(where, "DELETE", world.path("Deployment", "default", "web") + "?dryRun=All")
                return False
            return True

        world.until(held, "the webhook is asked")
        yield
        world.ask(where, "DELETE", f"{HOOKS}/hold")


def _probe() -> dict[str, Any]:
    labels = {"app": "probe"}
    return {"metadata": {"name": "web"},
            "spec": {"selector": {"matchLabels": labels}, "replicas": 0,
                     "template": {"metadata": {"labels": labels},
                                  "spec": {"containers": [{"name": "main", "image": "nginx"}]}}}}  # fmt: skip


def test_a_deletion_that_a_webhook_denies_stays_pending_and_holds_nothing_else_up(world: World) -> None:
    maps = {"apps/conf.json": config_map("conf", {"a": "1"}),
            "policies/conf.json": policy("conf", ["m1", "m2"], (("v1", "ConfigMap"),))}  # fmt: skip
    # What stays keeps the namespace: no controller would finish the deletion of one here.
    free = {"gitfed.json": settings(guards={"maxDeletionPercent": 100})}
    world.push({**BASE, **maps, **free, "apps/stays.json": deployment("stays")})
    daemon = world.daemon()
    world.until(lambda: image(world, "web", "m1") and image(world, "web", "m2"), "web everywhere")
    world.until(lambda: world.state().get("state.yaml", "").count("outcome: applied") == 2, "recorded")
    with denying(world, "m1"):
        world.push({"apps/web.json": None, "apps/conf.json": None})
        complaint = world.until(lambda: daemon.said("change failed"), "the refusal is said")[0]
        assert (complaint["cluster"], complaint["object"]) == ("m1", "Deployment.apps/shop/web")
        assert WORDS in complaint["error"]
        world.until(lambda: image(world, "web", "m2") is None, "gone from m2")
        world.until(lambda: world.get("m1", "ConfigMap", "shop", "conf") is None, "what it does not hold is gone")
        world.push({"apps/later.json": deployment("later")})
        world.until(lambda: image(world, "later", "m1") and image(world, "later", "m2"), "later work")
        world.until(lambda: "outcome: failed" in world.state().get("state.yaml", ""), "the state branch tells")
        assert "web" in inventory(world, "m1"), "what is still there is still ours"
        assert image(world, "web", "m1") is not None
        daemon.kill()
        daemon = world.daemon()
        complaint = world.until(lambda: daemon.said("change failed"), "a restart does not forget it")[0]
        assert WORDS in complaint["error"]
    world.until(lambda: image(world, "web", "m1") is None, "gone when it may go")
    world.until(lambda: "web" not in inventory(world, "m1"), "and from the inventory")
