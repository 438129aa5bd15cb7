"""Commands that look, on a real repository."""

from __future__ import annotations

import base64
import json
import stat
from pathlib import Path

import pytest
import yaml

from gitfed.model.fleet import QuotaFacts
from gitfed.offline import preview
from tests.cli import world
from tests.cli.fleet_of_two import FLEET
from tests.cli.world import FILES, SECRET, Result, commit, deployment, git, gitfed, golden, program, repository, write

NOW = ("--now", "2026-08-22T10:04:00Z")
MEMBERS = """\
---
apiVersion: v1
kind: Node
metadata: {name: n1, annotations: {gitfed.io/cluster: eu-1}}
status: {allocatable: {cpu: "4", pods: "10"}}
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: x, annotations: {gitfed.io/cluster: eu-1}}
spec: {nodeName: n1, containers: [{name: a, resources: {requests: {cpu: 1500m}}}]}
status: {phase: Running}
"""
DECISIONS = """\
apiVersion: work.karmada.io/v1alpha2
kind: ResourceBinding
metadata: {name: web-deployment, namespace: shop}
spec:
  resource: {apiVersion: apps/v1, kind: Deployment, namespace: shop, name: web}
  replicas: 6
  clusters: [{name: eu-1, replicas: 3}, {name: eu-2, replicas: 3}]
"""


# -- validate ---------------------------------------------------------------------------------------------------


def test_validate_of_a_good_repository(fleet: Path) -> None:
    write(fleet, {"clusters/eu-2.yaml": None})
    result = gitfed("validate", "--worktree")
    assert (result.code, result.err) == (0, "")
    assert result.out == "nothing is wrong in the worktree: 3 objects, 3 policies, 2 clusters\n"


def test_validate_names_path_line_and_column_and_leaves_with_3(fleet: Path) -> None:
    head = commit(fleet, {"policies/web.yaml": world.POLICY.replace("spec:\n", "spec:\n  priorty: 3\n")})
    result = gitfed("validate")
    assert result.code == 3
    assert "policies/web.yaml:5:3: unknown field priorty (did you mean priority?)\n" in result.out
    assert f"1 error, 0 warnings in {head[:7]}: " in result.err


def test_validate_says_what_leaves_out_a_folder_that_holds_no_objects(fleet: Path) -> None:
    values = {f"vendor/chart-{n}/part.yaml": "kind: Part\n" for n in range(12)}
    commit(fleet, values | {"apps/part.yaml": "kind: Part\n", "other/few.yaml": "kind: X\n"})
    result = gitfed("validate")
    assert result.out.count("not a Kubernetes object") == 14
    assert (
        "note: 12 errors in vendor/, and no object: if it holds no manifests, "
        'spec.sources.exclude: ["vendor/**"] leaves it out'
    ) in result.err.splitlines()


def test_validate_and_plan_say_what_is_held_because_of_which_file(fleet: Path) -> None:
    broken = world.POLICY.replace("spec:\n", "spec:\n  priorty: 3\n").replace("name: web", "name: other")
    commit(fleet, {"policies/other.yaml": broken, "ci/pipelines.yml": "stages: [plan]\n"})
    held = (
        "note: policies/other.yaml cannot be used and has no good version: what was removed of PropagationPolicy other "
        "in namespace shop is not deleted; nothing is placed anew, evicted or deleted of every kind in namespace shop; "
        "the rest goes on (unknown field priorty)."
    )
    left_out = "note: 1 file holds no Kubernetes objects and is left out: ci/pipelines.yml."
    assert [line for line in gitfed("validate").err.splitlines() if line.startswith("note")] == [held, left_out]
    planned = gitfed("plan")
    assert held in (planned.out + planned.err).splitlines()
    assert left_out in (planned.out + planned.err).splitlines()


def test_validate_takes_room_that_nobody_knows_to_be_enough(fleet: Path) -> None:
    by_room = world.POLICY.partition("        staticWeightList")[0] + "        dynamicWeight: AvailableReplicas\n"
    more = [deployment().replace("name: web,", f"name: web-{number},") for number in range(3)]
    others = {f"apps/more-{number}.yaml": text for number, text in enumerate(more)}
    commit(fleet, {"policies/web.yaml": by_room, "clusters/eu-2.yaml": None, **others})
    result = gitfed("validate")
    assert (result.code, result.err) == (0, "note: the room in eu-1 us-1 is not known: taken to be enough\n")
    assert result.out.startswith("nothing is wrong in ")


def test_validate_as_json(fleet: Path) -> None:
    commit(fleet, {"apps/broken.yaml": "kind: [\n"})
    result = gitfed("validate", "-o", "json")
    document = json.loads(result.out)
    assert (result.code, document["schema"], document["errors"]) == (3, "gitfed.io/problems/v1", 1)
    assert document["problems"][0]["path"] == "apps/broken.yaml"
    assert set(document["problems"][0]) == {"path", "line", "column", "severity", "message", "hint"}


