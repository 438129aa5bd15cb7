"""A file with an error that had declared something holds exactly that, whatever became of the file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any

import pytest

from gitfed.errors import SourceError
from gitfed.model.base import Commit
from gitfed.model.repo import Possible, RepoSnapshot
from gitfed.source import repo, tree
from gitfed.source.last_good import Earlier
from tests.source.trees import Entry, Tree
from tests.source.trees import tree as made

ONE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop}\ndata: {a: b}"
TWO = ONE + "\n---\n" + ONE.replace("name: a,", "name: b,")
NO_NUMBER = '{"metadata": %s, "spec": {}, "": "apps/v1"}' % ("9" * 400)
SUBMODULE = Entry("apps", "1" * 40, 0, tree.SUBMODULE)


def after(before: Tree, now: Tree, **more: Any) -> RepoSnapshot:
    """What is read of a commit when another one was applied."""
    now.blobs = {**before.blobs, **now.blobs}
    blobs = {entry.path: entry.blob_id for entry in before.listed}

    def below(path: str) -> Iterable[str]:
        return [one for one in blobs if one == path or PurePosixPath(path) in PurePosixPath(one).parents]

    options = {
        "last_good": lambda path: (before.commit, blobs[path]) if path in blobs else None,
        "applied": lambda path: blobs.get(path, ""),
        "applied_below": below,
    }
    return repo.read(now, earlier=Earlier(**{**options, **more}))


def names(snapshot: RepoSnapshot) -> list[str]:
    return sorted(key.name for key in snapshot.manifests)


@pytest.mark.parametrize(
    "content",
    [
        NO_NUMBER.encode(), b"some words", b"{}\n", b"spec: {}\n", b"[]\n", b'[{"kind": 5}]', b"- a: [\n",
        b"\0\1\2\xff", ONE.encode() + b"\n---\nspec: [\n", ONE.encode() + b"\n---\nkind: ConfigMap\n",
        TWO.encode("utf-16")[:-3],
        b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", b"#" * (tree.LARGEST_FILE + 1),
        b"<<<<<<< HEAD\na: b\n=======\n",
        "-> nowhere", "-> a.yaml", "-> ../outside.yaml", "-> folder", "-> sub",
    ],
)  # fmt: skip
def test_a_file_that_becomes_an_error_holds_what_it_declared(content: str | bytes) -> None:
    now = made({"a.yaml": content, "folder/empty.yaml": ""})
    now.listed.append(Entry("sub", "1" * 40, 0, tree.SUBMODULE))
    snapshot = after(made({"a.yaml": TWO}, commit="c0"), now)
    assert names(snapshot) == ["a", "b"]
    assert [one.path for one in snapshot.held] == ["a.yaml"]
    assert any(problem.severity == "error" for problem in snapshot.problems)
    assert snapshot.complete, "nothing else is held"


@pytest.mark.parametrize("content", ["", " \n\n", "# was here\n", "---\n", "---\n---\n", "\ufeff", "null\n"])
def test_whoever_empties_a_file_removes_what_it_declared(content: str) -> None:
    snapshot = after(made({"a.yaml": TWO}, commit="c0"), made({"a.yaml": content}))
    assert (names(snapshot), snapshot.held, snapshot.problems, snapshot.complete) == ([], (), (), True)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_another_encoding_is_no_mistake_or_holds(encoding: str) -> None:
    snapshot = after(made({"a.yaml": TWO}, commit="c0"), made({"a.yaml": TWO.encode(encoding)}))
    assert names(snapshot) == ["a", "b"]


@pytest.mark.parametrize("text", [NO_NUMBER, "some words: [\n", "a: {\n"])
def test_a_broken_file_never_read_before_may_have_declared_anything(text: str) -> None:
    def nobody_knows(path: str) -> None:
        raise SourceError("gone")

    (file,) = after(made({}), made({"a.json": text}), last_good=nobody_knows, applied=lambda path: "").unread
    assert (file.defines, file.concerns) == ((Possible(),), ())


@pytest.mark.parametrize("text", ["some words: [\n", "spec: {}\n"])
def test_a_version_that_cannot_be_read_may_have_declared_anything(text: str) -> None:
    snapshot = after(made({"a.yaml": TWO}, commit="c0"), made({"a.yaml": text}), read=lambda version: None)
    assert [file.defines for file in snapshot.unread] == [(Possible(),)]


def test_a_broken_file_that_never_declared_anything_holds_nothing() -> None:
    before = made({"notes.yaml": "some words: [\n", "ci.yaml": "a: b\n"}, commit="c0")
    snapshot = after(before, made({"notes.yaml": "other words: [\n", "new.yaml": "x: {\n", "ci.yaml": "a: c\n"}))
    assert [file.path for file in snapshot.unread] == ["new.yaml", "notes.yaml"]
    assert all((file.defines, file.concerns) == ((), ()) for file in snapshot.unread)
    assert (snapshot.held, snapshot.left_out) == ((), ("ci.yaml",))


def test_other_files_of_a_commit_that_cannot_be_read_are_still_left_out() -> None:
    def nobody_knows(path: str) -> None:
        raise SourceError("gone")

    snapshot = after(made({}), made({"values.yaml": "a: 1\n"}), last_good=nobody_knows, applied=lambda path: "")
    assert (snapshot.left_out, snapshot.problems, snapshot.complete) == (("values.yaml",), (), True)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (SUBMODULE, "a submodule took the place of 2 files with objects: what was declared there stays"),
        ("-> ../elsewhere", "a link that leaves the repository took the place of 2 files with objects: "
         "what was declared there stays"),
        ("-> nowhere", "a link that points to nothing took the place of 2 files with objects: "
         "what was declared there stays"),
    ],
)  # fmt: skip
def test_a_folder_that_cannot_be_looked_into_any_more_holds_what_stood_in_it(entry: Any, said: str) -> None:
    before = made({"apps/a.yaml": ONE, "apps/x/b.yaml": TWO.partition("---\n")[2], "apps/ci.yaml": "a: b\n"})
    before.commit = Commit("c0")
    now = made({"apps": entry} if isinstance(entry, str) else {})
    now.listed += [entry] if not isinstance(entry, str) else []
    snapshot = after(before, now)
    assert names(snapshot) == ["a", "b"]
    (problem,) = (one for one in snapshot.problems if one.severity == "error")
    assert (problem.origin.path, problem.message) == ("apps", said)
    later = after(now, now, held={one.path: one for one in snapshot.held}, read=lambda one: before.read(one.blob))
    assert later.held == snapshot.held, "and goes on to"


def test_a_folder_that_was_closed_is_let_go_by_the_settings() -> None:
    settings = (
        "apiVersion: gitfed.io/v1alpha1\nkind: Federation\nmetadata: {name: x}\nspec: {sources: {exclude: [apps/**]}}\n"
    )
    now = made({}, settings=settings)
    now.listed.append(SUBMODULE)
    snapshot = after(made({"apps/a.yaml": ONE}, commit="c0"), now)
    assert (names(snapshot), snapshot.held) == ([], ())


def test_a_folder_that_moved_behind_a_link_holds_nothing() -> None:
    before = made({"apps/a.yaml": ONE}, commit="c0")
    snapshot = after(before, made({"apps2/a.yaml": ONE, "apps": "-> apps2"}))
    assert (names(snapshot), snapshot.held, snapshot.problems) == (["a"], (), ())


def test_of_too_many_files_each_holds_what_it_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "MOST_FILES", 2)
    files = {f"{name}.yaml": ONE.replace("name: a", f"name: {name}") for name in "abc"}
    snapshot = after(made(files, commit="c0"), made({"0.yaml": "", **files}, settings=None))
    assert names(snapshot) == ["a", "b", "c"]


def test_a_test_that_names_a_template_as_facts_takes_nothing_away() -> None:
    test = (
        "apiVersion: gitfed.io/v1alpha1\nkind: PlacementTest\nmetadata: {name: t}\n"
        "spec: {facts: a.yaml, snapshot: s.yaml}\n"
    )
    snapshot = repo.read(made({"a.yaml": ONE, "t.yaml": test}))
    assert (names(snapshot), snapshot.problems) == (["a"], ())
