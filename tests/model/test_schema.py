"""JSON Schema of the declared kinds."""

from __future__ import annotations

import json
import re

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


def test_one_schema_for_all_kinds_refers_to_what_it_holds() -> None:
    found = schema.of_all()
    refers = re.findall(r'"\$ref": "#/\$defs/([^"]+)"', json.dumps(found))
    assert set(refers) <= set(found["$defs"])
    assert {rule["then"]["$ref"].rpartition("/")[2] for rule in found["allOf"]} == set(schema.kinds())
    for rule in found["allOf"]:
        kind = rule["if"]["properties"]["kind"]["const"]
        assert found["$defs"][kind]["properties"]["apiVersion"] == rule["if"]["properties"]["apiVersion"]
