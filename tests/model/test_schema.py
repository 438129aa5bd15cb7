"""JSON Schema of the declared kinds."""

from __future__ import annotations

import pytest

from gitfed.model import schema


@pytest.mark.parametrize("kind", schema.kinds())
def test_every_declared_kind_has_a_schema_spelled_as_in_files(kind: str) -> None:
    found = schema.of_kind(kind)
    assert found["title"] == kind
    assert found["properties"]["kind"] == {"const": kind}
    assert found["additionalProperties"] is False
    assert {"apiVersion", "kind", "metadata"} <= set(found["required"])
    assert "api_version" not in found["properties"]


def test_an_unknown_kind_has_none() -> None:
    with pytest.raises(KeyError):
        schema.of_kind("Deployment")
