"""Whatever a file holds, reading it gives a snapshot and problems, never an exception."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gitfed.source import lint, repo
from gitfed.text import yaml
from tests.source.trees import tree

_OBJECTS: list[dict[str, Any]] = yaml.load_all(Path(__file__).with_name("everything.yaml").read_bytes())
_TEXTS = st.sampled_from(["", "a", "A B", "a/b", "*", "m1", "1Gi", "\u202e", "x" * 300, "[", "https://[", "é"])
_JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXTS,
    lambda below: st.lists(below, max_size=2) | st.dictionaries(_TEXTS, below, max_size=2),
    max_leaves=4,
)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, member in below for found in _paths(member, (*path, key)))]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_junk_value_anywhere_is_a_problem_not_a_crash(data: st.DataObject) -> None:
    value = copy.deepcopy(data.draw(st.sampled_from(_OBJECTS)))
    for _ in range(data.draw(st.integers(1, 2))):
        path = data.draw(st.sampled_from(_paths(value)))
        junk = data.draw(_JUNK)
        if not path:
            value = junk
            break
        parent = value
        for part in path[:-1]:
            parent = parent[part]
        parent[path[-1]] = junk
    snapshot = repo.read(tree({"a.yaml": yaml.dump(value)}))
    lint.check(snapshot)
    for problem in snapshot.problems:
        assert problem.message
        assert problem.origin.path


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=100), st.sampled_from(["a.yaml", "a.json", "gitfed.yaml"]))
def test_no_bytes_crash_the_reader(data: bytes, path: str) -> None:
    repo.read(tree({path: data}, settings=None))


def test_a_file_of_many_small_mistakes_is_cut_off() -> None:
    snapshot = repo.read(tree({"a.yaml": "a: .nan\n---\n" * 9000}))
    assert len(snapshot.problems) < 300


def test_a_bomb_among_good_files_costs_only_its_own_file() -> None:
    bomb = "a: &a [x, x]\n" + "\n".join(f"b{i}: &b{i} [*b{i - 1}, *b{i - 1}]" for i in range(1, 60)).replace(
        "*b0", "*a"
    )
    good = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
    snapshot = repo.read(tree({"bomb.yaml": bomb, "good.yaml": good}))
    assert [problem.message for problem in snapshot.problems] == ["aliases expand to more than 2000000 bytes"]
    assert len(snapshot.manifests) == 1
