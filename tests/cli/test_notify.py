"""gitfed notify"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from tests.cli.fleet_of_two import FLEET
from tests.cli.world import commit, gitfed
from tests.e2e.listener import Listener, notification

ONCALL = {"notify/oncall.json": notification("oncall"), "notify/mine.json": notification("mine", events=["held"])}


def test_each_notification_says_what_it_would_tell(fleet: Path, tmp_path: Path) -> None:
    (tmp_path / "fleet.yaml").write_text(FLEET)
    commit(fleet, ONCALL)
    result = gitfed("notify", "--fleet", tmp_path / "fleet.yaml", "--now", "2026-08-22T10:04:00Z")
    assert (result.code, result.err) == (0, "")
    assert result.out == (
        "mine: to target bus by CloudEvents, of held\n"
        "  nothing to say\n"
        "oncall: to target bus by CloudEvents, of held, rejected, failed, problems, unreachable, evicted\n"
        "  gitfed acme: cluster us-1 answers, and is not ready\n"
        "  cluster us-1 answers, and is not ready\n"
        "    2026-08-22 10:04:00 UTC\n"
    )


def test_as_json_they_are_cloud_events(fleet: Path, tmp_path: Path) -> None:
    (tmp_path / "fleet.yaml").write_text(FLEET)
    commit(fleet, ONCALL)
    result = gitfed("notify", "oncall", "-o", "json", "--fleet", tmp_path / "fleet.yaml")
    document = json.loads(result.out)
    assert document["schema"] == "gitfed.io/notify/v1"
    (told,) = document["notifications"]
    assert (told["name"], told["target"], told["provider"]) == ("oncall", "bus", "CloudEvents")
    assert [(event["type"], event["subject"]) for event in told["events"]] == [
        ("io.gitfed.unreachable.begun", "us-1")
    ]  # fmt: skip


def test_a_test_message_is_sent_to_the_target_of_one(fleet: Path, tmp_path: Path) -> None:
    commit(fleet, ONCALL)
    with contextlib.closing(Listener()) as listener:
        targets = listener.target(tmp_path)
        result = gitfed("notify", "oncall", "--test", "--notify-dir", targets)
        assert (result.code, result.out) == (0, "the target bus has taken a test message\n")
        assert [event["type"] for event in listener.events] == ["io.gitfed.test.begun"]
        listener.away = True
        result = gitfed("notify", "oncall", "--test", "--notify-dir", targets)
        assert (result.code, result.err) == (
            1, "not delivered: the target bus answers HTTP 503 Service Unavailable\n",
        )  # fmt: skip


def test_mistakes_on_the_command_line_are_named(fleet: Path, tmp_path: Path) -> None:
    assert gitfed("notify").out == "the repository has no Notification\n"
    commit(fleet, ONCALL)
    assert "no Notification 'oncal'" in gitfed("notify", "oncal").err
    assert gitfed("notify", "--test").code == 2
    assert "--test sends to one target" in gitfed("notify", "oncall", "--test").err


def test_a_review_shows_that_a_notification_changed(fleet: Path) -> None:
    commit(fleet, ONCALL)
    commit(fleet, {"notify/oncall.json": notification("oncall", target="elsewhere")})
    assert "Notification/oncall changed" in gitfed("diff", "HEAD~1..HEAD").out