def test_validate_says_which_clusters_get_nothing_and_which_policies_never_win(fleet: Path) -> None:
    commit(
        fleet,
        {
            "policies/rest.yaml": None,
            "policies/never.yaml": world.POLICY.replace("name: web,", "name: zz-never,"),
        },
    )
    result = gitfed("validate")
    assert result.code == 0
    assert "clusters/eu-2.yaml:1:1: warning: no policy sends anything to cluster eu-2\n" in result.out
    assert (
        "policies/never.yaml:1:1: warning: PropagationPolicy/shop/zz-never takes nothing: "
        "PropagationPolicy/shop/web wins everything that it selects (raise its priority, or remove it)\n"
    ) in result.out


def test_a_repository_without_settings_is_told_about_init(tmp_path: Path) -> None:
    path = repository(tmp_path / "r", {"README.md": "nothing\n"})
    result = gitfed("validate", "--repo", path)
    assert result.code == 3
    assert "gitfed init" in result.out


# -- plan -------------------------------------------------------------------------------------------------------


def test_plan_as_text(fleet: Path) -> None:
    head = git(fleet, "rev-parse", "--short=7", "HEAD")
    result = gitfed("plan", *NOW)
    assert result.code == 0
    golden("plan-assumed.txt", result.out.replace(head, "COMMIT!"))


def test_the_same_inputs_give_the_same_bytes(fleet: Path) -> None:
    one, other = (gitfed("plan", *NOW, "-o", "json") for _ in range(2))
    assert one == other
    assert json.loads(one.out)["now"] == "2026-08-22T10:04:00Z"


def test_plan_compares_with_decisions_of_a_file(fleet: Path, tmp_path: Path) -> None:
    (tmp_path / "decisions.yaml").write_text(DECISIONS)
    result = gitfed("plan", "--decisions", tmp_path / "decisions.yaml", *NOW)
    assert "shop/Deploy/web" in result.out
    assert "3 → 4" in result.out
    assert "3 → 0" in result.out
    assert "0 → 2" in result.out


