"""gitfed explain"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import click

from gitfed.cli import complete, exits, load, options
from gitfed.cli.main import meant
from gitfed.cli.output import explain_numbers, formatting, matrix, names, plain, plan_json, structured, table
from gitfed.cli.output.table import Cell
from gitfed.errors import UsageError
from gitfed.model.base import ClusterName, ObjectKey, Origin
from gitfed.model.decisions import Decision, PolicyRef
from gitfed.model.fleet import FleetSnapshot
from gitfed.model.plan import Binding, Change, Edit, Plan
from gitfed.model.repo import Manifest, RepoSnapshot
from gitfed.placement.capacity import allowance
from gitfed.placement.explain import explain as placement
from gitfed.placement.scheduling import match
from gitfed.placement.scheduling.cluster import Candidate
from gitfed.text import quantity

SCHEMA = "gitfed.io/explanation/v1"


@dataclass(frozen=True, slots=True)
class Reason:
    """One cluster's part in the story of one template."""

    candidate: Candidate
    before: int | None
    after: int | None
    was: bool
    is_: bool
    why: str
    room: str


@dataclass(frozen=True, slots=True)
class Explanation:
    binding: Binding
    manifest: Manifest | None
    """None for what no file declares, such as an implied Namespace."""
    decision: Decision | None
    reasons: tuple[Reason, ...]
    edits: tuple[tuple[Edit, tuple[ClusterName, ...]], ...]
    changes: tuple[Change, ...]
    origins: dict[PolicyRef, Origin]
    story: placement.Story | None
    """Numbers and what would change them; None for what no policy places."""


@click.command("explain")
@click.argument("what", metavar="KIND/[NS/]NAME", shell_complete=complete.workloads)
@options.facts_or_live
@options.credentials
@options.option(
    "-c",
    "--cluster",
    "only",
    shared=False,
    metavar="C",
    default="",
    shell_complete=complete.clusters,
    help="Only this cluster.",
)
@options.option(
    "-n", "--namespace", shared=False, metavar="NS", default="", help="Namespace, when WHAT does not name it."
)
@options.output("text", "json", "yaml")
def command(
    what: str,
    inputs: options.Inputs,
    credentials: options.Credentials,
    only: str,
    namespace: str,
    output: options.Output,
) -> int:
    """Say why an object goes where it goes: the policy that took it and those that lost, each cluster's reason and
    share, the overrides that hit, with files and lines.

    KIND may be a kind, its plural or kubectl's short name, with or without its group.

    \b
    gitfed explain deploy/shop/web
    gitfed explain deployment.apps/web -n shop --cluster eu-1
    gitfed explain ns/shop -o json

    \b
    Exit codes: 0 done · 2 no such object or cluster · 3 invalid input in the repository · 4 repository or a cluster
    unreachable.
    """
    session = load.Session(inputs, credentials)
    fleet = session.fleet()
    past = session.decisions(fleet)
    plan = session.plan(fleet, past)
    key = names.find(what, plan.bindings, namespace=namespace)
    if only and only not in plan.clusters:
        raise UsageError(f"no cluster {only!r}{meant(only, list(plan.clusters))}", hint="gitfed get clusters")
    shown = explain(key, plan, session.repo, fleet, past.bindings.get(key), only)
    if output.format in ("json", "yaml"):
        structured.echo(document(shown), output.format)
    else:
        for line in lines(shown, output.paint, quiet=output.quiet):
            click.echo(line, color=True)
    about = [problem for problem in plan.problems if problem.origin.path == shown.binding.origin.path]
    return exits.first([load.tell(about), load.tell_unread(plan)])


def explain(
    key: ObjectKey, plan: Plan, repo: RepoSnapshot, fleet: FleetSnapshot, decision: Decision | None, only: str
) -> Explanation:
    """Reads the reasons out of a plan; decides nothing."""
    binding = plan.bindings[key]
    candidates = load.candidates(repo, fleet, plan)
    before = matrix.of(decision.targets) if decision else {}
    after = matrix.of(binding.shares)
    rejected = {rejection.cluster: rejection.reason for rejection in binding.rejections}
    reasons = []
    for candidate in candidates:
        name = candidate.name
        if only and name != only:
            continue
        why = rejected.get(name) or (binding.why if name in after else "not chosen")
        reasons.append(
            Reason(candidate, before.get(name), after.get(name), name in before, name in after, why, _room(candidate))
        )
    edits: dict[Edit, list[ClusterName]] = {}
    for rendered in plan.rendered.get(key, ()):
        for edit in rendered.edits:
            edits.setdefault(edit, []).extend(name for name in rendered.clusters if not only or name == only)
    changes = tuple(
        change for change in plan.changes or () if change.key == key and (not only or change.cluster == only)
    )
    origins = {
        PolicyRef(policy.kind, policy.metadata.namespace or "", policy.metadata.name): policy.origin
        for policy in (*repo.propagation, *repo.overrides)
    }
    hits = tuple((edit, tuple(sorted(clusters))) for edit, clusters in edits.items() if clusters)
    placed_by = next((policy for policy in repo.propagation if match.ref(policy) == binding.policy), None)
    told = None
    if placed_by is not None:
        space = allowance.space_of(repo.manifests[key].body, key.namespace)
        told = placement.story(binding, placed_by.spec.placement, decision, candidates, space)
        if only:
            told = replace(told, clusters=tuple(item for item in told.clusters if item.cluster == only))
    return Explanation(binding, repo.manifests.get(key), decision, tuple(reasons), hits, changes, origins, told)


