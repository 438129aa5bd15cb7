"""Files that are plainly no manifests are left out, and a manifest with a mistake is not taken for one of them."""

from __future__ import annotations

import pytest

from gitfed.model.base import Commit
from gitfed.source import repo
from gitfed.source.last_good import Earlier
from tests.source.trees import tree

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop}\n"

FOREIGN = {
    "Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    "bitbucket-pipelines.yml": "pipelines:\n  default: []\n",
    "audit.yaml": "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: []\n",
    "kind.yaml": "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nnodes: []\n",
    "scheduler.yaml": "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n",
    "charts/web/values.yaml": "image: {tag: '1'}\nautoscaling: {kind: HPA, apiVersion: v2}\n",
    "ci/gitfed.gitlab-ci.yml": "plan:\n  script: [gitfed plan]\n",
    "empty.json": "{}",
    "playbook.yml": "- hosts: all\n  tasks: []\n",
    "renovate.json": '{"extends": ["config:base"]}',
}
HIDDEN = {
    ".forgejo/workflows/plan.yaml": "on: push\n",
    ".gitea/workflows/plan.yml": "on: [push\n",
    ".github/dependabot.yml": "version: 2\n",
    ".gitlab-ci.yml": "plan: !reference [x, y]\n",
    ".pre-commit-config.yaml": "repos: []\n",
    ".sops.yaml": "creation_rules: []\n",
    ".vscode/settings.json": "{ // a comment\n}",
    "x/.hidden/a.yaml": CONFIG,
}


def test_files_that_are_plainly_no_objects_are_left_out_with_one_list() -> None:
    snapshot = repo.read(tree({**FOREIGN, **HIDDEN, "a.yaml": CONFIG}))
    assert snapshot.problems == ()
    assert snapshot.left_out == tuple(sorted(FOREIGN))
    assert snapshot.complete
    assert [key.name for key in snapshot.manifests] == ["a"]


def test_hidden_files_are_read_where_the_settings_write_the_dot() -> None:
    settings = (
        "apiVersion: gitfed.io/v1alpha1\nkind: Federation\nmetadata: {name: acme}\n"
        "spec: {sources: {include: ['**/*.yaml', 'x/.hidden/**']}}\n"
    )
    snapshot = repo.read(tree(HIDDEN, settings=settings))
    assert snapshot.problems == ()
    assert [str(one.origin) for one in snapshot.manifests.values()] == ["x/.hidden/a.yaml:1:1"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kind: ConfigMap\nmetadata: {name: a}\n", "not a Kubernetes object: apiVersion missing"),
        ("metadata: {name: a}\nspec: {}\n", "not a Kubernetes object: apiVersion and kind missing"),
        ("apiversion: v1\nknd: ConfigMap\n", "not a Kubernetes object: apiVersion and kind missing"),
        ("a: 1\n---\n" + CONFIG, "not a Kubernetes object: apiVersion and kind missing"),
        ("- apiVersion: v1\n  kind: ConfigMap\n", "a document must be an object, not a list"),
        ("some text\n", "a document must be an object, not a single value"),
    ],
)
def test_a_manifest_with_a_mistake_is_told(text: str, said: str) -> None:
    snapshot = repo.read(tree({"a.yaml": text}))
    assert [one.message for one in snapshot.problems] == [said]
    assert snapshot.left_out == ()


def test_what_was_a_manifest_before_is_held_and_told() -> None:
    before, now = tree({"a.yaml": CONFIG}, commit="c0"), tree({"a.yaml": "spec: {}\n"})
    blob = before.listed[1].blob_id
    now.blobs.update(before.blobs)
    snapshot = repo.read(now, earlier=Earlier(last_good=lambda path: (Commit("c0"), blob), applied=lambda path: blob))
    assert [one.message for one in snapshot.problems] == ["not a Kubernetes object: apiVersion and kind missing"]
    assert [one.held for one in snapshot.manifests.values()] == ["c0"]
    assert snapshot.left_out == ()


