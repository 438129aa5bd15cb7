"""What a kind's objects look like: every field's type, who may own its parts, what is written when it is empty.

One ``Schema`` is a node: a scalar, a struct (named fields), a map (any keys), a list, or anything. The same tree serves
strict decoding (``check``, ``convert``: ``schema_decode``), ownership (``managed``: which lists are keyed, which values
have one owner) and strategic merge patches (``patch``: merge keys). Built-in kinds come from ``schema_data.json``,
written by ``tools/sim_schema.py``; custom kinds from their definition's OpenAPI schema. What a value *means* (ranges,
defaults, which fields go together) is the kind's.

The data file: ``kinds`` maps ``apps/v1/Deployment`` to a type; ``types`` maps a type to its fields, each ``[type,
presence, extras]``. A type is a scalar word, ``#Type``, ``[]type`` or ``{}type``. Presence tells what the server writes
for an empty value: ``!`` its zero, ``?`` null, ``*`` nothing if it is null, ``-`` nothing if it is zero. Extras: keys
(keyed list), set, atomic, granular, merge (key of a strategic patch), retain, replace.
"""

from __future__ import annotations

import functools
import importlib.resources
import re
from collections.abc import Mapping
from typing import Any, Final

import orjson

from kubesim import schema_decode
from kubesim.schema_decode import Findings
from kubesim.schema_nodes import ANY, LIST, MAP, SCALAR, STRUCT, Node

__all__ = [
    "ANY",
    "ANYTHING",
    "LIST",
    "MAP",
    "OPEN",
    "SCALAR",
    "STRUCT",
    "Findings",
    "Schema",
    "for_kind",
    "from_openapi",
]

Body = dict[str, Any]


class Schema(Node):
    """A node, with what one asks of the root of a kind."""

    __slots__ = ()

    def check(self, body: Body) -> Findings:
        """Unknown fields and wrong types of ``body``, in Kubernetes' words."""
        return schema_decode.decode(self, body)[1]

    def convert(self, body: Body) -> Body:
        """``body`` as Kubernetes would write it after reading it: canonical quantities and times, no empty optional
        fields, no unknown ones."""
        return schema_decode.decode(self, body)[0]

    def decode(self, body: Body) -> tuple[Body, Findings]:
        """``convert`` and ``check`` in one walk."""
        return schema_decode.decode(self, body)

    def empty(self) -> Body:
        """What Kubernetes compares a new object with: the object nobody has filled in."""
        return _empty(self)


@functools.lru_cache(maxsize=512)
def _empty(node: Schema) -> Body:
    return schema_decode.decode(node, {})[0]


@functools.cache
def for_kind(group: str, version: str, kind: str) -> Schema:
    """The type of a built-in kind (``for_kind("", "v1", "Pod")``). Raises ``KeyError`` if there is none."""
    builtins = _builtins()
    return builtins.struct(builtins.kinds[f"{group}/{version}/{kind}" if group else f"{version}/{kind}"])


@functools.cache
def _builtins() -> _Builtins:
    text = importlib.resources.files("kubesim").joinpath("schema_data.json").read_bytes()
    return _Builtins(orjson.loads(text))


