"""An order of a person is written although a busy daemon writes the state branch all the time."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitfed.edges.state.state import StateBranch
from gitfed.errors import StateConflict
from gitfed.model.operator_orders import EVERYTHING, Suspension
from gitfed.offline import inputs, order_book, orders
from gitfed.offline.order_book import OrderBook

RECORDED = Path(__file__).with_name("recorded") / "state-branch.bundle"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def book(tmp_path: Path) -> OrderBook:
    path = tmp_path / "fleet.git"
    subprocess.run(["git", "clone", "-q", "--mirror", str(RECORDED), str(path)], check=True)
    subprocess.run(["git", "-C", str(path), "remote", "remove", "origin"], check=True)
    opened = inputs.open_repository(str(path))
    return OrderBook(opened, inputs.read(opened).repo)


def slower_than_others(monkeypatch: pytest.MonkeyPatch, times: float) -> list[None]:
    """Somebody else's write comes before ours, so often."""
    publish, lost = StateBranch.publish, []

    def late(self: StateBranch, *arguments: object) -> object:
        if len(lost) < times:
            lost.append(None)
            raise StateConflict("somebody else was faster")
        return publish(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(StateBranch, "publish", late)
    return lost


def suspend(book: OrderBook) -> None:
    orders.suspend(book, Suspension(EVERYTHING, "ann", NOW))


def test_an_order_is_written_however_often_somebody_was_faster(
    book: OrderBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = slower_than_others(monkeypatch, 9)
    suspend(book)
    assert len(lost) == 9
    assert [one.of for one in order_book.look(book).decisions.suspensions] == [EVERYTHING]


def test_it_is_given_up_when_others_are_always_faster(book: OrderBook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order_book, "_PATIENCE", 0)
    slower_than_others(monkeypatch, float("inf"))
    with pytest.raises(StateConflict) as refused:
        suspend(book)
    assert refused.value.message == "another writer changes the state branch all the time"
    assert order_book.look(book).decisions.suspensions == ()
