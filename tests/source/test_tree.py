"""What a hostile tree can do with names, links and sizes."""

from __future__ import annotations

import pytest

from gitfed.source import repo
from gitfed.source.tree import LARGEST_FILE, visible
from tests.source.snapshots import config, keys, told
from tests.source.trees import Entry, Tree, tree


@pytest.mark.parametrize(
    ("files", "found", "problems"),
    [
        ({"a.yaml": "-> /etc/passwd"}, [], ["a.yaml: the link leaves the repository (commit the file itself)"]),
        ({"a.yaml": "-> ../../.."}, [], ["a.yaml: the link leaves the repository (commit the file itself)"]),
        ({"x/a.yaml": "-> ../../etc"}, [], ["x/a.yaml: the link leaves the repository (commit the file itself)"]),
        (
            {"a.yaml": "-> a.yaml"},
            [],
            ["a.yaml: the link goes in a circle or through too many others (commit the file itself)"],
        ),
        ({"a.yaml": "-> missing"}, [], ["a.yaml: the link points to nothing (commit the file itself)"]),
        ({"a.yaml": "-> data/x.txt", "data/x.txt": config("x")}, ["ConfigMap/shop/x"], []),
        ({"a.yaml": "-> b.yaml", "b.yaml": config("x")}, ["ConfigMap/shop/x"], []),
        ({"x/a.yaml": "-> ../l/x.txt", "l": "-> data", "data/x.txt": config("x")}, ["ConfigMap/shop/x"], []),
        (
            {"apps": "-> .github/apps", ".github/apps/x.yaml": config("x")},
            ["ConfigMap/shop/x"],
            [],
        ),
        ({"apps": "-> real", "real/x.yaml": config("x")}, ["ConfigMap/shop/x"], []),
        ({"d/up": "-> ..", "x.yaml": config("x")}, ["ConfigMap/shop/x"], []),
        ({"d/self": "-> .", "d/x.yaml": config("x")}, ["ConfigMap/shop/x"], []),
        (
            {"docs": "-> /usr/share/doc", "x.yaml": config("x")},
            ["ConfigMap/shop/x"],
            ["docs: warning: the link leaves the repository, it is not followed"],
        ),
    ],
    ids=lambda value: str(value)[:50],
)
def test_links_are_followed_inside_the_tree_only(files: dict[str, str], found: list[str], problems: list[str]) -> None:
    snapshot = repo.read(tree(files))
    assert keys(snapshot) == found
    assert told(snapshot) == problems
    assert snapshot.complete == all("warning" in problem for problem in problems)


def test_a_chain_of_forty_links_is_followed_and_a_longer_one_is_not() -> None:
    def chain(length: int) -> dict[str, str]:
        links = {f"l{i}": f"-> l{i + 1}" for i in range(1, length)}
        return {"a.yaml": "-> l1", **links, f"l{length}": config("x")}

    assert keys(repo.read(tree(chain(40)))) == ["ConfigMap/shop/x"]
    assert not repo.read(tree(chain(41))).complete


def test_an_object_behind_a_link_stands_where_the_link_is() -> None:
    snapshot = repo.read(tree({"a.yaml": "-> x.txt", "x.txt": config("x")}))
    assert str(next(iter(snapshot.manifests.values())).origin) == "a.yaml:1:1"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("-upload-pack=x.yaml", "begins with -, which programs take for an option (rename it)"),
        (".git/config.yaml", "lies inside a folder named .git (rename it)"),
        ("x/.GIT /a.yaml", "lies inside a folder named .git (rename it)"),
        ("a\nb.yaml", "has the invisible character U+000A (rename it)"),
        ("a\x00.yaml", "has the invisible character U+0000 (rename it)"),
        ("a\u202elmay.yaml", "has the invisible character U+202E (rename it)"),
        ("a\u200b.yaml", "has the invisible character U+200B (rename it)"),
        ("x/" * 2000 + "a.yaml", "is longer than 1024 characters (rename it)"),
        ("\udcff.yaml", "is not UTF-8 (rename it)"),
    ],
    ids=lambda value: ascii(value)[:30],
)
def test_odd_names_are_refused_and_printed_safely(path: str, why: str) -> None:
    snapshot = repo.read(tree({path: config("x"), "plain.txt": "x"}))
    assert told(snapshot) == [f"{visible(path)}: the file name {why}"]
    assert not snapshot.manifests
    assert not snapshot.complete
    shown = told(snapshot)[0]
    assert shown.isprintable()
    assert len(shown) < 500


