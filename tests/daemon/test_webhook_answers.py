"""What is remembered of webhooks, what is asked when, and what a down, slow or lying one costs the others."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest

from gitfed.daemon.webhook_queue import AT_A_TIME, Asking
from gitfed.edges.backoff import Backoff
from gitfed.errors import WebhookError, WebhookUnreachable
from gitfed.interpret.registry import InterpretError, Operation
from gitfed.model.base import BindingId, Body, Digest, ObjectKey, Origin
from gitfed.model.decisions import Scheduled, Share
from gitfed.model.plan import Binding
from gitfed.model.webhook import NoReply, Webhook, WebhookQuestion
from gitfed.reading import webhook_cache as memory
from gitfed.reading.webhook_cache import Answers
from tests.support import patience


def question(
    name: str = "web",
    operation: Operation = Operation.REPLICA,
    *,
    version: int = 1,
    replicas: int | None = None,
    webhook: str = "hooks/w.example.com",
) -> WebhookQuestion:
    key = ObjectKey("example.com", "Widget", "shop", name)
    request: dict[str, Any] = {"name": name, "version": version}
    if replicas is not None:
        request["replicas"] = replicas
    digest = f"{webhook} {operation} {name} {version} {replicas}"
    return WebhookQuestion(
        Webhook(webhook, "https://x/", None, "", 10, "v1alpha1"), operation, key, Digest(f"{name} {version}"), request,
        Digest(digest), read=usable,
    )  # fmt: skip


def usable(response: Body) -> Body:
    if "fault" in response:
        raise InterpretError(response["fault"])
    return response


def bindings(**replicas: int | None) -> dict[ObjectKey, Binding]:
    found = {}
    for name, count in replicas.items():
        key = ObjectKey("example.com", "Widget", "shop", name)
        found[key] = Binding(
            BindingId(name),
            key,
            "example.com/v1",
            Origin("a.yaml"),
            Scheduled(shares=(Share("m1", count),), replicas=count),
        )
    return found


# -- what is remembered -------------------------------------------------------------------------------------------


def test_what_was_not_answered_is_wanted_once() -> None:
    answers = Answers()
    assert answers.find(question()) == NoReply("has not answered yet")
    assert answers.find(question()) == NoReply("has not answered yet")
    assert answers.take() == [question()]
    assert answers.take() == []


def test_an_answer_is_found_by_whoever_asks_the_same() -> None:
    answers = Answers()
    answers.find(question())
    answers.put(question(), {"replicas": 3})
    assert answers.find(question()) == {"replicas": 3}
    assert not answers.is_open(question().digest)


def test_an_answer_that_cannot_be_used_is_not_remembered() -> None:
    answers = Answers()
    answers.find(question())
    with pytest.raises(ValueError, match=r"^nonsense$"):
        answers.put(question(), {"fault": "nonsense"})
    assert answers.is_open(question().digest)
    assert answers.find(question()) == NoReply("has not answered yet")


def test_why_there_is_no_answer_is_told_to_the_next_who_asks_and_is_news_once() -> None:
    answers = Answers()
    answers.find(question())
    before = answers.version
    assert answers.fail([question()], "is down")
    assert answers.version == before + 1
    assert not answers.fail([question()], "is down")
    assert answers.version == before + 1
    assert answers.find(question()) == NoReply("is down")


def test_what_was_recorded_is_not_asked_again() -> None:
    answers = Answers()
    answers.find(question())
    answers.put(question(), {"replicas": 3})
    recorded = answers.in_use(bindings(web=3))
    assert recorded == {
        question().digest: {
            "webhook": "hooks/w.example.com",
            "operation": "InterpretReplica",
            "object": "Widget.example.com/shop/web",
            "response": {"replicas": 3},
        }
    }
    later = Answers()
    later.remember(recorded)
    assert later.find(question()) == {"replicas": 3}
    assert later.take() == []
    assert later.in_use(bindings(web=3)) == recorded


@pytest.mark.parametrize("document", [{}, {"response": 3}, {"response": {"replicas": 3}, "operation": "Retain"}])
def test_a_record_that_is_no_answer_to_the_question_is_asked_for_and_written_anew(document: Body) -> None:
    answers = Answers()
    answers.remember({question().digest: document})
    assert isinstance(answers.find(question()), NoReply)
    answers.put(question(), {"replicas": 3})
    assert answers.in_use(bindings(web=3))[question().digest]["response"] == {"replicas": 3}


def test_answers_about_live_objects_are_never_recorded() -> None:
    answers = Answers()
    for operation in (Operation.RETAIN, Operation.HEALTH, Operation.STATUS, Operation.AGGREGATE):
        answers.find(question(operation=operation))
        answers.put(question(operation=operation), {"healthy": True})
        assert answers.find(question(operation=operation)) == {"healthy": True}
    assert answers.in_use(bindings(web=3)) == {}


def test_only_the_latest_answers_about_live_objects_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_LATEST", 3)
    answers = Answers()
    asked = [question(f"w{n}", Operation.HEALTH) for n in range(5)]
    for one in asked:
        answers.find(one)
        answers.put(one, {"healthy": True})
    assert [isinstance(answers.find(one), NoReply) for one in asked] == [True, True, False, False, False]


# -- what is dropped ----------------------------------------------------------------------------------------------


def answered(answers: Answers, *asked: WebhookQuestion) -> None:
    for one in asked:
        answers.find(one)
        answers.put(one, {"replicas": 3})


def test_an_answer_about_an_object_that_is_gone_is_dropped() -> None:
    answers = Answers()
    answered(answers, question("web"), question("cache"))
    assert answers.in_use(bindings(cache=3)).keys() == {question("cache").digest}


def test_an_answer_about_an_older_version_stays_until_the_newer_is_answered() -> None:
    answers = Answers()
    answered(answers, question(version=1))
    answers.find(question(version=2))
    assert answers.in_use(bindings(web=3)).keys() == {question(version=1).digest}
    answers.put(question(version=2), {"replicas": 3})
    assert answers.in_use(bindings(web=3)).keys() == {question(version=2).digest}


def test_a_version_that_comes_back_is_in_use_again() -> None:
    answers = Answers()
    answered(answers, question(version=1), question(version=2))
    answers.find(question(version=1))
    assert answers.in_use(bindings(web=3)).keys() == {question(version=1).digest}


def test_a_number_of_replicas_that_no_cluster_gets_any_more_is_dropped() -> None:
    answers = Answers()
    two, three = (question(operation=Operation.REVISE, replicas=n) for n in (2, 3))
    answered(answers, two, three)
    assert answers.in_use(bindings(web=2)) == {two.digest: answers.in_use(bindings(web=2))[two.digest]}
    assert answers.in_use(bindings(web=2))[two.digest]["replicas"] == 2


def test_while_a_question_is_open_nothing_that_was_recorded_is_dropped() -> None:
    old: Mapping[str, Body] = {"old": {"response": {}}}
    answers = Answers()
    answers.remember(old)
    answers.find(question())
    assert answers.in_use(bindings(web=3)) == old
    answers.put(question(), {"replicas": 3})
    assert answers.in_use(bindings(web=3)).keys() == {question().digest}


def test_what_was_dropped_does_not_come_back_with_the_next_open_question() -> None:
    answers = Answers()
    answers.remember({"old": {"response": {}}})
    answered(answers, question())
    answers.remember(answers.in_use(bindings(web=3)))
    answers.find(question("cache"))
    assert answers.in_use(bindings(web=3, cache=3)).keys() == {question().digest}


def test_with_another_interpreter_only_what_it_asks_is_in_use() -> None:
    answers = Answers()
    answered(answers, question("web"), question("cache"))
    answers.begin()
    answers.find(question("web"))
    assert answers.in_use(bindings(web=3, cache=3)).keys() == {question("web").digest}


def test_a_look_finds_what_is_recorded_and_wants_nothing() -> None:
    answers = Answers()
    answered(answers, question())
    find = memory.recorded(answers.in_use(bindings(web=3)))
    assert find(question()) == {"replicas": 3}
    assert find(question(version=2)) == NoReply(
        "has no recorded answer; it is asked when the commit is applied", at_all=True
    )


# -- asking -------------------------------------------------------------------------------------------------------


class Hook:
    """A client that answers as the test says."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.now = 0
        self.most = 0
        self.react: Callable[[WebhookQuestion], Body] = lambda question: {"replicas": 3}
        self.gate = asyncio.Event()
        self.gate.set()
        self.closed = False

    async def ask(self, question: WebhookQuestion) -> Body:
        self.asked.append(question.digest)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(0)
            if question.webhook.name == "hooks/w.example.com":
                await self.gate.wait()
            return self.react(question)
        finally:
            self.now -= 1

    async def close(self) -> None:
        self.closed = True


