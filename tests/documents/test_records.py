"""What is remembered of clusters, as documents."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.documents.records import record_document, record_of
from gitfed.errors import InputError
from gitfed.model.decisions import ClusterRecord, TimedTaint
from gitfed.model.fleet import Reach
from gitfed.text import emit, yaml
from tests.support import spoil

TIMES = st.integers(1_577_836_800, 2_208_988_800).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))
WORDS = st.text("abcXYZ-./ ", min_size=1, max_size=20)
TAINTS = st.builds(TimedTaint, WORDS, st.sampled_from(["NoSchedule", "NoExecute"]), st.sampled_from(["", "x"]), TIMES,
                   st.sampled_from(["failover", "Cluster", "ClusterTaintPolicy/a"]))  # fmt: skip


@given(WORDS, st.sampled_from(list(Reach)), TIMES, st.sampled_from(["", "A", "A: b: c"]), st.lists(TAINTS, max_size=3))
def test_what_is_written_is_what_is_read(
    name: str, reach: Reach, since: datetime, reason: str, taints: list[TimedTaint]
) -> None:
    said = reason or "ClusterNotReady"
    record = ClusterRecord(name, reach, since, "" if reach is Reach.READY else said, tuple(sorted(taints)))
    text = emit.dump(record_document(record)).encode()
    assert record_of(yaml.load_all(text)[0]) == record


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"metadata": {}}, "metadata.name is missing"),
        ({"metadata": {"name": "a"}}, "annotation gitfed.io/reach is not Ready, NotReady or Unknown"),
        ({"status": {}}, "status.conditions has no Ready"),
        ({"status": 7}, "status is not an object"),
        ({"spec": {"taints": [{"key": "a"}]}}, "spec.taints[0] needs key and effect"),
        ({"spec": {"taints": [{"key": "a", "effect": "NoExecute", "timeAdded": "then"}]}},
         "spec.taints[0].timeAdded is no time"),
    ],
)  # fmt: skip
def test_a_document_that_was_spoiled_says_where(change: dict[str, Any], said: str) -> None:
    good = record_document(ClusterRecord("a", Reach.UNKNOWN, datetime(2026, 1, 1, tzinfo=UTC), "A: b"))
    with pytest.raises(InputError, match=said.replace("[", r"\[").replace("]", r"\]")):
        record_of({**good, **change})


WHOLE = dict(record_document(ClusterRecord("a", Reach.UNKNOWN, datetime(2026, 1, 1, tzinfo=UTC), "A: b", (
    TimedTaint("k", "NoExecute", "v", datetime(2026, 1, 1, tzinfo=UTC), "failover"),
))))  # fmt: skip


@given(st.sampled_from(spoil.places(WHOLE)), spoil.JUNK)
def test_whatever_stands_in_a_member_the_document_is_read_or_refused_in_words(path: spoil.Path, value: object) -> None:
    try:
        record = record_of(spoil.spoiled(WHOLE, path, value))
    except InputError:
        return
    assert record_of(record_document(record)).name == record.name
    assert all(taint.added < datetime.now(UTC) or taint.added for taint in record.taints)
