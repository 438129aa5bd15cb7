"""What a broken file may have meant is limited by what can be read of it."""

from __future__ import annotations

import pytest

from gitfed.errors import SourceError
from gitfed.model.repo import Possible, UnreadFile
from gitfed.source import repo
from gitfed.source.tree import LARGEST_FILE
from tests.source.trees import SETTINGS, tree

POLICY = "apiVersion: policy.karmada.io/v1alpha1\nkind: %s\nmetadata: %s\nspec:\n  resourceSelectors:\n  - %s\n"
SELECTOR = "{apiVersion: apps/v1, kind: Deployment, namespace: shop, name: web}"
IN_SHOP = "{name: p, namespace: shop}"


def of(*names: str) -> frozenset[str]:
    return frozenset(names)


def unread(text: str | bytes, path: str = "a.yaml") -> UnreadFile:
    (file,) = repo.read(tree({path: text})).unread
    return file


@pytest.mark.parametrize(
    ("text", "defines"),
    [
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop, lables: {}}\ndata: [\n",
         Possible(of("ConfigMap"), of("shop", ""))),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: A, namespace: shop}\n",
         Possible(of("ConfigMap"), of("shop", ""))),
        ("apiVersion: apps/v1\nkind: Deploymnt\nmetadata: {name: a, namespace: shop}\n"
         "spec: {replicas: -1}\n---\nkind: 1\n",
         Possible(None, of("shop"), of("a"))),
        ("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: -1}\n",
         Possible(of("Deployment"), of("", "default"), of("a"))),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: A, namspace: shop}\n",
         Possible(of("ConfigMap"))),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: Shop}\n",
         Possible(of("ConfigMap"), None, of("a"))),
        (POLICY % ("PropagationPolcy", IN_SHOP, SELECTOR), Possible(None, of("shop"), of("p"))),
        ("apiVersion: v1\nmetadata: {name: a, namespace: shop}\n", Possible(None, of("shop"), of("a"))),
        ("apiVersion: v1\nkind: [\n", Possible()),
        ('{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "shop"',
         Possible(of("ConfigMap"), of("shop", ""))),
        ('{"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"namespace": 1%s' % ("0" * 400),
         Possible(of("ConfigMap"))),
        ('{"kind": 1%s, "metadata": {"namespace": "shop"}, "spec": {"kind": "main"}}' % ("0" * 400),
         Possible(None, of("shop"))),
        ('{"apiVersion": "v1", "metadata": {"name": "a}", "namespace": "shop"}, "roleRef": {"kind": "Role"',
         Possible(None, of("shop"))),
        ('{"roleRef": {"kind": "Role"}, "kind": "RoleBinding", "metadata": {"namespace": "shop"',
         Possible(of("RoleBinding"), of("shop", ""))),
        ("apiVersion: v1\nkind: [\nroleRef:\n  kind: Role\n", Possible()),
        ("apiVersion: v1\nkind: List\nitems:\n- kind: ConfigMap\n  data: [\n", Possible()),
        ('{"apiVersion": "v1", "kind": null, "metadata": {"namespace": "shop"', Possible(None, of("shop"))),
        ('{"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"namespace": null', Possible(of("ConfigMap"))),
        ('{"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"namespace": "Shop"', Possible(of("ConfigMap"))),
        ('{"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"namespace": "sh.op"', Possible(of("ConfigMap"))),
    ],
)  # fmt: skip
def test_a_broken_template_may_define_what_its_kind_namespace_and_name_say(text: str, defines: Possible) -> None:
    file = unread(text)
    assert (file.defines[0], file.concerns) == (defines, ())