class Scene:
    def __init__(self, retries: Backoff) -> None:
        self.answers, self.hook = Answers(), Hook()
        self.changes = 0
        self.changed = asyncio.Event()
        self.asking = Asking(self.answers, self._note, client=lambda: self.hook, retries=retries)
        self.asking.start()

    def _note(self) -> None:
        self.changes += 1
        self.changed.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(patience.SECONDS):
            while not condition():  # noqa: ASYNC110
                await asyncio.sleep(0.005)


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    made = Scene(retries=Backoff((0.01, 0.02)))
    yield made
    made.hook.gate.set()
    await made.asking.close()
    assert made.hook.closed == bool(made.hook.asked)


async def test_what_a_build_in_a_thread_wants_is_asked_by_the_loop(scene: Scene) -> None:
    thread = threading.Thread(target=scene.answers.find, args=(question(),))
    thread.start()
    await scene.until(lambda: scene.answers.find(question()) == {"replicas": 3})
    thread.join()
    assert scene.hook.asked == [question().digest]
    assert scene.changes == 1


async def test_settling_waits_for_the_first_try_of_everything(scene: Scene) -> None:
    asked = [question(f"w{n}") for n in range(50)]
    for one in asked:
        scene.answers.find(one)
    assert scene.asking.busy()
    await scene.asking.settle(20)
    assert not scene.asking.busy()
    assert all(scene.answers.find(one) == {"replicas": 3} for one in asked)
    assert len(scene.hook.asked) == 50
    assert 1 < scene.hook.most <= AT_A_TIME


