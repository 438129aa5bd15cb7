"""Manifests of two plans side by side: each difference once, with the clusters that share it.

A change to forty clusters is printed once. Clusters are grouped by what changes, not by what the object is there: one
has two replicas and another's registry, both get a new image; that is one difference, shown for the first of them. An
object that comes to one more cluster is compared with itself where it is already; one that leaves a cluster and stays
elsewhere has nothing to read.

Texts are masked here, Secrets and what was copied from them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from gitfed.cli.output import manifest_text, matrix, reasons
from gitfed.model.base import Body, ClusterName, ObjectKey
from gitfed.model.plan import RenderedManifest
from gitfed.model.reason import ReasonCode
from gitfed.planning import retained_objects
from gitfed.planning.review import declared_changes, predict
from gitfed.planning.review import review as reviewing
from gitfed.text import canonical
from gitfed.text.values import dataclass
from gitfed.views import names

_REPLICAS = ("/spec/replicas", "/spec/parallelism")
"""What a share sets; the placement table shows it for every cluster."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One object whose manifest differs alike in all of `clusters`. A missing side is None."""

    key: ObjectKey
    clusters: tuple[ClusterName, ...]
    before: Body | None
    after: Body | None
    """The sides of the first cluster, masked."""
    hunks: tuple[str, ...]
    """What differs, as a unified diff without its two title lines; what to read, not all that could be printed."""
    like: ClusterName = ""
    """A cluster that has the object too: a new copy is compared with that one, and a leaving one not at all."""
    like_after: bool = False
    """Whether the copy in `like` is that of the second commit, so that both sides are of one commit."""
    exact: bool = True
    """Whether it is the same text in all clusters; else replicas or overridden values beside the change differ."""
    of: int = 0
    """Clusters in which the object differs in some way."""
    written: bool = True
    """False where nothing is to be done about it: both sides mean the same to a server, or what is there is kept."""
    kept: retained_objects.Kept = field(default_factory=dict)
    """Why the copies stay that it has in `clusters` and is to have there no more."""

    @property
    def verb(self) -> str:
        if self.kept:
            return "kept"
        return "new" if self.before is None else "gone" if self.after is None else "changed"


def placement(review: reviewing.Review) -> list[matrix.MatrixRow]:
    """Templates whose clusters or replicas differ."""
    base, head = review.base, review.head
    edited = {
        (declaration.key.kind, declaration.key.namespace, declaration.key.name)
        for declaration in review.declared
        if declaration.verb == "changed"
    }
    stays = retained_objects.of_changes(review.changes)
    rows = []
    for key in sorted(base.bindings.keys() | head.bindings.keys()):
        old, new = base.bindings.get(key), head.bindings.get(key)
        if old is new:
            continue
        before = matrix.of(old.scheduled.shares) if old else {}
        after = matrix.of(new.scheduled.shares) if new else {}
        if before == after:
            continue
        kept = {name: reason for name, reason in stays.get(key, {}).items() if name in before and name not in after}
        if new is None:
            why = reasons.gone(old)
        elif old is None:
            why = f"new: {new.reasons.why}" if new.reasons.why else "new"
        elif old.scheduled.policy != new.scheduled.policy:
            why = f"policy {old.scheduled.policy or 'none'} → {new.scheduled.policy or 'none'}"
        elif new.scheduled.condition is not None and not new.scheduled.condition.status:
            why = f"{new.scheduled.condition.reason}: {new.scheduled.condition.message}"
        elif old.scheduled.replicas != new.scheduled.replicas and None not in (
            old.scheduled.replicas,
            new.scheduled.replicas,
        ):
            why = f"replicas {old.scheduled.replicas} → {new.scheduled.replicas}"
        else:
            why = reasons.chosen(new, before)
        if (
            old
            and new
            and new.scheduled.policy == old.scheduled.policy
            and new.scheduled.policy is not None
            and tuple(new.scheduled.policy) in edited
        ):
            why = f"its policy changed; {why}"
        if kept:
            why = retained_objects.why(why, kept)
        rows.append(matrix.MatrixRow(names.shown(key), before, after, why, kept.keys()))
    return rows


