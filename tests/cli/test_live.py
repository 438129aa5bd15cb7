"""Commands that touch clusters, against embedded ones in a process of their own."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitfed.cli.commands.act import apply as apply_command
from tests.cli.world import FILES, Result, commit, deployment, git, gitfed, installed, repository
from tests.clusters.rest import Endpoint
from tests.support import needs, patience

pytestmark = pytest.mark.e2e


@pytest.fixture
def clusters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """`gitfed sim up` with the clusters of `world.FILES`; KUBECONFIG names them."""
    kubeconfig = tmp_path / "kubeconfig"
    names = [part for name in ("eu-1", "eu-2", "us-1") for part in ("--name", name)]
    gitfed_program = str(Path(sys.executable).with_name("gitfed"))
    process = subprocess.Popen(
        [gitfed_program, "sim", "up", *names, "--nodes", "1", "--kubeconfig", str(kubeconfig)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        ready = process.stdout.readline()
        assert ready == f"3 clusters ready: eu-1 eu-2 us-1; kubeconfig: {kubeconfig}\n"
        assert kubeconfig.stat().st_mode & 0o077 == 0
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        yield kubeconfig
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(patience.SECONDS) == 0
        process.stdout.close()


@pytest.fixture
def bare(tmp_path: Path, clusters: Path) -> Path:
    """What a forge would hold; `work` is its checkout."""
    repository(tmp_path / "work")
    git(tmp_path, "clone", "-q", "--bare", str(tmp_path / "work"), str(tmp_path / "fleet.git"))
    git(tmp_path / "work", "remote", "add", "origin", str(tmp_path / "fleet.git"))
    return tmp_path / "fleet.git"


def push(bare: Path, files: dict[str, str | None]) -> None:
    commit(bare.parent / "work", files)
    git(bare.parent / "work", "push", "-q", "origin", "HEAD:main")


def look(bare: Path, *arguments: str) -> Result:
    return gitfed(*arguments, "--repo", bare)


def test_plan_apply_look_and_repair(bare: Path, tmp_path: Path) -> None:
    planned = look(bare, "plan", "--live", "-o", "json", "--out", str(tmp_path / "plan.json"))
    assert planned.code == 0
    totals = json.loads(planned.out)["totals"]
    assert (totals["create"], totals["clusters"]) == (11, 3)
    assert json.loads(planned.out)["observed"] is True

    checked = look(bare, "apply", "--dry-run=server", "-o", "json")
    assert checked.code == 0
    outcomes = {(item["cluster"], item["object"]): item["outcome"] for item in json.loads(checked.out)["results"]}
    assert outcomes["eu-1", "Namespace/shop"] == "created"
    assert outcomes["eu-1", "Deployment.apps/shop/web"] == "skipped"
    assert look(bare, "get", "works", "--live", "-o", "json").out.count("NotFound") == 11

    applied = look(bare, "apply", str(tmp_path / "plan.json"), "--wait", "--timeout", "60s")
    assert (applied.code, applied.out.splitlines()[-1][-11:]) == (0, " 11 writes.")

    again = look(bare, "diff", "--live")
    assert (again.code, again.out) == (0, "")
    assert again.err.startswith("No differences between ")
    assert "Nothing to do: 4 objects in 3 clusters are as they should be.\n" in look(bare, "plan", "--live").out
    works = json.loads(look(bare, "get", "works", "--live", "-o", "json").out)["items"]
    assert {item["health"] for item in works} == {"Current"}

    refused = look(bare, "apply", str(tmp_path / "plan.json"))
    assert refused.code == 3
    assert "change eu-1 Deployment.apps/shop/web: create → nothing\n" in refused.err

    push(bare, {"apps/web.yaml": deployment(9)})
    changed = look(bare, "diff", "--live")
    assert changed.code == 1
    assert "    - /spec/replicas: 4\n    + /spec/replicas: 6\n" in changed.out
    stat = look(bare, "diff", "--live", "--stat")
    assert [line.split() for line in stat.out.splitlines()[:-1]] == [
        ["OBJECT", "CHANGE", "CLUSTERS", "FIELDS"],
        ["shop/Deploy/web", "update", "eu-1", "us-1", "1"],
    ]
    assert look(bare, "apply", "-o", "json").code == 0

    push(bare, {"policies/web.yaml": None})
    orphans = look(bare, "get", "orphans", "-o", "json")
    assert [(item["cluster"], item["name"]) for item in json.loads(orphans.out)["items"]] == [
        ("eu-1", "web"),
        ("us-1", "web"),
    ]


REFUSED = """apiVersion: v1
kind: Service
metadata: {name: bad, namespace: shop}
spec: {ports: [{port: 80, targetPort: 80, nodePort: 80, protocol: NONE}]}
"""
NEVER_WELL = """apiVersion: apps/v1
kind: Deployment
metadata: {name: stuck, namespace: shop}
spec:
  replicas: 1
  selector: {matchLabels: {app: stuck}}
  template:
    metadata: {labels: {app: stuck}}
    spec: {nodeSelector: {no: where}, containers: [{name: main, image: nginx}]}
