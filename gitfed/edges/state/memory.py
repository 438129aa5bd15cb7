"""What documents of our branches said, remembered between processes that only look.

Parsing ten thousand bindings, or the facts of a hundred clusters, takes seconds, and a blob never says anything else:
so what was parsed once is kept in one file by blob id. Whether a document makes sense is asked each time anew.

Most of what bindings say is where they go, and most of a fleet's go to the same clusters: such a list is kept once, and
all documents that have it share it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Set
from typing import Any, Protocol

from gitfed.text import canonical

_FORMAT = 2


class Cache(Protocol):
    """Bytes by name; what cannot be kept is lost."""

    def get(self, blob_id: str) -> bytes | None: ...
    def put(self, blob_id: str, content: bytes) -> None: ...


class Memory:
    """`cache` None: nothing is remembered. `name`: of the file in the cache."""

    def __init__(self, cache: Cache | None, name: str) -> None:
        self._cache = cache
        self._name = name
        self._documents: dict[str, Mapping[str, Any]] = {}
        """Blob id → what it says."""
        self._taken_up = 0

    def take_up(self) -> None:
        """What an earlier process kept: ten thousand documents in one file."""
        if self._cache is not None and not self._documents:
            with contextlib.suppress(ValueError, KeyError, TypeError, IndexError):
                self._documents = _unpacked(canonical.loads(self._cache.get(self._name) or b"{}"))
        self._taken_up = len(self._documents)

    def get(self, blob: str) -> Mapping[str, Any] | None:
        return self._documents.get(blob)

    def add(self, blob: str, document: Mapping[str, Any]) -> None:
        if self._cache is not None:
            self._documents[blob] = document

    def keep(self, present: Set[str]) -> None:
        """Write down what was added since `take_up`, without what is no longer there."""
        if self._cache is None:
            return
        if len(self._documents) == self._taken_up and self._taken_up <= 2 * len(present):
            return
        self._documents = {blob: document for blob, document in self._documents.items() if blob in present}
        with contextlib.suppress(canonical.NotCanonical):
            self._cache.put(self._name, canonical.dumps(_packed(self._documents)))


def _packed(documents: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The documents without `spec.clusters`, each such list once, and whose it is."""
    numbers: dict[bytes, int] = {}
    lists: list[Any] = []
    whose: dict[str, int] = {}
    rest: dict[str, Any] = {}
    for blob, document in documents.items():
        spec = document.get("spec")
        clusters = spec.get("clusters") if isinstance(spec, Mapping) else None
        if not isinstance(clusters, list):
            rest[blob] = document
            continue
        assert isinstance(spec, Mapping)
        text = canonical.dumps(clusters)
        if text not in numbers:
            numbers[text] = len(lists)
            lists.append(clusters)
        whose[blob] = numbers[text]
        rest[blob] = {**document, "spec": {name: value for name, value in spec.items() if name != "clusters"}}
    return {"format": _FORMAT, "documents": rest, "lists": lists, "whose": whose}


def _unpacked(packed: Any) -> dict[str, Mapping[str, Any]]:
    """Raises KeyError, TypeError, IndexError for what `_packed` did not write."""
    if packed["format"] != _FORMAT:
        return {}
    documents: dict[str, Mapping[str, Any]] = packed["documents"]
    lists: list[Any] = packed["lists"]
    for blob, number in packed["whose"].items():
        documents[blob]["spec"]["clusters"] = lists[number]
    return documents