def test_facts_of_a_file_beat_assumptions_and_declare_clusters(fleet: Path, tmp_path: Path) -> None:
    (tmp_path / "fleet.yaml").write_text(FLEET)
    result = gitfed("plan", "--fleet", tmp_path / "fleet.yaml", "-o", "json", *NOW)
    document = json.loads(result.out)
    assert document["facts"]["source"] == "file fleet.yaml"
    assert document["clusters"] == ["ap-1", "eu-1", "eu-2", "us-1"]
    web = next(binding for binding in document["bindings"] if binding["resource"]["name"] == "web")
    assert [share["name"] for share in web["clusters"]] == ["eu-1"]
    assert "not-ready" in web["rejected"]["us-1"]
    assert "No facts of eu-2: assumed Ready with every API." in document["notes"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [\n", ":2:1: "),
        ("kind: Deployment\napiVersion: apps/v1\n", ":1:1: Deployment of apps/v1 is not a fact"),
        ("kind: Cluster\napiVersion: cluster.karmada.io/v1alpha1\n", ":1:1: Cluster without metadata.name"),
        ("kind: Cluster\napiVersion: cluster.karmada.io/v1alpha1\nmetadata: {name: a}\nspec: 3\n",
         ":1:1: spec is not an object"),
        ("kind: Cluster\napiVersion: cluster.karmada.io/v1alpha1\nmetadata: {name: a}\nspec: {taints: [{}]}\n",
         ":1:1: spec.taints[0] of Cluster a needs key and effect"),
        ("kind: Cluster\napiVersion: cluster.karmada.io/v1alpha1\nmetadata: {name: a}\nstatus: {conditions: {}}\n",
         ":1:1: status.conditions is not a list"),
        ("kind: Node\napiVersion: v1\nmetadata: {name: n}\n", ":1:1: Node of v1 does not say which cluster it is in"),
        ("just text\n", ":1:1: this is not a fact"),
        (FLEET + "---\n" + FLEET, "a second Cluster eu-1"),
    ],
    ids=["no YAML", "another kind", "no name", "no object", "a taint", "conditions", "a node", "text", "twice"],
)  # fmt: skip
def test_facts_that_cannot_be_used_leave_with_3_and_the_place(
    fleet: Path, tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "fleet.yaml"
    path.write_text(text)
    result = gitfed("plan", "--fleet", path)
    assert (result.code, result.out) == (3, "")
    assert result.err.startswith(f"error: {path}:")
    assert message in result.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: Pod\napiVersion: v1\n", ":1:1: Pod of v1 is not a decision"),
        (DECISIONS.replace("resource:", "resourc:"), ":1:1: spec.resource is missing"),
        (
            DECISIONS.replace("replicas: 3}", "replicas: -1}", 1),
            ":1:1: spec.clusters[0].replicas is not a whole number",
        ),
        (DECISIONS + "---\n" + DECISIONS, ":9:1: a second decision for Deployment.apps/shop/web"),
    ],
    ids=["another kind", "no resource", "negative replicas", "twice"],
)
def test_decisions_that_cannot_be_used_leave_with_3_and_the_place(
    fleet: Path, tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "decisions.yaml"
    path.write_text(text)
    result = gitfed("plan", "--decisions", path)
    assert result.code == 3
    assert message in result.err


def test_a_list_is_unpacked(fleet: Path, tmp_path: Path) -> None:
    path = tmp_path / "decisions.json"
    path.write_text(
        json.dumps({"kind": "ResourceBindingList", "apiVersion": "v1", "items": [yaml.safe_load(DECISIONS)]})
    )
    assert "3 → 4" in gitfed("plan", "--decisions", path).out


def test_past_decisions_come_from_the_state_branch(fleet: Path) -> None:
    from datetime import UTC, datetime

    from gitfed.edges.git import Repository

    files = {
        "state.yaml": b"schemaVersion: 1\nrepositoryId: x\nappliedCommit: " + git(fleet, "rev-parse", "HEAD").encode(),
        "bindings/shop/web-Deployment.apps.yaml": DECISIONS.encode(),
    }
    Repository.open(fleet).commit_files(
        "refs/remotes/origin/gitfed/state", dict(files), "state", parent=None, when=datetime(2026, 1, 1, tzinfo=UTC)
    )
    result = gitfed("plan")
    assert "3 → 4" in result.out
    assert f"(base {git(fleet, 'rev-parse', '--short=7', 'HEAD')})" in result.out


def test_facts_come_from_the_facts_branch(fleet: Path) -> None:
    from datetime import UTC, datetime

    from gitfed.edges.git import Repository

    documents = FLEET.split("---\n")
    Repository.open(fleet).commit_files(
        "gitfed/facts", {f"clusters/{n}.yaml": text.encode() for n, text in enumerate(documents)}, "facts",
        parent=None, when=datetime(2026, 8, 22, 10, 4, tzinfo=UTC),
    )  # fmt: skip
    plan = ("plan", "--now", "2026-08-22T10:05:00Z")
    result = gitfed(*plan)
    assert " · facts 2026-08-22T10:04Z sha256:" in result.out
    assert "ap-1" not in result.out  # no file declares it any more
    assert gitfed(*plan).out == result.out, "the second time nothing is parsed"


def test_a_file_with_errors_is_planned_at_its_last_good_version_and_leaves_with_3(fleet: Path) -> None:
    commit(fleet, {"apps/web.yaml": "kind: [\n"})
    result = gitfed("plan")
    assert result.code == 3
    assert "shop/Deploy/web" in result.out
    assert "apps/web.yaml:2:" in result.err


def test_a_file_that_was_deleted_and_comes_back_with_errors_is_not_held(fleet: Path) -> None:
    (fleet / "apps/web.yaml").unlink()
    commit(fleet, {})
    commit(fleet, {"apps/web.yaml": "kind: [\n"})
    result = gitfed("plan")
    assert result.code == 3
    assert "shop/Deploy/web" not in result.out


def test_uncommitted_files_are_read_with_worktree_alone(fleet: Path) -> None:
    write(fleet, {"apps/web.yaml": deployment(replicas=30)})
    assert "TOTAL" in gitfed("plan").out
    assert " 30 " not in gitfed("plan").out
    assert " 30 " in gitfed("plan", "--worktree").out


def test_a_repository_without_a_commit_is_read_from_disk(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    write(tmp_path, FILES)
    result = gitfed("plan", "--repo", tmp_path, "-q")
    assert result == Result(
        0, "Total:  4 objects placed in 3 of 3 clusters; changes not observed.\n",
        "note: nothing is committed yet: reading the files on disk\n",
    )  # fmt: skip


def test_a_bare_repository_and_a_url_can_be_planned(
    fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = tmp_path / "bare.git"
    git(fleet, "clone", "-q", "--bare", str(fleet), str(bare))
    monkeypatch.chdir(tmp_path)
    here = gitfed("plan", "--repo", bare, "-q")
    assert here.code == 0
    assert gitfed("plan", "--repo", f"file://{bare}", "-q") == here
    commit(fleet, {"apps/config.yaml": None})
    git(fleet, "push", "-q", str(bare), "HEAD:main")
    assert gitfed("plan", "--repo", f"file://{bare}", "-q").out.startswith("Total:  2 objects")


def test_a_url_that_starts_a_program_is_refused(tmp_path: Path) -> None:
    result = gitfed("plan", "--repo", f"ext::touch% {tmp_path}/pwned://x")
    assert result.code in (2, 4)
    assert not (tmp_path / "pwned").exists()


def test_nodes_and_pods_of_a_facts_file_are_counted(fleet: Path, tmp_path: Path) -> None:
    from gitfed.offline import input_files, inputs

    path = tmp_path / "fleet.yaml"
    path.write_text(FLEET + MEMBERS)
    opened = inputs.open_repository(str(fleet))
    found = input_files.fleet(path, inputs.read(opened).repo).clusters
    (node,) = found["eu-1"].nodes
    assert (node.name, dict(node.allocatable), dict(node.requested)) == (
        "n1", {"cpu": "4", "pods": "10"}, {"cpu": "1500m", "pods": "1"},
    )  # fmt: skip
    assert found["eu-1"].resource_summary == {
        "allocatable": {"cpu": "12", "memory": "40Gi"}, "allocated": {"cpu": "2500m", "memory": "8Gi"},
    }  # fmt: skip
    path.write_text(MEMBERS.replace("eu-1", "nowhere"))
    assert gitfed("plan", "--fleet", path).err == (
        f"error: {path}:2:1: cluster nowhere is neither in this file nor in the repository\n"
    )
    path.write_text(MEMBERS.replace("containers: [", "containers: [3, "))
    assert gitfed("plan", "--fleet", path).err == f"error: {path}:7:1: Pod of v1 has not the shape of one\n"


def test_quotas_of_a_facts_file_limit_the_cluster_they_are_in(fleet: Path, tmp_path: Path) -> None:
    from gitfed.offline import input_files, inputs

    quota = """\
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: q, namespace: shop, annotations: {gitfed.io/cluster: eu-1}}
spec: {hard: {requests.cpu: "6"}}
status: {hard: {requests.cpu: "6"}, used: {requests.cpu: "2"}}
"""
    path = tmp_path / "fleet.yaml"
    path.write_text(FLEET + quota)
    found = input_files.fleet(path, inputs.read(inputs.open_repository(str(fleet))).repo).clusters
    assert found["eu-1"].quotas == (QuotaFacts("shop", "q", {"cpu": "6"}, {"cpu": "2"}),)
    assert found["us-1"].quotas == ()
    path.write_text(quota.replace("eu-1", "nowhere"))
    assert gitfed("plan", "--fleet", path).err == (
        f"error: {path}:2:1: cluster nowhere is neither in this file nor in the repository\n"
    )
    path.write_text(quota.replace('{hard: {requests.cpu: "6"}}', "7"))
    assert gitfed("plan", "--fleet", path).err == f"error: {path}:2:1: spec is not an object\n"


# -- diff -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ("", "", False)),
        ("main", ("main", "", False)),
        ("main..HEAD", ("main", "HEAD", False)),
        ("main...feature", ("main", "feature", True)),
        ("main..", ("main", "HEAD", False)),
        ("..HEAD~1", ("", "HEAD~1", False)),
        ("v1.2.3..v1.2.4", ("v1.2.3", "v1.2.4", False)),
        ("v1.2", ("v1.2", "", False)),
    ],
)
def test_a_range_is_read_as_git_reads_it(text: str, expected: tuple[str, str, bool]) -> None:
    assert preview.split(text) == expected


def test_diff_shows_placement_then_manifests_once_for_all_clusters(fleet: Path) -> None:
    base = git(fleet, "rev-parse", "--short=7", "HEAD")
    head = commit(
        fleet, {"apps/web.yaml": deployment(9), "apps/config.yaml": FILES["apps/config.yaml"].replace("blue", "red")}
    )
    result = gitfed("diff", "HEAD~1..HEAD")
    assert (result.code, result.err) == (1, "")
    golden("diff.txt", result.out.replace(base, "BASE!!!").replace(head[:7], "HEAD!!!"))


def test_without_differences_stdout_is_empty_and_the_sentence_is_on_stderr(fleet: Path) -> None:
    commit(fleet, {"README.md": "words\n"})
    result = gitfed("diff", "HEAD~1..HEAD")
    assert (result.code, result.out) == (0, "")
    assert result.err.startswith("No differences between ")


def test_the_default_base_is_where_the_branch_left_the_default_branch(fleet: Path) -> None:
    git(fleet, "checkout", "-q", "-b", "feature")
    commit(fleet, {"apps/web.yaml": deployment(12)})
    git(fleet, "checkout", "-q", "main")
    commit(fleet, {"apps/config.yaml": None})
    git(fleet, "checkout", "-q", "feature")
    result = gitfed("diff", "-o", "name")
    assert (result.code, result.out) == (1, "Deployment.apps/shop/web\n")


def test_on_the_default_branch_a_base_must_be_named(fleet: Path) -> None:
    result = gitfed("diff")
    assert (result.code, result.out) == (0, "")
    assert "note: HEAD is on the default branch: name a base" in result.err


def test_diff_of_what_is_not_committed_yet(fleet: Path) -> None:
    write(fleet, {"apps/web.yaml": deployment(12)})
    assert gitfed("diff", "--worktree", "-o", "name").out == "Deployment.apps/shop/web\n"


def test_an_error_is_never_told_as_a_difference(fleet: Path) -> None:
    commit(fleet, {"apps/web.yaml": deployment(12), "apps/bad.yaml": "a: [\n"})
    assert gitfed("diff", "HEAD~1..HEAD").code == 3
    assert gitfed("diff", "nosuch..HEAD").code == 4
    assert gitfed("diff", "a..b", "--rev", "c").code == 2


def test_a_changed_secret_shows_that_it_changed_and_nothing_else(fleet: Path) -> None:
    commit(fleet, {"apps/config.yaml": FILES["apps/config.yaml"].replace(SECRET, "another-secret")})
    result = gitfed("diff", "HEAD~1..HEAD")
    assert '-  password: "*** (before)"\n+  password: "*** (after)"\n' in result.out
    for form in ("text", "json", "yaml", "md", "wide", "name"):
        shown = gitfed("diff", "HEAD~1..HEAD", "-o", form)
        assert SECRET not in shown.out + shown.err
        assert "another-secret" not in shown.out + shown.err


def test_a_diff_program_gets_both_sides_as_files(fleet: Path) -> None:
    commit(fleet, {"apps/web.yaml": deployment(12)})
    result = program("diff", "HEAD~1..HEAD", cwd=fleet, env={"KUBECTL_EXTERNAL_DIFF": "diff -r -U 0"})
    assert result.code == 1
    assert "-  replicas: 4\n+  replicas: 8\n" in result.out
    missing = program("diff", "HEAD~1..HEAD", cwd=fleet, env={"KUBECTL_EXTERNAL_DIFF": "nosuchprogram"})
    assert (missing.code, missing.err) == (
        2,
        "error: KUBECTL_EXTERNAL_DIFF names 'nosuchprogram', which is not a program here\n",
    )


def test_diff_as_json(fleet: Path) -> None:
    commit(fleet, {"apps/web.yaml": deployment(9)})
    document = json.loads(gitfed("diff", "HEAD~1..HEAD", "-o", "json").out)
    assert document["schema"] == "gitfed.io/diff/v1"
    (moved,) = document["placement"]
    assert [share["replicas"] for share in moved["before"]] == [4, 2]
    assert [share["replicas"] for share in moved["after"]] == [6, 3]
    assert {(item["name"], tuple(item["clusters"]), item["change"]) for item in document["manifests"]} == {
        ("web", ("eu-1",), "changed"), ("web", ("us-1",), "changed"),
    }  # fmt: skip


# -- render -----------------------------------------------------------------------------------------------------


def test_render_prints_final_manifests_and_leaves_secrets_out(fleet: Path) -> None:
    result = gitfed("render", "--cluster", "eu-1")
    assert result.code == 0
    assert result.err == "note: 1 Secret left out: render -d DIR --with-secrets writes them\n"
    golden("render.txt", result.out)


def test_render_writes_one_file_for_each_object_and_secrets_for_the_owner_alone(fleet: Path, tmp_path: Path) -> None:
    target = tmp_path / "out"
    assert gitfed("render", "-d", target).code == 0
    assert not list(target.rglob("*Secret*"))
    assert gitfed("render", "-d", target, "--with-secrets").code == 0
    found = {path.relative_to(target).as_posix(): stat.S_IMODE(path.stat().st_mode) for path in target.rglob("*.yaml")}
    assert found["eu-1/shop/web-Deployment.apps.yaml"] == 0o644
    assert found["eu-1/shop/database-Secret.yaml"] == 0o600
    password = yaml.safe_load((target / "eu-1/shop/database-Secret.yaml").read_text())["data"]["password"]
    assert base64.b64decode(password).decode() == SECRET


def test_an_unknown_cluster_is_suggested(fleet: Path) -> None:
    for arguments in (
        ["render", "--cluster", "eu1"],
        ["explain", "deploy/web", "--cluster", "eu1"],
        ["get", "works", "-c", "eu1"],
    ):
        result = gitfed(*arguments)
        assert (result.code, result.err) == (
            2,
            "error: no cluster 'eu1' (did you mean eu-1?)\nhint: gitfed get clusters\n",
        )


# -- explain, get, config ---------------------------------------------------------------------------------------


def test_explain(fleet: Path, tmp_path: Path) -> None:
    (tmp_path / "fleet.yaml").write_text(FLEET)
    result = gitfed("explain", "deploy/web", "--fleet", tmp_path / "fleet.yaml")
    assert result.code == 0
    golden("explain.txt", result.out)


def test_explain_as_json_has_a_reason_for_every_cluster(fleet: Path) -> None:
    document = json.loads(gitfed("explain", "deploy/shop/web", "-o", "json").out)
    assert document["schema"] == "gitfed.io/explanation/v1"
    assert [item["name"] for item in document["clusters"]] == ["eu-1", "eu-2", "us-1"]
    assert all(item["reason"] for item in document["clusters"])
    assert {item["by"] for item in document["overrides"]} >= {"OverridePolicy/shop/eu-registry"}


def test_explain_suggests_what_was_meant(fleet: Path) -> None:
    result = gitfed("explain", "deploy/shop/wbe")
    assert (result.code, result.err) == (
        2, "error: no object 'deploy/shop/wbe' in the repository\nhint: did you mean deploy/shop/web?\n",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("deploy/wbe", "did you mean deploy/shop/web?"),
        ("deployment/other/web", "did you mean deployment/shop/web?"),
        ("deployment.apps/shop/wbe", "did you mean deployment.apps/shop/web?"),
        ("gadget/nowhere/nothing", "gitfed get bindings lists them"),
    ],
)
def test_what_explain_suggests_can_be_typed_as_it_is(fleet: Path, typed: str, hint: str) -> None:
    result = gitfed("explain", typed)
    assert result.err.splitlines()[1].lower() == f"hint: {hint}"
    if hint.startswith("did"):
        assert gitfed("explain", hint.removeprefix("did you mean ").rstrip("?")).code == 0


