"""The pages of a real daemon in a real browser: a person logs in at their issuer, watches repairs, gives orders."""

from __future__ import annotations

import asyncio
import json
import subprocess
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select

from tests.e2e.world import Daemon, World, cluster, config_map, policy, settings
from tests.hub import issuer
from tests.hub.issuer import Forge
from tests.hub.pages import browser
from tests.hub.pages.browser import Browser
from tests.support import needs, patience

pytestmark = [
    pytest.mark.e2e, needs.program("chromium", "chromedriver", "kubectl"),
    needs.pushed("its hub has no TLS, and agents want it"),
]  # fmt: skip

_DATA = "/api/v1/namespaces/shop/configmaps/{}"


def _files() -> dict[str, str | None]:
    access = {
        "apiVersion": "gitfed.io/v1alpha1", "kind": "AccessPolicy", "metadata": {"name": "ann"},
        "spec": {"subjects": [{"kind": "User", "name": "ann"}], "allow": ["view", "operate"]},
    }  # fmt: skip
    maps = {f"maps/{number}.json": config_map(f"c{number}", {"a": "b"}) for number in range(4)}
    return {
        "gitfed.json": settings(guards={"maxDeletions": 1}),
        "access.json": json.dumps(access),
        "clusters/m1.json": cluster("m1"),
        "clusters/m2.json": cluster("m2"),
        "policy.json": policy("maps", ["m1", "m2"], (("v1", "ConfigMap"),)),
        **maps,
    }


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser.chromium() as found:
        yield found


@pytest.fixture(scope="module")
def forge() -> Iterator[Forge]:
    """An issuer in a thread: the daemon and the browser ask it while the test waits."""
    found: list[Forge] = []
    loops: list[asyncio.AbstractEventLoop] = []
    ready, over = threading.Event(), asyncio.Event()

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        async with issuer.running() as made:
            found.append(made)
            ready.set()
            await over.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="issuer")
    thread.start()
    assert ready.wait(patience.SECONDS)
    yield found[0]
    loops[0].call_soon_threadsafe(over.set)
    thread.join(patience.SECONDS)


def _log_in(world: World, chromium: Browser, forge: Forge) -> tuple[Daemon, str]:
    """(a daemon whose hub has applied everything, its address); the browser is logged in at the fleet's page."""
    world.push(_files())
    daemon = world.daemon("--hub-address", "127.0.0.1:0", "--oidc-issuer-url", forge.url, "--oidc-client-id", "gitfed")
    world.until(lambda: daemon.said("the hub listens"), "the hub listens")
    world.until(lambda: len(daemon.said("object created")) >= 8, "everything is applied")
    url = str(daemon.said("the hub listens")[0]["url"])
    chromium.forget()
    chromium.driver.get(f"{url}/ui")
    chromium.driver.find_element(By.PARTIAL_LINK_TEXT, "Sign in").click()
    chromium.until(lambda: "clusters ready" in chromium.text("#figures"))
    chromium.until(lambda: chromium.text("#live").endswith("Live"))
    chromium.complaints()  # of the page that said where to sign in
    return daemon, url


def _kubectl(world: World, cluster: str, *arguments: str) -> str:
    done = subprocess.run(
        ["kubectl", "--kubeconfig", str(world.kubeconfig), "--context", cluster, *arguments],
        capture_output=True, text=True, timeout=patience.SECONDS, check=True, env=world.environment,
    )  # fmt: skip
    return done.stdout


def _breaks(world: World, name: str) -> None:
    _kubectl(world, "m1", "-n", "shop", "patch", "configmap", name, "--type=merge", "-p", '{"data":{"a":"by hand"}}')


def _is(world: World, name: str) -> str:
    return _kubectl(world, "m1", "-n", "shop", "get", "configmap", name, "-o", "jsonpath={.data.a}")


def _order(chromium: Browser, button: str) -> None:
    chromium.driver.find_element(By.XPATH, f"//button[starts-with(normalize-space(), '{button}')]").click()