"""
EVERYWHERE = """apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: rest, namespace: shop}
spec:
  resourceSelectors:
    - {apiVersion: v1, kind: Service, name: bad}
    - {apiVersion: v1, kind: ConfigMap, name: theirs}
    - {apiVersion: apps/v1, kind: Deployment, name: stuck}
  placement: {clusterAffinity: {clusterNames: [eu-1]}}
"""
THEIRS = "{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs, namespace: shop}, data: {a: b}}\n"


def test_an_object_that_is_refused_for_good_ends_the_wait_and_leaves_with_6(bare: Path) -> None:
    """Nothing else will ever be well here, so only that refusal can end the wait before its hour is over."""
    push(bare, {"apps/bad.yaml": REFUSED, "apps/stuck.yaml": NEVER_WELL, "policies/rest.yaml": EVERYWHERE})
    done = look(bare, "apply", "--wait", "--timeout", "1h", "-o", "json")
    assert done.code == 6
    found = json.loads(done.out)
    assert found["settled"]
    assert found["outcomes"]["eu-1"]["failed"] == 1
    [failure] = found["failures"]
    assert failure.startswith('eu-1: Service/shop/bad: Service "bad" is invalid: ')
    [entry] = json.loads(look(bare, "log", "-n", "1", "-o", "json").out)["entries"]
    assert entry["what"].startswith("Failed at ")
    assert "eu-1: failed: 1 refused or failed" in entry["reasons"]


def test_somebody_elses_object_in_the_way_is_not_called_applied(bare: Path, clusters: Path) -> None:
    assert look(bare, "apply", "--wait").code == 0
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "theirs"}, "data": {"a": "theirs"}}
    Endpoint.of(yaml.safe_load(clusters.read_text()), "eu-1").request(
        "POST", "/api/v1/namespaces/shop/configmaps", body
    )
    push(bare, {"apps/theirs.yaml": THEIRS, "policies/rest.yaml": EVERYWHERE})
    for _ in range(2):  # seen before anything is tried, too
        done = look(bare, "apply", "--wait", "--timeout", "1h")
        assert done.code == 6
        assert done.out.splitlines()[-1].startswith("Not all of it applied: ")
        assert "failed: eu-1: ConfigMap/shop/theirs: exists and is not ours" in done.err


def test_a_gate_leaves_with_5_and_a_digest_lets_it_through(bare: Path) -> None:
    many = {
        f"apps/c{n}.yaml": f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{n}, namespace: shop}}\n"
        for n in range(9)
    }
    settings = {"gitfed.yaml": FILES["gitfed.yaml"] + "spec: {guards: {maxDeletions: 3, maxDeletionPercent: 100}}\n"}
    push(bare, {**many, **settings})
    assert look(bare, "apply").code == 0
    push(bare, dict.fromkeys(many))
    plan = look(bare, "plan", "--live", "-o", "json")
    assert plan.code == 5
    digest = json.loads(plan.out)["digest"]
    held = look(bare, "apply")
    assert held.code == 5
    assert "deletions" in held.out
    assert digest in held.err
    recorded = look(bare, "log", "-n", "1", "-o", "json")
    [entry] = json.loads(recorded.out)["entries"]
    assert entry["what"].startswith("Held at ")
    assert entry["source"] == json.loads(plan.out)["commit"]
    assert entry["reasons"] == [f"{name}: held: 9 by gate deletions" for name in ("eu-1", "eu-2", "us-1")]
    events = json.loads(look(bare, "get", "events", "-o", "json").out)["items"]
    assert [(one["cluster"], one["message"]) for one in events if one["reason"] == "ChangesHeld"] == [
        (name, f"held in {name}: 9 by gate deletions") for name in ("eu-1", "eu-2", "us-1")
    ]
    wrong = look(bare, "apply", "--confirm", "0" * 64)
    assert wrong.code == 5
    assert look(bare, "apply", "--confirm", digest).code == 0
    assert not [line for line in look(bare, "diff", "--live", "-o", "name").out.splitlines() if "/c" in line]


def test_a_cluster_that_is_away_leaves_with_4_and_is_named(bare: Path) -> None:
    push(bare, {"clusters/ap-1.yaml": FILES["clusters/eu-1.yaml"].replace("eu-1", "ap-1")})
    plan = look(bare, "plan", "--live")
    assert plan.code == 4
    assert "Cluster ap-1 could not be read" in plan.out
    applied = look(bare, "apply", "--timeout", "20s")
    assert applied.code == 4
    assert "unreachable: ap-1" in applied.err


@needs.program("kubectl")
def test_the_demo_keeps_its_word_and_what_it_prints_can_be_copied(tmp_path: Path) -> None:
    place, errors = tmp_path / "demo", tmp_path / "errors"
    command = [str(Path(sys.executable).with_name("gitfed")), "demo", "--dir", str(place)]
    with errors.open("w") as file:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=file, text=True, cwd=tmp_path)
    assert process.stdout is not None
    try:
        printed = list(itertools.takewhile(lambda line: "Control-C ends it." not in line, process.stdout))
        told = "".join(printed)
        begin = printed.index("  Now you, in another terminal. Clone it, edit something, and push:\n")
        _as_the_demo_says(printed[begin:], tmp_path)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=patience.SECONDS)
    assert process.returncode == 130, told
    assert "✗" not in told
    assert "checks passed" in told
    assert f"log --repo {place}/fleet.git" in told, "the folder stays, and what was decided can be read"
    for one in ("(dynamic weights)", "(Aggregated)", "quota research/research cpu 13/12 HELD 1 workload",
                "us-staging   label us-staging env=production"):  # fmt: skip
        assert one in told
    assert "error:" not in errors.read_text()
    assert "Logging error" not in errors.read_text()


def _as_the_demo_says(invitation: Sequence[str], folder: Path) -> None:
    """A newcomer, with an edit of theirs."""
    environment = {**os.environ, "HOME": str(folder), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
                   "GIT_AUTHOR_NAME": "A person", "GIT_AUTHOR_EMAIL": "a@example.com",
                   "GIT_COMMITTER_NAME": "A person", "GIT_COMMITTER_EMAIL": "a@example.com"}  # fmt: skip
    lines = [line.strip() for line in invitation if line.startswith("    ")]
    link = next(line for line in lines if line.startswith("http://"))
    commands = [line for line in lines if line is not link]
    commands.insert(1, "date > README.md && git add README.md")
    done = subprocess.run(
        ["bash", "-e", "-x", "-c", "\n".join(commands)], cwd=folder, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    through_the_door = done.stdout[done.stdout.rindex("NAMESPACE ") :]
    for name in ("eu-1", "eu-2", "us-1"):
        assert f"  {name}  " in through_the_door
    with urllib.request.urlopen(link, timeout=patience.SECONDS) as page:
        assert "Continue to gitfed" in page.read().decode()


@pytest.mark.slow
def test_the_second_act_of_the_demo_keeps_its_word_too(tmp_path: Path) -> None:
    result = installed("demo", "failover", "--once", "--dir", str(tmp_path / "demo"), cwd=tmp_path)
    assert result.code == 0, result.out
    assert "✗" not in result.out
    assert "12 of 12 checks passed" in result.out
    assert result.err == ""


@pytest.mark.slow
def test_the_third_act_of_the_demo_registers_a_cluster_and_outlasts_its_hub(tmp_path: Path) -> None:
    result = installed("demo", "pull", "--once", "--dir", str(tmp_path / "demo"), cwd=tmp_path)
    assert result.code == 0, result.out
    assert "14 of 14 checks passed" in result.out
    assert "in edge-1 nothing was made twice" in result.out
    assert result.err == ""


def test_a_plan_that_changes_between_its_check_and_its_execution_is_not_carried_out(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody pushes in the very moment after the clusters were looked at: nothing of his push was reviewed."""
    reviewed = tmp_path / "plan.json"
    assert look(bare, "plan", "--live", "-o", "json", "--out", str(reviewed)).code == 0
    carry_out = apply_command._carry_out

    def later(*arguments: Any, **settings: Any) -> int:
        push(bare, {"apps/late.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: late, namespace: shop}\n"})
        return carry_out(*arguments, **settings)

    with monkeypatch.context() as patch:
        patch.setattr(apply_command, "_carry_out", later)
        refused = look(bare, "apply", str(reviewed))
    assert refused.code == 3
    assert "change eu-1 ConfigMap/shop/late: nothing → create" in refused.err
    assert f"error: this is not the plan of {reviewed} any more" in refused.err
    items = json.loads(look(bare, "get", "works", "--live", "-o", "json").out)["items"]
    assert {item["health"] for item in items} == {"NotFound"}, "nothing was written"