@pytest.mark.parametrize(
    ("text", "concerns", "overrides"),
    [
        (POLICY % ("PropagationPolicy", IN_SHOP, "{kind: 1}"), Possible(None, of("shop")), False),
        (POLICY % ("PropagationPolicy", IN_SHOP, "["), Possible(None, of("shop")), False),
        (POLICY % ("PropagationPolicy", "{name: p}", SELECTOR) + "  priorty: 1\n",
         Possible(None, of("", "default")), False),
        (POLICY % ("OverridePolicy", IN_SHOP, SELECTOR) + "  priorty: 1\n", Possible(None, of("shop")), True),
        (POLICY % ("FederatedResourceQuota", IN_SHOP, "{}"), Possible(None, of("shop")), False),
        (POLICY % ("ClusterPropagationPolicy", "{name: p}", SELECTOR) + "  priorty: 1\n",
         Possible(of("Deployment"), of("shop"), of("web")), False),
        (POLICY % ("ClusterOverridePolicy", "{name: p}", "{apiVersion: v1, kind: ConfigMap}") + "  priorty: 1\n",
         Possible(of("ConfigMap")), True),
        (POLICY % ("ClusterPropagationPolicy", "{name: p}", "{knd: Deployment}"), Possible(), False),
        ("apiVersion: config.karmada.io/v1alpha1\nkind: ResourceInterpreterCustomization\nmetadata: {name: x}\n"
         "spec: {target: {apiVersion: x/v1, kind: Thing}, customisations: {}}\n", Possible(of("Thing")), False),
    ],
)  # fmt: skip
def test_a_broken_policy_concerns_its_namespace_or_what_it_selects(
    text: str, concerns: Possible, overrides: bool
) -> None:
    file = unread(text)
    assert (file.concerns, file.overrides) == ((concerns,), overrides)


def test_a_broken_cluster_concerns_no_template() -> None:
    text = "apiVersion: cluster.karmada.io/v1alpha1\nkind: Cluster\nmetadata: {name: m1}\nspec: {syncMde: Push}\n"
    file = unread(text)
    assert file.concerns == ()
    assert file.may_define("Cluster", "", "m1")
    assert not file.may_define("Cluster", "", "m2")


def test_a_broken_definition_may_change_the_keys_of_its_objects() -> None:
    text = (
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: Xs.example.io}\n"
        "spec: {group: example.io, scope: Namespaced, names: {kind: X}}\n"
    )
    file = unread(text)
    assert file.may_define("X", "default", "x")
    assert not file.may_define("X", "shop", "x")


@pytest.mark.parametrize("text", ["a: [\n", "just text\n", "x: !!python/object/apply:os.system [id]\n--- [\n"])
def test_a_file_that_mentions_no_object_means_none(text: str) -> None:
    file = unread(text)
    assert (file.defines, file.concerns) == ((), ())


@pytest.mark.parametrize("text", [b"# " + b"x" * LARGEST_FILE, b"version https://git-lfs.github.com/spec/v1\n"])
def test_what_is_not_looked_into_may_define_anything_and_concerns_nothing(text: bytes) -> None:
    file = unread(text)
    assert (file.defines, file.concerns) == ((Possible(),), ())


def test_each_document_of_a_text_is_looked_at_by_itself() -> None:
    text = "kind: A\nnamespace: x\n---\nkind: B\nspec: [\n---\n# nothing\n"
    assert unread(text).defines == (Possible(of("A"), of("x", "")), Possible(of("B")))


def test_two_definitions_of_one_object_hold_that_object() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop}\n"
    found = repo.read(tree({"a.yaml": text, "b.yaml": text})).unread
    assert [one.path for one in found] == ["a.yaml", "b.yaml"]
    assert {one.defines for one in found} == {(Possible(of("ConfigMap"), of("shop", ""), of("a")),)}


def test_a_folder_that_cannot_be_built_may_define_the_kinds_of_its_material() -> None:
    def build(root: object, read: object) -> bytes:
        raise SourceError("no reason")

    files = {
        "gitfed.yaml": SETTINGS,
        "app/kustomization.yaml": "resources: [web.yaml]\n",
        "app/web.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n",
    }
    (file,) = repo.read(tree(files, settings=None), build=build).unread
    assert file.defines == (Possible(of("ConfigMap", "Deployment", "Secret")),)
