"""Forms of the pages: who gets one, what it orders, and what is refused before anything is written."""

from __future__ import annotations

import html
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitfed.errors import StateConflict
from gitfed.hub.access.caller import AuthenticationMethod, Caller
from gitfed.model.operator_orders import Suspension
from gitfed.offline import orders as given
from tests.hub.pages.leading import OBJECT, WEB, Written, leading, take_orders
from tests.hub.stage import Staged, ask, staged

EVIL = "</p><script>alert(1)</script>\n\nGitfed-Order: trust\u202e"


@dataclass
class Person:
    hub: Staged
    headers: dict[str, str]
    csrf: str

    async def page(self, path: str) -> str:
        status, text, _ = await ask(self.hub, "GET", path, headers=self.headers)
        assert status == 200, text
        return text

    async def send(self, order: str, **form: str) -> tuple[int, str, Mapping[str, str]]:
        data = {"csrf": self.csrf, "back": "/ui/problems", **form}
        return await ask(self.hub, "POST", f"/ui/orders/{order}", headers=self.headers, data=data)


def _person(hub: Staged, name: str) -> Person:
    cookie = hub.hub.sessions.begin(Caller(name, way=AuthenticationMethod.LOGIN_TOKEN))
    session = hub.hub.sessions.find(cookie)
    assert session is not None
    return Person(hub, {"Accept": "text/html", "Cookie": f"gitfed-session={cookie}"}, session.csrf)


async def _with(tmp_path: Path, name: str, do: Callable[[Person], Awaitable[None]]) -> None:
    running = leading()
    async with staged(tmp_path, running=running) as hub:
        take_orders(hub, running)
        await do(_person(hub, name))


@pytest.mark.parametrize(
    ("order", "what", "said"),
    [
        ("suspend", "cluster/eu-1", "Cluster/eu-1: suspended, nothing is written to it until a user resumes it."),
        ("suspend", "all", "Everything: suspended, nothing is written to it until a user resumes it."),
        ("resume", "cluster/us-1", "Cluster/us-1: resumed."),
        ("reconcile", WEB, f"{WEB}: looked at anew, what failed is tried again, drift is repaired."),
        ("approve", "ab" * 32, "Plan abababababab of commit cccccccccccc is let through: deletions."),
    ],
)
async def test_a_form_orders_and_its_page_says_so_once(
    tmp_path: Path, written: Written, caplog: pytest.LogCaptureFixture, order: str, what: str, said: str
) -> None:
    caplog.set_level(logging.INFO, "gitfed.audit")

    async def do(ann: Person) -> None:
        status, _, headers = await ann.send(order, what=what, reason="because", back="/ui/problems?x=1&done=old")
        assert status == 303
        assert headers["Location"].startswith("/ui/problems?x=1&done=")
        assert "old" not in headers["Location"]
        assert said not in await _person(ann.hub, "bob").page(headers["Location"])
        assert said in html.unescape(await ann.page(headers["Location"]))
        assert said not in html.unescape(await ann.page(headers["Location"]))

    await _with(tmp_path, "ann", do)
    assert len(written.orders) == 1
    name, of = written.orders[0]
    assert name == order
    if isinstance(of, Suspension):
        assert (of.of, of.by, of.reason) == (what, "ann", "because")
    else:
        assert of in (what, [what])
    line = next(one for one in caplog.records if one.message == "request")
    assert vars(line)["who"] == "ann"
    assert vars(line)["result"] == "303"
    assert f"operation={order}" in vars(line)["where"]


async def test_who_may_order_gets_the_forms_and_who_may_not_does_not(tmp_path: Path) -> None:
    async def everything(ann: Person) -> None:
        text = await ann.page("/ui/problems")
        digest = ann.hub.hub.running.plan.digest  # type: ignore[union-attr]
        assert f'name="what" value="{digest}"' in text
        assert "with all that deletions and moved replicas hold" in text
        assert text.count('action="/ui/orders/resume"') == 2
        assert '<option value="all">' in text
        assert 'action="/ui/orders/suspend"' in await ann.page(OBJECT)

    async def shop(eve: Person) -> None:
        text = await eve.page("/ui/problems")
        assert text.count('action="/ui/orders/resume"') == 1
        assert "/ui/orders/approve" not in text
        assert "/ui/orders/suspend" not in text
        assert 'action="/ui/orders/suspend"' in await eve.page(OBJECT)

    async def nothing(bob: Person) -> None:
        for page in ("/ui/problems", OBJECT):
            assert "/ui/orders/" not in await bob.page(page)

    await _with(tmp_path / "ann", "ann", everything)
    await _with(tmp_path / "eve", "eve", shop)
    await _with(tmp_path / "bob", "bob", nothing)


