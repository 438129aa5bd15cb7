"""Which kinds a cluster serves at the moment: the built-in ones, and those that definitions have added.

Looked up by address (group, version, plural), by what objects call themselves (group and kind, for owner references)
and by group for discovery. Custom kinds are replaced as a whole whenever their definition changes; ``generation``
counts that, for entity tags and caches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kubesim.kind import Kind


def version_order(version: str) -> tuple[int, int, int, str]:
    """Sort key of versions, best first: v2, v1, v1beta2, v1beta1, v1alpha1, then others by name (Kubernetes:
    CompareKubeAwareVersionStrings)."""
    digits = version[1:]
    for stage, word in ((1, "beta"), (0, "alpha")):
        major, found, minor = digits.partition(word)
        if version.startswith("v") and found and major.isdigit() and (minor.isdigit() or not minor):
            return (-stage, -int(major), -int(minor or 0), "")
    if version.startswith("v") and digits.isdigit():
        return (-2, -int(digits), 0, "")
    return (1, 0, 0, version)


class Registry:
    def __init__(self, builtin: Iterable[Kind]) -> None:
        self.generation = 0
        self._builtin = tuple(builtin)
        self._custom: dict[str, tuple[Kind, ...]] = {}
        self._by_address: dict[tuple[str, str, str], Kind] = {}
        self._by_storage: dict[str, Kind] = {}
        self.builtin_groups = tuple(dict.fromkeys(kind.group for kind in self._builtin))
        self._index()

    def _index(self) -> None:
        self.generation += 1
        self._by_address = {(kind.group, kind.version, kind.plural): kind for kind in self}
        self._by_storage = {}
        for kind in self:
            # Of several faces of the same objects the one that they are stored as speaks for them.
            if kind.storage_key not in self._by_storage or kind.api_version == kind.storage_version:
                self._by_storage[kind.storage_key] = kind

    def __iter__(self) -> Iterator[Kind]:
        yield from self._builtin
        for kinds in self._custom.values():
            yield from kinds

    def set_custom(self, definition: str, kinds: Iterable[Kind]) -> None:
        """Replaces what a definition (by name) adds; nothing at all removes it."""
        chosen = tuple(kinds)
        if chosen:
            self._custom[definition] = chosen
        elif self._custom.pop(definition, None) is None:
            return
        self._index()

    @property
    def custom(self) -> Mapping[str, tuple[Kind, ...]]:
        return self._custom

    def at(self, group: str, version: str, plural: str) -> Kind | None:
        return self._by_address.get((group, version, plural))

    def preferred(self, resource: str) -> Kind | None:
        """The best version of ``deployments.apps``, ``pods``."""
        found = [kind for kind in self if kind.resource == resource]
        return min(found, key=lambda kind: version_order(kind.version), default=None)

    def stored(self, storage_key: str) -> Kind | None:
        """The kind that speaks for a collection of the store."""
        return self._by_storage.get(storage_key)

    def storages(self) -> list[Kind]:
        """One kind for each collection that holds objects."""
        return [kind for kind in self._by_storage.values() if "list" in kind.verbs]

    def named(self, api_version: str, kind: str) -> Kind | None:
        """What an owner reference means."""
        return next((entry for entry in self if entry.kind == kind and entry.api_version == api_version), None)

    def groups(self) -> dict[str, dict[str, list[Kind]]]:
        """Group → version → kinds. Built-in groups first, in their own order; versions best first."""
        found: dict[str, dict[str, list[Kind]]] = {}
        for kind in self:
            found.setdefault(kind.group, {}).setdefault(kind.version, []).append(kind)
        return {
            group: dict(sorted(versions.items(), key=lambda entry: version_order(entry[0])))
            for group, versions in found.items()
        }
