"""What Go's decoder says of text that is no JSON object. Kubernetes quotes it in refusals of Secrets."""

from __future__ import annotations

import json

from kubesim import go_words

_LITERALS = {"n": "null", "t": "true", "f": "false"}


def object_error(text: str) -> str:
    """The complaint about text that should be a JSON object; empty if it is one (or null)."""
    if not text.strip():
        return "unexpected end of JSON input"
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        return _syntax(text, error.pos)
    if value is None or isinstance(value, dict):
        return ""
    return f"json: cannot unmarshal {go_words.json_type(value)} into Go value of type map[string]interface {{}}"


def _syntax(text: str, at: int) -> str:
    if at >= len(text.rstrip()):
        return "unexpected end of JSON input"
    if at and text[:at].strip() and text[at:].strip() and _is_value(text[:at]):
        return f"invalid character {_shown(text[at])} after top-level value"
    literal = _LITERALS.get(text[at])
    if literal:
        for offset, wanted in enumerate(literal[1:], 1):
            # Go's scanner reads one space beyond the end.
            met = text[at + offset : at + offset + 1] or " "
            if met != wanted:
                got = _shown(met)
                return f"invalid character {got} in literal {literal} (expecting {_shown(wanted)})"
    before = text[:at].rstrip()[-1:]
    where = {
        "{": "looking for beginning of object key string",
        ",": "looking for beginning of object key string",
        '"': "after object key",
    }.get(before, "looking for beginning of value")
    return f"invalid character {_shown(text[at])} {where}"


def _is_value(text: str) -> bool:
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return False
    return True


def _shown(character: str) -> str:
    return "'\\''" if character == "'" else f"'{character}'"