def test_odd_names_that_nobody_includes_do_not_matter() -> None:
    snapshot = repo.read(tree({"-upload-pack=x": "", ".git/config": "", "a\n": "", "日本/é.yaml": config("x")}))
    assert told(snapshot) == []
    assert keys(snapshot) == ["ConfigMap/shop/x"]


@pytest.mark.parametrize(("one", "other"), [("Web.yaml", "web.yaml"), ("e\u0301.yaml", "\u00e9.yaml")])
def test_names_that_some_file_systems_take_for_one_are_told(one: str, other: str) -> None:
    snapshot = repo.read(tree({one: config("a"), other: config("b")}))
    first, second = sorted([one, other])
    assert told(snapshot) == [
        f"{second}: warning: the file name differs from {first} in case or accents only "
        "(some file systems cannot hold both)"
    ]
    assert len(snapshot.manifests) == 2


def test_enormous_files_are_not_read() -> None:
    made = tree({})
    made.listed.append(Entry("huge.yaml", "0" * 40, 2 * 1024**3, 0o100644))
    snapshot = repo.read(made)
    assert told(snapshot) == [f"huge.yaml: the file has 2147483648 bytes, at most {LARGEST_FILE} are read (split it)"]
    assert not snapshot.complete


def test_submodules_are_told_and_not_read() -> None:
    made = tree({"a.yaml": config("a")})
    made.listed.append(Entry("vendor/apps", "1" * 40, 0, 0o160000))
    assert told(repo.read(made)) == ["vendor/apps: warning: a submodule is not read (commit the manifests themselves)"]


def test_an_lfs_pointer_is_not_taken_for_content() -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n"
    snapshot = repo.read(tree({"a.yaml": pointer}))
    assert told(snapshot) == ["a.yaml: is a Git LFS pointer, not content (commit the file itself)"]
    assert not snapshot.complete


def test_executable_files_are_files() -> None:
    made: Tree = tree({})
    made.put("a.yaml", config("a"), 0o100755)
    assert keys(repo.read(made)) == ["ConfigMap/shop/a"]


def test_an_object_above_a_megabyte_is_refused() -> None:
    snapshot = repo.read(tree({"a.yaml": config("a", data='"' + "x" * 1_100_000 + '"')}))
    assert told(snapshot) == ["a.yaml:1:1: the object has 1100097 bytes, an API server takes at most 1048576"]


def test_a_tree_of_too_many_files_is_not_read_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gitfed.source.tree.MOST_FILES", 3)
    snapshot = repo.read(tree({f"z{i}.yaml": config(f"c{i}") for i in range(5)}))
    assert told(snapshot) == ["z2.yaml: more than 3 files (narrow spec.sources.include)"]
    assert not snapshot.complete


def test_links_that_show_too_many_files_are_not_followed_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gitfed.source.tree._MOST_LINKED_FILES", 2)
    snapshot = repo.read(tree({"apps": "-> .github", **{f".github/{i}.yaml": config(f"c{i}") for i in range(5)}}))
    assert told(snapshot) == ["apps: links show more than 2 files (include the folders)"]
    assert not snapshot.complete


def test_a_link_whose_text_cannot_be_read_is_refused() -> None:
    made = tree({"b.yaml": config("b")})
    made.listed.append(Entry("a.yaml", "2" * 40, 10_000, 0o120000))
    assert told(repo.read(made)) == ["a.yaml: the link cannot be read (commit the file itself)"]