@pytest.mark.parametrize("command", [("get", "clusters"), ("top", "clusters"), ("get", "works")])
def test_an_empty_repository_has_no_clusters_for_a_reason(tmp_path: Path, command: tuple[str, ...]) -> None:
    repository(tmp_path / "empty", {"README.md": "# Nothing yet\n"})
    result = gitfed(*command, "--repo", tmp_path / "empty")
    assert (result.code, result.err.splitlines()[-1]) == (
        3, "gitfed.yaml: the repository has no settings: no document of kind Federation (gitfed init writes one)",
    )  # fmt: skip


def test_a_plan_is_not_saved_into_a_folder_that_is_not_there(fleet: Path, tmp_path: Path) -> None:
    result = gitfed("plan", "--out", tmp_path / "nope" / "x.json")
    assert (result.code, result.out, result.err) == (
        2, "", f"error: {tmp_path}/nope/x.json: no such folder {tmp_path}/nope\n",
    )  # fmt: skip


def test_only_a_branch_is_applied(fleet: Path, tmp_path: Path) -> None:
    commit = git(fleet, "rev-parse", "HEAD").strip()
    for revision in (commit, commit[:8], "HEAD~0"):
        result = gitfed("apply", "--rev", revision, "--credentials-dir", tmp_path, "--data-dir", tmp_path / "data")
        assert (result.code, result.err) == (
            4,
            f"error: {revision} is not a branch of {fleet}\n"
            f"hint: what is carried out is a branch: git branch NAME {commit[:12]}, then name that\n",
        )


