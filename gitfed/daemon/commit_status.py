"""What commits are said to be: the statuses beside them, for each cluster and for all.

    gitfed/<federation>                       the commit is everywhere, or why not
    gitfed/<federation>/cluster/<name>        one cluster
    gitfed/<federation>/review                what a merge would do
    gitfed/<federation>/review/cluster/<name>

Names are never shared, so no status overwrites another's: not that of another fleet in the same repository, nor that
of the review by that of the roll-out. Wording is pure; `Announcer` sends what differs from what it sent before, and a
forge that does not answer delays nothing but its own statuses.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from gitfed import errors
from gitfed.edges.forge import CommitState, CommitStatus, Forge
from gitfed.model.base import ClusterName, Commit, Problem, Severity
from gitfed.model.fleet import Health
from gitfed.model.plan import Action, Change, Left, Plan
from gitfed.planning.review.review import Review
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    # A review touches no cluster, and is not to pay for a Kubernetes client.
    from gitfed.daemon.cycle import Engine

log = logging.getLogger("gitfed.announce")

_PAUSE = 5.0
"""Seconds between two looks at a roll-out that is under way."""
_WORST = (CommitState.FAILURE, CommitState.ERROR, CommitState.PENDING, CommitState.SUCCESS)


def name_of(federation: str, *parts: str) -> str:
    return "/".join(("gitfed", federation, *parts))


# -- a review -----------------------------------------------------------------------------------------------------


def of_review(
    review: Review, refused: str, problems: Sequence[Problem], *, clusters: bool = True
) -> list[CommitStatus]:
    """The roll-up first. `refused`: why a daemon would not apply the head as it is, or nothing. `problems`: what the
    head says and the base did not."""
    federation = review.head.federation
    wrong = [problem for problem in problems if problem.severity is Severity.ERROR]
    held = [gate for gate in review.gates if gate.held]
    totals = review.totals
    counts = ", ".join(f"{getattr(totals, name)} {name}" for name in ("create", "update", "move", "delete"))
    text = f"{counts} in {totals.clusters} of {_count(totals.of_clusters, 'cluster')}"
    state = CommitState.SUCCESS
    if wrong:
        state, text = CommitState.FAILURE, f"{_count(len(wrong), 'error')}: {wrong[0]}"
    elif held:
        names = ", ".join(f"{gate.name} {gate.value}/{gate.limit}" for gate in held)
        state, text = CommitState.FAILURE, f"held: {names}; {text}"
    elif review.empty:
        text = "no change to the fleet"
    if refused and state is CommitState.SUCCESS:
        # No failure: a merge commit may bring the signature that is asked for.
        text = f"would wait: {refused}; {text}"
    statuses = [CommitStatus(name_of(federation, "review"), state, text)]
    if clusters:
        for name, changes in sorted(_by_cluster(review.changes).items()):
            statuses.append(_of_reviewed_cluster(federation, name, changes))
    return statuses


def _of_reviewed_cluster(federation: str, cluster: ClusterName, changes: Sequence[Change]) -> CommitStatus:
    counts = dict.fromkeys(("create", "update", "move", "delete", "keep", "skip"), 0)
    for change in changes:
        counts["move" if change.move and change.action is Action.DELETE else change.action.value] += 1
    text = ", ".join(f"{number} {name}" for name, number in counts.items() if number)
    held = any(change.left is Left.GATE for change in changes)
    name = name_of(federation, "review", "cluster", cluster)
    return CommitStatus(
        name, CommitState.FAILURE if held else CommitState.SUCCESS, f"{text} (held by a gate)" if held else text
    )


# -- a roll-out ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one cluster is with a plan."""

    reachable: bool = True
    why: str = ""
    """Why it cannot be reached."""
    left: int = 0
    """Changes still to be made."""
    failed: tuple[str, ...] = ()
    """Objects whose change was refused."""
    held: int = 0
    gates: tuple[str, ...] = ()
    """What holds them: `gate deletions 20/5`."""
    in_use: tuple[str, ...] = ()
    """What is not deleted, for objects of others would go with it. The commit asked for no more than that."""
    unhealthy: tuple[str, ...] = ()
    broken: bool = False
    """Some of the unhealthy ones will not become healthy by themselves."""
    objects: int = 0


