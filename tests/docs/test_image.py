"""The image installs what pyproject.toml asks for, at versions and hashes that are written down."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tools import audit

ROOT = Path(__file__).parents[2]
LOCKED = ROOT / "deploy" / "image" / "requirements.txt"
_ENTRY = re.compile(
    r"^([a-z0-9][a-z0-9.-]*)==([^\s;]+)(?: ; [^\\\n]+)?((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", re.M
)


def locked() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, version, _ in _ENTRY.findall(LOCKED.read_text()):
        found.setdefault(name, set()).add(version)
    return found


def test_every_entry_of_the_lock_has_a_version_and_hashes() -> None:
    assert _ENTRY.sub("", LOCKED.read_text()).strip() == ""


@pytest.mark.parametrize("project", ["pyproject.toml", "kubesim/pyproject.toml"])
def test_the_lock_holds_each_dependency_at_a_version_that_is_asked_for(project: str) -> None:
    versions = locked()
    for text in tomllib.loads((ROOT / project).read_text())["project"]["dependencies"]:
        wanted = Requirement(text)
        found = versions.get(canonicalize_name(wanted.name), set())
        assert found, f"{wanted.name} is not locked: make lock"
        assert all(wanted.specifier.contains(Version(one)) for one in found), f"{text} is not what is locked: make lock"


def test_the_image_has_the_services_that_notifications_promise() -> None:
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["notify"]
    versions = locked()
    for wanted in map(Requirement, asked):
        found = versions.get(canonicalize_name(wanted.name), set())
        assert [one for one in found if wanted.specifier.contains(Version(one))], f"{wanted}: make lock"


def test_the_image_takes_nothing_that_is_not_locked() -> None:
    installs = re.findall(r"/opt/gitfed/bin/pip install [^\n]*", (ROOT / "Dockerfile").read_text())
    assert [("--require-hashes" in one, "--no-deps" in one) for one in installs] == [(True, False), (False, True)]


def test_an_advisory_fails_the_audit_and_a_silent_service_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    clean = {"name": "a", "version": "1", "vulns": []}
    known = {"name": "b", "version": "2", "vulns": [{"id": "GHSA-1", "fix_versions": ["2.1"]}]}
    skipped = {"name": "c", "skip_reason": "no answer"}
    assert audit.told({"dependencies": [clean, known, skipped]}) == 1
    assert capsys.readouterr().out.splitlines() == [
        "b 2: GHSA-1, mended in 2.1", "NOT RUN for c", "audit: 2 packages, 1 advisories"
    ]  # fmt: skip
    assert audit.told({"dependencies": [skipped]}) == 0
    assert capsys.readouterr().out == "NOT RUN: the advisory service knows none of the 1 packages\n"
