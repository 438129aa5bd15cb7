"""What the state branch says of each cluster: how far it is with a commit, and what is not finished there.

Two moments matter. *Before* deletions begin, the number of objects is lowered by them: an inventory that then has fewer
entries must not look damaged. *After* a roll-out, when nothing moves any more, the outcome is written: "applied",
"held", "waiting", "failed" or "unreachable", with the objects that are not as they should be, so that writing them
later is not taken for the repair of drift. "applied" says that nothing is left to do there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from gitfed.documents.state_commits import Act
from gitfed.edges.state.file import CLEANED
from gitfed.model.base import ClusterName
from gitfed.model.decisions import Decisions
from gitfed.model.operator_orders import Removal
from gitfed.model.plan import Action, Left, Plan
from gitfed.planning.review import events

if TYPE_CHECKING:
    # A command that only reads what was written down (`limits`) touches no cluster, and is not to pay for a Kubernetes
    # client.
    from gitfed.daemon.fleet.fleet import Fleet

_MOST_UNFINISHED = 100
"""Objects of a cluster that the state names one by one."""

Results = Mapping[ClusterName, Mapping[str, Any]]
"""By cluster: commit, outcome, objects, and where there are any: failures (how many), held (how many, by what holds
them), unfinished (keys, or "*")."""


def entries(results: Results, cluster: ClusterName) -> int:
    """How many inventory entries a cluster has at least.

    What was *carried out* counts, not what was decided: a roll-out that was cut short is no damage.
    """
    count = results.get(cluster, {}).get("objects", 0)
    return count if isinstance(count, int) else 0


def by_id(results: Results) -> Mapping[str, list[ClusterName]]:
    """Clusters by the uid of the kube-system that they had."""
    clusters: dict[str, list[ClusterName]] = {}
    for name, result in results.items():
        if uid := result.get("id"):
            clusters.setdefault(str(uid), []).append(name)
    return clusters


def before_deleting(results: Results, plan: Plan, fleet: Fleet) -> Results:
    """The same, with no more objects in a cluster than those that this plan does not delete."""
    left = dict(results)
    for name, count in _deletions(plan).items():
        result, member = results.get(name, {}), fleet.members.get(name)
        if member is not None and member.ready.is_set() and isinstance(result.get("objects"), int):
            left[name] = {**result, "objects": min(result["objects"], max(0, len(member.view.entries()) - count))}
    return left


def after(
    results: Results, plan: Plan, fleet: Fleet, in_use: Collection[ClusterName], waiting: Collection[ClusterName]
) -> Results:
    """What has become of a plan in every cluster, once all is quiet.

    `in_use`: clusters that could be written to when this was planned. The plan says nothing of one that came since.
    `waiting`: those with changes that wait for something else to be healthy.
    """
    reached = dict(results)
    unwritten, deletions, held = _unwritten(plan), _deletions(plan), _held(plan)
    for name, member in fleet.members.items():
        if name not in in_use or not member.ready.is_set():
            if results.get(name, {}).get("outcome") == CLEANED:
                continue  # its file is there still, or again, and nothing was written there since
            comes = member.ready.is_set() or member.starting
            reached[name] = {**results.get(name, {}), "outcome": "waiting" if comes else "unreachable"}
            continue
        failures = fleet.unfinished.failures(name)
        kept = fleet.unfinished.kept(name)
        unfinished = sorted({str(failed.key) for failed in (*failures, *kept)} | unwritten.get(name, set()))
        holding = {**held.get(name, {}), **({events.IN_USE: len(kept)} if kept else {})}
        outcome = _outcome(failed=bool(failures), held=bool(holding), waiting=name in waiting or bool(unfinished))
        objects = max(0, len(member.view.entries()) - deletions.get(name, 0) + len(kept))
        result = {"commit": str(plan.commit), "outcome": outcome, "objects": objects}
        if member.id:
            result["id"] = member.id
        if failures:
            result["failures"] = len(failures)
        if holding:
            result["held"] = holding
        if unfinished:
            result["unfinished"] = unfinished if len(unfinished) <= _MOST_UNFINISHED else ["*"]
        reached[name] = result
    return reached


def without_left(results: Results, decisions: Decisions) -> Results:
    """The same, without clusters that have left and that no decision names any more."""
    if not decisions.cleaned:
        return results
    named = {name for decision in decisions.bindings.values() for name in decision.may_be_in()}
    gone = {name for name in decisions.cleaned - named if results.get(name, {}).get("outcome") == CLEANED}
    return {name: result for name, result in results.items() if name not in gone}


def _outcome(*, failed: bool, held: bool, waiting: bool) -> str:
    return "failed" if failed else "held" if held else "waiting" if waiting else "applied"


def act(results: Results) -> Act:
    """What a commit says of all clusters: the worst that became of one that can be reached."""
    outcomes = {str(result.get("outcome")) for result in results.values()}
    return Act.FAILED if "failed" in outcomes else Act.HELD if "held" in outcomes else Act.APPLIED


def sentence(cluster: ClusterName, result: Mapping[str, Any]) -> str:
    """`eu-1: held: 20 by gate deletions`; `eu-1: failed: 1 object`."""
    details = [f"{count} {events.holder_in_words(holder)}" for holder, count in result.get("held", {}).items()]
    if result.get("failures"):
        details.insert(0, f"{result['failures']} refused or failed")
    return f"{cluster}: {result['outcome']}" + (f": {', '.join(details)}" if details else "")


def removals_left(removals: Collection[Removal], fleet: Fleet) -> tuple[Removal, ...]:
    """Orders to delete an orphan that are not carried out yet; of a cluster that cannot be read this is unknown."""
    left = []
    for removal in removals:
        member = fleet.members.get(removal.cluster)
        unknown = member is None or not member.ready.is_set()
        seen = {} if member is None else member.view.objects()
        if unknown or any(str(key) == removal.object and live.uid == removal.uid for key, live in seen.items()):
            left.append(removal)
    return tuple(left)


def _deletions(plan: Plan) -> dict[ClusterName, int]:
    """How many objects this plan deletes, by cluster."""
    deletions: dict[ClusterName, int] = {}
    for change in plan.changes or ():
        if change.action is Action.DELETE:
            deletions[change.cluster] = deletions.get(change.cluster, 0) + 1
    return deletions


def _held(plan: Plan) -> dict[ClusterName, dict[str, int]]:
    """How many changes of each cluster need a person, by what holds them: `gate <name>`, `suspended` or `refused`."""
    held: dict[ClusterName, dict[str, int]] = {}
    for change in plan.changes or ():
        if change.left not in (None, Left.AWAITS) and not change.drift:
            holder = f"gate {change.gate}" if change.left is Left.GATE else change.left.value
            counts = held.setdefault(change.cluster, {})
            counts[holder] = counts.get(holder, 0) + 1
    return {name: dict(sorted(counts.items())) for name, counts in held.items()}


def _unwritten(plan: Plan) -> dict[ClusterName, set[str]]:
    """Objects that this plan does not write as they should be, by cluster: they wait, or are held."""
    unwritten: dict[ClusterName, set[str]] = {}
    for change in plan.changes or ():
        if change.turn.waits or (change.action is Action.SKIP and not change.drift):
            unwritten.setdefault(change.cluster, set()).add(str(change.key))
    return unwritten
