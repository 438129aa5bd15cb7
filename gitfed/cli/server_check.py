"""`apply --dry-run=server`: every change of a plan goes to its API server, which does everything but storing it.

Admission, schemas and rights are those of the real cluster, so what is refused here would be refused then. A dry run
leaves nothing behind, so what needs a namespace or a definition of the same plan cannot be checked; that is said.
"""

from __future__ import annotations

import asyncio

from gitfed.daemon import wiring
from gitfed.edges.kube import apply, discovery
from gitfed.errors import ClusterError
from gitfed.model import definition
from gitfed.model.base import Body, Kind
from gitfed.model.fleet import ApplyResult
from gitfed.model.plan import Action, Change, Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.planning.objects import redact, secret_leaks

_AT_ONCE = 8
_ACTS = (Action.CREATE, Action.UPDATE, Action.DELETE)


async def run(repo: RepoSnapshot, plan: Plan, settings: wiring.DaemonOptions) -> list[ApplyResult]:
    """In the plan's order. A cluster that cannot be reached fails its own changes and no others."""
    lists: dict[str, list[Change]] = {}
    for change in plan.changes or ():
        if change.action in _ACTS:
            lists.setdefault(change.cluster, []).append(change)
    open_session = wiring.open_sessions(settings)
    hidden = redact.Hidden(secret_leaks.rendered_secrets(plan))

    def hide(body: Body, text: str) -> str:
        return hidden.text(redact.text_of(body, text))

    async def check_cluster(name: str, changes: list[Change]) -> list[ApplyResult]:
        try:
            session = open_session(repo.clusters[name])
        except ClusterError as error:
            return [ApplyResult(name, change.key, "failed", str(error)) for change in changes]
        async with session:
            target = apply.ApplyTarget(
                session, discovery.Discovery(session), plan.federation, redact=hide, dry_run=True
            )
            gate = asyncio.Semaphore(_AT_ONCE)
            missing = _made_here(changes)
            return list(await asyncio.gather(*(check_change(target, gate, change, missing) for change in changes)))

    async def check_change(
        target: apply.ApplyTarget, gate: asyncio.Semaphore, change: Change, missing: frozenset[str | Kind]
    ) -> ApplyResult:
        if needed := missing & {change.key.namespace, Kind(change.key.group, change.key.kind)}:
            what = "definition" if any(isinstance(item, Kind) for item in needed) else "namespace"
            reason = f"cannot be checked: its {what} is made by the same plan"
            return ApplyResult(change.cluster, change.key, "skipped", reason)
        async with gate:
            try:
                return await apply.carry_out(target, change)
            except ClusterError as error:
                return ApplyResult(change.cluster, change.key, "failed", str(error))

    by_cluster = await asyncio.gather(*(check_cluster(name, changes) for name, changes in sorted(lists.items())))
    return [result for results in by_cluster for result in results]


def _made_here(changes: list[Change]) -> frozenset[str | Kind]:
    """Names of namespaces, and kinds, that these changes bring into being."""
    made: set[str | Kind] = set()
    for change in changes:
        if change.action is not Action.CREATE or change.write.rendered is None:
            continue
        if (change.key.group, change.key.kind) == ("", "Namespace"):
            made.add(change.key.name)
        elif change.key.kind == "CustomResourceDefinition":
            defined = definition.read(change.write.rendered.body)
            if defined is not None:
                made.add(defined.kind)
    return frozenset(made)
