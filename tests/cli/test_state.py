"""`gitfed state key`, `trust` and `begin`: whose decisions count, and with which the branch begins."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitfed.daemon import wiring
from gitfed.documents import bindings, state_commits
from gitfed.documents.state_commits import Act
from gitfed.edges.git import Repository, signing_key
from gitfed.edges.state.state import StateBranch
from gitfed.text import yaml
from tests.cli.world import FILES, POLICY, commit, git, gitfed
from tests.support import signing
from tests.support.signing import Person

WHEN = datetime(2026, 1, 1, tzinfo=UTC)
DEMANDING = (
    "apiVersion: gitfed.io/v1alpha1\nkind: Federation\nmetadata: {name: acme}\n"
    "spec: {sources: {verify: {commits: all, keys: [ada.pub]}}}\n"
)


@pytest.fixture(autouse=True)
def own_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def test_the_key_is_made_once_and_printed_as_lines_to_commit(fleet: Path, own_keys: Path) -> None:
    first = gitfed("state", "key")
    assert first.code == 0, first.err
    path = wiring.state_key(wiring.DaemonOptions(repo=str(fleet)))
    assert own_keys in path.parents
    public = subprocess.run(["ssh-keygen", "-y", "-f", str(path)], check=True, capture_output=True, text=True).stdout
    *head, line = first.out.splitlines()
    assert head == ["spec:", "  state:", "    writers:"]
    assert line.split()[:3] == ["-", *public.split()[:2]]
    assert f"{path} was made now" in first.err
    again = gitfed("state", "key")
    assert (again.out, f"{path} was there already" in again.err) == (first.out, True)


def test_every_folder_of_a_checkout_has_the_same_key(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = gitfed("state", "key")
    monkeypatch.chdir(fleet / "apps")
    assert gitfed("state", "key").out == first.out
    assert gitfed("state", "key", "--repo", fleet / "apps").out == first.out


def test_where_there_is_no_repository_no_key_is_made(
    tmp_path: Path, own_keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()
    monkeypatch.chdir(nowhere)
    done = gitfed("state", "key")
    assert (done.code, done.out) == (4, "")
    assert f"no Git repository at {nowhere} or above it" in done.err
    assert not own_keys.exists()
    shared = tmp_path / "shared-key"
    assert gitfed("state", "key", "--state-key", shared).code == 0
    assert shared.stat().st_mode & 0o777 == 0o600


@pytest.fixture
def people(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "people"
    folder.mkdir()
    yield folder
    signing.end_agents(folder)


def signs(fleet: Path, person: Person) -> None:
    git(fleet, "config", "gpg.format", person.kind)
    git(fleet, "config", "user.signingKey", person.key)


def unsigned_state(fleet: Path) -> str:
    """A state branch as one from before signatures."""
    branch = StateBranch(Repository.open(fleet), bindings)
    state = branch.read()
    known = replace(state, decisions=replace(state.decisions, repository_id="1", known=True))
    branch.write(state, known, message=state_commits.acted(Act.DECIDED, "x"), now=WHEN)
    return git(fleet, "rev-parse", "gitfed/state")


def test_an_operator_vouches_for_the_branch_as_it_is(fleet: Path, people: Path) -> None:
    ada, eve = signing.with_ssh("ada", people), signing.with_ssh("eve", people)
    commit(fleet, {**dict.fromkeys(FILES), "gitfed.yaml": DEMANDING, "ada.pub": ada.public})
    absent = gitfed("state", "trust")
    assert absent.code == 4

    before = unsigned_state(fleet)
    nameless = gitfed("state", "trust")
    assert (nameless.code, "git names no key of yours" in nameless.err) == (4, True), nameless.err
    signs(fleet, eve)
    refused = gitfed("state", "trust")
    assert (refused.code, "this would not count: it is signed with the key" in refused.err) == (3, True), refused.err
    assert git(fleet, "rev-parse", "gitfed/state") == before
    signs(fleet, ada)
    done = gitfed("state", "trust")
    after = git(fleet, "rev-parse", "gitfed/state")
    assert (done.code, done.out) == (0, f"The state branch is trusted as of {after[:12]}.\n"), done.err
    assert git(fleet, "rev-parse", "gitfed/state^", "gitfed/state^{tree}").split() == [
        before, git(fleet, "rev-parse", f"{before}^{{tree}}"),
    ]  # fmt: skip
    assert git(fleet, "log", "-1", "--format=%(trailers:key=Gitfed-Order,valueonly)", "gitfed/state") == "trust"


def test_commands_that_look_say_that_a_daemon_would_not_believe_the_state(fleet: Path, people: Path) -> None:
    ada = signing.with_ssh("ada", people)
    unsigned = unsigned_state(fleet)
    said = "note: gitfed/state is shown as it is, and a daemon would not believe it: "
    looks = (("plan",), ("get", "bindings"), ("explain", "deploy/shop/web"))
    for arguments in looks:
        assert said not in gitfed(*arguments).err, "nobody asks for signatures"
    commit(fleet, {"gitfed.yaml": DEMANDING, "ada.pub": ada.public})
    for arguments in looks:
        assert f"{said}{unsigned[:12]} is not signed" in gitfed(*arguments).err
    other = signing_key.of_file(people / "engine")
    git(fleet, "update-ref", "-d", "refs/heads/gitfed/state")
    branch = StateBranch(Repository.open(fleet), bindings, sign=other.sign)
    state = branch.read()
    known = replace(state, decisions=replace(state.decisions, repository_id="1", known=True))
    branch.write(state, known, message=state_commits.acted(Act.DECIDED, "x"), now=WHEN)
    assert said not in gitfed("plan").err, "one engine is named nowhere"
    commit(fleet, {"gitfed.yaml": f"{DEMANDING[:-2]}, state: {{writers: ['{ada.public.strip()}']}}}}\n"})
    stranger = git(fleet, "rev-parse", "gitfed/state")[:12]
    assert f"{said}{stranger} is signed with the key {other.fingerprint}, which is not trusted" in gitfed("plan").err
    commit(fleet, {"gitfed.yaml": f"{DEMANDING[:-2]}, state: {{writers: ['{other.public}']}}}}\n"})
    assert said not in gitfed("plan").err


BINDING = """\
apiVersion: work.karmada.io/v1alpha2
kind: ResourceBinding
metadata:
  name: {name}-deployment
  namespace: shop
  annotations: {{policy.karmada.io/applied-placement: '{placement}'}}
