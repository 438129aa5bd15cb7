"""Whether the agent of a cluster is connected, and how many changes of its slice it has."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True)
class Holding:
    """The Lease by which a member of a pool keeps a cluster."""

    member: str = ""
    """The member as the Lease names it; "" for the cluster's own agent."""
    number: int = 0
    """How often the Lease had changed hands when the member got it: the highest number holds it now."""


BY_ITSELF = Holding()
"""A cluster's own agent."""


@dataclass(frozen=True, slots=True)
class AgentPresence:
    """As one process of the hub knows it; times are of its clock."""

    connected: datetime | None = None
    """When the present connection was made; None: not connected."""
    heard: datetime | None = None
    """The last sign of life."""
    connections: int = 0
    """How many there have been."""
    instance: str = ""
    """Which process of an agent is connected, or was last."""
    program: str = ""
    """Name and version of the program, as it says them: `gitfed 1.2.3`."""
    protocol: int | None = None
    """The version that both sides agreed upon."""
    wanted: int = 0
    """How often the cluster's slice was changed."""
    held: int = 0
    """How many of these changes the agent has acknowledged."""
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
