"""Real repositories, the real git program."""

from __future__ import annotations

import contextlib
import gc
import subprocess
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitfed.edges import git
from gitfed.edges.git import gc as tidy
from gitfed.errors import CloneUnwritable, RevisionNotFound, SourceError, SourceUnreachable, StateConflict, UsageError

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def run(path: Path, *args: str) -> str:
    command = ["git", "-C", str(path), "-c", "user.name=t", "-c", "user.email=t@example.com", *args]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def commit(path: Path, files: dict[str, str | None], message: str = "change") -> str:
    for name, text in files.items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            target.unlink()
        else:
            target.write_text(text)
    run(path, "add", "-A")
    run(path, "commit", "-q", "--allow-empty", "-m", message)
    return run(path, "rev-parse", "HEAD")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    path = tmp_path / "work"
    git.Repository.create(path, bare=False)
    return path


def test_reads_the_files_of_a_commit_and_not_of_the_checkout(work: Path) -> None:
    first = commit(work, {"a.yaml": "a: 1\n", "dir/ü b.yaml": "b: 2\n"})
    (work / "a.yaml").write_text("a: changed\n")
    repository = git.Repository.open(work)
    entries = repository.entries(repository.resolve("HEAD"))
    assert sorted(entries) == ["a.yaml", "dir/ü b.yaml"]
    assert repository.resolve("HEAD") == first
    assert repository.read(entries["a.yaml"].blob_id) == b"a: 1\n"
    assert entries["a.yaml"].size == 5


def test_listing_after_a_change_equals_listing_from_scratch(work: Path) -> None:
    first = commit(work, {f"f{n}.yaml": f"n: {n}\n" for n in range(30)})
    second = commit(work, {"f3.yaml": None, "f4.yaml": "n: 44\n", "new/x.yaml": "x: 1\n"})
    warm = git.Repository.open(work)
    warm.entries(warm.resolve(first))
    cold = git.Repository.open(work)
    assert dict(warm.entries(warm.resolve(second))) == dict(cold.entries(cold.resolve(second)))


def test_what_differs_between_two_commits_is_found_without_listing_them(work: Path) -> None:
    first = commit(work, {"a/b/one.yaml": "1", "a/two.yaml": "2", "three.yaml": "3", "four": "file"})
    second = commit(work, {"a/b/one.yaml": "changed", "a/two.yaml": None, "new/five.yaml": "5"})
    (work / "four").unlink()
    third = commit(work, {"four/inside.yaml": "now a folder"})
    repository = git.Repository.open(work)
    listed = repository.entries(repository.resolve(second))
    found = repository.differences(repository.resolve(first), repository.resolve(second))
    paths = {"a/b/one.yaml": True, "a/two.yaml": False, "new/five.yaml": True}
    assert found == {path: listed[path] if there else None for path, there in paths.items()}
    folder = repository.differences(repository.resolve(second), repository.resolve(third))
    assert folder is not None
    assert {path: entry is not None for path, entry in folder.items()} == {"four": False, "four/inside.yaml": True}


def test_some_files_of_a_commit_are_found_without_the_others(work: Path) -> None:
    head = commit(work, {"a/b/one.yaml": "1", "a/b/two.yaml": "2", "a/c.yaml": "3", "d/e/f.yaml": "4", "top.yaml": "5"})
    repository = git.Repository.open(work)
    listed = repository.entries(repository.resolve(head))
    found = repository.some(repository.resolve(head), ("a/b/one.yaml", "top.yaml", "missing/x.yaml", "a/b"), ("d/",))
    assert found == {path: listed[path] for path in ("a/b/one.yaml", "top.yaml", "d/e/f.yaml")}


def test_a_symlink_is_listed_as_one(work: Path) -> None:
    (work / "link.yaml").symlink_to("/etc/passwd")
    head = commit(work, {"a.yaml": "a: 1\n"})
    repository = git.Repository.open(work)
    assert repository.entries(repository.resolve(head))["link.yaml"].mode == 0o120000


def test_an_unborn_branch_says_that_nothing_was_committed(work: Path) -> None:
    with pytest.raises(RevisionNotFound, match=r"^the repository has no commit yet \(commit something first\)$"):
        git.Repository.open(work).resolve("HEAD")


@pytest.mark.parametrize("revision", ["-x", "", "no-such", "HEAD~99"])
def test_what_is_no_revision_is_not_found(work: Path, revision: str) -> None:
    commit(work, {"a": "1"})
    with pytest.raises(RevisionNotFound):
        git.Repository.open(work).resolve(revision)


def test_a_branch_and_a_tag_with_one_name_do_not_confuse_the_branch(work: Path) -> None:
    first = commit(work, {"a": "1"})
    run(work, "branch", "release")
    second = commit(work, {"a": "2"})
    run(work, "tag", "release")
    repository = git.Repository.open(work)
    assert repository.branch_commit("release") == first
    assert repository.branch_commit("release") != second


