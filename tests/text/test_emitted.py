"""Reading what was written by `emit`: the same values as any reader of YAML finds, or none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.text import emit, emitted, yaml
from tests.text.yaml_values import VALUES

_STATUS = {"availableReplicas": 2, "observedGeneration": 1, "ratio": 0.5, "replicas": None}
_BINDING = {
    "apiVersion": "work.karmada.io/v1alpha2",
    "metadata": {"annotations": {"policy": '{"a":["b: c"]}', "0755": "yes", "a b": "x #y"}, "name": "web-deployment"},
    "spec": {
        "clusters": [{"name": f"c{number}"} for number in range(3)],
        "empty": {},
        "none": [],
        "words": ["a", "-1"],
    },
    "status": {
        "aggregatedStatus": [
            {"applied": True, "clusterName": f"c{number}", "health": "Healthy", "status": _STATUS}
            for number in range(3)
        ],
        "lists": [[1, ["a"]], [], {}, [{"b": [{"c": "d"}]}]],
    },
}


def test_a_binding_is_read_as_it_was_written():
    assert emitted.load(emit.dump(_BINDING).encode()) == _BINDING


def test_an_item_that_many_files_have_is_held_once():
    texts = [emit.dump({**_BINDING, "kind": kind}).encode() for kind in ("A", "B")]
    first, second = (emitted.load(text)["status"]["aggregatedStatus"] for text in texts)
    assert [one is other for one, other in zip(first, second, strict=True)] == [True, True, True]


@given(VALUES)
def test_whatever_was_written_is_read_rightly_or_not_at_all(value: object):
    text = emit.dump(value).encode()
    try:
        found = emitted.load(text)
    except emitted.NotEmitted:
        return
    assert emit.dump(found) == emit.dump(yaml.load_all(text)[0])


@given(st.data())
def test_a_text_that_somebody_edited_is_read_as_yaml_has_it_or_not_at_all(data: st.DataObject):
    text = emit.dump(_BINDING)
    at = data.draw(st.integers(0, len(text)))
    put = data.draw(st.text("ab:- \n\"'{}[]#&*!|>%@`\\~0.\t", max_size=4))
    edited = (text[:at] + put + text[at + data.draw(st.integers(0, 4)) :]).encode()
    try:
        found = emitted.load(edited)
    except emitted.NotEmitted:
        return
    assert yaml.load_all(edited) == [found]


@pytest.mark.parametrize(
    "text",
    [
        "a: 1 # why\n",
        "b: 1\na: 2\n",
        "a: 1\na: 1\n",
        "a: yes\n",
        "a: |\n  b\n  c\n",
        "a: 1",
        "a:\n",
        "- \n",
        "",
        "a: 1\n---\nb: 2\n",
        "a: .inf\n",
        "a: &b 1\n",
        "  " * 40 + "a: 1\n",
        "\ufeffa: 1\n",
    ],
)
def test_another_form_is_left_to_the_reader_of_any_yaml(text: str):
    with pytest.raises(emitted.NotEmitted):
        emitted.load(text.encode())


def test_bytes_that_are_no_text_are_left_to_the_reader_of_any_yaml():
    with pytest.raises(emitted.NotEmitted):
        emitted.load(b"a: \xff\n")
