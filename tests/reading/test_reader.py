"""Where the reader looks for the last good version of a file: real repositories."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitfed.edges import files, git
from gitfed.model.base import Commit
from gitfed.model.repo import Possible, RepoSnapshot
from gitfed.reading.reader import Reader
from tests.cli import world
from tests.source.trees import SETTINGS

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: shop}\ndata:\n  one: a\n  two: b\n  three: c\n"
SLIP = (
    MAP.replace("kind: ConfigMap\n", "").replace("apiVersion: v1\n", "").replace("metadata", "meta") % "web" + "x: [\n"
)


class Place:
    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        git.Repository.create(self.work, bare=False)
        self.folder = folder
        self.reader = self.read_at(self.work)

    def read_at(self, path: Path) -> Reader:
        clone = git.Repository.create(self.folder / f"clone-of-{path.name}.git")
        return Reader(str(path), clone, files.DiskCache(self.folder / "cache"))

    def commit(self, changes: dict[str, str | None]) -> Commit:
        return Commit(world.commit(self.work, changes))

    def git(self, *arguments: str) -> None:
        world.git(self.work, *arguments)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    made.commit({"gitfed.yaml": SETTINGS, "web.yaml": MAP % "web", "b.yaml": MAP % "b"})
    yield made
    made.reader.repository.close()


def names(snapshot: RepoSnapshot) -> list[str]:
    return sorted(key.name for key in snapshot.manifests)


def head(place: Place) -> Commit:
    return place.reader.repository.resolve("HEAD")


def test_a_file_that_is_renamed_with_a_slip_holds_what_it_declared(place: Place) -> None:
    applied = head(place)
    now = place.commit({"web.yaml": None, "apps/web.yaml": SLIP})
    snapshot = place.reader.read(now, applied, {})
    assert names(snapshot) == ["b", "web"]
    assert [(one.path, one.commit) for one in snapshot.held] == [("apps/web.yaml", applied)]


def test_a_file_that_is_held_may_be_renamed_again_and_again(place: Place) -> None:
    good = head(place)
    place.commit({"web.yaml": SLIP})
    place.commit({"web.yaml": None, "apps/web.yaml": SLIP + "# more\n"})
    applied = place.commit({"apps/web.yaml": SLIP + "# even more\n"})
    now = place.commit({"apps/web.yaml": None, "shop/web.yaml": SLIP})
    snapshot = place.reader.read(now, applied, {})
    assert [(one.path, one.commit) for one in snapshot.held] == [("shop/web.yaml", good)]


@pytest.mark.parametrize("gone", ["web.yaml", None])
def test_a_broken_file_that_is_like_none_that_went_holds_nothing(place: Place, gone: str | None) -> None:
    applied = head(place)
    notes = "to do: [\n buy milk, and one or two eggs\n"
    now = place.commit({"notes.yaml": notes, **({gone: None} if gone else {})})
    snapshot = place.reader.read(now, applied, {})
    assert (snapshot.held, [one.defines for one in snapshot.unread]) == ((), [()])


def test_a_broken_copy_of_a_file_that_stays_is_not_that_file(place: Place) -> None:
    applied = head(place)
    snapshot = place.reader.read(place.commit({"copy.yaml": SLIP}), applied, {})
    assert (snapshot.held, [one.defines for one in snapshot.unread]) == ((), [()])


def test_a_file_that_a_link_shows_is_held_like_any_other(place: Place) -> None:
    (place.work / "gitfed.yaml").write_text(SETTINGS + "spec: {sources: {include: ['*.yaml', 'shown/**']}}\n")
    (place.work / "shown").symlink_to("material")
    (place.work / "one.yaml").symlink_to("other/one.txt")
    applied = place.commit({"material/c.txt": MAP % "c", "other/one.txt": MAP % "one"})
    now = place.commit({"material/c.txt": SLIP, "other/one.txt": SLIP})
    snapshot = place.reader.read(now, applied, {})
    assert names(snapshot) == ["b", "c", "one", "web"]
    assert [one.path for one in snapshot.held] == ["one.yaml", "shown/c.txt"]
    again = place.reader.read(now, None, {})
    assert [one.path for one in again.held] == ["one.yaml", "shown/c.txt"], "history tells it, too"


def test_a_folder_that_became_a_submodule_holds_its_files_but_no_material_of_a_build(place: Place) -> None:
    applied = place.commit(
        {"apps/a.yaml": MAP % "a", "apps/k/kustomization.yaml": "resources: [m.yaml]\n", "apps/k/m.yaml": MAP % "m"}
    )
    place.git("rm", "-rq", "apps")
    place.git("update-index", "--add", "--cacheinfo", f"160000,{applied},apps")
    place.git("commit", "-qm", "another repository")
    snapshot = place.reader.read(head(place), applied, {})
    assert [one.path for one in snapshot.held if "kustomization" not in one.path] == ["apps/a.yaml"]
    assert "a" in names(snapshot)


def test_where_the_applied_commit_is_gone_history_tells_or_anything_is_held(place: Place) -> None:
    gone = Commit("9" * 40)
    now = place.commit({"web.yaml": SLIP, "new.yaml": SLIP, "values.yaml": "a: b\n"})
    snapshot = place.reader.read(now, gone, {})
    assert [one.path for one in snapshot.held] == ["web.yaml"]
    assert [(one.path, one.defines) for one in snapshot.unread] == [("new.yaml", (Possible(),))]
    assert snapshot.left_out == ("values.yaml",)


def test_a_clone_without_history_knows_of_no_file_what_it_declared(place: Place, tmp_path: Path) -> None:
    now = place.commit({"web.yaml": SLIP})
    shallow = tmp_path / "shallow"
    subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{place.work}", str(shallow)], check=True)
    reader = place.read_at(shallow)
    try:
        snapshot = reader.read(now, None, {})
    finally:
        reader.repository.close()
    assert [(one.path, one.defines) for one in snapshot.unread] == [("web.yaml", (Possible(),))]