def test_a_reviewed_plan_that_leaves_somebody_elses_object_alone_is_carried_out(bare: Path, tmp_path: Path) -> None:
    where = Endpoint.of(yaml.safe_load(Path(os.environ["KUBECONFIG"]).read_text()), "eu-1")
    where.request("POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
    theirs = {"metadata": {"name": "settings"}, "data": {"whose": "theirs"}}
    where.request("POST", "/api/v1/namespaces/shop/configmaps", theirs)
    planned = look(bare, "plan", "--live", "-o", "json", "--out", str(tmp_path / "plan.json"))
    skipped = [change["name"] for change in json.loads(planned.out)["changes"] if change["action"] == "skip"]
    assert "settings" in skipped
    applied = look(bare, "apply", str(tmp_path / "plan.json"))
    assert "not the plan" not in applied.err
    assert "created" in applied.out
    assert where.request("GET", "/api/v1/namespaces/shop/configmaps/settings")["data"] == {"whose": "theirs"}


def test_a_cluster_of_a_running_fleet_is_taken_away_and_brought_back(
    bare: Path, clusters: Path, tmp_path: Path
) -> None:
    failed = gitfed("sim", "fail", "eu-1", "us-1")
    assert (failed.code, failed.out) == (0, "eu-1 is away\nus-1 is away\n")
    planned = look(bare, "plan", "--live", "-o", "json")
    assert "eu-1" in planned.out + planned.err
    assert planned.code == 4
    recovered = gitfed("sim", "recover", "us-1", "eu-1", "--kubeconfig", str(clusters))
    assert (recovered.code, recovered.out) == (0, "us-1 is back\neu-1 is back\n")
    assert look(bare, "plan", "--live").code == 0
    assert (gitfed("sim", "recover", "eu-1", "-q").code, gitfed("sim", "recover", "eu-1").out) == (0, "eu-1 is there\n")

    nobody = gitfed("sim", "fail", "eu-9")
    assert (nobody.code, nobody.err) == (2, "error: the fleet has no cluster eu-9\nhint: it has eu-1 eu-2 us-1\n")


def test_a_fleet_that_does_not_run_takes_no_orders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contexts = [{"name": "a", "context": {}}]
    extensions = [{"name": "kubesim", "extension": {"port": 1}}]
    gone = tmp_path / "gone"
    gone.write_text(yaml.safe_dump({"contexts": contexts, "extensions": extensions}))
    refused = gitfed("sim", "fail", "a", "--kubeconfig", str(gone))
    assert (refused.code, refused.err) == (
        4,
        "error: the fleet of this kubeconfig does not run any more\nhint: gitfed sim up starts one\n",
    )
    other = tmp_path / "other"
    other.write_text(yaml.safe_dump({"contexts": contexts}))
    monkeypatch.setenv("KUBECONFIG", str(other))
    unknown = gitfed("sim", "fail", "a")
    assert (unknown.code, unknown.err) == (
        2,
        "error: no kubeconfig of a running fleet\nhint: --kubeconfig FILE, as gitfed sim up wrote it\n",
    )


QUOTA = """
apiVersion: policy.karmada.io/v1alpha1
kind: FederatedResourceQuota
metadata: {name: cap, namespace: shop%s}
spec:
  overall: {configmaps: "100"}
  staticAssignments: [{clusterName: eu-1, hard: {configmaps: "50"}}]
"""


def test_what_follows_from_a_declaration_is_looked_up_like_a_template(bare: Path, clusters: Path) -> None:
    """A quota that another system wrote: the plan once said that it would be created."""
    cluster = Endpoint.of(yaml.safe_load(clusters.read_text()), "eu-1")
    cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
    theirs = {"metadata": {"name": "cap"}, "spec": {"hard": {"configmaps": "50"}}}
    made = cluster.request("POST", "/api/v1/namespaces/shop/resourcequotas", theirs)

    def planned() -> list[tuple[str, str]]:
        changes = json.loads(look(bare, "plan", "--live", "-o", "json").out)["changes"]
        return [(one["action"], one["cluster"]) for one in changes if one["kind"] == "ResourceQuota"]

    push(bare, {"cap.yaml": QUOTA % ""})
    assert planned() == [("skip", "eu-1")]
    push(bare, {"cap.yaml": QUOTA % ", annotations: {work.karmada.io/conflict-resolution: overwrite}"})
    assert planned() == [("update", "eu-1")]
    assert look(bare, "apply", "--wait").code == 0
    found = cluster.request("GET", "/api/v1/namespaces/shop/resourcequotas/cap")
    assert found["metadata"]["uid"] == made["metadata"]["uid"]
    assert "gitfed.io/federation" in found["metadata"]["labels"]
