"""A test that lacks its program is skipped and named; one that has it runs."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support import needs

ROOT = Path(__file__).parent.parent


def test_a_server_program_is_absent_while_the_assets_variable_is_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(needs.ASSETS, raising=False)
    assert needs.find("kube-apiserver") is None
    with pytest.raises(pytest.skip.Exception, match=r"^needs kube-apiserver$"):
        needs.path_of("kube-apiserver")


def test_a_wrong_assets_variable_fails_instead_of_skipping(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(needs.ASSETS, str(tmp_path))
    assert needs.path_of("kube-apiserver") == tmp_path / "kube-apiserver"


def test_the_assets_kubectl_goes_before_the_one_on_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mine = tmp_path / "kubectl"
    mine.write_text("#!/bin/sh\n")
    mine.chmod(0o755)
    monkeypatch.setenv(needs.ASSETS, str(tmp_path))
    assert needs.find("kubectl") == mine


def test_a_program_on_the_path_is_found_beside_assets_that_lack_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(needs.ASSETS, str(tmp_path))
    assert needs.find("git") is not None


def test_the_end_of_a_run_names_what_did_not_run_and_for_want_of_what(tmp_path: Path) -> None:
    (tmp_path / "test_sample.py").write_text(
        "import pytest\n"
        "from tests.support import needs\n"
        "@needs.program('git', 'no-such-program', 'nor-this')\n"
        "def test_marked(): raise AssertionError('ran')\n"
        "def test_asking(): needs.path_of('no-such-program')\n"
        "@needs.program('git')\n"
        "def test_at_hand(): pass\n"
        "def test_skipped_for_another_reason(): pytest.skip('not on Sundays')\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", "-p", "no:cacheprovider"]
    run = subprocess.run(
        [*command, "--rootdir", str(tmp_path), "-c", "/dev/null", str(tmp_path / "test_sample.py")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 passed, 3 skipped" in run.stdout
    assert [line for line in run.stdout.splitlines() if line.startswith("NOT RUN")] == [
        "NOT RUN: test_sample.py::test_asking needs no-such-program",
        "NOT RUN: test_sample.py::test_marked needs no-such-program, nor-this",
    ]


def test_another_kubectl_is_the_one_that_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(needs.KUBECTL, str(tmp_path / "mine"))
    assert needs.find(needs.OTHER_KUBECTL) == tmp_path / "mine"


def test_the_javascript_client_is_the_one_that_is_named_or_that_was_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:  # fmt: skip
    monkeypatch.delenv("GITFED_TEST_JS_CLIENT", raising=False)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    with pytest.raises(pytest.skip.Exception, match=r"^needs the JavaScript client \(make js-client\)$"):
        needs.path_of(needs.JS_CLIENT)
    place = tmp_path / "share" / "js-client" / "node_modules" / "@kubernetes" / "client-node"
    place.mkdir(parents=True)
    assert needs.find(needs.JS_CLIENT) == place
    monkeypatch.setenv("GITFED_TEST_JS_CLIENT", str(tmp_path / "mine"))
    assert needs.find(needs.JS_CLIENT) == tmp_path / "mine"


def test_another_kubectl_is_unpacked_from_its_package_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    layer, packed = io.BytesIO(), tmp_path / "layer@1.jsii.tgz"
    with zipfile.ZipFile(layer, "w") as inner:
        inner.writestr("kubectl/kubectl", "#!/bin/sh\n")
    with tarfile.open(packed, "w:gz") as outer:
        entry = tarfile.TarInfo("package/layer/layer.zip")
        entry.size = len(layer.getvalue())
        outer.addfile(entry, io.BytesIO(layer.getvalue()))
    package = SimpleNamespace(version="1", files=[SimpleNamespace(name=packed.name, locate=lambda: packed)])
    monkeypatch.delenv(needs.KUBECTL, raising=False)
    monkeypatch.setattr(needs.importlib.metadata, "distribution", lambda name: package)
    monkeypatch.setattr(needs.sys, "prefix", str(tmp_path))
    found = needs.find(needs.OTHER_KUBECTL)
    assert found is not None
    assert (found.read_text(), os.access(found, os.X_OK)) == ("#!/bin/sh\n", True)
    packed.unlink()
    assert needs.find(needs.OTHER_KUBECTL) == found


def test_without_the_package_there_is_one_kubectl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(needs.KUBECTL, raising=False)
    monkeypatch.setattr(needs, "_PACKAGE", "no-such-package")
    with pytest.raises(pytest.skip.Exception, match="needs another kubectl"):
        needs.path_of(needs.OTHER_KUBECTL)