@pytest.mark.parametrize(
    "url", ["ext::sh -c touch% /tmp/x", "-oProxyCommand=x", "ssh://-oProxyCommand=x/y", "fd::17", "ftp://h/x"]
)
def test_urls_that_could_start_a_program_are_refused(url: str) -> None:
    with pytest.raises(UsageError):
        git.check_url(url)


@pytest.mark.parametrize("url", ["https://h/x.git", "ssh://git@h/x", "git@h.example:x/y.git", "file:///x", "git://h/x"])
def test_ordinary_urls_are_accepted(url: str) -> None:
    assert git.check_url(url) == url
    assert git.is_url(url)


def test_fetch_brings_a_branch_into_a_bare_clone(work: Path, tmp_path: Path) -> None:
    head = commit(work, {"a": "1"})
    clone = git.Repository.create(tmp_path / "clone.git")
    clone.fetch(f"file://{work}", ["+refs/heads/main:refs/gitfed/source"])
    assert clone.branch_commit("refs/gitfed/source") == head
    with pytest.raises(RevisionNotFound):
        clone.fetch(f"file://{work}", ["+refs/heads/gone:refs/gitfed/source"])
    with pytest.raises(SourceUnreachable):
        clone.fetch(f"file://{tmp_path}/nowhere", ["+refs/heads/main:refs/gitfed/source"])


def test_commit_files_makes_one_commit_with_exactly_these_changes(tmp_path: Path) -> None:
    repository = git.Repository.create(tmp_path / "s.git")
    files = {"README.md": b"hello\n", 'odd "name"\n.yaml': b"x", "bindings/shop/web.yaml": b"a: 1\n"}
    first = repository.commit_files("gitfed/state", files, "first\n\nwhy", parent=None, when=NOW)
    second = repository.commit_files("gitfed/state", {"README.md": None, "new": b"n"}, "second", parent=first, when=NOW)
    entries = repository.entries(second)
    assert sorted(entries) == ["bindings/shop/web.yaml", "new", 'odd "name"\n.yaml']
    info = repository.info(second)
    assert (info.subject, info.parents, info.when) == ("second", (first,), NOW)
    assert repository.info(first).body == "why"
    assert repository.branch_commit("gitfed/state") == second


def test_a_commit_on_a_branch_that_moved_is_a_conflict_and_writes_nothing(tmp_path: Path) -> None:
    repository = git.Repository.create(tmp_path / "s.git")
    first = repository.commit_files("state", {"a": b"1"}, "1", parent=None, when=NOW)
    second = repository.commit_files("state", {"a": b"2"}, "2", parent=first, when=NOW)
    with pytest.raises(StateConflict):
        repository.commit_files("state", {"a": b"3"}, "3", parent=first, when=NOW)
    assert repository.branch_commit("state") == second


def test_push_is_compare_and_swap(tmp_path: Path) -> None:
    remote = git.Repository.create(tmp_path / "remote.git")
    one = git.Repository.create(tmp_path / "one.git")
    two = git.Repository.create(tmp_path / "two.git")
    a = one.commit_files("state", {"a": b"1"}, "a", parent=None, when=NOW)
    one.push(f"file://{remote.path}", "refs/heads/state", expected=None)
    two.commit_files("state", {"a": b"2"}, "b", parent=None, when=NOW)
    with pytest.raises(StateConflict):
        two.push(f"file://{remote.path}", "refs/heads/state", expected=None)
    b = one.commit_files("state", {"a": b"3"}, "c", parent=a, when=NOW)
    one.push(f"file://{remote.path}", "refs/heads/state", expected=a)
    assert remote.branch_commit("state") == b


def test_versions_of_a_file_are_found_newest_first(work: Path) -> None:
    first = commit(work, {"a.yaml": "1", "b.yaml": "1"})
    commit(work, {"b.yaml": "2"})
    third = commit(work, {"a.yaml": "3"})
    repository = git.Repository.open(work)
    found = repository.last_commits_of("a.yaml", repository.resolve("HEAD"))
    assert [found_commit for found_commit, _ in found] == [third, first]
    assert [repository.read(blob) for _, blob in found] == [b"3", b"1"]


def test_versions_before_a_deletion_are_left_out_on_request(work: Path) -> None:
    first = commit(work, {"a.yaml": "1", "b.yaml": "1"})
    commit(work, {"a.yaml": None, "b.yaml": "2"})
    third = commit(work, {"a.yaml": "3"})
    repository = git.Repository.open(work)
    head = repository.resolve("HEAD")
    assert [one for one, _ in repository.last_commits_of("a.yaml", head)] == [third, first]
    assert [one for one, _ in repository.last_commits_of("a.yaml", head, until_deleted=True)] == [third]


