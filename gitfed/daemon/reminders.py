"""What waits for a person, said aloud: at once, again after a restart, and every hour for as long as it waits.

A line that was logged once is scrolled away when a person looks; the fleet then differs from Git, and nothing says so.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gitfed.model.plan import Left, Plan

log = logging.getLogger("gitfed.held")
gates = logging.getLogger("gitfed.held.gates")

_AGAIN = 3600.0
"""Seconds until the same is said again."""


class Reminders:
    """Of one process; `tell` it every plan that was recorded."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._said: dict[tuple[str, str], tuple[Mapping[str, Any], float]] = {}

    def tell(self, plan: Plan) -> None:
        now = self._clock()
        waiting = dict(_waiting(plan))
        for what, keys in waiting.items():
            told = self._said.get(what)
            if told is None or _essence(told[0]) != _essence(keys) or now - told[1] >= _AGAIN:
                (gates if "gate" in keys else log).warning(what[0], extra=dict(keys))
                self._said[what] = (keys, now)
        for what in [what for what in self._said if what not in waiting]:
            del self._said[what]
            log.info("held no longer", extra={"what": what[1]})


def _waiting(plan: Plan) -> Iterator[tuple[tuple[str, str], Mapping[str, Any]]]:
    """((message, which), keys)"""
    clusters: dict[str, set[str]] = {}
    for change in plan.changes or ():
        if change.left is Left.GATE:
            clusters.setdefault(change.gate, set()).add(change.cluster)
    for gate in plan.gates:
        if gate.held:
            yield (
                ("changes held by a gate", f"gate {gate.name}"),
                {
                    "gate": gate.name,
                    "value": gate.value,
                    "limit": gate.limit,
                    "held": gate.held,
                    "clusters": sorted(clusters.get(gate.name, ())),
                    "commit": plan.commit[:12],
                    "what": _what_to_do(plan, consent=gate.consent),
                },
            )
    for key, binding in plan.bindings.items():
        if binding.keeps:
            yield ("workload is not decided any more", str(key)), {"object": str(key), "reason": binding.keeps}


def _essence(keys: Mapping[str, Any]) -> Mapping[str, Any]:
    """What makes it another thing to say: the digest in the advice is another one with every repair elsewhere."""
    return {name: value for name, value in keys.items() if name not in ("what", "clusters")}


def _what_to_do(plan: Plan, *, consent: bool) -> str:
    if not consent:
        return "raise the quota, or ask for less"
    return f"look at gitfed plan --live, then revert the commit or let it through: gitfed apply --confirm {plan.digest}"
