"""A repository that takes its time keeps nothing waiting but its own news."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, cast

import pytest

from gitfed.daemon import commits
from gitfed.daemon.commits import Commits
from gitfed.errors import SourceUnreachable
from gitfed.model.base import Commit
from gitfed.model.repo import RepoSnapshot
from gitfed.reading.reader import Reader
from gitfed.source import repo as source
from tests.source.trees import tree
from tests.support import patience

SETTINGS = {"gitfed.yaml": "apiVersion: gitfed.io/v1alpha1\nkind: Federation\nmetadata: {name: f}\n"}


class Slow:
    """A reader whose server answers when it is told to."""

    refused = ""

    class trust:
        unusable_keys = staticmethod(lambda commit, settings: "")

    def __init__(self) -> None:
        self.may_answer = threading.Event()
        self.entered = threading.Event()
        self.asked = 0
        self.answer: Commit | Exception = Commit("1" * 40)

    def newest(self) -> Commit:
        self.asked += 1
        self.entered.set()
        assert self.may_answer.wait(patience.SECONDS)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def read(self, commit: Commit, *ignored: Any) -> RepoSnapshot:
        return source.read(tree(SETTINGS, settings=None, commit=commit))


async def look(one: Commits) -> None:
    await one.look(None, (), before_reading=lambda: None)


async def test_the_commit_in_force_stays_until_the_answer_comes_and_wakes_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(commits, "_PATIENCE", 0.05)
    server, woken = Slow(), asyncio.Event()
    one = Commits(cast(Reader, server), lambda event, value: None, woken.set)
    server.may_answer.set()
    await look(one)  # without a commit in force there is nothing else to do than to wait
    first = one.repo
    assert first is not None
    server.may_answer.clear()
    server.answer = Commit("2" * 40)
    await look(one)
    await look(one)
    assert (one.repo is first, one.waits, server.asked) == (True, True, 2), "it is asked once, however often one looks"
    server.may_answer.set()
    await woken.wait()
    assert one.due
    await look(one)
    assert one.repo is not None
    assert (one.repo.commit, one.waits) == (Commit("2" * 40), False)


async def test_an_error_that_comes_late_is_told_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "_PATIENCE", 0.05)
    server, woken = Slow(), asyncio.Event()
    one = Commits(cast(Reader, server), lambda event, value: None, woken.set)
    server.may_answer.set()
    await look(one)
    server.may_answer.clear()
    server.answer = SourceUnreachable("gone")
    await look(one)
    server.may_answer.set()
    await woken.wait()
    with pytest.raises(SourceUnreachable, match="gone"):
        await look(one)
    await one.close()


async def test_a_push_told_of_after_the_question_is_asked_for_again() -> None:
    server, woken = Slow(), asyncio.Event()
    one = Commits(cast(Reader, server), lambda event, value: None, woken.set)
    one.ask()
    await asyncio.to_thread(server.entered.wait, patience.SECONDS)
    one.changed()  # the answer may be older
    server.may_answer.set()
    await look(one)
    assert (one.due, woken.is_set()) == (True, True)
    await look(one)
    assert (one.due, server.asked) == (False, 2)


async def test_the_repository_is_asked_before_its_answer_is_waited_for() -> None:
    server = Slow()
    one = Commits(cast(Reader, server), lambda event, value: None)
    one.ask()
    one.ask()
    await asyncio.to_thread(server.entered.wait, patience.SECONDS)
    server.may_answer.set()
    await look(one)
    assert (one.repo is not None, server.asked) == (True, 1)
