"""Eviction tasks of a binding as they stand on the state branch, and what is wrong with them.

A person may edit them, and another program may have written them. What cannot be read counts as absent, so that a task
is kept rather than ended, and an old copy stays rather than goes; but it is said. Karmada: failover §2.5: one cluster
has one task, and a duration of its own excludes that the deletion is suppressed.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from gitfed.model.base import Body
from gitfed.model.decisions import EvictionTask

_MODES = ("Directly", "Gracefully", "Never", "Immediately", "Graciously")
_FIELD = "spec.gracefulEvictionTasks"


def read(tasks: object) -> tuple[EvictionTask, ...]:
    """The tasks that can be used: those with a cluster, the first of each."""
    by_cluster: dict[str, EvictionTask] = {}
    for task in tasks if isinstance(tasks, list) else []:
        if isinstance(task, Mapping) and isinstance(name := task.get("fromCluster"), str) and name:
            by_cluster.setdefault(name, EvictionTask(name, task))
    return tuple(by_cluster.values())


def complaints(document: Body) -> Iterator[str]:
    """What a binding's tasks say that is not acted upon, each as `where: what`."""
    spec = document.get("spec")
    tasks = spec.get("gracefulEvictionTasks") if isinstance(spec, Mapping) else None
    if tasks is None:
        return
    if not isinstance(tasks, list):
        yield f"{_FIELD}: not a list: there is no task"
        return
    seen: set[str] = set()
    for index, task in enumerate(tasks):
        where = f"{_FIELD}[{index}]"
        if not isinstance(task, Mapping):
            yield f"{where}: not an object: no task"
            continue
        name = task.get("fromCluster")
        if not isinstance(name, str) or not name:
            yield f"{where}.fromCluster: missing: no task"
            continue
        if name in seen:
            yield f"{where}.fromCluster: {name} has a task already: the first counts"
            continue
        seen.add(name)
        yield from _of_one(where, task)


def _of_one(where: str, task: Mapping[str, Any]) -> Iterator[str]:
    read = EvictionTask("", task)
    mode = task.get("purgeMode")
    if mode is not None and mode not in _MODES:
        close = difflib.get_close_matches(str(mode), _MODES, 1)
        guess = f", did you mean {close[0]}?" if close else ""
        yield f"{where}.purgeMode: unknown mode {str(mode)[:40]}: Gracefully counts{guess}"
    if task.get("creationTimestamp") is not None and read.created is None:
        yield f"{where}.creationTimestamp: no time: it begins now"
    if task.get("gracePeriodSeconds") is not None and read.grace is None:
        yield f"{where}.gracePeriodSeconds: not a number of seconds: failover.gracefulEvictionTimeout counts"
    if task.get("suppressDeletion") is not None and read.suppress_deletion is None:
        yield f"{where}.suppressDeletion: neither true nor false: nothing is suppressed"
    elif read.suppress_deletion is not None and read.grace is not None:
        yield f"{where}: gracePeriodSeconds means nothing beside suppressDeletion"
