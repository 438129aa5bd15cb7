"""What the agent of one cluster is told: the part of a plan that concerns it, as values of the protocol.

A body is told once, by its digest, however many changes name it, and goes when none does.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

from gitfed.agent_protocol import replica, values
from gitfed.agent_protocol.replica import Told
from gitfed.agent_protocol.values import Setup, Task, Wanted
from gitfed.daemon.fleet.member_protocol import Expected
from gitfed.interpret import conditions, native
from gitfed.interpret.registry import DEFAULT, Interpreter, Operation
from gitfed.model.base import Body, ClusterName, ObjectKey, Origin
from gitfed.model.fleet import InventoryEntry
from gitfed.model.plan import Binding, Change, RenderedManifest

_HERE = frozenset({native.NAME, conditions.NAME, DEFAULT})
"""Sources of rules that an agent has too."""
_ASKED = (Operation.RETAIN, Operation.HEALTH, Operation.STATUS)


class _Text:
    """A body as it is told; unlike bytes it can be referred to weakly."""

    __slots__ = ("__weakref__", "content")

    def __init__(self, content: bytes) -> None:
        self.content = content


_TEXTS: WeakValueDictionary[str, _Text] = WeakValueDictionary()
"""By digest, as long as a slice names it: a thousand clusters with the same object hold, and made, one copy."""


def _shared(digest: str, body: Body) -> _Text:
    text = _TEXTS.get(digest)
    if text is None:
        text = _TEXTS[digest] = _Text(replica.text_of(body))
    return text


_Made: TypeAlias = tuple[bool, bool, bool, bool | None]
"""What is said of an object beside its manifest: stateful, overwrite, repair, and whether the list sees to it."""
_TASKS_A_SECOND = 20
"""In bits: more than any slice gives in its life, so that none comes to the numbers of the next."""
_MOST_SHARED = 1 << 14
"""Values that are encoded and held once, while that many others are."""


@lru_cache
def _made(stateful: bool, overwrite: bool, repaired: bool, unlike: bool | None) -> _Made:
    """The same tuple for each copy of the fleet that is told of alike."""
    return stateful, overwrite, repaired, unlike


@lru_cache(_MOST_SHARED)
def _wanted_text(digest: str, binding: str, replicas: int | None, origin: Origin, made: _Made) -> bytes:
    stateful, overwrite, repaired, unlike = made
    by_agent, once_written = repaired and unlike is None, repaired and bool(unlike)
    wanted = Wanted(digest, binding, replicas, origin, stateful, overwrite, by_agent, once_written)
    return replica.text_of(values.WANTED.json(wanted))


def _shared_task(task: Task) -> tuple[Task, bytes]:
    """The task, and as it is told. Where no cluster has the object yet, many are told the same."""
    return _alike(task) if task.seen is None else (task, replica.text_of(values.TASKS.json(task)))


@lru_cache(_MOST_SHARED)
def _alike(task: Task) -> tuple[Task, bytes]:
    return task, replica.text_of(values.TASKS.json(task))


class Slice:
    """`told` is what is said; `setup` is said with `tell`."""

    def __init__(self, cluster: ClusterName, federation: str) -> None:
        self.told = Told(whole=False, at_once=(values.SETUP, values.SHARING))
        # An agent remembers the numbers of the hub before this one, or of this slice's forerunner, and knows lists and
        # tasks by number alone. Slices that are made in the same second give the same numbers: what they tell alike is
        # held once.
        self._number = int(time.time()) << _TASKS_A_SECOND
        self.setup = Setup(federation, list=self._number)
        self.tasks: dict[ObjectKey, tuple[Task, Change]] = {}
        """The present list."""
        self.too_large: dict[ObjectKey, tuple[Change, int]] = {}
        """What the list lacks since no agent can be told of it: with the bytes of its body."""
        self._cluster = cluster
        self._wanted: dict[ObjectKey, RenderedManifest] = {}
        self._made_of: dict[ObjectKey, _Made] = {}
        self._unlike: Mapping[ObjectKey, bool] = {}
        """As the plan had it that was followed last."""
        self._followed = False
        self._texts: dict[str, _Text] = {}
        """Of the bodies, by digest."""
        self._bodies: dict[str, int] = {}
        """By digest: how many values name it."""
        self._named: dict[str, tuple[str, ...]] = {}
        """By key of a value: the digests that it names."""
        self._taught: tuple[Interpreter | None, frozenset[tuple[str, str]]] = (None, frozenset())
        """The rules that stand in the setup, and of which kinds."""
        self._listed: dict[str, set[str]] = {}
        """Keys of the values that stand beside the list, by what they are."""
        self.tell()

    def tell(self, **changes: Any) -> bool:
        before, self.setup = self.setup, replace(self.setup, **changes)
        if self.setup == before and values.SETUP in self.told:
            return False  # every plan says it again to every cluster
        return self.told.put(values.SETUP, values.SETUPS.json(self.setup))

    # -- what should be there -----------------------------------------------------------------------------------

    def follow(self, expected: Expected) -> None:
        """Everything that should be in this cluster by the newest plan."""
        manifests = expected.manifests.get(self._cluster, {})
        unlike = expected.unlike.get(self._cluster, {})
        for key in self._to_look_at(expected, manifests, unlike):
            rendered = manifests.get(key)
            if rendered is None:
                self._want_no_more(key)
            else:
                self._want(key, rendered, expected, unlike.get(key))
        self._unlike, self._followed = unlike, True
        self._teach(expected.versions, expected.interpreter)
        self.tell(kinds=tuple(sorted(expected.kinds)))
        if expected.heard_of is None or self._cluster in expected.heard_of:
            # Until now an agent that was here before this process keeps what it has: a plan that is made before it is
            # heard of leaves each of its objects alone, and the next one wants them as they were.
            self.told.complete()

    def _to_look_at(
        self, expected: Expected, manifests: Mapping[ObjectKey, Any], unlike: Mapping[ObjectKey, bool]
    ) -> Iterable[ObjectKey]:
        """Of what this plan may want another thing than the one before: all copies of a fleet are too many to look at
        for each plan."""
        wanted = self._wanted.keys()
        if expected.news is None or not self._followed:
            return sorted(manifests.keys() | wanted)
        before, news = self._unlike, expected.news
        moved = {key for key in unlike.keys() | before.keys() if unlike.get(key) != before.get(key)}
        return sorted((moved & manifests.keys()) | (manifests.keys() & news) | (wanted & news))

    def _want_no_more(self, key: ObjectKey) -> None:
        self._forget(values.of(values.OBJECT, key))
        self.told.drop(values.of(values.VERDICT, key))
        self._wanted.pop(key, None)
        self._made_of.pop(key, None)

    def _want(self, key: ObjectKey, rendered: RenderedManifest, expected: Expected, unlike: bool | None) -> None:
        binding = expected.plan.bindings.get(key)
        repaired = binding is not None and _is_written(binding, self._cluster) and expected.repairs(self._cluster, key)
        overwrite = binding is not None and binding.terms.overwrite
        made = _made(key in expected.stateful, overwrite, repaired, unlike)
        if self._made_of.get(key) == made and self._wanted.get(key) is rendered:
            return
        self._wanted[key], self._made_of[key] = rendered, made
        text = _wanted_text(rendered.digest, rendered.binding, rendered.replicas, rendered.origin, made)
        # One that is too large is not kept as it should be by the agent alone; why, its change says.
        self._say(values.of(values.OBJECT, key), text, {rendered.digest: rendered.body})

    def _teach(self, versions: frozenset[tuple[str, str]], interpreter: Interpreter) -> None:
        """The rules of these kinds that do not come with every program."""
        if self._taught[0] is interpreter and self._taught[1] == versions:
            return
        self._taught = (interpreter, versions)
        rules: list[values.Rule] = []
        texts: dict[str, str] = {}
        for api_version, kind in sorted(versions):
            body = {"apiVersion": api_version, "kind": kind}
            for operation in _ASKED:
                source = interpreter.source(body, operation)
                if source in _HERE:
                    continue
                scripts = [(values.ScriptAt.of(script), script.text) for script in interpreter.scripts(body, operation)]
                texts.update((f"{values.SCRIPT}{at.digest}", text) for at, text in scripts)
                rules.append(values.Rule(api_version, kind, operation.value, source, tuple(at for at, _ in scripts)))
        for name in [name for name in self.told if name.startswith(values.SCRIPT) and name not in texts]:
            self.told.drop(name)
        for name, text in texts.items():
            self.told.put(name, text)
        self.tell(rules=tuple(rules))

    # -- what is to be done -------------------------------------------------------------------------------------

    def submit(
        self,
        changes: Iterable[Change],
        urgent: Collection[ObjectKey],
        done: Mapping[ObjectKey, int],
        entries: Iterable[InventoryEntry],
        forget: Iterable[ObjectKey],
        *,
        behind: bool = False,
    ) -> None:
        """The list. `done`: the task of each object that the agent is through with; asked for again, it is another.
        `behind`: what came of them was not told of all yet, so a plan may ask again for what is there."""
        before, self.tasks = self.tasks, {}
        self.too_large = {}
        news = False
        for change in changes:
            old = before.get(change.key)
            is_open = old is not None and done.get(change.key) != old[0].id
            is_urgent = change.key in urgent or (old is not None and is_open and old[0].urgent)
            if old is not None and is_open and old[1] is change and old[0].urgent == is_urgent:
                self.tasks[change.key] = old  # while a roll-out goes on, each plan asks for most of it once more
                continue
            task = Task.of(change, number=old[0].id if old else 0, urgent=is_urgent)
            if behind and old is not None and not is_open and _is_same(task, old[0]):
                self.tasks[change.key] = old
                continue
            fresh = old is None or task != old[0] or not is_open
            if fresh:
                task = replace(task, id=self._number + 1)
            bodies: dict[str, Body] = {}
            if change.write.rendered is not None:
                bodies[change.write.rendered.digest] = change.write.rendered.body
            if change.write.body is not None:
                bodies[task.body] = change.write.body
            task, text = _shared_task(task)
            if size := self._say(values.of(values.CHANGE, change.key), text, bodies):
                self.too_large[change.key] = change, size
                news |= old is not None
                continue
            self._number = max(self._number, task.id)
            news |= fresh
            self.tasks[change.key] = (task, change)
        for key in before.keys() - self.tasks.keys():
            self._forget(values.of(values.CHANGE, key))
            news = True
        news |= self._replace(values.ENTRY, {entry.key: values.ENTRIES.json(entry) for entry in entries})
        news |= self._replace(values.FORGET, dict.fromkeys(forget, True))
        if news:
            self.tell(list=self.setup.list + 1)

    def _replace(self, what: str, listed: Mapping[ObjectKey, Any]) -> bool:
        present = {values.of(what, key): value for key, value in listed.items()}
        gone = self._listed.get(what, set()) - present.keys()
        self._listed[what] = set(present)
        for key in gone:
            self.told.drop(key)
        news = [key for key, value in present.items() if self.told.put(key, value)]
        return bool(news or gone)

    # -- values and their bodies --------------------------------------------------------------------------------

    def _say(self, key: str, text: bytes, bodies: Mapping[str, Body]) -> int:
        """0; or the bytes of a body that no agent can be told of: then nothing is said of this key."""
        texts = {digest: self._texts.get(digest) or _shared(digest, body) for digest, body in bodies.items()}
        for digest, body_text in texts.items():
            if not replica.fits(f"{values.BODY}{digest}", body_text.content):
                self._forget(key)
                return len(body_text.content)
        for digest, body_text in texts.items():
            if not self._bodies.get(digest):
                self._texts[digest] = body_text
                self.told.put_text(f"{values.BODY}{digest}", body_text.content)
            self._bodies[digest] = self._bodies.get(digest, 0) + 1
        self._release(key)
        self._named[key] = tuple(bodies)
        self.told.put_text(key, text)
        return 0

    def _forget(self, key: str) -> None:
        self._release(key)
        self.told.drop(key)

    def _release(self, key: str) -> None:
        for digest in self._named.pop(key, ()):
            self._bodies[digest] -= 1
            if not self._bodies[digest]:
                del self._bodies[digest], self._texts[digest]
                self.told.drop(f"{values.BODY}{digest}")


def _is_same(task: Task, before: Task) -> bool:
    """Whether it is the same order, whatever was known of the object when it was given."""
    return replace(task, seen=before.seen, urgent=before.urgent) == before


def _is_written(binding: Binding, cluster: ClusterName) -> bool:
    suspended = binding.terms.suspended is None or cluster in binding.terms.suspended
    return not (suspended or binding.held or binding.awaits_deletion)
