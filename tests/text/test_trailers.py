from __future__ import annotations

import pytest

from gitfed.text import trailers


@pytest.mark.parametrize(
    ("body", "found"),
    [
        pytest.param("Why: as asked\n\nKey: value\nOther-Key:  two words ", {"Key": "value", "Other-Key": "two words"},
                     id="the last paragraph alone counts"),
        pytest.param("Key: value\n and its second line", {"Key": "value"}, id="a line that goes on is no trailer"),
        pytest.param("Key: value\nand text", {}, id="a paragraph with text has none"),
        pytest.param("Key: one\nKey: two", {"Key": "two"}, id="the last of two with one key counts"),
        pytest.param("", {}, id="an empty message has none"),
    ],
)  # fmt: skip
def test_trailers_are_read_as_git_reads_them(body: str, found: dict[str, str]) -> None:
    assert trailers.read(body) == found


def test_what_is_written_is_read_again() -> None:
    given = {"Gitfed-Decision": "decided", "Gitfed-Facts": "file fleet.yaml"}
    assert trailers.read("\n".join(trailers.written(given))) == given