spec:
  resource: {{apiVersion: apps/v1, kind: Deployment, name: {name}, namespace: shop}}
  replicas: 6
  clusters: [{{name: eu-1, replicas: 5}}, {{name: us-1, replicas: 1}}]
status:
  conditions: [{{type: Scheduled, status: "True", reason: Success, message: done}}]
"""


def bound(folder: Path, *names: str) -> Path:
    path = folder / "decisions.yaml"
    placement = json.dumps(yaml.load_all(POLICY.encode())[0]["spec"]["placement"])
    path.write_text("---\n".join(BINDING.format(name=name, placement=placement) for name in names))
    return path


def test_the_branch_begins_with_what_others_decided(fleet: Path, tmp_path: Path) -> None:
    file = bound(tmp_path, "web", "strange")
    looked = gitfed("state", "begin", file, "--dry-run")
    assert (looked.code, looked.out) == (0, "gitfed/state would begin with 1 decision.\n"), looked.err
    assert git(fleet, "branch", "--list", "gitfed/state") == ""
    head = git(fleet, "rev-parse", "HEAD")
    done = gitfed("state", "begin", file)
    made = git(fleet, "rev-parse", "gitfed/state")
    assert (done.code, done.out) == (0, f"gitfed/state begins with 1 decision, in {made[:12]}.\n"), done.err
    assert f"left out: {head[:12]} has no Deployment.apps/shop/strange" in done.err
    assert git(fleet, "log", "-1", "--format=%s", made) == "Begin with the decisions of decisions.yaml [skip ci]"
    plan = json.loads(gitfed("plan", "-o", "json").out)
    placed = [[(at["name"], at["replicas"]) for at in one["clusters"]] for one in plan["bindings"]]
    assert [("eu-1", 5), ("us-1", 1)] in placed
    again = gitfed("state", "begin", file)
    assert (again.code, "there is a branch gitfed/state already" in again.err) == (4, True), again.err
    assert git(fleet, "rev-parse", "gitfed/state") == made


def test_where_a_daemon_would_read_the_origin_the_branch_is_to_be_pushed(fleet: Path, tmp_path: Path) -> None:
    """A daemon without it would decide everything anew, and replicas would move."""
    file, origin = bound(tmp_path, "web"), tmp_path / "origin.git"
    git(fleet, "init", "-q", "--bare", str(origin))
    git(fleet, "remote", "add", "origin", str(origin))
    git(fleet, "push", "-q", "origin", "HEAD:main")
    done = gitfed("state", "begin", file)
    note = "note: it is in this checkout alone: before a daemon reads origin, git push origin gitfed/state\n"
    assert (done.code, note in done.err) == (0, True), done.err
    git(fleet, "push", "-q", "origin", "gitfed/state")
    git(origin, "update-ref", "-d", "refs/heads/gitfed/state")
    git(fleet, "update-ref", "-d", "refs/heads/gitfed/state")
    git(fleet, "update-ref", "-d", "refs/remotes/origin/gitfed/state")
    bare = gitfed("state", "begin", file, "--repo", origin)
    assert (bare.code, "in this checkout alone" in bare.err) == (0, False), bare.err


def test_a_branch_does_not_begin_with_decisions_about_nothing(fleet: Path, tmp_path: Path) -> None:
    file = bound(tmp_path, "strange")
    done = gitfed("state", "begin", file)
    assert (done.code, f"{file}: it decides nothing of what the repository has" in done.err) == (3, True), done.err
    file.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    done = gitfed("state", "begin", file)
    assert (done.code, "is not a decision" in done.err) == (3, True), done.err
    assert gitfed("state", "begin", tmp_path / "absent.yaml").code == 2
    assert gitfed("state", "begin", bound(tmp_path, "web"), "--worktree").code == 2
    assert git(fleet, "branch", "--list", "gitfed/state") == ""


def test_where_signatures_count_an_operator_begins_the_branch(fleet: Path, people: Path, tmp_path: Path) -> None:
    ada, eve = signing.with_ssh("ada", people), signing.with_ssh("eve", people)
    commit(fleet, {"gitfed.yaml": DEMANDING, "ada.pub": ada.public})
    file = bound(tmp_path, "web")
    signs(fleet, eve)
    refused = gitfed("state", "begin", file)
    assert (refused.code, "this would not count: it is signed with the key" in refused.err) == (3, True), refused.err
    assert git(fleet, "branch", "--list", "gitfed/state") == ""
    signs(fleet, ada)
    assert gitfed("state", "begin", file).code == 0
    assert "would not believe" not in gitfed("plan").err
