"""Commands on a machine that reaches no pulled cluster: what is not asked is said, and nothing is claimed of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitfed.cli import exits
from tests.cli.world import gitfed, repository
from tests.e2e.pulled import cluster
from tests.e2e.world import config_map, policy, settings

FILES = {
    "gitfed.json": settings(),
    "clusters/edge.yaml": cluster("edge"),
    "policy.json": policy("all", ["edge"], (("v1", "ConfigMap"),)),
    "a.json": config_map("a", {"x": "1"}),
}
NOT_ASKED = (
    "note: Cluster edge could not be read: it is pulled: its agent reaches it, and nobody here does (a context of that "
    "name in --kubeconfig, if you may reach it yourself). Its objects are kept.\n"
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


def test_an_apply_carries_out_nothing_there_and_says_who_does(arguments: tuple[str, ...], tmp_path: Path) -> None:
    done = gitfed("apply", *arguments, "--data-dir", tmp_path / "data")
    assert done.code == exits.UNREACHABLE
    assert "unreachable: edge: only its agent reaches it, and that listens to gitfed run alone\n" in done.err
    assert "0 writes" in done.out + done.err
