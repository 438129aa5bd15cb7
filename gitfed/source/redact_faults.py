"""What a message may quote of a file that holds Secrets: nothing that could be a value.

A parser quotes what it cannot read, and an unquoted password that begins with `*`, `!` or looks like a number is just
that. Which document is the Secret cannot be known of a text that cannot be read, so the whole file counts as one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from gitfed.text.construct import Fault

_SECRET = re.compile(rb"kind['\"]?\s*:\s*['\"]?Secret\b")
_WORD = re.compile(r"[^\s,\[\]{}'\"]+")
_REACH = 2000
"""Characters behind a fault's place in which its words are looked for."""
_SHOWN = 39
"""Characters of a long value that messages show."""
_SHORT = 3


def faults(raw_faults: tuple[Fault, ...], load: Callable[[], bytes]) -> tuple[Fault, ...]:
    """The same faults; in a file with a Secret they quote no value. Places and what to do stay.

    One that quotes nothing stays as it is: the bytes need not be fetched again for it, and a word of its message that
    the file has too is no secret.
    """
    if not any(fault.quotes for fault in raw_faults):
        return raw_faults
    data = load()
    if not _SECRET.search(data):
        return raw_faults
    lines = data.decode("utf-8", "replace").removeprefix("\ufeff").splitlines()
    return tuple(_masked(fault, lines) if fault.quotes else fault for fault in raw_faults)


def _masked(fault: Fault, lines: list[str]) -> Fault:
    behind = "\n".join([line[:_REACH] for line in lines[fault.line - 1 : fault.line + 3]])[fault.column - 1 :][:_REACH]
    message, hint = fault.message, fault.hint
    for word in sorted(set(_values(behind)), key=len, reverse=True):
        message, hint = message.replace(word, "***"), hint.replace(word, "***")
    return replace(fault, message=message, hint=hint)


def _values(text: str) -> list[str]:
    """Words that could be values, or the beginning of one; keys and tags of YAML itself are none."""
    values = []
    for word in _WORD.findall(text):
        plain = word.lstrip("*&!")
        if not word.endswith(":") and not word.startswith("!!") and len(plain) >= _SHORT:
            values += [plain, plain[:_SHOWN]]
    return values
