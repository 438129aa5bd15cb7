"""The real program on real trees: what it builds, and what it is kept from."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from gitfed.edges import kustomize as edge
from gitfed.errors import SourceError
from gitfed.source import kustomize
from gitfed.source import repo as source
from tests.source.trees import tree
from tests.support import needs, patience

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: x}\ndata: {a: '1'}\n"


@pytest.fixture(autouse=True)
def _program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{needs.path_of('kubectl').parent}:/usr/bin:/bin")


def read(files: Mapping[str, str]) -> source.RepoSnapshot:
    return source.read(tree(files), build=edge.Kustomize().build)


def told(files: Mapping[str, str]) -> list[str]:
    return [str(problem) for problem in read(files).problems]


def test_an_overlay_is_built_and_its_objects_name_the_files_they_came_from() -> None:
    snapshot = read(
        {
            "apps/base/kustomization.yaml": "resources: [web.yaml]\n",
            "apps/base/web.yaml": CONFIG,
            "apps/my prod/kustomization.yaml": "namePrefix: p-\nresources: [../base]\npatches: [{path: patch.yaml}]\n"
            "configMapGenerator: [{name: made, namespace: x, literals: [URL=https://example.com]}]\n",
            "apps/my prod/patch.yaml": CONFIG.replace("'1'", "'2'"),
        }
    )
    assert snapshot.problems == ()
    found = {key.name: manifest for key, manifest in snapshot.manifests.items()}
    assert str(found["p-web"].origin) == "apps/base/web.yaml"
    assert found["p-web"].body == {
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "2"}, "metadata": {"name": "p-web", "namespace": "x"},
    }  # fmt: skip
    made = next(manifest for name, manifest in found.items() if name.startswith("p-made-"))
    assert str(made.origin) == "apps/my prod/kustomization.yaml"
    assert len(found) == 2


def test_an_error_of_an_object_is_told_at_the_file_it_came_from() -> None:
    files = {"a/kustomization.yaml": "resources: [web.yaml]\n", "a/web.yaml": CONFIG.replace("web", "no/name")}
    assert told(files)[0].startswith("a/web.yaml: ")


def test_what_the_program_says_is_repeated_without_the_scratch_folder() -> None:
    files = {"a/kustomization.yaml": "resources: [web.yaml]\npatches: [{path: p.yaml}]\n", "a/web.yaml": CONFIG,
             "a/p.yaml": CONFIG.replace("web", "other")}  # fmt: skip
    said = told(files)
    assert len(said) == 1
    assert said[0].startswith(
        "a/kustomization.yaml: Kustomize cannot build it: no resource matches strategic merge patch"
    )
    assert "/tmp" not in said[0]
    assert said[0].endswith(" (see it with: kustomize build a)")


def test_a_message_that_may_quote_a_secret_is_not_repeated() -> None:
    files = {"a/kustomization.yaml": "secretGenerator: [{name: s, literals: [hunter2]}]\n"}
    said = told(files)
    assert said == [
        "a/kustomization.yaml: Kustomize cannot build it; its message may quote a Secret and is not repeated"
        " (see it with: kustomize build a)"
    ]


def test_files_outside_of_a_kustomizations_folder_cannot_be_reached() -> None:
    files = {"a/kustomization.yaml": "resources: [../b/web.yaml]\n", "b/web.yaml": CONFIG}
    said = told(files)
    assert len(said) == 1
    assert "security; file" in said[0] or "is not in or below" in said[0] or "no such file" in said[0]


@pytest.fixture
def listener() -> Iterator[tuple[int, list[bytes]]]:
    """A server on this machine that must not be asked, and what it heard."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def listen() -> None:
            try:
                while True:
                    connection, _ = server.accept()
                    heard.append(b"somebody")
                    connection.close()
            except OSError:
                pass

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        yield server.getsockname()[1], heard
        server.shutdown(socket.SHUT_RDWR)
        thread.join(patience.SECONDS)


def test_even_a_name_that_was_not_refused_before_reaches_no_network(listener: tuple[int, list[bytes]]) -> None:
    port, heard = listener
    made = tree(
        {"a/kustomization.yaml": f"resources: ['http://127.0.0.1:{port}/x.yaml', 'https://192.0.2.1/x.yaml']\n"}
    )
    files = tuple(sorted(made.entries(), key=lambda entry: entry.path))
    root = kustomize.Root("a", "a/kustomization.yaml", files, False, "kustomize.x")
    with pytest.raises(SourceError, match="Kustomize cannot build it"):
        edge.Kustomize().build(root, made.read)
    if not edge._isolation():
        pytest.skip("needs unshare --net")
    assert heard == []


