"""One Lua state in this process: compiles scripts, takes values in, calls, takes values out.

What a script may see and do is in `sandbox.lua`; this module is the Python side of it. Only texts, numbers and tables
cross the border, in both directions. A state that met a limit is never used again.

The limits here are an amount of instructions and of memory, both an error of the script and the same on every machine,
and an amount of work that cannot be interrupted, which is no error: such a call belongs in a process that can be killed
(`worker`).
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from importlib import resources
from typing import Any, Final

import orjson
from lupa import luajit21

from gitfed.model.script import NAME_SHOWN, Script

Function = Callable[..., Any]
"""A function of the `kube` module: JSON values in and out, ValueError with a message for the script."""

MEMORY: Final = 48 << 20
"""Bytes of one Lua state. Converted objects are in it too."""
INSTRUCTIONS: Final = 10_000_000
_STEP: Final = 500
"""Instructions between two looks at the limits."""
_SECONDS: Final = 0.5
"""Processor time after which a call moves to the worker: concatenating texts of megabytes takes few instructions."""
_EFFORT: Final = 3e6
"""Steps of pattern matching and the like, which no look at the limits interrupts."""
_DEEPEST: Final = 200
_KEPT_TABLES: Final = 8
_KEPT_SCRIPTS: Final = 1024
_LONGEST_SCRIPT: Final = 1_000_000
_EXACT: Final = 2**63


class ScriptError(Exception):
    """The script is wrong, or its inputs cannot be given to it: the same call fails again."""


class Elsewhere(Exception):
    """The call could hang where nothing interrupts it: run it where it can be killed."""


@dataclass(frozen=True, slots=True)
class Outcome:
    kinds: tuple[str, ...]
    """Lua's type of each value."""
    values: tuple[Any, ...]
    """JSON values; an empty table is `[]`."""
    told_time: bool
    """The script asked for the time, so the answer holds only for that time."""
    took_order: bool
    """The script walked over the keys of a map."""
    took_chance: bool
    """The script asked for a random number."""
    line: int = field(default=0, compare=False)
    """Where the function that was called begins in the script."""
    edits: tuple[Any, ...] | None = None
    """In place of the one value: what was changed of the first argument (`model.script.Returned`)."""


