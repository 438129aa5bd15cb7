"""Nothing that a repository on this machine is configured with starts a program: neither its settings nor its hooks."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from gitfed.cli.main import cli
from gitfed.edges import git
from gitfed.errors import SourceError
from gitfed.model.base import Commit
from tests.e2e.gated import BASE
from tests.e2e.world import World
from tests.support import signing

STATE = "gitfed/state"
WHEN = datetime(2026, 1, 1, tzinfo=UTC)
CLUSTER = "apiVersion: cluster.karmada.io/v1alpha1\nkind: Cluster\nmetadata: {name: eu-1}\nspec: {syncMode: Push}\n"
FEDERATION = "apiVersion: gitfed.io/v1alpha1\nkind: Federation\nmetadata: {name: acme}\n"
HOOKS = ("pre-receive", "update", "post-receive", "post-update", "reference-transaction", "proc-receive",
         "push-to-checkout", "pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-index-change",
         "pre-push", "pre-auto-gc", "post-checkout")  # fmt: skip
SETTINGS: dict[str, Callable[[Path, Path], dict[str, str]]] = {
    "core.fsmonitor": lambda program, origin: {"core.fsmonitor": str(program)},
    "core.hooksPath": lambda program, origin: {"core.hooksPath": str(program.parent / "hooks")},
    "core.sshCommand": lambda program, origin: {"core.sshCommand": str(program)},
    "core.askPass": lambda program, origin: {"core.askPass": str(program)},
    "core.pager": lambda program, origin: {"core.pager": str(program), "pager.log": "true"},
    "core.editor": lambda program, origin: {"core.editor": str(program), "commit.verbose": "true"},
    "core.alternateRefsCommand": lambda program, origin: {"core.alternateRefsCommand": str(program)},
    "credential.helper": lambda program, origin: {"credential.helper": f"!{program}"},
    "diff.external": lambda program, origin: {"diff.external": str(program), "diff.x.textconv": str(program)},
    "gpg.program": lambda program, origin: {"commit.gpgSign": "true", "gpg.program": str(program)},
    "gpg.ssh.program": lambda program, origin: {
        "commit.gpgSign": "true", "gpg.format": "ssh", "gpg.ssh.program": str(program), "user.signingKey": "key::x",
    },
    "gpg.ssh.defaultKeyCommand": lambda program, origin: {
        "commit.gpgSign": "true", "gpg.format": "ssh", "gpg.ssh.defaultKeyCommand": str(program),
    },
    "uploadpack.packObjectsHook": lambda program, origin: {"uploadpack.packObjectsHook": str(program)},
    "filter.clean": lambda program, origin: {"filter.x.clean": str(program), "filter.x.smudge": str(program)},
    "filter.process": lambda program, origin: {"filter.x.process": str(program), "filter.x.required": "true"},
    "insteadOf": lambda program, origin: {f"url.ext::{program} %S .insteadOf": str(origin),
                                          "protocol.ext.allow": "always"},
    "pushInsteadOf": lambda program, origin: {f"url.ext::{program} %S .pushInsteadOf": str(origin),
                                              "protocol.ext.allow": "always"},
    "remote.vcs": lambda program, origin: {f"remote.{origin}.url": f"{program} %S", f"remote.{origin}.vcs": "ext",
                                           "remote.origin.vcs": "ext", "protocol.ext.allow": "always"},
    "remote.uploadpack": lambda program, origin: {f"remote.{name}.{service}": str(program)
                                                  for name in ("origin", str(origin))
                                                  for service in ("uploadpack", "receivepack")},
    "receive.denyCurrentBranch": lambda program, origin: {
        "receive.denyCurrentBranch": "updateInstead", "filter.x.smudge": str(program), "filter.x.clean": str(program),
    },
}  # fmt: skip


@dataclass(frozen=True)
class Place:
    """A checkout, the repository that it was cloned from, and a program that leaves a mark when it is started."""

    checkout: Path
    origin: Path
    program: Path
    mark: Path

    def configure(self, *folders: Path, settings: dict[str, str]) -> None:
        for folder in folders:
            for name, value in settings.items():
                run(folder, "config", name, value)

    def plant_hooks(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        for name in HOOKS:
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(self.program)


def of_the_person(place: Place, **settings: str) -> None:
    """In the person's own configuration: a file of this test, named outright and never by `--global`."""
    for name, value in settings.items():
        file = place.program.parent / "home" / "gitconfig"
        run(place.checkout, "config", "--file", str(file), name.replace("_", "."), value)