def test_plugins_and_programs_are_not_run(tmp_path: Path) -> None:
    plugin = (
        "apiVersion: x/v1\nkind: Y\nmetadata:\n  name: y\n  annotations:\n    config.kubernetes.io/function: |\n"
        f"      exec: {{path: /usr/bin/touch, args: [{tmp_path}/done]}}\n"
    )
    files = {"a/kustomization.yaml": "generators: [plugin.yaml]\n", "a/plugin.yaml": plugin}
    assert "Kustomize cannot build it" in told(files)[0]
    assert not (tmp_path / "done").exists()


def test_transformers_run_only_where_they_have_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    transformer = "apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: t}\nprefix: t-\n"
    transformer += "fieldSpecs: [{path: metadata/name}]\n"
    files = {"a/kustomization.yaml": "resources: [web.yaml]\ntransformers: [t.yaml]\n", "a/web.yaml": CONFIG,
             "a/t.yaml": transformer}  # fmt: skip
    if edge._isolation():
        assert [key.name for key in read(files).manifests] == ["t-web"]
    monkeypatch.setattr(edge, "_isolation", lambda: ())
    assert told(files) == [
        "a/kustomization.yaml: generators, transformers and validators are only run where they have no network"
        " (this machine does not allow `unshare --map-root-user --net`)"
    ]


def test_a_link_in_the_tree_is_not_there_for_the_program() -> None:
    files = {"a/kustomization.yaml": "resources: [l.yaml]\n", "a/l.yaml": "-> /etc/passwd"}
    assert any("l.yaml is not a file of the repository" in line for line in told(files))


def test_a_build_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    slow = tmp_path / "kustomize"
    slow.write_text("#!/bin/sh\nexec /bin/sleep 1000\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(edge, "_TIMEOUT", 0.2)
    assert told({"a/kustomization.yaml": "resources: []\n"}) == [
        "a/kustomization.yaml: the build did not end within 0 seconds"
    ]


def test_a_build_that_prints_without_end_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    endless = tmp_path / "kustomize"
    endless.write_text("#!/bin/sh\nexec /usr/bin/yes\n")
    endless.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    said = told({"a/kustomization.yaml": "resources: []\n"})
    assert len(said) == 1
    assert said[0].startswith("a/kustomization.yaml: Kustomize cannot build it")


def test_without_a_program_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert told({"a/kustomization.yaml": "resources: []\n"}) == [
        "a/kustomization.yaml: it needs the program kustomize or kubectl, and there is none"
        " (install kubectl or kustomize, or commit what `kustomize build` prints)"
    ]


def _laughs(levels: int) -> str:
    lines = ["x0: &x0 [a, a, a, a, a, a, a, a, a]"]
    lines += [f"x{n}: &x{n} [" + ", ".join([f"*x{n - 1}"] * 9) + "]" for n in range(1, levels)]
    return CONFIG + "\n".join(lines) + "\n"


HUGE = {
    "aliases of aliases": _laughs(9),
    "aliases behind what is no yaml to us": _laughs(9) + "\t- : [",
    "levels": CONFIG + "x: " + "[" * 5000 + "]" * 5000 + "\n",
}


@pytest.mark.parametrize("text", HUGE.values(), ids=HUGE.keys())
@pytest.mark.parametrize("how", ["resources: [m.yaml]", "patches: [{path: m.yaml}]", "transformers: [m.yaml]"])
def test_material_that_grows_without_measure_never_reaches_the_program(text: str, how: str) -> None:
    (said,) = [one for one in told({"k/kustomization.yaml": how + "\n", "k/m.yaml": text}) if "kustomization" in one]
    assert "k/m.yaml:" in said
    assert any(
        word in said for word in ("aliases expand to more than 200000 bytes", "nested more than 100 levels deep")
    )


def test_material_with_a_few_aliases_is_built() -> None:
    text = CONFIG.replace("{a: '1'}", "{a: &a '1', b: *a}")
    assert read({"k/kustomization.yaml": "resources: [m.yaml]\n", "k/m.yaml": text}).problems == ()
