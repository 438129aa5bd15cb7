"""Fields that cannot be changed where an object is there already."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gitfed.lint import immutable
from tests.e2e.world import config_map, deployment, settings
from tests.lint.repository import snapshot


def told(before: str, after: str) -> list[str]:
    base, head = (snapshot({"gitfed.json": settings(), "a.json": text}) for text in (before, after))
    return [problem.message for problem in immutable.changed(base, head)]


def body(api_version: str, kind: str, **members: Any) -> str:
    return json.dumps(
        {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", "namespace": "shop"}, **members}
    )


def test_a_selector_that_changes_is_told_with_what_to_do() -> None:
    changed = deployment("web").replace('"matchLabels": {"app": "web"}', '"matchLabels": {"app": "new"}')
    base, head = (snapshot({"gitfed.json": settings(), "a.json": text}) for text in (deployment("web"), changed))
    assert [str(problem) for problem in immutable.changed(base, head)] == [
        "a.json:1:1: warning: shop/Deploy/web changes spec.selector, which API servers refuse to change (give it "
        "another name, or annotate it gitfed.io/replace: allowed to have it made anew)"
    ]
    allowed = json.loads(changed)
    allowed["metadata"]["annotations"] = {"gitfed.io/replace": "allowed"}
    assert told(deployment("web"), json.dumps(allowed)) == []
    assert told(deployment("web"), deployment("web", replicas=9, image="x:2")) == []


def test_the_data_of_an_immutable_map_is_sealed() -> None:
    sealed = json.loads(config_map("a", {"k": "1"})) | {"immutable": True}
    other = {**sealed, "data": {"k": "2"}}
    assert told(json.dumps(sealed), json.dumps(other)) == ["shop/CM/a changes data, which API servers refuse to change"]
    assert told(json.dumps(sealed), config_map("a", {"k": "1"})) == [
        "shop/CM/a changes immutable, which API servers refuse to change"
    ]
    assert told(config_map("a", {"k": "1"}), json.dumps(other)) == [], "it was not sealed yet"


@pytest.mark.parametrize(
    ("before", "after", "fields"),
    [
        (body("v1", "Secret", type="Opaque"), body("v1", "Secret", type="x.io/y"), "type"),
        (
            body("apps/v1", "StatefulSet", spec={"serviceName": "a", "replicas": 1}),
            body("apps/v1", "StatefulSet", spec={"serviceName": "b", "replicas": 2}),
            "spec.serviceName",
        ),
        (
            body("rbac.authorization.k8s.io/v1", "RoleBinding", roleRef={"name": "a"}),
            body("rbac.authorization.k8s.io/v1", "RoleBinding", roleRef={"name": "b"}),
            "roleRef",
        ),
        (
            body("batch/v1", "Job", spec={"parallelism": 1, "template": {"spec": {"a": 1}}}),
            body("batch/v1", "Job", spec={"parallelism": 2, "template": {"spec": {"a": 2}}}),
            "spec.template",
        ),
        (body("example.com/v1", "Thing", spec={"selector": "a"}), body("example.com/v1", "Thing", spec={}), ""),
    ],
)
def test_each_kind_has_its_own_fields(before: str, after: str, fields: str) -> None:
    found = told(before, after)
    assert [line.partition(" changes ")[2].partition(",")[0] for line in found] == ([fields] if fields else [])
