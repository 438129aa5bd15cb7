"""What is to be done in the cluster: the hub's list of changes, and repairs that the agent makes by itself."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from gitfed import errors
from gitfed.agent.reporter import Reporter
from gitfed.agent_protocol import values
from gitfed.agent_protocol.values import Task
from gitfed.daemon.fleet.member import Member
from gitfed.daemon.fleet.worker import Worker
from gitfed.model.base import Body, ClusterName, ObjectKey
from gitfed.model.fleet import ApplyResult
from gitfed.model.plan import Change

_WRITTEN = ("created", "configured")


class WorkList:
    """One for the life of the process. What becomes of a change is told by `reporter`."""

    def __init__(self, cluster: ClusterName, reporter: Reporter) -> None:
        self.number = 0
        """Of the hub's list that is worked on."""
        self.tasks: dict[ObjectKey, Task] = {}
        """The whole list."""
        self.open: dict[ObjectKey, Change] = {}
        """Its changes that are not done."""
        self.repairs: dict[ObjectKey, Change] = {}
        """Those that the agent makes by itself and that are not done."""
        self.repaired = 0
        """How many of them were."""
        self._cluster = cluster
        self._reporter = reporter
        self._told: dict[ObjectKey, Any] = {}
        """What the tasks were made of: the hub's word."""
        self._tried: set[ObjectKey] = set()
        """Of which open changes there was a result, and they are tried again."""
        self._written: dict[ObjectKey, str] = {}
        """Digests that lists had written."""

    def begin_anew(self) -> None:
        """The member is another one: it has no list yet."""
        self.number = 0

    def take(
        self,
        number: int,
        heard: Mapping[str, Any],
        member: Member,
        wanted: Collection[ObjectKey],
        body: Callable[[str], Body],
    ) -> None:
        """The hub's present list: what is not in it is not to be done any more. `wanted`: what should be there; `body`
        finds one by its digest. Raises LinkError."""
        before, self.tasks = self.tasks, {}
        told_before, self._told = self._told, _of(heard, values.CHANGE)
        open_before, self.open = self.open, {}
        self.repairs.clear()
        for key, value in self._told.items():
            old = before.get(key)
            if old is not None and told_before[key] is value:
                task = old  # while a roll-out goes on, each list has most of the one before
            else:
                task = task_of(key, value)
            self.tasks[key] = task
            if old == task and key in open_before:
                self.open[key] = open_before[key]
            elif old != task:
                self._tried.discard(key)
                bodies = {digest: body(digest) for digest in task.bodies}
                self.open[key] = task.change(self._cluster, bodies, member.view.get(key))
        entries = [values.ENTRIES.read(value) for value in _of(heard, values.ENTRY).values()]
        self.number = number
        self._tried &= self.open.keys()
        self._reporter.keep_only(set(self.tasks))
        self._written = {key: digest for key, digest in self._written.items() if key in wanted}
        if member.worker is not None:
            self._submit(member.worker, entries, list(_of(heard, values.FORGET)))
            member.worker.release()

    def repair(self, repairs: dict[ObjectKey, Change], worker: Worker) -> None:
        """These are the repairs now."""
        before = self.repairs
        if repairs.keys() != before.keys() or any(
            change.write.rendered is not before[key].write.rendered for key, change in repairs.items()
        ):
            self.repairs = repairs
            self._submit(worker)

    def _submit(self, worker: Worker, entries: Any = (), forget: Any = ()) -> None:
        urgent = {key for key, task in self.tasks.items() if task.urgent and key in self.open}
        changes = [*self.open.values(), *(change for key, change in self.repairs.items() if key not in self.open)]
        worker.submit(changes, urgent, entries, forget)
        for key in [key for key in self.open if not worker.has(key)]:
            # A plan from before our own write was seen: it was dropped, and there is nothing to do.
            change = self.open.pop(key)
            self._reporter.finished(key, self.tasks[key].id, change.action, None)

    def finished(self, change: Change, result: ApplyResult, *, left: bool) -> None:
        """`left`: it is tried again."""
        key = change.key
        task, own = self.tasks.get(key), key in self.repairs
        if left:
            self._tried.add(key)
        else:
            self.open.pop(key, None)
            self.repairs.pop(key, None)
        if own and result.outcome in _WRITTEN:
            self.repaired += 1
        elif task is not None and task.manifest is not None and not left and result.outcome in (*_WRITTEN, "unchanged"):
            self._written[key] = task.manifest.digest
        number = task.id if task is not None else 0
        self._reporter.finished(key, number, change.action, result, left=left, drift=change.drift)

    def begins(self, key: ObjectKey) -> bool:
        """Whether its change in the list had no result yet."""
        return key in self.open and key not in self._tried

    def has_written(self, key: ObjectKey, digest: str) -> bool:
        """Whether a list wrote this very version."""
        return self._written.get(key) == digest


def task_of(key: ObjectKey, value: Any) -> Task:
    """Raises LinkError."""
    task = values.TASKS.read(value)
    if task.key != key:
        raise errors.LinkError(f"the change of {key} is one of {task.key}")
    return task


def _of(heard: Mapping[str, Any], what: str) -> dict[ObjectKey, Any]:
    return {values.key_in(name): value for name, value in heard.items() if name.startswith(what)}
