"""Which rules a commit has, in which order, and what is not loaded when nobody asks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from gitfed.interpret.registry import Interpretation, Operation, Unknown
from gitfed.model.repo import RepoSnapshot
from gitfed.reading import interpreters
from gitfed.source import repo as source
from gitfed.source.read_cache import ReadCache
from tests.source.trees import tree

CUSTOMIZATION = """
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {name: %(name)s}
spec:
  target: {apiVersion: %(version)s, kind: %(kind)s}
  customizations:
    healthInterpretation:
      luaScript: |
        %(script)s
"""


def customization(name: str, version: str, kind: str, script: str) -> str:
    return CUSTOMIZATION % {"name": name, "version": version, "kind": kind, "script": script}


def snapshot(**files: str) -> RepoSnapshot:
    return source.read(tree({f"{name}.yaml": text for name, text in files.items()}), memory=ReadCache())


def body(version: str, kind: str, **members: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "x", "namespace": "default"}, **members}


def test_a_customization_comes_before_the_catalogue_and_the_native_rules() -> None:
    never = "function InterpretHealth(o) return false end"
    repo = snapshot(
        a=customization("deployments", "apps/v1", "Deployment", never),
        b=customization("clone-sets", "apps.kruise.io/v1alpha1", "CloneSet", never),
    )
    interpreter = interpreters.of(repo)
    assert interpreter.health(body("apps/v1", "Deployment")) == Interpretation(False, "customization")
    assert interpreter.health(body("apps.kruise.io/v1alpha1", "CloneSet")) == Interpretation(False, "customization")


def test_a_kind_may_take_its_operations_from_several_sources() -> None:
    repo = snapshot(a=customization("a", "apps/v1", "Deployment", "function InterpretHealth(o) return false end"))
    deployment = body("apps/v1", "Deployment", spec={"replicas": 3})
    answer = interpreters.of(repo).replicas(deployment)
    assert isinstance(answer, Interpretation)
    assert (answer.source, answer.value.replicas) == ("native", 3)


def test_the_catalogue_knows_kinds_that_kubernetes_does_not() -> None:
    answer = interpreters.of(snapshot()).replicas(body("apps.kruise.io/v1alpha1", "CloneSet", spec={"replicas": 2}))
    assert isinstance(answer, Interpretation)
    assert (answer.source, answer.value.replicas) == ("bundled", 2)


def test_an_unknown_kind_has_the_defaults_and_the_health_of_its_conditions() -> None:
    interpreter = interpreters.of(snapshot())
    replicas = interpreter.replicas(body("example.com/v1", "Widget"))
    assert isinstance(replicas, Interpretation)
    assert (replicas.source, replicas.value.replicas) == ("default", 0)
    assert interpreter.health(body("example.com/v1", "Widget")) == Interpretation(True, "conditions")
    broken = body("example.com/v1", "Widget", status={"conditions": [{"type": "Ready", "status": "False"}]})
    assert interpreter.health(broken) == Interpretation(False, "conditions")


def test_a_script_that_fails_leaves_the_answer_open_and_says_where() -> None:
    repo = snapshot(
        a=customization("widgets", "example.com/v1", "Widget", "function InterpretHealth(o) return o.a.b end")
    )
    assert interpreters.of(repo).health(body("example.com/v1", "Widget")) == Unknown(
        "Widget InterpretHealth: widgets:1: attempt to index field 'a' (a nil value) (a.yaml:10:1)", "customization"
    )


def test_scripts_that_do_not_compile_are_problems_of_the_plan_with_their_place() -> None:
    repo = snapshot(a=customization("widgets", "example.com/v1", "Widget", "function InterpretHealth(o"))
    assert [str(problem) for problem in interpreters.of(repo).problems()] == [
        "a.yaml:11:1: the script for InterpretHealth of Widget (example.com/v1) does not compile: "
        "widgets:2: ')' expected near '<eof>'"
    ]


def test_what_a_script_leaves_to_chance_is_a_warning_once_it_ran() -> None:
    drawn = "function GetReplicas(o) return math.random(1000), nil end"
    rules = customization("w", "example.com/v1", "Widget", drawn).replace("healthInterpretation", "replicaResource")
    interpreter = interpreters.of(snapshot(a=rules))
    assert interpreter.problems() == ()
    assert isinstance(interpreter.replicas(body("example.com/v1", "Widget")), Interpretation)
    assert [str(problem) for problem in interpreter.problems()] == [
        "a.yaml:9:7: warning: InterpretReplica of Widget (example.com/v1): w: what GetReplicas returns depends on "
        "random numbers (it is the same at every run here; elsewhere it would not be)"
    ]


def test_no_process_for_scripts_is_started_for_kinds_of_kubernetes(tmp_path: Path) -> None:
    program = """
import sys
from gitfed.reading import interpreters
from gitfed.model.repo import RepoSnapshot
repo = RepoSnapshot("", {}, None, {}, (), ())
interpreter = interpreters.of(repo)
interpreter.replicas({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 1}})
interpreter.health({"apiVersion": "v1", "kind": "ConfigMap"})
assert "gitfed.edges.lua.worker" not in sys.modules, "no script was asked for"
interpreter.replicas({"apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet", "spec": {"replicas": 1}})
assert "gitfed.edges.lua.worker" in sys.modules
assert not any(name.startswith("lupa") for name in sys.modules), "scripts run elsewhere"
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)


WEBHOOK = """
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterWebhookConfiguration
metadata: {name: hooks}
webhooks:
- name: w.example.com
  clientConfig: {service: {namespace: tools, name: interpreter}}
  rules: [{operations: [InterpretHealth], apiGroups: [apps], apiVersions: [v1], kinds: [Deployment]}]
  interpreterContextVersions: [v1alpha1]
"""


def test_a_webhook_comes_after_a_customization_and_before_the_native_rules() -> None:
    own = customization("own", "apps/v1", "Deployment", "function InterpretHealth(o) return false end")
    deployment = body("apps/v1", "Deployment", spec={"replicas": 3})
    hooked = interpreters.of(snapshot(hooks=WEBHOOK), lambda question: {"healthy": True})
    assert hooked.health(deployment) == Interpretation(True, "webhook")
    assert hooked.source(deployment, Operation.REPLICA) == "native"
    both = interpreters.of(snapshot(hooks=WEBHOOK, own=own), lambda question: {"healthy": True})
    assert both.health(deployment) == Interpretation(False, "customization")


def test_without_a_way_to_find_answers_no_webhook_has_one() -> None:
    answer = interpreters.of(snapshot(hooks=WEBHOOK)).health(body("apps/v1", "Deployment"))
    assert answer == Unknown(
        "InterpretHealth of Deployment: the webhook hooks/w.example.com has no recorded answer; "
        "it is asked when the commit is applied",
        "webhook",
        permanent=False,
        cause="the webhook hooks/w.example.com has no recorded answer; it is asked when the commit is applied",
    )


def test_a_service_is_a_problem_for_who_runs_in_no_cluster() -> None:
    repo = snapshot(hooks=WEBHOOK)
    assert interpreters.of(repo).problems() == ()
    assert [str(one) for one in interpreters.of(repo, reaches_services=False).problems()] == [
        "hooks.yaml:2:1: warning: the webhook hooks/w.example.com is the Service tools/interpreter, "
        "and gitfed does not run in a cluster (give clientConfig.url)"
    ]
