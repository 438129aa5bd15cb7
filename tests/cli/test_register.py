"""gitfed register and gitfed unregister: what is said before anybody is asked, and what is printed."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
import yaml

from gitfed.cli import main
from tests.cli.world import gitfed

PIN = "sha256:" + "0" * 64
TOKEN = "abcdef.0123456789abcdef"
HUB = "hub.example:8443"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((HUB, "--token", TOKEN), "what is the cluster called? --cluster-name NAME"),
        ((HUB, "--cluster-name", "Edge"), "the cluster name Edge must be lowercase letters, digits and - only, with a "
         "letter or digit at both ends"),
        ((HUB, "--cluster-name", "e", "--token", "abc"),
         "--token is to be what gitfed token create printed: six characters, a dot, sixteen"),
        ((HUB, "--cluster-name", "e", "--token", TOKEN), "how is the hub known? --discovery-token-ca-cert-hash "
         "sha256:HEX"),
        ((HUB, "--cluster-name", "e", "--token", TOKEN, "--discovery-token-ca-cert-hash", "sha256:AB"),
         "--discovery-token-ca-cert-hash: sha256:AB is no pin of an authority: sha256: and 64 lower-case hex digits"),
        ((HUB, "--cluster-name", "e", "--token", TOKEN, "--discovery-token-ca-cert-hash", PIN,
          "--discovery-token-unsafe-skip-ca-verification"),
         "--discovery-token-unsafe-skip-ca-verification and a pin exclude each other"),
        (("https://hub", "--cluster-name", "e", "--token", TOKEN, "--discovery-token-ca-cert-hash", PIN),
         "'https://hub' is not HOST:PORT"),
        ((HUB, "--cluster-name", "e", "--token", TOKEN, "--discovery-token-ca-cert-hash", PIN),
         "how is the cluster reached? --cluster-kubeconfig FILE"),
        ((HUB, "--cluster-name", "e", "--dry-run", "client", "--cluster-region", "a b"),
         "cluster e: spec.region: the region must be letters, digits, -, _ and . only, with a letter or digit at "
         "both ends"),
    ],
    ids=["no name", "a bad name", "a bad token", "no pin", "a bad pin", "a pin and none", "a URL", "no kubeconfig",
         "a bad region"],
)  # fmt: skip
def test_what_is_missing_or_wrong_is_named(arguments: tuple[str, ...], said: str) -> None:
    refused = gitfed("register", *arguments)
    assert refused.code == 2
    assert refused.err.splitlines()[0] == f"error: {said}"


def test_a_dry_run_prints_everything_but_the_key_and_asks_nobody() -> None:
    shown = gitfed("register", HUB, "--cluster-name", "edge-7", "--cluster-zones", "a,b", "--dry-run", "client")
    assert (shown.code, shown.err) == (0, "")
    found = list(yaml.safe_load_all(shown.out))
    assert [one["kind"] for one in found if one] == [
        "Namespace", "Secret", "ServiceAccount", "Role", "RoleBinding", "ClusterRoleBinding", "Deployment", "Cluster",
    ]  # fmt: skip
    assert found[1]["data"] == {"tls.key": "REDACTED"}
    assert found[-1] == {
        "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "edge-7"},
        "spec": {"syncMode": "Pull", "zones": ["a", "b"]},
    }  # fmt: skip


def test_the_agent_is_started_with_options_that_it_has() -> None:
    shown = gitfed("register", HUB, "--cluster-name", "e", "--dry-run", "client")
    deployment = next(one for one in yaml.safe_load_all(shown.out) if one["kind"] == "Deployment")
    first, *words = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    assert first == "agent"
    command = main.cli.get_command(click.Context(main.cli), "agent")
    assert command is not None
    known = {name for parameter in command.params for name in parameter.opts}
    assert {word.partition("=")[0] for word in words} <= known
    assert f"--hub-url=https://{HUB}" in words


def test_without_a_role_the_agent_is_bound_to_none() -> None:
    shown = gitfed("register", HUB, "--cluster-name", "e", "--cluster-role", "", "--dry-run", "client")
    assert "ClusterRoleBinding" not in shown.out


def test_a_pushed_cluster_is_neither_registered_nor_unregistered(fleet: Path, tmp_path: Path) -> None:
    config = tmp_path / "admin.conf"
    config.write_text("apiVersion: v1\nkind: Config\n")
    refused = gitfed("register", HUB, "--cluster-name", "eu-1", "--token", TOKEN, "--discovery-token-ca-cert-hash", PIN,
                     "--cluster-kubeconfig", config, "--repo", fleet)  # fmt: skip
    assert (refused.code, refused.err.splitlines()[0]) == (
        2, "error: cluster eu-1 is declared already, with syncMode Push: clusters/eu-1.yaml",
    )  # fmt: skip
    refused = gitfed("unregister", "eu-1", "--keep-objects", "--cluster-kubeconfig", config, "--repo", fleet)
    assert (refused.code, refused.err) == (
        2, "error: cluster eu-1 is not pulled by an agent\nhint: gitfed unjoin eu-1\n",
    )  # fmt: skip


def test_a_pulled_cluster_is_not_unjoined(fleet: Path) -> None:
    path = fleet / "clusters" / "eu-1.yaml"
    path.write_text(path.read_text().replace("Push", "Pull"))
    refused = gitfed("unjoin", "eu-1", "--keep-objects", "--repo", fleet)
    assert (refused.code, refused.err) == (
        2, "error: cluster eu-1 is pulled by an agent\nhint: gitfed unregister eu-1\n",
    )  # fmt: skip
