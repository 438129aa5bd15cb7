"""Whether the agent of a cluster is connected, and what it has of what it is to know."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Holding:
    """By which right a member of a pool keeps a cluster."""

    member: str = ""
    """What the Lease calls it; "": it is no pool's, but the cluster's own agent."""
    number: int = 0
    """How often the Lease had changed hands when it got it: who has the higher one holds it now."""


BY_ITSELF = Holding()
"""A cluster's own agent."""


@dataclass(frozen=True, slots=True)
class AgentPresence:
    """As one process of the hub knows it; times are of its clock."""

    connected: datetime | None = None
    """Since when the connection is there; None: there is none."""
    heard: datetime | None = None
    """The last sign of life."""
    connections: int = 0
    """That there were."""
    instance: str = ""
    """Which process of an agent is connected, or was last."""
    program: str = ""
    """As that names itself, `gitfed 1.2.3`."""
    protocol: int | None = None
    """The version that both sides agreed upon."""
    wanted: int = 0
    """How often the cluster's slice was changed."""
    held: int = 0
    """Up to which of these changes the agent has all, as it acknowledged last."""
    holding: Holding = BY_ITSELF

    def connected_now(
        self, now: datetime, instance: str, program: str, protocol: int | None, holding: Holding = BY_ITSELF
    ) -> AgentPresence:
        return replace(
            self,
            connected=now,
            heard=now,
            connections=self.connections + 1,
            instance=instance,
            program=program,
            protocol=protocol,
            holding=holding,
        )
