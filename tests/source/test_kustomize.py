"""Which folders Kustomize builds, from which files, and what is refused before it runs. No program is run here."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gitfed.errors import SourceError
from gitfed.model.base import Commit
from gitfed.source import kustomize
from gitfed.source import repo as source
from gitfed.source.last_good import Earlier
from tests.source.trees import Tree, tree

SETTINGS = "{apiVersion: gitfed.io/v1alpha1, kind: Federation, metadata: {name: acme}}\n"


def config(name: str) -> str:
    return f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: x}}}}\n"


FILES = {
    "gitfed.yaml": SETTINGS,
    "plain.yaml": config("plain"),
    "apps/base/kustomization.yaml": "resources: [web.yaml]\n",
    "apps/base/web.yaml": config("web"),
    "apps/base/beside.yaml": config("beside"),
    "apps/prod/kustomization.yaml": "resources: [../base]\npatches: [{path: patch.yaml}]\n"
    "configMapGenerator: [{name: g, files: [key=a.txt, b.txt], envs: [e.env], literals: [URL=https://x]}]\n",
    "apps/prod/patch.yaml": config("web"),
    "apps/prod/a.txt": "a",
    "apps/prod/b.txt": "b",
    "apps/prod/e.env": "A=b",
    "apps/test/kustomization.yaml": "resources:\n- ../base\n",
}


def made(files: Mapping[str, str]) -> Tree:
    return tree(files, settings=None)


def layout(files: Mapping[str, str]) -> kustomize.KustomizationLayout:
    found = made(files)
    entries = sorted(found.entries(), key=lambda entry: entry.path)
    return kustomize.layout(list(entries), lambda path: True, found.read, {})


def told(files: Mapping[str, str]) -> list[str]:
    return [str(problem) for problem in layout(files).problems]


def test_roots_are_those_that_no_other_names_and_see_their_bases() -> None:
    found = layout(FILES)
    assert sorted(found.roots) == ["apps/prod/kustomization.yaml", "apps/test/kustomization.yaml"]
    assert {file.path for file in found.roots["apps/test/kustomization.yaml"].files} == {
        "apps/base/beside.yaml", "apps/base/kustomization.yaml", "apps/base/web.yaml", "apps/test/kustomization.yaml",
    }  # fmt: skip
    assert found.problems == []


def test_what_a_kustomization_names_is_no_template_and_what_lies_beside_is() -> None:
    seen: list[str] = []

    def build(root: kustomize.Root, read: object) -> bytes:
        seen.append(root.folder)
        origin = "config.kubernetes.io/origin: |\n      path: tree/apps/base/web.yaml"
        return (
            f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {root.folder[5:]}-web\n  namespace: x\n"
            f"  annotations:\n    {origin}\n"
        ).encode()

    snapshot = source.read(made(FILES), build=build)
    assert snapshot.problems == ()
    assert sorted(key.name for key in snapshot.manifests) == ["beside", "plain", "prod-web", "test-web"]
    assert seen == ["apps/prod", "apps/test"]
    built = next(one for one in snapshot.manifests.values() if one.key.name == "prod-web")
    assert str(built.origin) == "apps/base/web.yaml"
    assert "annotations" not in built.body["metadata"]


def test_the_same_files_are_built_once_and_other_files_change_nothing() -> None:
    from gitfed.source.read_cache import ReadCache

    seen: list[str] = []

    def build(root: kustomize.Root, read: object) -> bytes:
        seen.append(root.path)
        return config(root.folder.replace("/", "-")).encode()

    memory = ReadCache()
    source.read(made(FILES), memory=memory, build=build)
    again = source.read(made({**FILES, "plain.yaml": config("other")}), memory=memory, build=build)
    assert len(seen) == 2
    source.read(made({**FILES, "apps/prod/a.txt": "other"}), memory=memory, build=build)
    assert seen[2:] == ["apps/prod/kustomization.yaml"]
    assert len(again.manifests) == 4


def test_a_folder_that_cannot_be_built_leaves_a_hole_and_is_told() -> None:
    def build(root: kustomize.Root, read: object) -> bytes:
        raise SourceError("no reason", hint="none")

    snapshot = source.read(made(FILES), build=build)
    assert [str(problem) for problem in snapshot.problems] == [
        "apps/prod/kustomization.yaml: no reason (none)",
        "apps/test/kustomization.yaml: no reason (none)",
    ]
    assert not snapshot.complete
    assert sorted(key.name for key in snapshot.manifests) == ["beside", "plain"]


def test_an_excluded_kustomization_is_not_built_and_its_files_are_templates() -> None:
    settings = SETTINGS.replace("}}\n", "}, spec: {sources: {exclude: [kustomization.yaml, patch.yaml]}}}\n")
    snapshot = source.read(made({**FILES, "gitfed.yaml": settings}))
    assert snapshot.problems == ()
    assert sorted(key.name for key in snapshot.manifests) == ["beside", "plain", "web"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("resources: [https://example.com/x.yaml]", "https://example.com/x.yaml"),
        ("resources: [github.com/a/b?ref=v1]", "github.com/a/b?ref=v1"),
        ("resources: ['git::https://a/b']", "git::https://a/b"),
        ("resources: [../../../etc/passwd]", "../../../etc/passwd"),
        ("resources: [/etc/passwd]", "/etc/passwd"),
        ("resources: [sub]", "sub"),
        ("components: ['git@a:b']", "git@a:b"),
        ("patches: [{path: 'https://a/b.yaml'}]", "https://a/b.yaml"),
        ("patchesStrategicMerge: [nowhere.yaml]", "nowhere.yaml"),
        ("configMapGenerator: [{name: a, files: [k=../../etc/shadow]}]", "../../etc/shadow"),
        ("secretGenerator: [{name: a, envs: ['http://169.254.169.254/x']}]", "http://169.254.169.254/x"),
        ("openapi: {path: 'https://a/b'}", "https://a/b"),
        ("replacements: [{path: 'https://a/b'}]", "https://a/b"),
        ("crds: ['https://a/b']", "https://a/b"),
        ("generators: ['https://a/b']", "https://a/b"),
    ],
)
def test_what_is_not_in_the_repository_is_refused_before_the_program_runs(text: str, said: str) -> None:
    assert told({"a/kustomization.yaml": text + "\n", "a/sub/x.txt": "x"}) == [
        f"a/kustomization.yaml: {said} is not a file of the repository, or a folder with a kustomization"
        " (nothing is fetched from elsewhere: commit it)"
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("helmCharts: [{name: x}]", "helmCharts: Helm charts are not rendered"),
        ("- a", "a kustomization is one document, a mapping"),
        ("", "a kustomization is one document, a mapping"),
    ],
)
def test_a_kustomization_that_cannot_be_used_says_why(text: str, said: str) -> None:
    found = layout({"a/kustomization.yaml": text + "\n"})
    assert found.roots == {}
    assert [str(problem).startswith(f"a/kustomization.yaml: {said}") for problem in found.problems] == [True]


def test_a_kustomization_that_is_no_yaml_says_where() -> None:
    assert told({"a/kustomization.yaml": "\nresources: [a\n"})[0].startswith("a/kustomization.yaml:3:1: not valid YAML")


def test_a_fault_in_a_base_is_told_at_the_base_and_refuses_the_root() -> None:
    found = layout(
        {"a/kustomization.yaml": "resources: [../b]\n", "b/kustomization.yaml": "resources: [https://x/y]\n"}
    )
    assert list(found.refused) == ["a/kustomization.yaml"]
    assert [str(problem) for problem in found.problems] == [
        "b/kustomization.yaml: https://x/y is not a file of the repository, or a folder with a kustomization"
        " (nothing is fetched from elsewhere: commit it; a/kustomization.yaml builds on it)"
    ]


def test_kustomizations_in_a_circle_are_told_and_do_not_vanish() -> None:
    files = {"a/kustomization.yaml": "resources: [../b]\n", "b/kustomization.yaml": "resources: [../a]\n"}
    assert told(files) == [
        "a/kustomization.yaml: kustomizations name each other in a circle",
        "b/kustomization.yaml: kustomizations name each other in a circle",
    ]
    assert sorted(layout(files).refused) == sorted(files)


def test_a_component_alone_is_not_built_and_no_template() -> None:
    snapshot = source.read(made({"gitfed.yaml": SETTINGS, "c/kustomization.yaml": "kind: Component\n"}))
    assert snapshot.problems == ()
    assert snapshot.manifests == {}


def test_a_build_of_too_many_files_is_refused() -> None:
    files = {f"a/{n}.txt": "" for n in range(10_001)}
    said = told({"a/kustomization.yaml": "resources: []\n", **files})
    assert said == [
        "a/kustomization.yaml: a build of 10002 files with 14 bytes: at most 10000 files and 67108864 bytes"
    ]


def test_a_kustomization_at_the_top_takes_what_it_names_only() -> None:
    files = {"gitfed.yaml": SETTINGS, "kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": config("a"),
             "b.yaml": config("b")}  # fmt: skip
    snapshot = source.read(made(files), build=lambda root, read: read(root.files[0].blob_id))
    assert snapshot.problems == ()
    assert sorted(key.name for key in snapshot.manifests) == ["a", "b"]


BASE = {"gitfed.yaml": SETTINGS, "plain.yaml": config("plain"),
        "web/base/kustomization.yaml": "resources: [web.yaml]\n",
        "web/base/web.yaml": config("web"), "web/base/extra.yaml": config("extra")}  # fmt: skip


@pytest.mark.parametrize(
    "overlay",
    [
        pytest.param("resources: [../base\n", id="no YAML"),
        pytest.param("resources: [../base]\nresources: []\n", id="a field twice"),
        pytest.param("resources: [../base]\n---\nresources: []\n", id="two documents"),
        pytest.param("- ../base\n", id="no mapping"),
        pytest.param("resources: [../base]\nhelmCharts: [{name: x}]\n", id="a chart"),
        pytest.param("resource: [../base]\n", id="an unknown field"),
        pytest.param("resources: ../base\n", id="a text for a list"),
        pytest.param("resources: [../bsae]\n", id="a slip in the name of the base"),
        pytest.param("resources: [../../base]\n", id="the wrong number of steps up"),
        pytest.param("resources: [../base]\npatches: [{path: nowhere.yaml}]\n", id="a patch that is missing"),
        pytest.param("resources: [../base]\nnamePrefx: a-\n", id="a slip in a field"),
    ],
)
def test_a_mistake_in_an_overlay_does_not_deploy_its_base(overlay: str) -> None:
    def build(root: kustomize.Root, read: object) -> bytes:
        assert root.folder == "web/prod", f"{root.folder} was built by itself"
        raise SourceError("the program refuses it")

    snapshot = source.read(made({**BASE, "web/prod/kustomization.yaml": overlay}), build=build)
    assert sorted(key.name for key in snapshot.manifests) == ["extra", "plain"]
    assert not snapshot.complete


@pytest.mark.parametrize(
    ("files", "deployed"),
    [
        pytest.param({"app/kustomization.yaml": "resources: [deploymnt.yaml]\n", "app/deployment.yaml": config("web"),
                      "app/policy.yaml": config("policy")}, ["policy"], id="a slip in the name of a file"),
        pytest.param({"app/kustomization.yaml": "resources: [../web.yaml]\n", "app/web.yaml": config("web")}, [],
                     id="a file that is one step nearer"),
        pytest.param({"app/kustomization.yaml": "resources: [web.yaml\n", "app/web.yaml": config("web"),
                      "app/other.yaml": config("other")}, ["other"], id="a file of what is no YAML"),
        pytest.param({"prod/kustomization.yaml": "resources: [../base]\n", "base/kustomizaton.yaml": "a: 1\n",
                      "base/web.yaml": config("web")}, [], id="a base whose kustomization has another name"),
    ],
)  # fmt: skip
def test_a_file_that_a_broken_kustomization_may_have_meant_is_no_template(
    files: Mapping[str, str], deployed: list[str]
) -> None:
    snapshot = source.read(made({"gitfed.yaml": SETTINGS, **files}))
    assert sorted(key.name for key in snapshot.manifests) == deployed
    assert not snapshot.complete


def test_a_mistake_in_one_overlay_stops_no_other_root() -> None:
    files = {**BASE, "api/kustomization.yaml": "resources: [api.yaml]\n", "api/api.yaml": config("api"),
             "web/prod/kustomization.yaml": "resources: [../base\n"}  # fmt: skip
    snapshot = source.read(made(files), build=lambda root, read: read(root.files[0].blob_id))
    assert sorted(key.name for key in snapshot.manifests) == ["api", "extra", "plain"]


@pytest.mark.parametrize(("stood", "built"), [("kustomize.abc", ["web"]), ("", ["web"]), ("f" * 40, [])])
def test_what_was_material_before_stays_material_while_an_overlay_is_broken(stood: str, built: list[str]) -> None:
    """What was built as a root before goes on being built; where nothing was, nothing names it."""
    files = {"gitfed.yaml": SETTINGS, "base/kustomization.yaml": "resources: [web.yaml]\n",
             "base/web.yaml": config("web"), "prod/kustomization.yaml": "resources: [\n"}  # fmt: skip
    snapshot = source.read(
        made(files),
        build=lambda root, read: read(root.files[1].blob_id),
        earlier=Earlier(last_good=lambda path: (Commit("c0"), stood) if stood and path.startswith("base/") else None),
    )
    assert sorted(key.name for key in snapshot.manifests) == built


CASES = (
    "Resources",
    "RESOURCES",
    "re\u017fources",
    "Components",
    "Transformers",
    "HelmCharts",
    "OpenAPI",
    "Bases",
    "Crds",
)


@pytest.mark.parametrize("name", CASES)
def test_a_field_in_another_case_is_refused_before_the_program_reads_it(name: str) -> None:
    (said,) = told({"k/kustomization.yaml": f'"{name}": [https://example.com/x]\n'})
    assert "is no field of a kustomization (write " in said


@pytest.mark.parametrize(
    "text",
    [
        "patches: [{Path: /etc/passwd}]", "configMapGenerator: [{name: a, Files: [/etc/passwd]}]",
        "secretGenerator: [{name: a, ENVS: [/etc/passwd]}]", "openapi: {PATH: /etc/passwd}",
        "replacements: [{Path: x}]",
    ],
)  # fmt: skip
def test_a_file_named_by_a_field_in_another_case_is_refused(text: str) -> None:
    (said,) = told({"k/kustomization.yaml": text + "\n"})
    assert "is no field of a kustomization (write " in said


def test_a_fault_in_a_base_is_told_once_however_many_build_on_it() -> None:
    base = {"b/kustomization.yaml": "resources: [https://x/y]\n"}
    found = layout(base | {f"{name}/kustomization.yaml": "resources: [../b]\n" for name in "acd"})
    assert list(found.refused) == ["a/kustomization.yaml", "c/kustomization.yaml", "d/kustomization.yaml"]
    assert [str(problem) for problem in found.problems] == [
        "b/kustomization.yaml: https://x/y is not a file of the repository, or a folder with a kustomization"
        " (nothing is fetched from elsewhere: commit it; a/kustomization.yaml and 2 more build on it)"
    ]


def test_two_kustomizations_that_build_one_base_alike_are_told_by_name() -> None:
    def build(root: kustomize.Root, read: object) -> bytes:
        note = f"{{{kustomize.ORIGIN}: 'path: apps/base/web.yaml'}}"
        kind = "apiVersion: v1, kind: ConfigMap"
        return "---\n".join(
            f"{{{kind}, metadata: {{name: {name}, namespace: x, annotations: {note}}}}}\n" for name in ("w", "v")
        ).encode()

    problems = source.read(made(FILES), build=build).problems
    what = "two kustomizations build ConfigMap x/w of apps/base/web.yaml and 1 more"
    which = "apps/prod/kustomization.yaml and apps/test/kustomization.yaml"
    hint = "let one of them build on the other, or give the objects different names or namespaces"
    assert [str(problem) for problem in problems] == [f"apps/prod/kustomization.yaml: {what}: {which} ({hint})"]


@pytest.mark.parametrize(
    "patches",
    [
        "patches: [patch.yaml]",
        "patches: {path: patch.yaml}",
        "patches: [[patch.yaml]]",
        "patchesStrategicMerge: [{path: patch.yaml}]",
        "patchesJson6902: [patch.yaml]",
        "configMapGenerator: [patch.yaml]",
        "resources: [{path: patch.yaml}]",
    ],
)
def test_what_a_kustomization_names_in_a_wrong_form_is_no_template(patches: str) -> None:
    patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: x}\n"
    found = layout({"k/kustomization.yaml": f"{patches}\n", "k/patch.yaml": patch})
    assert "k/patch.yaml" in found.material


def test_what_is_wrong_with_a_built_object_names_the_kustomization_that_builds_it() -> None:
    def build(root: kustomize.Root, read: object) -> bytes:
        note = f"{{{kustomize.ORIGIN}: 'path: config/web.yaml'}}"
        return (
            f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: '{{{{ .Name }}}}', annotations: {note}}}}}".encode()
        )

    files = {"chart/kustomization.yaml": "resources: [../config/web.yaml]\n", "config/web.yaml": "a: b\n"}
    (said, *_) = source.read(made(files), build=build).problems
    assert (said.origin.path, said.hint) == ("config/web.yaml", "as chart/kustomization.yaml builds it")


@pytest.mark.parametrize(
    "name",
    [
        "https://git.example/x.git//config", "ssh://git@git.example:2222/x.git//config", "git@git.example:x//config",
        "github.com/org/x/config?ref=v1", "github.com/org/config", "git.example/x//config",
    ],
)  # fmt: skip
def test_a_name_of_elsewhere_is_no_slip_for_a_folder_that_is_called_alike(name: str) -> None:
    found = layout(
        {
            "broken/kustomization.yaml": f"resources: ['{name}']\n",
            "good/config/kustomization.yaml": "resources: [web.yaml]\n",
            "good/config/web.yaml": "a: b\n",
        }
    )
    assert list(found.roots) == ["good/config/kustomization.yaml"]
    assert [one.origin.path for one in found.problems] == ["broken/kustomization.yaml"]


def test_what_may_have_been_meant_as_a_base_is_not_said_to_go_in_a_circle() -> None:
    found = layout(
        {
            "a/kustomization.yaml": "resources: [../bsae]\n",
            "base/kustomization.yaml": "resources: [web.yaml]\n",
            "base/web.yaml": "a: b\n",
        }
    )
    assert found.refused["base/kustomization.yaml"] == (
        "another kustomization may have meant it as a base, and cannot be used"
    )
