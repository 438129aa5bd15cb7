"""What AccessPolicies give, and what they do not."""

from __future__ import annotations

import pytest

from gitfed.hub.access.caller import Caller
from gitfed.hub.access.rights import Right, Rights, Rulebook
from tests.hub.stage import cluster, policy, snapshot, user

ANN = Caller("ann", ("platform",))
_CLUSTERS = (cluster("p1", env="production"), cluster("p2", env="production"), cluster("s1", env="staging"))


def _rights(*policies: str, caller: Caller = ANN) -> Rights:
    return Rulebook(snapshot(*_CLUSTERS, *policies)).of(caller)


def test_without_a_policy_or_a_commit_nobody_may_do_anything() -> None:
    for rights in (_rights(), Rulebook(None).of(ANN)):
        assert not any(rights.any(right) for right in Right)
        assert not rights.on_object(Right.VIEW, "p1", "shop")


def test_a_caller_is_looked_up_once_in_the_policies_of_a_commit() -> None:
    named = policy("team", subjects=[user("ann"), {"kind": "Group", "name": "platform"}], allow=["view"])
    rules = Rulebook(snapshot(*_CLUSTERS, named))
    assert rules.of(Caller("bob", ("platform",))) is rules.of(Caller("bob", ("platform",)))
    assert not rules.of(Caller("bob")).any(Right.VIEW)  # the same name without the group
    assert rules.of(Caller("ann")).any(Right.VIEW)


def test_what_is_remembered_of_callers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gitfed.hub.access.rights._MOST_KNOWN", 3)
    rules = Rulebook(snapshot(*_CLUSTERS))
    for number in range(20):
        rules.of(Caller(f"stranger-{number}"))
        assert len(rules._known) <= 3


def test_a_policy_gives_what_it_says_where_it_says() -> None:
    rights = _rights(
        policy(
            "team", subjects=[{"kind": "Group", "name": "platform"}], allow=["view", "operate"],
            clusters={"labelSelector": {"matchLabels": {"env": "production"}}}, namespaces=["shop-*", "web"],
        )
    )  # fmt: skip
    assert rights.any(Right.VIEW)
    assert not rights.any(Right.PROXY)
    assert not rights.everywhere(Right.VIEW)
    assert rights.on_cluster(Right.OPERATE, "p1")
    assert not rights.on_cluster(Right.OPERATE, "s1")
    can = [
        (name, namespace)
        for name in ("p1", "s1", "unknown")
        for namespace in ("shop-eu", "web", "web2", "shop", "")
        if rights.on_object(Right.VIEW, name, namespace)
    ]
    assert can == [("p1", "shop-eu"), ("p1", "web")]
    assert rights.on_namespace(Right.VIEW, "web")
    assert not rights.on_namespace(Right.VIEW, "other")


def test_policies_add_up_and_never_mix() -> None:
    """view in one place and operate in another is not operate in both."""
    rights = _rights(
        policy("a", subjects=[user("ann")], allow=["view"]),
        policy("b", subjects=[user("ann")], allow=["operate"], clusters={"clusterNames": ["s1"]}, namespaces=["lab"]),
        policy("c", subjects=[user("ann")], allow=["operate"], clusters={"clusterNames": ["p1"]}, namespaces=["web"]),
    )
    assert rights.everywhere(Right.VIEW)
    assert rights.on_object(Right.VIEW, "p2", "")
    assert rights.on_object(Right.OPERATE, "s1", "lab")
    assert not rights.on_object(Right.OPERATE, "s1", "web")
    assert not rights.on_object(Right.OPERATE, "p1", "lab")


@pytest.mark.parametrize(
    ("subject", "caller", "is_named"),
    [
        ({"kind": "User", "name": "ann"}, Caller("ann"), True),
        ({"kind": "User", "name": "ann"}, Caller("Ann"), False),
        ({"kind": "User", "name": "platform"}, ANN, False),
        ({"kind": "Group", "name": "ann"}, ANN, False),
        ({"kind": "Group", "name": "platform"}, Caller("bob", ("platform",)), True),
        ({"kind": "ServiceAccount", "name": "p", "namespace": "m"}, Caller("system:serviceaccount:m:p"), True),
        ({"kind": "ServiceAccount", "name": "p", "namespace": "m"}, Caller("p"), False),
    ],
)
def test_who_is_named(subject: dict[str, str], caller: Caller, is_named: bool) -> None:
    assert _rights(policy("a", subjects=[subject], allow=["view"]), caller=caller).any(Right.VIEW) is is_named


def test_a_bracket_in_a_pattern_is_no_wildcard() -> None:
    read = snapshot(policy("a", subjects=[user("ann")], allow=["view"], namespaces=["web?"]))
    rights = Rulebook(read).of(ANN)
    assert rights.on_namespace(Right.VIEW, "web1")
    assert not rights.on_namespace(Right.VIEW, "web")
    assert not rights.on_namespace(Right.VIEW, "web1\n")


@pytest.mark.parametrize("pattern", ["*", "?*", "shop"])
def test_a_policy_with_namespaces_covers_nothing_that_is_in_none(pattern: str) -> None:
    rights = _rights(policy("a", subjects=[user("ann")], allow=["view"], namespaces=[pattern]))
    assert rights.on_object(Right.VIEW, "p1", "shop")
    assert not rights.on_object(Right.VIEW, "p1", "")
    assert not rights.on_namespace(Right.VIEW, "")
