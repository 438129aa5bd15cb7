"""gitfed interpret: check, try, run cases, compare; and what a script or a pipeline can rely on."""

from __future__ import annotations

import functools
import json
import shlex
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.cli.world import cluster, commit, git, gitfed, repository

RULES = """\
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {name: widgets}
spec:
  target: {apiVersion: e.com/v1, kind: Widget}
  customizations:
    replicaResource:
      luaScript: |
        function GetReplicas(obj)
          return obj.spec.size, {resourceRequest = {cpu = "100m"}}
        end
    replicaRevision:
      luaScript: |
        function ReviseReplica(obj, n)
          obj.spec.size = n
          return obj
        end
    retention:
      luaScript: |
        function Retain(desiredObj, observedObj)
          desiredObj.spec.paused = observedObj.spec.paused
          return desiredObj
        end
    healthInterpretation:
      luaScript: |
        function InterpretHealth(obj)
          return obj.status.ready
        end
"""
WIDGET = "apiVersion: e.com/v1\nkind: Widget\nmetadata: {name: a, namespace: shop}\nspec: {size: 2}\n"
SETTINGS = "apiVersion: gitfed.io/v1alpha1\nkind: Federation\nmetadata: {name: acme}\n"
FILES = {"gitfed.yaml": SETTINGS, "clusters/a.yaml": cluster("a", "eu"), "rules.yaml": RULES, "widget.yaml": WIDGET}


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = repository(tmp_path / "fleet", FILES)
    monkeypatch.chdir(path)
    return path


def test_check_prints_what_karmadactl_prints(fleet: Path) -> None:
    done = gitfed("interpret", "--check")
    assert (done.code, done.err) == (0, "")
    assert (
        done.out
        == """\
-----------------------------------
SOURCE: rules.yaml
TARGET: e.com/v1 Widget
RULERS:
    Retain:              PASS
    InterpretReplica:    PASS
    InterpretComponent:  UNSET
    ReviseReplica:       PASS
    InterpretStatus:     UNSET
    AggregateStatus:     UNSET
    InterpretHealth:     PASS
    InterpretDependency: UNSET
"""
    )


def test_a_script_that_does_not_compile_is_named_with_its_line_in_the_file(fleet: Path) -> None:
    broken = fleet / "broken.yaml"
    broken.write_text(RULES.replace("return obj.status.ready", "return obj.status.").replace("widgets", "broken"))
    done = gitfed("interpret", "--check", "-f", broken, "-f", fleet / "widget.yaml")
    assert done.code == 3
    assert f"    InterpretHealth:     ERROR: broken:3: '<name>' expected near 'end' ({broken}:28:1)\n" in done.out
    assert (
        "SOURCE: " + str(fleet / "widget.yaml") + "\ne.com/v1 Widget is no ResourceInterpreterCustomization\n"
        in done.out
    )


def test_a_folder_is_read_with_its_subfolders_only_when_asked(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "rules.yaml").write_text(RULES)
    done = gitfed("interpret", "--check", "-f", tmp_path)
    assert (done.code, done.out) == (3, "")
    assert done.err == (
        f"error: no ResourceInterpreterCustomization in {tmp_path}\nhint: -R reads the folders inside a folder too\n"
    )
    assert "PASS" in gitfed("interpret", "--check", "-R", "-f", tmp_path).out


def test_where_there_is_no_folder_inside_a_folder_none_is_advised(tmp_path: Path) -> None:
    (tmp_path / "notes.yaml").write_text("")
    for one in (tmp_path, tmp_path / "notes.yaml"):
        done = gitfed("interpret", "--check", "-f", one)
        assert done.code == 3
        assert done.err == (
            f"error: no ResourceInterpreterCustomization in {one}\nhint: rules are documents of that kind\n"
        )


def test_a_folder_without_anything_to_do_with_it_is_offered_a_check(tmp_path: Path) -> None:
    done = gitfed("interpret", "-f", tmp_path)
    assert done.code == 2
    assert done.err.splitlines()[-1] == f"hint: do its scripts compile? gitfed interpret -f {tmp_path} --check"


def test_a_template_of_the_repository_is_asked_about_with_the_source_of_each_answer(fleet: Path) -> None:
    done = gitfed("interpret", "widget/shop/a")
    assert (done.code, done.err) == (0, "")
    assert (
        done.out
        == """\
# InterpretReplica: customization
---
# [1/2] replica:
2
---
# [2/2] requires:
resourceRequest:
  cpu: 100m
# InterpretComponent: default
---
# [1/1] components:
[]
# InterpretDependency: default
---
# [1/1] dependencies:
[]
"""
    )


