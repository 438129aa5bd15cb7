"""A message about line 2 of a script names the line of the file, where there is one."""

from __future__ import annotations

import pytest

from gitfed.model.declared.interpreter import ScriptPlace
from gitfed.source import repo as source
from gitfed.source.read_cache import ReadCache
from tests.source.trees import tree

HEAD = """# rules
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {name: widgets}
spec:
  target: {apiVersion: e.com/v1, kind: Widget}
  customizations:
"""


def place(text: str, name: str = "a.yaml", operation: str = "InterpretHealth") -> ScriptPlace:
    (one,) = source.read(tree({name: text}), memory=ReadCache()).interpreters
    return one.place_of(operation)


@pytest.mark.parametrize(
    ("rule", "begins"),
    [
        ("    healthInterpretation:\n      luaScript: |\n        function\n        end\n", 10),
        ("    healthInterpretation:\n      luaScript: |2- # why\n          function\n        end\n", 10),
        ("    healthInterpretation:\n      'luaScript': !!str |+\n        function\n", 10),
        ("    healthInterpretation:\r\n      luaScript: |\r\n        function\r\n", 10),
        ("    healthInterpretation:\n      luaScript: >\n        function\n", 0),
        ("    healthInterpretation:\n      luaScript: 'function'\n", 0),
        ("    healthInterpretation:\n      luaScript: function | end\n", 0),
    ],
)
def test_lines_of_a_literal_block_are_lines_of_the_file(rule: str, begins: int) -> None:
    found = place(HEAD + rule)
    assert (str(found.origin), found.begins) == ("a.yaml:9:7", begins)


def test_in_json_and_in_flow_style_only_the_member_has_a_place() -> None:
    found = place(HEAD + '    {healthInterpretation: {luaScript: "x"}}\n')
    assert (str(found.origin), found.begins) == ("a.yaml:8:29", 0)
    json = '{"apiVersion":"config.karmada.io/v1alpha1","kind":"ResourceInterpreterCustomization",'
    json += '"metadata":{"name":"w"},"spec":{"target":{"apiVersion":"e.com/v1","kind":"Widget"},"customizations":'
    json += '{"healthInterpretation":{"luaScript":"a\\nb"}}}}'
    found = place(json, "a.json")
    assert (found.origin.path, found.origin.line, found.begins) == ("a.json", 1, 0)


def test_a_script_that_is_repeated_by_an_alias_stands_where_it_is_used() -> None:
    both = "    healthInterpretation:\n      luaScript: &one |\n        x\n"
    both += "    retention:\n      luaScript: *one\n"
    assert place(HEAD + both).begins == 10
    assert place(HEAD + both, operation="Retain").begins == 0
