"""Two plans side by side: placement before → after, and manifests grouped by the same difference.

A change to forty clusters is printed once, with the forty names. Which clusters get which body is known from the
render classes, so no body is compared twice; bodies that differ elsewhere but change alike (one has two replicas, one
has three, both get a new image) are one difference too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gitfed.cli import bodies, matrix, names
from gitfed.model.base import Body, ClusterName, ObjectKey
from gitfed.model.plan import Plan, RenderedManifest


@dataclass(frozen=True, slots=True)
class Difference:
    """One object whose manifest differs in the same way in all of `clusters`. A missing side is None."""

    key: ObjectKey
    clusters: tuple[ClusterName, ...]
    before: Body | None
    after: Body | None
    """The sides of the first cluster, masked."""
    hunks: tuple[str, ...]
    """What differs, as a unified diff without its two title lines."""

    @property
    def verb(self) -> str:
        return "new" if self.before is None else "gone" if self.after is None else "changed"


def placement(base: Plan, head: Plan) -> list[matrix.Row]:
    """Templates whose clusters or replicas differ."""
    rows = []
    for key in sorted(base.bindings.keys() | head.bindings.keys()):
        old, new = base.bindings.get(key), head.bindings.get(key)
        before = matrix.of(old.shares) if old else {}
        after = matrix.of(new.shares) if new else {}
        if before == after:
            continue
        if new is None:
            why = "removed from the repository"
        elif old is None:
            why = f"new: {new.why}" if new.why else "new"
        elif old.policy != new.policy:
            why = f"policy {old.policy or 'none'} → {new.policy or 'none'}"
        elif new.condition is not None and not new.condition.status:
            why = f"{new.condition.reason}: {new.condition.message}"
        elif old.replicas != new.replicas and None not in (old.replicas, new.replicas):
            why = f"replicas {old.replicas} → {new.replicas}"
        else:
            why = new.why
        rows.append(matrix.Row(names.shown(key), before, after, why))
    return rows


def manifests(base: Plan, head: Plan, *, show_secrets: bool = False) -> Iterator[Difference]:
    """Sorted by object, then by first cluster."""
    for key in sorted(base.rendered.keys() | head.rendered.keys()):
        old, new = _by_cluster(base.rendered.get(key, ())), _by_cluster(head.rendered.get(key, ()))
        groups: dict[tuple[str, str], list[ClusterName]] = {}
        for cluster in sorted(old.keys() | new.keys()):
            sides = tuple(side[cluster].digest if cluster in side else "" for side in (old, new))
            if sides[0] != sides[1]:
                groups.setdefault((sides[0], sides[1]), []).append(cluster)
        alike: dict[tuple[str, tuple[str, ...]], Difference] = {}
        for clusters in sorted(groups.values()):
            one = _difference(key, clusters, old, new, show_secrets=show_secrets)
            known = alike.get((one.verb, one.hunks))
            together = tuple(sorted(known.clusters + one.clusters)) if known else one.clusters
            alike[one.verb, one.hunks] = replace(known or one, clusters=together)
        yield from alike.values()


def _difference(
    key: ObjectKey,
    clusters: Sequence[ClusterName],
    old: Mapping[ClusterName, RenderedManifest],
    new: Mapping[ClusterName, RenderedManifest],
    *,
    show_secrets: bool,
) -> Difference:
    before = old[clusters[0]].body if clusters[0] in old else None
    after = new[clusters[0]].body if clusters[0] in new else None
    if not show_secrets:
        before, after = bodies.masked(before, after)
    hunks = bodies.unified(bodies.text(before), bodies.text(after), "", "")[2:]
    return Difference(key, tuple(clusters), before, after, tuple(hunks))


def _by_cluster(classes: tuple[RenderedManifest, ...]) -> Mapping[ClusterName, RenderedManifest]:
    return {cluster: rendered for rendered in classes for cluster in rendered.clusters}
