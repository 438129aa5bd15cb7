"""Memory goes back to the system where there is a way."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gitfed.edges import free_memory


def test_memory_is_given_back_or_kept_where_the_c_library_has_no_way(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    library = SimpleNamespace(malloc_trim=asked.append)
    monkeypatch.setattr(free_memory.ctypes, "CDLL", lambda name: library)
    free_memory.give_back()
    assert asked == [0]
    monkeypatch.setattr(free_memory.ctypes, "CDLL", lambda name: object())
    free_memory.give_back()
