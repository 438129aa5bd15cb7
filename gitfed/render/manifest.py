"""★ From a binding to the manifests of its clusters: revise → override → stamp → prune (Karmada: policies §5.1–5.3).

Clusters that get the same body form a *render class*: one body, many clusters. A class is found before anything is
rendered, from the replicas a cluster gets and the override rules that hit it, so the work is done once for a class
and not once for a cluster.

Nothing volatile is stamped: no commit, no time. An unchanged object stays byte-identical across commits.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from operator import attrgetter
from typing import NamedTuple

from gitfed.interpret import defaults
from gitfed.interpret.registry import Interpreter, OperationInputs, Unknown
from gitfed.model.base import BindingId, Body, ClusterName, Digest, Problem, Severity
from gitfed.model.decisions import Labels
from gitfed.model.keys import BINDING_LABEL, FEDERATION_LABEL
from gitfed.model.plan import Binding, Edit, RenderedManifest
from gitfed.model.repo import Manifest
from gitfed.placement.scheduling.cluster import Candidate
from gitfed.render import irrelevant_fields, override, revise
from gitfed.text import canonical
from gitfed.text.values import dataclass

_CLUSTER, _REPLICAS = attrgetter("cluster"), attrgetter("replicas")
"""Loops in C: most workloads give all of their clusters the same, and those may be a hundred."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """The classes of one template, and the clusters for which an override failed, each with the reason."""

    rendered: tuple[RenderedManifest, ...] = ()
    failed: Mapping[ClusterName, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    ask_again: bool = False
    """A rule gave no answer this time; it may the next time."""


class ShareGroup(NamedTuple):
    """What clusters with the same share have in common: with it, and with the overrides that hit them, the body."""

    replicas: int | None
    completions: int | None
    """Of a divided Job."""
    labels: Labels
    """State that a failover brought."""
    clusters: tuple[ClusterName, ...]


def parts(manifest: Manifest, binding: Binding) -> list[ShareGroup]:
    """The clusters of a binding by what they get, in the order of its shares."""
    completions = revise.completions(manifest.body, binding) if manifest.key.kind == "Job" else {}
    labels = dict(binding.injected)
    if not completions and not labels and len(alike := set(map(_REPLICAS, binding.scheduled.shares))) == 1:
        return [ShareGroup(alike.pop(), None, (), tuple(map(_CLUSTER, binding.scheduled.shares)))]
    groups: dict[tuple[int | None, int | None, Labels], list[ClusterName]] = {}
    for share in binding.scheduled.shares:
        part = (share.replicas, completions.get(share.cluster), labels.get(share.cluster, ()))
        groups.setdefault(part, []).append(share.cluster)
    return [ShareGroup(*part, tuple(clusters)) for part, clusters in groups.items()]


@dataclass(frozen=True, slots=True)
class RenderContext:
    """What all manifests of one commit are made with."""

    candidates: Mapping[ClusterName, Candidate]
    overrides: override.Overrides
    interpreter: Interpreter
    federation: str


def render(manifest: Manifest, binding: Binding, context: RenderContext) -> Rendered:
    """The final manifests, before retain. Sorted by their first cluster."""
    return of_parts(manifest, binding, parts(manifest, binding), context)


def of_parts(manifest: Manifest, binding: Binding, wanted: Iterable[ShareGroup], context: RenderContext) -> Rendered:
    """The final manifests of some `parts`."""
    candidates, overrides, interpreter = context.candidates, context.overrides, context.interpreter
    bodies: dict[Digest, Body] = {}
    alike: dict[tuple[Digest, tuple[Edit, ...]], RenderedManifest] = {}
    failed: dict[ClusterName, str] = {}
    problems: list[Problem] = []
    ask_again = False
    for replicas, completions, labels, clusters in wanted:
        present = [candidates[name] for name in clusters if name in candidates]
        body: Body = manifest.body
        edits: tuple[Edit, ...] = ()
        if replicas is not None and binding.scheduled.replicas is not None:
            answer = interpreter.revise_replica(_revised(manifest, replicas), replicas)
            if isinstance(answer, Unknown):
                reason = f"replicas could not be set: {answer.reason}"
                failed.update(dict.fromkeys(clusters, reason))
                problems.append(_unrevised(manifest, reason, answer.cause))
                ask_again = ask_again or not answer.permanent
                continue
            body = answer.value
            if completions is not None:
                body = revise.with_completions(body, completions)
            if body is not manifest.body:
                edits = (Edit("replicas", manifest.origin, f"{replicas} of {binding.scheduled.replicas}"),)
        preserved = (
            (Edit("failover", manifest.origin, f"labels {', '.join(name for name, _ in labels)}"),) if labels else ()
        )
        for result in overrides.classes(body, present):
            if result.error is not None:
                reason = f"override failed: {result.error}"
                failed.update(dict.fromkeys(result.clusters, reason))
                problems.append(_problem(overrides, result.error, manifest, result.clusters))
                continue
            # State comes last: an override neither sees these labels nor changes what was preserved.
            final = irrelevant_fields.strip(
                stamp(as_stored(_labelled(result.body, labels)), context.federation, binding.id)
            )
            digest = Digest(canonical.digest(final))
            by = (*edits, *result.edits, *preserved)
            # Where two rules come to the same, each cluster is told of the one that reached it.
            same = alike.get((digest, by))
            alike[digest, by] = RenderedManifest(
                key=manifest.key,
                binding=binding.id,
                body=bodies.setdefault(digest, final),
                digest=digest,
                clusters=tuple(sorted(result.clusters + (same.clusters if same else ()))),
                replicas=replicas,
                origin=manifest.origin,
                edits=by,
            )
    return Rendered(tuple(sorted(alike.values(), key=lambda item: item.clusters)), failed, tuple(problems), ask_again)


def revisions(manifest: Manifest, binding: Binding) -> Iterator[OperationInputs]:
    """What `render` asks an interpreter to revise."""
    if binding.scheduled.replicas is not None:
        for replicas in {share.replicas for share in binding.scheduled.shares if share.replicas is not None}:
            yield OperationInputs(_revised(manifest, replicas), replicas=replicas)


def _revised(manifest: Manifest, replicas: int) -> Body:
    """What the author left to the API server stays left to it, unless a cluster gets another number."""
    return defaults.filled_in(manifest.body) if replicas != 1 else manifest.body


def each(manifest: Manifest, binding: Binding, bodies: Mapping[ClusterName, Body], *, federation: str) -> Rendered:
    """An object that is not a template's but made for single clusters: no replicas, no overrides."""
    by_digest: dict[Digest, RenderedManifest] = {}
    for name in sorted(bodies):
        final = stamp(bodies[name], federation, binding.id)
        digest = Digest(canonical.digest(final))
        clusters = (*(by_digest[digest].clusters if digest in by_digest else ()), name)
        by_digest[digest] = RenderedManifest(manifest.key, binding.id, final, digest, clusters, None, manifest.origin)
    return Rendered(tuple(by_digest.values()))


