"""A diff for programs: `gitfed diff -o json`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gitfed.cli.output import manifest_text, plain, reasons
from gitfed.cli.output.diff import compare
from gitfed.cli.output.diff.view import DiffView, problems
from gitfed.planning import retained_objects
from gitfed.planning.review.review import Review
from gitfed.views import differences, plans

SCHEMA = "gitfed.io/diff/v1"


def document(shown: DiffView, manifests: list[compare.Difference]) -> dict[str, Any]:
    review = shown.review
    facts = plans.facts(review.head.facts)
    return {
        "schema": SCHEMA,
        "base": review.base.commit,
        "head": review.head.commit,
        "facts": facts,
        "notes": list(shown.preview.notes),
        "refused": shown.preview.refused or None,
        "declared": [differences.declaration(declaration) for declaration in review.declared],
        "placement": list(_placement(review)),
        "manifests": [_manifest(item, shown.titles) for item in manifests],
        "changes": [
            {name: value for name, value in plans.change(change).items() if name != "diff"} for change in review.changes
        ],
        "gates": [plans.gate(gate) for gate in review.gates],
        "totals": plans.totals(review.totals),
        "problems": [plans.problem(problem) for problem in problems(shown)],
    }


def _placement(review: Review) -> Iterator[dict[str, Any]]:
    flows = {flow.key: flow for flow in review.flows}
    stays = retained_objects.of_changes(review.changes)
    for key in sorted(review.base.bindings.keys() | review.head.bindings.keys()):
        old, new = review.base.bindings.get(key), review.head.bindings.get(key)
        if old is new or (old.scheduled.shares if old else ()) == (new.scheduled.shares if new else ()):
            continue
        moved = flows.get(key)
        placed = {share.cluster for share in (new.scheduled.shares if new else ())}
        kept = {name: reason for name, reason in stays.get(key, {}).items() if name not in placed}
        yield {
            "resource": plans.binding(new or old)["resource"],  # type: ignore[arg-type]
            "before": plans.binding(old)["clusters"] if old else [],
            "after": plans.binding(new)["clusters"] if new else [],
            "kept": [
                {"name": share.cluster, "replicas": share.replicas, "reasonCode": kept[share.cluster].code.value}
                for share in (old.scheduled.shares if old else ())
                if share.cluster in kept
            ],
            "moved": moved.replicas if moved else 0,
            "why": new.reasons.why if new else reasons.gone(old),
        }


def _manifest(item: compare.Difference, titles: tuple[str, str]) -> dict[str, Any]:
    """`diff` is always the whole difference, also where a reader is spared it."""
    hunks = item.hunks
    if item.like:
        hunks = tuple(manifest_text.compared(item.before, item.after))
    name = plain.clean(str(item.key))
    old = f"{titles[0]}/{name}" if item.before is not None else "/dev/null"
    new = f"{titles[1]}/{name}" if item.after is not None else "/dev/null"
    return {
        "apiVersion": (item.after or item.before or {}).get("apiVersion", ""),
        "kind": item.key.kind,
        "namespace": item.key.namespace,
        "name": item.key.name,
        "clusters": list(item.clusters),
        "change": item.verb,
        "like": item.like or None,
        "exact": item.exact,
        "written": item.written,
        "diff": "\n".join([f"--- {old}", f"+++ {new}", *hunks]),
    }
