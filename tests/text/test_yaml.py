"""YAML as Kubernetes reads it, and every way in which a file can be wrong."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.text import yaml
from tests.support import edits
from tests.text.yaml_values import SCALARS, TEXT, VALUES


def one(text: str | bytes) -> object:
    stream = yaml.parse(text if isinstance(text, bytes) else text.encode())
    assert stream.usable, stream.faults
    return stream.documents[0].value


def faults(text: str | bytes, *, is_json: bool = False) -> list[str]:
    stream = yaml.parse(text if isinstance(text, bytes) else text.encode(), is_json=is_json)
    return [
        f"{fault.line}:{fault.column}: {'warning: ' if fault.warning else ''}{fault.message}"
        + (f" ({fault.hint})" if fault.hint else "")
        for fault in stream.faults
    ]


@given(VALUES)
def test_what_is_written_is_read_back(value: object) -> None:
    stream = yaml.parse(yaml.dump(value).encode())
    assert stream.faults == ()
    assert [document.value for document in stream.documents] == [value]


@given(st.data(), st.dictionaries(TEXT, VALUES, min_size=1, max_size=4))
def test_two_values_are_written_at_once_as_each_for_itself(data: st.DataObject, before: dict[str, object]) -> None:
    after: Any = before
    for _ in range(data.draw(st.integers(0, 3))):
        if here := list(edits.places(after)):
            after = edits.edited(data.draw, after, data.draw(st.sampled_from(here)), TEXT, VALUES)
    assert yaml.dump_both(before, after) == (yaml.dump(before), yaml.dump(after))


@given(st.lists(st.dictionaries(TEXT, SCALARS, min_size=1, max_size=3), max_size=4))
def test_several_documents_are_read_back_in_order(values: list[dict[str, object]]) -> None:
    assert yaml.load_all(yaml.dump_many(values).encode()) == values


@given(st.binary(max_size=200))
def test_no_bytes_raise(data: bytes) -> None:
    yaml.parse(data)
    yaml.parse(data, is_json=True)


@given(st.text(alphabet="ab:{}[]-&*!|>'\"\n\t <#,?%@`1.", max_size=60))
def test_no_text_raises_and_positions_lie_inside_it(text: str) -> None:
    for is_json in (False, True):
        stream = yaml.parse(text.encode(), is_json=is_json)
        for fault in stream.faults:
            assert 1 <= fault.line <= text.count("\n") + 2


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-01-01", "2026-01-01"),
        ("2026-01-01T10:00:00Z", "2026-01-01T10:00:00Z"),
        ("1:30", "1:30"),
        ("0755", 493),
        ("0o17", 15),
        ("08", 8),
        ("0x1F", 31),
        ("0b11", 3),
        ("-0755", -493),
        ("1_000", 1000),
        ("1e3", 1000),
        ("1.0", 1),
        (".5", 0.5),
        ("1.5", 1.5),
        ("-", None),
        ("18446744073709551615", 18446744073709551615),
        ("18446744073709551616", 18446744073709551616.0),
        ("~", None),
        ("Null", None),
        ("TRUE", True),
        ("tRUE", "tRUE"),
        ("=", "="),
        ("'yes'", "yes"),
        ("! 12", "12"),
        ("!!str 12", "12"),
        ("!!int 12", 12),
        ("!!float 12", 12),
        ("!!binary aGk=", "hi"),
        ("!!timestamp 2026-01-01", "2026-01-01"),
        ("<<", "<<"),
    ],
)
def test_an_unquoted_word_means_what_it_means_to_kubectl(text: str, value: object) -> None:
    read = one(f"- {text}\n" if text != "-" else "- ")
    assert read == [value]
    assert type(read[0]) is type(value)  # type: ignore[index]


@pytest.mark.parametrize("word", ["y", "Y", "yes", "Yes", "YES", "on", "On", "ON"])
def test_words_for_true_are_true_with_a_warning(word: str) -> None:
    assert one(f"a: {word}") == {"a": True}
    assert faults(f"a: {word}") == [f'1:4: warning: {word} is read as true (write true or "{word}")']


@pytest.mark.parametrize("word", ["n", "N", "no", "No", "NO", "off", "Off", "OFF"])
def test_words_for_false_are_false_with_a_warning(word: str) -> None:
    assert one(f"a: {word}") == {"a": False}
    assert faults(f"a: {word}") == [f'1:4: warning: {word} is read as false (write false or "{word}")']


_BOMB = "\n".join(
    [f"{'abcdefghi'[0]}: &a [x, x, x, x, x, x, x, x, x, x]"]
    + [
        f"{here}: &{here} [{', '.join([f'*{before}'] * 10)}]"
        for before, here in zip("abcdefgh", "bcdefghi", strict=True)
    ]
)
_MERGE_BOMB = (
    "a0: &a0 {"
    + ", ".join(f"k{i}: v" for i in range(1000))
    + "}\n"
    + "\n".join(f"a{i}: &a{i}\n  <<: [{', '.join([f'*a{i - 1}'] * 20)}]\n  z{i}: 1" for i in range(1, 12))
)
_CHAIN = "\n".join(["a0: &a0 [x]", *(f"a{i}: &a{i} [[[[[[[[[*a{i - 1}]]]]]]]]]" for i in range(1, 30))])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", "3:1: the key a stands twice (first on line 1)"),
        ("a: {b: 1, b: 2}\n", "1:11: the key b stands twice (first on line 1)"),
        ("yes: 1\ntrue: 2\n", '1:1: warning: the key yes is read as true (write "yes" or true)'),
        ("a:\n\t- b\n", "2:1: a tab cannot indent YAML (use spaces)"),
        ("a: b: c", "1:5: not valid YAML: mapping values are not allowed in this context"),
        ("a: [1", "2:1: not valid YAML: did not find expected ',' or ']' while parsing a flow sequence"),
        ("a: é\x00b", "1:5: the character U+0000 is not allowed in YAML (write it as an escape in double quotes)"),
        (b"a: 1\nb: \xff", "2:4: not UTF-8 text (save the file as UTF-8)"),
        ("!!python/object:os.system {a: 1}", "1:1: the tag !!python/object:os.system is not supported (remove it)"),
        ("a: !!python/name:os.system x", "1:4: the tag !!python/name:os.system is not supported (remove it)"),
        ("a: !mine x", "1:4: the tag !mine is not supported (remove it)"),
        ("a: !!int x", "1:4: x is not of type !!int"),
        ("a: !!binary '*'", "1:4: !!binary does not hold base64 of UTF-8 text"),
        ("a: &a [*a]", "1:8: the alias *a stands inside the value it names"),
        ("a: *b", "1:4: the alias *b has no anchor before it"),
        ("a: &x 1\n---\nb: *x", "3:4: the alias *x has no anchor before it"),
        ("? [a]\n: b", "1:3: a mapping or list cannot be a key"),
        ("a: &x [1]\n*x : 1", "2:1: a key must be text (quote it)"),
        ("~: b", "1:1: a key must be text (quote it)"),
        ("a: .nan", "1:4: .nan is not a number that JSON can hold (quote it if it is text)"),
        ("a: -.inf", "1:4: -.inf is not a number that JSON can hold (quote it if it is text)"),
        ("a: 1e400", "1:4: 1e400 is not a number that JSON can hold (quote it if it is text)"),
        ("<<: 1", "1:5: the merge key << needs a mapping or a list of mappings"),
        ("[" * 10_000, "1:101: nested more than 100 levels deep"),
        ("- " * 10_000, "1:201: nested more than 100 levels deep"),
        ("{a: " * 10_000, "1:401: nested more than 100 levels deep"),
        ("---\na: 1\n" * 100_000, "20001:1: more than 10000 documents in one file"),
        ("a: " + "x" * 10_000_000, "1:4: a text of more than 1500000 characters"),
        (_BOMB, "6:8: aliases expand to more than 2000000 bytes"),
        (_MERGE_BOMB, "6:23: aliases expand to more than 2000000 bytes"),
        (_CHAIN, "12:20: nested more than 100 levels deep"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_fault_names_its_place_and_what_to_do(text: str | bytes, message: str) -> None:
    assert faults(text)[0] == message


def test_every_fault_of_a_file_is_reported_at_once() -> None:
    assert faults("a: 1\na: .nan\nb: NO\n") == [
        "2:1: the key a stands twice (first on line 1)",
        "2:4: .nan is not a number that JSON can hold (quote it if it is text)",
        '3:4: warning: NO is read as false (write false or "NO")',
    ]


def test_more_than_a_hundred_faults_are_cut() -> None:
    assert len(faults("- .nan\n" * 1000)) == 101


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_byte_order_marks_and_windows_line_ends_are_read(encoding: str) -> None:
    assert one("a: é\r\nb:\r\n- 1\r\n".encode(encoding)) == {"a": "é", "b": [1]}


def test_keys_that_are_not_text_become_text() -> None:
    assert one("1: a\n2.5: b\ntrue: c\n") == {"1": "a", "2.5": "b", "true": "c"}


def test_a_merge_key_gives_members_that_are_missing_and_earlier_maps_win() -> None:
    text = "a: &a {x: 1, y: 1}\nb: &b {x: 2, z: 2}\nc:\n  x: 0\n  <<: [*a, *b]\nd:\n  <<: *b\n  x: 3\n"
    read = one(text.replace("y: 1", "w: 1"))
    assert read["c"] == {"x": 0, "w": 1, "z": 2}  # type: ignore[index]
    assert read["d"] == {"x": 3, "z": 2}  # type: ignore[index]


def test_aliases_within_the_cap_are_expanded() -> None:
    assert one("a: &a {x: [1]}\nb: *a\nc: &s text\nd: *s") == {
        "a": {"x": [1]},
        "b": {"x": [1]},
        "c": "text",
        "d": "text",
    }


def test_empty_documents_keep_their_place_in_the_list() -> None:
    stream = yaml.parse(b"# nothing\n---\n---\na: 1\n...\n---\nb: 2\n---\n")
    assert [document.value for document in stream.documents] == [None, {"a": 1}, {"b": 2}, None]
    assert [document.line for document in stream.documents][1:3] == [4, 7]


def test_documents_before_a_syntax_error_are_still_there() -> None:
    stream = yaml.parse(b"a: 1\n---\nb: [\n")
    assert not stream.usable
    assert [document.value for document in stream.documents] == [{"a": 1}]


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (("metadata", "name"), (4, 3)),
        (("spec", "ports"), (6, 3)),
        (("spec", "ports", 1), (8, 5)),
        (("spec", "ports", 1, "port"), (8, 5)),
        (("spec", "ports", 0, "name"), (7, 18)),
        (("spec", "missing", "below"), (5, 1)),
        (("spec", "copy", "port"), (7, 9)),
        (("spec", "merged", "name"), (7, 18)),
        ((), (2, 1)),
    ],
)
def test_a_path_is_found_in_the_text(path: tuple[str | int, ...], place: tuple[int, int]) -> None:
    text = (
        "---\nkind: A\nmetadata:\n  name: x\nspec:\n  ports:\n  - &p {port: 1, name: a}\n  - port: 2\n"
        "  copy: *p\n  merged:\n    <<: *p\n"
    )
    assert yaml.locate(text.encode(), 0, path) == place


def test_a_path_is_found_in_json_and_in_a_broken_file() -> None:
    assert yaml.locate(b'{"a":\n {"b": [1,\n  2]}}', 0, ("a", "b", 1), is_json=True) == (3, 3)
    assert yaml.locate(b"a: 1\nb: 2\nb: [", 0, ("b",)) == (3, 1)
    assert yaml.locate(b"", 0, ("b",)) == (1, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1,\n "a": 2}', "2:2: the key a stands twice (first on line 1)"),
        ('{"a": NaN}', "1:7: NaN is not a number that JSON can hold"),
        ('{"a": 1e400}', "1:7: 1e400 is not a number that JSON can hold"),
        ('{"a":', "1:6: not valid JSON: expecting value"),
        ('{"a": "\\ud800"}', "1:7: half of a surrogate pair is not a character"),
        ("[" * 100_000, "1:1001: nested more than 1000 levels deep"),
        ("[" * 500 + "]" * 500, "1:101: nested more than 100 levels deep"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_faults_of_json_files_have_places_too(text: str, message: str) -> None:
    assert faults(text, is_json=True) == [message]


def test_json_values_mean_what_they_say() -> None:
    text = b'\xef\xbb\xbf{"a": "\\ud83d\\ude00", "b": [1.0, true, null, "no", "<<"], "c/\\/": {}}\n{"d": "x{\\"]"}'
    stream = yaml.parse(text, is_json=True)
    assert stream.faults == ()
    assert [document.value for document in stream.documents] == [
        {"a": "😀", "b": [1, True, None, "no", "<<"], "c//": {}},
        {"d": 'x{"]'},
    ]


def test_json_gives_no_meaning_to_yaml_words() -> None:
    assert faults('{"a": yes}', is_json=True) == ["1:7: not valid JSON: expecting value"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1\na: 2\n", {"a": 2}),
        ("y: 4\nyes: 5\n", {"true": 5}),
        ("a: 1\n---\nb: [", {"a": 1}),
        ("1: a\ntrue: b\n2.5: c\n", {"1": "a", "true": "b", "2.5": "c"}),
        ("c: 0755\nd: 2026-01-01\n", {"c": 493, "d": "2026-01-01"}),
        ("base: &b\n  x: 1\nmerge:\n  <<: *b\n  k: 2\n", {"base": {"x": 1}, "merge": {"x": 1, "k": 2}}),
        ("", None),
        ("text", "text"),
    ],
)
def test_yaml_inside_a_manifest_is_read_leniently(text: str, value: object) -> None:
    assert yaml.load_one_lenient(text) == value


@pytest.mark.parametrize("text", ["a: [", "a: *x", "a: .nan", "a: !x 1", "a: \ud800"])
def test_unreadable_yaml_inside_a_manifest_is_an_error(text: str) -> None:
    with pytest.raises(yaml.YamlError):
        yaml.load_one_lenient(text)


def test_load_all_names_the_first_fault() -> None:
    with pytest.raises(yaml.YamlError) as caught:
        yaml.load_all(b"a: 1\n---\nb: 1\nb: 2\n")
    assert str(caught.value) == "4:1: the key b stands twice (first on line 3)"


def test_the_writer_is_canonical() -> None:
    value = {
        "z": [],
        "a": {"b": "yes", "empty": {}, "list": [{"x": 1, "a": "1"}, [1, [2]], [], {}, "a: b"]},
        "script": "function f()\n  return 1\nend\n",
        "no-end": "a\nb",
        "many": "a\n\nb\n\n",
        "n": None,
        "f": 1.5,
        "date": "2026-01-01",
        "image": "reg.example:5000/web:1",
        "k" * 200: 1,
    }
    assert yaml.dump(value) == (
        'a:\n  b: "yes"\n  empty: {}\n  list:\n  - a: "1"\n    x: 1\n  - - 1\n    - - 2\n  - []\n  - {}\n'
        '  - "a: b"\ndate: 2026-01-01\nf: 1.5\nimage: reg.example:5000/web:1\n'
        f'? "{"k" * 200}"\n: 1\n'
        'many: |+\n  a\n\n  b\n\n"n": null\nno-end: |-\n  a\n  b\n'
        "script: |\n  function f()\n    return 1\n  end\nz: []\n"
    )
