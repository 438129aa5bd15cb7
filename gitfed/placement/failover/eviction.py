"""One workload during a failover: when it leaves a cluster, when its old copy may go (Karmada: failover §2.5, §2.6).

An eviction takes the cluster out of the targets and leaves a task behind. While there is a task, the cluster is no
target again and, unless the purge mode is Directly, the old copy stays. `_review` ends tasks, `_task` makes them; both
look at what is recorded and seen, and at no memory of their own, so a restart in between changes nothing.

Three rules are ours. A task whose work has no targets does not end: the old copy stays, loudly. With Directly the
task does not end before the deletion of the old copy was confirmed, unless `startWithoutConfirmation` says so. And a
copy that was left behind is marked (`released`), so that a cluster which comes back after weeks is cleaned first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from gitfed.model.base import ClusterName, Kind
from gitfed.model.decided_objects import DecidedObjects
from gitfed.model.decisions import ClusterRecord, Decision, EvictionTask, FailoverState, Labels, Share
from gitfed.model.fleet import Health, LiveObject, Reach
from gitfed.placement.failover import state_preservation
from gitfed.placement.failover import tolerations as tolerate
from gitfed.placement.failover.failover_context import FailoverContext
from gitfed.placement.failover.taints import effective
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.model.declared.placement import Toleration
    from gitfed.model.declared.policy import Propagation

TAINT, APPLICATION = "TaintUntolerated", "ApplicationFailure"
_MANAGER = "TaintManager"


@dataclass(frozen=True, slots=True)
class EvictionResult:
    """What became of one workload. Times: when to look at it again, if nothing happens before."""

    settled: Decision
    """After the review: what holds in any case."""
    moved: Decision | None = None
    """With new evictions: holds if another place is found for the work."""
    problems: tuple[str, ...] = ()
    look_again: datetime | None = None


@dataclass(frozen=True, slots=True)
class _Look:
    """What one workload is judged by, and what the look comes to."""

    policy: Propagation
    tolerations: tuple[Toleration, ...]
    """The policy's with our defaults."""
    copies: Mapping[ClusterName, LiveObject]
    scene: FailoverContext
    later: list[datetime] = field(default_factory=list)
    """When to look again, if nothing happens before."""
    problems: list[str] = field(default_factory=list)


class _Cause(NamedTuple):
    """Why a task is made, in the words of its record."""

    mode: str
    reason: str
    message: str
    producer: str


def advance(
    decision: Decision,
    policy: Propagation,
    tolerations: tuple[Toleration, ...],
    copies: Mapping[ClusterName, LiveObject],
    scene: FailoverContext,
) -> EvictionResult:
    """End the evictions that are over, and begin those that are due.

    `tolerations`: the policy's with our defaults. `copies`: as last seen, by cluster.
    """
    look = _Look(policy, tolerations, copies, scene)
    leaving = decision.failover.clusters_left
    # Somebody may have written both by hand: a cluster that is being left is no target.
    listed = bool(leaving) and any(share.cluster in leaving for share in decision.scheduled.shares)
    if listed:
        decision = decision.without_shares(leaving)
    decision = _observe(decision, look)
    if not listed:  # else its place has to be found first
        decision = _review(decision, look)
    moved = decision
    if scene.active:
        ill = {name for name, _ in decision.failover.unhealthy}
        for share in decision.scheduled.shares:
            if share.cluster not in scene.repelling and share.cluster not in ill:
                continue
            task = _task(decision, share, look)
            if task is not None:
                look.later.append(_next_look(task, scene))
                moved = _evicted(moved, share.cluster, task)
    again = min(look.later, default=None)
    return EvictionResult(decision, None if moved is decision else moved, tuple(look.problems), again)