def test_a_file_that_is_no_plan_is_refused_before_anything_is_asked(fleet: Path) -> None:
    result = gitfed("apply", fleet / "gitfed.yaml")
    assert (result.code, result.out, len(result.err.splitlines())) == (3, "", 1)
    assert f"{fleet}/gitfed.yaml: this is not a plan file" in result.err


def test_a_cluster_that_nobody_reached_has_objects_of_which_nothing_is_known(fleet: Path, tmp_path: Path) -> None:
    (tmp_path / "fleet.yaml").write_text(FLEET)
    result = gitfed("get", "works", "--fleet", tmp_path / "fleet.yaml", "--live", "-o", "json")
    items = json.loads(result.out)["items"]
    assert {item["health"] for item in items} == {"Unknown"}
    assert {item["message"] for item in items if item["cluster"] != "ap-1"} == {
        "not observed: the cluster could not be read"
    }
    assert [line.split(": ")[:3] for line in result.err.splitlines() if "Cluster" in line] == [
        ["note", "Clusters eu-1, eu-2, us-1 could not be read", "no credentials"]
    ], "once for all of them"


@pytest.mark.parametrize(
    "spelling", ["web", "shop/Deploy/web", "Deployment.apps/shop/web", "deploy/shop/web", "deploy/web"]
)
def test_a_listing_takes_every_spelling_of_an_object(fleet: Path, spelling: str) -> None:
    found = gitfed("get", "bindings", spelling, "-o", "name")
    assert (found.code, found.out) == (0, "Deployment.apps/shop/web\n")


