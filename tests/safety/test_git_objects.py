"""What a commit can hold that no honest checkout would: links, names, sizes, depths, programs in the configuration."""

from __future__ import annotations

import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitfed.edges import git
from gitfed.edges.git import program
from gitfed.errors import SourceError, SourceUnreachable, UsageError
from gitfed.model.base import Commit
from gitfed.model.repo import RepoSnapshot
from gitfed.source import repo
from tests.safety import bounded
from tests.safety.objects import CLUSTERS, FILE, FOLDER, LINK, SETTINGS, SUBMODULE, Objects, config
from tests.support import signing


@pytest.fixture
def store(tmp_path: Path) -> Objects:
    return Objects.create(tmp_path / "fleet.git")


def read(store: Objects, revision: str = "main") -> RepoSnapshot:
    repository = git.Repository.open(store.path)
    try:
        return repo.read(repository.tree(repository.resolve(revision)))
    finally:
        repository.close()


def problems(snapshot: RepoSnapshot) -> list[str]:
    return sorted(str(problem) for problem in snapshot.problems)


def names(snapshot: RepoSnapshot) -> list[str]:
    return sorted(key.name for key in snapshot.manifests)


def test_no_link_reaches_out_of_the_repository(store: Objects, tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text(config("stolen", "{root: hash}"))
    outward = {
        "absolute.yaml": str(tmp_path / "secret.yaml"),
        "passwd.yaml": "/etc/passwd",
        "up.yaml": "../../..",
        "beside.yaml": "../secret.yaml",
        "self.yaml": "self.yaml",
        "zero.yaml": "a\0b",
    }
    folder = store.folder([(FILE, store.blob(config("linked")), "x.yaml")])
    tree = store.folder(
        [
            (FILE, store.blob(SETTINGS), "gitfed.yaml"),
            *((LINK, store.blob(target), name) for name, target in outward.items()),
            (LINK, store.blob("../.."), "folder"),
            (FOLDER, folder, ".hidden"),
            (LINK, store.blob(".hidden"), "apps"),
        ]
    )
    store.commit(tree)
    snapshot = read(store)
    assert names(snapshot) == ["linked"]
    assert [told for told in problems(snapshot) if "error" in told or "commit the file itself" in told] == [
        "absolute.yaml: the link leaves the repository (commit the file itself)",
        "beside.yaml: the link leaves the repository (commit the file itself)",
        "passwd.yaml: the link leaves the repository (commit the file itself)",
        "self.yaml: the link goes in a circle or through too many others (commit the file itself)",
        "up.yaml: the link leaves the repository (commit the file itself)",
        "zero.yaml: the link leaves the repository (commit the file itself)",
    ]
    assert not snapshot.complete
    done = bounded.gitfed("validate", "--repo", store.path, cwd=tmp_path)
    assert done.code == 3
    assert "passwd.yaml: the link leaves the repository" in done.said
    assert "root" not in done.said


ODD = {
    b"-upload-pack=x.yaml": "begins with -",
    b"new\nline.yaml": "U+000A",
    b"right\xe2\x80\xaeleft.yaml": "U+202E",
    b"bell\x07.yaml": "U+0007",
    b"not-\xff-text.yaml": "is not UTF-8",
    b"n" * 4000 + b".yaml": "is longer than 1024 characters",
}


def test_names_that_a_program_could_interpret_are_refused_and_printed_harmlessly(
    store: Objects, tmp_path: Path
) -> None:
    blob = store.blob(config("odd"))
    inner = store.folder([(FILE, blob, "config.yaml")])
    tree = store.folder(
        [
            (FILE, store.blob(SETTINGS), "gitfed.yaml"),
            (FILE, store.blob(config("good")), "good.yaml"),
            *((FILE, blob, name) for name in ODD),
            *((FOLDER, inner, name) for name in (".git", ".GIT ", "..", ".")),
        ]
    )
    store.commit(tree)
    snapshot = read(store)
    told = problems(snapshot)
    for why in ODD.values():
        assert any(why in one for one in told), why
    assert sum("lies inside a folder named .git" in one for one in told) == 2
    assert sum("has a part that is no name" in one for one in told) == 2
    assert names(snapshot) == ["good"]
    done = bounded.gitfed("validate", "--repo", store.path, cwd=tmp_path)
    assert done.code == 3
    assert all(line.isprintable() for line in done.said.splitlines())
    assert len(done.said) < 10_000


def test_names_that_are_equal_on_other_file_systems_are_told(store: Objects) -> None:
    pairs = [("Web.yaml", "a"), ("web.yaml", "b"), ("e\u0301.yaml", "c"), ("\u00e9.yaml", "d")]
    entries = [(FILE, store.blob(config(name)), path) for path, name in pairs]
    store.commit(store.folder([(FILE, store.blob(SETTINGS), "gitfed.yaml"), *entries]))
    snapshot = read(store)
    assert sum("differs from" in told for told in problems(snapshot)) == 2
    assert names(snapshot) == ["a", "b", "c", "d"]


def test_a_hundred_thousand_files_are_listed_and_one_more_is_refused(store: Objects) -> None:
    files = {f"d{n % 100}/f{n}.yaml": b"# nothing\n" for n in range(100_000)}
    store.load({"gitfed.yaml": SETTINGS.encode(), **files})
    snapshot = read(store)
    assert problems(snapshot) == ["gitfed.yaml: more than 100000 files (narrow spec.sources.include)"]
    assert not snapshot.complete, "what was not read must not look deleted"


def test_a_folder_that_holds_itself_again_and_again_ends_as_one_message(
    store: Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "_MOST_ENTRIES", 20_000)
    tree = store.folder([(FILE, store.blob("x"), f"{n}.yaml") for n in range(10)])
    for _ in range(9):
        tree = store.folder([(FOLDER, tree, str(n)) for n in range(10)])
    store.commit(store.folder([(FILE, store.blob(SETTINGS), "gitfed.yaml")]), ref="refs/heads/before")
    store.commit(tree)
    repository = git.Repository.open(store.path)
    repository.entries(repository.resolve("before"))
    for _ in range(2):
        with pytest.raises(SourceError, match="lists more than 20000 files"):
            repository.entries(repository.resolve("main"))
    repository.close()


def test_ten_thousand_folders_in_each_other_are_no_more_than_a_long_name(store: Objects, tmp_path: Path) -> None:
    store.load({"gitfed.yaml": SETTINGS.encode(), "d/" * 10_000 + "x.yaml": config("deep").encode()})
    done = bounded.gitfed("validate", "--repo", store.path, cwd=tmp_path)
    assert done.code == 3
    assert "the file name is longer than 1024 characters" in done.said
    assert len(done.said) < 2000


def test_a_blob_of_zeros_is_neither_unpacked_nor_parsed(store: Objects) -> None:
    blob = store.blob(bytes(100 * 1024 * 1024))
    entries = [(FILE, store.blob(SETTINGS), "gitfed.yaml"), (FILE, blob, "zeros.yaml"), (LINK, blob, "link.yaml")]
    store.commit(store.folder([*entries, (FILE, store.blob(bytes(1000)), "binary.yaml")]))
    assert problems(read(store)) == [
        "binary.yaml:1:1: the character U+0000 is not allowed in YAML (write it as an escape in double quotes)",
        "link.yaml: the link cannot be read (commit the file itself)",
        "zeros.yaml: the file has 104857600 bytes, at most 8388608 are read (split it)",
    ]
    repository = git.Repository.open(store.path)
    with pytest.raises(SourceError, match="has 104857600 bytes, at most 67108864 are read"):
        repository.read(blob)
    assert repository.read(store.blob("small")) == b"small", "the next object is read as ever"
    repository.close()


def test_submodules_pointers_and_attributes_are_not_acted_upon(store: Objects, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    urls = ["ext::sh -c touch% " + str(marker), "file:///etc", "-oProxyCommand=touch " + str(marker)]
    modules = "".join(f'[submodule "s{n}"]\n\tpath = s{n}\n\turl = {url}\n' for n, url in enumerate(urls))
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 5\n"
    store.commit(
        store.folder(
            [
                (FILE, store.blob(SETTINGS), "gitfed.yaml"),
                (FILE, store.blob(modules), ".gitmodules"),
                (FILE, store.blob("*.yaml filter=evil diff=evil\n"), ".gitattributes"),
                (FILE, store.blob(pointer), "pointer.yaml"),
                (FILE, store.blob(config("good")), "good.yaml"),
                *((SUBMODULE, "1" * 40, f"s{n}") for n in range(3)),
            ]
        )
    )
    for name in ("filter.evil.smudge", "filter.evil.process", "diff.evil.textconv", "diff.evil.command"):
        store.run("config", name, f"touch {marker}")
    snapshot = read(store)
    assert names(snapshot) == ["good"]
    told = problems(snapshot)
    assert "pointer.yaml: is a Git LFS pointer, not content (commit the file itself)" in told
    assert sum("a submodule is not read" in one for one in told) == 3
    assert not marker.exists()


def test_no_program_that_a_repository_names_is_started(store: Objects, tmp_path: Path) -> None:
    """Hooks, signature checks, pagers, monitors, and the command that fetches what a partial clone lacks."""
    marker = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {marker}\nexit 1\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    first = store.commit(store.folder([(FILE, store.blob(SETTINGS), "gitfed.yaml")]))
    missing = store.folder([(FILE, store.blob(SETTINGS), "gitfed.yaml"), (FILE, "2" * 40, "missing.yaml")])
    signed = store.run("cat-file", "commit", first).replace(first.encode(), b"").split(b"\n\n", 1)
    head = signed[0].split(b"\n", 1)[1]
    text = b"tree %b\nparent %b\n%b\ngpgsig -----BEGIN PGP SIGNATURE-----\n x\n -----END PGP SIGNATURE-----\n\nx\n" % (
        missing.encode(), first.encode(), head)  # fmt: skip
    second = store.run("hash-object", "-t", "commit", "-w", "--stdin", feed=text).decode().strip()
    store.run("update-ref", "refs/heads/main", second)
    for name, value in {
        "log.showSignature": "true", "gpg.program": str(program), "core.fsmonitor": str(program),
        "core.pager": str(program), "core.sshCommand": str(program), "core.hooksPath": str(tmp_path / "hooks"),
        "core.alternateRefsCommand": str(program), "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin", "remote.origin.promisor": "true",
        "remote.origin.url": f"file://{store.path}", "remote.origin.uploadpack": str(program),
        "remote.origin.partialCloneFilter": "blob:none",
    }.items():  # fmt: skip
        store.run("config", name, value)
    (tmp_path / "hooks").mkdir()
    for hook in ("reference-transaction", "post-checkout", "pre-push", "post-index-change"):
        (tmp_path / "hooks" / hook).symlink_to(program)
    repository = git.Repository.open(store.path)
    repository.info(Commit(second))
    repository.last_commits_of("gitfed.yaml", Commit(second))
    with pytest.raises(SourceError):
        repository.read("2" * 40)
    repository.entries(Commit(first))
    repository.keep_blob("x", store.blob("x"))
    repository.close()
    snapshot = read(store)
    assert any(told.startswith("missing.yaml: the file cannot be read") for told in problems(snapshot))
    assert not snapshot.complete
    assert not marker.exists()


@pytest.mark.parametrize(
    "url",
    ["ext::sh -c x", "git@-oProxyCommand:x", "ssh://-oProxyCommand=x@h/y", "ssh://u@-oProxyCommand=x/y", "fd::3"],
)
def test_an_address_that_git_could_take_for_an_option_or_program_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        git.check_url(url)


def test_a_password_in_an_address_stays_out_of_messages(tmp_path: Path) -> None:
    clone = git.Repository.create(tmp_path / "clone.git")
    url = "https://robot:hunter2hunter2@127.0.0.1:1/fleet.git"
    with pytest.raises(SourceUnreachable) as told:
        clone.fetch(url, ["+refs/heads/main:refs/gitfed/source"])
    assert "hunter2" not in str(told.value)
    assert git.shown(url) == "https://127.0.0.1:1/fleet.git"
    done = bounded.gitfed("plan", "--repo", url, cwd=tmp_path)
    assert done.code == 4
    assert "hunter2" not in done.said


def test_a_branch_named_like_an_option_or_like_a_tag_is_that_branch(store: Objects) -> None:
    one = store.commit(store.folder([(FILE, store.blob("1"), "a")]), ref="refs/heads/release")
    two = store.commit(store.folder([(FILE, store.blob("2"), "a")]), ref="refs/tags/release")
    dash = store.commit(store.folder([(FILE, store.blob("3"), "a")]), ref="refs/heads/-x")
    repository = git.Repository.open(store.path)
    assert repository.branch_commit("release") == one != two
    assert repository.branch_commit("-x") == dash
    repository.close()


def test_a_shallow_clone_has_no_history_and_says_so(store: Objects, tmp_path: Path) -> None:
    first = store.commit(store.folder([(FILE, store.blob(SETTINGS), "gitfed.yaml")]))
    entries = [(FILE, store.blob(SETTINGS), "gitfed.yaml"), (FILE, store.blob(config("a")), "a.yaml")]
    second = store.commit(store.folder(entries), first)
    shallow = tmp_path / "shallow.git"
    store.run("clone", "-q", "--bare", "--depth", "1", f"file://{store.path}", str(shallow))
    repository = git.Repository.open(shallow)
    assert not repository.is_ancestor(Commit(first), Commit(second)), "unknown history is not a descent"
    assert repository.last_commits_of("a.yaml", Commit(second))
    repository.close()
    assert bounded.gitfed("validate", "--repo", shallow, cwd=tmp_path).code == 0
    done = bounded.gitfed("diff", "--repo", shallow, f"{first}..{second}", cwd=tmp_path)
    assert done.code == 4
    assert "no commit called" in done.said


def test_a_partial_clone_says_what_it_lacks_and_the_advice_helps(store: Objects, tmp_path: Path) -> None:
    store.run("config", "uploadpack.allowFilter", "true")
    entries = [(FILE, store.blob(SETTINGS), "gitfed.yaml"), (FILE, store.blob(config("a")), "a.yaml")]
    store.commit(store.folder(entries))
    partial = tmp_path / "partial"
    store.run("clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{store.path}", str(partial))
    done = bounded.gitfed("validate", "--repo", partial, cwd=tmp_path)
    assert done.code == 4
    advice = "git fetch --refetch --no-filter origin"
    assert f"this clone is partial and lacks what is asked for\nhint: bring all of it: {advice}" in done.said
    store.run("-C", str(partial), *advice.split()[1:])
    assert bounded.gitfed("validate", "--repo", partial, cwd=tmp_path).code == 0


@pytest.mark.parametrize("command", ["validate", "plan"])
def test_an_unborn_branch_and_an_empty_commit_are_no_crash(store: Objects, tmp_path: Path, command: str) -> None:
    done = bounded.gitfed(command, "--repo", store.path, cwd=tmp_path)
    assert done.code == 4
    assert "the repository has no commit yet" in done.said
    store.commit(store.folder([]))
    done = bounded.gitfed(command, "--repo", store.path, cwd=tmp_path)
    assert done.code == 3
    assert "the repository has no settings" in done.said


def test_a_damaged_repository_is_a_message_and_exit_4(store: Objects, tmp_path: Path) -> None:
    tree = store.folder([(FILE, store.blob(SETTINGS), "gitfed.yaml")])
    store.commit(tree)
    (store.path / "objects" / tree[:2] / tree[2:]).unlink()
    done = bounded.gitfed("validate", "--repo", store.path, cwd=tmp_path)
    assert done.code == 4
    assert "Traceback" not in done.said


def test_a_worktree_of_pipes_links_and_endless_folders_is_read_without_hanging(tmp_path: Path) -> None:
    import os

    work = tmp_path / "work"
    git.Repository.create(work, bare=False)
    (work / "gitfed.yaml").write_text(SETTINGS)
    (work / "good.yaml").write_text(config("good"))
    os.mkfifo(work / "pipe.yaml")
    (work / "zero.yaml").symlink_to("/dev/zero")
    (work / "loop").symlink_to(".")
    done = bounded.gitfed("validate", "--worktree", cwd=work)
    assert done.code == 3
    assert "zero.yaml: the link leaves the repository" in done.said
    assert "1 object" in done.said
    deep = os.open(work, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("d", dir_fd=deep)
        below = os.open("d", os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = below
    os.close(deep)
    done = bounded.gitfed("validate", "--worktree", cwd=work)
    assert done.code == 4
    assert "folders more than 256 levels deep" in done.said


def test_a_clock_that_jumped_back_neither_stops_nor_reorders_the_record(tmp_path: Path) -> None:
    repository = git.Repository.create(tmp_path / "state.git")
    later = datetime(2030, 1, 1, tzinfo=UTC)
    first = repository.commit_files("state", {"a": b"1"}, "1", parent=None, when=later)
    second = repository.commit_files("state", {"a": b"2"}, "2", parent=first, when=datetime(2001, 1, 1, tzinfo=UTC))
    assert repository.branch_commit("state") == second
    assert repository.is_ancestor(first, second)
    assert [commit for commit, _ in repository.last_commits_of("a", second)] == [second, first]
    repository.close()


def test_an_unsigned_merge_of_signed_commits_is_a_commit_like_any_other(tmp_path: Path) -> None:
    """Where no signature is asked for: what counts is what stands in it."""
    ada = signing.with_ssh("ada", tmp_path / "people")
    work = tmp_path / "work"
    ada.git(tmp_path, "init", "-q", "-b", "main", str(work))
    (work / "gitfed.yaml").write_text(SETTINGS + CLUSTERS)
    (work / "one.yaml").write_text(config("one"))
    first = ada.commit(work)
    ada.git(work, "checkout", "-q", "-b", "side")
    (work / "two.yaml").write_text(config("two"))
    ada.commit(work)
    ada.git(work, "checkout", "-q", "main")
    (work / "three.yaml").write_text(config("three"))
    ada.commit(work)
    ada.git(work, "merge", "-q", "--no-gpg-sign", "--no-ff", "-m", "merge", "side")
    repository = git.Repository.open(work)
    try:
        merge = repository.resolve("main")
        assert names(repo.read(repository.tree(merge))) == ["one", "three", "two"]
        assert repository.is_ancestor(Commit(first), merge), "history goes forward"
    finally:
        repository.close()
    assert bounded.gitfed("plan", "--repo", work, cwd=tmp_path).code == 0
