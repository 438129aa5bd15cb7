"""Submodules: read only where a person allowed their URL, and never half."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitfed.edges import files, git
from gitfed.edges.git.submodules import is_allowed
from gitfed.errors import SourceError
from gitfed.model.base import Commit
from gitfed.reading.reader import Reader
from tests.safety import bounded

SETTINGS = "{apiVersion: gitfed.io/v1alpha1, kind: Federation, metadata: {name: acme}}\n"


def config(name: str) -> str:
    return f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: x}}}}\n"


class Place:
    """`fleet` holds the submodule `apps`, which holds `deep`; all are served by file URLs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.readers: list[Reader] = []
        self.make("deep", {"deep.yaml": config("deep")})
        self.make("apps", {"web.yaml": config("web")})
        self.add("apps", "../deep", "inner")
        self.make("fleet", {"gitfed.yaml": SETTINGS, "own.yaml": config("own")})
        self.add("fleet", self.url("apps"), "vendor/apps")

    def url(self, name: str) -> str:
        return f"file://{self.folder}/{name}"

    def run(self, name: str, *arguments: str) -> str:
        command = ["git", "-C", str(self.folder / name), "-c", "user.name=T", "-c", "user.email=t@example.org",
                   "-c", "protocol.file.allow=always", *arguments]  # fmt: skip
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def make(self, name: str, content: dict[str, str]) -> None:
        git.Repository.create(self.folder / name, bare=False)
        self.write(name, content)

    def write(self, name: str, content: dict[str, str]) -> str:
        for path, text in content.items():
            (self.folder / name / path).write_text(text)
        self.run(name, "add", "--", *content)
        self.run(name, "commit", "-q", "-m", "change")
        return self.run(name, "rev-parse", "HEAD")

    def add(self, name: str, url: str, path: str) -> None:
        commit = self.run(name.replace("fleet", "apps") if name == "fleet" else "deep", "rev-parse", "HEAD")
        (self.folder / name / ".gitmodules").write_text(f'[submodule "{path}"]\n\tpath = {path}\n\turl = {url}\n')
        self.run(name, "add", "-A")
        self.run(name, "update-index", "--add", "--cacheinfo", f"160000,{commit},{path}")
        self.run(name, "commit", "-q", "-m", "submodule")

    def reader(self, *allowed: str, local: bool = False) -> Reader:
        clone = git.Repository.create(self.folder / "clone.git")
        source = str(self.folder / "fleet") if local else self.url("fleet")
        made = Reader(source, clone, files.DiskCache(self.folder / "cache"), submodules=allowed)
        self.readers.append(made)
        return made


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    for reader in made.readers:
        reader.repository.close()


def found(reader: Reader) -> tuple[list[str], list[str]]:
    snapshot = reader.read(reader.newest(), None, {})
    return sorted(key.name for key in snapshot.manifests), [str(problem) for problem in snapshot.problems]


def test_without_permission_a_submodule_is_told_and_not_read(place: Place) -> None:
    names, problems = found(place.reader())
    assert names == ["own"]
    assert problems == ["vendor/apps: warning: a submodule is not read (commit the manifests themselves)"]


@pytest.mark.parametrize("local", [True, False])
def test_an_allowed_submodule_is_read_with_those_inside_of_it(place: Place, local: bool) -> None:
    reader = place.reader(f"file://{place.folder}", local=local)
    assert found(reader) == (["deep", "own", "web"], [])
    snapshot = reader.read(reader.newest(), None, {})
    origins = {key.name: str(one.origin) for key, one in snapshot.manifests.items()}
    assert origins["deep"] == "vendor/apps/inner/deep.yaml:1:1"
    again = place.reader(f"file://{place.folder}", local=local)
    assert found(again) == (["deep", "own", "web"], []), "after a restart"


def test_permission_for_one_is_no_permission_for_another(place: Place) -> None:
    names, problems = found(place.reader(place.url("apps")))
    assert names == ["own", "web"]
    assert problems == ["vendor/apps/inner: warning: a submodule is not read (commit the manifests themselves)"]


def test_a_submodule_follows_the_commit_that_holds_it(place: Place) -> None:
    reader = place.reader(f"file://{place.folder}")
    found(reader)
    newer = place.write("apps", {"new.yaml": config("new")})
    assert found(reader)[0] == ["deep", "own", "web"], "it is pinned"
    place.run("fleet", "update-index", "--cacheinfo", f"160000,{newer},vendor/apps")
    place.run("fleet", "commit", "-q", "-m", "newer")
    assert found(reader)[0] == ["deep", "new", "own", "web"]


def test_an_allowed_submodule_that_cannot_be_had_is_an_error_and_not_a_hole(place: Place) -> None:
    place.run("fleet", "update-index", "--cacheinfo", f"160000,{'1' * 40},vendor/apps")
    place.run("fleet", "commit", "-q", "-m", "nowhere")
    with pytest.raises(SourceError, match="the submodule vendor/apps: "):
        place.reader(f"file://{place.folder}").newest()


def test_submodules_without_end_are_refused(place: Place) -> None:
    for level in range(7):
        commit = place.run("deep" if level == 0 else f"d{level - 1}", "rev-parse", "HEAD")
        place.make(f"d{level}", {"x.yaml": config(f"d{level}")})
        below = "deep" if level == 0 else f"d{level - 1}"
        (place.folder / f"d{level}" / ".gitmodules").write_text(
            f'[submodule "s"]\n\tpath = s\n\turl = {place.url(below)}\n'
        )
        place.run(f"d{level}", "add", "-A")
        place.run(f"d{level}", "update-index", "--add", "--cacheinfo", f"160000,{commit},s")
        place.run(f"d{level}", "commit", "-q", "-m", "s")
    clone = git.Repository.create(place.folder / "deepest.git")
    clone.fetch(place.url("d6"), ["+refs/heads/main:refs/gitfed/source"])
    with pytest.raises(SourceError, match="more than 5 in each other"):
        git.bring(clone, Commit(place.run("d6", "rev-parse", "HEAD")), place.url("d6"), [f"file://{place.folder}"])
    clone.close()


def test_a_preview_reads_them_with_the_same_permission(place: Place) -> None:
    url = place.url("fleet")
    done = bounded.gitfed("validate", "--repo", url, "--submodules", f"file://{place.folder}/", cwd=place.folder)
    assert (done.code, "3 objects" in done.said) == (0, True), done.said


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("https://git.example/apps", True),
        ("https://git.example/apps/web.git", True),
        ("https://git.example/apps.evil/web.git", False),
        ("https://git.example/apps/../evil", False),
        ("https://git.example/apps/%2e%2e/evil", False),
        ("https://git.example.evil/apps", False),
        ("https://git.example@evil/apps", False),
        ("ext::sh -c x", False),
        ("", False),
    ],
)
def test_a_prefix_ends_at_a_slash(url: str, allowed: bool) -> None:
    assert is_allowed(url, ["https://git.example/apps/"]) is allowed
