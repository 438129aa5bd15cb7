"""What is done with an input: what gitfed would do with it, and what must hold whatever the input was."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hypothesis import strategies as st

from gitfed.documents import bindings, evictions, facts, records, requirements, targets
from gitfed.edges import git
from gitfed.edges.kube import reflect
from gitfed.edges.kube.discovery import Discovery
from gitfed.edges.kube.inventory_format import BrokenEntryError, decode
from gitfed.edges.lua.request import Request, ScriptError
from gitfed.edges.lua.runtime import Runtime
from gitfed.errors import GitfedError
from gitfed.interpret import kube_module, responses
from gitfed.interpret.registry import Inputs, InterpretError, Operation
from gitfed.model import orders
from gitfed.model.base import Commit
from gitfed.model.script import Script
from gitfed.source import kustomize
from gitfed.source import repo as source
from gitfed.source.memory import Memory
from gitfed.text import yaml
from tests.edges.test_lua_intake import _scripts as lua_scripts
from tests.fuzz import mutate
from tests.safety.objects import Objects
from tests.safety.test_scripts import planned
from tests.source.trees import tree

CORPUS = Path(__file__).parent / "corpus"


@dataclass(frozen=True, slots=True)
class Target:
    inputs: st.SearchStrategy[Any]
    run: Callable[[Any], object]
    examples: int = 100
    """Inputs that the suite tries."""


@cache
def _seeds(name: str) -> tuple[Any, ...]:
    return tuple(json.loads(path.read_text("utf-8")) for path in sorted((CORPUS / name).glob("*.json")))


def _raw(name: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]


def yaml_text(data: bytes) -> None:
    stream = yaml.parse(data)
    if stream.usable:
        json.dumps([document.value for document in stream.documents])
        yaml.locate(data, 0, ("a", 0, "b"))


def json_text(data: bytes) -> None:
    stream = yaml.parse(data, is_json=True)
    if stream.usable:
        json.dumps([document.value for document in stream.documents])
        yaml.locate(data, 0, ("a", 0, "b"), is_json=True)


def commit(document: Any) -> None:
    """A file among good ones: it can be planned, and no object of the others is lost."""
    good = {path.name: path.read_bytes() for path in (CORPUS / "good").iterdir()}
    try:
        text = mutate.as_json(document)
    except ValueError:
        return
    repo = source.read(tree({**good, "changed.json": text}), memory=Memory())
    planned(repo)
    assert any(key.name == "unchanged" for key in repo.manifests)


def state(document: Any) -> None:
    for read in (bindings.from_document, facts.from_document, records.record_of, evictions.read, requirements.read,
                 targets.shares, orders.suspensions, orders.removals):  # fmt: skip
        for one in (document, *(document.values() if isinstance(document, dict) else ())):
            if isinstance(one, dict) or read not in (bindings.from_document, facts.from_document, records.record_of):
                with contextlib.suppress(GitfedError):
                    read(one)


def inventory(document: Any) -> None:
    for name, value in document.items() if isinstance(document, dict) else ():
        if isinstance(value, str):
            with contextlib.suppress(BrokenEntryError):
                decode(name, value)


def answers(document: Any) -> None:
    """Of an API server, whose every answer is this one: its kinds, and a list."""

    async def request(*_: Any, **__: Any) -> Any:
        return SimpleNamespace(status=200, headers={}, json=lambda: document)

    async def read_json(*_: Any, **__: Any) -> Any:
        if not isinstance(document, dict):
            raise GitfedError("no JSON object")
        return {**document, "metadata": {}} if document.get("metadata", {}) else document

    session: Any = SimpleNamespace(request=request, json=read_json, cluster="eu")
    for work in (Discovery(session).refresh(), reflect.read(session, "/api/v1/pods", "")):
        with contextlib.suppress(GitfedError):
            asyncio.run(work)


_OBJECT = {
    "apiVersion": "e.com/v1",
    "kind": "Widget",
    "metadata": {"name": "x", "namespace": "shop"},
    "spec": {"size": 3},
}


def webhook(document: Any) -> None:
    if not isinstance(document, dict):
        return
    for operation in Operation:
        with contextlib.suppress(InterpretError):
            responses.kept(operation, Inputs(_OBJECT, observed=_OBJECT, replicas=2, items=[]), document)


@cache
def _runtime() -> Runtime:
    return Runtime(kube_module.FUNCTIONS)


def lua(case: tuple[str, Any]) -> None:
    text, value = case
    before = json.dumps(value)
    with contextlib.suppress(ScriptError):
        _runtime().call(Request(Script("s", text), "F", (value, value), results=2))
    assert json.dumps(value) == before, "a script changed what it was given"


def material(document: Any) -> None:
    """A kustomization beside a base: what it names is looked up, and nothing outside of the commit is reached."""
    try:
        text = mutate.as_json(document).decode()
    except ValueError:
        return
    files = {"k/kustomization.yaml": text, "base/kustomization.yaml": "resources: [a.yaml]\n", "base/a.yaml": "a: b\n"}
    found = tree(files)
    entries = sorted(found.entries(), key=lambda entry: entry.path)
    layout = kustomize.layout(entries, lambda path: True, found.read, {})
    for root in layout.roots.values():
        assert {file.path for file in root.files} <= files.keys() | {"gitfed.yaml"}


def git_objects(data: bytes) -> None:
    """The bytes of a commit, and the same as a tree."""
    with tempfile.TemporaryDirectory(prefix="gitfed-fuzz-") as folder:
        objects = Objects.create(Path(folder) / "r")
        empty = objects.run("hash-object", "-w", "-t", "tree", "--stdin").decode().strip()
        raw = data.replace(b"TREE", empty.encode())
        for kind in ("commit", "tree"):
            try:
                made = objects.run("hash-object", "-w", "-t", kind, "--literally", "--stdin", feed=raw).decode().strip()
            except subprocess.CalledProcessError:
                continue
            name = made if kind == "commit" else objects.commit(made, ref="refs/heads/other")
            repository = git.Repository(Path(folder) / "r")
            for ask in (repository.info, repository.entries):
                with contextlib.suppress(GitfedError):
                    ask(Commit(name))
            repository.close()


_VALUES = st.recursive(
    st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "a", "é", "100m"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)

TARGETS = {
    "yaml": Target(mutate.texts(_raw("yaml")), yaml_text, 200),
    "json": Target(mutate.texts(_raw("json")), json_text, 200),
    "declared": Target(mutate.documents(_seeds("declared")), commit, 300),
    "definitions": Target(mutate.documents(_seeds("definitions")), commit, 150),
    "objects": Target(mutate.documents(_seeds("objects")), commit, 150),
    "git": Target(mutate.texts(_raw("git")), git_objects, 20),
    "state": Target(mutate.documents(_seeds("state")), state, 300),
    "inventory": Target(mutate.documents(_seeds("inventory")), inventory, 100),
    "answers": Target(mutate.documents(_seeds("answers")), answers, 100),
    "webhook": Target(mutate.documents(_seeds("webhook")), webhook, 200),
    "lua": Target(st.tuples(lua_scripts(), st.dictionaries(st.sampled_from("abc"), _VALUES, max_size=3)), lua, 100),
    "kustomize": Target(mutate.documents(_seeds("kustomize")), material, 100),
}
