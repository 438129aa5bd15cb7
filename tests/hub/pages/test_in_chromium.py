"""The pages in a real browser: every width, light and dark, keyboard alone, screen readers, and hostile texts."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

from gitfed.hub.answers.moment import Moment
from gitfed.hub.pages import what_if
from gitfed.hub.running import Running
from gitfed.model.base import ObjectKey, Origin, Problem, Severity
from gitfed.model.fleet import Reach
from gitfed.model.operator_orders import Suspension
from gitfed.model.plan import Gate
from tests.hub import fleet
from tests.hub.pages import browser, leading
from tests.hub.pages.browser import SCHEMES, WIDTHS, Browser
from tests.hub.stage import Recorded, Staged
from tests.support import needs, patience

pytestmark = needs.program("chromium", "chromedriver")

STYLE = (Path(what_if.__file__).parent / "static/pages.css").read_text(encoding="utf-8").strip()
AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text(encoding="utf-8")
WEB = "Deployment.apps/shop/web"
PAGES = (
    "/ui",
    "/ui/placement",
    f"/ui/object?of={quote(WEB)}",
    "/ui/commits",
    "/ui/problems",
    "/ui/what-if?fail=cluster/eu-1",
)
_VIOLATIONS = """
    const told = (one) => one.id + ': ' + one.nodes.slice(0, 3).map(
      (node) => node.target.join(' ') + ' ' + node.failureSummary).join(' | ');
    axe.run(document, {resultTypes: ['violations']}).then((found) => arguments[0](found.violations.map(told)));
