"""`state.yaml` as a value: nothing is lost on the way there and back, and what is spoiled counts as not there."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.edges.state import file
from gitfed.errors import StateTooNew
from gitfed.model.base import ClusterName, Commit
from gitfed.model.decisions import Outage
from gitfed.model.operator_orders import Approval, Removal, Suspension
from tests.support import spoil

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
FULL = file.StateFile(
    repository_id="r",
    applied=Commit("c2"),
    limits=Commit("c1"),
    results={
        "m1": {"commit": "c2", "objects": 3},
        "m2": {"commit": "c2", "unfinished": ["Pod/web"]},
        "m3": {"commit": "c1", "objects": 5},
    },
    approvals=(Approval("d", Commit("c2"), (("deletions", 4),), "somebody", NOW),),
    outage=Outage(NOW, NOW),
    suspensions=(Suspension("m1", "somebody", NOW),),
    removals=(Removal(ClusterName("m1"), "Pod default/web", "u", "somebody", NOW),),
    extra={"later": 1},
)


def test_what_is_written_is_read_again() -> None:
    assert file.read(file.document(FULL)) == FULL


def test_what_a_cluster_lacks_and_holds_is_told_from_its_last_result() -> None:
    assert FULL.unfinished == {"m2": {"Pod/web"}, "m3": {"*"}}
    assert FULL.holdings == {"m1": 3, "m3": 5}


def test_spoiled_members_count_as_not_there() -> None:
    spoiled = {"clusters": ["m1"], "approvals": [{"digest": "d"}, 3], "outage": {"ended": "x"}, "appliedCommit": 7}
    empty = file.read({})
    assert file.read(spoiled) == empty
    assert file.read("text") == empty
    assert (empty.unfinished, empty.holdings) == ({}, {})


@given(st.sampled_from(spoil.places(file.document(FULL))), spoil.JUNK)
def test_whatever_stands_in_a_member_all_others_are_read_and_written_again(path: spoil.Path, value: object) -> None:
    document = spoil.spoiled(file.document(FULL), path, value)
    try:
        found = file.read(document)
    except StateTooNew:
        assert path == ("schemaVersion",)
        return
    again = file.read(file.document(found))
    assert (again.approvals, again.outage, again.removals) == (found.approvals, found.outage, found.removals)
    _ = (found.unfinished, found.holdings)
    for time in [one.at for one in found.approvals] + ([found.outage.since] if found.outage else []):
        assert time < NOW or time >= NOW, "it can be compared"


def test_a_newer_schema_is_refused() -> None:
    with pytest.raises(StateTooNew) as refused:
        file.read({"schemaVersion": 2})
    assert refused.value.message == "the state branch has schemaVersion 2, this gitfed reads up to 1"
    assert refused.value.hint == "use the gitfed that wrote it, or a newer one"
