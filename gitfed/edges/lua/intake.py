"""Bodies into Lua: maps are taken in when they are looked at (`values` says what of them and in which form).

A script mostly looks at a few members of an object, and to take in all of it costs more than everything else about a
call. So a body crosses as a map of its plain members; for a map or list in it only the name is given, and
`sandbox/lazy.lua` asks for it when a script does. A script cannot tell. Neither side has to know the whole body for
that, not even how large it is: a part that needs much memory is refused, and then the body is taken in at once and
whole.

What is taken in is one call's own, and the script may change it: no other call sees it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import orjson
from lupa import luajit21

from gitfed.edges.lua import values
from gitfed.edges.lua.request import ScriptError

RESERVE: Final = 12 << 20
"""Bytes of memory that are free when a part of a body is taken in, and that it may need."""
_PER_BYTE: Final = 64
"""Bytes of memory that are always enough for one of JSON: `[[],[]…` takes 26, and more while a table grows."""
_PER_MEMBER: Final = 256
"""Bytes of memory that are always enough for a member of a map, without its text: a growing table exists twice."""

OUT_OF_MEMORY: Final = "not enough memory"


class Intake:
    """The values of one Lua state."""

    def __init__(self, lua: luajit21.LuaRuntime, memory: int) -> None:
        """`memory`: bytes that the state may have."""
        self._lua = lua
        self._memory = memory
        self.by_parts = True
        """Whether a body may be taken in by parts."""
        self._sources: list[dict[str, Any]] = []
        """What Lua knows by its number: maps of which a part is not there yet."""
        self.opened: Callable[..., Any] = _not_yet
        """Makes a table of what `member` returns; `sandbox/lazy.lua` has it."""

    def take(self, value: Any, text: bytes | None = None) -> Any:
        """The value as Lua has it. `text`: the same as JSON, where that is known.

        Raises ScriptError, LuaMemoryError; nothing is half done then.
        """
        if not isinstance(value, dict | list):
            return values.scalar(value)
        table = self._in_parts(value) if self.by_parts and isinstance(value, dict) else None
        if table is None:
            if text is None:
                text = values.as_json(value)
            self._need(value, text)
            table = self._whole(value, text)
        return table

    def forget(self) -> None:
        """A new call begins."""
        self._sources.clear()

    def member(self, source: int, name: str) -> Any:
        """For `sandbox/lazy.lua`: a table; or its plain members, its number, its other names; or false and a message.

        Never raises: an exception would be a Python object in Lua.
        """
        try:
            opened = self._open(self._sources[source - 1][name])
            return opened if len(opened) > 1 else opened[0]
        except (luajit21.LuaMemoryError, _TooMuch):
            return False, OUT_OF_MEMORY
        except _ANYTHING as error:
            return False, values.latin(str(error))

    def member_json(self, source: int, name: str) -> str | None:
        """For `sandbox/lazy.lua`: a member as JSON; None if Lua would not write it the same, or it is too long for it.

        Never raises.
        """
        try:
            text = orjson.dumps(self._sources[source - 1][name])
        except (ValueError, TypeError, LookupError, MemoryError):
            return None
        shallow = text.count(b"{") + text.count(b"[") <= values.DEEPEST // 2
        same = len(text) < RESERVE and shallow and b"null" not in text and not _OTHERWISE.search(text)
        return text.decode("latin-1") if same else None

    def value(self, value: Any) -> Any:
        """A value that is not asked for again. Raises ScriptError, LuaMemoryError."""
        if not isinstance(value, dict | list | tuple):
            return values.scalar(value)
        text = values.as_json(value)
        self._need(value, text)
        return self._whole(value, text)

    def _in_parts(self, value: dict[str, Any]) -> Any:
        """None where that is not possible."""
        if self._lua.get_memory_used() > self._memory - RESERVE:
            self._lua.gccollect()
            if self._lua.get_memory_used() > self._memory - RESERVE:
                return None
        try:
            return self.opened(*self._open(value))
        except _TooMuch:
            return None

    def _open(self, value: Any) -> tuple[Any, ...]:
        """See `member`. Raises _TooMuch."""
        if isinstance(value, list | tuple):
            return (self._part(value),)
        if not isinstance(value, dict):  # JSON knows what it is: Lua gets no Python object
            text = orjson.dumps(value)
            if len(text) > RESERVE // 2:
                raise _TooMuch
            plain = orjson.loads(text)
            return self._open(plain) if isinstance(plain, dict | list) else (values.scalar(plain),)
        members, pending, size = {}, {}, 0
        for name, child in value.items():
            if not name.isascii():  # Lua would ask for it by another name
                return (self._part(value),)
            size += len(name)
            kind = type(child)
            if kind is str:
                if not child.isascii():
                    child = values.latin(child)
                size += len(child)
                members[name] = child
            elif kind is int or kind is bool or kind is float:
                members[name] = child
            elif child is not None:
                pending[name] = True
        if size + len(value) * _PER_MEMBER > RESERVE:
            raise _TooMuch
        try:
            table = self._lua.table_from(members)
        except OverflowError:  # an integer beyond 64 bits
            table = self._lua.table_from(values.clean(members))
        if not pending:
            return (table,)
        self._sources.append(value)
        return table, len(self._sources), self._lua.table_from(pending)

    def _part(self, value: Any) -> Any:
        """A part of a body that is not taken in by parts itself. Raises _TooMuch."""
        text = values.as_json(value)
        if (values.size(value) if text is None else len(text) * _PER_BYTE) > RESERVE:
            raise _TooMuch
        return self._whole(value, text)

    def _whole(self, value: Any, text: bytes | None) -> Any:
        try:
            return self._lua.table_from(values.prepared(value, text), recursive=True)
        except OverflowError:
            return self._lua.table_from(values.clean(value), recursive=True)

    def _need(self, value: Any, text: bytes | None) -> None:
        """Raises LuaMemoryError if the value might not fit: outside of a call, Lua itself would end the process."""
        used = self._lua.get_memory_used()
        if text is not None and used + len(text) * _PER_BYTE <= self._memory:
            return
        size = values.size(value)
        if used + size > self._memory:
            self._lua.gccollect()
            if self._lua.get_memory_used() + size > self._memory:
                raise luajit21.LuaMemoryError(OUT_OF_MEMORY)


_ANYTHING = (
    ValueError, TypeError, AttributeError, LookupError, RuntimeError, MemoryError, luajit21.LuaError, ScriptError,
)  # fmt: skip
"""What taking in a part of what is no JSON may raise."""


class _TooMuch(Exception):
    """This needs more memory than is free for sure."""


_OTHERWISE = re.compile(rb'\{\}|(?:":|[\[,])-?\d+(?:[.eE]|(?<=\d{16}))')
"""An empty map, which is `[]` to Lua; a number with a fraction, or too long to be exact. May see one in a text."""


def _not_yet(*_parts: Any) -> Any:
    raise RuntimeError("the sandbox is not there yet")
