"""JSON Schema of the declared kinds, for editors and for `gitfed schema`. The models are the only source.

Descriptions are the strings that stand below the fields. They are read from the source here, when a schema is asked
for: having pydantic do it would cost every command a quarter of a second.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any

from gitfed.model.declared import registry
from gitfed.model.declared.shape import Part


def kinds() -> tuple[str, ...]:
    """The declared kinds, sorted."""
    return tuple(sorted(kind for _, kind in registry.MODELS))


def of_kind(kind: str) -> dict[str, Any]:
    """The schema of one kind, spelled as in files. Raises `KeyError` for a kind that is not declared."""
    for (api_version, name), model in registry.MODELS.items():
        if name == kind:
            schema = model.model_json_schema(by_alias=True)
            _describe(schema, model)
            parts = {part.__name__: part for part in _parts(Part)}
            for name_of_part, definition in schema.get("$defs", {}).items():
                if name_of_part in parts:
                    _describe(definition, parts[name_of_part])
            schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
            schema["title"] = kind
            schema["properties"]["apiVersion"] = {"const": api_version}
            schema["properties"]["kind"] = {"const": kind}
            return schema
    raise KeyError(kind)


def of_all() -> dict[str, Any]:
    """One schema for every file of a repository: a document is checked by its apiVersion and kind, others are free."""
    definitions: dict[str, Any] = {}
    rules = []
    for (api_version, kind), _ in sorted(registry.MODELS.items()):
        schema = of_kind(kind)
        for name, definition in schema.pop("$defs", {}).items():
            assert definitions.setdefault(name, definition) == definition, f"two parts are called {name}"
        schema.pop("$schema")
        definitions[kind] = schema
        named = {"apiVersion": {"const": api_version}, "kind": {"const": kind}}
        rules.append(
            {
                "if": {"properties": named, "required": ["apiVersion", "kind"]},
                "then": {"$ref": f"#/$defs/{kind}"},
            }
        )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A fleet repository of gitfed",
        "allOf": rules,
        "$defs": definitions,
    }


def descriptions(model: type[Part]) -> dict[str, str]:
    """What is said below the fields of a model and its bases, by the fields' names in Python."""
    texts: dict[str, str] = {}
    for cls in reversed(model.__mro__):
        if not issubclass(cls, Part) or cls is Part:
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
        assert isinstance(body, ast.ClassDef)
        for field, text in zip(body.body, body.body[1:], strict=False):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(text, ast.Expr)
                and isinstance(text.value, ast.Constant)
                and isinstance(text.value.value, str)
            ):
                texts[field.target.id] = inspect.cleandoc(text.value.value)
    return texts


def _describe(schema: dict[str, Any], model: type[Part]) -> None:
    for name, text in descriptions(model).items():
        field = model.model_fields.get(name)
        member = schema.get("properties", {}).get(field.alias or name) if field is not None else None
        if isinstance(member, dict):
            member.setdefault("description", text)


def _parts(base: type[Part]) -> list[type[Part]]:
    return [part for cls in base.__subclasses__() for part in (cls, *_parts(cls))]