def of_roll_out(
    federation: str, commit: Commit, clusters: Mapping[ClusterName, Progress], errors_: Sequence[Problem] = ()
) -> list[CommitStatus]:
    """The roll-up first. `errors_`: what is wrong with the commit's files, which are held at an older version."""
    single = {name: _of_cluster(federation, name, progress) for name, progress in sorted(clusters.items())}
    states = [status.state for status in single.values()]
    state = next((worst for worst in _WORST if worst in states), CommitState.SUCCESS)
    if state is CommitState.SUCCESS:
        text = f"{commit[:7]} is applied and healthy in {_count(len(clusters), 'cluster')}"
    else:
        names = [name for name, status in single.items() if status.state is state]
        done = states.count(CommitState.SUCCESS)
        listed = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        text = f"{done} of {_count(len(clusters), 'cluster')} done; {listed}: {single[names[0]].description}"
    if errors_:
        state, text = CommitState.FAILURE, f"{_count(len(errors_), 'error')}: {errors_[0]}; the rest: {text}"
    return [CommitStatus(name_of(federation), state, text), *single.values()]


def of_rejected(federation: str, why: str) -> CommitStatus:
    """A commit that is not acted upon as a whole: the one before it stays in force."""
    return CommitStatus(name_of(federation), CommitState.FAILURE, f"not applied: {why}")


def _of_cluster(federation: str, cluster: ClusterName, progress: Progress) -> CommitStatus:
    name = name_of(federation, "cluster", cluster)
    if progress.failed:
        text = f"{_count(len(progress.failed), 'change')} failed: {progress.failed[0]}"
        return CommitStatus(name, CommitState.FAILURE, text)
    if not progress.reachable:
        return CommitStatus(name, CommitState.ERROR, f"cannot be reached{f': {progress.why}' if progress.why else ''}")
    if progress.left:
        return CommitStatus(name, CommitState.PENDING, f"{_count(progress.left, 'change')} to go")
    if progress.held:
        gates = f" by {', '.join(progress.gates)}" if progress.gates else ""
        return CommitStatus(name, CommitState.PENDING, f"{_count(progress.held, 'change')} held{gates}: needs consent")
    if progress.unhealthy:
        state = CommitState.FAILURE if progress.broken else CommitState.PENDING
        text = f"{len(progress.unhealthy)} of {_count(progress.objects, 'object')} not healthy: {progress.unhealthy[0]}"
        return CommitStatus(name, state, text)
    stays = f"; {len(progress.in_use)} not deleted: {progress.in_use[0]}" if progress.in_use else ""
    return CommitStatus(name, CommitState.SUCCESS, f"{_count(progress.objects, 'object')} applied and healthy{stays}")


def progress_of(engine: Engine, plan: Plan) -> dict[ClusterName, Progress]:
    left = _by_cluster(change for change in plan.changes or () if change.action in _WRITES)
    held = _by_cluster(change for change in plan.changes or () if change.left is Left.GATE)
    limits = {gate.name: f"gate {gate.name} {gate.value}/{gate.limit}" for gate in plan.gates}
    unhealthy: dict[ClusterName, list[str]] = {}
    broken: set[ClusterName] = set()
    for live in engine.fleet.unhealthy():
        unhealthy.setdefault(live.cluster, []).append(str(live.key))
        if live.health is Health.FAILED:
            broken.add(live.cluster)
    objects = Counter(name for classes in plan.rendered.values() for rendered in classes for name in rendered.clusters)
    progress = {}
    for name, member in sorted(engine.fleet.members.items()):
        failures = engine.fleet.unfinished.failures(name)
        kept = engine.fleet.unfinished.kept(name)
        over = {result.key for result in (*failures, *kept)}
        progress[name] = Progress(
            reachable=member.ready.is_set(),
            left=sum(1 for change in left.get(name, ()) if change.key not in over),
            failed=tuple(f"{result.key}: {result.message}" for result in failures),
            held=len(held.get(name, ())),
            gates=tuple(limits[gate] for gate in dict.fromkeys(change.gate for change in held.get(name, ()))),
            in_use=tuple(f"{result.key} {result.message}" for result in kept),
            unhealthy=tuple(sorted(unhealthy.get(name, ()))),
            broken=name in broken,
            objects=objects[name],
        )
    return progress


