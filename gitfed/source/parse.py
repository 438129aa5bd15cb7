"""What the text of one file says: its documents and its faults, remembered by blob id.

A blob never changes, so it is parsed once, ever: `read_cache.py` keeps the results of the last reads in memory, and a
`ParseCache`, which the caller brings, the documents as canonical JSON on disk. Without one, reads are only slower.
"""

from __future__ import annotations

from typing import Protocol

from gitfed.text import canonical, yaml
from gitfed.text.construct import Document, Fault
from gitfed.text.values import dataclass

_VERSION = 4
"""Part of every cache entry: raised when the same bytes would be read differently."""


class ParseCache(Protocol):
    """Bytes by name, kept between runs. Losing them, or all of them, must never matter."""

    def get(self, blob_id: str) -> bytes | None: ...
    def put(self, blob_id: str, content: bytes) -> None: ...


@dataclass(frozen=True, slots=True)
class Parsed:
    documents: tuple[Document, ...]
    faults: tuple[Fault, ...]


def is_json(path: str) -> bool:
    return path.endswith(".json")


def parse(data: bytes, *, as_json: bool) -> Parsed:
    stream = yaml.parse(data, is_json=as_json)
    return Parsed(stream.documents, stream.faults)


def dump(parsed: Parsed, *, as_json: bool) -> bytes:
    """For the disk."""
    return canonical.dumps(
        {
            "version": _VERSION,
            "json": as_json,
            "documents": [[document.line, document.column, document.value] for document in parsed.documents],
            "faults": [
                [f.line, f.column, f.message, f.hint, f.warning, f.beyond, f.quotes, f.ends] for f in parsed.faults
            ],
        }
    )


def load(content: bytes, *, as_json: bool) -> Parsed | None:
    """From the disk; None if it is of another version, of the other syntax, or not ours."""
    try:
        entry = canonical.loads(content)
        if entry["version"] != _VERSION or entry["json"] is not as_json:
            return None
        return Parsed(
            tuple(Document(value, line, column) for line, column, value in entry["documents"]),
            tuple(Fault(*fault) for fault in entry["faults"]),
        )
    except (ValueError, TypeError, KeyError):
        return None
