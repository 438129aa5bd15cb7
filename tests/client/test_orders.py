"""Orders by the command line over a hub: who may, what is written, and the line of the audit log."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from gitfed.hub.access.caller import AuthenticationMethod, Caller
from gitfed.hub.running import Running
from tests.cli.world import Result, gitfed
from tests.hub.pages import leading
from tests.hub.stage import Passwords, Recorded, Staged, ask, staged

KNOWN = [Passwords({f"token-of-{name}": Caller(name, way=AuthenticationMethod.OIDC) for name in ("ann", "bob", "eve")})]


async def _gitfed(hub: Staged, folder: Path, who: str, *words: str) -> Result:
    token = folder / who
    token.write_text(f"token-of-{who}")
    return await asyncio.to_thread(gitfed, *words, "--server", hub.url, "--token-file", token)


async def test_an_order_is_written_in_the_name_of_who_asks_and_audited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "gitfed.audit")
    written, running = leading.noted(monkeypatch), leading.leading()
    async with staged(tmp_path, tokens=KNOWN, running=running) as hub:
        leading.take_orders(hub, running)
        found = await _gitfed(hub, tmp_path, "ann", "suspend", "deploy/shop/web", "--reason", "a look")
        assert found.code == 0, found.err
        assert found.out.startswith("Deployment.apps/shop/web is suspended by ann since ")
        assert found.out.endswith(": a look.\n")
        reconciled = await _gitfed(hub, tmp_path, "ann", "reconcile", "cluster/eu-1")
        assert (reconciled.code, reconciled.out) == (0, "cluster/eu-1 will be reconciled.\n")
    name, order = written.orders[0]
    assert (name, order.of, order.by, order.reason) == ("suspend", leading.WEB, "ann", "a look")
    lines = [(record.who, record.what, record.where, record.result)  # type: ignore[attr-defined]
             for record in caplog.records if record.getMessage() == "request"]  # fmt: skip
    assert lines == [
        ("ann", "POST /api/v1/suspend", f"operation=suspend of={leading.WEB}", "202"),
        ("ann", "POST /api/v1/reconcile", "operation=reconcile of=cluster/eu-1", "202"),
    ]


async def test_who_may_not_is_told_which_policy_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written, running = leading.noted(monkeypatch), leading.leading()
    async with staged(tmp_path, tokens=KNOWN, running=running) as hub:
        leading.take_orders(hub, running)
        found = await _gitfed(hub, tmp_path, "eve", "suspend", "cluster/eu-1")
        assert (found.code, found.out) == (4, "")
        assert found.err == (
            f"error: the hub at {hub.url}: no AccessPolicy lets eve operate cluster/eu-1\n"
            "hint: an AccessPolicy that names eve and covers cluster/eu-1 has to allow operate\n"
        )
        other = await _gitfed(hub, tmp_path, "bob", "approve", "deletions")
        assert other.err.startswith(f"error: the hub at {hub.url}: no AccessPolicy lets bob operate\n")
    assert written.orders == []


async def test_before_a_commit_is_read_nobody_is_refused_for_good(tmp_path: Path) -> None:
    async with staged(tmp_path, tokens=KNOWN, running=Running(Recorded())) as hub:
        status, _, headers = await ask(hub, "GET", "/api/v1/clusters", token="token-of-ann")
        assert (status, headers["Retry-After"]) == (503, "2")
        found = await _gitfed(hub, tmp_path, "ann", "get", "clusters")
        assert (found.code, found.err) == (
            4, f"error: the hub at {hub.url}: no commit was read yet\nhint: try again in 2 s\n"
        )  # fmt: skip
