"""The lead that an agent is given: the term under which it writes into its cluster, and who leads there instead.

A term is given once in this process's life, above the one in the inventory, and again where the process that led in
our place meanwhile has ended, where the agent was still writing down the same term for the process before us, or where
the cluster changed hands in its pool.
"""

from __future__ import annotations

import uuid

from gitfed.agent_protocol import values
from gitfed.daemon.fleet.member_context import MemberContext
from gitfed.daemon.fleet.pulled.connection import AgentConnection
from gitfed.daemon.fleet.pulled.reports import Reports
from gitfed.daemon.fleet.pulled.slice import Slice
from gitfed.model import leader
from gitfed.model.leader import Term


class AgentLead:
    """`give` it whenever the agent tells how its side is."""

    def __init__(self, context: MemberContext, reports: Reports, agent: AgentConnection, told: Slice) -> None:
        self.adopts = context.adopt
        """The inventory is to become ours, whatever it says, and did not yet."""
        self._name = "-".join(filter(None, (context.called, uuid.uuid4().hex)))
        self._repository_id = context.repository_id
        self._reports = reports
        self._agent = agent
        self._slice = told
        self._term: int | None = None
        self._claimed = False
        self._changed_hands = False
        """Another member of its pool holds it than the one that the term was given to."""

    @property
    def is_by_hand(self) -> bool:
        """Whether this process carries out one plan and ends: no agent listens to it."""
        return leader.kind(self._name) == leader.ONE_SHOT

    def claim(self) -> None:
        self._claimed = True
        self.give()

    def change_hands(self) -> None:
        """What the member of the pool before has under way must not count any more: the inventory refuses its term."""
        self._changed_hands = True

    def give(self) -> None:
        """Tell the agent a term, unless it has one that still counts."""
        state = self._reports.state
        if not self._claimed or self._agent.ended or state is None or not state.looked or state.owner is None:
            return
        if self._term is not None and not self._changed_hands:
            mine = state.term < self._term or (state.term == self._term and state.leader == self._name)
            if mine or self.is_replaced:
                return
        self._term = max(state.term, (self._term or 0) if self._changed_hands else 0) + 1
        self._changed_hands = False
        lead = Term(self._repository_id(), self._term, self._name, self.adopts)
        self._slice.tell(lead=lead)
        self._agent.poke()

    def is_taken(self, state: values.AgentState) -> bool:
        """Whether the agent writes under the term that it was given."""
        return self._term is not None and state.led == self._term and state.leader == self._name

    def adopted(self) -> None:
        """The agent adopted the inventory: one that begins anew does not do it again."""
        if self.adopts and self._term is not None:
            self.adopts = False
            self._slice.tell(lead=Term(self._repository_id(), self._term, self._name))
            self._agent.poke()

    @property
    def is_replaced(self) -> bool:
        """Whether the agent took a higher term from a process that has not ended: it takes nothing of ours any more."""
        state = self._reports.state
        if state is None or self._term is None:
            return False
        return state.term > self._term and not leader.is_done(state.leader)