def manifests(review: reviewing.Review, *, show_secrets: bool = False, exactly: bool = False) -> Iterator[Difference]:
    """Sorted by object, then by first cluster. `exactly`: clusters stand together only where every byte is the same."""
    concerned: dict[ObjectKey, set[ClusterName]] = {}
    kept = retained_objects.of_changes(review.changes)
    unmade: dict[ObjectKey, set[ClusterName]] = {}
    for change in review.changes:
        concerned.setdefault(change.key, set()).add(change.cluster)
        if change.reason.code is ReasonCode.NOT_RENDERED:
            unmade.setdefault(change.key, set()).add(change.cluster)
    for key in review.touched:
        before, after = review.manifests.of(key)
        if key in unmade:
            before = tuple(_elsewhere(before, unmade[key]))  # it stays as it is, and does not go
        if before is after or before == after:
            continue
        where, stays = concerned.get(key, set()), kept.get(key, {})
        for difference in _Object(key, before, after, review, show_secrets, exactly).differences(stays):
            silent = where.isdisjoint(difference.clusters) if difference.verb == "changed" else bool(difference.kept)
            yield replace(difference, written=False) if silent else difference


def _elsewhere(manifests: Iterable[RenderedManifest], without: Collection[ClusterName]) -> Iterator[RenderedManifest]:
    for manifest in manifests:
        if clusters := tuple(name for name in manifest.clusters if name not in without):
            yield replace(manifest, clusters=clusters)


