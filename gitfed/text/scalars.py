"""What an unquoted YAML word means to Kubernetes.

kubectl and the API server read YAML 1.1 with one Go library, and its rules are neither those of the specification nor
PyYAML's: `NO` is false, `0755` and `0o17` are octal, `1e3` is a number without a dot, but dates and `1:30` stay text.
A manifest must mean the same to us as to kubectl, so the table is written down here. Quoted words never come here.
"""

from __future__ import annotations

import re
from typing import Any

_TRUE = ("y", "Y", "yes", "Yes", "YES", "on", "On", "ON")
_FALSE = ("n", "N", "no", "No", "NO", "off", "Off", "OFF")
SURPRISING = frozenset(_TRUE + _FALSE)
"""Words that few people expect to be booleans."""
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("true", "True", "TRUE", *_TRUE), True),
    **dict.fromkeys(("false", "False", "FALSE", *_FALSE), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
}
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_INTEGER = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[oO]?[0-7]+|0[bB][01]+|[1-9][0-9]*|0)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_STARTS_NUMBER = frozenset("0123456789+-.")
_SMALLEST, _LARGEST = -(2**63), 2**64 - 1


class NotFinite(ValueError):
    """`.nan`, `.inf` or a number beyond every float: JSON has no such value."""


def resolve(word: str) -> Any:
    """The JSON value of an unquoted scalar: bool, None, int, float or the text itself. Raises `NotFinite`."""
    if word in _WORDS:
        return _WORDS[word]
    if word[0] not in _STARTS_NUMBER:
        return word
    if _NOT_FINITE.fullmatch(word):
        raise NotFinite(word)
    digits = word if word[0] == "." else word.replace("_", "")
    if _INTEGER.fullmatch(digits):
        number = _integer(digits)
        if _SMALLEST <= number <= _LARGEST:
            return number
    if _FLOAT.fullmatch(digits):
        return whole(float(digits), word)
    return word


def whole(number: float, word: str) -> int | float:
    """Go writes a whole float into JSON without a fraction, so `1.0` reaches the API server as the integer 1."""
    if number in (float("inf"), float("-inf")) or number != number:
        raise NotFinite(word)
    if number.is_integer() and abs(number) < 2**63:
        return int(number)
    return number


def is_text(word: str) -> bool:
    """Whether the unquoted word would be read as text, and so may be written without quotes."""
    try:
        return isinstance(resolve(word), str)
    except NotFinite:
        return False


def _integer(digits: str) -> int:
    """Go's base 0: a leading 0 alone means octal. Python wants `0o` there."""
    sign = -1 if digits[0] == "-" else 1
    body = digits.lstrip("+-").lower()
    if len(body) > 1 and body[0] == "0" and body[1].isdigit():
        return sign * int(body, 8)
    if len(body) > 400:
        raise NotFinite(digits[:20] + "…")
    return sign * int(body, 0)