async def test_a_form_orders_nothing_without_the_right(tmp_path: Path, written: Written) -> None:
    """bob only looks; eve may everything in the namespace shop."""

    async def looks(bob: Person) -> None:
        for order in ("suspend", "resume", "reconcile", "approve"):
            status, text, _ = await bob.send(order, what=WEB)
            assert status == 403
            assert "No AccessPolicy lets bob operate." in text

    async def shop(eve: Person) -> None:
        for order in ("suspend", "resume", "reconcile", "approve"):
            status, text, _ = await eve.send(order, what="all")
            assert status == 403
            assert "No AccessPolicy lets eve operate everything" in text
            assert 'href="/ui/problems">Back to the page' in text

    await _with(tmp_path / "bob", "bob", looks)
    await _with(tmp_path / "eve", "eve", shop)
    assert written.orders == []


async def test_a_form_orders_nothing_without_the_sessions_token(tmp_path: Path, written: Written) -> None:
    async def do(ann: Person) -> None:
        for order in ("suspend", "resume", "reconcile", "approve"):
            for wrong in ("", "guess"):
                status, text, _ = await ann.send(order, what="all", csrf=wrong)
                assert status == 403
                assert "The form is too old: load the page again." in text
        ann.hub.hub.sessions._by_id.clear()
        status, text, _ = await ann.send("suspend", what="all")
        assert status == 401
        assert "<h1>Sign in</h1>" in text

    await _with(tmp_path, "ann", do)
    assert written.orders == []


@pytest.mark.parametrize(
    ("what", "status", "said"),
    [
        ("", 400, "'' does not name an object: KIND/NAME or KIND/NAMESPACE/NAME, e.g. deploy/shop/web."),
        ("cluster/nowhere", 404, "No cluster 'nowhere'."),
        (EVIL, 404, "No object "),
    ],
)
async def test_a_form_that_means_nothing_is_answered_in_words(
    tmp_path: Path, written: Written, what: str, status: int, said: str
) -> None:
    async def do(ann: Person) -> None:
        for order in ("suspend", "reconcile"):
            found, text, _ = await ann.send(order, what=what, back="//evil.example")
            assert found == status
            assert said in html.unescape(text)
            assert "<script>" not in text
            assert "evil.example" not in text

    await _with(tmp_path, "ann", do)
    assert written.orders == []


async def test_an_order_that_another_one_crossed_is_answered_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crossed(book: object, order: Suspension) -> None:
        raise StateConflict("somebody else wrote at the same time", hint="try again")

    monkeypatch.setattr(given, "suspend", crossed)

    async def do(ann: Person) -> None:
        status, text, _ = await ann.send("suspend", what="all")
        assert status == 409
        assert "<h1>Not now</h1>" in text
        assert "Somebody else wrote at the same time: try again." in text

    await _with(tmp_path, "ann", do)


async def test_a_reason_is_one_line_of_text_and_never_markup(tmp_path: Path, written: Written) -> None:
    async def do(ann: Person) -> None:
        status, _, headers = await ann.send("suspend", what=WEB, reason=EVIL)
        assert status == 303
        assert "<script>" not in await ann.page(headers["Location"])

    await _with(tmp_path, "ann", do)
    assert written.orders[0][1].reason == "</p><script>alert(1)</script> Gitfed-Order: trust"


async def test_who_stands_by_offers_no_forms_and_takes_none(tmp_path: Path) -> None:
    running = leading()
    running.engine = None
    async with staged(tmp_path, running=running) as hub:
        ann = _person(hub, "ann")
        for taken in (False, True):
            if taken:
                take_orders(hub, running)
            assert "/ui/orders/" not in await ann.page("/ui/problems")
            status, text, _ = await ann.send("suspend", what="all")
            assert status == 503
            assert "This gitfed does not lead, so it takes no orders" in text


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/x-www-form-urlencoded", b"what=\xff"),
        ("application/x-www-form-urlencoded", b"what=%FF&reason=because"),
        ("multipart/form-data; boundary=x",
         b'--x\r\nContent-Disposition: form-data; name="what"\r\n\r\n\xff\r\n--x--\r\n'),
        ("multipart/form-data; boundary=x", b"no part at all"),
        ("multipart/form-data", b"what=all"),
    ],
)  # fmt: skip
async def test_a_form_that_is_no_text_is_refused(tmp_path: Path, written: Written, kind: str, body: bytes) -> None:
    async def do(ann: Person) -> None:
        headers = {**ann.headers, "Content-Type": kind, "X-CSRF-Token": ann.csrf}
        status, text, _ = await ask(ann.hub, "POST", "/ui/orders/suspend", headers=headers, data=body)
        assert status == 400
        assert "The form cannot be read: it must be UTF-8." in html.unescape(text)
        assert not written.orders

    await _with(tmp_path, "ann", do)
