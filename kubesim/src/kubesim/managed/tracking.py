"""Who owns what after a write: the rules of server-side apply, on tables of managers.

``update`` (anything that is not an apply) takes ownership of what it adds and changes, and takes it from everybody
else. ``apply`` owns exactly what its configuration names; where that differs from what others own it conflicts; what it
named last time and does not any more goes away unless somebody else owns it. Kubernetes: structured merge and diff,
Updater.

An owner's fields are of the version it wrote in, so a change is compared once for each version that occurs. A body in
another version comes from ``Face.convert``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from kubesim import schema_decode
from kubesim.managed import checking, compare, entries, fieldset, merge, typed
from kubesim.managed.entries import Entry, Identity, Managed
from kubesim.managed.fieldset import EMPTY, FieldSet
from kubesim.schema_nodes import Node

Body = dict[str, Any]

Convert = Callable[[Body, str], "tuple[Body, Node] | None"]
"""(body, apiVersion) → the body in that version and its type; ``None`` if the version is not served any more."""


class NotConvertible(Exception):
    """A body does not fit the version that an owner's fields are of. The text is Kubernetes' answer to an apply."""


_PRUNING: Final = "failed to prune fields"


@dataclass(eq=False)
class Conflicts(Exception):
    """Fields that others own and an apply would change."""

    fields: dict[Identity, FieldSet]


@dataclass(frozen=True, slots=True)
class Face:
    """The version in which a write happens: its name, its type, the fields that can never be owned here, and the way
    to other versions."""

    api_version: str
    node: Node
    excluded: FieldSet
    convert: Convert

    def other(self, body: Body, api_version: str, failure: str) -> tuple[Body, Node] | None:
        """``body`` in another version; ``None`` if that is not served. Raises ``NotConvertible`` if it does not fit
        there, telling it as a ``failure``: owners of an older version cannot be told of a field it does not have.

        Built-in objects are written whole, so that a field that is always written is there in the other version even
        if a removal took it away. Custom ones are held to the other type as they are: pruned to it first, they would
        always fit (Kubernetes does neither).
        """
        if api_version == self.api_version == body.get("apiVersion", api_version):
            return body, self.node
        found = self.convert(body, api_version)
        if found is None:
            return None
        if not found[1].custom:
            return schema_decode.decode(found[1], found[0])[0], found[1]
        if complaints := checking.complaints(found[1], body, duplicates=True):
            raise NotConvertible(f"{failure}: {checking.told(complaints)}")
        return found


def _touched(
    face: Face, old: Body, new: Body, managed: Managed, writer: Identity | None
) -> tuple[compare.Comparison, dict[Identity, FieldSet], dict[Identity, FieldSet]]:
    """What happened, what of it others own and see changed, and what of theirs is gone. Owners of versions that are
    gone are struck from ``managed``."""
    own = compare.compare(face.node, old, new).without(face.excluded)
    by_version: dict[str, tuple[FieldSet, FieldSet] | None] = {face.api_version: _seen(own)}
    conflicts: dict[Identity, FieldSet] = {}
    gone: dict[Identity, FieldSet] = {}
    for who, entry in list(managed.items()):
        if who == writer:
            continue
        version = entry.api_version
        if version not in by_version:
            before = face.other(old, version, "failed to convert old object")
            after = face.other(new, version, "failed to convert new object")
            there = compare.compare(before[1], before[0], after[0]) if before and after else None
            by_version[version] = _seen(there.without(face.excluded)) if there else None
        seen = by_version[version]
        if seen is None:
            del managed[who]
            continue
        changed, removed = seen
        if conflict := fieldset.intersection(entry.fields, changed):
            conflicts[who] = conflict
        if removed:
            gone[who] = removed
    return own, conflicts, gone


def _seen(comparison: compare.Comparison) -> tuple[FieldSet, FieldSet]:
    """What owners see of a change: fields with another value, and fields that are gone."""
    return fieldset.union(comparison.modified, comparison.added), comparison.removed


def _take(managed: Managed, taken: dict[Identity, FieldSet]) -> None:
    """Takes fields from their owners. Who owns nothing any more is struck."""
    for who, fields in taken.items():
        if (entry := managed.get(who)) is None:
            continue
        left = fieldset.difference(entry.fields, fields)
        if not left:
            del managed[who]
        elif left != entry.fields:
            managed[who] = Entry(left, entry.api_version, entry.time)


def update(face: Face, old: Body, new: Body, managed: Managed) -> FieldSet:
    """The fields that a writer of ``new`` takes; ``managed`` is changed accordingly. Raises ``NotConvertible``."""
    own, conflicts, gone = _touched(face, old, new, managed, None)
    _take(managed, conflicts)
    _take(managed, gone)
    return fieldset.union(own.modified, own.added)


def apply(
    face: Face, live: Body, config: Body, named: FieldSet, managed: Managed, who: Identity, *, force: bool
) -> Body | None:
    """The merged body, or ``None`` if it equals ``live``; ``managed`` is changed accordingly. ``named`` are the fields
    of ``config``. Raises ``Conflicts`` and ``NotConvertible``."""
    merged: Body = merge.merge(face.node, live, config)
    last = managed.get(who)
    managed[who] = Entry(fieldset.without(named, face.excluded), face.api_version, last.time if last else "")
    if last is not None and last.fields:
        merged = _prune(face, merged, managed, last)
    _, conflicts, gone = _touched(face, live, merged, managed, who)
    if conflicts and not force:
        raise Conflicts(conflicts)
    _take(managed, conflicts)
    _take(managed, gone)
    if not managed[who].fields:
        del managed[who]
    if merged is live or (last is not None and last.api_version != face.api_version and typed.same(merged, live)):
        return None
    return merged


def _prune(face: Face, merged: Body, managed: Managed, last: Entry) -> Body:
    """``merged`` without what the applier named last time and nobody owns now."""
    version = face.api_version
    if last.api_version != version or any(entry.api_version != version for entry in managed.values()):
        return _prune_across(face, merged, managed, last)
    owned: FieldSet = EMPTY
    for entry in managed.values():
        owned = fieldset.union(owned, entry.fields)
    if not fieldset.difference(last.fields, owned):
        return merged
    before, now = typed.with_parents(face.node, last.fields), typed.with_parents(face.node, owned)
    result: Body = merge.remove(face.node, merged, fieldset.difference(before, now))
    # Who once made a list still owns it, but an empty list that was named last time goes all the same.
    gone = merge.vanished(face.node, merged, result, before) if result is not merged else EMPTY
    return merge.remove(face.node, result, gone) if gone else result


def _prune_across(face: Face, merged: Body, managed: Managed, last: Entry) -> Body:
    """The same where owners are of several versions, in which the same fields may have other names.

    In three steps (Kubernetes): take away what was named last time; put back what anybody owns, version by version;
    put back what went along with it (below an item of a list) but was not named last time itself.
    """
    found = face.other(merged, last.api_version, f"{_PRUNING}: failed to convert merged object to last applied version")
    if found is None:
        return merged
    whole, node = found
    last_named = typed.with_parents(node, last.fields)
    pruned = merge.remove(node, whole, last_named) or {}
    for version in sorted({entry.api_version for entry in managed.values()}, key=lambda v: v != last.api_version):
        pruned = _with_owned(face, whole, pruned, (last.api_version, node), version, managed)
    left = typed.with_parents(node, typed.fields_of(node, pruned))
    before = typed.with_parents(node, typed.fields_of(node, whole))
    going = fieldset.intersection(fieldset.difference(before, left), last_named)
    result: Body = merge.remove(node, whole, going)
    if last.api_version == face.api_version:
        return result
    back = face.other(result, face.api_version, f"{_PRUNING}: failed to convert pruned object to applied version")
    return back[0] if back else merged


def _with_owned(face: Face, whole: Body, pruned: Body, at: tuple[str, Node], version: str, managed: Managed) -> Body:
    """``pruned`` with everything of ``whole`` that owners of ``version`` have. Both bodies are of version ``at``."""
    owned: FieldSet = EMPTY
    for entry in managed.values():
        if entry.api_version == version:
            owned = fieldset.union(owned, entry.fields)
    node, before, after = at[1], whole, pruned
    if version != at[0]:
        failure = f"{_PRUNING}: failed add back owned items: failed to convert {{}} object at version {version}"
        first = face.other(whole, version, failure.format("merged"))
        second = face.other(pruned, version, failure.format("pruned"))
        if first is None or second is None:
            return pruned
        node, before, after = first[1], first[0], second[0]
    there = typed.with_parents(node, typed.fields_of(node, before))
    left = typed.with_parents(node, typed.fields_of(node, after))
    going = fieldset.difference(there, fieldset.union(left, typed.with_parents(node, owned)))
    result: Body = merge.remove(node, before, going) or {}
    if version == at[0]:
        return result
    back = face.other(result, at[0], f"{_PRUNING}: failed add back owned items")
    return back[0] if back else pruned


def cap(managed: Managed, limit: int = 10) -> None:
    """At most ``limit`` updaters: the oldest of a version are told as one, ``ancient-changes``."""
    updaters = [who for who in managed if who[1] == entries.UPDATE]
    surplus = len(updaters) - limit
    if surplus <= 0:
        return
    updaters.sort(key=lambda who: (managed[who].time, entries.order(who)))
    first: dict[str, Identity] = {}
    for who in updaters:
        if surplus <= 0:
            return
        entry = managed[who]
        version = entry.api_version
        bucket = entries.identity("ancient-changes", entries.UPDATE, version, "")
        if version not in first:
            first[version] = who
            continue
        if bucket not in managed:
            managed[bucket] = managed.pop(first[version])
        if who != bucket:
            fields = fieldset.union(entry.fields, managed[bucket].fields)
            managed[bucket] = Entry(fields, version, entry.time)
            del managed[who]
        surplus -= 1
