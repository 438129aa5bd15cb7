"""gitfed rbac: the whole of what it prints, and that it is enough."""

from __future__ import annotations

from pathlib import Path

import yaml

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
    assert "gitfed:search" not in said.out


def test_a_pulled_clusters_search_gets_a_user_with_a_role(fleet: Path) -> None:
    path = fleet / "clusters" / "eu-1.yaml"
    path.write_text(path.read_text().replace("Push", "Pull"))
    (fleet / "registry.yaml").write_text(
        "apiVersion: search.karmada.io/v1alpha1\nkind: ResourceRegistry\nmetadata: {name: pods}\n"
        "spec: {targetCluster: {}, resourceSelectors: [{apiVersion: v1, kind: Pod}]}\n"
    )
    said = gitfed("rbac", "--repo", fleet, "--worktree", "--cluster", "eu-1")
    assert said.code == 0, said.err
    bodies = list(yaml.safe_load_all(said.out))
    assert bodies[0]["rules"][-1] == {
        "apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"], "resourceNames": ["system:gitfed:search"]
    }  # fmt: skip
    role, binding = bodies[-2:]
    assert role["rules"] == [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]}]
    assert binding["subjects"] == [
        {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "system:gitfed:search"}
    ]


def test_another_name_is_refused(fleet: Path) -> None:
    said = gitfed("rbac", "--repo", fleet, "--cluster", "eu-9")
    assert said.code == 2
    assert said.err.startswith("error: no cluster 'eu-9'")


def test_the_door_lets_gitfed_act_as_whom_policies_name(fleet: Path) -> None:
    def policy(name: str, subjects: str, more: str = "") -> None:
        text = "apiVersion: gitfed.io/v1alpha1\nkind: AccessPolicy\n"
        text += f"metadata: {{name: {name}}}\nspec: {{subjects: [{subjects}], allow: [proxy]{more}}}\n"
        (fleet / f"{name}.yaml").write_text(text)

    def rules(cluster: str) -> list[dict[str, object]]:
        said = gitfed("rbac", "--repo", fleet, "--worktree", "--cluster", cluster)
        assert said.code == 0, said.err
        found = next(iter(yaml.safe_load_all(said.out)))["rules"]
        return [rule for rule in found if rule["verbs"] == ["impersonate"]]

    def rule(resource: str, *names: str) -> dict[str, object]:
        made: dict[str, object] = {"apiGroups": [""], "resources": [resource], "verbs": ["impersonate"]}
        return {**made, "resourceNames": [*names]} if names else made

    assert rules("eu-1") == []
    policy("ann", "{kind: User, name: ann}, {kind: ServiceAccount, name: ci, namespace: ci}")
    assert rules("eu-1") == [rule("users", "ann"), rule("serviceaccounts", "ci")]
    policy("team", "{kind: Group, name: team}", ", clusters: {clusterNames: [eu-1]}")
    assert rules("eu-1") == [rule("users"), rule("groups", "team"), rule("serviceaccounts", "ci")]
    assert rules("us-1") == [rule("users", "ann"), rule("serviceaccounts", "ci")]
