"""One commit, read: what files say together, what is held, what is remembered."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitfed.model.base import Commit, ObjectKey
from gitfed.model.repo import HeldFile, RepoSnapshot
from gitfed.source import repo
from gitfed.source.last_good import Earlier
from gitfed.source.read_cache import ReadCache
from tests.source.snapshots import config, keys, told
from tests.source.trees import SETTINGS, Tree, tree

POLICY = (
    "apiVersion: policy.karmada.io/v1alpha1\nkind: PropagationPolicy\nmetadata: {name: p, namespace: shop}\n"
    "spec:\n  resourceSelectors:\n  - {apiVersion: v1, kind: ConfigMap}\n"
)
CLUSTER = "apiVersion: cluster.karmada.io/v1alpha1\nkind: Cluster\nmetadata: {name: m1}\nspec: {syncMode: Push}\n"
CRD = (
    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: xs.example.io}\n"
    "spec: {group: example.io, scope: %s, names: {kind: X, plural: xs}}\n"
)


def test_templates_and_declared_objects_are_told_apart() -> None:
    snapshot = repo.read(tree({"a.yaml": config("a") + "---\n" + POLICY, "clusters/m1.yaml": CLUSTER}))
    assert told(snapshot) == []
    assert keys(snapshot) == ["ConfigMap/shop/a"]
    assert [policy.name for policy in snapshot.propagation] == ["p"]
    assert snapshot.propagation[0].spec.resource_selectors[0].namespace == "shop"
    assert list(snapshot.clusters) == ["m1"]
    assert snapshot.settings.name == "acme"
    assert snapshot.complete
    manifest = snapshot.manifests[ObjectKey("", "ConfigMap", "shop", "a")]
    assert str(manifest.origin) == "a.yaml:1:1"
    assert manifest.body["data"] == {"a": "x"}
    assert str(snapshot.propagation[0].origin) == "a.yaml:6:1"
    assert str(snapshot.origins[ObjectKey("cluster.karmada.io", "Cluster", "", "m1")]) == "clusters/m1.yaml:1:1"


def test_list_objects_are_their_items_with_their_own_places() -> None:
    text = (
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMapList\n  items:\n"
        "  - apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: a, namespace: ns}\n"
        "- apiVersion: v1\n  kind: Namespace\n  metadata: {name: ns}\n"
    )
    snapshot = repo.read(tree({"a.yaml": text}))
    assert {str(key): str(manifest.origin) for key, manifest in snapshot.manifests.items()} == {
        "ConfigMap/ns/a": "a.yaml:7:5",
        "Namespace/ns": "a.yaml:10:3",
    }


def test_json_files_are_read_like_yaml_files() -> None:
    text = '{"apiVersion": "v1",\n "kind": "ConfigMap",\n "metadata": {"name": "a", "lables": 1}}'
    assert keys(repo.read(tree({"a.json": text}))) == ["ConfigMap/default/a"]
    assert told(repo.read(tree({"a.json": text.replace('"a"', '"A"')}))) == [
        "a.json:3:15: the name A must be lowercase letters, digits, - and . only, "
        "with a letter or digit at both ends of each part"
    ]


def test_a_namespaced_object_without_a_namespace_lives_in_default() -> None:
    snapshot = repo.read(tree({"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"}))
    manifest = snapshot.manifests[ObjectKey("", "ConfigMap", "default", "a")]
    assert manifest.body["metadata"] == {"name": "a", "namespace": "default"}


def test_a_policy_without_a_namespace_lives_in_default() -> None:
    snapshot = repo.read(tree({"p.yaml": POLICY.replace(", namespace: shop", "")}))
    assert snapshot.propagation[0].namespace == "default"
    assert snapshot.propagation[0].spec.resource_selectors[0].namespace == "default"


CUSTOM = "apiVersion: example.io/v1\nkind: X\nmetadata: {name: x}\n"
CUSTOM_IN_SHOP = CUSTOM.replace("{name: x}", "{name: x, namespace: shop}")


@pytest.mark.parametrize(
    ("files", "key"),
    [
        ({"x.yaml": CUSTOM}, "X.example.io/x"),
        ({"x.yaml": CUSTOM_IN_SHOP}, "X.example.io/shop/x"),
        ({"x.yaml": CUSTOM, "crd.yaml": CRD % "Namespaced"}, "X.example.io/default/x"),
        ({"x.yaml": CUSTOM, "crd.yaml": CRD % "Cluster"}, "X.example.io/x"),
    ],
)
def test_crds_of_the_repository_tell_the_scope_of_custom_kinds(files: dict[str, str], key: str) -> None:
    snapshot = repo.read(tree(files))
    assert told(snapshot) == []
    assert [found for found in keys(snapshot) if found.startswith("X.")] == [key]


def test_a_namespace_of_a_cluster_scoped_custom_object_is_ignored_and_told() -> None:
    snapshot = repo.read(tree({"x.yaml": CUSTOM_IN_SHOP, "crd.yaml": CRD % "Cluster"}))
    hint = "remove it; the CRD in this repository says so"
    assert told(snapshot) == [f"x.yaml:1:1: warning: X is cluster-scoped: its namespace is ignored ({hint})"]
    (key,) = [key for key in snapshot.manifests if key.kind == "X"]
    assert (key.namespace, "namespace" in snapshot.manifests[key].body["metadata"]) == ("", False)


def test_a_namespace_of_a_cluster_scoped_object_is_ignored_and_told() -> None:
    role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a, namespace: shop}\n"
    snapshot = repo.read(tree({"a.yaml": role}))
    assert told(snapshot) == [
        "a.yaml:3:21: warning: ClusterRole is cluster-scoped: its namespace is ignored (remove it)"
    ]
    ((key, manifest),) = snapshot.manifests.items()
    assert (key.namespace, "namespace" in manifest.body["metadata"]) == ("", False)


def test_an_object_of_two_files_is_told_once_and_both_are_at_fault() -> None:
    snapshot = repo.read(tree({"a.yaml": config("web"), "b.yaml": config("ok") + "---\n" + config("web", data="z")}))
    assert told(snapshot) == [
        "a.yaml:1:1: two files define ConfigMap shop/web: a.yaml:1:1 and b.yaml:6:1 (remove one)",
    ]
    assert not snapshot.complete
    assert [one.path for one in snapshot.unread] == ["a.yaml", "b.yaml"]


def test_an_object_of_many_files_is_told_once() -> None:
    files = {f"{name}.yaml": config("web") for name in "abcdefg"}
    assert told(repo.read(tree({name: files[name] for name in ("a.yaml", "b.yaml", "c.yaml")}))) == [
        "a.yaml:1:1: 3 files define ConfigMap shop/web: a.yaml:1:1, b.yaml:1:1 and c.yaml:1:1 (leave one)"
    ]
    snapshot = repo.read(tree(files))
    assert told(snapshot) == [
        "a.yaml:1:1: 7 files define ConfigMap shop/web: a.yaml:1:1, b.yaml:1:1, c.yaml:1:1, d.yaml:1:1 and 3 more"
        " (leave one)"
    ]
    assert len(snapshot.unread) == 7


def test_one_file_that_defines_an_object_twice_is_told() -> None:
    snapshot = repo.read(tree({"a.yaml": POLICY + "---\n" + POLICY}))
    assert told(snapshot) == [
        "a.yaml:1:1: the file defines PropagationPolicy shop/p twice: a.yaml:1:1 and a.yaml:8:1 (remove one)",
    ]


def test_a_namespace_tells_objects_apart_and_a_version_of_the_kind_does_not() -> None:
    assert len(repo.read(tree({"a.yaml": config("a", "x"), "b.yaml": config("a", "z")})).manifests) == 2
    old = "apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\n"
    assert len(repo.read(tree({"a.yaml": old, "b.yaml": old.replace("/v1", "/v2")})).problems) == 1


# settings


def test_a_repository_without_settings_is_told_what_to_do() -> None:
    snapshot = repo.read(tree({"a.yaml": config("a")}, settings=None))
    assert told(snapshot) == [
        "gitfed.yaml: the repository has no settings: no document of kind Federation (gitfed init writes one)"
    ]
    assert keys(snapshot) == ["ConfigMap/shop/a"]
    assert snapshot.settings.name == "unnamed"


def test_an_empty_tree_is_complete_and_has_only_that_problem() -> None:
    snapshot = repo.read(tree({}, settings=None))
    assert len(snapshot.problems) == 1
    assert snapshot.complete
    assert not snapshot.manifests


def test_two_federations_are_both_told() -> None:
    snapshot = repo.read(tree({"z.yaml": SETTINGS.replace("acme", "other")}))
    assert told(snapshot) == [
        "gitfed.yaml:1:1: a repository has one Federation, another stands at z.yaml:1:1 (remove one)",
        "z.yaml:1:1: a repository has one Federation, another stands at gitfed.yaml:1:1 (remove one)",
    ]
    assert snapshot.settings.name == "acme"


@pytest.mark.parametrize("path", ["gitfed.yaml", "settings/fleet.yml", "excluded/fleet.yaml"])
def test_the_settings_may_stand_anywhere_and_choose_the_files(path: str) -> None:
    text = SETTINGS + "spec: {sources: {include: ['*.yaml', '*.manifest'], exclude: ['/excluded', 'b.yaml']}}\n"
    files = {
        path: text,
        "a.yaml": config("a"),
        "b.yaml": config("b"),
        "excluded/c.yaml": "[",
        "d.manifest": config("d"),
    }
    for _ in range(2):
        snapshot = repo.read(tree({**files, "e.json": "["}, settings=None))
        assert told(snapshot) == []
        assert keys(snapshot) == ["ConfigMap/shop/a", "ConfigMap/shop/d"]


def test_moved_settings_are_found_again_by_the_same_memory() -> None:
    memory = ReadCache()
    assert repo.read(tree({}), memory=memory).settings.name == "acme"
    moved = repo.read(tree({"x/y.yaml": SETTINGS}, settings=None), memory=memory)
    assert (moved.settings.name, moved.problems) == ("acme", ())
    gone = repo.read(tree({}, settings=None), memory=memory)
    assert gone.settings.name == "unnamed"


def test_facts_that_a_placement_test_names_declare_nothing() -> None:
    test = (
        "apiVersion: gitfed.io/v1alpha1\nkind: PlacementTest\nmetadata: {name: t}\n"
        "spec: {facts: fleet.yaml, snapshot: t.txt}\n"
    )
    snapshot = repo.read(tree({"m1.yaml": CLUSTER, "tests/t.yaml": test, "tests/fleet.yaml": CLUSTER}))
    assert told(snapshot) == []
    assert [found.name for found in snapshot.tests] == ["t"]


def test_skipped_namespaces_follow_the_settings() -> None:
    settings_text = SETTINGS + "spec: {namespaces: {skip: ['team-.*']}}\n"
    files = {"a.yaml": config("a", "team-x"), "b.yaml": config("b", "kube-system"), "c.yaml": config("c", "my-team-x")}
    snapshot = repo.read(tree(files, settings=settings_text))
    assert keys(snapshot) == ["ConfigMap/kube-system/b", "ConfigMap/my-team-x/c"]
    assert told(snapshot) == [
        "a.yaml:1:1: warning: the namespace team-x is skipped, so this object is never propagated "
        "(see spec.namespaces.skip of the Federation)"
    ]


# hold


def held_read(now: Tree, before: Tree, **options: object) -> RepoSnapshot:
    now.blobs = {**before.blobs, **now.blobs}
    versions = {entry.path: (before.commit, entry.blob_id) for entry in before.listed}
    return repo.read(now, earlier=Earlier(last_good=versions.get), **options)  # type: ignore[arg-type]


BROKEN = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop\n"


def test_a_broken_file_keeps_its_objects_at_the_last_good_version() -> None:
    before = tree(
        {"a.yaml": config("a", data="old") + "---\n" + POLICY, "b.yaml": config("b", data="old")}, commit="c0"
    )
    now = tree({"a.yaml": BROKEN, "b.yaml": config("b", data="new")})
    snapshot = held_read(now, before)
    a, b = (snapshot.manifests[ObjectKey("", "ConfigMap", "shop", name)] for name in "ab")
    assert (a.body["data"], a.held) == ({"a": "old"}, "c0")
    assert (b.body["data"], b.held) == ({"a": "new"}, None)
    assert [policy.name for policy in snapshot.propagation] == ["p"]
    message = "not valid YAML: did not find expected ',' or '}' while parsing a flow mapping"
    assert told(snapshot) == [f"a.yaml:4:1: {message}"]
    assert snapshot.held == (HeldFile("a.yaml", Commit("c0"), before.listed[1].blob_id, message),)
    assert snapshot.complete


def test_what_is_held_stays_the_same_object_between_reads() -> None:
    before, now, memory = tree({"a.yaml": config("a")}, commit="c0"), tree({"a.yaml": BROKEN}), ReadCache()
    first, second = (held_read(now, before, memory=memory) for _ in range(2))
    assert all(second.manifests[key] is manifest for key, manifest in first.manifests.items())
    assert first == second


def test_a_recorded_hold_beats_the_last_applied_commit() -> None:
    now = tree({"a.yaml": BROKEN})
    blob = Tree.put(now, "elsewhere", config("a", data="recorded"))
    now.listed.pop()
    held = {"a.yaml": HeldFile("a.yaml", Commit("c7"), blob, "was broken")}
    snapshot = repo.read(now, earlier=Earlier(held, lambda path: (Commit("c9"), "missing")))
    assert next(iter(snapshot.manifests.values())).body["data"] == {"a": "recorded"}
    assert snapshot.held[0].commit == "c7"


def test_held_bytes_may_come_from_elsewhere() -> None:
    held = {"a.yaml": HeldFile("a.yaml", Commit("c7"), "f" * 40, "")}
    text = config("a").encode()
    broken = tree({"a.yaml": BROKEN})
    assert repo.read(broken, earlier=Earlier(held, read=lambda version: text)).manifests
    assert not repo.read(broken, earlier=Earlier(held, read=lambda version: None)).complete


@pytest.mark.parametrize(
    "last_good", [None, lambda path: None, lambda path: (Commit("c0"), "no such blob")], ids=["unknown", "new", "lost"]
)
def test_a_broken_file_without_a_good_version_leaves_a_hole(last_good: object) -> None:
    earlier = Earlier(last_good=last_good)  # type: ignore[arg-type]
    snapshot = repo.read(tree({"a.yaml": BROKEN, "b.yaml": config("b")}), earlier=earlier)
    assert not snapshot.complete
    assert keys(snapshot) == ["ConfigMap/shop/b"]


def test_an_older_version_that_is_broken_too_is_not_used() -> None:
    snapshot = held_read(tree({"a.yaml": BROKEN}), tree({"a.yaml": BROKEN + "x"}, commit="c0"))
    assert not snapshot.complete
    assert snapshot.held == ()


def test_an_object_that_moved_out_of_a_broken_file_is_the_good_file_s() -> None:
    before = tree({"a.yaml": config("a", data="old") + "---\n" + config("b")}, commit="c0")
    now = tree({"a.yaml": BROKEN, "moved.yaml": config("a", data="new")})
    snapshot = held_read(now, before)
    assert snapshot.manifests[ObjectKey("", "ConfigMap", "shop", "a")].body["data"] == {"a": "new"}
    assert keys(snapshot) == ["ConfigMap/shop/a", "ConfigMap/shop/b"]


def test_of_two_definitions_the_one_that_was_there_before_stays() -> None:
    before = tree({"a.yaml": config("web", data="old")}, commit="c0")
    now = tree({"a.yaml": config("web", data="changed"), "b.yaml": config("web", data="copy")})
    snapshot = held_read(now, before)
    assert snapshot.manifests[ObjectKey("", "ConfigMap", "shop", "web")].body["data"] == {"a": "old"}


def test_broken_settings_go_on_as_they_were() -> None:
    old = SETTINGS + "spec: {sources: {exclude: ['junk/**']}, guards: {maxDeletions: 3}}\n"
    now = tree({"a.yaml": config("a"), "junk/x.yaml": "["}, settings=SETTINGS + "spec: {guards: {maxDeletion: 4}}\n")
    snapshot = held_read(now, tree({}, settings=old, commit="c0"))
    assert snapshot.settings.spec.guards.max_deletions == 3
    assert told(snapshot) == ["gitfed.yaml:4:17: unknown field maxDeletion (did you mean maxDeletions?)"]


def test_a_held_custom_object_gets_the_namespace_that_its_crd_asks_for() -> None:
    before = tree({"x.yaml": CUSTOM, "crd.yaml": CRD % "Namespaced"}, commit="c0")
    snapshot = held_read(tree({"x.yaml": BROKEN, "crd.yaml": CRD % "Namespaced"}), before)
    manifest = snapshot.manifests[ObjectKey("example.io", "X", "default", "x")]
    assert manifest.held == "c0"


def test_a_blob_that_cannot_be_read_is_a_hole_not_a_deletion() -> None:
    now = tree({"a.yaml": config("a")})
    now.blobs.pop(now.listed[1].blob_id)
    snapshot = repo.read(now)
    assert told(snapshot) == [f"a.yaml: the file cannot be read: no blob {now.listed[1].blob_id[:7]}"]
    assert not snapshot.complete


# memory


class Disk:
    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}

    def get(self, blob_id: str) -> bytes | None:
        return self.content.get(blob_id)

    def put(self, blob_id: str, content: bytes) -> None:
        self.content[blob_id] = content


def test_a_push_that_changes_one_file_reads_one_file() -> None:
    files = {f"{i}.yaml": config(f"c{i}") for i in range(50)}
    memory = ReadCache()
    first = repo.read(tree(files), memory=memory)
    now = tree({**files, "7.yaml": config("c7", data="new")})
    second = repo.read(now, memory=memory)
    assert now.reads == 1
    same = [key for key, manifest in first.manifests.items() if second.manifests[key] is manifest]
    assert len(same) == 49


def test_two_commits_read_in_turn_are_both_remembered() -> None:
    one, other, memory = tree({"a.yaml": config("a")}), tree({"a.yaml": config("a", data="z")}), ReadCache()
    for commit in (one, other):
        repo.read(commit, memory=memory)
    reads = one.reads + other.reads
    for commit in (one, other, one, other):
        repo.read(commit, memory=memory)
    assert one.reads + other.reads == reads


def test_the_disk_saves_parsing_and_changes_nothing() -> None:
    disk, files = Disk(), {"a.yaml": config("a"), "b.yaml": POLICY + "  priorty: 1\n", "c.yaml": "[", "d.json": "{}"}
    first = repo.read(tree(files), cache=disk)
    assert len(disk.content) == 5
    again = tree(files)
    assert repo.read(again, cache=disk) == first
    assert again.reads == 2, "only for the place of the unknown field, and for what a text may mean that does not parse"


@pytest.mark.parametrize("junk", [b"", b"{}", b"[]", b"\xff", b'{"version": 0}'])
def test_a_spoiled_cache_is_ignored(junk: bytes) -> None:
    disk, files = Disk(), {"a.yaml": config("a")}
    first = repo.read(tree(files), cache=disk)
    disk.content = dict.fromkeys(disk.content, junk)
    assert repo.read(tree(files), cache=disk) == first


def test_one_blob_as_yaml_and_as_json_is_read_twice() -> None:
    disk = Disk()
    text = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "y"}} # note\n'
    assert repo.read(tree({"a.yaml": text}), cache=disk).problems == ()
    assert told(repo.read(tree({"a.json": text}), cache=disk)) == ["a.json:1:90: not valid JSON: expecting value"]


@settings(max_examples=30, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_order_of_entries_never_matters(shuffle: random.Random) -> None:
    files = {
        "a.yaml": config("a"),
        "b/a.yaml": config("a") + "---\n" + config("b"),
        "b/p.yaml": POLICY,
        "c.yaml": CLUSTER + "---\n" + CUSTOM,
        "crd.yaml": CRD % "Namespaced",
        "d.yaml": BROKEN,
        "link.yaml": "-> other/x.txt",
        "other/x.txt": config("linked"),
    }
    straight = repo.read(tree(files))
    mixed = tree(files)
    shuffle.shuffle(mixed.listed)
    snapshot = repo.read(mixed)
    assert snapshot == straight
    assert list(snapshot.manifests) == list(straight.manifests)


def test_a_namespace_of_a_cluster_scoped_declared_object_is_ignored_and_told() -> None:
    snapshot = repo.read(tree({"m1.yaml": CLUSTER.replace("m1}", "m1, namespace: shop}")}))
    assert told(snapshot) == ["m1.yaml:3:22: warning: Cluster is cluster-scoped: its namespace is ignored (remove it)"]
    assert list(snapshot.clusters) == ["m1"]
    assert not snapshot.clusters["m1"].metadata.namespace


def test_an_empty_list_object_holds_nothing() -> None:
    assert repo.read(tree({"a.yaml": "apiVersion: v1\nkind: List\nitems:\n"})).problems == ()


def test_problems_of_one_file_are_cut_off() -> None:
    snapshot = repo.read(tree({"a.yaml": "kind: 1\n---\n" * 500}))
    assert len(snapshot.problems) == 202
    assert told(snapshot)[-1] == "a.yaml:403:1: more than 200 problems in one file, the rest was not looked at"


def test_custom_objects_stay_the_same_between_reads() -> None:
    memory, files = ReadCache(), {"x.yaml": CUSTOM, "crd.yaml": CRD % "Namespaced"}
    first, second = (repo.read(tree(files), memory=memory) for _ in range(2))
    assert all(second.manifests[key] is manifest for key, manifest in first.manifests.items())


def test_all_members_of_a_fleet_repository_find_their_place() -> None:
    text = Path(__file__).with_name("everything.yaml").read_text(encoding="utf-8").replace("other", "acme")
    snapshot = repo.read(tree({"all.yaml": text}, settings=None))
    assert told(snapshot) == []
    assert [
        len(kind)
        for kind in (
            snapshot.propagation,
            snapshot.overrides,
            snapshot.quotas,
            snapshot.clusters,
            snapshot.webhooks,
            snapshot.tests,
        )
    ] == [1, 1, 1, 1, 1, 1]
    assert snapshot.settings.name == "acme"


def test_keys_of_the_settings_must_be_in_the_repository() -> None:
    settings = (
        "apiVersion: gitfed.io/v1alpha1\nkind: Federation\nmetadata: {name: acme}\n"
        "spec:\n  sources: {verify: {commits: head, keys: [keys/ada.pub, keys/bob.pub]}}\n"
        f"  guards: {{approvers: ['SHA256:{'a' * 43}', keys/eve.asc]}}\n"
    )
    snapshot = repo.read(tree({"keys/ada.pub": "x"}, settings=settings))
    assert [str(problem) for problem in snapshot.problems if "key" in problem.message] == [
        "gitfed.yaml:1:1: spec.guards.approvers: keys/eve.asc is neither a public key nor a file of this repository"
        " (a path from the top, like keys/ada.pub)",
        "gitfed.yaml:1:1: spec.sources.verify.keys: keys/bob.pub is neither a public key nor a file of this repository"
        " (a path from the top, like keys/ada.pub)",
    ]
    assert not snapshot.complete