def stamp(body: Body, federation: str, binding: BindingId) -> Body:
    """The labels that say whose object it is. Ownership needs the inventory too."""
    metadata = body["metadata"]
    labels = {**(metadata.get("labels") or {}), FEDERATION_LABEL: federation, BINDING_LABEL: binding}
    return {**body, "metadata": {**metadata, "labels": labels}}


def as_stored(body: Body) -> Body:
    """A Secret's `stringData` as `data`, as the server would store it.

    Server-side apply would record `stringData` as ours and `data` as nobody's: a key that leaves the file would stay.
    """
    texts = body.get("stringData")
    if body.get("kind") != "Secret" or body.get("apiVersion") != "v1" or not isinstance(texts, dict):
        return body
    encoded = {name: base64.b64encode(text.encode()).decode() for name, text in texts.items() if isinstance(text, str)}
    rest = {name: value for name, value in body.items() if name != "stringData"}
    if wrong := {name: value for name, value in texts.items() if value is not None and not isinstance(value, str)}:
        rest["stringData"] = wrong  # a server refuses it: a number must not vanish without a word
    return {**rest, "data": {**(body.get("data") or {}), **encoded}}


def _labelled(body: Body, labels: Labels) -> Body:
    """State that a failover brought (Karmada: failover §2.7): on the object itself, not on its pods."""
    if not labels:
        return body
    metadata = body["metadata"]
    return {**body, "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), **dict(labels)}}}


def _unrevised(manifest: Manifest, reason: str, cause: str) -> Problem:
    message, hint = f"{manifest.key}: {reason}", "what is there stays as it is"
    return Problem(manifest.origin, message, hint, Severity.WARNING, cause)


def _problem(
    overrides: override.Overrides, error: override.OverrideError, manifest: Manifest, clusters: tuple[str, ...]
) -> Problem:
    return Problem(
        overrides.origin(error.policy) or manifest.origin,
        f"{error} for {manifest.key} in {', '.join(clusters)}",
        hint="what is there stays as it is",
    )
