"""Notifications: what is told, to whom, how often, and what becomes of it when the other side is away."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web
from aiosmtpd.controller import Controller

from gitfed.edges.backoff import Backoff
from gitfed.errors import DeliveryError
from gitfed.hub.notifications import conditions, interest, messages, notifier, outbox
from gitfed.hub.notifications.conditions import FleetCondition, NotificationEvent, Situation
from gitfed.hub.notifications.notifier import Notifier
from gitfed.hub.notifications.outbox import News, Outbox
from gitfed.hub.running import Running
from gitfed.model.base import Commit, ObjectKey, Origin, Problem, Severity
from gitfed.model.decisions import Decision, Decisions, EvictionTask, FailoverState, Scheduled
from gitfed.model.declared.notification import Notification
from gitfed.model.fleet import ApplyResult, ClusterCondition, ClusterFacts, Reach
from gitfed.model.plan import Action, Change, Gate
from gitfed.model.reason import Reason, ReasonCode
from tests.cli.values import plan
from tests.hub.stage import cluster, get, policy, snapshot, staged, until, user
from tests.support import ports

NOW = datetime(2026, 3, 2, 10, 0, tzinfo=UTC)
COMMIT = Commit("3f2c1a9be014" + "0" * 28)
WEB = ObjectKey("apps", "Deployment", "shop", "web")
DOWN = {"m2": ClusterFacts("m2", Reach.UNKNOWN, (ClusterCondition("Ready", "Unknown", message="no route to host"),))}
UP = {"m1": ClusterFacts("m1"), "m2": ClusterFacts("m2")}
HELD = Gate("deletions", "1", "3", held=3)


def document(name: str = "oncall", provider: str = "CloudEvents", **spec: Any) -> str:
    usual = {"provider": provider, "target": "bus", "groupWait": "0s", "groupInterval": "0s"}
    return (
        f"apiVersion: gitfed.io/v1alpha1\nkind: Notification\nmetadata: {{name: {name}}}\n"
        f"spec: {json.dumps({**usual, **spec})}\n"
    )


def declared(**spec: Any) -> Notification:
    return snapshot(document(**spec)).notifications[0]


def situation(**given: Any) -> Situation:
    gates, problems = given.pop("gates", ()), given.pop("problems", ())
    changes = given.pop("changes", [])
    made = replace(plan([], changes, gates=gates), commit=COMMIT, problems=problems, clusters=("m1", "m2"))
    return Situation("acme", made, given.pop("decisions", Decisions()), {**UP, **given.pop("facts", {})}, **given)


def summaries(found: Mapping[str, FleetCondition]) -> list[str]:
    return [condition.summary for condition in found.values()]


# -- what is so -------------------------------------------------------------------------------------------------


def test_a_fleet_in_which_all_is_well_has_nothing_to_tell() -> None:
    assert conditions.of(situation()) == {}


def test_a_gate_that_holds_says_how_much_where_and_what_to_do() -> None:
    held = Change("m2", WEB, "apps/v1", Action.SKIP, Reason(ReasonCode.GATE, subject="deletions"))
    found = conditions.of(situation(gates=(HELD, Gate("clusters", "5", "1")), changes=[held]))
    one = found["held/deletions"]
    assert (one.summary, one.severity) == ("3 changes held by gate deletions: 3, the limit is 1", "warning")
    assert one.clusters == ("m2",)
    assert one.details[0].startswith(f"commit {COMMIT[:12]}: revert it, or let it through: gitfed apply --confirm ")
    assert len(found) == 1


def test_a_cluster_that_does_not_answer_is_told_apart_from_one_that_is_not_ready() -> None:
    assert summaries(conditions.of(situation(facts=DOWN))) == ["cluster m2 does not answer"]
    weak = {"m2": ClusterFacts("m2", Reach.NOT_READY)}
    assert summaries(conditions.of(situation(facts=weak))) == ["cluster m2 answers, and is not ready"]


def test_what_leaves_a_cluster_is_one_condition_however_much_it_is() -> None:
    task = EvictionTask("m2", {"fromCluster": "m2", "reason": "TaintUntolerated"})
    keys = [ObjectKey("apps", "Deployment", "shop", f"d{number:02}") for number in range(30)]
    decisions = Decisions(
        bindings={
            key: Decision(key, "apps/v1", Scheduled(()), failover=FailoverState(evictions=(task,))) for key in keys
        }
    )
    (one,) = conditions.of(situation(decisions=decisions)).values()
    assert one.summary == "30 workloads leaving cluster m2"
    assert len(one.details) == 11
    assert one.details[0] == "Deployment.apps/shop/d00 (TaintUntolerated)"
    assert one.details[-1] == "and 20 more"


def test_a_commit_that_is_refused_and_files_with_mistakes_are_told() -> None:
    wrong = Problem(Origin("a.yaml", 3, 1), "unknown field priorty", "did you mean priority?")
    mild = Problem(Origin("b.yaml"), "not acted upon", severity=Severity.WARNING)
    found = conditions.of(situation(problems=(wrong, mild), rejected=(COMMIT, "it has no Federation")))
    assert summaries(found) == [
        "commit 3f2c1a9be014 is not acted upon: it has no Federation",
        "1 problem in 1 file: they count with their last good version",
    ]
    assert found["problems/"].details == ("a.yaml:3:1: unknown field priorty (did you mean priority?)",)


def test_what_a_server_said_of_a_secret_is_not_told() -> None:
    secret = ObjectKey("", "Secret", "shop", "token")
    failures = {"m1": ((secret, 'invalid value "hunter2"'), (WEB, "denied"))}
    (one,) = conditions.of(situation(failures=failures)).values()
    assert one.summary == "2 objects could not be written to m1"
    assert one.details == ("Secret/shop/token", "Deployment.apps/shop/web: denied")


# -- who hears it -----------------------------------------------------------------------------------------------


def _heard(*, gates: tuple[Gate, ...] = (), **spec: Any) -> list[str]:
    repo = snapshot(document(**spec), cluster("m1", env="prod"), cluster("m2", env="test"))
    present = conditions.of(situation(facts=DOWN, gates=gates, rejected=(COMMIT, "x"), applied=COMMIT))
    return sorted(interest.of(repo.notifications[0], repo, present))


def test_a_notification_hears_of_its_events_severities_and_clusters() -> None:
    assert _heard() == ["rejected/3f2c1a9be014", "unreachable/m2"]
    assert _heard(events=["applied", "unreachable"]) == ["applied/3f2c1a9be014", "unreachable/m2"]
    assert _heard(events=["applied", "unreachable"], severities=["info"]) == ["applied/3f2c1a9be014"]
    assert _heard(clusters={"labelSelector": {"matchLabels": {"env": "test"}}}) == _heard()


def test_what_concerns_other_clusters_is_not_heard_what_concerns_all_is() -> None:
    assert _heard(clusters={"clusterNames": ["m1"]}) == ["rejected/3f2c1a9be014"]


# -- what was told ----------------------------------------------------------------------------------------------


def _at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def _down(*, essence: str = "Unknown") -> dict[str, FleetCondition]:
    found = FleetCondition(NotificationEvent.UNREACHABLE, "m2", "cluster m2 does not answer", (), ("m2",), essence)
    return {found.key: found}


def _tell(box: Outbox, spec: Notification, when: datetime) -> list[tuple[str, bool]]:
    """Deliver what is owed."""
    news = box.owed(spec, when)
    for one in news:
        box.taken(one, when)
    return [(one.condition.key, one.over) for one in news]


def test_a_condition_is_told_once_and_once_when_it_is_over() -> None:
    box, spec = Outbox(), declared()
    box.see(_down(), (), _at(0))
    assert _tell(box, spec, _at(0)) == [("unreachable/m2", False)]
    box.see(_down(), (), _at(1))
    assert _tell(box, spec, _at(1)) == []
    box.see({}, (), _at(2))
    assert _tell(box, spec, _at(2)) == [("unreachable/m2", True)]
    assert box.entries == {}


def test_another_essence_is_news_and_other_details_are_none() -> None:
    box, spec = Outbox(), declared()
    box.see(_down(), (), _at(0))
    _tell(box, spec, _at(0))
    assert not box.see({key: replace(one, details=("x",)) for key, one in _down().items()}, (), _at(1))
    assert _tell(box, spec, _at(1)) == []
    assert box.see(_down(essence="NotReady"), (), _at(2))
    assert _tell(box, spec, _at(2)) == [("unreachable/m2", False)]


def test_what_came_and_went_while_nobody_could_be_told_is_told_as_one() -> None:
    box = Outbox()
    box.see(_down(), (), _at(0))
    box.see({}, (), _at(60))
    (news,) = box.owed(declared(sendResolved=False), _at(90))
    assert (news.began, news.ended) == (_at(0), _at(60))


def test_what_comes_back_before_its_end_was_told_is_no_news() -> None:
    box, spec = Outbox(), declared()
    box.see(_down(), (), _at(0))
    _tell(box, spec, _at(0))
    box.see({}, (), _at(1))
    box.see(_down(), (), _at(2))
    assert _tell(box, spec, _at(2)) == []


def test_of_a_cluster_that_nobody_looked_at_nothing_is_said_to_be_over() -> None:
    box, spec = Outbox(), declared()
    box.see(_down(), (), _at(0))
    _tell(box, spec, _at(0))
    box.see({}, ("m2",), _at(1))
    assert _tell(box, spec, _at(1)) == []
    box.see({}, (), _at(2))
    assert _tell(box, spec, _at(2)) == [("unreachable/m2", True)]


def test_what_is_less_because_a_cluster_cannot_be_seen_is_no_news() -> None:
    box, spec = Outbox(), declared()
    held = FleetCondition(NotificationEvent.HELD, "deletions", "6 changes held", (), ("m1", "m2"), "6")
    less = replace(held, summary="3 changes held", clusters=("m1",), essence="3")
    box.see({held.key: held}, (), _at(0))
    _tell(box, spec, _at(0))
    assert not box.see({held.key: less}, ("m2",), _at(1))
    assert _tell(box, spec, _at(1)) == []
    box.see({held.key: less}, (), _at(2))
    assert _tell(box, spec, _at(2)) == [("held/deletions", False)]


def test_what_a_plan_could_not_see_is_unknown() -> None:
    blind = Change("m1", WEB, "apps/v1", Action.SKIP, Reason(ReasonCode.NOT_OBSERVED))
    assert situation(changes=[blind], facts=DOWN).unknown == {"m1", "m2"}
    assert situation(unread=["m1"]).unknown == {"m1"}


def test_ends_are_not_told_to_who_does_not_want_them() -> None:
    box, spec = Outbox(), declared(sendResolved=False)
    box.see(_down(), (), _at(0))
    _tell(box, spec, _at(0))
    box.see({}, (), _at(1))
    assert _tell(box, spec, _at(1)) == []
    assert box.entries == {}


def test_what_still_is_so_is_told_again_if_that_is_wanted() -> None:
    box, spec = Outbox(), declared(repeatInterval="1h")
    box.see(_down(), (), _at(0))
    (first,) = box.owed(spec, _at(0))
    box.taken(first, _at(0))
    assert box.owed(spec, _at(3599)) == ()
    (again,) = box.owed(spec, _at(3600))
    assert again.id != first.id


def test_news_waits_for_others_and_messages_for_each_other() -> None:
    box, spec = Outbox(), declared(groupWait="10s", groupInterval="60s")
    assert box.owed(spec, _at(0)) == ()
    assert box.due(spec) is None
    box.see(_down(), (), _at(0))
    box.owed(spec, _at(0))
    assert box.due(spec) == _at(10)
    _tell(box, spec, _at(10))
    box.see({}, (), _at(12))
    box.owed(spec, _at(12))
    assert box.due(spec) == _at(70)


def test_an_id_stays_the_same_over_a_restart_and_is_another_next_time() -> None:
    box, spec = Outbox(), declared()
    box.see(_down(), (), _at(0))
    (before,) = box.owed(spec, _at(0))
    again = outbox.read(json.loads(json.dumps(box.as_json())))
    again.see(_down(), (), _at(5))
    (after,) = again.owed(spec, _at(5))
    assert after.id == before.id
    again.taken(after, _at(5))
    again.see({}, (), _at(6))
    _tell(again, spec, _at(6))
    again.see(_down(), (), _at(7))
    (later,) = again.owed(spec, _at(7))
    assert later.id != before.id


def test_a_commit_that_was_applied_before_anybody_asked_is_no_news_and_the_next_is() -> None:
    box, spec = Outbox(), declared(events=["applied"])
    first, second = (conditions.of(situation(applied=Commit(name * 40))) for name in "ab")
    box.see(first, (), _at(0), new=True)
    assert _tell(box, spec, _at(0)) == []
    box.see({}, (), _at(1))
    box.see(second, (), _at(2))
    assert _tell(box, spec, _at(2)) == [("applied/bbbbbbbbbbbb", False)]
    box.see({}, (), _at(3))
    assert _tell(box, spec, _at(3)) == []
    assert box.entries == {}


def test_a_destination_that_is_away_for_long_does_not_fill_the_memory() -> None:
    box = Outbox()
    for number in range(outbox.MOST + 50):
        box.see({f"{number}": FleetCondition(NotificationEvent.HELD, f"{number}", "")}, (), _at(number))
    assert len(box.entries) == outbox.MOST
    assert box.dropped == 50
    assert len(box.owed(declared(), _at(9999))) == 100


# -- how it reads -----------------------------------------------------------------------------------------------


def _news(summary: str = "cluster m2 does not answer", **given: Any) -> News:
    condition = FleetCondition(
        given.pop("event", NotificationEvent.UNREACHABLE), "m2", summary, given.pop("details", ()), ("m2",)
    )
    return News("a1", condition, NOW, given.pop("ended", None))


def test_a_message_for_people() -> None:
    over = _news("3 changes held", event=NotificationEvent.HELD, ended=_at(60), details=("no more",))
    message = messages.lines("acme", [_news(details=("no route to host",)), over])
    assert message.title == "gitfed acme: cluster m2 does not answer (and 1 more)"
    assert message.body == (
        "cluster m2 does not answer\n  2026-03-02 10:00:00 UTC\n  no route to host\n"
        "over: 3 changes held\n  2026-03-02 10:00:00 UTC to 2026-03-02 10:01:00 UTC"
    )
    assert message.kind == "failure"
    assert messages.lines("acme", [over]).kind == "success"
    assert messages.lines("acme", [_news(event=NotificationEvent.HELD)]).kind == "warning"
    assert messages.lines("acme", [_news(event=NotificationEvent.APPLIED)]).kind == "info"


def test_what_others_wrote_calls_nobody_and_links_nowhere() -> None:
    hostile = "<!channel> @here [x](https://evil.example) \u202e\x1b[31m`a` *b*" + "y" * 1000
    message = messages.lines("acme", [_news(hostile, details=(hostile,))])
    for text in (message.title, message.body):
        assert not set("<>@[]`*\x1b\u202e") & set(text)
        assert max(len(line) for line in text.splitlines()) <= 330


def test_a_cloud_event_has_the_members_that_the_specification_wants() -> None:
    event = messages.cloud_event("acme fleet", _news(ended=_at(60)))
    data = event.pop("data")
    assert event == {
        "specversion": "1.0", "id": "a1", "source": "/gitfed/acme%20fleet", "type": "io.gitfed.unreachable.over",
        "subject": "m2", "time": "2026-03-02T10:01:00+00:00", "datacontenttype": "application/json",
    }  # fmt: skip
    assert data == {
        "federation": "acme fleet", "event": "unreachable", "state": "over", "severity": "error", "clusters": ["m2"],
        "summary": "cluster m2 does not answer", "details": [], "began": "2026-03-02T10:00:00+00:00",
        "ended": "2026-03-02T10:01:00+00:00",
    }  # fmt: skip


# -- deliveries, for real -------------------------------------------------------------------------------------


@dataclass
class Receiver:
    """A local HTTP server that takes events, or does not."""

    events: list[dict[str, Any]] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    status: int = 202
    more: Mapping[str, str] = field(default_factory=dict)
    slow: asyncio.Event | None = None
    url: str = ""

    async def take(self, request: web.Request) -> web.StreamResponse:
        if self.slow is not None:
            await self.slow.wait()
        self.headers.append(request.headers)
        if self.status < 300:
            self.events.append(json.loads(await request.read()))
        return web.Response(status=self.status, headers=self.more)

    @property
    def told(self) -> list[str]:
        return [event["type"].removeprefix("io.gitfed.") for event in self.events]


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    made = Receiver()
    app = web.Application()
    app.router.add_post("/secret-path", made.take)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}/secret-path"
    yield made
    await runner.cleanup()


def _target(folder: Path, url: str, name: str = "bus", **more: str) -> Path:
    place = folder / "targets" / name
    place.mkdir(parents=True, exist_ok=True)
    for file, text in {"url": url, **more}.items():
        (place / file.replace("ca_crt", "ca.crt")).write_text(f"{text}\n")
    return folder / "targets"


_READY = asyncio.Event()
_READY.set()


@dataclass
class Engine:
    """What a notifier reads of the real one."""

    repo: Any
    plan: Any = None
    facts_: dict[str, ClusterFacts] = field(default_factory=lambda: dict(UP))
    failing: dict[str, list[ApplyResult]] = field(default_factory=dict)
    starting_: set[str] = field(default_factory=set)
    abandoned: bool = False

    def __post_init__(self) -> None:
        self.set()
        self.decisions = Decisions(known=True)
        self.commits = SimpleNamespace(rejected="", rejected_commit=None)
        self.memory = SimpleNamespace(results={})
        self.fleet = SimpleNamespace(
            starting=lambda: self.starting_, facts=lambda: self.facts_,
            members={name: SimpleNamespace(ready=_READY) for name in UP},
            unfinished=SimpleNamespace(failures=lambda name: self.failing.get(name, [])),
        )  # fmt: skip

    def set(self, **given: Any) -> None:
        self.plan = replace(plan([], gates=given.get("gates", ())), commit=COMMIT, federation="acme",
                            clusters=("m1", "m2"))  # fmt: skip


@dataclass
class Stage:
    folder: Path
    engine: Engine
    running: Running

    @contextlib.asynccontextmanager
    async def notifier(self, targets: Path | None) -> AsyncIterator[Notifier]:
        made = Notifier(self.running, self.folder / "told.json", targets, lambda: datetime.now(UTC))
        task = asyncio.create_task(made.run())
        try:
            yield made
            assert not task.done()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Stage]:
    monkeypatch.setattr(notifier, "_PAUSE", 0.01)
    monkeypatch.setattr(notifier, "_AGAIN", Backoff((0.02,)))

    def make(*documents: str) -> Stage:
        running = Running()
        engine = Engine(snapshot(*documents, cluster("m1"), cluster("m2")))
        running.engine = engine  # type: ignore[assignment]
        return Stage(tmp_path, engine, running)

    return make


async def test_news_reach_a_http_server_as_cloud_events(
    stage: Callable[..., Stage], receiver: Receiver, tmp_path: Path
) -> None:
    there = stage(document())
    there.engine.set(gates=(HELD,))
    there.engine.facts_ |= DOWN
    async with there.notifier(_target(tmp_path, receiver.url, bearerToken="t0ken")):
        await until(lambda: len(receiver.events) == 2)
        there.engine.set()
        there.engine.facts_ |= UP
        await until(lambda: len(receiver.events) == 4)
        # It is counted when the answer has come back.
        await until(lambda: there.running.telemetry.notifications == {("oncall", "delivered"): 2})
    assert receiver.told == ["held.begun", "unreachable.begun", "held.over", "unreachable.over"]
    assert receiver.headers[0]["Content-Type"] == "application/cloudevents+json; charset=UTF-8"
    assert receiver.headers[0]["Authorization"] == "Bearer t0ken"


async def test_after_a_restart_nothing_is_told_twice_and_nothing_forgotten(
    stage: Callable[..., Stage], receiver: Receiver, tmp_path: Path
) -> None:
    there, targets = stage(document()), _target(tmp_path, receiver.url)
    there.engine.facts_ |= DOWN
    async with there.notifier(targets):
        await until(lambda: receiver.told == ["unreachable.begun"] and _is_told(tmp_path))
    there.engine.facts_ |= UP
    there.engine.starting_ = {"m2"}
    there.engine.set(gates=(HELD,))
    async with there.notifier(targets):
        await asyncio.sleep(0.1)
        assert receiver.told == ["unreachable.begun"]
        there.engine.starting_ = set()
        await until(lambda: len(receiver.events) == 3)
    assert sorted(receiver.told[1:]) == ["held.begun", "unreachable.over"]


def _is_told(folder: Path) -> bool:
    try:
        entries = json.loads((folder / "told.json").read_bytes())["notifications"]["oncall"]["entries"]
    except FileNotFoundError:
        return False
    return bool(entries) and all(one["told"] is not None for one in entries)


async def test_a_destination_that_was_away_hears_what_came_and_went_even_after_a_restart(
    stage: Callable[..., Stage], receiver: Receiver, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    there, targets = stage(document()), _target(tmp_path, receiver.url)
    receiver.status = 503
    there.engine.facts_ |= DOWN
    async with there.notifier(targets):
        await until(lambda: len(receiver.headers) >= 3)
        there.engine.facts_ |= UP
        await until(lambda: '"ended":"' in (tmp_path / "told.json").read_text())
        assert there.running.owed["oncall"] > 0
    receiver.status = 202
    async with there.notifier(targets):
        await until(lambda: bool(receiver.events))
        await until(lambda: not there.running.owed)
    assert receiver.told == ["unreachable.over"]
    data = receiver.events[0]["data"]
    assert data["began"] < data["ended"]
    told = [vars(one)["error"] for one in caplog.records if one.msg == "a notification is not delivered"]
    assert told == ["the target bus answers HTTP 503 Service Unavailable"]
    assert "secret-path" not in caplog.text


async def test_a_target_that_asks_for_time_gets_it(
    stage: Callable[..., Stage], receiver: Receiver, tmp_path: Path
) -> None:
    there = stage(document())
    receiver.status, receiver.more = 429, {"Retry-After": "3600"}
    there.engine.facts_ |= DOWN
    async with there.notifier(_target(tmp_path, receiver.url)) as made:
        await until(lambda: "oncall" in made._not_before)
        assert made._not_before["oncall"] - asyncio.get_running_loop().time() > 3000
        await asyncio.sleep(0.1)
    assert len(receiver.headers) == 1


async def test_a_slow_destination_keeps_nobody_waiting(
    stage: Callable[..., Stage], receiver: Receiver, tmp_path: Path
) -> None:
    slow = Receiver(slow=asyncio.Event())
    app = web.Application()
    app.router.add_post("/slow", slow.take)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    there = stage(document(), document("other", target="slow"))
    targets = _target(tmp_path, receiver.url)
    _target(tmp_path, f"http://127.0.0.1:{runner.addresses[0][1]}/slow", "slow")
    there.engine.facts_ |= DOWN
    async with there.notifier(targets) as made:
        await until(lambda: receiver.told == ["unreachable.begun"] and "other" in made._under_way)
        there.engine.facts_ |= UP
        await until(lambda: receiver.told == ["unreachable.begun", "unreachable.over"])
        assert slow.events == []
        assert slow.slow is not None
        slow.slow.set()
        await until(lambda: len(slow.events) == 2)
    await runner.cleanup()


async def test_who_stands_by_tells_nothing(stage: Callable[..., Stage], receiver: Receiver, tmp_path: Path) -> None:
    there = stage(document())
    there.engine.facts_ |= DOWN
    engine, there.running.engine = there.running.engine, None
    async with there.notifier(_target(tmp_path, receiver.url)):
        await asyncio.sleep(0.1)
        assert receiver.events == []
        there.running.engine = engine
        await until(lambda: receiver.told == ["unreachable.begun"])


async def test_a_file_of_what_was_told_that_cannot_be_read_costs_only_a_repetition(
    stage: Callable[..., Stage], receiver: Receiver, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for content in ("{", "[]", '{"schemaVersion": 2}', '{"schemaVersion": 1, "notifications": {"oncall": {}}}'):
        (tmp_path / "told.json").write_text(content)
        receiver.events.clear()
        there = stage(document())
        there.engine.facts_ |= DOWN
        async with there.notifier(_target(tmp_path, receiver.url)):
            await until(lambda: receiver.told == ["unreachable.begun"])
    assert [one.msg for one in caplog.records if one.levelno >= logging.WARNING] == [
        "what was told cannot be read: what is so now is told again"
    ] * 4  # fmt: skip


MISTAKES = {
    "no folder": (None, "the daemon has no target bus (start it with --notify-dir)"),
    "no address": ("", "the target bus has no address (write it into {}/targets/bus/url)"),
    "no http": ("slack://T/B/secret", "the target bus has no http or https address (provider Apprise has others)"),
    "metadata": ("http://169.254.169.254/secret", "the target bus is at an address that is not contacted"),
    "nobody": ("http://127.0.0.1:1/secret", "the target bus refuses the connection"),
    "no TLS": ("http://bus.example/secret", "the token of the target bus is not sent without TLS (https://)"),
}


@pytest.mark.parametrize(("url", "why"), MISTAKES.values(), ids=MISTAKES.keys())
async def test_a_target_that_cannot_be_used_is_named_and_its_address_is_not(
    tmp_path: Path, url: str | None, why: str
) -> None:
    folder = None if url is None else _target(tmp_path, url, bearerToken="t0ken")
    with pytest.raises(DeliveryError) as found:
        await notifier.send(declared(), folder, "acme", [_news()], lambda one: None)
    assert str(found.value) == why.format(tmp_path)
    assert "secret" not in str(found.value)


async def test_a_redirect_leads_nowhere(receiver: Receiver, tmp_path: Path) -> None:
    receiver.status, receiver.more = 307, {"Location": receiver.url}
    with pytest.raises(DeliveryError, match="answers HTTP 307 Temporary Redirect"):
        await notifier.send(declared(), _target(tmp_path, receiver.url), "acme", [_news()], lambda one: None)
    assert len(receiver.headers) == 1


OTHERS_WARN = pytest.mark.filterwarnings("ignore::DeprecationWarning")
"""What apprise's many services import is theirs."""