def test_the_worktree_is_read_without_following_symlinks(work: Path) -> None:
    commit(work, {"a.yaml": "a: 1\n", "d/b.yaml": "b: 1\n"})
    (work / "a.yaml").write_text("a: 2\n")
    (work / "out").symlink_to("/etc")
    tree = git.WorkTree(work)
    entries = {entry.path: entry for entry in tree.entries()}
    assert sorted(entries) == ["a.yaml", "d/b.yaml", "out"]
    assert entries["out"].mode == 0o120000
    assert tree.read(entries["a.yaml"].blob_id) == b"a: 2\n"
    assert git.Repository.open(work).read(entries["d/b.yaml"].blob_id) == b"b: 1\n"


def test_a_folder_without_repository_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no Git repository at"):
        git.find_root(tmp_path)


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    """A file system with little room, of which none is left once the test has filled it."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a file system")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_is_no_conflict_and_leaves_nothing_lying_about(full: Path) -> None:
    repository = git.Repository.create(full / "clone.git")
    when = datetime(2026, 8, 22, tzinfo=UTC)
    first = repository.commit_files("gitfed/state", {"a": b"1"}, "first", parent=None, when=when)
    filling = full / "filling"
    with contextlib.suppress(OSError), filling.open("wb", buffering=0) as file:
        while True:
            file.write(b"0" * 4096)
    before = sorted(path for path in (full / "clone.git").rglob("*") if path.is_file())
    said = set()
    for _ in range(3):
        with pytest.raises(CloneUnwritable) as raised:
            repository.commit_files("gitfed/state", {"a": b"2"}, "second", parent=first, when=when)
        said.add(str(raised.value))
    assert said == {"git fast-import: a file write error. Out of diskspace (make room in the data directory)"}
    assert repository.branch_commit("gitfed/state") == first
    assert sorted(path for path in (full / "clone.git").rglob("*") if path.is_file()) == before
    filling.unlink()
    assert repository.commit_files("gitfed/state", {"a": b"2"}, "second", parent=first, when=when) != first


@pytest.mark.parametrize("said", ["git version 2.30.2", "git version 1.9.1", "something else", ""])
def test_a_git_that_is_too_old_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    repository = git.Repository.create(tmp_path / "a.git")
    repository.check_version()
    monkeypatch.setattr(repository, "text", lambda *ignored: said)
    with pytest.raises(SourceError, match=r"is too old \(install Git 2\.39 or newer\)|is too old$"):
        repository.check_version()


def test_a_clone_of_ours_is_put_together_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tidy, "_EVERY", 10)
    monkeypatch.setattr(tidy, "_MOST_LOOSE", 20)
    ours, users = git.Repository.create(tmp_path / "ours.git"), git.Repository.create(tmp_path / "users.git")
    ours.ours = True
    commits: dict[git.Repository, list[str]] = {ours: [], users: []}
    for repository in (ours, users):
        parent = None
        for number in range(20):
            parent = repository.commit_files("state", {"a": str(number).encode()}, "x", parent=parent, when=NOW)
            commits[repository].append(parent)
        repository.update_ref("refs/heads/state", None)  # now nothing refers to any of them
        repository.tidy()
        assert all(repository.read(commit) for commit in commits[repository])
    loose = lambda repository: len(list((repository.path / "objects").glob("??/*")))  # noqa: E731
    assert loose(ours) < 20
    ours.close()
    users.close()


def test_short_lives_one_after_the_other_are_put_in_order_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`gitfed apply` in a pipeline makes two commits a run, and no run lives to its fiftieth."""
    monkeypatch.setattr(tidy, "_MOST_LOOSE", 5)
    git.Repository.create(tmp_path / "ours.git").close()
    parent = None
    for number in range(4):
        ours = git.Repository.open(tmp_path / "ours.git")
        ours.ours = True
        parent = ours.commit_files("state", {"a": str(number).encode()}, "x", parent=parent, when=NOW)
        ours.close()
    assert list((tmp_path / "ours.git" / "objects" / "pack").glob("*.pack"))


def test_a_users_repository_is_never_put_in_order_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tidy, "_EVERY", 1)
    monkeypatch.setattr(tidy, "_MOST_LOOSE", 0)
    repository = git.Repository.create(tmp_path / "users.git")
    repository.commit_files("state", {"a": b"1"}, "x", parent=None, when=NOW)
    assert not list((repository.path / "objects" / "pack").glob("*.pack"))
    repository.ours = True
    repository.commit_files("other", {"a": b"2"}, "x", parent=None, when=NOW)
    assert list((repository.path / "objects" / "pack").glob("*.pack"))


def test_the_processes_of_a_repository_that_nobody_closed_end_with_it_in_good_order(work: Path) -> None:
    """Found by the garbage collector, in a ring of objects: it would complain of whatever it finds open."""
    commit(work, {"a.yaml": "a: 1\n"})
    repository = git.Repository.open(work)
    listing = repository.listing(repository.resolve("main"))
    assert repository.read(listing["a.yaml"].blob_id) == b"a: 1\n"
    ring: list[object] = [repository]
    ring.append(ring)
    with warnings.catch_warnings(record=True) as complaints:
        warnings.simplefilter("always")
        del repository, ring
        gc.collect()
    assert [str(one.message) for one in complaints] == []