def test_one_operation_takes_its_inputs_from_files(fleet: Path, tmp_path: Path) -> None:
    live = tmp_path / "live.yaml"
    live.write_text(WIDGET.replace("size: 2", "size: 2, paused: true") + "status: {ready: false}\n")
    done = gitfed("interpret", "-f", "rules.yaml", "--operation", "interprethealth", "--observed-file", live)
    assert (done.code, done.out) == (0, "---\n# [1/1] healthy:\nfalse\n")
    done = gitfed("interpret", "widget/a", "--operation", "ReviseReplica", "--desired-replica", "7")
    assert "spec:\n  size: 7\n" in done.out
    for wrong in ("-1", "2147483648"):
        done = gitfed("interpret", "widget/a", "--operation", "ReviseReplica", "--desired-replica", wrong)
        assert (done.code, done.err.splitlines()[0]) == (
            2,
            "error: Invalid value for '--desired-replica' (env var: 'GITFED_INTERPRET_DESIRED_REPLICA'): "
            f"{wrong} is not in the range 0<=x<=2147483647.",
        )
    done = gitfed("interpret", "widget/a", "--operation", "Retain", "--observed-file", live)
    assert "spec:\n  paused: true\n  size: 2\n" in done.out
    done = gitfed("interpret", "widget/a", "--operation", "InterpretHealth", "--observed-file", live, "-o", "json")
    assert json.loads(done.out) == {
        "schema": "gitfed.io/interpretation/v1",
        "answers": [{"operation": "InterpretHealth", "apiVersion": "e.com/v1", "kind": "Widget",
                     "source": "customization", "results": {"healthy": False}}],
    }  # fmt: skip


def test_a_script_that_fails_goes_to_stderr_and_leaves_with_3(fleet: Path) -> None:
    done = gitfed("interpret", "-f", "rules.yaml", "--operation", "InterpretHealth", "--desired-file", "widget.yaml")
    assert (done.code, done.out) == (3, "")
    assert done.err == (
        "Execute InterpretHealth error: Widget InterpretHealth: widgets:2: attempt to index field 'status' "
        "(a nil value) (rules.yaml:27:1)\n"
    )


def test_what_no_rule_knows_is_an_error_with_given_rules_and_the_default_without(fleet: Path) -> None:
    arguments = ("--operation", "InterpretStatus", "--desired-file", "widget.yaml")
    done = gitfed("interpret", "-f", "rules.yaml", *arguments)
    assert (done.code, done.err) == (3, "error: no rule for InterpretStatus of Widget (e.com/v1) in rules.yaml\n")
    assert gitfed("interpret", *arguments).out == "---\n# [1/1] status:\nnull\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "nothing to do: one of --check, --edit, --cases, --base, --operation or an object"),
        (("--check", "--base", "HEAD"), "--check and --base cannot be combined"),
        (("-f", "x", "--base", "HEAD"), "-f goes with --check, --edit or --operation"),
        (("--operation", "Health", "--desired-file", "widget.yaml"), "'Health' is no operation: InterpretReplica, "),
        (("--operation", "Retain", "--desired-file", "widget.yaml"),
         "Retain needs the desired and the observed object"),
        (("--check", "-f", "http://example.com/x.yaml"), "http://example.com/x.yaml is no https address"),
        (("--check", "-f", "missing.yaml"), "missing.yaml: no such file"),
        (("--edit", "-f", "missing.yaml"), "--edit takes one file"),
        (("widgetz", "--check"), "the repository has no ResourceInterpreterCustomization widgetz"),
        (("widgets", "-f", "x", "--check"), "-f goes with --check, --edit or --operation"),
        (("widgets", "--base", "HEAD"), "names go with --check, --edit, --operation"),
        (("widgets",), "nothing to do: one of --check, --edit, --cases, --base, --operation or an object"),
        (("widget/a", "widget/b"), "one object at a time"),
        (("widget/a", "--operation", "InterpretHealth", "--desired-file", "widget.yaml"),
         "--desired-file and an object of the repository cannot be combined"),
    ],
)  # fmt: skip
def test_bad_usage_says_what_goes_together(fleet: Path, arguments: tuple[str, ...], message: str) -> None:
    done = gitfed("interpret", *arguments)
    assert done.code == 2
    assert f"error: {message}" in done.err