async def test_nobody_waits_longer_than_he_wants_to(scene: Scene) -> None:
    scene.hook.gate.clear()
    scene.answers.find(question())
    await scene.asking.settle(0.05)
    assert scene.asking.busy()
    assert scene.answers.find(question()) == NoReply("has not answered yet")


async def test_a_webhook_that_hangs_holds_up_no_other(scene: Scene) -> None:
    scene.hook.gate.clear()
    other = question(webhook="hooks/other.example.com")
    scene.answers.find(question())
    scene.answers.find(other)
    await scene.until(lambda: scene.answers.find(other) == {"replicas": 3})


async def test_while_a_webhook_is_down_one_question_at_a_time_is_tried_and_all_are_told(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    down = True

    def react(asked: WebhookQuestion) -> Body:
        if down:
            raise WebhookUnreachable("cannot be reached: no route")
        return {"replicas": 3}

    scene.hook.react = react
    asked = [question(f"w{n}") for n in range(3 * AT_A_TIME)]
    for one in asked:
        scene.answers.find(one)
    await scene.asking.settle(20)
    first = len(scene.hook.asked)
    assert first == AT_A_TIME
    assert all(scene.answers.find(one) == NoReply("cannot be reached: no route") for one in asked)
    assert [record.getMessage() for record in caplog.records] == ["webhook gives no answer"]
    scene.hook.most = 0
    await scene.until(lambda: len(scene.hook.asked) > first + 3)
    assert scene.hook.most == 1
    late = question("late")
    scene.answers.find(late)
    assert not scene.asking.busy()
    assert scene.answers.find(late) == NoReply("cannot be reached: no route")
    down = False
    await scene.until(lambda: all(scene.answers.find(one) == {"replicas": 3} for one in [*asked, late]))


async def test_a_question_that_alone_fails_keeps_no_other_from_its_answer(scene: Scene) -> None:
    def react(asked: WebhookQuestion) -> Body:
        if asked.key.name == "poison":
            raise WebhookUnreachable("did not answer within 10 s")
        return {"replicas": 3}

    scene.hook.react = react
    asked = [question("poison"), *(question(f"w{n}") for n in range(40))]
    for one in asked:
        scene.answers.find(one)
    await scene.until(lambda: all(scene.answers.find(one) == {"replicas": 3} for one in asked[1:]))
    assert scene.answers.find(asked[0]) == NoReply("did not answer within 10 s")


@pytest.mark.parametrize(
    ("react", "said"),
    [
        ({"fault": "the patch does not apply"}, "gave an answer that cannot be used: the patch does not apply"),
        (WebhookError("answers with HTTP status 500"), "answers with HTTP status 500"),
    ],
)
async def test_a_webhook_that_lies_is_asked_again_and_may_tell_the_truth_later(
    scene: Scene, react: Any, said: str
) -> None:
    lies = 2

    def answer(asked: WebhookQuestion) -> Body:
        nonlocal lies
        lies -= 1
        if lies < 0:
            return {"replicas": 3}
        if isinstance(react, Exception):
            raise react
        return dict(react)

    scene.hook.react = answer
    scene.answers.find(question())
    await scene.asking.settle(20)
    assert scene.answers.find(question()) == NoReply(said)
    await scene.until(lambda: scene.answers.find(question()) == {"replicas": 3})
    assert len(scene.hook.asked) == 3


async def test_after_the_last_retry_a_question_is_asked_only_if_a_plan_needs_it(scene: Scene) -> None:
    def react(asked: WebhookQuestion) -> Body:
        raise WebhookError("answers with HTTP status 500")

    scene.hook.react = react
    scene.answers.find(question())
    await scene.until(lambda: not scene.answers.is_open(question().digest))
    assert len(scene.hook.asked) == 3
    version = scene.answers.version
    await asyncio.sleep(0.1)
    assert len(scene.hook.asked) == 3
    assert scene.answers.version == version
    assert scene.answers.find(question()) == NoReply("answers with HTTP status 500")
    await scene.until(lambda: len(scene.hook.asked) > 3)


async def test_what_another_interpreter_does_not_ask_is_not_tried_again(scene: Scene) -> None:
    def react(asked: WebhookQuestion) -> Body:
        raise WebhookUnreachable("cannot be reached")

    scene.hook.react = react
    scene.answers.find(question())
    await scene.asking.settle(20)
    scene.answers.begin()
    count = len(scene.hook.asked)
    await asyncio.sleep(0.1)
    assert len(scene.hook.asked) <= count + 1
    assert not scene.asking.busy()


async def test_closing_ends_what_is_under_way() -> None:
    scene = Scene(retries=Backoff((10.0,)))
    scene.hook.gate.clear()
    scene.answers.find(question())
    await scene.until(lambda: bool(scene.hook.asked))
    await scene.asking.close()
    assert scene.hook.closed
    scene.answers.find(question("other"))
    await asyncio.sleep(0.02)
    assert len(scene.hook.asked) == 1