def _evicted(decision: Decision, cluster: ClusterName, task: EvictionTask) -> Decision:
    state = decision.failover
    return replace(
        decision.without_shares({cluster}),
        failover=replace(
            state,
            evictions=(*state.evictions, task),
            unhealthy=tuple(entry for entry in state.unhealthy if entry[0] != cluster),
        ),
        # That the cluster fails matters more than where replicas find no node.
        rescheduling=replace(decision.rescheduling, undone=None),
    )


# -- what is written down while all is well ------------------------------------------------------------------------


def _observe(decision: Decision, look: _Look) -> Decision:
    policy, copies, scene = look.policy, look.copies, look.scene
    wanted = state_preservation.of_cluster(policy) if scene.injects else None
    application = policy.spec.failover.application if policy.spec.failover is not None else None
    if (
        wanted is None
        and application is None
        and not (decision.failover.preserved or decision.failover.unhealthy or decision.failover.released)
    ):
        return decision
    here = [share.cluster for share in decision.scheduled.shares]
    kept = dict(decision.failover.preserved)
    preserved: dict[ClusterName, Labels] = {}
    for name in here if wanted is not None else ():
        assert wanted is not None
        copy = copies.get(name)
        state: Labels | str = "it was not seen yet"
        if copy is not None and copy.uid and scene.is_ready(name):
            state = scene.reader.states.values(wanted, decision.key, name, scene.reader.collect(copy)[1])
        if not isinstance(state, str):
            preserved[name] = state
        elif name in kept:
            preserved[name] = kept[name]
        elif copy is not None and copy.uid and scene.is_ready(name) and scene.reader.collect(copy)[1] is not None:
            look.problems.append(f"the state of its copy in {name} cannot be preserved: {state}")
    unhealthy: dict[ClusterName, datetime] = {}
    if application is not None:
        before = dict(decision.failover.unhealthy)
        for name in here:
            copy = copies.get(name)
            # Healthy and unknown both clear it: only what is seen to be ill is counted (Karmada: failover §2.6).
            if copy is not None and copy.uid and scene.is_ready(name) and scene.reader.collect(copy)[0] is False:
                unhealthy[name] = min(before.get(name, scene.now), scene.now)
    noted = replace(
        decision.failover,
        preserved=tuple(sorted(preserved.items())),
        unhealthy=tuple(sorted(unhealthy.items())),
        released=tuple(
            name
            for name in decision.failover.released
            if name not in here and not is_gone(name, decision, copies, scene)
        ),
    )
    return _with(decision, noted)


def is_gone(
    cluster: ClusterName, decision: Decision, copies: Mapping[ClusterName, LiveObject], scene: FailoverContext
) -> bool:
    """Whether it was seen that the cluster has no copy. What could not be read is not gone; a cluster that somebody
    took out of the repository is nobody's to wait for, what it holds is reported elsewhere."""
    if cluster not in scene.declared:
        return True
    state = scene.clusters.get(cluster)
    if state is None or not state.inventory_read or Kind(decision.key.group, decision.key.kind) in state.unread:
        return False
    copy = copies.get(cluster)
    return copy is None or not copy.uid


def _with(decision: Decision, state: FailoverState) -> Decision:
    """The same object where nothing is new: identity tells the build what to look at again."""
    return decision if decision.failover == state else replace(decision, failover=state)


# -- tasks that exist ----------------------------------------------------------------------------------------------


