"""Objects of this repository that are meant to be right are right: examples, manuals, cases, the catalogue."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitfed.edges import catalogue
from gitfed.interpret.schema.check import Schemas
from gitfed.interpret.schema.faults import FaultCode
from gitfed.interpret.schema.kubernetes import Kubernetes

ROOT = Path(__file__).parents[3]
SCHEMAS = Schemas(Kubernetes(catalogue.kubernetes))
FENCED = re.compile(r"^( *)```ya?ml\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
WRONG_ON_PURPOSE = (
    "tests/cases/a-mistake",
    "tests/cases/a-field-",
    "tests/cases/a-cluster-newer",
    "tests/cases/an-override-that-breaks",
)


def texts(folder: str) -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / folder).rglob("*")):
        name = str(path.relative_to(ROOT))
        if name.startswith(WRONG_ON_PURPOSE):
            continue
        if path.suffix in (".yaml", ".yml"):
            yield name, path.read_text()
        elif path.suffix == ".md":
            for match in FENCED.finditer(path.read_text()):
                yield name, re.sub(rf"^{match[1]}", "", match[2], flags=re.MULTILINE)


def objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if {"apiVersion", "kind", "metadata"} <= value.keys() and isinstance(value["kind"], str):
            yield value
        value = list(value.values())
    for member in value if isinstance(value, list) else ():
        yield from objects(member)


@pytest.mark.parametrize("folder", ["examples", "docs", "deploy", "tests/cases", "interpreters"])
def test_what_is_meant_to_be_right_has_no_fault(folder: str) -> None:
    """Parts of objects are shown too: what is missing in them is not looked at."""
    looked, wrong = 0, []
    for name, text in texts(folder):
        try:
            documents = list(yaml.load_all(text, Loader=yaml.CSafeLoader))
        except yaml.YAMLError:
            continue  # a template of a manual, with holes
        for body in objects(documents):
            for minor in (30, SCHEMAS.kubernetes.minors[-1]):
                looked += 1
                faults = [one for one in SCHEMAS.faults(body, minor) if one.code is not FaultCode.MISSING]
                wrong += [f"{name}: {body['kind']}: {fault}" for fault in faults]
    assert wrong == []
    assert looked > 0
