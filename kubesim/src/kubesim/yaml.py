"""YAML bodies: what a server understands of them, and how it writes them.

An API server reads YAML 1.1 with one Go library, whose rules for unquoted words are neither the specification's nor
PyYAML's: ``NO`` is false, ``0755`` and ``0o17`` are octal, dates and ``1:30`` stay text. libyaml finds the events; the
values are built here and without recursion, so that a body of a hundred thousand brackets is refused and not fatal.
"""

from __future__ import annotations

import re
from typing import Any, Final

import yaml
from yaml._yaml import CParser

_WORDS: Final[dict[str, Any]] = {
    **dict.fromkeys(("true", "True", "TRUE", "y", "Y", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("false", "False", "FALSE", "n", "N", "no", "No", "NO", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
}
_INTEGER: Final = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[oO]?[0-7]+|0[bB][01]+|[1-9][0-9]{0,30}|0)")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE: Final = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_DEPTH: Final = 100
_TOO_DEEP: Final = "exceeded maximum nesting depth"
"""What libyaml says itself, from version 0.2.6 on, of text that is too deep to be looked at."""
_ALIASED: Final = 400_000
"""So many nodes may come in through aliases."""
_OPEN: Final[Any] = object()
"""No key yet; of an anchor: not complete yet."""


class YamlError(ValueError):
    """The text cannot be read; the message is the server's."""


def load(data: bytes) -> tuple[Any, list[str]]:
    """The first document, and a complaint about each key that it gives twice (the last one wins)."""
    builder = _Builder()
    try:
        get_event = CParser(data.decode("utf-8", "replace")).get_event
        while (event := get_event()) is not None and not isinstance(event, yaml.DocumentEndEvent):
            builder.take(event)
    except yaml.reader.ReaderError:
        raise YamlError("yaml: control characters are not allowed") from None
    except yaml.MarkedYAMLError as error:
        if error.problem == _TOO_DEEP:
            raise YamlError(f"yaml: exceeded max depth of {_DEPTH}") from None
        raise YamlError(f"yaml: {_where(error)}{error.problem}") from None
    return builder.value, builder.repeated


def _where(error: yaml.MarkedYAMLError) -> str:
    """Go counts lines from 0 in the parser and from 1 in the scanner, and does not name the first."""
    line = error.problem_mark.line if error.problem_mark else 0
    return f"line {line + isinstance(error, yaml.scanner.ScannerError)}: " if line else ""


class _Builder:
    def __init__(self) -> None:
        self.value: Any = None
        self.repeated: list[str] = []
        self._stack: list[tuple[Any, str | None, int]] = []
        """Unfinished containers, their anchors, and how many nodes came before them."""
        self._keys: list[Any] = []
        """The key of each that waits for its value."""
        self._anchors: dict[str | None, tuple[Any, int]] = {}
        self._nodes = self._aliased = 0

    def take(self, event: Any) -> None:
        line = event.start_mark.line + 1
        if isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._nodes += 1
            if len(self._stack) >= _DEPTH:
                raise YamlError(f"yaml: exceeded max depth of {_DEPTH}")
            self._stack.append(({} if isinstance(event, yaml.MappingStartEvent) else [], event.anchor, self._nodes))
            self._keys.append(_OPEN)
            self._anchors[event.anchor] = (_OPEN, 0)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            value, anchor, before = self._stack.pop()
            self._keys.pop()
            self._anchors[anchor] = (value, self._nodes - before + 1)
            self._add(value, line)
        elif isinstance(event, yaml.ScalarEvent):
            self._nodes += 1
            value = _resolved(event.value) if event.tag is None and event.implicit[0] else event.value
            self._anchors[event.anchor] = (value, 1 + len(event.value) // 8)
            self._add(value, line)
        elif isinstance(event, yaml.AliasEvent):
            value, size = self._anchors.get(event.anchor, (_OPEN, 0))
            if value is _OPEN:
                known = event.anchor in self._anchors
                what = f"anchor '{event.anchor}' value contains itself"
                raise YamlError(f"yaml: {what}" if known else f"yaml: unknown anchor '{event.anchor}' referenced")
            self._nodes += size
            self._aliased += size
            if self._aliased > _ALIASED:
                raise YamlError("yaml: document contains excessive aliasing")
            self._add(value, line)

    def _add(self, value: Any, line: int) -> None:
        """Put a finished value where it belongs."""
        if not self._stack:
            self.value = value
            return
        container = self._stack[-1][0]
        if isinstance(container, list):
            container.append(value)
        elif self._keys[-1] is _OPEN:
            if isinstance(value, dict | list):
                raise YamlError("yaml: invalid map key")
            key = str(value).lower() if value is None or isinstance(value, bool) else str(value)
            if key in container:
                self.repeated.append(f'line {line}: key "{key}" already set in map')
            container[key] = None
            self._keys[-1] = key
        else:
            container[self._keys[-1]] = value
            self._keys[-1] = _OPEN


def _resolved(word: str) -> Any:
    """The JSON value of an unquoted word."""
    if word in _WORDS:
        return _WORDS[word]
    digits = word.replace("_", "")
    if _INTEGER.fullmatch(digits):
        body = digits.lstrip("+-").lower()
        octal = len(body) > 1 and body[0] == "0" and body[1].isdigit()
        number = int(body, 8 if octal else 0) * (-1 if digits[0] == "-" else 1)
        return number if -(2**63) <= number < 2**64 else float(number)
    if _FLOAT.fullmatch(digits):
        # Go writes a whole float into JSON without a fraction.
        real = float(digits)
        return int(real) if real.is_integer() and abs(real) < 2**63 else real
    if _NOT_FINITE.fullmatch(word):
        raise YamlError(
            f"json: unsupported value: {'NaN' if word[-1] in 'nN' else '-Inf' if word[0] == '-' else '+Inf'}"
        )
    return word


class _Dumper(yaml.CSafeDumper):
    """Quotes also what only a server would read as something else than text."""


def _text(dumper: Any, text: str) -> Any:
    plain = "\n" not in text and not _NOT_FINITE.fullmatch(text) and isinstance(_resolved(text), str)
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain else "|" if "\n" in text else '"')


_Dumper.add_representer(str, _text)


def dump(value: Any) -> str:
    return str(yaml.dump(value, Dumper=_Dumper, allow_unicode=True, width=2**30))