@pytest.mark.parametrize("spelling", ["eu-1/shop/Deploy/web", "eu-1/Deployment.apps/shop/web", "eu-1/deploy/web"])
def test_a_copy_is_named_by_its_cluster_and_its_object(fleet: Path, spelling: str) -> None:
    found = gitfed("get", "works", spelling, "-o", "name")
    assert (found.code, found.out) == (0, "eu-1/Deployment.apps/shop/web\n")


def test_a_listing_says_what_it_has_not(fleet: Path) -> None:
    result = gitfed("get", "bindings", "shop/Deploy/wbe")
    assert (result.code, result.err.splitlines()[0]) == (
        2, "error: no binding 'shop/Deploy/wbe' (did you mean shop/Deploy/web?)",
    )  # fmt: skip


@pytest.mark.parametrize(("command", "code"), [("explain", 0), ("log", 0), ("suspend", 4), ("reschedule", 4)])
def test_commands_understand_an_object_as_it_is_printed(fleet: Path, command: str, code: int) -> None:
    result = gitfed(command, "shop/Deploy/web")
    assert result.code == code, result.err  # 4: understood, and there is no state branch for an order


def test_orphans_are_not_denied_where_no_cluster_could_be_read(fleet: Path) -> None:
    result = gitfed("get", "orphans")
    assert (result.code, result.out) == (4, "")
    assert result.err.splitlines()[0] == "No orphans found where it could be looked:"
    assert result.err.splitlines()[1].startswith("note: Clusters eu-1, eu-2, us-1 could not be read: no credentials")


