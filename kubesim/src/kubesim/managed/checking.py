"""Whether a configuration fits its type: the complaints that an apply answers before anything is merged.

Stricter than decoding in one respect (items with the same keys are refused), laxer in another (a number may have any
width). Kubernetes tells these with the path in the form of a field set and a Go rendering of the value.
"""

from __future__ import annotations

from typing import Any, Final

from kubesim import go_words
from kubesim.managed import fieldset, typed
from kubesim.schema_nodes import ANY, LIST, SCALAR, Node


def complaints(node: Node, value: Any, *, duplicates: bool = False) -> list[str]:
    """What does not fit, each ``.spec.foo: field not declared in schema``. ``duplicates`` are let pass if asked."""
    found: list[str] = []
    _check(node, value, "", found, duplicates)
    return found


def told(found: list[str]) -> str:
    """Several complaints in one text."""
    return found[0] if len(found) == 1 else "\n".join(["errors:", *(f"  {line}" for line in found)])


def _check(node: Node, value: Any, path: str, found: list[str], duplicates: bool) -> None:
    if value is None or node.shape == ANY:
        return
    if node.shape == SCALAR:
        if not _fits(node.scalar, value):
            found.append(f"{path}: {_mistyped(node.scalar, value)}")
    elif node.shape == LIST:
        _check_items(node, value, path, found, duplicates)
    elif not isinstance(value, dict):
        found.append(f"{path}: expected map, got &{{{go_words.printed(value)}}}")
    else:
        for key, inner in value.items():
            child = node.fields.get(key) or node.value
            if child is None:
                found.append(f"{path}.{key}: field not declared in schema")
                return
            _check(child, inner, f"{path}.{key}", found, duplicates)


def _check_items(node: Node, value: Any, path: str, found: list[str], duplicates: bool) -> None:
    if not isinstance(value, list):
        found.append(f"{path}: expected list, got &{{{go_words.printed(value)}}}")
        return
    seen: set[str] = set()
    for index, item in enumerate(value):
        place = f"[{index}]"
        if not node.atomic:
            try:
                step = typed.item_step(node, item)
            except ValueError as error:
                found.append(f"{path}: element {index}: {error}")
                return
            place = fieldset.written([step])
            if step in seen and not duplicates:
                found.append(f"{path}: duplicate entries for key {place}")
            seen.add(step)
        if node.value is not None:
            _check(node.value, item, path + place, found, duplicates)


_NUMBERS: Final = frozenset({"int32", "int64", "float"})


def _fits(scalar: str, value: Any) -> bool:
    if scalar in _NUMBERS:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if scalar == "bool":
        return isinstance(value, bool)
    if scalar in ("quantity", "intstr", "untyped"):
        return isinstance(value, str | int | float | bool)
    return isinstance(value, str)


def _mistyped(scalar: str, value: Any) -> str:
    if scalar in _NUMBERS:
        return f"expected numeric (int or float), got {go_words.type_name(value)}"
    if scalar == "bool":
        return f"expected boolean, got &{{{go_words.printed(value)}}}"
    if scalar in ("quantity", "intstr", "untyped"):
        return f"expected any scalar, got &{{{go_words.printed(value)}}}"
    return f"expected string, got &value.valueUnstructured{{Value:{_go_syntax(value)}}}"


def _go_syntax(value: Any) -> str:
    """A value as Go's ``%#v`` prints it."""
    if isinstance(value, dict):
        pairs = ", ".join(f"{fieldset.scalar(key)}:{_go_syntax(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{pairs}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(_go_syntax, value))}}}"
    return "interface {}(nil)" if value is None else fieldset.scalar(value)