class _Builtins:
    """The types of the data file, each built when it is first needed and then kept: types refer to each other, and to
    themselves."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.kinds: dict[str, str] = data["kinds"]
        self._types: dict[str, dict[str, list[Any]]] = data["types"]
        self._atomic = frozenset(data["atomic"])
        self._built: dict[str, Schema] = {}

    def struct(self, name: str) -> Schema:
        if name not in self._built:
            node = self._built[name] = self._bare(name)
            self._fill(node, name)
        return self._built[name]

    def _bare(self, name: str) -> Schema:
        return Schema(STRUCT, name=re.sub(r"^([A-Z][a-z]+)?V\d+(?=[A-Z])", "", name), atomic=name in self._atomic)

    def _fill(self, node: Schema, name: str) -> None:
        fields = self._types[name]
        node.presence = {field: entry[1] for field, entry in fields.items()}
        node.always = tuple(field for field, mark in node.presence.items() if mark in "!?")
        node.fields = {
            field: self._node(entry[0], entry[2] if len(entry) > 2 else {}) for field, entry in fields.items()
        }

    def _node(self, text: str, extras: Mapping[str, Any]) -> Schema:
        """The node of a field. Extras belong to the field, so a field with extras has a node of its own."""
        if text.startswith("[]"):
            node = Schema(LIST, atomic=not ("keys" in extras or "set" in extras))
            node.value = self._node(text[2:], {})
            node.unique = "set" in extras
            if "keys" in extras:
                node.keys = tuple(sorted(extras["keys"]))
                node.key_defaults = self._key_defaults(text[3:], node.keys)
        elif text.startswith("{}"):
            node = Schema(MAP, atomic="atomic" in extras)
            node.value = self._node(text[2:], {})
        elif text.startswith("#"):
            if not extras:
                return self.struct(text[1:])
            node = self._bare(text[1:])
            node.atomic = node.atomic and "granular" not in extras
            self._fill(node, text[1:])
        elif text == "any":
            # Raw values have one owner, whatever is in them.
            node = Schema(ANY, scalar=text, atomic=True)
        elif text == "schema":
            node = Schema(ANY, scalar=text)
            node.value = self.struct("JSONSchemaProps")
        else:
            return _scalar(text)
        node.merge_key = extras.get("merge")
        node.retain_keys = "retain" in extras
        node.replace = "replace" in extras
        return node

    def _key_defaults(self, type_name: str, keys: tuple[str, ...]) -> dict[str, Any]:
        """What a key of a list item is when it is left out: protocols are TCP, keys that are always written zero."""
        defaults: dict[str, Any] = {}
        for key in keys:
            kind, presence = self._types[type_name][key][:2]
            if key == "protocol":
                defaults[key] = "TCP"
            elif presence == "!" or type_name == "LocalObjectReference":
                defaults[key] = 0 if kind.startswith("int") else ""
        return defaults


@functools.cache
def _scalar(word: str) -> Schema:
    return Schema(ANY if word == "any" else SCALAR, scalar=word)


ANYTHING: Final = _scalar("any")


def from_openapi(openapi: Mapping[str, Any]) -> Schema:
    """The type of a custom kind from its ``openAPIV3Schema``. Kind, apiVersion and metadata are added to the root."""
    root = Schema(STRUCT)
    inner = _from_openapi({"type": "object", **openapi})
    root.fields = inner.fields
    root.value = inner.value
    _embed(root)
    root.custom = True
    return root


def _embed(node: Schema) -> None:
    """Gives a struct the fields of every Kubernetes object."""
    metadata = _builtins().struct("ObjectMeta")
    node.fields = {**node.fields, "apiVersion": _scalar("string"), "kind": _scalar("string"), "metadata": metadata}


def _from_openapi(openapi: Mapping[str, Any]) -> Schema:
    """A node from a structural schema and its ``x-kubernetes-`` extensions."""
    if openapi.get("x-kubernetes-int-or-string"):
        return _scalar("untyped")
    kind = openapi.get("type")
    if kind == "object":
        return _object(openapi)
    if kind == "array":
        return _array(openapi)
    if kind in _OPENAPI_SCALARS:
        return _scalar(_OPENAPI_SCALARS[kind])
    return ANYTHING


_OPENAPI_SCALARS: Final = {"string": "string", "integer": "int64", "number": "float", "boolean": "bool"}


def _object(openapi: Mapping[str, Any]) -> Schema:
    atomic = openapi.get("x-kubernetes-map-type") == "atomic"
    embedded = openapi.get("x-kubernetes-embedded-resource")
    properties = openapi.get("properties")
    additional = openapi.get("additionalProperties")
    if isinstance(additional, dict) and not properties:
        node = Schema(MAP, atomic=atomic)
        node.value = _from_openapi(additional)
        return node
    node = Schema(STRUCT, atomic=atomic)
    node.fields = {name: _from_openapi(inner) for name, inner in (properties or {}).items()}
    if embedded:
        _embed(node)
    if openapi.get("x-kubernetes-preserve-unknown-fields") or not (properties or embedded):
        node.value = ANYTHING
    return node


def _array(openapi: Mapping[str, Any]) -> Schema:
    list_type = openapi.get("x-kubernetes-list-type", "atomic")
    node = Schema(LIST, atomic=list_type not in ("map", "set"))
    items = openapi.get("items") or {}
    node.value = _from_openapi(items)
    node.unique = list_type == "set"
    if list_type == "map":
        node.keys = tuple(sorted(openapi.get("x-kubernetes-list-map-keys", ())))
        properties = items.get("properties", {})
        node.key_defaults = {
            key: properties[key]["default"] for key in node.keys if "default" in properties.get(key, {})
        }
    return node


def _open() -> Schema:
    root = Schema(STRUCT)
    root.value = ANYTHING
    root.custom = True
    _embed(root)
    return root


OPEN: Final = _open()
"""A kind without a schema: typed metadata, everything else as it comes."""
