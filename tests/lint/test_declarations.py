"""What `validate` says of declarations without effect; each sentence is a warning, and holds nothing."""

from __future__ import annotations

from pathlib import Path

from tests.cli.world import FILES, POLICY, commit, deployment, gitfed

OVERRIDE = """\
apiVersion: policy.karmada.io/v1alpha1
kind: OverridePolicy
metadata: {name: idle, namespace: shop}
spec:
  resourceSelectors:
  - {apiVersion: apps/v1, kind: Deployment}
  overrideRules:
  - targetCluster: {clusterNames: [eu-2]}
    overriders:
      labelsOverrider:
      - {operator: add, value: {a: b}}
"""
CUSTOMIZATION = """\
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {name: deployments}
spec:
  target: {apiVersion: apps/v1, kind: Deployment}
  customizations:
    healthInterpretation:
      luaScript: "function InterpretHealth(o) return true end"
"""


def only(place: str) -> str:
    return f"{POLICY.split('  placement')[0]}  placement: {place}\n"


def test_a_sound_repository_gets_no_warning(fleet: Path) -> None:
    assert gitfed("validate").out == f"nothing is wrong in {gitfed('validate').out.split(' in ')[1]}"


def test_a_policy_that_can_place_nothing_is_dead(fleet: Path) -> None:
    commit(fleet, {"policies/web.yaml": only("{clusterAffinity: {labelSelector: {matchLabels: {tier: gold}}}}")})
    result = gitfed("validate")
    assert result.code == 0
    assert (
        "policies/web.yaml:1:1: warning: PropagationPolicy/shop/web places nothing of what it takes: 0/3 clusters are "
        "available: 3 cluster(s) did not match the placement cluster affinity constraint.\n" in result.out
    )


def test_a_policy_is_not_dead_because_a_template_has_a_mistake(fleet: Path) -> None:
    commit(fleet, {"apps/web.yaml": deployment(9).replace("replicas:", "replica:")})
    result = gitfed("validate")
    assert result.code == 3
    assert "spec.replica: unknown field of DeploymentSpec" in result.out
    assert "places nothing" not in result.out


def test_policies_that_tie_are_told(fleet: Path) -> None:
    commit(fleet, {"policies/twin.yaml": only("{}").replace("name: web", "name: twin")})
    assert (
        "policies/web.yaml:1:1: warning: PropagationPolicy/shop/twin and PropagationPolicy/shop/web select "
        "shop/Deploy/web equally, and PropagationPolicy/shop/twin wins by its name (set spec.priority)\n"
        in gitfed("validate").out
    )
    commit(fleet, {"policies/twin.yaml": only("{}").replace("name: web", "name: twin") + "  priority: 1\n"})
    assert "equally" not in gitfed("validate").out


def test_an_override_that_changes_nothing_is_told(fleet: Path) -> None:
    commit(fleet, {"policies/idle.yaml": OVERRIDE})
    assert (
        "policies/idle.yaml:1:1: warning: OverridePolicy/shop/idle changes nothing: no cluster that it targets gets "
        "what it selects, or it is so already\n" in gitfed("validate").out
    )
    commit(fleet, {"policies/idle.yaml": OVERRIDE.replace("eu-2", "eu-1")})
    assert "changes nothing" not in gitfed("validate").out


def test_a_workload_with_one_possible_cluster_is_told(fleet: Path) -> None:
    commit(fleet, {"policies/web.yaml": only("{clusterAffinity: {clusterNames: [eu-1]}}")})
    assert (
        "policies/web.yaml:1:1: warning: PropagationPolicy/shop/web lets shop/Deploy/web run in eu-1 only: when that "
        "fails, nothing takes over (let a second cluster pass)\n" in gitfed("validate").out
    )


def test_interpreters_that_change_are_told_with_what_they_read(fleet: Path) -> None:
    commit(fleet, {"interpreter.yaml": CUSTOMIZATION})
    new = "interpreter.yaml:1:1: warning: ResourceInterpreterCustomization/deployments is new: it reads shop/Deploy/web"
    assert new in gitfed("validate", "--base", "HEAD~1").out
    commit(fleet, {"interpreter.yaml": CUSTOMIZATION.replace("true", "false")})
    assert "ResourceInterpreterCustomization/deployments changes:" in gitfed("validate", "--base", "HEAD~1").out
    commit(fleet, {"apps/config.yaml": FILES["apps/config.yaml"].replace("blue", "red")})
    assert "ResourceInterpreterCustomization" not in gitfed("validate", "--base", "HEAD~1").out


def test_a_workload_that_no_policy_selects_is_told_by_validate_and_by_the_plan(fleet: Path) -> None:
    lonely = (
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: lonely, namespace: other}\nspec:\n  template:\n"
        "    spec:\n      restartPolicy: Never\n      containers:\n      - {name: main, image: busybox}\n"
    )
    commit(fleet, {"apps/lonely.yaml": lonely})
    assert (
        "apps/lonely.yaml:1:1: warning: other/Job/lonely goes nowhere: no policy selects it "
        "(a PropagationPolicy of its namespace, or a ClusterPropagationPolicy)\n" in gitfed("validate").out
    )
    note = "1 object is selected by no policy: Job.batch/other/lonely (gitfed get bindings)."
    assert note in gitfed("plan").out


def test_a_map_that_nothing_needs_yet_is_no_warning_and_one_note(fleet: Path) -> None:
    spare = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: spare, namespace: other}\ndata: {a: b}\n"
    commit(fleet, {"apps/spare.yaml": spare})
    assert "spare" not in gitfed("validate").out
    assert "1 object is selected by no policy: ConfigMap/other/spare" in gitfed("plan").out
