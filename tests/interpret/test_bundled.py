"""The catalogue: every case of every kind, and a layout that is refused when it is wrong."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitfed.edges import catalogue
from gitfed.edges.lua import Lua
from gitfed.interpret import bundled
from gitfed.interpret.bundled import BundledCase, CatalogueError
from gitfed.interpret.registry import Interpreter
from tests.conformance import native

TOOL = Path(__file__).parents[2] / "tools" / "catalogue_page.py"
FILES = catalogue.read(with_cases=True)
BUNDLES = bundled.read(FILES)
CASES = tuple(bundled.cases(FILES))


@pytest.fixture(scope="module")
def interpreter() -> Iterator[Interpreter]:
    with Lua("gitfed.interpret.kube_module:FUNCTIONS") as lua:
        yield Interpreter([bundled.source(FILES, lua.run_all)])


@pytest.mark.parametrize("case", CASES, ids=[f"{case.path}: {case.operation}, {case.name}" for case in CASES])
def test_case_of_the_catalogue(case: BundledCase, interpreter: Interpreter) -> None:
    subject = case.inputs.get("object") or case.inputs["desired"]
    assert interpreter.handles(subject, case.operation)
    recorded = {"id": case.name, "operation": case.operation, **case.inputs, "expect": _expected(case)}
    assert native.check(recorded, interpreter) == []


def _expected(case: BundledCase) -> object:
    return {"error": True, "message": "it must fail"} if case.expect == {"error": True} else case.expect


def test_every_operation_of_every_kind_has_at_least_three_cases() -> None:
    counted = Counter((case.path.rpartition("/")[0], case.operation) for case in CASES)
    few = [
        f"{bundle.folder} {operation}"
        for bundle in BUNDLES
        for operation in bundle.scripts
        if counted[bundle.folder, operation] < 3
    ]
    assert few == []


def test_no_kind_has_a_case_without_a_script() -> None:
    scripts = {(bundle.folder, operation) for bundle in BUNDLES for operation in bundle.scripts}
    assert {(case.path.rpartition("/")[0], case.operation) for case in CASES} <= scripts


def test_names_of_cases_are_unique() -> None:
    counted = Counter((case.path, case.operation, case.name) for case in CASES)
    assert [name for name, times in counted.items() if times > 1] == []


def test_every_file_of_test_data_is_used() -> None:
    text = {path: FILES[path] for path in FILES if path.endswith("/cases.yaml")}
    data = [path for path in FILES if "/testdata/" in path]
    unused = []
    for path in data:
        folder, _, name = path.partition("/testdata/")
        if f"from: {name}\n" not in text[f"{folder}/cases.yaml"]:
            unused.append(path)
    assert data
    assert unused == []


def test_a_running_program_does_not_read_the_cases() -> None:
    few = catalogue.read()
    assert {bundle.folder: bundle.scripts for bundle in bundled.read(few)} == {
        bundle.folder: bundle.scripts for bundle in BUNDLES
    }
    assert not any("cases.yaml" in path or "testdata" in path for path in few)


def test_the_page_lists_what_is_there() -> None:
    """If this fails: python tools/catalogue_page.py"""
    done = subprocess.run([sys.executable, str(TOOL), "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


WIDGET = {"g/v1/Widget/interpreter.yaml": "apiVersion: g/v1\nkind: Widget\n"}


def test_libraries_stand_behind_a_script_so_that_its_lines_are_those_of_the_file() -> None:
    files = {
        "lib/one.lua": "one = 1\n",
        "g/v1/Widget/interpreter.yaml": "apiVersion: g/v1\nkind: Widget\nlibrary: [one]\n",
        "g/v1/Widget/InterpretHealth.lua": "function InterpretHealth(o) return one == 1 end\n",
    }
    (bundle,) = bundled.read(files)
    ((operation, script),) = bundle.scripts.items()
    assert operation == "InterpretHealth"
    assert script.text == files["g/v1/Widget/InterpretHealth.lua"] + files["lib/one.lua"]
    assert script.name == "Widget/InterpretHealth.lua"


OTHER = {
    "g/v1/Widget/interpreter.yaml": "apiVersion: g/v1\nkind: Widget\nlibrary: [one]\n",
    "g/v1/Widget/InterpretHealth.lua": "old health",
    "g/v1/Widget/InterpretReplica.lua": "old replicas",
    "g/v1/Widget/testdata/o.yaml": "apiVersion: g/v1\nkind: Widget\n",
    "g/v1/Widget/cases.yaml": "InterpretHealth:\n- {name: old, from: o.yaml, expect: {healthy: true}}\n"
    "InterpretReplica:\n- {name: old, from: o.yaml, expect: {replicas: 1}}\n",
    "g/v2/Widget/interpreter.yaml": "apiVersion: g/v2\nkind: Widget\nlike: g/v1/Widget\nlibrary: [two]\n",
    "g/v2/Widget/InterpretHealth.lua": "new health",
    "g/v2/Widget/testdata/p.yaml": "apiVersion: g/v2\nkind: Widget\n",
    "g/v2/Widget/cases.yaml": "InterpretHealth:\n- {name: new, from: p.yaml, expect: {healthy: false}}\n",
    "lib/one.lua": " one",
    "lib/two.lua": " two",
}


def test_a_version_that_is_like_another_takes_what_it_does_not_say_itself() -> None:
    _, bundle = bundled.read(OTHER)
    assert (bundle.folder, {operation: script.text for operation, script in bundle.scripts.items()}) == (
        "g/v2/Widget",
        {"InterpretHealth": "new health two", "InterpretReplica": "old replicas one"},
    )
    found = [(case.path, case.name, case.operation, case.inputs) for case in bundled.cases(OTHER)][2:]
    subject = {"object": {"apiVersion": "g/v2", "kind": "Widget"}}
    assert found == [
        ("g/v2/Widget/cases.yaml", "new", "InterpretHealth", subject),
        ("g/v2/Widget/cases.yaml", "old", "InterpretReplica", subject),
    ]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        *(
            (
                {
                    "g/v1/Gadget/interpreter.yaml": "apiVersion: g/v1\nkind: Gadget\n",
                    "g/v1/Widget/interpreter.yaml": f"apiVersion: g/v1\nkind: Widget\nlike: {like}\n",
                },
                f"g/v1/Widget/interpreter.yaml: {like} is no other version of this kind with scripts of its own",
            )
            for like in ("g/v3/Widget", "g/v1/Gadget", "g/v1/Widget")
        ),
        (
            {"g/v1/Widget/interpreter.yaml": "apiVersion: g/v1\nkind: Gadget\n"},
            "g/v1/Widget/interpreter.yaml: says g/v1 Gadget",
        ),
        (
            {"g/v1/Widget/interpreter.yaml": "apiVersion: g/v1\nkind: Widget\nlibrary: [none]\n"},
            "g/v1/Widget/interpreter.yaml: there is no lib/none.lua",
        ),
        ({"g/v1/Widget/interpreter.yaml": "- a\n"}, "g/v1/Widget/interpreter.yaml: is not one mapping"),
        (
            {**WIDGET, "g/v1/Widget/Health.lua": ""},
            "g/v1/Widget/Health.lua: Health is no operation",
        ),
        ({**WIDGET, "g/v1/Widget/notes.txt": ""}, "g/v1/Widget/notes.txt: does not belong here"),
        ({**WIDGET, "g/v2/Widget/cases.yaml": ""}, "g/v2/Widget/cases.yaml: no folder above has an interpreter.yaml"),
    ],
    ids=[
        "like nothing",
        "like another kind",
        "like itself",
        "another kind",
        "unknown library",
        "not a mapping",
        "unknown operation",
        "stray file",
        "stray folder",
    ],
)
def test_a_wrong_layout_is_refused(files: dict[str, str], message: str) -> None:
    with pytest.raises(CatalogueError) as caught:
        bundled.read(files)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{name: it, from: o.yaml}", "g/v1/Widget/cases.yaml: InterpretHealth, it: no expect"),
        (
            "{name: it, from: o.yaml, replicas: 1, expect: {healthy: true}}",
            "g/v1/Widget/cases.yaml: InterpretHealth, it: replicas",
        ),
        (
            "{name: it, from: p.yaml, expect: {healthy: true}}",
            "g/v1/Widget/testdata/p.yaml: there is no such file",
        ),
    ],
    ids=["nothing expected", "an input of another operation", "no such data"],
)
def test_a_wrong_case_is_refused(row: str, message: str) -> None:
    files = {
        **WIDGET,
        "g/v1/Widget/cases.yaml": f"InterpretHealth:\n- {row}\n",
        "g/v1/Widget/testdata/o.yaml": "apiVersion: g/v1\nkind: Widget\n",
    }
    with pytest.raises(CatalogueError) as caught:
        list(bundled.cases(files))
    assert str(caught.value) == message


def test_a_patch_merges_mappings_and_replaces_everything_else() -> None:
    base = {"a": {"b": 1, "c": [1, 2]}, "d": 1}
    assert bundled.merged(base, {"a": {"c": [3], "b": None}, "e": {"f": 1}}) == {
        "a": {"c": [3]},
        "d": 1,
        "e": {"f": 1},
    }
    assert base == {"a": {"b": 1, "c": [1, 2]}, "d": 1}
