"""Whatever the program prints as the name of an object is understood where a person types one."""

from __future__ import annotations

import pytest

from gitfed.errors import NotThere, UsageError
from gitfed.model.base import ObjectKey
from gitfed.views import names

WEB = ObjectKey("apps", "Deployment", "shop", "web")
OTHER = ObjectKey("apps", "Deployment", "depot", "web")
CONFIG = ObjectKey("", "ConfigMap", "shop", "web")
ROLLOUT = ObjectKey("argoproj.io", "Rollout", "shop", "web")
SPACE = ObjectKey("", "Namespace", "", "shop")
ROLE = ObjectKey("rbac.authorization.k8s.io", "ClusterRole", "", "system:web")
ODD = ObjectKey("", "ConfigMap", "deployment", "web")
"""In a namespace that is called as a kind."""
KNOWN = (WEB, OTHER, CONFIG, ROLLOUT, SPACE, ROLE, ODD)


@pytest.mark.parametrize("key", KNOWN, ids=str)
def test_what_is_shown_and_what_o_name_prints_is_understood(key: ObjectKey) -> None:
    assert names.find(names.shown(key), KNOWN) == key
    assert names.find(names.typed(key), KNOWN) == key


@pytest.mark.parametrize(("known", "shown"), names.short_forms().items(), ids=str)
def test_every_short_form_that_is_shown_can_be_typed(known: tuple[str, str], shown: str) -> None:
    key = ObjectKey(*known, "shop", "one")
    assert names.find(f"shop/{shown}/one", [key]) == names.find(f"{shown}/one", [key]) == key


@pytest.mark.parametrize(
    "text", ["deploy/shop/web", "shop/deploy/web", "shop/deployments/web", "shop/Deployment.apps/web"]
)
def test_the_kind_may_stand_before_or_after_the_namespace(text: str) -> None:
    assert names.find(text, KNOWN) == WEB


def test_the_kind_comes_first_where_a_namespace_is_called_as_a_kind() -> None:
    crossed = ObjectKey("apps", "Deployment", "cm", "web")
    known = [crossed, ODD]  # deployment/CM/web and cm/Deploy/web
    assert names.find("deployment/cm/web", known) == crossed
    assert names.find("cm/deployment/web", known) == ODD


def test_a_misspelt_name_in_the_shown_form_gets_a_suggestion() -> None:
    with pytest.raises(NotThere) as found:
        names.find("shop/Deploy/wbe", KNOWN)
    assert found.value.hint == "did you mean deploy/shop/web?"


def test_an_object_is_named_in_one_cluster_or_in_all() -> None:
    works = {("eu-1", WEB), ("us-1", WEB), ("us-1", CONFIG), ("eu-1", SPACE)}
    everywhere = {("eu-1", WEB), ("us-1", WEB)}
    assert names.find_works("shop/Deploy/web", works) == everywhere
    assert names.find_works("Deployment.apps/shop/web", works) == everywhere
    assert names.find_works("us-1/shop/Deploy/web", works) == {("us-1", WEB)}
    assert names.find_works("us-1/Deployment.apps/shop/web", works) == {("us-1", WEB)}
    assert names.find_works("eu-1/NS/shop", works) == {("eu-1", SPACE)}
    assert names.find_works("cm/web", works, namespace="shop") == {("us-1", CONFIG)}


def test_a_cluster_that_is_called_as_a_kind_hides_no_object() -> None:
    works = {("deploy", CONFIG), ("eu-1", WEB)}
    assert names.find_works("deploy/shop/web", works) == {("eu-1", WEB)}


def test_several_objects_are_not_meant_by_one_name() -> None:
    with pytest.raises(UsageError) as found:
        names.find_works("deploy/web", {("eu-1", WEB), ("eu-1", OTHER)})
    assert found.value.message == "'deploy/web' may be Deployment.apps/depot/web or Deployment.apps/shop/web"