def test_files_that_cannot_be_used_are_named(fleet: Path) -> None:
    done = gitfed("interpret", "--operation", "InterpretHealth", "--desired-file", "rules.yamll")
    assert (done.code, done.err) == (2, "error: rules.yamll: no such file\n")
    (fleet / "two.yaml").write_text(WIDGET + "---\n" + WIDGET)
    done = gitfed("interpret", "--operation", "InterpretHealth", "--desired-file", "two.yaml")
    assert (done.code, done.err) == (3, "error: two.yaml: one object is wanted, there are 2\n")
    (fleet / "bad.yaml").write_text("a: [")
    done = gitfed("interpret", "--operation", "InterpretHealth", "--desired-file", "bad.yaml")
    assert done.code == 3
    assert done.err.startswith("error: bad.yaml:2:1: not valid YAML")


def test_customizations_are_named_as_for_karmadactl(fleet: Path) -> None:
    """They are looked up in the repository; then nothing else answers."""
    other = RULES.replace("{name: widgets}", "{name: gadgets}").replace("kind: Widget", "kind: Gadget")
    commit(fleet, {"other.yaml": other})
    for name in ("gadgets", "ric/gadgets", "ResourceInterpreterCustomization/gadgets"):
        done = gitfed("interpret", name, "--check")
        assert (done.code, done.err) == (0, "")
        assert [line for line in done.out.splitlines() if line.startswith("TARGET")] == ["TARGET: e.com/v1 Gadget"]
    both = gitfed("interpret", "gadgets", "widgets", "--check")
    assert both.out.count("TARGET") == 2
    asked = gitfed("interpret", "widgets", "widget/a", "--operation", "InterpretReplica")
    assert (asked.code, asked.out.splitlines()[1:3]) == (0, ["# [1/2] replica:", "2"])
    refused = gitfed("interpret", "gadgets", "widget/a", "--operation", "InterpretReplica")
    assert (refused.code, refused.err) == (
        3,
        "error: no rule for InterpretReplica of Widget (e.com/v1) in other.yaml\n",
    )
    told = gitfed("interpret", "gadget", "--check").err
    assert "did you mean gadgets?" in told


