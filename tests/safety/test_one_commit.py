"""Commits that once ended the command or the daemon that read them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitfed.edges import git
from gitfed.model import definition
from gitfed.model.base import Kind
from gitfed.model.declared.federation import Namespaces
from gitfed.model.operator_orders import suspensions
from gitfed.source import repo as source
from gitfed.source.read_cache import ReadCache
from gitfed.text import expression, moment, yaml
from tests.e2e.world import policy
from tests.safety.bounded import gitfed
from tests.safety.hostile_scripts import planned
from tests.safety.objects import CLUSTERS, SETTINGS, Objects, config
from tests.source.trees import tree

LONG = "9" * 4301


@pytest.mark.parametrize("number", [LONG, f"-{LONG}", f"{LONG}.5", f"[1e5, {LONG}]", f"0{LONG}"])
def test_a_number_of_thousands_of_digits_is_a_fault_of_its_file(number: str) -> None:
    text = f'{{"a": {number}}}'
    for is_json in (True, False):
        assert all(fault.message for fault in yaml.parse(text.encode(), is_json=is_json).faults)
    assert yaml.parse(text.encode(), is_json=True).faults


def test_a_json_file_with_such_a_number_names_file_and_line(tmp_path: Path) -> None:
    files = {
        "gitfed.yaml": SETTINGS + CLUSTERS,
        "a.json": f'{{\n  "kind": "A",\n  "a": {LONG}}}',
        "b.yaml": config("b"),
    }
    Objects.create(tmp_path / "r").load({path: text.encode() for path, text in files.items()})
    ended = gitfed("validate", "--repo", tmp_path / "r", cwd=tmp_path)
    assert ended.code == 3
    assert f"a.json:3:8: {LONG[:40]} is not a number that JSON can hold" in ended.said


DATES = {
    "beyond the year 9999": "253402300800 +0000",
    "in the last hours of it": "253402300799 -1400",
    "in a zone that is none": "1767323045 +9999",
    "in another that is none": "1767323045 -9959",
    "as large as Git keeps": "18446744073709551615 +0000",
    "larger": "99999999999999999999999 +0000",
    "before all counting": "0 -1400",
    "that is none": "x +0000",
}


def _dated(objects: Objects, date: str, who: str = "t <t@e>") -> str:
    folder = objects.folder([("100644", objects.blob(SETTINGS + CLUSTERS), "gitfed.yaml")])
    raw = f"tree {folder}\nauthor {who} {date}\ncommitter {who} {date}\n\nchange\n".encode()
    made = objects.run("hash-object", "-w", "-t", "commit", "--literally", "--stdin", feed=raw).decode().strip()
    objects.run("update-ref", "refs/heads/main", made)
    return made


@pytest.mark.parametrize("date", DATES.values(), ids=DATES.keys())
def test_a_commit_with_a_date_that_no_calendar_holds_is_read(tmp_path: Path, date: str) -> None:
    objects = Objects.create(tmp_path / "r")
    made = _dated(objects, date)
    repository = git.Repository(tmp_path / "r")
    for info in (repository.info(made), *repository.log(made, limit=3)):
        assert info.commit == made
        assert info.when.astimezone(UTC) >= datetime(1970, 1, 1, tzinfo=UTC)
        assert info.subject == "change"
    repository.close()
    assert gitfed("validate", "--repo", tmp_path / "r", cwd=tmp_path).code == 0
    assert gitfed("plan", "--repo", tmp_path / "r", cwd=tmp_path).code == 0
    assert gitfed("log", "--repo", tmp_path / "r", cwd=tmp_path).code in (0, 1)


def test_an_author_whose_name_holds_the_separator_changes_no_other_field(tmp_path: Path) -> None:
    made = _dated(Objects.create(tmp_path / "r"), "1767323045 +0000", who="a\x01b\x012020 <t@e>")
    repository = git.Repository(tmp_path / "r")
    (info,) = repository.log(made, limit=3)
    repository.close()
    assert info.when == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+14:00", "10000-01-01T00:00:00Z", "", "x", None, 5, [], {}],
)
def test_what_no_calendar_can_reckon_with_is_no_moment(text: object) -> None:
    assert moment.read(text) is None
    assert [one.by for one in suspensions([{"of": "*", "by": "a", "at": text}])] == ["an entry that cannot be read"]


CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: widgets.e.com}}
spec: {}
"""
SPECS = (
    "{group: e.com, names: x}", "{group: e.com, names: {kind: Widget}, versions: 5}", "{names: [], versions: {a: b}}",
    "{group: e.com, names: {kind: Widget}, versions: [5, {name: {}, served: true}, {served: true}]}", "x", "[]", "5",
    "{group: 5, names: {kind: [a]}}", "{group: e.com, scope: [], names: {kind: Widget}, versions: x}", "null",
)  # fmt: skip


@pytest.mark.parametrize("spec", SPECS)
def test_a_definition_of_any_shape_is_planned(spec: str) -> None:
    everything = (("apiextensions.k8s.io/v1", "CustomResourceDefinition"),)
    files = {
        "c.yaml": CLUSTERS.partition("---\n")[2],
        "crd.yaml": CRD.format(spec),
        "p.json": policy("p", None, everything),
    }
    assert planned(source.read(tree(files), memory=ReadCache())).bindings


def test_a_definition_tells_what_of_it_can_be_used() -> None:
    names = {"group": "e.com", "scope": "Cluster", "names": {"kind": "Widget"}}
    versions = [{"name": "v1", "served": True}, {"name": "v2", "served": False}, {"name": 3, "served": True}, "v4"]
    assert definition.read({"spec": {**names, "versions": versions}}) == definition.Definition(
        Kind("e.com", "Widget"), False, frozenset({("e.com/v1", "Widget")})
    )


@pytest.mark.parametrize(
    "pattern", ["a?" * 40 + "a" * 40 + "b", "(a|aa)+$", "(a*)*b", "(.*a){20}b", "((((a{9}){9})*)*)*b"]
)
def test_no_pattern_of_namespaces_takes_longer_than_its_text(pattern: str) -> None:
    assert not Namespaces(skip=(pattern[:200],)).skips("a" * 60 + "c")


def test_a_pattern_that_would_need_too_much_is_refused() -> None:
    assert expression.why_not("((a{100}){100}){100}").startswith("is not a regular expression: ")
    assert expression.why_not("a" * 201) == "is longer than 200 characters"
    assert expression.why_not(r"(a)\1") == r"is not a regular expression: invalid escape sequence: \1"
    assert not expression.matches(r"(a)\1", "aa")


@pytest.mark.parametrize("text", ["é", "\ufeff", "a", "/w=="])
def test_binary_that_is_none_is_a_fault_of_its_file(text: str) -> None:
    (fault,) = yaml.parse(f"a: !!binary {text}\n".encode()).faults
    assert fault.message == "!!binary does not hold base64 of UTF-8 text"
