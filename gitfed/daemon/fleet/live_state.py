"""Every copy of every object as last seen, kept for the planner, and what of it the inventories do not say rightly.

Clusters tell of single objects, at any time; a plan needs all copies of an object together, and the same values as long
as nothing changed. So what changed is only noted, and taken in when a plan is about to be made.

An inventory entry can be out of step in two ways. It stands for nothing of ours (*vacant*): the object is gone, or
another client's has its name. Or it does not name the object that is there (*unnamed*): the process that wrote it died
before it could write down the uid.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.fleet import InventoryEntry, LiveObject
from gitfed.planning.objects import compare

Look = Callable[[ClusterName, ObjectKey], LiveObject | None]


class Copies:
    """`look` gives an object as a cluster shows it now."""

    def __init__(self, look: Look) -> None:
        self.objects: dict[ObjectKey, dict[ClusterName, LiveObject]] = {}
        """As taken in last. Values of objects that did not change are the same ones as before."""
        self._look = look
        self._dirty: dict[ObjectKey, set[ClusterName]] = {}
        self._vacant: dict[ClusterName, set[ObjectKey]] = {}
        self._unnamed: dict[ClusterName, set[ObjectKey]] = {}

    def changed(self, cluster: ClusterName, key: ObjectKey) -> None:
        self._dirty.setdefault(key, set()).add(cluster)

    def relisted(self, cluster: ClusterName, present: Collection[ObjectKey]) -> None:
        """Everything there was read anew: what is not `present` any more has to be noticed too."""
        listed = [key for key, copies in self.objects.items() if cluster in copies]
        for key in {*listed, *present}:
            self.changed(cluster, key)

    def left(self, cluster: ClusterName) -> None:
        """The cluster is no member any more."""
        self._vacant.pop(cluster, None)
        self._unnamed.pop(cluster, None)
        self.relisted(cluster, ())

    @property
    def up_to_date(self) -> bool:
        return not self._dirty

    def take_in(self) -> Mapping[ObjectKey, Mapping[ClusterName, LiveObject]]:
        """All copies as they are now."""
        for key, clusters in self._dirty.items():
            copies = dict(self.objects.get(key, {}))  # once for all of them: a fleet may tell of each of its copies
            for cluster in clusters:
                live = self._look(cluster, key)
                if live is None:
                    copies.pop(cluster, None)
                else:
                    copies[cluster] = live
                entry = live.entry if live is not None else None
                foreign = live is not None and (not live.uid or compare.is_foreign(live))
                _note(self._vacant, cluster, key, entry is not None and foreign)
                _note(self._unnamed, cluster, key, entry is not None and not foreign and not entry.uid)
            if copies:
                self.objects[key] = copies
            else:
                self.objects.pop(key, None)
        self._dirty.clear()
        return self.objects

    def vacant(self, cluster: ClusterName) -> Collection[ObjectKey]:
        """Objects whose inventory entry stands for nothing of ours."""
        return self._vacant.get(cluster, ())

    def named(self, cluster: ClusterName) -> list[InventoryEntry]:
        """Entries that do not name their object yet, with its uid."""
        unnamed = (self.objects.get(key, {}).get(cluster) for key in self._unnamed.get(cluster, ()))
        return [replace(live.entry, uid=live.uid) for live in unnamed if live is not None and live.entry is not None]


def _note(sets: dict[ClusterName, set[ObjectKey]], cluster: ClusterName, key: ObjectKey, belongs: bool) -> None:
    if belongs:
        sets.setdefault(cluster, set()).add(key)
    elif cluster in sets:
        sets[cluster].discard(key)
