"""Where the fields of declared objects stand."""

from __future__ import annotations

import json

import pytest

from gitfed.model.base import Origin
from gitfed.source import locate, repo
from tests.source.trees import tree

SETTINGS = "apiVersion: gitfed.io/v1alpha1\nkind: Federation\nmetadata: {name: acme}\n"
ONE = """\
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: one, namespace: shop}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]
  placement:
    clusterAffinity:
      clusterNames:
      - eu-1
      - mars
"""
LISTED = "apiVersion: v1\nkind: List\nitems:\n- " + ONE.replace("\n", "\n  ").rstrip() + "\n"
PATH = ("spec", "placement", "clusterAffinity", "clusterNames", 1)


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("p.yaml", ONE, Origin("p.yaml", 10, 9)),
        ("p.yaml", f"---\n# nothing\n---\n{ONE}", Origin("p.yaml", 13, 9)),
        ("p.yaml", LISTED, Origin("p.yaml", 13, 11)),
    ],
    ids=["a document", "a document after an empty one", "an item of a list"],
)
def test_a_field_is_found_in_its_file(name: str, text: str, place: Origin) -> None:
    snapshot = repo.read(tree({"gitfed.yaml": SETTINGS, name: text}))
    (policy,) = snapshot.propagation
    assert locate.InFiles(lambda path: text.encode())(policy, PATH) == place


def test_a_field_is_found_in_json() -> None:
    placement = {"clusterAffinity": {"clusterNames": ["eu-1", "mars"]}}
    spec = {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}], "placement": placement}
    metadata = {"name": "one", "namespace": "shop"}
    kind = {"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy"}
    body = json.dumps({**kind, "metadata": metadata, "spec": spec}, indent=1)
    (policy,) = repo.read(tree({"gitfed.yaml": SETTINGS, "p.json": body})).propagation
    found = locate.InFiles(lambda path: body.encode())(policy, PATH)
    assert body.splitlines()[found.line - 1].strip() == '"mars"'


def test_without_its_bytes_an_object_stands_where_it_begins() -> None:
    (policy,) = repo.read(tree({"gitfed.yaml": SETTINGS, "p.yaml": ONE})).propagation
    assert locate.InFiles(lambda path: None)(policy, PATH) == Origin("p.yaml", 1, 1)
    assert locate.InFiles(lambda path: b"other: bytes\n")(policy, PATH).line == 1
    assert locate.by_object(policy, PATH) == Origin("p.yaml", 1, 1)
