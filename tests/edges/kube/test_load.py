"""What servers tell of load, as values: what is no number is not taken for one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from gitfed.edges.kube import load, load_source
from gitfed.model.load import Sample

AT = "2026-03-02T12:00:00Z"
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def used(*amounts: str | None, window: str = "15s", at: str = AT) -> dict[str, Any]:
    containers = [{"name": f"c{i}", "usage": {"cpu": one} if one else {}} for i, one in enumerate(amounts)]
    return {"metadata": {"name": "web-0"}, "timestamp": at, "window": window, "containers": containers}


@pytest.mark.parametrize(
    ("item", "samples"),
    [
        (used("150m", "50m"), {"web-0": Sample(200, NOON, 15.0)}),
        (used("150000001n", window="1m0.5s"), {"web-0": Sample(151, NOON, 60.5)}),
        (used("150m", window="500ms"), {"web-0": Sample(150, NOON, 0.5)}),
        (used("150m", window="1.2.3s"), {"web-0": Sample(150, NOON, 60.0)}),
        (used("150m", None), {}),
        (used("NaN"), {}),
        (used("-5m", "10m"), {"web-0": Sample(-1, NOON, 15.0)}),
        (used("5m", at="yesterday"), {}),
        (used(), {}),
    ],
    ids=[
        "two containers",
        "rounded up",
        "a short window",
        "no window",
        "one is silent",
        "not a number",
        "negative",
        "no time",
        "no container",
    ],
)
def test_what_a_pod_uses(item: dict[str, Any], samples: dict[str, Sample]) -> None:
    assert dict(load._used([item], "cpu", "")) == samples


def test_one_container_is_counted_alone() -> None:
    assert dict(load._used([used("150m", "50m")], "cpu", "c1")) == {"web-0": Sample(50, NOON, 15.0)}


@pytest.mark.parametrize(
    ("values", "total", "unread"),
    [
        (["1500m", "2"], 3500, ""),
        (["NaN"], None, "it tells a value that is no quantity"),
        ([], None, "it tells no value"),
    ],
)
def test_what_a_cluster_tells_of_one_metric_is_added(values: list[str], total: int | None, unread: str) -> None:
    found = load._total([{"value": one, "timestamp": AT} for one in values])
    assert (found.value, found.unread) == (total, unread)


def test_a_container_that_requests_nothing_is_named() -> None:
    containers = [{"name": "app", "resources": {"requests": {"cpu": "100m"}}}, {"name": "side"}]
    pod = {"metadata": {"name": "web-0"}, "spec": {"containers": containers}}
    assert load._requests([pod], "cpu", "") == ({"web-0": 100}, "container side of pod web-0 requests no cpu")
    assert load._requests([pod], "cpu", "app") == ({"web-0": 100}, "")


def test_a_selector_is_asked_as_a_query_says_it() -> None:
    body = {
        "matchLabels": {"app": "web"},
        "matchExpressions": [
            {"key": "tier", "operator": "In", "values": ["a", "b"]},
            {"key": "old", "operator": "DoesNotExist"},
        ],
    }
    assert load_source.selector_text(body) == "app=web,tier in (a,b),!old"
