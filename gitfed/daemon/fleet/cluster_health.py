"""What one member believes of its cluster: is it ready, what does it serve, how much room has it.

Looks come in (`edges.kube.facts`), and the room that was measured (`measure`); what they say as far as it is to be
believed (`placement.recorded_facts`) is published here, and the daemon is woken when something of it would be written
down. When to look again follows from that too: while the cluster is in doubt, when the doubt is over. The member looks.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable
from dataclasses import field, replace
from datetime import datetime

from gitfed.daemon.fleet.capacity_probe import Measure
from gitfed.edges.kube import capacity
from gitfed.edges.kube.facts import LONGEST
from gitfed.model.capacity import Model
from gitfed.model.fleet import ClusterFacts, Reach
from gitfed.placement import recorded_facts as beliefs
from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True)
class Timing:
    """Karmada's defaults (cluster status collection)."""

    probe: float = 10.0
    """Seconds between two looks at a cluster's health, and at its room where that changed."""
    thresholds: beliefs.Thresholds = field(default_factory=beliefs.Thresholds)


class Vitals:
    """`remembered`: facts of an earlier process; what of them cannot be read anew stays. `wake` is called when facts
    changed so far that it would be written down."""

    def __init__(
        self,
        remembered: ClusterFacts,
        timing: Timing,
        *,
        models: Callable[[], Iterable[Model]],
        now: Callable[[], datetime],
        wake: Callable[[], None],
    ) -> None:
        self.facts = replace(remembered, reach=Reach.UNKNOWN)
        """What is believed."""
        self.measure = Measure(
            interval=timing.probe,
            models=models,
            usable=lambda: self.facts.reach is Reach.READY,
            remembered=self._known_room,
            publish=self._publish,
        )
        self._timing = timing
        self._now = now
        self._wake = wake
        self._belief: beliefs.Belief | None = None
        self._told: ClusterFacts | None = None
        """The facts that the daemon was last woken for."""

    @property
    def in_doubt(self) -> bool:
        """Whether the last look showed the opposite of what is believed."""
        return self._belief is not None and self._belief.contrary_since is not None

    def take(self, observed: ClusterFacts) -> None:
        """What a look showed that ended now."""
        self._belief = beliefs.believe(observed, self._belief, _time(), self._timing.thresholds)
        self._publish()

    def next_look(self) -> float:
        """Seconds until the cluster should be looked at again."""
        interval = self._timing.probe * random.uniform(0.9, 1.1)
        return beliefs.next_look(
            self._belief, _time(), every=interval, longest=LONGEST, thresholds=self._timing.thresholds
        )

    def _known_room(self) -> capacity.CapacityReading:
        return capacity.CapacityReading(
            self.facts.resource_summary, self.facts.nodes, capacity.NOT_READ, self.facts.quotas
        )

    def _publish(self) -> None:
        if self._belief is None:
            return
        if self.measure.wanted:
            room = self.measure.room or self._known_room()
            facts = capacity.told(self._belief.facts, room, before=self.facts, now=self._now())
        else:
            facts = capacity.untold(self._belief.facts)
        if facts == self.facts:
            return
        self.facts = facts
        # Pods come and go everywhere and always: only what would be written down is worth a cycle.
        if self._told is None or beliefs.is_urgent(self._told, facts) or beliefs.has_moved(self._told, facts):
            self._told = facts
            self._wake()


def _time() -> float:
    """Of a clock that does not go back."""
    return asyncio.get_running_loop().time()
