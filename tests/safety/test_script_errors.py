"""What a script says as its error is its own choice, so it says little: it goes to terminals, logs and commits."""

from __future__ import annotations

import pytest

from gitfed.edges.lua.request import Request, ScriptError
from gitfed.edges.lua.runtime import Runtime
from gitfed.model.script import Script

LONGEST = 1100
"""Characters, with the script's name and the mark of what is left out."""

LONG = "local s = 'x' for i = 1, 20 do s = s .. s end"
RAISING = {
    "a text": f"function F() {LONG} error(s) end",
    "a text without a place": f"function F() {LONG} error(s, 0) end",
    "a text of other bytes": "function F() local s = '\\255' for i = 1, 20 do s = s .. s end error(s, 0) end",
    "a failed assertion": f"function F() {LONG} assert(false, s) end",
    "a name that is nil": f"function F() {LONG} return require(s) end",
    "outside of the function": f"{LONG} error(s)",
    "not compiled": f"return ]] {'x' * 100_000}",
    "an unfinished text": f"return '{'x' * 100_000}",
}


@pytest.mark.parametrize("script", RAISING.values(), ids=list(RAISING))
def test_an_error_of_a_script_is_short_and_says_where(script: str) -> None:
    runtime = Runtime({})
    with pytest.raises(ScriptError) as raised:
        runtime.call(Request(Script("s", script), "F"))
    said = str(raised.value)
    assert said.startswith("s:")
    assert len(said) <= LONGEST
    if "error(s" in script or "assert" in script:
        assert said.endswith(" …")


def test_a_short_error_is_said_in_full() -> None:
    with pytest.raises(ScriptError, match=r"^s:1: no such size$"):
        Runtime({}).call(Request(Script("s", "function F() error('no such size') end"), "F"))
