"""What documents said, from one process to the next."""

from __future__ import annotations

from typing import Any

import pytest

from gitfed.edges.state.memory import Memory
from gitfed.text import canonical


class Kept:
    """A cache that lasts as long as the test."""

    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}

    def get(self, blob_id: str) -> bytes | None:
        return self.content.get(blob_id)

    def put(self, blob_id: str, content: bytes) -> None:
        self.content[blob_id] = content


CLUSTERS = [{"name": "eu-1", "replicas": 2}, {"name": "us-1"}]


def document(name: str, **spec: Any) -> dict[str, Any]:
    return {"kind": "ResourceBinding", "metadata": {"name": name}, "spec": spec}


def test_documents_are_as_they_were_and_share_where_they_go() -> None:
    cache = Kept()
    documents = {
        "a": document("a", clusters=list(CLUSTERS), replicas=2),
        "b": document("b", clusters=list(CLUSTERS)),
        "c": document("c", clusters=[]),
        "d": document("d"),
        "e": document("e", clusters="spoiled by hand"),
        "f": {"documents": [["a place", {"kind": "Cluster"}]]},
        "g": {"spec": None},
    }
    first = Memory(cache, "state")
    first.take_up()
    for blob, one in documents.items():
        first.add(blob, one)
    first.keep(documents.keys())
    second = Memory(cache, "state")
    second.take_up()
    assert {blob: second.get(blob) for blob in documents} == documents
    a, b = second.get("a"), second.get("b")
    assert a is not None
    assert b is not None
    assert a["spec"]["clusters"] is b["spec"]["clusters"]
    assert documents["a"]["spec"]["clusters"] == CLUSTERS


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"7", b"null", b'{"format":1}', b'{"a":{"spec":{}}}',
     canonical.dumps({"format": 2, "documents": {"a": {"spec": {}}}, "lists": [], "whose": {"a": 3}})],
)  # fmt: skip
def test_what_cannot_be_used_is_as_good_as_nothing(content: bytes) -> None:
    cache = Kept()
    cache.put("state", content)
    memory = Memory(cache, "state")
    memory.take_up()
    assert memory.get("a") is None
