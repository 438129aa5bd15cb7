"""What a shell offers at TAB."""

from __future__ import annotations

from pathlib import Path

import pytest

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