def _room(candidate: Candidate) -> str:
    """What is left there, as recorded: `cpu 12 memory 40Gi`."""
    summary = (candidate.facts.resource_summary if candidate.facts else None) or {}
    total, used = summary.get("allocatable") or {}, summary.get("allocated") or {}
    parts = []
    for name in ("cpu", "memory"):
        try:
            if name in total:
                free = quantity.parse(str(total[name])) - quantity.parse(str(used.get(name, "0")))
                parts.append(f"{name} {quantity.text(free)}")
        except quantity.QuantityError:
            continue  # a summary that cannot be read says nothing about room
    return " ".join(parts)


# -- printing ---------------------------------------------------------------------------------------------------


def lines(shown: Explanation, paint: plain.Paint, *, quiet: bool = False) -> Iterator[str]:
    binding = shown.binding
    title = f"{names.shown(binding.key)}   {binding.api_version} {binding.key.kind}"
    yield paint.strong(plain.clean(title))
    facts = list(_about(shown))
    yield from table.lines([[Cell(f"  {name}", paint.faint), text] for name, text in facts])
    if quiet:
        return
    if shown.reasons:
        yield paint.strong("Clusters")
        yield from table.lines(_clusters(shown, paint), indent=2)
    if shown.story is not None:
        yield from explain_numbers.lines(shown.story, paint)
    if shown.edits:
        yield paint.strong("Changed on the way")
        rows = [[edit.by, edit.what, formatting.some(clusters), str(edit.origin)] for edit, clusters in shown.edits]
        yield from table.lines(rows, indent=2)
    if shown.changes:
        yield paint.strong("In the clusters")
        rows = [[change.cluster, change.action.value, str(change.reason)] for change in shown.changes]
        yield from table.lines(rows, indent=2)


def _about(shown: Explanation) -> Iterator[tuple[str, str]]:
    binding = shown.binding
    held = (
        f" held at {shown.manifest.held[:7]}, for its file has errors" if shown.manifest and shown.manifest.held else ""
    )
    yield (
        "Template",
        f"{binding.origin}{held}" if shown.manifest else f"needed by {binding.origin}, declared by no file",
    )
    if binding.policy is None:
        yield "Policy", "none: no policy selects it"
    elif not plan_json.is_policy(binding.policy):
        yield "Policy", "none needed"
    else:
        yield "Policy", _policy(shown, binding.policy)
    for loser in binding.losers:
        yield "  not", _policy(shown, loser)
    if binding.replicas is not None:
        was = shown.decision.replicas if shown.decision else None
        yield (
            "Replicas",
            f"{was} → {binding.replicas}" if was not in (None, binding.replicas) else str(binding.replicas),
        )
    if binding.affinity_name:
        yield "Affinity", binding.affinity_name
    if binding.condition is not None:
        yield "Scheduled", f"{binding.condition.status}: {binding.condition.reason}: {binding.condition.message}"
    if binding.why:
        yield "Why", binding.why
    if binding.decision is not None and binding.decision.descheduled is not None:
        yield (
            "Descheduled",
            f"{formatting.time(binding.decision.descheduled.at)}: {binding.decision.descheduled.message}",
        )


def _policy(shown: Explanation, ref: PolicyRef) -> str:
    origin = shown.origins.get(ref)
    return f"{ref} in {origin}" if origin else str(ref)


def _clusters(shown: Explanation, paint: plain.Paint) -> list[list[Cell | str]]:
    known = shown.decision is not None
    rejected = {item.cluster: item.rejected for item in shown.story.clusters} if shown.story is not None else {}
    rooms = any(reason.room for reason in shown.reasons)
    head = ["CLUSTER", "SHARE", "REGION", "STATE", "TAINTS", *(["FREE"] if rooms else []), "WHY"]
    rows: list[list[Cell | str]] = [[Cell(title, paint.faint) for title in head]]
    for reason in shown.reasons:
        candidate = reason.candidate
        share = matrix.text(reason.before, reason.after, was=reason.was, is_=reason.is_, known=known)
        state = candidate.reach.value + (" (assumed)" if candidate.facts and candidate.facts.assumed else "")
        taints = " ".join(map(str, candidate.taints)) or matrix.NONE
        room: list[Cell | str] = [reason.room or matrix.NONE] if rooms else []
        rows.append(
            [
                candidate.name,
                Cell(share, paint.added if reason.is_ else paint.faint),
                candidate.region or matrix.NONE,
                state,
                taints,
                *room,
                # The plan keeps one reason for each cluster; several filters may stand in the way.
                "; ".join(found) if reason.why in (found := rejected.get(candidate.name, ())) else reason.why,
            ]
        )
    return rows


def document(shown: Explanation) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "binding": plan_json.binding(shown.binding),
        "losers": [{"kind": one.kind, "namespace": one.namespace, "name": one.name} for one in shown.binding.losers],
        "clusters": [
            {
                "name": reason.candidate.name,
                "chosen": reason.is_,
                "replicas": reason.after,
                "before": {"chosen": reason.was, "replicas": reason.before},
                "region": reason.candidate.region,
                "state": reason.candidate.reach.value,
                "taints": [str(taint) for taint in reason.candidate.taints],
                "free": reason.room,
                "reason": reason.why,
            }
            for reason in shown.reasons
        ],
        "placement": explain_numbers.document(shown.story) if shown.story is not None else None,
        "overrides": [
            {"by": edit.by, "what": edit.what, "origin": str(edit.origin), "clusters": list(clusters)}
            for edit, clusters in shown.edits
        ],
        "changes": [plan_json.change(change) for change in shown.changes],
    }