@pytest.mark.parametrize("thing", ["clusters", "bindings", "policies", "works"])
def test_get_as_a_table(fleet: Path, tmp_path: Path, thing: str) -> None:
    (tmp_path / "fleet.yaml").write_text(FLEET)
    result = gitfed("get", thing, "--fleet", tmp_path / "fleet.yaml", "-o", "wide")
    assert result.code == 0
    golden(f"get-{thing}.txt", result.out)


@pytest.mark.parametrize("thing", ["clusters", "bindings", "policies", "works", "problems"])
@pytest.mark.parametrize("form", ["json", "yaml"])
def test_get_for_programs_carries_its_schema(fleet: Path, thing: str, form: str) -> None:
    document = yaml.safe_load(gitfed("get", thing, "-o", form).out)
    assert document["schema"] == f"gitfed.io/{thing}/v1"


QUOTAS = """\
apiVersion: policy.karmada.io/v1alpha1
kind: FederatedResourceQuota
metadata: {name: all, namespace: shop}
spec:
  overall: {cpu: "20", memory: 6Gi}
  staticAssignments:
  - {clusterName: eu-1, hard: {cpu: "3"}}
---
apiVersion: policy.karmada.io/v1alpha1
kind: FederatedResourceQuota
metadata: {name: all, namespace: web}
spec: {overall: {cpu: "4"}}
"""
QUOTA_INSIDE = """\
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: all, namespace: shop, annotations: {gitfed.io/cluster: eu-1}}
spec: {hard: {cpu: "3"}}
status: {hard: {cpu: "3"}, used: {cpu: "1"}}
"""


def test_get_quotas_shows_what_is_used_of_each_resource_and_assignment(fleet: Path, tmp_path: Path) -> None:
    asks = deployment().replace('"web:1"', '"web:1", resources: {requests: {cpu: "2", memory: 700M}}')
    commit(fleet, {"quotas.yaml": QUOTAS, "apps/web.yaml": asks})
    (tmp_path / "fleet.yaml").write_text(FLEET + QUOTA_INSIDE)
    shown = gitfed("get", "quotas", "--fleet", tmp_path / "fleet.yaml").out
    assert (
        shown
        == """\
NAME       CLUSTER   RESOURCE   USED    LIMIT   STATE
shop/all   –         cpu        12      20      ok
shop/all   –         memory     4200M   6Gi     ok
shop/all   eu-1      cpu        12      3       exceeded
web/all    –         cpu        0       4       ok
"""
    )
    assert gitfed("get", "quota", "web/all", "-o", "name").out == "FederatedResourceQuota/web/all\n"
    found = yaml.safe_load(gitfed("get", "frq", "shop/all", "-o", "json", "--fleet", tmp_path / "fleet.yaml").out)
    assert found["schema"] == "gitfed.io/quotas/v1"
    assert [(item["metadata"], item["status"]) for item in found["items"]] == [
        (
            {"namespace": "shop", "name": "all"},
            {
                "overall": {"cpu": "20", "memory": "6Gi"},
                "overallUsed": {"cpu": "12", "memory": "4200M"},
                "aggregatedStatus": [{"clusterName": "eu-1", "hard": {"cpu": "3"}, "used": {"cpu": "1"}}],
            },
        )
    ]


def test_get_quotas_says_which_resources_refuse_work(fleet: Path) -> None:
    asks = deployment().replace('"web:1"', '"web:1", resources: {requests: {cpu: "4", memory: 700M}}')
    commit(fleet, {"quotas.yaml": QUOTAS, "apps/web.yaml": asks})
    rows = [line.split() for line in gitfed("get", "quotas", "-n", "shop").out.splitlines()]
    assert rows[1:] == [
        ["shop/all", "–", "cpu", "0", "20", "refuses", "work"],
        ["shop/all", "–", "memory", "0", "6Gi", "ok"],
        ["shop/all", "eu-1", "cpu", "0", "3", "ok"],
    ]


def test_get_of_one_by_name(fleet: Path) -> None:
    assert gitfed("get", "cluster", "eu-2", "-o", "name").out == "eu-2\n"
    result = gitfed("get", "cluster", "eu-3")
    assert (result.code, result.err) == (
        2, "error: no cluster 'eu-3' (did you mean eu-2?)\nhint: gitfed get clusters lists all\n"
    )  # fmt: skip


def test_config_view_says_where_each_setting_comes_from(fleet: Path) -> None:
    settings = FILES["gitfed.yaml"] + "spec:\n  guards:\n    maxDeletions: 7\n  featureGates: {PropagateDeps: false}\n"
    commit(fleet, {"gitfed.yaml": settings})
    lines = {line.split()[0]: line.split()[1:] for line in gitfed("config", "view", "--origin").out.splitlines()}
    assert lines["name"] == ["acme", "gitfed.yaml:1:1"]
    assert lines["guards.maxDeletions"] == ["7", "gitfed.yaml:6:5"]
    assert lines["featureGates.PropagateDeps"] == ["false", "gitfed.yaml:7:18"]
    assert lines["sync.interval"] == ["1m", "default"]


