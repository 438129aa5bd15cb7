"""Waves, order by kind, and dependencies."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.model.base import Digest, ObjectKey, Origin, Problem, key_of
from gitfed.model.repo import Manifest
from gitfed.planning.ordering import order


def manifest(name: str, kind: str = "Deployment", api_version: str = "apps/v1", **annotations: str) -> Manifest:
    body: dict[str, Any] = {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": "shop",
            "annotations": {f"gitfed.io/{key.replace('_', '-')}": value for key, value in annotations.items()},
        },
    }
    return Manifest(key_of(body), api_version, body, Origin(f"{name}.yaml", 1), Digest(name))


def test_kinds_have_their_usual_order() -> None:
    kinds = [
        ("v1", "Namespace"),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        ("rbac.authorization.k8s.io/v1", "Role"),
        ("v1", "ConfigMap"),
        ("v1", "PersistentVolumeClaim"),
        ("v1", "Service"),
        ("apps/v1", "Deployment"),
        ("policy/v1", "PodDisruptionBudget"),
        ("example.com/v1", "Widget"),
    ]
    assert [order.position(manifest("x", kind, version)).order for version, kind in kinds] == list(range(9))


@pytest.mark.parametrize(("text", "wave"), [("3", 3), ("-2", -2), ("soon", 0), ("", 0)])
def test_a_wave_is_a_number_or_nothing(text: str, wave: int) -> None:
    assert order.position(manifest("x", wave=text)).wave == wave


def test_faults_of_the_annotations_are_said() -> None:
    faulty = manifest("x", wave="soon", depends_on="apps/Deployment/shop/db, db")
    assert order.faults(faulty) == [
        Problem(Origin("x.yaml", 1), "annotation gitfed.io/wave: 'soon' is no whole number"),
        Problem(
            Origin("x.yaml", 1),
            "annotation gitfed.io/depends-on: 'db' names no object",
            "write group/Kind/namespace/name",
        ),
    ]
    assert order.faults(manifest("y", wave="1")) == []


def test_dependencies_are_keys_sorted_and_unique() -> None:
    text = "/ConfigMap/shop/conf, apps/Deployment/shop/db, /Namespace//shop,/ConfigMap/shop/conf,bad"
    assert order.dependencies(manifest("x", depends_on=text)) == (
        ObjectKey("", "ConfigMap", "shop", "conf"),
        ObjectKey("", "Namespace", "", "shop"),
        ObjectKey("apps", "Deployment", "shop", "db"),
    )


def needs(name: str, *others: str) -> Manifest:
    return manifest(name, depends_on=",".join(f"apps/Deployment/shop/{other}" for other in others))


def test_objects_that_wait_for_each_other_are_a_problem() -> None:
    (problem,) = order.cycles([needs("b", "c"), needs("c", "a"), needs("a", "b"), needs("d", "a")])
    key = "Deployment.apps/shop"
    assert problem.origin == Origin("a.yaml", 1)
    assert problem.message == f"objects wait for each other: {key}/a → {key}/b → {key}/c → {key}/a"


def test_an_object_that_waits_for_itself_is_a_problem() -> None:
    (problem,) = order.cycles([needs("a", "a")])
    assert problem.message.endswith("Deployment.apps/shop/a → Deployment.apps/shop/a")


def test_a_long_chain_is_no_circle() -> None:
    chain = [needs(f"n{index}", f"n{index + 1}") for index in range(5000)]
    assert order.cycles(chain) == []


@given(st.permutations([needs("a", "b"), needs("b", "c", "a"), needs("c"), needs("d", "d"), manifest("e")]))
def test_the_order_of_manifests_never_matters(manifests: list[Manifest]) -> None:
    assert len(order.cycles(manifests)) == 2
    assert order.cycles(manifests) == order.cycles(sorted(manifests, key=lambda item: item.key))