def run(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=T", "-c", "user.email=t@example.com", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    tmp_path = tmp_path / "place"
    home = tmp_path / "home"
    home.mkdir(parents=True)
    for name, value in {
        "GIT_CONFIG_GLOBAL": home / "gitconfig",
        "HOME": home,
        "XDG_CONFIG_HOME": home,
        "XDG_CACHE_HOME": tmp_path / "cache",
    }.items():
        monkeypatch.setenv(name, str(value))
    work, origin, checkout = tmp_path / "work", tmp_path / "origin", tmp_path / "checkout"
    work.mkdir()
    run(work, "init", "-q", "-b", "main")
    files = {"gitfed.yaml": FEDERATION, "eu-1.yaml": CLUSTER, ".gitattributes": "*.yaml filter=x diff=x\n"}
    for name, text in files.items():
        (work / name).write_text(text)
    run(work, "add", "-A")
    run(work, "commit", "-q", "-m", "first")
    run(work, "clone", "-q", str(work), str(origin))
    run(work, "clone", "-q", str(origin), str(checkout))
    run(checkout, "config", "user.name", "Ada")
    run(checkout, "config", "user.email", "ada@example.com")
    mark, program = tmp_path / "ran", tmp_path / "program"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> {mark}\nexit 1\n')
    program.chmod(0o755)
    return Place(checkout, origin, program, mark)


def use(place: Place, folder: Path) -> None:
    """What commands do with a checkout: look where its state lives, write it there, read, commit."""
    origin = git.Repository.open(place.origin)
    known = origin.commit_files(STATE, {"state.yaml": b"{}\n"}, "known", parent=None, when=WHEN)
    checkout = git.Repository.open(place.checkout)
    assert git.tracking.home(checkout, str(place.checkout), STATE) == str(place.origin)
    assert checkout.branch_commit(git.tracking.tracking_ref(STATE)) == known
    clone = git.Repository.create(folder / "clone.git")
    clone.ours = True
    for address, content in ((str(place.origin), b"1"), (f"file://{place.origin}", b"2")):
        clone.fetch(address, [f"+refs/heads/{STATE}:refs/heads/{STATE}"])
        before = clone.branch_commit(STATE)
        made = clone.commit_files(STATE, {"state.yaml": content}, "decided", parent=before, when=WHEN)
        clone.push(address, f"refs/heads/{STATE}", expected=before)
        assert origin.branch_commit(STATE) == made
    git.tracking.pushed(checkout, clone.path, STATE)
    assert checkout.branch_commit(git.tracking.tracking_ref(STATE)) == made
    for one in (origin, checkout, clone):
        one.close()
    done = call("cordon", "eu-1", "--repo", str(place.checkout), "--commit")
    assert "committed" in done
    call("plan", "--repo", str(place.checkout))


def call(*arguments: str) -> str:
    result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("setting", SETTINGS)
def test_no_setting_of_a_repository_starts_a_program(place: Place, tmp_path: Path, setting: str) -> None:
    place.plant_hooks(place.program.parent / "hooks")
    settings = SETTINGS[setting](place.program, place.origin)
    if setting == "gpg.program":
        settings["user.signingKey"] = "x"
    place.configure(place.checkout, place.origin, settings=settings)
    if "gpg" in setting:
        # It is asked to sign, and does so with the person's own program or not at all.
        done = CliRunner().invoke(cli, ["cordon", "eu-1", "--repo", str(place.checkout), "--commit"])
        assert done.exit_code != 0
        place.configure(place.checkout, settings={"commit.gpgSign": "false"})
        run(place.checkout, "checkout", "-q", "-f", "main")
    use(place, tmp_path)
    assert not place.mark.exists(), place.mark.read_text()


def test_no_hook_of_a_repository_runs_neither_where_we_are_nor_on_the_other_side(place: Place, tmp_path: Path) -> None:
    for folder in (place.checkout, place.origin):
        place.plant_hooks(folder / ".git" / "hooks")
    use(place, tmp_path)
    assert not place.mark.exists(), place.mark.read_text()


def test_a_push_to_a_checkout_does_not_write_its_files(place: Place, tmp_path: Path) -> None:
    place.configure(place.origin, settings={"receive.denyCurrentBranch": "updateInstead",
                                            "filter.x.smudge": str(place.program)})  # fmt: skip
    clone = git.Repository.create(tmp_path / "clone.git")
    clone.fetch(str(place.origin), ["+refs/heads/main:refs/heads/main"])
    before = clone.branch_commit("main")
    clone.commit_files("main", {"eu-1.yaml": b"changed"}, "x", parent=before, when=WHEN)
    with pytest.raises(SourceError, match="checked out"):
        clone.push(str(place.origin), "refs/heads/main", expected=before)
    clone.close()
    assert (place.origin / "eu-1.yaml").read_text() == CLUSTER
    assert not place.mark.exists(), place.mark.read_text()


def test_a_repository_leads_a_fetch_and_its_password_nowhere_else(place: Place, tmp_path: Path) -> None:
    decoy = tmp_path / "decoy"
    run(tmp_path, "clone", "-q", str(place.origin), str(decoy))
    run(decoy, "commit", "-q", "--allow-empty", "-m", "decoy")
    place.configure(place.checkout, settings={f"url.{decoy}.insteadOf": str(place.origin),
                                              "http.proxy": "http://127.0.0.1:1"})  # fmt: skip
    repository = git.Repository.open(place.checkout)
    assert repository.remote_tip(str(place.origin), "main")[1] == run(place.origin, "rev-parse", "main")
    repository.close()


def test_a_commit_is_signed_as_the_person_is_set_up(place: Place, tmp_path: Path) -> None:
    """The program from the person's own configuration, the key from the repository's."""
    ada = signing.with_ssh("ada", tmp_path / "people")
    of_the_person(place, commit_gpgSign="true", gpg_format="ssh")
    run(place.checkout, "config", "user.signingKey", ada.key)
    call("cordon", "eu-1", "--repo", str(place.checkout), "--commit")
    assert "-----BEGIN SSH SIGNATURE-----" in run(place.checkout, "cat-file", "commit", "HEAD")
    assert run(place.checkout, "log", "-1", "--format=%an <%ae>: %s") == "Ada <ada@example.com>: Cordon eu-1"
    assert run(place.checkout, "reflog", "-1", "--format=%gs") == "commit: Cordon eu-1"
    assert run(place.checkout, "status", "--porcelain") == ""


def test_a_filter_of_the_person_counts(place: Place) -> None:
    of_the_person(place, filter_x_clean="sed s/syncMode/SYNC/")
    call("cordon", "eu-1", "--repo", str(place.checkout), "--commit")
    assert "SYNC: Push" in run(place.checkout, "show", "HEAD:eu-1.yaml")


def test_a_commit_in_the_middle_of_a_merge_is_refused(place: Place) -> None:
    head = run(place.checkout, "rev-parse", "HEAD")
    (place.checkout / ".git" / "MERGE_HEAD").write_text(f"{head}\n")
    repository = git.Repository.open(place.checkout)
    with pytest.raises(SourceError) as told:
        repository.commit_paths(["eu-1.yaml"], "x")
    repository.close()
    assert str(told.value) == f"{place.checkout}: a merge is under way (end it, then git add and git commit)"


@pytest.mark.parametrize("kind", ["split index", "unborn branch", "linked worktree", "shallow"])
def test_commits_and_fetches_work_in_every_kind_of_checkout(place: Place, tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "other"
    run(place.origin, "commit", "-q", "--allow-empty", "-m", "second")
    if kind == "split index":
        run(tmp_path, "clone", "-q", str(place.origin), str(folder))
        run(folder, "update-index", "--split-index")
    elif kind == "unborn branch":
        run(tmp_path, "clone", "-q", str(place.origin), str(folder))
        run(folder, "checkout", "-q", "--orphan", "new")
    elif kind == "linked worktree":
        run(place.checkout, "worktree", "add", "-q", "-b", "side", str(folder))
    else:
        run(tmp_path, "clone", "-q", "--depth", "1", f"file://{place.origin}", str(folder))
    run(folder, "config", "user.name", "Ada")
    run(folder, "config", "user.email", "ada@example.com")
    (folder / "eu-1.yaml").write_text(CLUSTER + "# changed\n")
    repository = git.Repository.open(folder)
    made = repository.commit_paths(["eu-1.yaml"], "x")
    tip = repository.remote_tip(str(place.origin), "main")[1]
    repository.fetch(str(place.origin), ["+refs/heads/main:refs/remotes/origin/main"])
    assert repository.branch_commit("refs/remotes/origin/main") == tip
    repository.close()
    assert Commit(run(folder, "rev-parse", "HEAD")) == made
    assert "# changed" in run(folder, "show", "HEAD:eu-1.yaml")
    run(folder, "fsck", "--connectivity-only")


@pytest.mark.e2e
def test_apply_in_a_planted_clone_of_a_planted_repository_starts_nothing(world: World, place: Place) -> None:
    world.push(BASE)
    world.apply()
    before = run(world.bare, "rev-parse", "refs/heads/gitfed/state")
    clone = world.directory / "planted"
    run(world.directory, "clone", "-q", str(world.bare), str(clone))
    place.plant_hooks(world.bare / "hooks")
    place.plant_hooks(clone / ".git" / "hooks")
    everything: dict[str, str] = {}
    for settings in SETTINGS.values():
        everything |= settings(place.program, world.bare)
    everything["commit.gpgSign"] = "false"  # there is no such key
    place.configure(world.bare, clone, settings=everything)
    world.gitfed("suspend", "cm/shop/c0", "--repo", str(clone))
    world.gitfed("apply", "--repo", str(clone), "--kubeconfig", str(world.kubeconfig))
    assert run(world.bare, "rev-parse", "refs/heads/gitfed/state") != before
    assert not place.mark.exists(), place.mark.read_text()
