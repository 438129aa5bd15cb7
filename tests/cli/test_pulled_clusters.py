"""Commands on a machine that reaches no pulled cluster: what is not asked is said, and nothing is claimed of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gitfed.cli import exits
from gitfed.cli.options import Output
from gitfed.cli.output import listing
from gitfed.model.agent_presence import AgentPresence, Holding
from gitfed.views import agents
from tests.cli.world import commit, git, gitfed, repository
from tests.daemon.one_member import NOW
from tests.e2e.pulled import cluster
from tests.e2e.world import config_map, policy, settings
from tests.hub.stage import snapshot

FILES = {
    "gitfed.json": settings(),
    "clusters/edge.yaml": cluster("edge"),
    "policy.json": policy("all", ["edge"], (("v1", "ConfigMap"),)),
    "a.json": config_map("a", {"x": "1"}),
}
PUSHED = """\
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: here}
spec: {syncMode: Push}
"""
POOLED = """\
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: m3, annotations: {gitfed.io/pool: west}}
spec: {syncMode: Push}
"""
NOT_ASKED = (
    "note: Cluster edge could not be read: it is pulled: its agent reaches it, and this process does not (gitfed plan "
    "--server looks through a hub; or a context of that name, if you may reach it). Its objects are kept.\n"
)


@pytest.fixture
def arguments(tmp_path: Path) -> tuple[str, ...]:
    repository(tmp_path / "fleet", FILES)
    (tmp_path / "kubeconfig").write_text("apiVersion: v1\nkind: Config\n")
    return "--repo", str(tmp_path / "fleet"), "--kubeconfig", str(tmp_path / "kubeconfig")


@pytest.mark.parametrize(
    "command", ["plan --live", "diff --live", "get works --live", "get clusters --live", "apply --dry-run=client"]
)
def test_what_looks_says_that_only_the_agent_reaches_the_cluster(command: str, arguments: tuple[str, ...]) -> None:
    done = gitfed(*command.split(), *arguments)
    assert done.code == exits.UNREACHABLE
    assert NOT_ASKED in done.out + done.err


def test_an_apply_of_agents_clusters_alone_is_refused_and_records_nothing(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    """A daemon beside it would be told of a state that it has not written."""
    done = gitfed("apply", *arguments, "--data-dir", tmp_path / "data")
    assert (done.code, done.out) == (exits.UNREACHABLE, "")
    assert done.err == (
        "error: nothing can be applied by hand: only agents reach the clusters, and these listen to gitfed run alone\n"
        "hint: push the commit: the daemon applies it\n"
    )
    assert git(tmp_path / "fleet", "branch", "--all", "--list", "*gitfed*") == ""


def test_an_apply_carries_out_nothing_where_an_agent_is_and_says_who_does(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    commit(tmp_path / "fleet", {"clusters/here.yaml": PUSHED})
    done = gitfed("apply", *arguments, "--data-dir", tmp_path / "data")
    assert done.code == exits.UNREACHABLE
    assert "unreachable: edge: only its agent reaches it, and that listens to gitfed run alone\n" in done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(
            "diff --server https://hub.example:1",
            "--server is for --live: two revisions are compared without the clusters",
            id="two revisions",
        ),
        pytest.param(
            "plan --live --server https://hub.example:1 --allow-exec-credentials",
            "--allow-exec-credentials is for clusters that are reached without a hub (--server)",
            id="two ways",
        ),
        pytest.param("plan --token-file F", "--token-file is about a hub: --server says where it is", id="no hub"),
        pytest.param(
            "top clusters --server https://hub.example:1",
            "what is used is asked of clusters: -C names them",
            id="top without --live",
        ),
        pytest.param(
            "plan --server http://hub.example:1",
            "http://hub.example:1 has no TLS: a credential is sent to another machine only with it",
            id="no TLS",
        ),
        pytest.param("plan --server https://hub.example:1", "nothing says who asks https://hub.example:1", id="nobody"),
    ],
)
def test_words_about_a_hub_that_do_not_fit_are_refused(
    words: str, message: str, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "F").write_text("x")
    done = gitfed(*words.replace(" F", f" {tmp_path}/F").split(), *([] if "top" in words else arguments))
    assert (done.code, done.out) == (exits.USAGE, "")
    assert message in done.err


def test_a_hub_in_the_environment_changes_no_command_that_did_not_ask_for_one(arguments: tuple[str, ...]) -> None:
    hub = {"GITFED_SERVER": "https://hub.invalid:1"}
    for words in ("plan", "diff HEAD..HEAD", "top clusters"):
        assert gitfed(*words.split(), *arguments, env=hub) == gitfed(*words.split(), *arguments)
    live = gitfed("plan", "--live", *arguments, env=hub)
    assert (live.code, live.out) == (exits.USAGE, "")
    assert "nothing says who asks https://hub.invalid:1" in live.err


def test_agents_are_asked_of_a_hub(arguments: tuple[str, ...]) -> None:
    done = gitfed("get", "agents", *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "error: agents connect to the hub of a running daemon, and only that knows of them\n"
        "hint: --server says where it is\n"
    )


def test_an_agent_is_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    repo = snapshot(cluster("m1"), POOLED)
    unknown = agents.item("m2", repo, None, None, leads=False)
    presence = AgentPresence(None, NOW, 3, "abcdef0123", "gitfed 9", 1, 7, 5)
    known = agents.item("m1", repo, presence, NOW, leads=True)
    pooled = agents.item("m3", repo, replace(presence, holding=Holding("west-0", 4)), NOW, leads=True)
    listing.show(listing.of("agents", [known, unknown, pooled]), Output("wide"))
    rows = [line.split("   ") for line in capsys.readouterr().out.splitlines()]
    assert [[cell.strip() for cell in row if cell] for row in rows] == [
        ["CLUSTER", "POOL", "STATE", "SINCE", "LAST-HEARD", "PROGRAM", "SLICE", "CERTIFICATE-ENDS", "PROTOCOL",
         "CONNECTIONS", "INSTANCE", "NAME"],
        ["m1", "–", "Disconnected", "–", "2026-03-01T12:00:00Z", "gitfed 9", "5/7", "2026-03-01T12:00:00Z", "1", "3",
         "abcdef01", "system:gitfed:agent:m1"],
        ["m2", "–", "NotDeclared", "–", "–", "–", "–", "–", "–", "0", "–", "system:gitfed:agent:m2"],
        ["m3", "west/west-0", "Disconnected", "–", "2026-03-01T12:00:00Z", "gitfed 9", "5/7", "2026-03-01T12:00:00Z",
         "1", "3", "abcdef01", "system:gitfed:pool:west"],
    ]  # fmt: skip