_WRITES = (Action.CREATE, Action.UPDATE, Action.DELETE)


class Announcer:
    """Keeps the statuses of the followed commit true until it is everywhere; then it has been said.

    What happens to the fleet later (drift, a cluster that fails) is not the commit's doing, and not told here.
    """

    def __init__(self, forge: Forge, *, pause: float = _PAUSE) -> None:
        self._forge = forge
        self._pause = pause
        self._sent: dict[str, CommitStatus] = {}
        self._commit: Commit | None = None
        self._done = False
        self._refused: tuple[Commit, CommitStatus] | None = None
        self._trouble = ""

    async def run(self, present: Callable[[], Engine | None]) -> None:
        """Until cancelled. `present` gives the engine, None while this process leads no fleet."""
        while True:
            engine = present()
            if engine is not None:
                try:
                    await self._round(engine)
                except Exception as error:  # noqa: BLE001
                    self._log_once(errors.Unforeseen.of(error))
            await asyncio.sleep(self._pause)

    def _log_once(self, error: errors.Unforeseen) -> None:
        if str(error) != self._trouble:
            log.error("commit statuses could not be made", extra={"error": error.message, "trace": error.trace})
        self._trouble = str(error)

    async def _round(self, engine: Engine) -> None:
        plan, repo = engine.plan, engine.repo
        if repo is None:
            return
        if plan is not None and plan.commit == repo.commit:
            await self.look(engine, plan)
        commits = engine.commits
        if commits.rejected and commits.rejected_commit:
            await self._refuse(commits.rejected_commit, of_rejected(repo.settings.metadata.name, commits.rejected))

    async def look(self, engine: Engine, plan: Plan) -> None:
        if plan.commit != self._commit:
            await self._leave(plan.commit)
            self._commit, self._sent, self._done = plan.commit, {}, False
        if self._done or engine.fleet.starting():
            return
        wrong = [problem for problem in plan.problems if problem.severity is Severity.ERROR]
        statuses = of_roll_out(plan.federation, plan.commit, progress_of(engine, plan), wrong)
        await self.say(plan.commit, statuses)
        self._done = statuses[0].state is CommitState.SUCCESS and self._sent.get(statuses[0].name) == statuses[0]

    async def say(self, commit: Commit, statuses: Iterable[CommitStatus]) -> None:
        """Send what was not sent yet; what cannot be sent is tried again at the next look."""
        for status in statuses:
            if self._sent.get(status.name) == status:
                continue
            if not await self._send(commit, status):
                return
            self._sent[status.name] = status

    async def _refuse(self, commit: Commit, status: CommitStatus) -> None:
        if self._refused != (commit, status) and await self._send(commit, status):
            self._refused = (commit, status)

    async def _send(self, commit: Commit, status: CommitStatus) -> bool:
        try:
            await asyncio.to_thread(self._forge.set_status, commit, status)
        except errors.ForgeError as error:
            if str(error) != self._trouble:
                log.warning("a commit status could not be set", extra={"status": status.name, "error": str(error)})
            self._trouble = str(error)
            return False
        self._trouble = ""
        return True

    async def _leave(self, successor: Commit) -> None:
        """A commit that was overtaken: no status waits for it any more."""
        if self._commit is None or self._done:
            return
        open_ones = [status for status in self._sent.values() if status.state is CommitState.PENDING]
        text = f"overtaken by {successor[:7]} before it was everywhere"
        await self.say(self._commit, [CommitStatus(status.name, CommitState.ERROR, text) for status in open_ones])


def _by_cluster(changes: Iterable[Change]) -> dict[ClusterName, list[Change]]:
    by_cluster: dict[ClusterName, list[Change]] = {}
    for change in changes:
        by_cluster.setdefault(change.cluster, []).append(change)
    return by_cluster


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
