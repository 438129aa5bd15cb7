"""A cluster leaves while a daemon that has not heard of it yet repairs what goes."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from gitfed.edges.kube import inventory, inventory_format
from gitfed.errors import NotOwned, ObjectNotFound
from gitfed.model.base import key_of
from gitfed.model.fleet import InventoryEntry
from gitfed.offline import leaving
from tests.edges.kube.conftest import Place


@pytest.mark.parametrize("delete", [True, False])
async def test_what_a_daemon_writes_in_the_same_moment_does_not_stay_ours(
    place: Place, monkeypatch: pytest.MonkeyPatch, delete: bool
) -> None:
    federation = f"acme-{place.namespace}"
    body = place.config_map("conf", {"a": "b"}, labels={"gitfed.io/federation": federation})
    uid = (await place.post(body))["metadata"]["uid"]
    book = inventory.Inventory(
        place.session, federation=federation, repository_id="repo-1", leader="run-0123456789ab-daemon"
    )
    await book.read()
    await book.raise_term(1)
    await book.record([InventoryEntry(key_of(body), uid, "", None)])
    ask, repaired = leaving._Leaving.ask, False

    async def then_the_daemon_repairs(self: Any, method: str, key: Any, *arguments: Any, **options: Any) -> None:
        nonlocal repaired
        await ask(self, method, key, *arguments, **options)
        if not repaired:
            repaired = True
            labels = {"metadata": {"labels": {"gitfed.io/federation": federation}}}
            await (place.post(body) if delete else place.merge(body, labels))

    monkeypatch.setattr(leaving._Leaving, "ask", then_the_daemon_repairs)
    left = await leaving.leave(place.session, federation=federation, repository_id="repo-1", delete=delete, wait=30)
    assert repaired
    if delete:
        assert left.deleted == [key_of(body)]
        with pytest.raises(ObjectNotFound):
            await place.get(body)
    else:
        assert left.released == [key_of(body)]
        assert "gitfed.io/federation" not in ((await place.get(body))["metadata"].get("labels") or {})


@pytest.mark.parametrize("raised", [False, True], ids=["before the term was raised", "after it"])
async def test_what_a_daemon_intends_while_the_cluster_leaves_goes_with_the_rest(
    place: Place, monkeypatch: pytest.MonkeyPatch, raised: bool
) -> None:
    federation = f"acme-{place.namespace}"
    book = inventory.Inventory(
        place.session, federation=federation, repository_id="repo-1", leader="run-0123456789ab-daemon"
    )
    await book.read()
    await book.raise_term(1)
    named = (place.config_map(name, {"a": "b"}, labels={"gitfed.io/federation": federation}) for name in "abcdefgh")
    # Shard 0, where the term stands, is written anyway; which shard a name has depends on the test's own namespace.
    bodies = [body for body in named if inventory_format.shard_of(key_of(body)) != 0][:2]
    await book.record([InventoryEntry(key_of(bodies[0]), "", "", None)])
    raise_term = inventory.Inventory.raise_term

    async def meanwhile() -> None:
        with suppress(NotOwned):
            await book.record([InventoryEntry(key_of(bodies[1]), "", "", None)])
            await place.post(bodies[1])

    async def and_the_daemon_goes_on(self: Any, term: int) -> None:
        if not raised:
            await meanwhile()
        await raise_term(self, term)
        if raised:
            await meanwhile()

    monkeypatch.setattr(inventory.Inventory, "raise_term", and_the_daemon_goes_on)
    await leaving.leave(place.session, federation=federation, repository_id="repo-1", delete=True, wait=30)
    with pytest.raises(ObjectNotFound):
        await place.get(bodies[1])
    again = inventory.Inventory(place.session, federation=federation, repository_id="repo-1")
    assert not (await again.read()).present