def _review(decision: Decision, look: _Look) -> Decision:
    copies, scene, later, problems = look.copies, look.scene, look.later, look.problems
    if not decision.failover.evictions and not decision.failover.cleared:
        return decision
    kept: list[EvictionTask] = []
    over: list[ClusterName] = []
    cleared = {
        name
        for name in decision.failover.cleared
        if any(task.from_cluster == name for task in decision.failover.evictions)
    }
    healthy = _all_healthy(decision, copies, scene)
    placed = (
        bool(decision.scheduled.shares)
        and decision.scheduled.condition is not None
        and decision.scheduled.condition.status
    )
    for task in decision.failover.evictions:
        created = task.created
        if created is None:
            # Somebody wrote it by hand: its time begins now, and it is looked at the next time (Karmada: §2.5, 1).
            kept.append(_since(task, scene.now))
            later.append(scene.now + timedelta(seconds=1))
            continue
        if created > scene.now:
            created, task = scene.now, _since(task, scene.now)
        if task.purge_mode == "Directly" and task.from_cluster not in cleared:
            if is_gone(task.from_cluster, decision, copies, scene):
                cleared.add(task.from_cluster)
            else:
                confirm_by = created + scene.settings.eviction_timeout
                if scene.settings.start_without_confirmation and scene.now >= confirm_by:
                    cleared.add(task.from_cluster)
                    problems.append(
                        f"its new copy starts although the deletion of the old one in {task.from_cluster} was not "
                        "confirmed (failover.startWithoutConfirmation)"
                    )
                elif scene.settings.start_without_confirmation:
                    later.append(confirm_by)
                elif scene.now >= confirm_by:
                    problems.append(
                        f"its new copy waits since {_text(created)} for the confirmed deletion of the old one in "
                        f"{task.from_cluster} (purgeMode Directly)"
                    )
        timeout = task.grace if task.grace is not None else scene.settings.graceful_eviction_timeout
        if _is_over(task, created + timeout, look, cleared=cleared, healthy=healthy, placed=placed):
            over.append(task.from_cluster)
        else:
            kept.append(task)
    gone = {name for name in over if is_gone(name, decision, copies, scene)}
    released = [
        *decision.failover.released,
        *(name for name in over if name not in gone and name not in decision.failover.released),
    ]
    state = replace(
        decision.failover,
        evictions=tuple(kept),
        cleared=tuple(sorted(name for name in cleared if any(task.from_cluster == name for task in kept))),
        released=tuple(released),
    )
    return _with(decision, state)


def _is_over(
    task: EvictionTask,
    end: datetime,
    look: _Look,
    *,
    cleared: set[ClusterName],
    healthy: bool,
    placed: bool,
) -> bool:
    """Karmada: failover §2.5, in its order; the two exceptions are ours (see above)."""
    if task.suppress_deletion is not None:
        return not task.suppress_deletion
    if task.purge_mode == "Directly" and task.from_cluster not in cleared:
        return False
    timed_out = look.scene.now > end
    if placed and (timed_out or healthy):
        return True
    if timed_out:
        look.problems.append(
            f"its copy in {task.from_cluster} stays although its time is over: nothing takes its place"
        )
    else:
        look.later.append(end + timedelta(seconds=1))
    return False


def _all_healthy(decision: Decision, copies: Mapping[ClusterName, LiveObject], scene: FailoverContext) -> bool:
    names = tuple(share.cluster for share in decision.scheduled.shares)
    looked_at = copies.doubtful(names) if isinstance(copies, DecidedObjects) else names
    return all(map(scene.is_ready, names)) and all(_is_healthy(copies.get(name), scene) for name in looked_at)


def _is_healthy(copy: LiveObject | None, scene: FailoverContext) -> bool:
    """Ours (what somebody else has under that name replaces nothing), up and, where the interpreter has an opinion,
    well."""
    if copy is None or not copy.uid or not copy.ours or copy.health is not Health.CURRENT:
        return False
    return scene.reader.collect(copy)[0] is not False


# -- new ones ------------------------------------------------------------------------------------------------------


