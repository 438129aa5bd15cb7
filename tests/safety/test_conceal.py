"""What messages about a file with Secrets may quote."""

from __future__ import annotations

import pytest

from gitfed.source import repo
from tests.source.trees import tree

HEAD = "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: shop}\nstringData:\n"


def told(text: str) -> list[str]:
    return [str(problem) for problem in repo.read(tree({"a.yaml": text})).problems]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("*hunter22", "a.yaml:5:6: the alias **** has no anchor before it"),
        ("!hunter22 x", "a.yaml:5:6: the tag !*** is not supported (remove it)"),
        ("!!int hunter22", "a.yaml:5:6: *** is not of type !!int"),
        ("1234e999", "a.yaml:5:6: *** is not a number that JSON can hold (quote it if it is text)"),
        ("!!int " + "hunter22" * 9, "a.yaml:5:6: ***… is not of type !!int"),
    ],
    ids=lambda value: value[:20],
)
def test_a_value_that_cannot_be_read_is_not_quoted(value: str, message: str) -> None:
    assert told(f"{HEAD}  p: {value}\n") == [message]


def test_keys_are_told_because_they_are_how_the_place_is_found() -> None:
    assert told(f"{HEAD}  password: a\n  password: hunter22\n") == [
        "a.yaml:6:3: the key password stands twice (first on line 5)"
    ]


def test_files_without_secrets_are_quoted_as_ever() -> None:
    assert "a.yaml:2:4: hunter22 is not of type !!int" in told("kind: A\na: !!int hunter22\n")