class Runtime:
    """Not for several threads at once. `confined`: we are in the process that may be killed, so nothing is put off."""

    def __init__(self, functions: Mapping[str, Function], *, confined: bool = False) -> None:
        self._functions = functions
        self._confined = confined
        self._start()

    def _start(self) -> None:
        """A new state with nothing in it. Costs some hundred microseconds."""
        self._lua = luajit21.LuaRuntime(
            encoding="latin-1",
            register_eval=False,
            register_builtins=False,
            attribute_filter=_no_attributes,
            unpack_returned_tuples=True,
            max_memory=MEMORY,
        )
        unlimited = float("inf")
        self._compile, self._call, self._unhook, self._place = self._lua.execute(
            _sandbox(),
            self._bridge,
            INSTRUCTIONS,
            _STEP,
            unlimited if self._confined else _SECONDS,
            unlimited if self._confined else _EFFORT,
            name="=sandbox",
        )
        self._scripts: dict[Script, Any] = {}
        self._tables: OrderedDict[int, tuple[Any, Any]] = OrderedDict()

    def check(self, script: Script) -> str:
        """Why the script does not compile, "" if it does. Nothing runs."""
        try:
            self._compiled(script)
        except ScriptError as error:
            return str(error)
        return ""

    def call(
        self,
        script: Script,
        function: str,
        *arguments: Any,
        results: int = 1,
        now: int = 0,
        backwards: bool = False,
        seed: int = 1,
        edits: bool = False,
        texts: Sequence[bytes | None] = (),
    ) -> Outcome:
        """Runs the whole script in a fresh environment, then its global function with up to two arguments.

        `now` is the script's clock in seconds since 1970; `backwards` and `seed` choose another order of keys and other
        random numbers, to find out whether an answer depends on them. `edits`: tell what was changed of the first
        argument, if that is possible (`Outcome.edits`). `texts`: the arguments as JSON, where that is known. Raises
        ScriptError, Elsewhere.
        """
        call = partial(self._once, script, function, arguments, (results, now, backwards, seed), edits, texts)
        try:
            return call()
        except _OutOfMemory:
            self._start()  # what others left behind may have filled the state
        try:
            return call()
        except _OutOfMemory as error:
            self._start()
            message = f"needs more than {MEMORY >> 20} MiB of memory"
            raise ScriptError(script.headed(message, error.line)) from None

    def _once(
        self,
        script: Script,
        function: str,
        arguments: tuple[Any, ...],
        settings: tuple[int, int, bool, int],
        edits: bool,
        texts: Sequence[bytes | None],
    ) -> Outcome:
        if self._lua.get_memory_used() > MEMORY // 2:
            self._forget()
        try:
            chunk, reads = self._compiled(script)
            texts = (*texts, None, None)[:2]
            first, second = (*map(self._taken_in, arguments, texts), None, None)[:2]
            # Positions in a list without its nulls are not those of the list.
            exact = edits and texts[0] is not None and b"null" not in texts[0]
            mode = "edits" if exact else "reads" if reads else ""
            answer = self._call(chunk, function, *settings, mode, first, second)
        except luajit21.LuaMemoryError:
            raise _OutOfMemory(self._line()) from None
        except luajit21.LuaError as error:
            line = self._line()
            self._start()
            raise _ended(str(error), script, line) from None
        if answer[0] is True:
            _, kinds, text, time, order, chance, line = answer
            found = tuple(orjson.loads(_utf8(text)))
            if kinds == "edits":
                return Outcome(("table",), (), time, order, chance, line, found)
            return Outcome(tuple(kinds.split()), found, time, order, chance, line)
        if answer[1].endswith(_OUT_OF_MEMORY):
            raise _OutOfMemory(self._line())
        raise ScriptError(_said(answer[1], script, self._line()))

    def _line(self) -> int:
        """The line that a message without one is about. A call that was stopped leaves its hook behind."""
        try:
            self._unhook()
            return int(self._place())
        except luajit21.LuaError:
            return 0

    def _compiled(self, script: Script) -> Any:
        chunk = self._scripts.get(script)
        if chunk is None:
            if fault := _not_lua(script):
                raise ScriptError(fault)
            answer = self._compile(_latin(script.text), _latin(script.name[:NAME_SHOWN]))
            if isinstance(answer, tuple):
                raise ScriptError(_said(answer[1], script))
            if len(self._scripts) >= _KEPT_SCRIPTS:
                self._scripts.clear()
            chunk = self._scripts[script] = (answer, only_reads(script.text))
        return chunk

    def _taken_in(self, value: Any, text: bytes | None = None) -> Any:
        """The value as Lua has it. Tables are kept by the identity of the body, which is never changed in place."""
        if not isinstance(value, dict | list):
            return _number(value) if isinstance(value, int) and not isinstance(value, bool) else _scalar(value)
        known = self._tables.get(id(value))
        if known is not None:
            self._tables.move_to_end(id(value))
            return known[1]
        try:
            table = self._lua.table_from(_prepared(value, text), recursive=True)
        except OverflowError:  # an integer beyond 64 bits
            table = self._lua.table_from(_clean(value, _DEEPEST), recursive=True)
        self._tables[id(value)] = (value, table)
        if len(self._tables) > _KEPT_TABLES:
            self._tables.popitem(last=False)
        if self._lua.get_memory_used() > MEMORY // 3:
            self._forget()
        return table

    def _forget(self) -> None:
        """The older half; the one that was just taken in stays."""
        for _ in range((len(self._tables) + 1) // 2):
            if len(self._tables) > 1:
                self._tables.popitem(last=False)
        self._lua.gccollect()

    def _bridge(self, name: str, arguments: str) -> tuple[bool, Any]:
        """What the `kube` functions of scripts call. Never raises: an exception would be a Python object in Lua."""
        try:
            value = self._functions[name](*orjson.loads(_utf8(arguments)))
            if isinstance(value, dict | list | tuple):
                value = self._lua.table_from(_prepared(value), recursive=True)
            else:
                value = _scalar(value)
        except _ANYTHING as error:
            return False, _latin(f"{name}: {error}")
        return True, value


@lru_cache(maxsize=1)
def _sandbox() -> str:
    return resources.files(__package__).joinpath("sandbox.lua").read_text(encoding="utf-8")


def _no_attributes(_obj: object, _name: str, _setting: bool) -> str:
    raise AttributeError("a script has no access to Python")


_OUT_OF_MEMORY = "not enough memory"


class _OutOfMemory(Exception):
    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line


_ANYTHING = (
    ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RuntimeError, MemoryError,
    luajit21.LuaError, ScriptError,
)  # fmt: skip
"""What a Python function may raise, given what a script makes up."""


def _ended(message: str, script: Script, line: int) -> ScriptError | Elsewhere:
    """The error for a call that was stopped; its state must not be used any more."""
    if message.startswith("\1elsewhere"):
        return Elsewhere(script.name)
    if message.startswith("\1budget"):
        return ScriptError(script.headed(f"needs more than {INSTRUCTIONS:,} instructions (an endless loop?)", line))
    return ScriptError(_said(message.partition("\nstack traceback")[0], script, line))


def _said(message: str, script: Script, line: int = 0) -> str:
    """A message of Lua, beginning with the script's name and a line; our own lines in it help nobody."""
    text = re.sub(r"sandbox:\d+: ", "", _utf8(message).decode(errors="replace"))
    name = script.name[:NAME_SHOWN]
    return text if text.startswith(f"{name}:") else script.headed(text, line)


_TOKEN = re.compile(r"--(?:\[(=*)\[)?|\[(=*)\[|[\"']|[A-Za-z_]\w*|(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)")
_QUOTED = {quote: re.compile(rf"(?:\\.|[^{quote}\\\n])*{quote}", re.DOTALL) for quote in "\"'"}
_FOREIGN_NUMBER = re.compile(r"(?:u?ll|i)\Z", re.IGNORECASE)


def _not_lua(script: Script) -> str:
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


# Lua texts are bytes and Latin-1 gives every byte one character, so that no text a script makes is undecodable.


def _latin(text: str) -> str:
    return text if text.isascii() else text.encode(errors="replace").decode("latin-1")


def _utf8(text: str) -> bytes:
    raw = text.encode("latin-1")
    return raw if raw.isascii() else raw.decode(errors="replace").encode()


def _number(value: int) -> int | float:
    """Lua's numbers are floats anyway; what fits no machine integer is made one here."""
    if -_EXACT < value < _EXACT:
        return value
    try:
        return float(value)
    except OverflowError:
        raise ScriptError("the object holds a number that is too large") from None


def _scalar(value: Any) -> Any:
    return _latin(value) if isinstance(value, str) else value


def _prepared(value: Any, text: bytes | None = None) -> Any:
    """A copy in which nothing is shared, and that Lua can take as it is.

    A table that is met twice would be missing the second time. Most objects need no more than a copy,
    which the JSON library makes in half the time.
    """
    if text is None:
        try:
            text = orjson.dumps(value)
        except TypeError:
            return _clean(value, _DEEPEST)
    return orjson.loads(text) if text.isascii() and b"null" not in text else _clean(value, _DEEPEST)


def _clean(value: Any, depth: int) -> Any:
    """A copy without nulls, in lists too: Lua has no place for them."""
    if not depth:
        raise ScriptError(f"the object is nested more than {_DEEPEST} levels deep")
    kind = type(value)
    if isinstance(value, str):
        return _latin(value)
    if isinstance(value, dict):
        return {
            _latin(name): child
            if (type_ := type(child)) is bool or type_ is float or (type_ is str and child.isascii())
            else _clean(child, depth - 1)
            for name, child in value.items()
            if child is not None
        }
    if isinstance(value, list | tuple):
        return [_clean(child, depth - 1) for child in value if child is not None]
    if isinstance(value, int) and kind is not bool:
        return _number(value)
    if kind is bool or kind is float:
        return value
    raise ScriptError(f"the object holds a {kind.__name__}, which is no JSON")
