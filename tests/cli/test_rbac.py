"""gitfed rbac: the whole of what it prints, and that it is enough."""

from __future__ import annotations

from pathlib import Path

from tests.cli.world import gitfed, golden


def test_the_least_rights_are_printed_for_one_cluster(fleet: Path) -> None:
    said = gitfed("rbac", "--repo", fleet, "--cluster", "eu-1")
    assert said.code == 0
    golden("rbac.txt", said.out)


def test_a_pulled_clusters_rights_are_its_agents(fleet: Path) -> None:
    path = fleet / "clusters" / "eu-1.yaml"
    path.write_text(path.read_text().replace("Push", "Pull"))
    said = gitfed("rbac", "--repo", fleet, "--worktree", "--cluster", "eu-1")
    assert "name: gitfed-agent-least" in said.out


def test_another_name_is_refused(fleet: Path) -> None:
    said = gitfed("rbac", "--repo", fleet, "--cluster", "eu-9")
    assert said.code == 2
    assert said.err.startswith("error: no cluster 'eu-9'")
