"""cordon, uncordon and taint change one file of a checkout, as a person would, and say what is next."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.checkout import CLUSTER, call, git, refused
from tests.cli.checkout import checkout as checkout


def test_cordon_writes_the_taint_and_says_the_commit_to_make(checkout: Path) -> None:
    result = call("cordon", "eu-1")
    assert result.stdout == "eu-1 cluster cordoned\n"
    assert result.stderr == (
        "wrote clusters/eu-1.yaml\nNext: git add -A -- clusters/eu-1.yaml && git commit -m 'Cordon eu-1' && git push\n"
    )
    taint = "  taints:\n    - key: cluster.karmada.io/unschedulable\n      effect: NoSchedule\n"
    assert (checkout / "clusters/eu-1.yaml").read_text() == CLUSTER + taint
    assert call("cordon", "eu-1").stdout == "eu-1 cluster already cordoned\n"
    assert call("uncordon", "eu-1").stdout == "eu-1 cluster uncordoned\n"
    assert (checkout / "clusters/eu-1.yaml").read_text() == CLUSTER
    assert call("uncordon", "eu-1").stdout == "eu-1 cluster already uncordoned\n"


def test_a_commit_holds_that_file_alone(checkout: Path) -> None:
    (checkout / "other.yaml").write_text("kind: X\n")
    git(checkout, "add", "other.yaml")
    result = call("cordon", "eu-1", "--commit", "-m", "Disks are changed")
    assert "Next: git push\n" in result.stderr
    assert git(checkout, "show", "--name-only", "--format=%an: %s", "HEAD") == (
        "Test: Disks are changed\n\nclusters/eu-1.yaml\n"
    )
    assert git(checkout, "diff", "--cached", "--name-only") == "other.yaml\n"


def test_a_dry_run_prints_the_difference_and_writes_nothing(checkout: Path) -> None:
    result = call("cordon", "eu-1", "--dry-run", "client")
    assert result.stdout == (
        "--- a/clusters/eu-1.yaml\n+++ b/clusters/eu-1.yaml\n"
        "@@ -5,3 +5,6 @@\n   name: eu-1\n spec:\n   syncMode: Push\n"
        "+  taints:\n+    - key: cluster.karmada.io/unschedulable\n+      effect: NoSchedule\n"
    )
    assert result.stderr == "eu-1 cluster cordoned (dry run)\n"
    assert (checkout / "clusters/eu-1.yaml").read_text() == CLUSTER


def test_taints_go_on_and_come_off_several_clusters_also_in_a_list(checkout: Path) -> None:
    result = call("taint", "clusters", "eu-1", "us-1", "work=disks:NoExecute", "only:NoSchedule")
    assert result.stdout == "cluster/eu-1 tainted\ncluster/us-1 tainted\n"
    assert (checkout / "clusters/eu-1.yaml").read_text() == CLUSTER + (
        "  taints:\n    - key: work\n      value: disks\n      effect: NoExecute\n"
        '      timeAdded: "2026-01-01T00:00:00Z"\n'
        "    - key: only\n      effect: NoSchedule\n"
    ).replace('"', "'")
    assert '"key": "only"' in (checkout / "clusters/us.json").read_text()
    assert call("taint", "us-1", "old=y:NoSchedule", "--overwrite").stdout == "cluster/us-1 modified\n"
    assert call("taint", "eu-1", "us-1", "work-", "only:NoSchedule-").stdout == (
        "cluster/eu-1 untainted\ncluster/us-1 untainted\n"
    )
    assert (checkout / "clusters/eu-1.yaml").read_text() == CLUSTER


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["eu-2", "a:NoSchedule"], "error: no cluster 'eu-2' (did you mean eu-1?)\nhint: gitfed get clusters\n"),
        (["a:NoSchedule"], "error: which clusters?\nhint: gitfed taint CLUSTER... TAINT...\n"),
        (["eu-1"], "error: which taints?\nhint: KEY=VALUE:EFFECT, KEY:EFFECT, or with a dash: KEY-\n"),
        (["eu-1", "gone-"], "error: cluster eu-1: taint gone not found\n"),
        (["eu-1", "a:NoSchedule", "a-"], "error: taint a:NoSchedule cannot be put on and taken away at once\n"),
        (["eu-1", "a:NoSchedule", "a=b:NoSchedule"], "error: taint a:NoSchedule is given twice\n"),
        (
            ["eu-1", "a=b:PreferNoSchedule"],
            "error: 'a=b:PreferNoSchedule': unknown effect PreferNoSchedule\n"
            "hint: Karmada knows NoSchedule and NoExecute for clusters\n",
        ),
        (["eu-1", "a=b"], "error: 'a=b': no effect\nhint: Karmada knows NoSchedule and NoExecute for clusters\n"),
        (
            ["us-1", "old=y:NoSchedule"],
            "error: cluster us-1 has a taint old:NoSchedule already\nhint: --overwrite changes its value\n",
        ),
        (["eu-1", "=b:NoSchedule"], "error: '=b:NoSchedule' is no taint\n"
                                    "hint: KEY=VALUE:EFFECT or KEY:EFFECT; clusters come first\n"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_bad_usage_and_writes_nothing(
    checkout: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert refused(capsys, "taint", *arguments) == said
    assert git(checkout, "status", "--porcelain") == ""


def test_a_bare_repository_has_no_files_to_change(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    git(checkout, "clone", "-q", "--bare", ".", "../bare.git")
    bare = checkout.parent / "bare.git"
    assert refused(capsys, "cordon", "eu-1", "--repo", str(bare)) == (
        f"error: {bare} has no files to change\nhint: run this in a checkout\n"
    )


def test_unjoin_asks_what_becomes_of_the_objects(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        refused(capsys, "unjoin", "eu-1") == "error: what of its objects?\nhint: --delete-objects or --keep-objects\n"
    )


def test_join_needs_a_way_to_the_cluster(
    checkout: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert refused(capsys, "join", "eu-2") == (
        "error: how is it reached?\nhint: --cluster-kubeconfig FILE, or --kubeconfig FILE\n"
    )
    assert refused(capsys, "join", "EU") == (
        "error: the cluster name EU must be lowercase letters, digits and - only, with a letter or digit at both ends\n"
    )


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("tier", "error: 'tier' is no label\nhint: --labels KEY=VALUE,KEY=VALUE\n"),
        ("tier=a,tier=b", "error: label tier is given twice\n"),
    ],
)
def test_join_refuses_labels_that_are_none(
    checkout: Path, capsys: pytest.CaptureFixture[str], labels: str, message: str
) -> None:
    assert refused(capsys, "join", "eu-2", "--labels", labels) == message


def test_join_refuses_labels_that_kubernetes_would_refuse(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, "join", "eu-2", "--labels", "tier=a b").startswith("error: 'tier=a b': the value a b ")
    assert refused(capsys, "join", "eu-2", "--labels", "-=a").startswith("error: '-=a': the key - ")


def test_joining_again_does_not_change_labels(
    checkout: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    said = refused(capsys, "join", "eu-1", "--labels", "tier=a", "--credentials-dir", str(tmp_path / "keys"))
    assert said == (
        "error: cluster eu-1 is declared already: clusters/eu-1.yaml\n"
        "hint: its labels are changed in that file; without --labels only the token is renewed\n"
    )