def test_what_was_no_manifest_before_stays_left_out() -> None:
    before, now = tree({"values.yaml": "a: 1\n"}, commit="c0"), tree({"values.yaml": "a: 2\n"})
    blob = before.listed[1].blob_id
    now.blobs.update(before.blobs)
    snapshot = repo.read(now, earlier=Earlier(last_good=lambda path: (Commit("c0"), blob), applied=lambda path: blob))
    assert (snapshot.problems, snapshot.left_out) == ((), ("values.yaml",))


EXCLUDE = "exclude the file in spec.sources.exclude if it is no manifest"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("apiVersion: example.com/v1\nkind: Suite\ntests: []\n", f"a.yaml:1:1: metadata is missing ({EXCLUDE})"),
        ("apiVersion: notes/v2\nkind: bug-fix\n", f"a.yaml:2:1: bug-fix is not a kind (like Deployment; {EXCLUDE})"),
    ],
)
def test_what_may_be_no_manifest_is_told_how_to_leave_it_out(text: str, said: str) -> None:
    assert [str(one) for one in repo.read(tree({"a.yaml": text})).problems] == [said]


CHART = {
    "web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    "web/values.yaml": "replicas: 1\n",
    "web/templates/deploy.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ .Release.Name }}\n",
    "web/templates/more/service.yaml": "{{ if .Values.on }}\napiVersion: v1\nkind: Service\n{{ end }}\n",
    "web/templates/config.yaml": CONFIG,
}


def test_a_helm_chart_is_one_problem_whatever_its_templates_look_like() -> None:
    snapshot = repo.read(tree(CHART))
    assert [str(one) for one in snapshot.problems] == [
        "web/Chart.yaml: Helm charts are not rendered: 2 of its files are templates "
        "(commit what `helm template` prints, and exclude web/** in spec.sources.exclude)"
    ]
    assert [one.path for one in snapshot.unread] == ["web/templates/deploy.yaml", "web/templates/more/service.yaml"]
    assert [key.name for key in snapshot.manifests] == ["a"]


def test_a_mistake_beside_the_templates_of_a_chart_is_told_at_its_line() -> None:
    wrong = {"web/templates/config.yaml": CONFIG.replace("name: a", "name: A")}
    assert [one.origin.path for one in repo.read(tree({**CHART, **wrong})).problems] == [
        "web/Chart.yaml", "web/templates/config.yaml",
    ]  # fmt: skip


def test_a_message_that_quotes_nothing_is_not_masked_beside_a_secret() -> None:
    text = "{{ if not .Values.own }}\napiVersion: v1\nkind: Secret\n{{ end }}\n"
    assert [str(one) for one in repo.read(tree({"a.yaml": text})).problems] == [
        "a.yaml:1:2: a mapping or list cannot be a key"
    ]


MKDOCS = "site_name: Docs\nmarkdown_extensions:\n- emoji: {emoji_index: !!python/name:material.emoji.twemoji }\n"


@pytest.mark.parametrize(
    "text",
    [
        MKDOCS,
        "site_url: !ENV [SITE_URL, 'https://x.example']\nnav: []\n",
        "a: 1\na: 2\n",
        "apiVersion: test.gatekeeper.sh/v1alpha1\nkind: Suite\ntests: []\n",
        "apiVersion: test.gatekeeper.sh/v1alpha1\nkind: Suite\nmetadata: {name: a}\ntests: [{violations: no}]\n",
        "apiVersion: admission.k8s.io/v1\nkind: AdmissionReview\nrequest: {object: {kind: Pod}}\n",
    ],
    ids=["a tag of Python", "a tag of MkDocs", "a key twice", "a suite of gator", "one with a name", "a review"],
)
def test_what_is_wrong_in_a_file_that_is_plainly_no_manifest_is_not_said(text: str) -> None:
    snapshot = repo.read(tree({"mkdocs.yml": text}))
    assert (snapshot.problems, snapshot.left_out) == ((), ("mkdocs.yml",))


def test_a_tag_in_a_manifest_is_an_error_as_ever() -> None:
    text = CONFIG + "data: {a: !!python/name:b }\n"
    assert [one.message for one in repo.read(tree({"a.yaml": text})).problems] == [
        "the tag !!python/name:b is not supported"
    ]


def test_of_a_file_that_cannot_be_read_to_its_end_nothing_is_plain() -> None:
    assert repo.read(tree({"a.yml": "a: 1\n---\n{{ b }}\n"})).left_out == ()
