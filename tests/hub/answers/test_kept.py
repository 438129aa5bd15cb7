"""Copies that stay where their object does not go any more, for who may see their cluster."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest

from gitfed.hub.running import Running
from gitfed.model.base import ObjectKey
from gitfed.model.plan import Action, Change
from gitfed.model.reason import Reason, ReasonCode
from tests.hub import fleet
from tests.hub.stage import Recorded, get, staged

WEB = ObjectKey("apps", "Deployment", "shop", "web")
CONF = ObjectKey("", "ConfigMap", "shop", "conf")


def moved(*, observed: bool) -> Recorded:
    """It went to eu-2 alone, and its policy preserves what it leaves in eu-1 and us-1."""
    found = fleet.planned(fleet.workload("shop", "web", 6))
    assert found.plan is not None
    binding = found.plan.bindings[WEB]
    assert binding.decision is not None
    here = tuple(share for share in binding.scheduled.shares if share.cluster == "eu-2")
    away = tuple(share for share in binding.scheduled.shares if share.cluster != "eu-2")
    decision = replace(
        binding.decision,
        ownership=replace(
            binding.decision.ownership, left_behind=tuple(share.cluster for share in away), preserve=True
        ),
    )
    changes = None
    if observed:
        changes = (Change("us-1", WEB, "apps/v1", Action.KEEP, Reason(ReasonCode.NEEDED, str(CONF))),)
    binding = replace(
        binding,
        scheduled=replace(binding.scheduled, shares=here),
        decision=decision,
        terms=replace(binding.terms, preserve=True),
    )
    found.plan = replace(found.plan, bindings={WEB: binding}, changes=changes)
    return found


@pytest.mark.parametrize("observed", [False, True], ids=["by decisions", "seen in the clusters"])
async def test_the_page_of_an_object_shows_the_copies_that_stay(tmp_path: Path, observed: bool) -> None:
    async with staged(tmp_path, running=Running(moved(observed=observed))) as hub:
        status, text = await get(hub, f"/ui/object?of={quote(str(WEB))}", token="ann")
    assert status == 200
    for cluster in ("eu-1", "us-1"):
        row = text.partition(f'<tr role="row" data-key="{cluster}"><th role="rowheader" scope="row">{cluster}</th>')[2]
        assert "Stays" in row.partition("</tr>")[0]
    assert "Does not go there any more: preserveResourcesOnDeletion" in text
    assert ("still needs it here" in text) is observed


@pytest.mark.parametrize("path", ["objects/{}", "bindings", "explain/{}"])
async def test_the_api_tells_kept_copies_only_of_clusters_that_a_caller_may_see(tmp_path: Path, path: str) -> None:
    async with staged(tmp_path, running=Running(moved(observed=False))) as hub:
        address = f"/api/v1/{path.format(quote(str(WEB), safe=''))}"
        status, whole = await get(hub, address, token="ann")
        assert status == 200, whole
        _, part = await get(hub, address, token="bob")
    assert [one["name"] for one in kept(json.loads(whole))] == ["eu-1", "us-1"]
    assert [(one["name"], one["reason"]) for one in kept(json.loads(part))] == [("eu-1", "")]
    assert "us-1" not in part


def kept(answer: dict[str, object]) -> list[dict[str, object]]:
    items = answer.get("items")
    binding = answer.get("binding", items[0] if isinstance(items, list) else None)
    assert isinstance(binding, dict)
    return list(binding["kept"])
