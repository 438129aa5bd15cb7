"""`values.dataclass` makes what the standard library's makes; that a frozen value stays as it is, mypy sees to.

mypy reads this file, strictly: if it let the assignment below pass, the comment that allows it would be an error.
"""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Ours:
    name: str
    count: int = 0
    note: str = dataclasses.field(default="", compare=False)
    secret: str = dataclasses.field(default="", repr=False)


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Theirs:
    name: str
    count: int = 0
    note: str = dataclasses.field(default="", compare=False)
    secret: str = dataclasses.field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Cased:
    name: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cased) and self.name.lower() == other.name.lower()

    def __hash__(self) -> int:
        return hash(self.name.lower())

    def __repr__(self) -> str:
        return self.name


@dataclass(slots=True)
class Counted:
    parts: list[Counted] = dataclasses.field(default_factory=list)


@pytest.mark.parametrize(
    "observed",
    [
        lambda made: made("a", 1) == made("a", 1, note="x"),
        lambda made: made("a", 1) == made("a", 1, secret="x"),
        lambda made: hash(made("a", 1)) == hash(made("a", 1, note="x")),
        lambda made: hash(made("a", 1)),
        lambda made: len({made("a"), made("a"), made("b")}),
        lambda made: made("a", 2) < made("b", 1),
        lambda made: repr(made("a", 1, "n", "s")).replace(made.__name__, ""),
        lambda made: dataclasses.astuple(dataclasses.replace(made("a", 1), count=3)),
        lambda made: dataclasses.astuple(pickle.loads(pickle.dumps(made("a", 1, "n", "s")))),
        lambda made: copy.deepcopy(made("a")) == copy.copy(made("a")),
        lambda made: made("a") == ("a", 0, "", ""),
        lambda made: made.__slots__,
        lambda made: made.__match_args__,
    ],
)
def test_a_value_is_as_one_of_the_standard_library(observed: Callable[[Any], object]) -> None:
    assert observed(Ours) == observed(Theirs)


def test_what_a_class_says_itself_stays() -> None:
    assert Cased("Web") == Cased("web")
    assert hash(Cased("Web")) == hash(Cased("web"))
    assert repr(Cased("Web")) == "Web"


def test_a_value_that_may_change_has_no_hash_and_shows_itself_once() -> None:
    counted = Counted()
    counted.parts.append(counted)
    assert repr(counted) == "Counted(parts=[...])"
    with pytest.raises(TypeError, match="unhashable type"):
        hash(counted)


def test_mypy_and_not_python_keeps_a_frozen_value_as_it_is() -> None:
    value = Ours("a")
    value.name = "b"  # type: ignore[misc]
    assert value == Ours("b")
