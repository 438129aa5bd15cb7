"""Federated quotas (Karmada: scheduling §6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from gitfed.model.decisions import Share
from gitfed.model.declared.quota import FederatedResourceQuota
from gitfed.placement.capacity import quota
from gitfed.text import quantity
from gitfed.text.quantity import Quantity


def amounts(**texts: str) -> dict[str, Quantity]:
    return {name: quantity.parse(text) for name, text in texts.items()}


def texts(usage: Mapping[str, Quantity]) -> dict[str, str]:
    return {name: str(amount) for name, amount in usage.items()}


def shares(*counts: int | None) -> tuple[Share, ...]:
    return tuple(Share(name, count) for name, count in zip("abcd", counts, strict=False))


def asks(**requests: str) -> dict[str, Any]:
    return {"resourceRequest": requests}


def test_usage_is_what_one_asks_for_times_all_that_are_placed() -> None:
    used = quota.usage(shares(3, 2), asks(cpu="250m", memory="512Mi"))
    assert texts(used) == {"cpu": "1250m", "memory": "2560Mi"}


def test_every_copy_counts() -> None:
    assert texts(quota.usage(shares(4, 4), asks(cpu="250m"))) == {"cpu": "2"}


def test_components_count_for_each_cluster() -> None:
    components = [
        {"replicas": 1, "replicaRequirements": asks(cpu="1", memory="1Gi")},
        {"replicas": 3, "replicaRequirements": asks(cpu="500m", memory="2Gi")},
    ]
    assert texts(quota.usage(shares(None, None), None, components)) == {"cpu": "5", "memory": "14Gi"}


def test_what_is_nowhere_uses_nothing() -> None:
    assert quota.usage((), asks(cpu="1")) == {}
    assert quota.usage(shares(3), asks(cpu="much")) == {}


OVERALL = amounts(cpu="10", memory="20Gi")


@pytest.mark.parametrize(
    ("used", "delta", "answer"),
    [
        (amounts(cpu="8", memory="4Gi"), amounts(cpu="2"), None),
        (amounts(cpu="8", memory="4Gi"), amounts(cpu="2500m"), "cpu: requested sum 10500m, limit 10"),
        (amounts(cpu="8", memory="4Gi"), amounts(memory="17Gi"), "memory: requested sum 21Gi, limit 20Gi"),
        (amounts(cpu="8", memory="4Gi"), amounts(cpu="-3"), None),
        (amounts(cpu="8", memory="4Gi"), amounts(gpu="9"), None),
        (amounts(cpu="15"), amounts(cpu="-1"), "cpu: requested sum 14, limit 10"),
        (amounts(cpu="1", memory="30Gi"), amounts(cpu="1"), "memory: requested sum 30Gi, limit 20Gi"),
        (amounts(cpu="2"), amounts(cpu="-3"), None),
        (amounts(cpu="15"), {}, None),
    ],
)
def test_a_quota_refuses_what_would_lift_the_sum_above_it(
    used: quota.Usage, delta: quota.Usage, answer: str | None
) -> None:
    said = answer and f"FederatedResourceQuota(shop/all) exceeded for resource {answer}."
    refused = quota.refusals("shop/all", OVERALL, used, delta)
    assert (" ".join(map(str, refused)) or None) == said


def test_every_resource_that_is_exceeded_is_named() -> None:
    refused = quota.refusals("shop/all", OVERALL, amounts(cpu="8"), amounts(cpu="3", memory="21Gi"))
    assert [(one.resource, str(one.requested), str(one.limit)) for one in refused] == [
        ("cpu", "11", "10"),
        ("memory", "21Gi", "20Gi"),
    ]
    assert quota.Refusal.read(" ".join(map(str, refused))) == tuple(refused)
    assert quota.Refusal.read("no enough resource") == ()


def declared(
    name: str = "all", assigned: dict[str, dict[str, str]] | None = None, **overall: str
) -> FederatedResourceQuota:
    return FederatedResourceQuota.read(
        {
            "apiVersion": "policy.karmada.io/v1alpha1",
            "kind": "FederatedResourceQuota",
            "metadata": {"name": name, "namespace": "shop"},
            "spec": {
                "overall": overall,
                "staticAssignments": [
                    {"clusterName": cluster, "hard": hard} for cluster, hard in (assigned or {}).items()
                ],
            },
        }
    )


def test_a_ledger_counts_what_is_admitted() -> None:
    ledger = quota.Ledger.of([declared(cpu="10")])
    ledger.count("shop", amounts(cpu="8"))
    assert ledger.admit("shop", {}, amounts(cpu="2")) == ()
    assert [str(one) for one in ledger.admit("shop", {}, amounts(cpu="1m"))] == [
        "FederatedResourceQuota(shop/all) exceeded for resource cpu: requested sum 10001m, limit 10."
    ]
    assert ledger.admit("shop", amounts(cpu="2"), {}) == ()
    assert ledger.admit("shop", {}, amounts(cpu="1")) == ()
    assert texts(ledger.used["shop"]) == {"cpu": "9"}
    assert (ledger.covers("shop"), ledger.covers("other")) == (True, False)


def test_using_less_is_allowed_even_above_the_limit() -> None:
    """Other than in the reference: there would be no way back below the limit."""
    ledger = quota.Ledger.of([declared(cpu="10")])
    ledger.count("shop", amounts(cpu="15"))
    assert ledger.admit("shop", amounts(cpu="5"), amounts(cpu="4")) == ()
    (state,) = ledger.states()
    assert (state.exceeded(), texts(state.used)) == (["cpu"], {"cpu": "14"})


def test_a_move_is_not_checked() -> None:
    ledger = quota.Ledger.of([declared(cpu="1")])
    ledger.count("shop", amounts(cpu="3"))
    assert ledger.admit("shop", amounts(cpu="3"), amounts(cpu="3")) == ()


def test_all_quotas_of_a_namespace_must_allow_it() -> None:
    ledger = quota.Ledger.of([declared("b", cpu="5"), declared("a", memory="1Gi")])
    assert [str(one) for one in ledger.admit("shop", {}, amounts(cpu="6", memory="2Gi"))] == [
        "FederatedResourceQuota(shop/a) exceeded for resource memory: requested sum 2Gi, limit 1Gi.",
        "FederatedResourceQuota(shop/b) exceeded for resource cpu: requested sum 6, limit 5.",
    ]
    assert ledger.used == {}


@pytest.mark.parametrize(
    ("resource", "amount", "limit", "words"),
    [
        ("memory", "1536870912", "2Gi", ("1.44Gi", "2Gi")),
        ("memory", "0.3Gi", "1Gi", ("307.2Mi", "1Gi")),
        ("requests.memory", "2560Mi", "20Gi", ("2560Mi", "20Gi")),
        ("memory", "13958643713", "13Gi", ("13.01Gi", "13Gi")),
        ("hugepages-2Mi", "4294967296", "8Gi", ("4Gi", "8Gi")),
        ("memory", "1G", "512M", ("1G", "512M")),
        ("cpu", "10500m", "12", ("10.5", "12")),
        ("cpu", "250m", "500m", ("250m", "500m")),
        ("cpu", "1234567m", "2k", ("1.24k", "2k")),
        ("pods", "0", "100", ("0", "100")),
        ("memory", "13958643713", "13958643714", ("13958643713", "13958643714")),
    ],
)
def test_amounts_stand_in_units_that_people_write(
    resource: str, amount: str, limit: str, words: tuple[str, str]
) -> None:
    assert quota.in_words(resource, quantity.parse(amount), quantity.parse(limit)) == words


def test_an_assignment_is_a_quota_of_one_cluster() -> None:
    one = declared(cpu="10", assigned={"a": {"cpu": "4"}, "gone": {"cpu": "1"}})
    assert quota.assignments(one, ["a", "b"]) == {
        "a": {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {
                "name": "all",
                "namespace": "shop",
                "labels": {
                    "federatedresourcequota.karmada.io/namespace": "shop",
                    "federatedresourcequota.karmada.io/name": "all",
                },
            },
            "spec": {"hard": {"cpu": "4"}},
        }
    }


def test_what_a_quota_assigns_may_take_over_what_is_there_as_the_quota_says() -> None:
    quiet = declared(assigned={"m1": {"cpu": "5"}}, cpu="9")
    assert "annotations" not in quota.assignments(quiet, ["m1"])["m1"]["metadata"]
    said = {"work.karmada.io/conflict-resolution": "overwrite", "note": "of the quota alone"}
    metadata = quiet.metadata.model_copy(update={"annotations": said})
    found = quota.assignments(quiet.model_copy(update={"metadata": metadata}), ["m1"])
    assert found["m1"]["metadata"]["annotations"] == {"work.karmada.io/conflict-resolution": "overwrite"}