class _Object:
    """One object in all clusters, before and after."""

    def __init__(
        self,
        key: ObjectKey,
        before: tuple[RenderedManifest, ...],
        after: tuple[RenderedManifest, ...],
        review: reviewing.Review,
        show_secrets: bool,
        exactly: bool,
    ) -> None:
        self.key = key
        self.old, self.new = predict.by_cluster(before), predict.by_cluster(after)
        self._review = review
        self._show_secrets = show_secrets
        self._key_of = _steps if exactly else _essence
        names = sorted(self.old.keys() | self.new.keys())
        self.differing = [name for name in names if _digest(self.old, name) != _digest(self.new, name)]

    def differences(self, kept: retained_objects.Kept) -> list[Difference]:
        """`kept`: clusters where what is there is left as it is, and why."""
        stays = sorted(self.new.keys() & self.old.keys())
        changed = [name for name in self.differing if name in self.old and name in self.new]
        differences = list(self._alike(changed, self.old, self.new))
        differences += self._arrivals([name for name in self.differing if name not in self.old], stays)
        gone = [name for name in self.differing if name not in self.new]
        differences += self._departures([name for name in gone if name not in kept])
        differences += self._left([name for name in gone if name in kept], kept)
        return sorted(differences, key=lambda difference: difference.clusters)

    def _departures(self, names: Sequence[ClusterName]) -> Iterator[Difference]:
        """Copies that leave, which have nothing to read where the object stays elsewhere."""
        if names:
            before, after = self._masked(self.old[names[0]].body, None)
            hunks = () if self.new else self._hunks(before, after)
            alike = len({self.old[name].digest for name in names}) == 1
            like = min(self.new, default="")
            yield Difference(self.key, tuple(names), before, None, hunks, like, exact=alike, of=len(self.differing))

    def _left(self, names: Sequence[ClusterName], kept: retained_objects.Kept) -> Iterator[Difference]:
        """Copies that stay although it does not go there any more: nothing goes, so there is nothing to read."""
        for lasting in (True, False):
            clusters = [name for name in names if (kept[name].code in retained_objects.UNMANAGED) is lasting]
            for difference in self._departures(clusters):
                yield replace(difference, hunks=(), kept={name: kept[name] for name in clusters})

    def _arrivals(self, names: Sequence[ClusterName], stays: Sequence[ClusterName]) -> Iterator[Difference]:
        """New copies: compared with a copy that is there already, or the first of them in full."""
        if not names:
            return
        remaining = list(names)
        like = stays[0] if stays else min(self.old) if self.old else ""
        if not like:
            like = remaining[0]
            same = [name for name in remaining if self.new[name].digest == self.new[like].digest]
            before, after = self._masked(None, self.new[like].body)
            yield Difference(self.key, tuple(same), None, after, self._hunks(before, after), of=len(self.differing))
            remaining = [name for name in remaining if name not in same]
        source = self.new if like in self.new else self.old
        for difference in self._alike(remaining, dict.fromkeys(remaining, source[like]), self.new):
            yield Difference(
                self.key,
                difference.clusters,
                None,
                difference.after,
                difference.hunks,
                like,
                like in self.new,
                difference.exact,
                len(self.differing),
            )

    def _alike(
        self,
        names: Sequence[ClusterName],
        old: Mapping[ClusterName, RenderedManifest],
        new: Mapping[ClusterName, RenderedManifest],
    ) -> Iterator[Difference]:
        """The clusters by what changes from `old` to `new`. Bodies are compared once for each pair of them."""
        pairs: dict[tuple[str, str], list[ClusterName]] = {}
        for name in names:
            pairs.setdefault((old[name].digest, new[name].digest), []).append(name)
        groups: dict[bytes, list[list[ClusterName]]] = {}
        for members in pairs.values():
            key = self._key_of(old[members[0]], new[members[0]]) if len(pairs) > 1 else b""
            groups.setdefault(key, []).append(members)
        for parts in groups.values():
            clusters = sorted(name for part in parts for name in part)
            first = clusters[0]
            before, after = self._masked(old[first].body, new[first].body)
            yield Difference(
                self.key,
                tuple(clusters),
                before,
                after,
                self._hunks(before, after),
                exact=len(parts) == 1 or len({_steps(old[part[0]], new[part[0]]) for part in parts}) == 1,
                of=len(self.differing),
            )

    def _masked(self, before: Body | None, after: Body | None) -> tuple[Body | None, Body | None]:
        if self._show_secrets:
            return before, after
        before, after = manifest_text.masked(before, after)
        hide = self._review.hidden.value
        return (None if before is None else hide(before)), (None if after is None else hide(after))

    def _hunks(self, before: Body | None, after: Body | None) -> tuple[str, ...]:
        return tuple(manifest_text.compared(before, after))


def _digest(side: Mapping[ClusterName, RenderedManifest], name: ClusterName) -> str:
    return side[name].digest if name in side else ""


def _steps(old: RenderedManifest, new: RenderedManifest) -> bytes:
    """Every field that differs, with its values."""
    return canonical.dumps(
        [
            [step.pointer, step.before, step.after, step.absent_before, step.absent_after]
            for step in declared_changes.differences(old.body, new.body)
        ]
    )


def _essence(old: RenderedManifest, new: RenderedManifest) -> bytes:
    """Every field that differs, without what is there anyway: replicas of a share, and the parts of a text that stay
    (`eu.example/web:1` → `eu.example/web:2` and `us.example/web:1` → `us.example/web:2` are the same step)."""
    steps: list[list[Any]] = []
    for step in declared_changes.differences(old.body, new.body):
        values: list[Any] = [step.before, step.after]
        if step.pointer in _REPLICAS and old.replicas != new.replicas:
            values = ["placed", "placed"]
        elif isinstance(step.before, str) and isinstance(step.after, str):
            values = _without_common(step.before, step.after)
        steps.append([step.pointer, *values, step.absent_before, step.absent_after])
    return canonical.dumps(steps)


def _without_common(before: str, after: str) -> list[Any]:
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    return [before[start : len(before) - end], after[start : len(after) - end]]


def _common(first: str, second: str) -> int:
    """Length of the beginning that two texts share."""
    return next(
        (i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )
