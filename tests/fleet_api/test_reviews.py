"""What a caller may in the fleet, from what they may in each cluster."""

from __future__ import annotations

from typing import Any

import pytest

from gitfed.fleet_api import request, reviews

AUTHORIZATION = "/apis/authorization.k8s.io/v1"


def merged(resource: str, *answers: tuple[str, dict[str, Any]]) -> Any:
    about = request.parse(f"{AUTHORIZATION}/{resource}")
    return reviews.merged(about, [(cluster, {"kind": "X", "status": status}) for cluster, status in answers])["status"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (f"{AUTHORIZATION}/selfsubjectaccessreviews", True),
        (f"{AUTHORIZATION}/selfsubjectrulesreviews", True),
        ("/apis/authentication.k8s.io/v1/selfsubjectreviews", True),
        (f"{AUTHORIZATION}/subjectaccessreviews", False),
        ("/apis/other.io/v1/selfsubjectreviews", False),
        (f"{AUTHORIZATION}/selfsubjectaccessreviews/x", False),
    ],
)
def test_only_questions_about_oneself_are_answered_for_all(path: str, expected: bool) -> None:
    assert reviews.is_about_oneself(request.parse(path)) is expected


def test_what_one_cluster_allows_is_allowed_and_the_reason_says_where() -> None:
    yes, no = {"allowed": True, "reason": "RBAC"}, {"allowed": False, "reason": "no role"}
    assert merged("selfsubjectaccessreviews", ("m1", yes), ("m2", yes)) == {"allowed": True}
    assert merged("selfsubjectaccessreviews", ("m1", yes), ("m2", no)) == {
        "allowed": True,
        "reason": "in m1, not in m2",
    }
    assert merged("selfsubjectaccessreviews", ("m1", no), ("m2", {})) == {"allowed": False, "reason": "m1: no role"}
    assert merged("selfsubjectaccessreviews", ("m1", {"allowed": "true"})) == {"allowed": False}


def test_the_rules_of_all_clusters_are_told_once_each() -> None:
    pods, maps = {"resources": ["pods"], "verbs": ["get"]}, {"resources": ["configmaps"], "verbs": ["get"]}
    whole = merged(
        "selfsubjectrulesreviews",
        ("m1", {"resourceRules": [pods], "nonResourceRules": [], "incomplete": False}),
        ("m2", {"resourceRules": [maps, pods], "incomplete": True}),
    )
    assert whole == {"resourceRules": [pods, maps], "nonResourceRules": [], "incomplete": True}


def test_who_the_caller_is_is_the_same_everywhere() -> None:
    about = request.parse("/apis/authentication.k8s.io/v1/selfsubjectreviews")
    status = {"userInfo": {"username": "ann"}}
    assert reviews.merged(about, [("m1", {"status": status}), ("m2", {})]) == {"status": status}