class _Mailbox:
    def __init__(self) -> None:
        self.messages: list[str] = []

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        self.messages.append(envelope.content.decode("utf-8", "replace"))
        return "250 taken"


@OTHERS_WARN
async def test_news_reach_people_by_e_mail(stage: Callable[..., Stage], tmp_path: Path) -> None:
    mailbox = _Mailbox()
    controller = Controller(mailbox, hostname="127.0.0.1", port=ports.free_port())
    controller.start()
    try:
        port = controller.port
        url = (
            f"mailto://127.0.0.1:{port}?from=gitfed@fleet.example&to=oncall@fleet.example&smtp=127.0.0.1&mode=insecure"
        )
        there = stage(document(provider="Apprise"))
        there.engine.facts_ |= DOWN
        async with there.notifier(_target(tmp_path, url)):
            await until(lambda: len(mailbox.messages) == 1)
    finally:
        controller.stop()
    assert "cluster m2 does not answer" in mailbox.messages[0]
    assert "Subject: gitfed acme: cluster m2 does not answer" in mailbox.messages[0]


@OTHERS_WARN
async def test_apprise_says_neither_address_nor_reason(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    spec = declared(provider="Apprise")
    for url, why in (
        ("nosuch://secret", "the target bus has an address that apprise does not know"),
        ("json://127.0.0.1:1/secret", "the target bus refused the message, or did not answer"),
    ):
        with pytest.raises(DeliveryError) as found:
            await notifier.send(spec, _target(tmp_path, url), "acme", [_news()], lambda one: None)
        assert str(found.value) == why
    assert "secret" not in caplog.text


async def test_the_metrics_tell_how_long_a_notification_owes(tmp_path: Path) -> None:
    viewer = policy("viewer", subjects=[user("ann")], allow=["view"])
    from tests.hub.stage import Recorded

    running = Running(Recorded(snapshot(viewer, document())))
    async with staged(tmp_path, running=running) as hub:
        assert (
            'gitfed_notification_owed_seconds{notification="oncall"} 0.0'
            in (await get(hub, "/metrics", token="ann"))[1]
        )
        running.owed["oncall"] = asyncio.get_running_loop().time() - 100
        running.telemetry.notifications["oncall", "failed"] += 1
        text = (await get(hub, "/metrics", token="ann"))[1]
    assert 'gitfed_notification_owed_seconds{notification="oncall"} 10' in text
    assert 'gitfed_notifications_total{notification="oncall",outcome="failed"} 1.0' in text
