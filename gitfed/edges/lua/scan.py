"""What the text of a script tells before it is compiled: whether it is Lua 5.1, of which LuaJIT reads more.

One pass over the text; where it is no Lua at all, the compiler says so.
"""

from __future__ import annotations

import re
from typing import Final

from gitfed.model.script import Script

_LONGEST_SCRIPT: Final = 1_000_000
_TOKEN = re.compile(
    r"""--(?:\[(=*)\[)?|\[(=*)\[|["']|[A-Za-z_]\w*|(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)|[^\x00-\x7f]""", re.ASCII
)
_QUOTED = {
    quote: re.compile(rf"(?:\\(?:\r\n|\n\r|z[ \t\r\n\v\f]*|.)|[^{quote}\\\r\n])*{quote}", re.DOTALL) for quote in "\"'"
}
_END_OF_LINE = re.compile(r"[\r\n]|\Z")
_FOREIGN_NUMBER = re.compile(r"(?:u?ll|i)\Z", re.IGNORECASE)


def not_lua(script: Script) -> str:
    """LuaJIT reads `1LL` and `1i` as values of its C interface, which no script is to have, and takes every character
    beyond ASCII for a letter, which Karmada's Lua does not.

    Where this reads a text otherwise than LuaJIT, something could be hidden from it, so what it cannot read to its end
    is refused here: a first line that LuaJIT would skip, a text or a comment without an end.
    """
    text, position = script.text, 0
    if len(text) > _LONGEST_SCRIPT:
        return f"{script.name}: the script is longer than {_LONGEST_SCRIPT:,} characters"
    if text.startswith("#"):
        return _fault(script, 0, "unexpected symbol near '#'")
    while (token := _TOKEN.search(text, position)) is not None:
        begin, position = token.span()
        word, number = token.group(), token.group("number")
        if number:
            if _FOREIGN_NUMBER.search(number):
                return _fault(script, begin, f"malformed number near '{number[:40]}'")
        elif not word.isascii():
            return _fault(script, begin, f"unexpected symbol near '{word}'")
        elif word in _QUOTED:
            closed = _QUOTED[word].match(text, position)
            if closed is None:
                return _fault(script, begin, "unfinished string")
            position = closed.end()
        elif word == "--":
            end = _END_OF_LINE.search(text, position)
            position = end.end() if end else len(text)
        elif word[-1] == "[":
            end_of_long = f"]{token.group(2) if token.group(1) is None else token.group(1)}]"
            end_at = text.find(end_of_long, position)
            if end_at < 0:
                return _fault(script, begin, "unfinished long " + ("comment" if word[0] == "-" else "string"))
            position = end_at + len(end_of_long)
    return ""


def _fault(script: Script, at: int, message: str) -> str:
    return f"{script.name}:{script.text.count(chr(10), 0, at) + 1}: {message}"
