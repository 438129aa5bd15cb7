"""Where the scripts of a customization stand in their file, so that a message can name the line of the file.

Lua counts the lines of the script. In a literal block (`luaScript: |`) they are the lines below the key; in every other
form of a text YAML joins, escapes or indents lines, and only the place of the member is known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from gitfed.model.declared.interpreter import OPERATIONS, ResourceInterpreterCustomization, ScriptPlace
from gitfed.source import declare

_LITERAL = re.compile(r"""["']?luaScript["']?\s*:\s+(?:[&!]\S*\s+)*\|[-+0-9]*\s*(?:#.*)?""")


def places(
    customization: ResourceInterpreterCustomization, place: declare.Place, load: Callable[[], bytes]
) -> Mapping[str, ScriptPlace]:
    """By operation. `place` finds members of the document, `load` gives the bytes of the file."""
    lines = load().decode(errors="replace").split("\n")
    scripts = {}
    for operation in OPERATIONS:
        if customization.script(operation):
            origin = place(customization.path_of(operation))
            text = lines[origin.line - 1][max(origin.column - 1, 0) :] if 0 < origin.line <= len(lines) else ""
            scripts[operation] = ScriptPlace(origin, origin.line + 1 if _LITERAL.fullmatch(text) else 0)
    return scripts