def test_a_url_that_is_typed_is_fetched(fleet: Path, tmp_path: Path) -> None:
    """Rules and inputs, as for karmadactl. One that stands in a repository never is (`tests/e2e/test_webhooks.py`)."""
    (tmp_path / "live.yaml").write_text(WIDGET + "status: {ready: true}\n")
    (tmp_path / "rules.yaml").write_text(RULES)
    handler = functools.partial(_Quiet, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        at = f"http://127.0.0.1:{server.server_port}"
        asked = ("interpret", "--operation", "InterpretHealth", "-f", f"{at}/rules.yaml", "--observed-file")
        done = gitfed(*asked, f"{at}/live.yaml")
        missing = gitfed(*asked, f"{at}/none.yaml")
        server.shutdown()
        thread.join()
    assert (done.code, done.out, done.err) == (0, "---\n# [1/1] healthy:\ntrue\n", "")
    assert (missing.code, missing.err) == (4, f"error: {at}/none.yaml: HTTP status 404\n")
    gone = gitfed(*asked, f"{at}/live.yaml")
    assert gone.code == 4


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing on the screen of who runs the tests."""


KARMADA_CASES = """\
name: it is ready
observedObj: {apiVersion: e.com/v1, kind: Widget, metadata: {name: a}, status: {ready: true}}
operation: InterpretHealth
output: {healthy: true}
---
name: it wants two
desiredObj: {apiVersion: e.com/v1, kind: Widget, metadata: {name: a}, spec: {size: 2}}
operation: InterpretReplica
output: {replica: 2, requires: {resourceRequest: {cpu: "0.1"}}}
"""


def test_cases_in_karmadas_layout_are_run(tmp_path: Path) -> None:
    folder = tmp_path / "e.com" / "v1" / "Widget"
    (folder / "testdata").mkdir(parents=True)
    (folder / "customizations.yaml").write_text(RULES)
    data = folder / "testdata" / "any-name"
    data.write_text(KARMADA_CASES)
    done = gitfed("interpret", "--cases", tmp_path)
    assert (done.code, done.out, done.err) == (0, "2 passed, 0 failed\n", "")
    data.write_text(KARMADA_CASES.replace("healthy: true}", "healthy: false}"))
    done = gitfed("interpret", "--cases", tmp_path)
    assert done.code == 1
    assert done.out == (
        f"{data}: InterpretHealth, it is ready\n  healthy: got true, wanted false\n1 passed, 1 failed\n"
    )
    data.write_text(KARMADA_CASES.replace("output: {healthy: true}", "outcome: 1"))
    done = gitfed("interpret", "--cases", tmp_path)
    assert done.code == 3
    assert f"{data}: document 1: unknown member outcome" in done.err


def test_cases_in_our_layout_are_run_from_the_root_or_from_one_kind(tmp_path: Path) -> None:
    catalogue = Path(__file__).parents[2] / "interpreters"
    done = gitfed("interpret", "--cases", catalogue / "cert-manager.io", "-o", "json")
    assert done.code == 0
    assert {row["passed"] for row in json.loads(done.out)["cases"]} == {True}
    done = gitfed("interpret", "--cases", tmp_path)
    assert (done.code, done.out) == (3, "")
    assert "no cases here" in done.err


def test_the_cases_of_a_version_that_is_like_another_are_run_alone(tmp_path: Path) -> None:
    group = Path(__file__).parents[2] / "interpreters" / "kueue.x-k8s.io"
    done = [gitfed("interpret", "--cases", folder) for folder in (group / "v1beta1", group / "v1beta2" / "Workload")]
    assert [one.code for one in done] == [0, 0]
    whole, alone = (int(one.out.split()[0]) for one in done)
    assert 0 < alone < whole
    first = gitfed("interpret", "--cases", group / "v1beta1" / "Workload")
    assert (first.code, int(first.out.split()[0])) == (0, alone)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("apiVersion: g/v1\nkind: Gadget\n", "g/v1/Widget/interpreter.yaml: says g/v1 Gadget"),
        ("apiVersion: g/v1\nkind: Widget\nlike: g/v0/Widget\n",
         "g/v1/Widget/interpreter.yaml: g/v0/Widget is no other version of this kind with scripts of its own"),
        ("apiVersion: g/v1\nkind: Widget\nlike: ../../etc\n",
         "g/v1/Widget/interpreter.yaml: ../../etc is no other version of this kind with scripts of its own"),
        ("a: [", "g/v1/Widget/interpreter.yaml:2:1: not valid YAML: did not find expected node content"),
    ],
)  # fmt: skip
def test_a_folder_of_rules_that_is_not_as_it_should_be_is_no_defect_of_ours(
    tmp_path: Path, text: str, message: str
) -> None:
    folder = tmp_path / "g" / "v1" / "Widget"
    folder.mkdir(parents=True)
    (folder / "interpreter.yaml").write_text(text)
    done = gitfed("interpret", "--cases", tmp_path)
    assert (done.code, done.out) == (3, "")
    assert done.err.startswith(f"error: {message}")


def test_a_file_that_is_named_as_an_argument_gets_a_hint(fleet: Path) -> None:
    done = gitfed("interpret", "rules.yaml")
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[-1] == "hint: do its scripts compile? gitfed interpret -f rules.yaml --check"


def test_a_branch_says_which_answers_its_rules_change(fleet: Path) -> None:
    git(fleet, "checkout", "-q", "-b", "change")
    commit(fleet, {"rules.yaml": RULES.replace("return obj.spec.size,", "return obj.spec.size * 2,")})
    done = gitfed("interpret", "--base", "main")
    assert (done.code, done.err) == (1, "")
    assert (
        done.out
        == """\
shop/Widget.e.com/a  InterpretReplica
  - replica: 2
  + replica: 4
1 answer about 1 template of 1 change
"""
    )
    commit(fleet, {"rules.yaml": RULES.replace("return obj.spec.size,", "return obj.spec.nothing.size,")})
    done = gitfed("interpret", "--base", "main")
    assert done.code == 3
    assert "  + error: Widget InterpretReplica: widgets:2: attempt to index field 'nothing'" in done.out
    done = gitfed("interpret", "--base", "HEAD")
    assert (done.code, done.out, done.err) == (0, "", "no answer about 1 template changes\n")


WEBHOOK = """\
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterWebhookConfiguration
metadata: {name: gadgets}
webhooks:
- name: gadgets.e.com
  clientConfig: {url: "https://127.0.0.1:1/"}
  rules: [{operations: ["*"], apiGroups: [e.com], apiVersions: [v1], kinds: [Gadget]}]
  interpreterContextVersions: [v1alpha1]
"""
POLICY = """\
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: p, namespace: shop}
spec:
  resourceSelectors: [{apiVersion: e.com/v1, kind: Gadget}]
  placement: {replicaScheduling: {replicaSchedulingType: Divided}}
