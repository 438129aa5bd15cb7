"""A daemon that leads, as far as pages and orders see it, without a cluster or a state branch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import quote

import pytest

from gitfed.hub.orders import Giver, Orders
from gitfed.hub.running import Running
from gitfed.model.operator_orders import Suspension
from gitfed.model.plan import Gate
from gitfed.offline import orders as given
from tests.hub import fleet
from tests.hub.stage import Staged

WEB = "Deployment.apps/shop/web"
OBJECT = f"/ui/object?of={quote(WEB, safe='')}"


@dataclass
class Written:
    """What would stand on the state branch."""

    orders: list[tuple[str, Any]] = field(default_factory=list)


def leading() -> Running:
    """A daemon that leads, as far as pages and orders see it: a plan that waits, and two suspensions."""
    found = fleet.planned(fleet.workload("shop", "web"), fleet.workload("bank", "ledger", 9))
    assert found.plan is not None
    found.plan = replace(
        found.plan, gates=(Gate("deletions", "1", "3", held=3), Gate("moved replicas", "20", "30", held=1))
    )
    found.decisions = replace(
        found.decisions,
        suspensions=(
            Suspension("cluster/us-1", "ann", fleet.NOW, "maintenance"), Suspension(WEB, "ann", fleet.NOW),
        ),
    )  # fmt: skip
    running = Running(found)
    engine = SimpleNamespace(
        repo=found.repo, plan=found.plan, decisions=found.decisions, source_changed=lambda: None, trouble=None,
        at_work=False,
        commits=SimpleNamespace(error=""), statuses={}, memory=SimpleNamespace(results={}, clone=None),
        reader=SimpleNamespace(repository=SimpleNamespace(path=None, entries=lambda commit: {})),
        fleet=SimpleNamespace(
            facts=lambda: found.facts, known=dict, copies=lambda key: {}, members={},
            unfinished=SimpleNamespace(why_failed=lambda cluster, key: "", in_use=dict),
        ),
    )  # fmt: skip
    running.engine = cast(Any, engine)
    return running


def take_orders(hub: Staged, running: Running) -> None:
    book = SimpleNamespace(opened=SimpleNamespace(repository=SimpleNamespace(close=lambda: None)))
    hub.hub.orders = Orders(running, lambda repo: cast(Any, book))


def noted(monkeypatch: pytest.MonkeyPatch) -> Written:
    """Orders get as far as the state branch, and are noted in its place."""
    found = Written()

    def resume(book: object, of: str, **about: object) -> tuple[Suspension, ...]:
        found.orders.append(("resume", of))
        return ()

    def reconcile(book: object, of: list[str], **about: object) -> None:
        found.orders.append(("reconcile", of))

    monkeypatch.setattr(given, "suspend", lambda book, order: found.orders.append(("suspend", order)))
    monkeypatch.setattr(given, "resume", resume)
    monkeypatch.setattr(given, "reconcile", reconcile)

    def approve(self: Orders, book: object, giver: Giver, what: str) -> object:
        found.orders.append(("approve", what))
        plan = SimpleNamespace(digest=what, commit="c" * 40)
        return SimpleNamespace(plan=plan, gates=[SimpleNamespace(name="deletions")])

    monkeypatch.setattr(Orders, "_approve", approve)
    return found
