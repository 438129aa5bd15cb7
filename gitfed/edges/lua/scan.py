"""What the text of a script tells before it runs: whether it is Lua 5.1, and whether it may change what it is given.

Both are one pass over the text, and both err on the safe side; the compiler and the sandbox have the last word.
"""

from __future__ import annotations

import re
from typing import Final

from gitfed.model.script import Script

_LONGEST_SCRIPT: Final = 1_000_000
_TOKEN = re.compile(r"--(?:\[(=*)\[)?|\[(=*)\[|[\"']|[A-Za-z_]\w*|(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)")
_QUOTED = {quote: re.compile(rf"(?:\\.|[^{quote}\\\n])*{quote}", re.DOTALL) for quote in "\"'"}
_FOREIGN_NUMBER = re.compile(r"(?:u?ll|i)\Z", re.IGNORECASE)


def not_lua(script: Script) -> str:
    """LuaJIT reads `1LL` and `1i` as values of its C interface, which no script is to have.

    One pass over the text; where it is no Lua, the compiler says so.
    """
    text, position = script.text, 0
    if len(text) > _LONGEST_SCRIPT:
        return f"{script.name}: the script is longer than {_LONGEST_SCRIPT:,} characters"
    while (token := _TOKEN.search(text, position)) is not None:
        position, word, number = token.end(), token.group(), token.group("number")
        if number:
            if _FOREIGN_NUMBER.search(number):
                line = text.count("\n", 0, token.start()) + 1
                return f"{script.name}:{line}: malformed number near '{number[:40]}'"
        elif word in _QUOTED:
            closed = _QUOTED[word].match(text, position)
            if closed is None:
                return ""
            position = closed.end()
        elif word[-1] in "[-":
            level = token.group(1) if token.group(1) is not None else token.group(2)
            end = "\n" if level is None else f"]{level}]"
            found = text.find(end, position)
            if found < 0:
                return ""
            position = found + len(end)
    return ""


_CHANGES = re.compile(
    r"""[\w\])]\s*[.:]\s*\w+\s*=(?!=)   # a member is assigned
      | \]\s*(?:=(?!=)|,)              # an item is, or may be
      | \bfunction\s+\w+\s*[.:]        # a function becomes a member
      | \b(?:table|_G|require|package|module|getfenv|setfenv|rawset|setmetatable|load|loadstring|dofile)\b""",
    re.VERBOSE,
)
_MEMBER_IN_LIST = re.compile(r"[\w\])]\s*[.:]\s*\w+\s*,")
_RETURNS = re.compile(r"\s*(?:function\s+\w+\s*\([\w,\s]*\)\s*)?return\b(?!.*\b(?:end|else|elseif|until)\b)[^=]*")


def only_reads(text: str) -> bool:
    """Whether the script plainly changes no table, so that it may be given one that is used again.

    Whatever could change one in a way that is not seen here counts as if it did: a comment could hide an assignment
    from a look at the text, a member before a comma may be the first of several that are assigned.
    """
    if "[[" in text or "[=" in text or "--[" in text:
        return False
    lines = []
    for line in text.split("\n"):
        code, dashes, _ = line.partition("--")
        if dashes and ('"' in code or "'" in code):
            return False
        lines.append(code)
    plain = "\n".join(lines)
    if _CHANGES.search(plain):
        return False
    for found in _MEMBER_IN_LIST.finditer(plain):
        if not _RETURNS.fullmatch(plain, plain.rfind("\n", 0, found.start()) + 1, found.start()):
            return False
    return True
