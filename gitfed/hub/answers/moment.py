"""Everything that an answer is formed from, as it was at one moment.

`of` is called in the event loop and costs nothing; the rest may be called in a thread. Plans and snapshots never
change; of the daemon's live objects and statuses single ones are looked up while it goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from gitfed.daemon.cycle import Engine
from gitfed.daemon.fleet.pulled.member import PulledMember
from gitfed.hub.answers.plan_index import Index
from gitfed.hub.running import Running
from gitfed.model.agent_identity import AgentName
from gitfed.model.agent_presence import AgentPresence
from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import ClusterFacts, ClusterLive, FleetSnapshot, LiveObject
from gitfed.model.plan import Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.offline import inputs
from gitfed.placement.scheduling import schedule
from gitfed.placement.scheduling.cluster import Candidate
from gitfed.planning import retained_objects
from gitfed.planning.objects import redact, secret_leaks
from gitfed.services.exchange import Seen
from gitfed.text.values import dataclass
from gitfed.views import bindings, clusters


@dataclass(frozen=True)
class Moment:
    repo: RepoSnapshot
    plan: Plan
    decisions: Decisions
    facts: Mapping[ClusterName, ClusterFacts]
    live: Mapping[ClusterName, ClusterLive] | None
    """What is known of each cluster as a whole; None: this process looks into none."""
    results: Mapping[ClusterName, Mapping[str, Any]]
    """What the last roll-out came to, by cluster, as it is recorded."""
    engine: Engine | None
    clone: Path | None
    """A repository that has the state branch."""
    index: Index
    certificates: Callable[[], Mapping[AgentName, datetime]] = dict
    """Of agents: until when they count."""

    @property
    def source(self) -> Path | None:
        """The repository that has the commits, where it is another one."""
        return self.engine.reader.repository.path if self.engine is not None else None

    def status(self, key: ObjectKey) -> bindings.StatusView | None:
        """As the clusters show it now; without an engine as last recorded."""
        if self.engine is not None and (seen := self.engine.statuses.get(key)) is not None:
            return bindings.seen(seen)
        recorded = self.decisions.statuses.get(key)
        return bindings.recorded(recorded) if recorded is not None else None

    def agent(self, cluster: ClusterName) -> AgentPresence | None:
        """None: no agent keeps that cluster, or this process does not lead."""
        member = self.engine.fleet.members.get(cluster) if self.engine is not None else None
        return member.agent.presence if isinstance(member, PulledMember) else None

    def copies(self, key: ObjectKey) -> Mapping[ClusterName, LiveObject]:
        return self.engine.fleet.copies(key) if self.engine is not None else {}

    def why_failed(self, cluster: ClusterName, key: ObjectKey) -> str:
        """What the cluster answered to the last attempt at this object; "" unless it failed."""
        return self.engine.fleet.unfinished.why_failed(cluster, key) if self.engine is not None else ""

    def turn(self, key: ObjectKey) -> schedule.Turn | None:
        """What was asked for a template when its turn came, as `gitfed explain` has it; None: it takes no turns. Plans
        once more, which may take seconds in a large fleet."""
        if not self.plan.wanted(key).terms.divided:
            return None
        return inputs.turn_of(self.repo, FleetSnapshot(self.plan.facts, self.facts), self.decisions, key)

    @property
    def endpoints(self) -> Seen | None:
        """Of the Services that several clusters share, as they are now."""
        return self.engine.fleet.exchange.seen() if self.engine is not None else None

    @cached_property
    def candidates(self) -> list[Candidate]:
        """Every cluster as placement sees it."""
        return clusters.candidates(self.repo, self.facts, self.plan)

    @cached_property
    def hidden(self) -> redact.Hidden:
        """What Secrets hold: nothing that is formed may quote it."""
        return secret_leaks.hidden_of(self.plan)


def of(running: Running, before: Moment | None = None) -> Moment | None:
    """None: nothing was planned yet. What was counted in the plan of the moment `before` is known of the same plan."""
    repo, plan, engine = running.repo, running.plan, running.engine
    if repo is None or plan is None:
        return None
    live = results = None
    if engine is not None:
        live, results = engine.fleet.known(), engine.memory.results
        plan = retained_objects.with_in_use(plan, engine.fleet.unfinished.in_use())
    index = before.index if before is not None and before.plan is plan else Index(plan)
    return Moment(
        repo,
        plan,
        running.decisions,
        running.facts,
        live,
        results or {},
        engine,
        running.clone,
        index,
        running.certificates,
    )
