"""★ One cycle: fetch → observe → decide → record → hand over.

One engine for `gitfed run`, `gitfed apply` and `gitfed demo`. `daemon.loop` says when a cycle begins: it is woken by a
push, by something seen in a cluster, by a cluster coming or going, or by the clock; whatever woke it, one cycle looks
at the present state of everything and hands every cluster its present list of changes. What changed is all that a cycle
costs: parsed files, placed templates and rendered manifests are remembered (`planning.build.Memo`), and an unchanged
object is not even compared.

The roll-out itself goes on in the clusters' workers while the loop sleeps or turns again; a cycle never waits for a
cluster. What a cycle decided is committed *before* it is handed over, and pushed: what was decided anew waits for that
(`daemon.push_queue`), nothing else does.

Which commit is in force is `daemon.commits`' answer; what is remembered and written down is in `daemon.state_store`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from gitfed import errors
from gitfed.daemon import left_alone, trouble
from gitfed.daemon.autoscaling.rounds import Rounds
from gitfed.daemon.commits import Commits
from gitfed.daemon.cycle_report import CycleReport
from gitfed.daemon.descheduler import Descheduler
from gitfed.daemon.fleet.fleet import Fleet
from gitfed.daemon.fleet.look_for import look_for
from gitfed.daemon.fleet.members import MemberOptions
from gitfed.daemon.planner import MakeInterpreter, Planner
from gitfed.daemon.push_queue import Records, Sending
from gitfed.daemon.reminders import Reminders
from gitfed.daemon.state_store import StateStore
from gitfed.daemon.statuses import Statuses
from gitfed.daemon.telemetry import Stopwatch
from gitfed.edges import free_memory
from gitfed.edges.kube.connection.session import Session
from gitfed.interpret.registry import Interpreter
from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.decisions import Decisions
from gitfed.model.declared.cluster import Cluster
from gitfed.model.fleet import FleetSnapshot
from gitfed.model.operator_orders import Approval, Reconciliation
from gitfed.model.plan import Change, Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.placement import recorded_facts
from gitfed.planning import sent_keys
from gitfed.planning.ordering import gate
from gitfed.reading.reader import Reader
from gitfed.text.values import dataclass

log = logging.getLogger("gitfed.cycle")

_HOLD = 2.0
"""Seconds that the backlog waits at most while a push is read and planned."""
_FIRST_LOOK = 15.0
"""Seconds that the first cycle waits for the room of every cluster."""
_LARGE = 2_000
"""Changes after which the memory is given back that they took on their way."""


@dataclass(frozen=True, slots=True)
class EngineCallbacks:
    """What an engine tells the command that runs it."""

    review: Callable[[Plan], None] | None = None
    """Gets the first plan before anything of it is recorded or carried out, and stops the engine by an exception."""
    listener: Callable[[str, Any], None] = lambda event, value: None
    """Hears of each event, by name: `planned`, `cycle`, `result`, `rejected`, `source-error`, `waiting`."""


class Engine:
    """Give it a reader of commits, a record and a way to open sessions; `loop.run_cycles` turns it until cancelled."""

    def __init__(
        self,
        reader: Reader,
        records: Records,
        open_session: Callable[[Cluster], Session],
        interpreter: MakeInterpreter,
        options: MemberOptions | None = None,
        *,
        callbacks: EngineCallbacks | None = None,
    ) -> None:
        self.options = options or MemberOptions()
        self.plan: Plan | None = None
        self.last_cycle: float = 0.0
        """time.monotonic() of the last finished cycle: what the liveness endpoint looks at."""
        self.abandoned = False
        """Whether another daemon leads now."""
        self.reader = reader
        callbacks = callbacks or EngineCallbacks()
        self._review = callbacks.review
        self.tell = callbacks.listener
        self.wake = asyncio.Event()
        """Set when something happened that a cycle may have an answer to."""
        self._roused = 0
        """How often something besides a move of the branch was a reason for a cycle."""
        self._answered = -1
        """`_roused` when the last cycle began; -1 where it did not come to its end."""
        self.commits = Commits(reader, self.tell, self.wake.set)
        self.fleet = Fleet(open_session, self.options, self.rouse, self.tell)
        self.statuses = Statuses(self.fleet, self.options.now)
        self.descheduler = Descheduler(
            self.fleet,
            lambda: self.repo.settings.spec.scheduling if self.repo is not None else None,
            self.options.now,
            self.rouse,
        )
        self.autoscaling = Rounds(self.fleet, self._for_autoscaling, self.options.now, self.rouse)
        self.planner = Planner(interpreter, self.options.now, self.rouse)
        self.asking = self.planner.asking
        sending = Sending(records, self.rouse)
        self.memory = StateStore(sending, reader, self.fleet, self.statuses, self.planner.answers, self.options)
        self._reminders = Reminders()
        self._handed = 0  # changes since memory was given back
        self._urgent: set[ObjectKey] = set()
        self._turning = False
        self._trouble = trouble.Trouble()
        self._refused: Exception | None = None  # by `review`

    @property
    def trouble(self) -> errors.GitfedError | None:
        """Why nothing new is done; None when it is."""
        return self._trouble.error

    @property
    def pause(self) -> float:
        """Seconds to wait while there is trouble."""
        return self._trouble.pause

    @property
    def repo(self) -> RepoSnapshot | None:
        """The commit in force."""
        return self.commits.repo

    @property
    def decisions(self) -> Decisions:
        """As recorded last."""
        return self.memory.decisions

    # -- events -------------------------------------------------------------------------------------------------

    def source_changed(self) -> None:
        """A ref of the repository moved, maybe by ourselves: the loop looks, and plans when there is something new."""
        self.commits.changed()
        self.wake.set()

    def rouse(self) -> None:
        """Something else is different, or it is time: the loop plans, whatever the branch says."""
        self._roused += 1
        self.wake.set()

    def approve(self, approval: Approval) -> None:
        """Let the held changes of exactly one plan through."""
        self.memory.approvals.add(approval)
        self.rouse()

    def abandon(self) -> None:
        """The lead is lost: cancelling `daemon.loop` waits for nothing that is under way from now on."""
        self.abandoned = True
        self.memory.sending.abandon()
        self.fleet.roster.abandon()

    async def close(self) -> None:
        """What is under way is finished first."""
        await self.asking.close()
        await self.commits.close()
        await self.fleet.close()
        await self.memory.sending.close()

    # -- a cycle ------------------------------------------------------------------------------------------------

    async def turn(self) -> CycleReport | None:
        """One cycle. None when there is nothing to plan from: no commit could be read yet."""
        self._turning = True
        try:
            return await self._turn(Stopwatch())
        except errors.StateConflict as error:
            log.warning("the state moved: reading it again", extra={"error": str(error)})
            self.memory.opened = False
            self.rouse()
            return None
        except errors.GitfedError as error:
            if error is self._refused:
                raise
            self._trouble.begins(error)  # a full disk, most likely: what is not written down must not be done
            return None
        except Exception as error:
            if error is not self._refused:
                await self._failed(errors.Unforeseen.of(error))
                return None
            raise
        finally:
            self._turning = False
            self.last_cycle = time.monotonic()

    async def _failed(self, error: errors.Unforeseen) -> None:
        """A turn ended with an unforeseen error. If this commit brought it, the one before is in force again; else all
        stays as it is, and the turn is tried again. What a turn left half done is forgotten."""
        self.planner.forget()
        if self.repo is not None and await self.commits.cannot_be_planned(self.repo, error):
            self.rouse()
        else:
            self.memory.opened = False
            self._trouble.begins(error)

    async def _turn(self, watch: Stopwatch) -> CycleReport | None:
        self.memory.hear()
        before, roused, source = self.repo, self._roused, self.commits.standing
        repo = await self._fetch_and_read()
        if self.commits.standing == source and roused == self._answered and self.memory.opened and not self.trouble:
            return None  # what moved is another ref: the one of our own record, most often
        self._answered = -1
        watch.lap("read")
        seen = await self._observe(repo) if repo is not None else None
        if seen is None:
            return None
        watch.lap("observe")
        plan = await self._decide(seen)
        watch.lap("build")
        if before is not None and before is not seen.repo:
            self._urgent |= _touched(before, seen.repo)
        recorded = await self._record(plan, seen)
        watch.lap("record")
        handed = await self._hand_over(plan, seen)
        watch.lap("hand-over")
        self._trouble.ends()
        self._answered = roused
        report = CycleReport(plan, handed, recorded, watch.total)
        self.options.telemetry.cycle(watch)
        self.tell("cycle", report)
        if handed or recorded or before is not seen.repo:
            log.info("cycle finished", extra=report.keys(build=watch.laps["build"], record=watch.laps["record"]))
        return report

    async def _observe(self, repo: RepoSnapshot) -> _Observed | None:
        """What is recorded, and how every cluster is. None: nothing can be decided yet."""
        if not self.memory.opened:
            await self.memory.load(repo)
            past = self.decisions
            if not await self.commits.still_accepted(repo, past.applied_commit, past.signatures):
                return None
            await self.memory.take_in()
        self.fleet.match(
            repo,
            self.memory.recorded_fleet(),
            claimed=self.memory.opened and self.decisions.known,
            capacity=recorded_facts.reads_capacity(repo),
        )
        if not self.memory.opened:
            await self.memory.open(repo)
        reconciled = self.fleet.reconcile(self.decisions.reconciliations)
        await self.fleet.roster.measured(_FIRST_LOOK)
        if self._review is not None:
            if self.fleet.starting():
                return None  # a cluster that will be there in a moment would look like one that cannot be read
            await look_for(self.fleet.members.values(), sent_keys.of(repo))
        starting = self.fleet.starting()
        in_use = frozenset(name for name, member in self.fleet.members.items() if member.ready.is_set())
        fleet = await self.memory.with_facts(repo, self.fleet.snapshot(repo))
        decisions = await self.memory.decisions_for(repo)
        return _Observed(repo, fleet, decisions, self.planner.interpreter_of(repo), in_use, starting, reconciled)

    async def _decide(self, seen: _Observed) -> Plan:
        trimmed, taken_back = self.descheduler.take_back(seen.decisions)
        trimmed = replace(trimmed, looks=self.autoscaling.take_over(trimmed))
        plan = await self.planner.build(seen.repo, seen.fleet, trimmed, seen.interpreter)
        if self._review is not None:
            self._ask_for_consent(self._review, plan)
        for key, message in taken_back.items():
            moved = key in plan.bindings and plan.bindings[key].scheduled.shares != seen.decisions.bindings[key].targets
            log.info("replicas found no node", extra={"object": str(key), "what": message, "moved": moved})
        self.plan = plan
        self.tell("planned", plan)
        return plan

    async def _record(self, plan: Plan, seen: _Observed) -> bool:
        """What must be known of the plan before anything of it is done; whether that was news."""
        if self.memory.approvals.take_up(plan):
            self.rouse()
        self.commits.planned(seen.repo)
        if self.memory.opened and not gate.holds_history(plan):
            await self.commits.accept(seen.repo)
        self.fleet.follow(plan, seen.interpreter, left_alone.repairs(seen.repo, seen.decisions))
        recorded = await self.memory.write_decisions(plan, seen.decisions, seen.fleet.live, seen.repo)
        self.memory.settle_doubts(plan)
        if seen.decisions.known and not seen.starting:
            self._reminders.tell(plan)
        return recorded

    async def _hand_over(self, plan: Plan, seen: _Observed) -> int:
        """Give every cluster its list, and write down what came of the lists before. How many changes are new."""
        waiting = frozenset(self.memory.sending.waiting)
        handed = self.fleet.hand_over(plan, self._urgent, waiting)
        self._urgent &= waiting
        self._handed += handed
        if seen.decisions.known and not gate.holds_history(plan):
            self.fleet.exchange.follow(seen.repo, plan, left_alone.by_order(seen.decisions))
        if await self.statuses.update(plan, seen.repo, seen.interpreter, seen.starting) and self.fleet.quiet():
            self.rouse()
        if self.fleet.quiet() and not waiting:
            unfinished = {change.cluster for change in self.waiting()}
            if await self.memory.write_results(plan, seen.repo, seen.in_use, unfinished, seen.reconciled):
                self.rouse()
            if self._handed > _LARGE:
                self._handed = 0
                await asyncio.to_thread(free_memory.give_back)
        return handed

    async def _fetch_and_read(self) -> RepoSnapshot | None:
        """The commit in force. One that cannot be read changes nothing."""
        if self.commits.due or self.repo is None:
            try:
                owes = self.commits.waits
                self.commits.ask()
                if not owes:
                    await self.memory.look()  # meanwhile: both are asked of a server that may be far away
                await self.commits.look(
                    self.decisions.applied_commit, self.memory.held, before_reading=lambda: self.fleet.hold(_HOLD)
                )
            except errors.SourceError as error:
                self.commits.unreadable(error)
            except errors.GitfedError:
                raise
            except Exception as error:  # noqa: BLE001
                unforeseen = errors.Unforeseen.of(error)
                if str(unforeseen) != self.commits.error:
                    trouble.say("looking at the repository failed", unforeseen)
                self.commits.unreadable(unforeseen)
        return self.repo

    def _ask_for_consent(self, review: Callable[[Plan], None], plan: Plan) -> None:
        try:
            review(plan)
        except Exception as error:
            self._refused = error
            raise
        self._review = None

    # -- questions ----------------------------------------------------------------------------------------------

    def settled(self) -> bool:
        """The newest commit was planned, handed over and recorded, wherever that is possible now."""
        return (
            self.repo is not None
            and self.plan is not None
            and self.plan.commit == self.repo.commit
            and self.decisions.known
            and not self._turning
            and not self.wake.is_set()
            and not self.asking.busy()
            and not self.memory.sending.busy
            and not self.fleet.starting()
            and self.fleet.quiet()
            and not self.waiting()
        )

    @property
    def at_work(self) -> bool:
        """A push, or what clusters told, is being planned or carried out: what is in no hurry may wait a moment."""
        return self._turning or self.commits.due or self.fleet.busy()

    def waiting(self) -> list[Change]:
        """Changes that will be carried out once something else is healthy, in clusters that can be reached."""
        changes = self.plan.changes or () if self.plan is not None else ()
        away = {name for name, member in self.fleet.members.items() if not member.ready.is_set()}
        return [change for change in changes if change.turn.waits and change.cluster not in away]

    def _for_autoscaling(self) -> tuple[RepoSnapshot, Plan, Decisions] | None:
        if self.repo is None or self.plan is None or not self.decisions.known or self.trouble is not None:
            return None
        return self.repo, self.plan, self.decisions


@dataclass(frozen=True, slots=True)
class _Observed:
    """What one cycle decides from."""

    repo: RepoSnapshot
    fleet: FleetSnapshot
    decisions: Decisions
    """As recorded."""
    interpreter: Interpreter
    in_use: frozenset[ClusterName]
    starting: Collection[ClusterName]
    """Clusters that were not asked yet."""
    reconciled: frozenset[Reconciliation]
    """Orders to look at clusters anew that were carried out."""


def _touched(before: RepoSnapshot, after: RepoSnapshot) -> set[ObjectKey]:
    """Templates that this push changed: a person waits for them."""
    return {key for key, manifest in after.manifests.items() if before.manifests.get(key) is not manifest} | (
        before.manifests.keys() - after.manifests.keys()
    )
