"""gitfed register and gitfed unregister: what is said before anybody is asked, and what is printed."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
import yaml

from gitfed import __version__
from gitfed.cli import main
from gitfed.edges import forge
from gitfed.offline import joining
from gitfed.registration import enrol
from tests.cli.world import Result, commit, git, gitfed

PIN = "sha256:" + "0" * 64
TOKEN = "abcdef.0123456789abcdef"
HUB = "hub.example:8443"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((HUB, "--token", TOKEN), "what is the cluster called? --cluster-name NAME"),
        ((HUB, "--cluster-name", "Edge"), "the cluster name Edge must be lowercase letters, digits and - only, with a "
         "letter or digit at both ends"),
        ((HUB, "--cluster-name", "e", "--token", "abc"),
         "--token is to be what gitfed token create printed: six characters, a dot, sixteen"),
        ((HUB, "--cluster-name", "e", "--token", TOKEN), "how is the hub known? --discovery-token-ca-cert-hash "
         "sha256:HEX"),
        ((HUB, "--cluster-name", "e", "--token", TOKEN, "--discovery-token-ca-cert-hash", "sha256:AB"),
         "--discovery-token-ca-cert-hash: sha256:AB is no pin of an authority: sha256: and 64 lower-case hex digits"),
        ((HUB, "--cluster-name", "e", "--token", TOKEN, "--discovery-token-ca-cert-hash", PIN,
          "--discovery-token-unsafe-skip-ca-verification"),
         "--discovery-token-unsafe-skip-ca-verification and a pin exclude each other"),
        (("https://hub", "--cluster-name", "e", "--token", TOKEN, "--discovery-token-ca-cert-hash", PIN),
         "'https://hub' is not HOST:PORT"),
        ((HUB, "--cluster-name", "e", "--token", TOKEN, "--discovery-token-ca-cert-hash", PIN),
         "how is the cluster reached? --cluster-kubeconfig FILE"),
        ((HUB, "--cluster-name", "e", "--dry-run", "client", "--cluster-region", "a b"),
         "cluster e: spec.region: the region must be letters, digits, -, _ and . only, with a letter or digit at "
         "both ends"),
    ],
    ids=["no name", "a bad name", "a bad token", "no pin", "a bad pin", "a pin and none", "a URL", "no kubeconfig",
         "a bad region"],
)  # fmt: skip
def test_what_is_missing_or_wrong_is_named(arguments: tuple[str, ...], said: str) -> None:
    refused = gitfed("register", *arguments)
    assert refused.code == 2
    assert refused.err.splitlines()[0] == f"error: {said}"


def test_a_dry_run_prints_everything_but_the_key_and_asks_nobody() -> None:
    shown = gitfed("register", HUB, "--cluster-name", "edge-7", "--cluster-zones", "a,b", "--dry-run", "client")
    assert (shown.code, shown.err) == (0, "")
    found = list(yaml.safe_load_all(shown.out))
    assert [one["kind"] for one in found if one] == [
        "Namespace", "Secret", "ServiceAccount", "Role", "RoleBinding", "ClusterRoleBinding", "Deployment", "Cluster",
    ]  # fmt: skip
    assert found[1]["data"] == {"tls.key": "REDACTED"}
    assert found[-1] == {
        "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "edge-7"},
        "spec": {"syncMode": "Pull", "zones": ["a", "b"]},
    }  # fmt: skip


def test_the_agent_is_started_with_options_that_it_has() -> None:
    shown = gitfed("register", HUB, "--cluster-name", "e", "--dry-run", "client")
    deployment = next(one for one in yaml.safe_load_all(shown.out) if one["kind"] == "Deployment")
    first, *words = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    assert first == "agent"
    command = main.cli.get_command(click.Context(main.cli), "agent")
    assert command is not None
    known = {name for parameter in command.params for name in parameter.opts}
    assert {word.partition("=")[0] for word in words} <= known
    assert f"--hub-url=https://{HUB}" in words


def test_without_a_role_the_agent_is_bound_to_none() -> None:
    shown = gitfed("register", HUB, "--cluster-name", "e", "--cluster-role", "", "--dry-run", "client")
    assert "ClusterRoleBinding" not in shown.out


def test_a_pushed_cluster_is_neither_registered_nor_unregistered(fleet: Path, tmp_path: Path) -> None:
    config = tmp_path / "admin.conf"
    config.write_text("apiVersion: v1\nkind: Config\n")
    refused = gitfed("register", HUB, "--cluster-name", "eu-1", "--token", TOKEN, "--discovery-token-ca-cert-hash", PIN,
                     "--cluster-kubeconfig", config, "--repo", fleet)  # fmt: skip
    assert (refused.code, refused.err.splitlines()[0]) == (
        2, "error: cluster eu-1 is declared already, with syncMode Push: clusters/eu-1.yaml",
    )  # fmt: skip
    refused = gitfed("unregister", "eu-1", "--keep-objects", "--cluster-kubeconfig", config, "--repo", fleet)
    assert (refused.code, refused.err) == (
        2, "error: cluster eu-1 is not pulled by an agent\nhint: gitfed unjoin eu-1\n",
    )  # fmt: skip


def test_a_pulled_cluster_is_not_unjoined(fleet: Path) -> None:
    path = fleet / "clusters" / "eu-1.yaml"
    path.write_text(path.read_text().replace("Push", "Pull"))
    refused = gitfed("unjoin", "eu-1", "--keep-objects", "--repo", fleet)
    assert (refused.code, refused.err) == (
        2, "error: cluster eu-1 is pulled by an agent\nhint: gitfed unregister eu-1\n",
    )  # fmt: skip


def test_a_pull_request_is_neither_a_commit_nor_a_dry_run() -> None:
    given = (HUB, "--cluster-name", "e", "--token", TOKEN, "--discovery-token-ca-cert-hash", PIN, "--pull-request")
    for also, said in ((("--commit",), "--commit"), (("--dry-run", "client"), "--dry-run")):
        refused = gitfed("register", *given, *also)
        assert (refused.code, refused.err.splitlines()[0]) == (
            2,
            f"error: --pull-request and {said} exclude each other",
        )


def test_without_a_remote_there_is_no_pull_request(fleet: Path, tmp_path: Path) -> None:
    config = tmp_path / "admin.conf"
    config.write_text("apiVersion: v1\nkind: Config\n")
    refused = gitfed("register", HUB, "--cluster-name", "e", "--token", TOKEN, "--discovery-token-ca-cert-hash", PIN,
                     "--cluster-kubeconfig", config, "--pull-request", "--repo", fleet)  # fmt: skip
    assert (refused.code, refused.err) == (
        2, f"error: {fleet} has no remote origin to push a branch to\nhint: --commit makes the commit here\n",
    )  # fmt: skip


def test_the_agents_image_is_of_the_version_that_registers() -> None:
    shown = gitfed("register", HUB, "--cluster-name", "e", "--dry-run", "client")
    deployment = next(one for one in yaml.safe_load_all(shown.out) if one["kind"] == "Deployment")
    image = deployment["spec"]["template"]["spec"]["containers"][0]["image"]
    assert image == f"registry.example/gitfed:{__version__}"


PULLED = "apiVersion: cluster.karmada.io/v1alpha1\nkind: Cluster\nmetadata: {name: edge-1}\nspec: {syncMode: Pull%s}\n"
ENROLLED: list[str] = []
"""Which clusters got an agent."""


def registered(fleet: Path, *more: str, monkeypatch: pytest.MonkeyPatch, uid: str = "u-1") -> Result:
    """`gitfed register edge-1` where the cluster has this id and takes everything, and the hub signs."""

    async def identity(session: object) -> str:
        return uid

    async def enrolled(session: object, asked: object, tell: object) -> None:
        ENROLLED.append(uid)

    monkeypatch.setattr(joining, "identity", identity)
    monkeypatch.setattr(enrol, "register", enrolled)
    named = [("clusters", "cluster", {"server": "http://127.0.0.1:1"}), ("users", "user", {"token": "t"}),
             ("contexts", "context", {"cluster": "edge-1", "user": "edge-1"})]  # fmt: skip
    body = {"apiVersion": "v1", "kind": "Config", **{many: [{"name": "edge-1", one: at}] for many, one, at in named}}
    config = fleet.parent / "admin.conf"
    config.write_text(yaml.safe_dump(body))
    ENROLLED.clear()
    return gitfed("register", HUB, "--cluster-name", "edge-1", "--token", TOKEN, "--discovery-token-ca-cert-hash", PIN,
                  "--cluster-kubeconfig", config, "--repo", fleet, *more)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(PULLED % ", id: u-2", "this is not edge-1: its id is u-1, in clusters/e.yaml it is u-2",
                     id="another cluster has its name"),
        pytest.param((PULLED % ", id: u-1").replace("edge-1", "edge-2"),
                     "this cluster is in the fleet already, as edge-2: clusters/e.yaml", id="it has another name"),
    ],
)  # fmt: skip
def test_a_cluster_that_the_repository_knows_as_another_gets_no_agent(
    fleet: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    commit(fleet, {"clusters/e.yaml": text})
    refused = registered(fleet, monkeypatch=monkeypatch)
    assert (refused.code, refused.err.splitlines()[0], ENROLLED) == (2, f"error: {said}", [])


@pytest.mark.parametrize("spec", [", id: u-1", ""], ids=["with its id", "without an id"])
def test_a_file_that_is_there_stays_and_gets_the_id(fleet: Path, monkeypatch: pytest.MonkeyPatch, spec: str) -> None:
    commit(fleet, {"clusters/e.yaml": PULLED % spec})
    done = registered(fleet, monkeypatch=monkeypatch)
    assert (done.code, done.out, ENROLLED) == (0, "cluster(edge-1) is joined successfully\n", ["u-1"])
    assert yaml.safe_load((fleet / "clusters/e.yaml").read_text())["spec"] == {"syncMode": "Pull", "id": "u-1"}
    assert ("wrote clusters/e.yaml" in done.err) is (spec == "")
    assert not (fleet / "clusters/edge-1.yaml").exists()


def test_a_pull_request_is_a_pushed_branch_and_the_checkout_stays(
    fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", str(fleet), str(bare))
    git(fleet, "remote", "add", "origin", str(bare))
    git(fleet, "config", "user.name", "Ann")
    git(fleet, "config", "user.email", "ann@example.com")
    (fleet / "mine.txt").write_text("staged\n")
    git(fleet, "add", "mine.txt")
    head, status = git(fleet, "rev-parse", "HEAD"), git(fleet, "status", "--porcelain")
    for uid in ("u-1", "u-2"):  # again: the branch is what was registered last
        done = registered(fleet, "--pull-request", monkeypatch=monkeypatch, uid=uid)
        made = git(bare, "rev-parse", "gitfed/register-edge-1")
        assert (done.code, done.out) == (0, "cluster(edge-1) is joined successfully\n")
        assert done.err == (
            f"pushed {made[:12]} to branch gitfed/register-edge-1 of {bare}\n"
            "Next: open a pull request of branch gitfed/register-edge-1\n"
        )
        assert git(bare, "log", "-1", "--format=%an %s %P", made) == f"Ann Register edge-1 {head}"
        assert git(bare, "show", "--format=", "--name-only", made) == "clusters/edge-1.yaml"
        assert yaml.safe_load(git(bare, "show", f"{made}:clusters/edge-1.yaml"))["spec"]["id"] == uid
    assert (git(fleet, "rev-parse", "HEAD"), git(fleet, "status", "--porcelain")) == (head, status)


@pytest.mark.parametrize(
    ("url", "page"),
    [
        ("git@github.com:acme/fleet.git", "https://github.com/acme/fleet/compare/gitfed/register-e?expand=1"),
        ("https://user:secret@gitlab.com/a/b/fleet", "https://gitlab.com/a/b/fleet/-/merge_requests/new"
         "?merge_request%5Bsource_branch%5D=gitfed/register-e"),
        ("https://codeberg.org/acme/fleet.git", "https://codeberg.org/acme/fleet/compare/gitfed/register-e"),
        ("https://bitbucket.org/acme/fleet", "https://bitbucket.org/acme/fleet/pull-requests/new"
         "?source=gitfed/register-e"),
        ("https://git.example/acme/fleet.git", ""),
        ("/srv/fleet.git", ""),
    ],
)  # fmt: skip
def test_a_pull_request_is_opened_where_its_forge_has_the_page(url: str, page: str) -> None:
    assert forge.proposal_page(url, "gitfed/register-e") == page