"""


def test_a_webhook_without_recorded_answers_is_said_once_and_not_for_every_object(fleet: Path) -> None:
    gadget = WIDGET.replace("Widget", "Gadget")
    files = {f"gadgets/{n}.yaml": gadget.replace("{name: a,", f"{{name: g{n},") for n in range(5)}
    commit(fleet, {"webhook.yaml": WEBHOOK, "policy.yaml": POLICY, **files})
    said = [line for line in gitfed("validate").out.splitlines() if line.startswith("gadgets/")]
    assert said == [
        "gadgets/0.yaml:1:1: warning: the webhook gadgets/gadgets.e.com has no recorded answer; it is asked when the "
        "commit is applied: 5 objects, such as Gadget.e.com/shop/g0, Gadget.e.com/shop/g1, Gadget.e.com/shop/g2 "
        "(what was decided about them before stays)"
    ]


def test_the_values_of_a_secret_are_not_shown(fleet: Path) -> None:
    rules = RULES.replace("e.com/v1, kind: Widget", "v1, kind: Secret").replace("obj.spec.size = n", "obj.n = n")
    rules = rules.replace('return obj.spec.size, {resourceRequest = {cpu = "100m"}}', "error(obj.stringData.key)")
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: shop}\nstringData: {key: correct-horse}\n"
    commit(fleet, {"rules.yaml": rules, "secret.yaml": secret})
    for arguments in (("secret/s",), ("secret/s", "--operation", "ReviseReplica"), ("--base", "HEAD~1")):
        for form in ("text", "json"):
            done = gitfed("interpret", *arguments, "-o", form)
            assert "correct-horse" not in done.out + done.err
            assert done.out + done.err


def editor(path: Path, *changes: tuple[str, str]) -> dict[str, str]:
    """An editor that replaces texts, and keeps what it was given beside itself."""
    script = path / "editor.py"
    script.write_text(
        "import pathlib, sys\n"
        "file = pathlib.Path(sys.argv[-1])\n"
        f"pathlib.Path({str(path / 'given.lua')!r}).write_text(file.read_text())\n"
        "text = file.read_text()\n"
        f"for old, new in {changes!r}:\n    assert old in text, old\n    text = text.replace(old, new)\n"
        "file.write_text(text)\n"
    )
    return {"KUBE_EDITOR": shlex.join([sys.executable, str(script)]), "EDITOR": "false"}


def test_all_scripts_of_a_file_are_edited_as_one_text(fleet: Path, tmp_path: Path) -> None:
    rules = fleet / "rules.yaml"
    rules.write_text("# mine\n" + RULES)
    environment = editor(
        tmp_path,
        ("return obj.status.ready", "-- at once\n  return true"),
        ("---@rule: InterpretStatus\n", "---@rule: InterpretStatus\nfunction ReflectStatus(o) return {} end\n"),
        ("function Retain(desiredObj, observedObj)\n  desiredObj.spec.paused = observedObj.spec.paused\n"
         "  return desiredObj\nend", ""),
    )  # fmt: skip
    done = gitfed("interpret", "-f", rules, "--edit", "--show-doc", env=environment)
    assert (done.code, done.out) == (0, "")
    assert done.err == f"note: {rules} is written anew; comments around the scripts are gone\n"
    given = (tmp_path / "given.lua").read_text()
    assert given.startswith(
        "---@name: widgets\n---@apiVersion: e.com/v1\n---@kind: Widget\n\n---@rule: Retain\n--- function"
    )
    assert gitfed("interpret", "--check", "-f", rules).out.count("PASS") == 4
    written = rules.read_text()
    assert "return true" in written
    assert "-- at once" in written
    assert "retention" not in written
    assert "statusReflection" in written


def test_what_does_not_compile_is_not_written_and_not_lost(fleet: Path, tmp_path: Path) -> None:
    rules = fleet / "rules.yaml"
    done = gitfed(
        "interpret", "-f", rules, "--edit", env=editor(tmp_path, ("return obj.status.ready", "return return"))
    )
    assert done.code == 3
    assert f"error: {rules} was not changed: InterpretHealth: widgets:2: " in done.err
    kept = Path(done.err.partition("your text is in ")[2].strip())
    assert "return return" in kept.read_text()
    kept.unlink()
    assert rules.read_text() == RULES
    done = gitfed("interpret", "-f", rules, "--edit", env=editor(tmp_path))
    assert (done.code, done.err) == (0, "note: nothing was changed\n")
    assert gitfed("interpret", "--edit").code == 2
