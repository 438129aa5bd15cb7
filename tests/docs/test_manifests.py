"""Whoever copies an example out of the documentation has something that `gitfed validate` takes."""

from __future__ import annotations

import json
import re
import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cli.world import git, gitfed
from tests.docs.pages import ROOT, pages

FENCE = re.compile(
    r"^(?P<indent> *)(?P<wrong><!-- wrong -->\n+ *)?```ya?ml[^\n]*\n(?P<text>.*?)^(?P=indent)```",
    re.MULTILINE | re.DOTALL,
)
SETTINGS = "apiVersion: gitfed.io/v1alpha1\nkind: Federation\nmetadata: {name: acme}\n"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJSd0rkkNNUkX0J9UqZqFh1hBTKEYyJQ9oX4U4yUXdGx"


def blocks() -> Iterator[tuple[str, str]]:
    """(page:line, text) of each block that holds nothing but whole objects and is not marked as wrong."""
    for page in pages():
        content = page.read_text()
        for found in FENCE.finditer(content):
            # A value that ends in … is a person's own.
            lines = textwrap.dedent(found["text"]).splitlines(keepends=True)
            text = "".join(line for line in lines if "…" not in line)
            if found["wrong"] is None and _is_whole(text):
                line = content.count("\n", 0, found.start("text")) + 1
                yield f"{page.relative_to(ROOT)}:{line}", text


def _is_whole(text: str) -> bool:
    documents = [one for one in yaml.safe_load_all(text) if one is not None]
    return bool(documents) and all(
        isinstance(one, dict) and "apiVersion" in one and "kind" in one and "name" in (one.get("metadata") or {})
        for one in documents
    )


BLOCKS = dict(blocks())
TARGET = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web}]}
"""
"""What an example without it scales."""


def test_the_documentation_has_whole_examples() -> None:
    assert len(BLOCKS) >= 10, sorted(BLOCKS)


@pytest.mark.parametrize("place", BLOCKS)
def test_an_example_of_the_documentation_is_valid(place: str, tmp_path: Path) -> None:
    text = BLOCKS[place]
    (tmp_path / "example.yaml").write_text(text)
    if "kind: Federation\n" not in text:
        (tmp_path / "gitfed.yaml").write_text(SETTINGS)
    if "FederatedHPA\n" in text:
        (tmp_path / "target.yaml").write_text(TARGET)
    for named in re.findall(r"\bkeys/[\w.-]+", text):
        (tmp_path / "keys").mkdir(exist_ok=True)
        (tmp_path / named).write_text(KEY + "\n")
    assert _errors(tmp_path) == []


@pytest.mark.parametrize("folder", sorted(path.name for path in (ROOT / "examples").iterdir() if path.is_dir()))
def test_the_examples_are_valid(folder: str, tmp_path: Path) -> None:
    place = tmp_path / folder
    shutil.copytree(ROOT / "examples" / folder, place)
    if not (place / "gitfed.yaml").exists():
        (place / "gitfed.yaml").write_text(SETTINGS)
    assert _errors(place) == []


def _errors(folder: Path) -> list[str]:
    git(folder, "init", "-q")
    result = gitfed("validate", "--worktree", "--repo", str(folder), "-o", "json")
    problems = json.loads(result.out)["problems"]
    return [f"{one['path']}:{one['line']}: {one['message']}" for one in problems if one["severity"] == "error"]
