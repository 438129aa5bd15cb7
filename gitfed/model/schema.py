"""JSON Schema of the declared kinds, for editors and for `gitfed schema`. The models are the only source."""

from __future__ import annotations

from typing import Any

from gitfed.model.declared import registry


def kinds() -> tuple[str, ...]:
    """The declared kinds, sorted."""
    return tuple(sorted(kind for _, kind in registry.MODELS))


def of_kind(kind: str) -> dict[str, Any]:
    """The schema of one kind, spelled as in files. Raises `KeyError` for a kind that is not declared."""
    for (api_version, name), model in registry.MODELS.items():
        if name == kind:
            schema = model.model_json_schema(by_alias=True)
            schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
            schema["title"] = kind
            schema["properties"]["apiVersion"] = {"const": api_version}
            schema["properties"]["kind"] = {"const": kind}
            return schema
    raise KeyError(kind)
