"""gitfed import kubefed: files from an export, nothing overwritten, everything said that is not in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.checkout import call, git, refused
from tests.cli.checkout import checkout as checkout

EXPORT = """\
apiVersion: v1
kind: List
items:
- apiVersion: core.kubefed.io/v1beta1
  kind: KubeFedCluster
  metadata: {name: us-2, namespace: kube-federation-system, labels: {region: us}}
  spec: {apiEndpoint: "https://us-2.example.com", secretRef: {name: us-2-x}}
- apiVersion: types.kubefed.io/v1beta1
  kind: FederatedNamespace
  metadata: {name: shop, namespace: shop}
  spec: {placement: {clusterSelector: {}}}
- apiVersion: types.kubefed.io/v1beta1
  kind: FederatedSecret
  metadata: {name: key, namespace: shop}
  spec: {template: {data: {a: c2VjcmV0}}, placement: {clusterSelector: {}}}
- apiVersion: types.kubefed.io/v1beta1
  kind: FederatedConfigMap
  metadata: {name: conf, namespace: shop}
  spec: {template: {data: {a: b}}, placement: {clusters: [{name: us-2}]}}
"""


@pytest.fixture
def export(tmp_path: Path) -> Path:
    folder = tmp_path / "export"
    folder.mkdir()
    (folder / "all.yaml").write_text(EXPORT)
    (folder / "README.md").write_text("no object")
    return folder


def test_an_export_of_kubefed_becomes_files_and_a_report(checkout: Path, export: Path) -> None:
    result = call("import", "kubefed", str(export))
    assert result.exit_code == 0
    assert result.stdout == (
        "5 objects in 5 files\n"
        "  Cluster                    1\n"
        "  ClusterPropagationPolicy   1\n"
        "  ConfigMap                  1\n"
        "  Namespace                  1\n"
        "  PropagationPolicy          1\n"
        "SecretLeftOut (1)\n"
        "  FederatedSecret/shop/key: the values of a Secret do not belong into Git\n"
        "  hint: encrypt them, or have each cluster fetch them; --with-secrets writes them all the same\n"
        "Credentials (1)\n"
        "  KubeFedCluster/us-2: its token and certificate authority are not taken over\n"
        "  hint: put token, caBundle and server into CREDENTIALS/kube-federation-system/us-2-x/ for "
        "--credentials-dir, or name a context us-2 in the daemon's kubeconfig\n"
    )
    assert (checkout / "shop/configmap-conf.yaml").read_text() == (
        "apiVersion: v1\ndata:\n  a: b\nkind: ConfigMap\nmetadata:\n  name: conf\n  namespace: shop\n"
    )
    assert call("validate", "--worktree").exit_code == 0


def test_nothing_is_written_where_a_file_would_be_overwritten(
    checkout: Path, export: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    (checkout / "shop").mkdir()
    (checkout / "shop/namespace.yaml").write_text("mine: true\n")
    said = refused(capsys, "import", "kubefed", str(export))
    assert "shop/namespace.yaml exists already; nothing was written" in said
    assert not (checkout / "clusters/us-2.yaml").exists()
    assert call("import", "kubefed", str(export), "--into", "fleet").exit_code == 0
    assert (checkout / "fleet/clusters/us-2.yaml").exists()


def test_a_dry_run_shows_the_files_and_writes_none(checkout: Path, export: Path) -> None:
    result = call("import", "kubefed", str(export), "--dry-run", "client")
    assert "+++ b/shop/configmap-conf.yaml" in result.stdout
    assert git(checkout, "status", "--porcelain") == ""


def test_a_broken_export_is_named_and_nothing_is_written(
    checkout: Path, export: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    from gitfed.cli.main import run

    (export / "bad.yaml").write_text("a: [\n")
    assert run(["import", "kubefed", str(export)]) == 3
    assert f"{export}/bad.yaml:" in capsys.readouterr().err
    assert git(checkout, "status", "--porcelain") == ""
    (export / "bad.yaml").unlink()
    (export / "all.yaml").write_text("# nothing\n")
    assert "the export holds no objects" in refused(capsys, "import", "kubefed", str(export))


KARMADA = """\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: conf, namespace: shop, uid: u, resourceVersion: "7", managedFields: [{}]}
  data: {a: b}
- apiVersion: policy.karmada.io/v1alpha1
  kind: PropagationPolicy
  metadata: {name: conf, namespace: shop, uid: u, generation: 1}
  spec:
    resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: conf}]
    placement: {clusterAffinity: {clusterNames: [eu-1]}}
- apiVersion: work.karmada.io/v1alpha2
  kind: ResourceBinding
  metadata: {name: conf-configmap, namespace: shop, uid: u}
  spec:
    resource: {apiVersion: v1, kind: ConfigMap, namespace: shop, name: conf}
    clusters: [{name: eu-1}]
"""


def test_a_control_plane_becomes_files_and_decisions(checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "karmada.yaml").write_text(KARMADA)
    decisions = tmp_path / "decisions.yaml"
    result = call("import", "karmada", str(tmp_path / "karmada.yaml"), "--decisions-out", str(decisions))
    assert result.stdout == "2 objects in 2 files\n  ConfigMap           1\n  PropagationPolicy   1\n"
    assert f"note: bindings: 1, in {decisions}: gitfed plan --worktree --decisions {decisions}" in result.stderr
    plan = call("plan", "--worktree", "--decisions", str(decisions))
    assert plan.exit_code == 0
    assert "Nothing to do: the placement of 2 objects is as recorded" in plan.stdout


def test_a_control_plane_is_read_from_files_or_by_a_kubeconfig(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    assert "read from files or from the control plane?" in refused(capsys, "import", "karmada")


def test_the_first_commit_of_a_fleet_has_its_settings(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    (tmp_path / "karmada.yaml").write_text(KARMADA)
    fresh = tmp_path / "fresh"
    assert call("init", str(fresh), "--bare-bones", "--name", "acme").exit_code == 0
    monkeypatch.chdir(fresh)
    for name, value in (("user.name", "Test"), ("user.email", "test@example.com")):
        git(fresh, "config", name, value)
    said = call("import", "karmada", str(tmp_path / "karmada.yaml"), "--into", "first")
    assert "Next: git add -A -- first/" in said.stderr
    assert " gitfed.yaml && git commit -m" in said.stderr
    result = call("import", "karmada", str(tmp_path / "karmada.yaml"), "--into", "fleet", "--commit")
    assert result.exit_code == 0
    committed = git(fresh, "show", "--name-only", "--format=", "HEAD").split()
    assert "gitfed.yaml" in committed
    assert all(path == "gitfed.yaml" or path.startswith("fleet/") for path in committed)
    (fresh / "gitfed.yaml").write_text((fresh / "gitfed.yaml").read_text() + "# by hand\n")
    assert call("import", "karmada", str(tmp_path / "karmada.yaml"), "--into", "again", "--commit").exit_code == 0
    assert "gitfed.yaml" not in git(fresh, "show", "--name-only", "--format=", "HEAD").split()