"""
EVIL = '</td></table><img src=x onerror="window.stolen=1"><script>window.stolen=1</script>\'"&lt;\u202etxt'


def _recorded() -> Recorded:
    """A small fleet with everything that a page can show: what is held, wrong, suspended, unhealthy."""
    found = fleet.planned(
        *(fleet.workload("shop", name, 6) for name in ("web", "cache", "search")),
        fleet.workload("bank", "ledger", 9),
        fleet.secret("shop", "database", "correct-horse-battery"),
    )
    assert found.plan is not None
    key = ObjectKey("apps", "Deployment", "shop", "web")
    copies = [
        {"clusterName": "eu-1", "applied": True, "health": "Healthy", "status": {"replicas": 2, "readyReplicas": 2}},
        {"clusterName": "eu-2", "applied": True, "health": "Unhealthy", "status": {"replicas": 2, "readyReplicas": 1}},
        {"clusterName": "us-1", "applied": False, "health": "Unknown", "appliedMessage": "admission webhook denied it"},
    ]
    found.decisions = replace(
        found.decisions,
        statuses={key: {"aggregatedStatus": copies, "conditions": []}},
        suspensions=(Suspension("cluster/us-1", "ann", fleet.NOW, "maintenance"),),
    )
    found.facts = {
        name: replace(
            one,
            assumed=False,
            reach=Reach.NOT_READY if name == "us-1" else Reach.READY,
            kubernetes_version="v1.33.0",
            resource_summary={
                "allocatable": {"cpu": "16", "memory": "64Gi", "pods": "110"},
                "allocated": {"cpu": "13", "memory": "61Gi", "pods": "12"},
            },
        )
        for name, one in found.facts.items()
    }
    found.plan = replace(
        found.plan,
        gates=(
            Gate("deletions", "1", "3", held=3, messages=("three objects would go",)),
            Gate("moved replicas", "20", "0"),
        ),
        problems=(
            Problem(Origin("apps/web.yaml", 6, 3), "unknown field priorty", "did you mean priority?"),
            Problem(Origin("policies/web.yaml", 2), "selects nothing", severity=Severity.WARNING),
        ),
    )
    return found


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Staged]:
    with browser.hub(tmp_path_factory.mktemp("pages"), Running(_recorded())) as found:
        yield found


@pytest.mark.parametrize("page", PAGES)
def test_a_page_fits_every_width_in_light_and_dark(chromium: Browser, hub: Staged, page: str) -> None:
    chromium.log_in(hub)
    chromium.driver.get(hub.url + page)
    chromium.complaints()
    for width in WIDTHS:
        chromium.resize(width)
        paper = set()
        for scheme in SCHEMES:
            chromium.prefer(scheme)
            found = chromium.run("return document.documentElement.scrollWidth")
            assert found <= width, f"{page} is {found} wide at {width}"
            paper.add(chromium.run("return getComputedStyle(document.body).backgroundColor"))
        assert len(paper) == 2
    chromium.driver.get(hub.url + page)
    assert chromium.complaints() == []


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_fit_for_screen_readers(chromium: Browser, hub: Staged, page: str) -> None:
    chromium.log_in(hub)
    chromium.driver.get(hub.url + page)
    chromium.run(AXE)
    for width, scheme in ((1280, "light"), (1280, "dark"), (360, "dark")):
        chromium.resize(width)
        chromium.prefer(scheme)
        found = chromium.driver.execute_async_script(_VIOLATIONS)
        assert found == [], f"{page} at {width}, {scheme}"


def test_what_stands_on_the_pages(chromium: Browser, hub: Staged) -> None:
    chromium.log_in(hub)
    assert "2 of 3" in chromium.text("#figures")
    row = chromium.text("#clusters tbody tr:nth-child(3)")
    assert "Not ready, suspended" in row
    assert "suspended by ann since 2026-08-22T10:04Z: maintenance" in row
    assert "61Gi of 64Gi · 96 %" in row
    chromium.driver.get(f"{hub.url}/ui/placement?q=web")
    assert chromium.text(".matrix tbody tr").split() == ["shop/Deploy/web", "3/6", "2/2", "1/2", "2"]
    chromium.driver.get(hub.url + PAGES[2])
    assert "admission webhook denied it" in chromium.text("#copies")
    assert "its share of the replicas: 2 of 6" in chromium.text("#manifest")
    chromium.driver.get(f"{hub.url}/ui/problems")
    said = chromium.text("#problems").splitlines()
    assert {"Did you mean priority?", "apps/web.yaml:6:3", "policies/web.yaml:2"} <= set(said)
    assert chromium.text("#gates h3") == "deletions holds 3"
    chromium.driver.get(f"{hub.url}/ui/object?of={quote('Secret/shop/database')}")
    assert "correct-horse-battery" not in chromium.driver.page_source


def test_a_failure_is_told_on_a_timeline(chromium: Browser, hub: Staged) -> None:
    chromium.log_in(hub)
    chromium.driver.get(f"{hub.url}/ui/what-if?fail=cluster/eu-1")
    assert "cluster/eu-1: fails" in chromium.text(".timeline")
    assert "shop/Deploy/web" in chromium.text("#loss-title + div")


def test_a_failure_that_was_chosen_is_played(chromium: Browser, hub: Staged) -> None:
    chromium.log_in(hub)
    chromium.driver.get(f"{hub.url}/ui/what-if")
    Select(chromium.find("[name=fail]")).select_by_visible_text("cluster eu-1")
    chromium.find("main form button").click()
    chromium.until(lambda: "cluster/eu-1: fails" in chromium.text(".timeline"))


def test_a_long_play_is_waited_for_on_the_page(chromium: Browser, hub: Staged, monkeypatch: pytest.MonkeyPatch) -> None:
    chromium.log_in(hub)
    may, played = threading.Event(), []
    play = what_if._play

    def slowly(now: Moment, question: what_if.WhatIfQuestion) -> what_if.Played:
        played.append(question)
        assert may.wait(patience.SECONDS)
        return play(now, question)

    monkeypatch.setattr(what_if, "_play", slowly)
    monkeypatch.setattr(what_if, "_PATIENCE", 0.1)
    chromium.driver.get(f"{hub.url}/ui/what-if?fail=cluster/eu-2&minutes=10")
    assert "cluster eu-2 fails" in chromium.text(".empty")
    chromium.run("window.stays = 1")
    chromium.until(lambda: not chromium.run("return window.stays"))  # it asks again by itself
    assert chromium.text(".empty strong") == "Playing"
    may.set()
    chromium.until(lambda: "cluster/eu-2: fails" in chromium.text(".timeline"))
    chromium.driver.refresh()
    assert "cluster/eu-2: fails" in chromium.text(".timeline")
    assert len(played) == 1


def test_everything_can_be_reached_by_keyboard_alone(chromium: Browser, hub: Staged) -> None:
    chromium.log_in(hub)
    chromium.driver.get(f"{hub.url}/ui/placement")
    chromium.press(Keys.TAB)
    assert chromium.focused() == "Skip to the content"
    assert chromium.run("return document.activeElement.getBoundingClientRect().width") > 100  # it is seen
    chromium.press(Keys.ENTER)
    chromium.press(Keys.TAB)
    assert chromium.focused() == "q"  # the first control of the content
    chromium.press("ledger", Keys.ENTER)
    chromium.until(lambda: "q=ledger" in chromium.driver.current_url)
    chromium.run("document.body.focus()")
    met: list[str] = []
    for _ in range(40):
        chromium.press(Keys.TAB)
        met.append(chromium.focused())
        outline = chromium.run("return getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", f"the focus on {met[-1]} is not seen"
        if "ledger" in met[-1]:
            break
    for name in ("gitfed", "Auto", "Dark", "Sign out", "Fleet", "What if", "q", "Filter", "bank/Deploy/ledger"):
        assert name in met
    assert met.index("Fleet") < met.index("q") < met.index("bank/Deploy/ledger")
    chromium.press(Keys.ENTER)
    chromium.until(lambda: "/ui/object" in chromium.driver.current_url)
    headings = chromium.run("return [...document.querySelectorAll('h1, h2')].map(one => one.tagName)")
    assert headings[0] == "H1"
    assert headings.count("H1") == 1


def test_what_waits_is_approved_by_keyboard_alone(chromium: Browser, tmp_path: Path, written: leading.Written) -> None:
    running = leading.leading()
    assert running.plan is not None
    with browser.hub(tmp_path, running) as staged:
        leading.take_orders(staged, running)
        chromium.log_in(staged)
        for page in (leading.OBJECT, "/ui/problems"):
            chromium.driver.get(staged.url + page)
            chromium.run(AXE)
            for width, scheme in ((1280, "light"), (1280, "dark"), (360, "dark")):
                chromium.resize(width)
                chromium.prefer(scheme)
                assert chromium.driver.execute_async_script(_VIOLATIONS) == [], f"{page} at {width}, {scheme}"
                assert chromium.run("return document.documentElement.scrollWidth") <= width
        for _ in range(40):
            chromium.press(Keys.TAB)
            if chromium.focused().startswith("Approve plan"):
                break
        chromium.press(Keys.ENTER)
        chromium.until(lambda: "is let through: deletions" in chromium.text("main > .page > .notice.ok"))
        assert written.orders == [("approve", running.plan.digest)]


def test_the_theme_can_be_chosen_and_stays(chromium: Browser, hub: Staged) -> None:
    chromium.log_in(hub)
    chromium.driver.get(f"{hub.url}/ui/problems")
    chromium.find("#theme button[value=dark]").click()
    chromium.until(lambda: chromium.driver.get_cookie("gitfed-theme"))
    chromium.driver.get(f"{hub.url}/ui/problems")
    assert chromium.find("html").get_attribute("data-theme") == "dark"
    assert chromium.find("#theme button[value=dark]").get_attribute("aria-pressed") == "true"


def test_a_session_that_is_over_leads_to_the_login(chromium: Browser, hub: Staged) -> None:
    chromium.log_in(hub)
    hub.hub.sessions._by_id.clear()
    chromium.driver.get(f"{hub.url}/ui/placement")
    assert chromium.text("h1") == "Sign in"
    assert chromium.run("return performance.getEntriesByType('navigation')[0].responseStatus") == 401


def test_signing_out_ends_the_session(chromium: Browser, hub: Staged) -> None:
    chromium.log_in(hub)
    cookie = chromium.driver.get_cookie("gitfed-session")
    assert cookie is not None
    chromium.find("form[action='/logout'] button").click()
    chromium.until(lambda: chromium.text("h1") == "Sign in")
    assert hub.hub.sessions.find(cookie["value"]) is None
    assert chromium.run("return document.cookie") == ""


def test_who_may_see_nothing_is_told_so(chromium: Browser, hub: Staged) -> None:
    chromium.forget()
    chromium.log_in(hub, "mallory")
    assert chromium.text("h1") == "Not allowed"
    assert "No AccessPolicy lets mallory view." in chromium.text()
    chromium.complaints()


def test_what_a_caller_may_not_see_does_not_appear(chromium: Browser, hub: Staged) -> None:
    """bob may see the namespace shop in Europe."""
    chromium.log_in(hub, "bob")
    for page in ("/ui", "/ui/placement", "/ui/placement?show=all", f"/ui/object?of={quote(WEB)}", "/ui/problems"):
        chromium.driver.get(hub.url + page)
        source = chromium.driver.page_source
        for hidden in ("us-1", "bank", "ledger", "maintenance", "priorty", "three objects"):
            assert hidden not in source, f"{hidden} on {page}"
    chromium.driver.get(f"{hub.url}/ui/placement?q=web")
    assert chromium.text(".matrix tbody tr").split() == ["shop/Deploy/web", "3/4", "2/2", "1/2"]
    chromium.driver.get(f"{hub.url}/ui/object?of={quote('Deployment.apps/bank/ledger')}")
    assert chromium.text("h1") == "Not here"
    chromium.driver.get(f"{hub.url}/ui/what-if?fail=cluster/eu-1")
    assert "Not for this sign-in" in chromium.text()
    chromium.complaints()


# -- texts of others ---------------------------------------------------------------------------------------------


def _hostile() -> Recorded:
    """Everything that a repository, a cluster or a person can write is a try to run a script."""
    found = _recorded()
    assert found.plan is not None
    assert found.repo is not None
    old = ObjectKey("apps", "Deployment", "shop", "web")
    key = ObjectKey(EVIL, EVIL, EVIL, EVIL)
    binding = replace(
        found.plan.bindings[old],
        key=key,
        origin=Origin(EVIL, 1, 1),
        reasons=replace(found.plan.bindings[old].reasons, why=EVIL),
        scheduled=replace(found.plan.bindings[old].scheduled, affinity_name=EVIL),
    )
    manifest = found.repo.manifests[old]
    body = {**manifest.body, "metadata": {"name": EVIL, "annotations": {EVIL: EVIL}}, EVIL: [EVIL]}
    found.repo = replace(
        found.repo,
        manifests={**found.repo.manifests, key: replace(manifest, key=key, body=body, origin=Origin(EVIL, 1))},
    )
    classes = tuple(replace(one, key=key, body=body) for one in found.plan.rendered[old])
    found.plan = replace(
        found.plan,
        bindings={**found.plan.bindings, key: binding},
        rendered={**found.plan.rendered, key: classes},
        gates=(Gate(EVIL, EVIL, EVIL, held=1, messages=(EVIL,)),),
        problems=(Problem(Origin(EVIL, 1, 1), EVIL, EVIL),),
    )
    copies = [{"clusterName": "eu-1", "applied": False, "health": EVIL, "appliedMessage": EVIL}]
    found.decisions = replace(
        found.decisions,
        statuses={key: {"aggregatedStatus": copies, "conditions": []}},
        suspensions=(
            Suspension("cluster/eu-1", EVIL, fleet.NOW, EVIL),
            Suspension(EVIL, EVIL, fleet.NOW),
        ),
    )
    clusters = dict(found.repo.clusters)
    spec = clusters["eu-1"].spec.model_copy(update={"region": EVIL, "provider": EVIL, "zones": (EVIL,)})
    clusters["eu-1"] = clusters["eu-1"].model_copy(update={"spec": spec})
    found.repo = replace(found.repo, clusters=clusters)
    found.facts = {name: replace(one, kubernetes_version=EVIL) for name, one in found.facts.items()}
    return found


def test_no_text_of_others_becomes_markup(chromium: Browser, tmp_path: Path) -> None:
    with browser.hub(tmp_path, Running(_hostile())) as staged:
        chromium.log_in(staged)
        chromium.complaints()
        hostile = quote(str(ObjectKey(EVIL, EVIL, EVIL, EVIL)))
        for page in (
            "/ui",
            f"/ui/placement?q={quote(EVIL)}&namespace={quote(EVIL)}&cluster={quote(EVIL)}",
            "/ui/placement?show=all",
            "/ui/placement?show=attention",
            f"/ui/object?of={hostile}",
            f"/ui/object?of={quote(WEB)}&cluster={quote(EVIL)}",
            "/ui/commits",
            "/ui/problems",
            f"/ui/what-if?fail={quote(EVIL)}",
            f"/ui/what-if?fail={quote('region/' + EVIL.replace(' ', ''))}",
            "/ui/what-if?fail=cluster/eu-1",
        ):
            chromium.driver.get(staged.url + page)
            assert chromium.run("return window.stolen") is None, page
            assert chromium.run("return document.querySelectorAll('img, script:not([src]), iframe').length") == 0
            # A page that refuses brings the style along, and no other one.
            styles = chromium.run("return [...document.querySelectorAll('style')].map(one => one.textContent.trim())")
            assert {*styles} <= {STYLE}, page
            assert [one for one in chromium.complaints() if "404" not in one] == [], page
            assert "\u202e" not in chromium.driver.page_source, page
        chromium.driver.get(f"{staged.url}/ui/problems")
        assert "<img src=x onerror" in chromium.text()  # it is there, as text


@contextmanager
def _another_site(page: str) -> Iterator[str]:
    """A site of somebody else: `localhost` is none of 127.0.0.1's."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, *arguments: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://localhost:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_link_on_another_site_leads_to_the_page(chromium: Browser, hub: Staged) -> None:
    chromium.log_in(hub)
    with _another_site(f'<a href="{hub.url}/ui/problems">look</a>') as site:
        chromium.driver.get(site)
        chromium.find("a").click()
        chromium.until(lambda: chromium.text("h1") == "Problems and gates")
    chromium.complaints()


def test_a_form_on_another_site_changes_nothing(chromium: Browser, hub: Staged) -> None:
    chromium.log_in(hub)
    form = (
        f'<form method="post" action="{hub.url}/ui/theme"><input name="theme" value="dark"><button>win</button></form>'
    )
    with _another_site(form) as site:
        chromium.driver.get(site)
        chromium.find("button").click()
        chromium.until(lambda: chromium.driver.current_url.startswith(hub.url))
    assert chromium.text("h1") == "Sign in"  # the browser left the cookie out
    assert chromium.driver.get_cookie("gitfed-theme") is None
    chromium.complaints()
