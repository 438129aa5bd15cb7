"""What two writers of one file changed, put together."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.edges.state import merge
from gitfed.text import emit, yaml


def merged(base: Any, ours: Any, theirs: Any) -> Any:
    texts = (None if one is None else one if isinstance(one, bytes) else emit.dump(one).encode()
             for one in (base, ours, theirs))  # fmt: skip
    found = merge.file(*texts)
    return None if found is None else yaml.load_all(found)[0]


def task(cluster: str, **more: Any) -> dict[str, Any]:
    return {"fromCluster": cluster, "purgeMode": "Gracefully", **more}


def tasks(*found: Any) -> dict[str, Any]:
    return {"spec": {"gracefulEvictionTasks": list(found)}} if found else {"spec": {"replicas": 2}}


M1, M2 = task("m1"), task("m2")
SUPPRESSED = task("m1", suppressDeletion=True)


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        pytest.param({"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": 1, "b": 2}, {"a": 2, "b": 2}, id="a member each"),
        pytest.param({"a": 1}, {"a": 2}, {"a": 3}, {"a": 3}, id="of the same member the person's"),
        pytest.param({"a": 1}, {"a": 2}, {}, {}, id="what the person took away is gone"),
        pytest.param({"a": 1}, {}, {"a": 2}, {"a": 2}, id="what the person changed stays"),
        pytest.param({}, {"a": 1}, {"b": 1}, {"a": 1, "b": 1}, id="what each of them added"),
        pytest.param(None, {"a": 1, "c": 1}, {"b": 1, "c": 2}, {"a": 1, "b": 1, "c": 2}, id="a file that both made"),
        pytest.param({"a": 1}, {"a": 2}, None, None, id="a file that the person deleted"),
        pytest.param({"a": 1}, None, {"a": 2}, {"a": 2}, id="a file that only the person wants"),
        pytest.param({"a": 1}, None, {"a": 1}, None, id="a file that is over"),
        pytest.param({"a": 1}, {"a": 2}, b"{", {"a": 2}, id="an edit that cannot be read"),
        pytest.param({"a": 1}, {"a": 2}, b"7", {"a": 2}, id="an edit that says no object"),
        pytest.param(b"{", {"a": 2}, {"a": 3}, {"a": 2}, id="an edit of what could not be read"),
        pytest.param({"n": 1}, {"n": 2}, b"n: .nan", {"n": 2}, id="an edit that has no canonical form"),
        pytest.param(tasks(), tasks(M1), tasks(M2), {"spec": {"gracefulEvictionTasks": [M2, M1]}}, id="a task each"),
        pytest.param(tasks(M1), tasks(M1, M2), tasks(SUPPRESSED), tasks(SUPPRESSED, M2), id="an edit beside a new one"),
        pytest.param(tasks(M1), tasks(M1, M2), {"spec": {}}, tasks(M2), id="the only one taken away, beside a new one"),
        pytest.param(tasks(M1), {"spec": {}}, tasks(M1, M2), tasks(M2), id="the only one over, beside a new one"),
        pytest.param(tasks(M1), tasks(M1, M2), tasks(M1, M1, 7), tasks(M1, M1, 7, M2), id="one twice, and no task"),
        pytest.param({"l": ["a", "b"]}, {"l": ["b", "c"]}, {"l": ["a", "d"]}, {"l": ["d", "c"]}, id="lists of words"),
    ],
)  # fmt: skip
def test_a_file_of_two_writers(base: Any, ours: Any, theirs: Any, expected: Any) -> None:
    assert merged(base, ours, theirs) == expected


leaves = st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["a", "b"])
items = st.lists(st.fixed_dictionaries({"fromCluster": st.sampled_from(["m1", "m2", "m3"]), "purgeMode": leaves}),
                 max_size=3)  # fmt: skip


def mappings(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(st.sampled_from("abcde"), inner, max_size=4)


values = st.recursive(leaves | items, lambda inner: st.lists(inner, max_size=3) | mappings(inner), max_leaves=8)
documents = mappings(values)


@given(base=documents, ours=documents, theirs=documents)
def test_what_only_one_writer_changed_is_as_that_one_left_it(base: Any, ours: Any, theirs: Any) -> None:
    assert merged(base, base, theirs) == theirs
    assert merged(base, ours, base) == ours
    assert merged(base, ours, ours) == ours
    both = merged(base, ours, theirs)
    for name in base.keys() | ours.keys() | theirs.keys():
        before, here, there = (side.get(name, ...) for side in (base, ours, theirs))
        if here == before:
            assert both.get(name, ...) == there
        elif there == before:
            assert both.get(name, ...) == here


@given(base=items, added=st.sampled_from(["n1", "n2"]), theirs=items)
def test_a_task_that_the_person_knew_nothing_of_stays_whatever_they_wrote(
    base: list[Any], added: str, theirs: list[Any]
) -> None:
    new = {"fromCluster": added, "purgeMode": "Directly"}
    both = merged({"t": base}, {"t": [*base, new]}, {"t": theirs} if theirs else {})
    assert both["t"] == [*theirs, new]
