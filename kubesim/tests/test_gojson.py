"""The decoder's complaints, in Go's words."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim import go_words
from kubesim.server import gojson


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "unexpected end of JSON input"),
        ("{", "unexpected end of JSON input"),
        ("{bad", "invalid character 'b' looking for beginning of object key string"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ('{"a":1 "b":2}', "invalid character '\"' after object key:value pair"),
        ("[1 2]", "invalid character '2' after array element"),
        ("[1,]", "invalid character ']' looking for beginning of value"),
        ("{} x", "invalid character 'x' after top-level value"),
        ("trve", "invalid character 'v' in literal true (expecting 'u')"),
        ("nul", "unexpected end of JSON input"),
        ("-x", "invalid character 'x' in numeric literal"),
        ("1.x", "invalid character 'x' in numeric literal"),
        ("1ex", "invalid character 'x' in numeric literal"),
        ('"\n"', "invalid character '\\n' in string"),
        ('"\\x"', "invalid escape sequence `\\x` in string"),
        ('"\\u12g4"', "invalid escape sequence `\\u12g4` in string"),
        ("'a'", "invalid character '\\'' looking for beginning of value"),
    ],
)
def test_text_that_is_no_json_is_refused_in_the_words_of_go(text: str, complaint: str) -> None:
    with pytest.raises(gojson.JsonError) as caught:
        gojson.loads(text.encode())
    assert str(caught.value) == complaint


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(_JSON)
def test_whatever_json_prints_is_read_back(value: object) -> None:
    assert gojson.loads(json.dumps(value).encode()) == value


@given(st.text(alphabet='{}[]",:0123456789.eE+-truefalsn\\ ', max_size=12))
def test_what_is_refused_is_refused_by_pythons_decoder_too(text: str) -> None:
    try:
        gojson.loads(text.encode())
    except gojson.JsonError:
        with pytest.raises(ValueError):
            json.loads(text)


@pytest.mark.parametrize(
    ("value", "name"),
    [(None, "null"), (True, "bool"), ("x", "string"), (1.5, "number"), ([], "array"), ({}, "object")],
)
def test_values_have_the_names_that_go_gives_them(value: object, name: str) -> None:
    assert go_words.json_type(value) == name