def _task(decision: Decision, share: Share, look: _Look) -> EvictionTask | None:
    cluster, scene, problems = share.cluster, look.scene, look.problems
    record = scene.tainted.records.get(cluster)
    if record is not None and (left := because_of_taints(record, look.tolerations, scene, look.later)):
        return _for_taint(decision, share, left, look)
    since = dict(decision.failover.unhealthy).get(cluster)
    failover = look.policy.spec.failover
    application = failover.application if failover is not None else None
    if since is None or application is None:
        return None
    due = since + timedelta(seconds=max(application.decision_conditions.toleration_seconds, 0))
    if scene.now < due:
        look.later.append(due)
        return None
    if application.purge_mode == "Gracefully" and not scene.graceful:
        problems.append(f"it is unhealthy in {cluster} and stays there: the feature gate GracefulEviction is off")
        return None
    labels: Labels = ()
    before: list[ClusterName] = []
    if application.state_preservation is not None and scene.injects:
        copy = look.copies.get(cluster)
        present = scene.reader.collect(copy)[1] if copy is not None else None
        state = scene.reader.states.values(application.state_preservation, decision.key, cluster, present)
        if isinstance(state, str):
            problems.append(f"it is unhealthy in {cluster} and stays there: its state cannot be preserved: {state}")
            return None
        labels, before = state, [share.cluster for share in decision.scheduled.shares]
    kind = "resource" if decision.key.namespace else "cluster-resource"
    producer = f"{kind}-binding-application-failover-controller"
    return _made(
        share,
        _Cause(application.purge_mode, APPLICATION, f"unhealthy since {_text(since)}", producer),
        labels,
        scene.now,
        gracePeriodSeconds=application.grace_period_seconds if application.purge_mode == "Gracefully" else None,
        clustersBeforeFailover=before,
    )


def because_of_taints(
    record: ClusterRecord, tolerations: tuple[Toleration, ...], scene: FailoverContext, later: list[datetime]
) -> str:
    """What is said of the taint that drives the work out now; "" if none does (yet)."""
    due = tolerate.due((effective(taint, record, scene.tainted.outage) for taint in record.taints), tolerations)
    if due is None or (scene.tainted.cut_off and record.reach is not Reach.READY):
        return ""
    when, taint = due
    if scene.now < when:
        later.append(when)
        return ""
    return f"taint {taint} since {_text(taint.added)}"


def _for_taint(decision: Decision, share: Share, message: str, look: _Look) -> EvictionTask | None:
    policy, cluster = look.policy, share.cluster
    failover = policy.spec.failover.cluster if policy.spec.failover is not None else None
    labels: Labels = ()
    if state_preservation.of_cluster(policy) is not None and look.scene.injects:
        # A copy that never told anything of its own still has what it was started with.
        remembered = dict(decision.failover.preserved).get(cluster) or dict(decision.failover.injected).get(cluster)
        if remembered is None:
            look.problems.append(f"it stays in {cluster} ({message}): its state was never seen and would be lost")
            return None
        labels = remembered
    mode = failover.purge_mode if failover is not None else "Gracefully"
    return _made(share, _Cause(mode, TAINT, message, _MANAGER), labels, look.scene.now)


def _next_look(task: EvictionTask, scene: FailoverContext) -> datetime:
    """A new task is looked at again when it is over at the latest, or when a deletion should have been confirmed."""
    if task.purge_mode == "Directly":
        return scene.now + scene.settings.eviction_timeout
    timeout = task.grace if task.grace is not None else scene.settings.graceful_eviction_timeout
    return scene.now + timeout + timedelta(seconds=1)


def _made(share: Share, cause: _Cause, labels: Labels, now: datetime, **members: object) -> EvictionTask:
    raw: dict[str, object] = {
        "fromCluster": share.cluster,
        "purgeMode": cause.mode,
        "reason": cause.reason,
        "message": cause.message[:1024],
        "producer": cause.producer,
        "creationTimestamp": _text(now),
    }
    if share.replicas:
        raw["replicas"] = share.replicas
    if cause.mode == "Never":
        raw["suppressDeletion"] = True
    if labels:
        raw["preservedLabelState"] = dict(labels)
    return EvictionTask(share.cluster, {**raw, **{name: value for name, value in members.items() if value}})


def _since(task: EvictionTask, when: datetime) -> EvictionTask:
    return EvictionTask(task.from_cluster, {**task.raw, "creationTimestamp": _text(when)})


def _text(when: datetime) -> str:
    return when.isoformat(timespec="seconds").replace("+00:00", "Z")
