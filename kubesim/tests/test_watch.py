"""What a watch has told when its bookmark says how far it has come."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import orjson
import pytest

from kubesim.cluster import Cluster
from kubesim.server import watch
from kubesim.server.options import ListOptions
from kubesim.server.tables import Form
from kubesim.server.watch import Watch


@pytest.fixture
async def cluster() -> Cluster:
    return Cluster("m1")


def put(cluster: Cluster, name: str) -> None:
    cluster.api.create("configmaps", {"metadata": {"name": name, "namespace": "default"}})


async def told(cluster: Cluster, asked: ListOptions, *, meanwhile: Any, until: str) -> list[tuple[str, str, int]]:
    """What a watch says until the end of this object is told: kind, name and version. While a piece of it is being
    sent, `meanwhile` happens, once."""
    opened = Watch(cluster.world, cluster.api.kind("configmaps"), "default", asked, Form())
    found: list[tuple[str, str, int]] = []
    async for piece in opened.stream():
        for line in piece.splitlines():
            event = orjson.loads(line)
            metadata = event["object"]["metadata"]
            found.append((event["type"], metadata.get("name", ""), int(metadata["resourceVersion"])))
        if ("DELETED", until) in {one[:2] for one in found}:
            return found
        if any(name == until for _, name, _ in found) and meanwhile is not None:
            meanwhile()
            meanwhile = None
    raise AssertionError(f"it ended with {found}")


@pytest.mark.parametrize(
    "asked",
    [
        ListOptions(bookmarks=True, timeout=3600, send_initial=False),
        ListOptions(bookmarks=True, timeout=3600, send_initial=True, match="NotOlderThan"),
    ],
    ids=["among events", "after what was there"],
)
async def test_no_bookmark_is_beyond_what_was_told_before_it(
    cluster: Cluster, asked: ListOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_monotonic", itertools.count(0.0, 0.1).__next__)
    monkeypatch.setattr(watch, "_BOOKMARK_EVERY", 0.05)  # one is always due
    put(cluster, "a")
    version = str(cluster.world.store.version - 1) if not asked.send_initial else ""
    asked = replace(asked, resource_version=version)
    seen = await told(cluster, asked, meanwhile=lambda: cluster.api.delete("configmaps", "default", "a"), until="a")
    end = next(version for kind, _, version in seen if kind == "DELETED")
    before = seen[: [kind for kind, _, _ in seen].index("DELETED")]
    assert [one for one in before if one[0] == "BOOKMARK"]
    assert all(version < end for _, _, version in before)
