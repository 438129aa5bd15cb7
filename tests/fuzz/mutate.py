"""From a good document to one that is almost good: members replaced, removed, renamed, repeated or nested."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63) - 1, 10**400, 0.5, 1e308, "", "x", "\x00", "\u202e\u20ac",
    "a" * 300,
    "9" * 4301, "2026-01-01T00:00:00Z", "9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+14:00", "100m", "1e99999",
    "-1", "../../etc/passwd", "a/b/c", [], {}, [None], [[]], {"": None}, {"a": {}}, ["x"], [5], [{}], "Directly", "*",
)  # fmt: skip
"""What takes the place of a member."""


@st.composite
def documents(draw: st.DrawFn, seeds: Sequence[Any], *, most: int = 4) -> Any:
    """One of the seeds with up to so many changes."""
    value = copy.deepcopy(draw(st.sampled_from(list(seeds))))
    for _ in range(draw(st.integers(0, most))):
        value = _changed(draw, value)
    return value


def _changed(draw: st.DrawFn, value: Any) -> Any:
    places = list(_places(value))
    if not places:
        return copy.deepcopy(draw(st.sampled_from(ODD)))
    container, key = draw(st.sampled_from(places))
    how = draw(st.sampled_from(("replace", "replace", "replace", "remove", "wrap", "repeat", "rename", "other")))
    if how == "replace":
        container[key] = copy.deepcopy(draw(st.sampled_from(ODD)))
    elif how == "remove":
        del container[key]
    elif how == "wrap":
        container[key] = draw(st.sampled_from(([container[key]], {"a": container[key]})))
    elif how == "repeat" and isinstance(container, list):
        container.append(copy.deepcopy(container[key]))
    elif how == "rename" and isinstance(container, dict):
        container[draw(st.sampled_from(("", "x", "name", "kind", "spec", "metadata")))] = container.pop(key)
    else:
        other, name = draw(st.sampled_from(places))
        container[key] = copy.deepcopy(other[name])
    return value


def _places(value: Any) -> Any:
    left = [value]
    while left:
        one = left.pop()
        members = one.items() if isinstance(one, dict) else enumerate(one) if isinstance(one, list) else ()
        for key, child in list(members):
            yield one, key
            left.append(child)


@st.composite
def texts(draw: st.DrawFn, seeds: Sequence[bytes], *, most: int = 6) -> bytes:
    """One of the seeds with parts cut out, doubled, or replaced by what means something to a parser."""
    data = draw(st.sampled_from(list(seeds)))
    for _ in range(draw(st.integers(0, most))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 40)))
        part = draw(st.sampled_from(_PARTS) | st.binary(max_size=6) | st.just(data[start:end] * 2))
        data = data[:start] + part + data[end:]
    return data


_PARTS = (
    b"", b"&a ", b"*a", b"<<: ", b"- ", b": ", b"? ", b"|\n", b">-\n", b"!!python/object:os.system ", b"!!binary ",
    b"{", b"}",
    b"[", b"]", b'"', b"'", b"\t", b"\r", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"---\n", b"...\n", b"%YAML 1.1\n",
    b"#",
    b"1e400", b".nan", b"0o17", b"9" * 4301, b"\\ud800", b"\\u0000", b"[" * 1200, b"{a: " * 200, b"\xf0\x9f\x98\x80",
    b"~", b",",
)  # fmt: skip


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()
