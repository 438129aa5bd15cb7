"""Moves with a floor: replicas are taken away in one cluster when those that replace them run in another.

When a workload's division changes, some clusters get more and some get less. Those that get less keep what they have,
whatever else of the manifest changes, until every cluster with at least as many as before holds its number and is
healthy. So the fleet never runs fewer than the smaller of the old and the new total. A whole copy that moves is kept in
the same way (`prune.unwanted`). All of it is read from what is there: the inventory's replica numbers and health.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gitfed.interpret.registry import Answer, Interpreter
from gitfed.model.base import ClusterName, Digest
from gitfed.model.decisions import Share
from gitfed.model.fleet import Health, LiveObject
from gitfed.model.plan import Binding, RenderedManifest
from gitfed.model.reason import Reason, ReasonCode
from gitfed.planning.objects import diff
from gitfed.text import canonical

_REPLICAS = ("spec", "replicas")


def hold(
    binding: Binding,
    rendered: RenderedManifest,
    cluster: ClusterName,
    copies: Mapping[ClusterName, LiveObject],
    interpreter: Interpreter,
) -> tuple[RenderedManifest, Reason] | None:
    """What to render in place of `rendered` while others have to take over first, and why; None: nothing is held."""
    live = copies.get(cluster)
    had = live.entry.replicas if live is not None and live.ours and live.entry is not None else None
    if rendered.key.kind == "Job":
        return None  # what runs to its end has no availability
    if live is not None and live.health is not Health.CURRENT and _available(live) <= (rendered.replicas or 0):
        return None  # what is taken away does not run: a controller removes those replicas first
    if had is None or rendered.replicas is None or binding.replicas is None or had <= rendered.replicas:
        return None
    waiting = [_still(share, copies.get(share.cluster)) for share in binding.shares if share.cluster != cluster]
    reasons = [reason for reason in waiting if reason]
    if not reasons or _REPLICAS in diff.ignored_pointers(rendered.body, rendered.body):
        return None
    # What the division does not decide (an override, a rule without replicas) it does not hold either.
    same, kept = (interpreter.revise_replica(rendered.body, number) for number in (rendered.replicas, had))
    if not isinstance(same, Answer) or not isinstance(kept, Answer) or same.value != rendered.body:
        return None
    body = kept.value
    if body == rendered.body:
        return None
    held = replace(rendered, body=body, digest=Digest(canonical.digest(body)), replicas=had, clusters=(cluster,))
    return held, Reason(ReasonCode.AVAILABILITY_FLOOR, str(had), detail=", ".join(reasons))


def _available(live: LiveObject) -> int:
    """Replicas that serve now, by what was collected of the status; 0 where nothing was."""
    status = live.status or (live.body or {}).get("status") or {}
    count = status.get("availableReplicas")
    return count if isinstance(count, int) else 0


def _still(share: Share, live: LiveObject | None) -> str:
    """What another cluster has to reach first; "" when it has, or when it gives replicas away itself."""
    if not share.replicas:
        return ""
    has = live.entry.replicas or 0 if live is not None and live.ours and live.entry is not None else 0
    if has > share.replicas:
        return ""
    if has < share.replicas:
        return f"{share.cluster} has {share.replicas}"
    assert live is not None
    return "" if live.health is Health.CURRENT else f"{share.cluster} runs {share.replicas}"
