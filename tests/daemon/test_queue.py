"""The order in which one cluster's changes are carried out."""

from __future__ import annotations

from collections.abc import Iterable

from gitfed.daemon.fleet.queue import PATIENCE, Queue
from gitfed.model.base import ObjectKey
from gitfed.model.plan import Action, Change
from gitfed.planning.ordering import order
from tests.daemon.changes import change, key


def names(queue: Queue, now: float = 0.0) -> list[str]:
    found = []
    while (item := queue.pop(now)) is not None:
        found.append(item.key.name)
        queue.finished(item.key, delay=float)
    return found


def replaced(changes: Iterable[Change], urgent: Iterable[ObjectKey] = ()) -> Queue:
    queue = Queue()
    queue.replace(changes, set(urgent))
    return queue


def test_a_persons_change_goes_before_what_is_left_over_and_drift_goes_last() -> None:
    queue = replaced([change("drift", drift=True), change("a-old"), change("pushed")], [key("pushed")])
    assert names(queue) == ["pushed", "a-old", "drift"]


def test_stages_follow_wave_and_then_kind() -> None:
    queue = replaced([change("c", wave=1), change("b", order=5), change("a", order=2)])
    assert names(queue) == ["a", "b", "c"]


def test_deletions_go_last_and_content_before_its_namespace() -> None:
    queue = replaced(
        [
            change("namespace", action=Action.DELETE, order=0),
            change("content", action=Action.DELETE, order=6),
            change("new", order=9),
        ]
    )
    assert names(queue) == ["new", "content", "namespace"]


def test_a_stage_waits_until_the_earlier_one_is_over() -> None:
    queue = replaced([change("namespace", order=0), change("web", order=6)])
    first = queue.pop(0.0)
    assert first is not None
    assert first.key.name == "namespace"
    assert queue.pop(0.0) is None
    queue.finished(first.key, delay=float)
    second = queue.pop(0.0)
    assert second is not None
    assert second.key.name == "web"


def test_what_everything_stands_in_goes_before_changes_of_any_urgency() -> None:
    queue = replaced([change("namespace", wave=order.NO_WAVE), change("web", order=6)])
    first = queue.pop(0.0)
    assert first is not None
    assert first.key.name == "namespace"
    assert queue.pop(0.0) is None
    queue.finished(first.key, delay=float)
    assert names(queue) == ["web"]


def test_an_urgent_change_does_not_wait_for_a_stage_of_the_backlog() -> None:
    queue = replaced([change("backlog", order=0), change("later", order=6)])
    assert queue.pop(0.0) is not None
    queue.replace([change("backlog", order=0), change("later", order=6), change("pushed", order=6)], {key("pushed")})
    urgent = queue.pop(0.0)
    assert urgent is not None
    assert urgent.key.name == "pushed"
    assert queue.pop(0.0) is None


def test_what_is_under_way_is_not_started_twice() -> None:
    queue = replaced([change("web")])
    assert queue.pop(0.0) is not None
    queue.replace([change("web")], set())
    assert queue.pop(0.0) is None


def test_a_failed_change_waits_and_others_do_not() -> None:
    queue = replaced([change("bad"), change("good")])
    bad = queue.pop(10.0)
    assert bad is not None
    queue.finished(bad.key, failed_at=10.0, delay=lambda failures: 5.0 * failures)
    assert names(queue, 11.0) == ["good"]
    assert queue.next_time() == 15.0
    again = queue.pop(15.0)
    assert again is not None
    queue.finished(again.key, failed_at=15.0, delay=lambda failures: 5.0 * failures)
    assert queue.next_time() == 25.0


def test_a_failed_change_that_now_asks_for_something_else_is_tried_at_once() -> None:
    queue = replaced([change("web", digest="one")])
    failed = queue.pop(0.0)
    assert failed is not None
    queue.finished(failed.key, failed_at=0.0, delay=lambda attempt: 60.0)
    queue.replace([change("web", digest="one")], set())
    assert queue.pop(1.0) is None
    queue.replace([change("web", digest="two")], set())
    assert queue.pop(1.0) is not None


def test_a_change_that_is_in_no_list_any_more_is_dropped() -> None:
    queue = replaced([change("a"), change("b")])
    queue.replace([change("b")], set())
    assert names(queue) == ["b"]
    assert len(queue) == 0


