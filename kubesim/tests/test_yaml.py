"""YAML bodies mean what they mean to an API server, and hostile ones are refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim import yaml

WORDS = {
    "yes": True, "off": False, "~": None, "": None, "0755": 493, "0o17": 15, "-0x1F": -31, "1_000": 1000, "1.0": 1,
    "1.5": 1.5, "1e3": 1000, "18446744073709551616": 18446744073709551616.0, "2026-01-01": "2026-01-01",
    "1:30": "1:30", "'yes'": "yes", '"1"': "1", "0o9": "0o9",
}  # fmt: skip


@pytest.mark.parametrize(("word", "meant"), WORDS.items())
def test_an_unquoted_word_means_what_go_reads(word: str, meant: Any) -> None:
    value, repeated = yaml.load(f"a: {word}".encode())
    assert (value, type(value["a"]), repeated) == ({"a": meant}, type(meant), [])


def test_of_several_documents_the_first_counts() -> None:
    assert yaml.load(b"a: 1\n---\nb: 2\n") == ({"a": 1}, [])
    assert yaml.load(b"") == (None, [])


def test_keys_are_texts_and_the_last_of_a_repeated_one_wins() -> None:
    value, repeated = yaml.load(b"yes: 1\n2: {k: 1, k: 2}\ntrue: 3\n")
    assert value == {"true": 3, "2": {"k": 2}}
    assert repeated == ['line 2: key "k" already set in map', 'line 3: key "true" already set in map']


def test_an_alias_repeats_what_its_anchor_names() -> None:
    assert yaml.load(b"a: &x [1, {b: &y c}]\nd: *x\ne: *y\n")[0] == {
        "a": [1, {"b": "c"}],
        "d": [1, {"b": "c"}],
        "e": "c",
    }


BAD = {
    "a: [1\n": "yaml: line 1: did not find expected ',' or ']'",
    "a: *x": "yaml: unknown anchor 'x' referenced",
    "a: &x [*x]": "yaml: anchor 'x' value contains itself",
    "x: 1\na: @b\n": "yaml: line 2: found character that cannot start any token",
    "\ta: 1": "yaml: found character that cannot start any token",
    "x:\n  y: [1, 2\n  z: 3\n": "yaml: line 2: did not find expected ',' or ']'",
    "[a]: 1": "yaml: invalid map key",
    "a: .nan": "json: unsupported value: NaN",
    "a: \x01": "yaml: control characters are not allowed",
    "[" * 100_000: "yaml: exceeded max depth of 100",
    "a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
        f"{new}: &{new} [{','.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcdefg", "bcdefgh", strict=True)
    ): "yaml: document contains excessive aliasing",
}  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), BAD.items(), ids=range(len(BAD)))
def test_what_cannot_be_read_is_refused(text: str, wanted: str) -> None:
    with pytest.raises(yaml.YamlError) as caught:
        yaml.load(text.encode())
    assert str(caught.value) == wanted


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(JSON)
def test_what_is_written_is_read_back(value: Any) -> None:
    assert yaml.load(yaml.dump(value).encode()) == (value, [])
