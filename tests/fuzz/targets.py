"""What is done with an input: what gitfed would do with it, and what must hold whatever the input was."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hypothesis import strategies as st

from gitfed.documents import bindings, evictions, facts, records, requirements, targets
from gitfed.edges import git
from gitfed.edges.backoff import Backoff
from gitfed.edges.kube import capacity, observe, reflect
from gitfed.edges.kube import inventory as inventory_of
from gitfed.edges.kube.discovery import Discovery, Resource
from gitfed.edges.kube.inventory_format import BrokenEntryError, decode
from gitfed.edges.kube.object_cache import Assessment
from gitfed.edges.lua.request import Request, ScriptError
from gitfed.edges.lua.runtime import Runtime
from gitfed.errors import ClusterError, GitfedError
from gitfed.interpret import kube_module, responses
from gitfed.interpret.registry import InterpretError, Operation, OperationInputs
from gitfed.model import operator_orders
from gitfed.model.base import Commit, Kind, Severity
from gitfed.model.fleet import Health
from gitfed.model.script import Script
from gitfed.source import kustomize
from gitfed.source import repo as source
from gitfed.source.read_cache import ReadCache
from gitfed.text import yaml
from tests.e2e.world import config_map, policy
from tests.edges.lua_scripts import scripts as lua_scripts
from tests.fuzz import mutate
from tests.planning.stage import Stage
from tests.safety.hostile_scripts import planned
from tests.safety.objects import Objects
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


def _seed(name: str) -> Any:
    return json.loads((CORPUS / "mistakes" / f"{name}.json").read_text("utf-8"))


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
    repo = source.read(tree({**good, "changed.json": text}), memory=ReadCache())
    planned(repo)
    assert any(key.name == "unchanged" for key in repo.manifests)


def state(document: Any) -> None:
    for read in (bindings.from_document, facts.from_document, records.record_of, evictions.read, requirements.read,
                 targets.shares, operator_orders.suspensions, operator_orders.removals):  # fmt: skip
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


class _Watched:
    """A session to a server that lists nothing and then tells these events; `follow` ends with them."""

    cluster = "eu"

    def __init__(self, events: list[bytes]) -> None:
        self._events: list[bytes] | None = events

    async def json(self, *_: Any, **__: Any) -> Any:
        return {"kind": "List", "metadata": {"resourceVersion": "1"}, "items": []}

    @contextlib.asynccontextmanager
    async def lines(self, *_: Any, **__: Any) -> AsyncIterator[AsyncIterator[bytes]]:
        events, self._events = self._events, None
        if events is None:
            raise asyncio.CancelledError

        async def told() -> AsyncIterator[bytes]:
            for event in events:
                yield event

        yield told()


_POD = Kind("", "Pod")
_WELL = Assessment(None, Health.CURRENT, "")


def events(document: Any) -> None:
    """Of a watch, told to everything that follows one: none of it ends anything, and what is said of it is short."""
    try:
        lines = [mutate.as_json(event) for event in (document if isinstance(document, list) else [document])]
    except ValueError:
        return
    lost: list[GitfedError] = []

    async def followed() -> None:
        session: Any = _Watched(lines)
        room = capacity.Watch(session)
        held = inventory_of.Inventory(session, federation="default")
        callbacks = observe.ObserverCallbacks(lambda *_: _WELL, lambda *_: None)
        seen = observe.Observer(session, Discovery(session), held, callbacks)
        seen._wanted[_POD] = None
        resource = Resource("v1", "Pod", "pods", namespaced=True)
        followers: list[Any] = [
            capacity._Nodes(room), capacity._Pods(room), capacity._Quotas(room), inventory_of._Followed(held),
            observe._Followed(seen, _POD, resource),
        ]  # fmt: skip
        for follower in followers:
            session._events = lines
            told = SimpleNamespace(
                listed=follower.listed, event=follower.event, resumed=follower.resumed, lost=lost.append
            )
            with contextlib.suppress(asyncio.CancelledError):
                pods = reflect.Collection("/api/v1/pods", project=getattr(follower, "cut", None))
                await reflect.follow(session, pods, told, wake=reflect.Wake(), backoff=Backoff((0.0,)))

    asyncio.run(followed())
    assert all(isinstance(error, ClusterError) and len(str(error)) < 2000 for error in lost)


def _is_another(document: Any, original: Any) -> bool:
    """What it says of itself differs; where it is silent it may be the same, but for the namespace, which has a
    default."""
    if not isinstance(document, dict):
        return False
    told = [(document.get(member), original[member]) for member in ("apiVersion", "kind")]
    metadata, known = document.get("metadata"), original["metadata"]
    if isinstance(metadata, dict):
        space = metadata.get("namespace") or ("default" if "namespace" in known else None)
        told += [(metadata.get("name"), known["name"]), (space, known.get("namespace"))]
    return any(isinstance(said, str) and said and said != meant for said, meant in told)


_KINDS = (("v1", "ConfigMap"),)
_PLACES = {"web.json": "web", "policy.json": "policy", "clusters/m2.json": "cluster", "config.json": "config"}


def mistakes(case: tuple[str, Any, bool]) -> None:
    """A document comes beside others, or takes the place of one: where it is an error, nothing is deleted. If nobody
    can tell what stood there before, it says that itself, unless it says to be another one."""
    path, document, known = case
    try:
        text = mutate.as_json(document).decode()
    except ValueError:
        return
    one = Stage(2, {"config.json": config_map("config", {"a": "b"}), "all.json": policy("all", ["m1", "m2"], _KINDS)})
    one.turn(2)
    before = {key: set(copies) for key, copies in one.objects.items()}
    assert len(before) > 1
    one.may_be_broken = True
    if path in one.files and not known and _is_another(document, json.loads(one.files[path])):
        return
    one.good, one.forgotten = dict(one.files), not known
    one.files[path] = text
    plan = one.turn(2)
    if any(problem.severity is Severity.ERROR and problem.origin.path == path for problem in plan.problems):
        after = {key: set(copies) for key, copies in one.objects.items()}
        assert all(copies <= after[key] for key, copies in before.items()), [str(each) for each in plan.problems]


def webhook(document: Any) -> None:
    if not isinstance(document, dict):
        return
    for operation in Operation:
        with contextlib.suppress(InterpretError):
            responses.kept(operation, OperationInputs(_OBJECT, observed=_OBJECT, replicas=2, items=[]), document)


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
    "events": Target(mutate.documents(_seeds("events")), events, 100),
    "mistakes": Target(
        st.tuples(st.just("new.json"), mutate.documents(_seeds("declared") + _seeds("objects")), st.just(True))
        | st.one_of(
            *(
                st.tuples(st.just(path), mutate.documents([_seed(name)]), st.booleans())
                for path, name in _PLACES.items()
            )
        ),
        mistakes,
        60,
    ),
    "webhook": Target(mutate.documents(_seeds("webhook")), webhook, 200),
    "lua": Target(st.tuples(lua_scripts(), st.dictionaries(st.sampled_from("abc"), _VALUES, max_size=3)), lua, 100),
    "kustomize": Target(mutate.documents(_seeds("kustomize")), material, 100),
}


SECONDS = 20
