"""What a shell offers at TAB."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitfed.documents import bindings
from gitfed.documents.state_commits import Message
from gitfed.edges import git as edge
from gitfed.edges.state.state import BranchState, StateBranch
from gitfed.model.base import ObjectKey
from gitfed.model.decisions import Decision, Decisions, Scheduled, Share
from tests.cli.world import git, gitfed, program


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_every_shell_gets_a_script_that_asks_gitfed(shell: str) -> None:
    result = gitfed("completion", shell)
    assert result.code == 0
    assert "_GITFED_COMPLETE" in result.out
    assert f"{shell}_complete" in result.out


def bash(cwd: Path, *words: str) -> list[str]:
    env = {"_GITFED_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    if words[-1] == "''":
        env["COMP_WORDS"] = " ".join(words[:-1]) + " "
    return [line.partition(",")[2] for line in program(cwd=cwd, env=env).out.splitlines()]


def test_commands_complete(fleet: Path) -> None:
    assert bash(fleet, "gitfed", "va") == ["validate"]


def test_clusters_complete_from_git(fleet: Path) -> None:
    assert bash(fleet, "gitfed", "render", "--cluster", "eu") == ["eu-1", "eu-2"]


def test_workloads_complete_from_git(fleet: Path) -> None:
    assert bash(fleet, "gitfed", "explain", "dep") == ["deploy/shop/web", "deployment/shop/web"]


def test_policies_complete_from_git(fleet: Path) -> None:
    assert bash(fleet, "gitfed", "get", "policies", "shop/eu") == ["shop/eu-registry"]


def test_branches_complete_from_git(fleet: Path) -> None:
    git(fleet, "branch", "feature/x")
    assert bash(fleet, "gitfed", "plan", "--rev", "fea") == ["feature/x"]
    assert bash(fleet, "gitfed", "diff", "HEAD..fea") == ["HEAD..feature/x"]


def test_what_can_be_suspended_completes_from_git(fleet: Path) -> None:
    assert bash(fleet, "gitfed", "suspend", "al") == ["all"]
    assert bash(fleet, "gitfed", "suspend", "cluster/eu") == ["cluster/eu-1", "cluster/eu-2"]
    assert bash(fleet, "gitfed", "resume", "dep") == ["deploy/shop/web", "deployment/shop/web"]


def test_what_can_fail_completes_from_git(fleet: Path) -> None:
    assert bash(fleet, "gitfed", "simulate", "--fail", "cluster/us") == ["cluster/us-1"]
    assert bash(fleet, "gitfed", "simulate", "--recover", "region/") == ["region/eu", "region/us"]
    assert bash(fleet, "gitfed", "simulate", "--taint", "cluster/us") == ["cluster/us-1"]


def placed(fleet: Path, clusters: list[str]) -> None:
    """The state branch says that web runs there."""
    repository = edge.Repository.open(fleet)
    decision = Decision(
        ObjectKey("apps", "Deployment", "shop", "web"), "apps/v1", Scheduled(tuple(map(Share, clusters)))
    )
    decided = BranchState(None, Decisions({decision.key: decision}, repository_id="r"))
    StateBranch(repository, bindings).write(
        BranchState(None, Decisions(known=False)),
        decided,
        message=Message("Decide"),
        now=datetime(2026, 1, 1, tzinfo=UTC),
    )
    repository.close()


def test_orphans_complete_from_what_was_decided_and_has_no_policy_any_more(fleet: Path) -> None:
    placed(fleet, ["eu-1", "us-1"])
    assert "Deployment.apps/shop/web" not in bash(fleet, "gitfed", "orphans", "delete", "Dep")
    git(fleet, "rm", "-q", "-r", "policies")
    git(fleet, "commit", "-q", "-m", "no policies")
    assert bash(fleet, "gitfed", "orphans", "delete", "Dep") == ["Deployment.apps/shop/web"]
    assert bash(fleet, "gitfed", "orphans", "adopt", "us") == ["us-1/Deployment.apps/shop/web"]


def test_a_repository_that_cannot_be_read_offers_nothing_and_says_nothing(tmp_path: Path) -> None:
    env = {"_GITFED_COMPLETE": "bash_complete", "COMP_WORDS": "gitfed render --cluster e", "COMP_CWORD": "3"}
    result = program(cwd=tmp_path, env=env)
    assert (result.out.strip(), result.err) == ("", "")


@pytest.mark.parametrize(
    ("line", "word", "expected"),
    [
        ("gitfed va", "va", "plain\tvalidate\tSay everything that is wrong with a repository."),
        ("gitfed render --cluster us", "us", "plain\tus-1\t"),
        ("gitfed get ", "", "plain\tclusters\t"),
    ],
)
def test_powershell_gets_type_value_and_help(fleet: Path, line: str, word: str, expected: str) -> None:
    env = {"_GITFED_COMPLETE": "powershell_complete", "COMP_LINE": line, "COMP_WORD": word}
    assert expected in program(cwd=fleet, env=env).out.splitlines()