def test_what_a_change_waits_for_holds_back_nothing_else() -> None:
    queue = replaced([change("a", waits_for=(key("db"),)), change("b")])
    got = queue.pop(0.0, lambda one: one.turn.waits_for[0] if one.turn.waits_for else None)
    assert got is not None
    assert got.key.name == "b"
    assert queue.pop(0.0, lambda one: one.turn.waits_for[0] if one.turn.waits_for else None) is None
    queue.release(key("db"))
    now = queue.pop(0.0)
    assert now is not None
    assert now.key.name == "a"


def test_keeps_and_skips_are_no_work() -> None:
    queue = replaced([change("kept", action=Action.KEEP), change("skipped", action=Action.SKIP)])
    assert len(queue) == 0


def test_a_cluster_that_came_back_forgets_waiting_times() -> None:
    queue = replaced([change("web")])
    failed = queue.pop(0.0)
    assert failed is not None
    queue.finished(failed.key, failed_at=0.0, delay=lambda attempt: 60.0)
    queue.hurry()
    assert queue.pop(0.0) is not None


def test_a_change_that_waits_for_an_object_is_tried_again_after_that_object_changed() -> None:
    queue = replaced([change("web", waits_for=(key("db"),)), change("cron", waits_for=(key("db"),)), change("free")])
    asked: list[str] = []
    healthy: set[ObjectKey] = set()

    def blocked(item: Change) -> ObjectKey | None:
        asked.append(item.key.name)
        return next((other for other in item.turn.waits_for if other not in healthy), None)

    free = queue.pop(0.0, blocked)
    assert free is not None
    assert free.key.name == "free"
    assert queue.pop(0.0, blocked) is None
    assert queue.pop(0.0, blocked) is None
    assert asked == ["cron", "free", "web"]
    queue.release(key("other"))
    assert queue.pop(0.0, blocked) is None
    healthy.add(key("db"))
    queue.release(key("db"))
    assert [found.key.name for _ in range(2) if (found := queue.pop(0.0, blocked))] == ["cron", "web"]


def test_a_change_that_failed_and_now_waits_for_another_object_wakes_nobody_by_time() -> None:
    queue = replaced([change("web", waits_for=(key("db"),))])
    first = queue.pop(0.0)
    assert first is not None
    queue.finished(first.key, failed_at=0.0, delay=lambda attempt: 1.0)
    assert queue.next_time() == 1.0
    assert queue.pop(2.0, lambda item: key("db")) is None
    assert queue.next_time() is None


def test_a_copy_that_was_evicted_goes_before_anything_else_is_begun() -> None:
    gone = change("gone", action=Action.DELETE, order=9, first=True)
    queue = replaced([change("pushed"), change("drift", drift=True), change("other"), gone], [key("pushed")])
    first = queue.pop(0.0)
    assert first is not None
    assert first.key.name == "gone"
    assert queue.pop(0.0) is None, "it is still under way"
    queue.finished(first.key, delay=float)
    assert names(queue) == ["pushed", "other", "drift"]


def test_an_evicted_copy_that_cannot_be_deleted_holds_nobody_back_while_it_waits() -> None:
    gone = change("gone", action=Action.DELETE, first=True)
    queue = replaced([change("other"), gone])
    first = queue.pop(0.0)
    assert first is not None
    queue.finished(first.key, failed_at=0.0, delay=lambda attempt: 10.0)
    assert names(queue) == ["other"]


def test_what_is_written_again_and_again_waits_whether_it_is_called_drift_or_not() -> None:
    queue = replaced([change("web")])
    first = queue.pop(0.0)
    assert first is not None
    queue.repaired(first, 0.0)
    queue.repaired(first, 0.1)
    queue.finished(first.key, delay=float)
    queue.replace([change("web", drift=True)], set())
    assert queue.pop(0.2) is None
    assert queue.next_time() == 0.1 + PATIENCE[1]
    # Somebody pushed something that touches it: a person waits.
    queue.replace([change("web")], {key("web")})
    assert queue.pop(0.3) is not None


def test_what_a_person_wants_tried_again_waits_no_longer_contested_or_not() -> None:
    queue = replaced([change("a", drift=True), change("b")])
    for _ in range(2):
        item = queue.pop(0.0)
        assert item is not None
        queue.finished(item.key, failed_at=0.0, delay=lambda attempt: 100.0)
    for _ in range(5):
        queue.repaired(change("a", drift=True), 0.0)
    assert (queue.pop(1.0), queue.next_time()) == (None, 100.0)
    queue.retry([key("b")])
    item = queue.pop(1.0)
    assert item is not None
    assert (item.key.name, queue.pop(1.0)) == ("b", None)
    queue.retry()
    item = queue.pop(1.0)
    assert item is not None
    assert item.key.name == "a"
