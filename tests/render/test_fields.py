"""JSON and YAML documents inside a string (Karmada: policies §4.8)."""

from __future__ import annotations

import pytest

from gitfed.render import fields
from gitfed.text.patch import PatchError, PatchOperation
from gitfed.text.yaml import load_one_lenient


def test_json_keeps_key_order_and_number_text_and_is_written_compactly() -> None:
    text = '{"z": 1, "db": {"host": "a", "ports": [1, 2]}, "f": 1.0, "big": 12345678901234567890, "e": 1e2}'
    operations = [
        PatchOperation("replace", "/db/host", "b"),
        PatchOperation("add", "/db/ports/-", 3),
        PatchOperation("add", "/new", {"k": [1, 2], "t": True, "n": None}),
    ]
    assert fields.patch_json(text, operations) == (
        '{"z":1,"db":{"host":"b","ports":[1,2,3]},"f":1.0,"big":12345678901234567890,"e":1e2,'
        '"new":{"k":[1,2],"t":true,"n":null}}'
    )


def test_json_text_is_harmless_inside_html() -> None:
    assert fields.patch_json('{"a": "<b>&\\u2028é"}', []) == '{"a":"\\u003cb\\u003e\\u0026\\u2028é"}'


def test_a_list_is_a_document_and_may_be_counted_from_its_end() -> None:
    assert (
        fields.patch_json("[1, 2, 3]", [PatchOperation("remove", "/-1"), PatchOperation("add", "/-", 9)]) == "[1,2,9]"
    )


def test_an_empty_json_text_stays_empty() -> None:
    assert fields.patch_json("", [PatchOperation("add", "/a", 1)]) == ""


@pytest.mark.parametrize("text", ["5", '"x"', "null", "{", '{"a":1} x', "NaN", '{"a": Infinity}', "[" * 100_000])
def test_json_that_is_no_object_or_list_is_refused(text: str) -> None:
    with pytest.raises(fields.FieldError):
        fields.patch_json(text, [PatchOperation("add", "/a", 1)])


@pytest.mark.parametrize("value", [5, "x", None])
def test_a_document_cannot_become_something_else(value: object) -> None:
    with pytest.raises(fields.FieldError, match="the text would hold no object or list any more"):
        fields.patch_json("{}", [PatchOperation("replace", "", value)])
    with pytest.raises(fields.FieldError, match="the text would hold no object or list any more"):
        fields.patch_yaml("a: 1", [PatchOperation("add", "", value)])


def test_a_missing_place_is_refused() -> None:
    with pytest.raises(PatchError, match="cannot replace /x: /x does not exist"):
        fields.patch_json("{}", [PatchOperation("replace", "/x", 1)])


def test_yaml_is_read_as_kubernetes_reads_it_and_comments_are_lost() -> None:
    text = '# c\nzeta: 1\nalpha:\n  b: "yes"\n  a: [1, 2]\n'
    result = fields.patch_yaml(text, [PatchOperation("replace", "/alpha/a/0", 9), PatchOperation("remove", "/zeta")])
    assert load_one_lenient(result) == {"alpha": {"a": [9, 2], "b": "yes"}}
    assert "#" not in result


@pytest.mark.parametrize("text", ["", "word", "a: [1", "a:\n\t- b"])
def test_yaml_that_is_no_object_or_list_is_refused(text: str) -> None:
    with pytest.raises(fields.FieldError):
        fields.patch_yaml(text, [PatchOperation("add", "/a", 1)])
