"""Documents inside a string: a JSON or YAML file in a ConfigMap, patched in place (Karmada: policies §4.8).

JSON keeps the order of its keys and the spelling of its numbers, so that an override shows up in a diff as the one
member it changed. YAML is read as Kubernetes reads it and written in canonical form; comments are lost.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Never

from gitfed.text import patch, yaml
from gitfed.text.construct import YamlError


class FieldError(ValueError):
    """The text is no document that could be patched."""


class _Number(str):
    """A JSON number as it was written."""

    __slots__ = ()


def patch_json(text: str, operations: Iterable[patch.PatchOperation]) -> str:
    """The compact text after the operations. An empty text stays empty: there is no document to patch."""
    if text == "":
        return text
    try:
        document = json.loads(text, parse_int=_Number, parse_float=_Number, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise FieldError(f"the text is no JSON: {error}") from error
    return _text(_patched(document, operations))


def patch_yaml(text: str, operations: Iterable[patch.PatchOperation]) -> str:
    try:
        document = yaml.load_one_lenient(text)
    except YamlError as error:
        raise FieldError(f"the text is no YAML: {error}") from error
    return yaml.dump(_patched(document, operations))


def _patched(document: Any, operations: Iterable[patch.PatchOperation]) -> Any:
    """A document is an object or a list, before and after."""
    if not isinstance(document, Mapping | list):
        raise FieldError("the text holds no object or list")
    patched = patch.apply(document, operations, negative=True)
    if not isinstance(patched, Mapping | list):
        raise FieldError("the text would hold no object or list any more")
    return patched


def _refuse(constant: str) -> Never:
    raise ValueError(f"{constant} is no JSON")


def _text(value: Any) -> str:
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{_quoted(key)}:{_text(child)}" for key, child in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    return json.dumps(value)


_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def _quoted(text: str) -> str:
    """Escaped so that the text is harmless inside HTML, as the reference writes it."""
    return json.dumps(text, ensure_ascii=False).translate(_ESCAPES)
