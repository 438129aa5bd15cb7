"""A document changes, and nothing else of the file does."""

from __future__ import annotations

from typing import Any

import pytest

from gitfed.text import edit

FILE = """\
# The fleet.
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata:
    name: m1   # the name
    labels: {a: b, "c": 'd'}
spec:
    syncMode: Push

    # where it stands
    region: east
    taints:
    - key: x
      effect: NoSchedule   # why
---
kind: Other
text: "---"   # no mark
list:
  - 1
  -   2
"""


def taint(document: Any) -> None:
    document["spec"].setdefault("taints", []).append({"key": "k", "value": "v", "effect": "NoExecute"})


def test_comments_quotes_indentation_and_other_documents_stay() -> None:
    assert edit.change(FILE, 2, taint) == FILE.replace(
        "# why\n", "# why\n    - key: k\n      value: v\n      effect: NoExecute\n"
    )


def test_a_new_list_is_indented_as_the_document_is() -> None:
    text = "kind: Cluster\nspec:\n  syncMode: Push\n"
    assert edit.change(text, 1, taint) == (text + "  taints:\n    - key: k\n      value: v\n      effect: NoExecute\n")


def test_the_last_document_can_be_meant_by_any_of_its_lines() -> None:
    def add(document: Any) -> None:
        document["list"].append(3)

    for line in (16, 17, 20):
        assert edit.change(FILE, line, add).endswith("list:\n  - 1\n  - 2\n  - 3\n")
        assert edit.change(FILE, line, add).startswith(FILE[: FILE.index("kind: Other")])


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ('{"a": 1}', '{"a": 1, "b": 2}'),
        ('{"a":1}\n', '{"a":1,"b":2}\n'),
        ('{\n  "a": "é"\n}\n', '{\n  "a": "é",\n  "b": 2\n}\n'),
        ('{\n\t"a": 1\n}', '{\n\t"a": 1,\n\t"b": 2\n}'),
        ("a: 1", "a: 1\nb: 2"),
        ("--- # first\na: 1\n...\n", "--- # first\na: 1\nb: 2\n...\n"),
    ],
)
def test_a_file_keeps_its_form(text: str, changed: str) -> None:
    def add(document: Any) -> None:
        document["b"] = 2

    assert edit.change(text, 2 if text.startswith("---") else 1, add) == changed


@pytest.mark.parametrize(
    ("text", "line", "left"),
    [
        ("a: 1\n", 1, ""),
        ("# about\na: 1\n", 2, ""),
        ('{"a": 1}\n', 1, ""),
        ("---\na: 1\n---\nb: 2\n", 2, "---\nb: 2\n"),
        ("a: 1\n---\nb: 2\n", 1, "b: 2\n"),
        ("a: 1\n---\nb: 2\n", 3, "a: 1\n"),
        ("a: 1\n---\nb: 2\n---\nc: 3\n", 3, "a: 1\n---\nc: 3\n"),
    ],
)
def test_a_document_can_be_taken_out(text: str, line: int, left: str) -> None:
    assert edit.remove(text, line) == left