def _said(chromium: Browser, text: str) -> None:
    chromium.until(lambda: text in chromium.text(".notice[role=status]"))


def test_a_newcomer_breaks_an_object_and_watches_the_repair(world: World, chromium: Browser, forge: Forge) -> None:
    _, url = _log_in(world, chromium, forge)
    for page in (f"{url}/ui/object?of=ConfigMap/shop/c0", f"{url}/ui"):
        chromium.driver.get(page)
        chromium.until(lambda: chromium.text("#live").endswith("Live"))
        before = chromium.text("#lately").count("Repaired")
        chromium.run("window.stays = 1")
        _breaks(world, "c0")
        chromium.until(lambda before=before: chromium.text("#lately").count("Repaired") > before)
        world.until(lambda: _is(world, "c0") == "b", "the daemon has repaired it")
        assert chromium.run("return window.stays") == 1, "the page followed without being loaded anew"
    assert chromium.complaints() == []


def test_a_person_suspends_an_object_and_lets_it_be_repaired(world: World, chromium: Browser, forge: Forge) -> None:
    _, url = _log_in(world, chromium, forge)
    chromium.driver.get(f"{url}/ui/object?of=ConfigMap/shop/c1")
    chromium.find("input[name=reason]").send_keys("somebody debugs it")
    _order(chromium, "Suspend")
    _said(chromium, "ConfigMap/shop/c1: suspended")
    written = _suspensions(world)
    assert [(one["of"], one["by"], one["reason"]) for one in written] == [
        ("ConfigMap/shop/c1", "ann", "somebody debugs it"),
    ]
    chromium.until(lambda: "suspended by ann" in chromium.text("#warnings"))
    chromium.run("window.stays = 1")
    _breaks(world, "c1")
    chromium.until(lambda: "Held" in chromium.text("#copies"))  # the drift is seen, and left alone
    assert _is(world, "c1") == "by hand"
    assert chromium.run("return window.stays") == 1

    _order(chromium, "Resume")
    _said(chromium, "ConfigMap/shop/c1: resumed")
    world.until(lambda: _is(world, "c1") == "b", "the daemon has repaired it")
    chromium.until(lambda: "Repaired" in chromium.text("#lately"))
    chromium.until(lambda: "Held" not in chromium.text("#copies"))
    assert _suspensions(world) == []
    chromium.until(lambda: "Suspended by ann: somebody debugs it" in chromium.text("#story"))
    chromium.until(lambda: "Resumed, it was suspended by ann" in chromium.text("#story"))
    assert "Suspended" in world.gitfed("get", "events", "configmap/shop/c1", "--repo", str(world.bare)).stdout


def _suspensions(world: World) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load(world.state()["state.yaml"]).get("suspensions") or []
    return found


def test_what_a_gate_holds_is_let_through_by_its_digest(world: World, chromium: Browser, forge: Forge) -> None:
    daemon, url = _log_in(world, chromium, forge)
    chromium.driver.get(f"{url}/ui/problems")
    world.push({f"maps/{number}.json": None for number in (0, 1, 2)})
    chromium.until(lambda: "deletions holds 6" in chromium.text("#gates"))
    chromium.until(lambda: chromium.find("#gates input[name=what]").get_attribute("value"))
    digest = str(chromium.find("#gates input[name=what]").get_attribute("value"))
    assert digest[:12] in chromium.text("#gates")
    assert digest in world.state()["state.yaml"], "what the page lets through is what the daemon wrote down"
    assert _is(world, "c0") == "b"
    _order(chromium, "Approve")
    _said(chromium, f"Plan {digest[:12]}")
    world.until(lambda: len(daemon.said("object deleted")) >= 6, "what was held is carried out")
    chromium.until(lambda: "holds" not in chromium.text("#gates"))

    _breaks(world, "c3")
    chromium.driver.get(f"{url}/ui/problems")
    Select(chromium.find("select[name=what]")).select_by_value("all")
    _order(chromium, "Reconcile")
    _said(chromium, "Everything: looked at anew")
    world.until(lambda: _is(world, "c3") == "b", "drift is repaired")