def test_a_schema_is_json_and_an_unknown_kind_is_suggested(fleet: Path) -> None:
    assert json.loads(gitfed("schema", "propagationpolicy").out)["title"] == "PropagationPolicy"
    assert "Federation\n" in gitfed("schema").out
    assert gitfed("schema", "Federatoin").err.startswith("error: no schema of 'Federatoin' (did you mean Federation?)")


# -- apply ------------------------------------------------------------------------------------------------------


def test_apply_without_credentials_records_nothing_about_the_clusters(
    fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody asked them: the state branch must not tell others that they do not answer."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    result = gitfed("apply", "--data-dir", tmp_path / "data")
    assert (result.code, result.out, result.err) == (
        4, "", "error: no cluster can be reached: there is no kubeconfig and no folder of credentials\n"
        "hint: give --kubeconfig (or KUBECONFIG) or --credentials-dir\n",
    )  # fmt: skip
    assert "gitfed/state" not in git(fleet, "branch", "--list", "gitfed/*")


# -- init -------------------------------------------------------------------------------------------------------


def test_init_makes_a_repository_that_validates_and_can_be_planned(tmp_path: Path) -> None:
    made = gitfed("init", tmp_path / "My Fleet")
    assert made.code == 0
    assert "wrote gitfed.yaml\n" in made.out
    checked = gitfed("validate", "--repo", tmp_path / "My Fleet")
    assert (checked.code, checked.out) == (0, "nothing is wrong in the worktree: 3 objects, 1 policy, 2 clusters\n")
    commit(tmp_path / "My Fleet", {}, "first")
    assert gitfed("validate", "--repo", tmp_path / "My Fleet").code == 0
    document = json.loads(gitfed("plan", "--repo", tmp_path / "My Fleet", "-o", "json").out)
    assert document["federation"] == "my-fleet"
    assert all(binding["clusters"] for binding in document["bindings"])


def test_init_overwrites_nothing(fleet: Path) -> None:
    before = (fleet / "gitfed.yaml").read_text()
    result = gitfed("init")
    assert (result.code, result.err) == (
        2, f"error: {fleet / 'gitfed.yaml'} exists already\nhint: init overwrites nothing\n",
    )  # fmt: skip
    assert (fleet / "gitfed.yaml").read_text() == before
    assert not (fleet / "apps/hello").exists()


def test_init_in_an_existing_repository_leaves_it_alone(tmp_path: Path) -> None:
    repository(tmp_path / "r", {"README.md": "mine\n"})
    assert gitfed("init", tmp_path / "r", "--bare-bones", "--name", "acme").out.startswith("wrote gitfed.yaml\n")
    assert (tmp_path / "r/README.md").read_text() == "mine\n"
    assert gitfed("init", tmp_path / "x", "--name", "A_b").code == 2


def test_init_inside_another_repository_makes_one_of_its_own(tmp_path: Path) -> None:
    """Else a first `apply` of the new fleet would carry out everything that happens to lie around it."""
    around = repository(tmp_path / "around", {"manifests/stray.yaml": "kind: ConfigMap\n"})
    result = gitfed("init", around / "fleet")
    assert result.code == 0
    assert result.out.startswith(f"made the repository {around / 'fleet'}\n")
    assert result.err == f"note: it is not a part of the repository {around} around it\n"
    checked = gitfed("validate", "--repo", around / "fleet")
    assert (checked.code, checked.out) == (0, "nothing is wrong in the worktree: 3 objects, 1 policy, 2 clusters\n")


# -- secrets ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        *(["plan", "-o", form] for form in ("text", "wide", "json", "yaml", "name", "md")),
        *(["render", "-o", form] for form in ("text", "yaml", "json", "name")),
        *(["get", thing, "-o", form] for thing in ("bindings", "works", "policies") for form in ("wide", "json")),
        ["explain", "secret/database", "-o", "json"],
        ["validate", "-o", "json"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_no_command_prints_a_secret(fleet: Path, arguments: list[str]) -> None:
    result = gitfed(*arguments)
    assert result.code == 0
    for form in (SECRET, base64.b64encode(SECRET.encode()).decode()):
        assert form not in result.out + result.err


def test_a_plan_file_is_saved(fleet: Path, tmp_path: Path) -> None:
    result = gitfed("plan", "--out", tmp_path / "plan.json", "-q")
    assert result.code == 0
    saved = json.loads((tmp_path / "plan.json").read_text())
    assert saved["schema"] == "gitfed.io/planfile/v1"
    assert SECRET not in (tmp_path / "plan.json").read_text()
    denied = gitfed("plan", "--out", tmp_path / "nowhere" / "plan.json")
    assert denied.code == 2
    assert "no such folder" in denied.err
