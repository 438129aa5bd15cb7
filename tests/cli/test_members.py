"""kubectl's commands for clusters of the fleet: what kubectl is called with, and what becomes of what it says."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.world import gitfed

_KUBECTL = """#!/bin/sh
printf '%s\\n' "$@" > "$SEEN/arguments.$$" && mv "$SEEN/arguments.$$" "$SEEN/arguments"
cp "${KUBECONFIG%%:*}" "$SEEN/kubeconfig.$$" && mv "$SEEN/kubeconfig.$$" "$SEEN/kubeconfig"
stat -c %a "${KUBECONFIG%%:*}" > "$SEEN/mode"
case "$2" in
  gone) echo "The connection was refused" >&2; exit 1 ;;
  *) [ -f "$SEEN/says" ] && cat "$SEEN/says"; exit "${CODE:-0}" ;;
esac
"""
HUB = "https://hub.example:8443"


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a kubectl that does nothing writes how it was called. There are contexts m1, m2 and gone, and a token."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "kubectl").write_text(_KUBECTL)
    (folder / "kubectl").chmod(0o755)
    config = {"apiVersion": "v1", "kind": "Config", "contexts": [
        {"name": name, "context": {"cluster": name, "user": name}} for name in ("m1", "m2", "gone")]}  # fmt: skip
    (tmp_path / "own.conf").write_text(json.dumps(config))
    (tmp_path / "token").write_text("ann\n")
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SEEN", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "own.conf"))
    return tmp_path


def arguments(seen: Path) -> list[str]:
    return (seen / "arguments").read_text().splitlines()


def test_everything_but_our_own_options_goes_to_kubectl_as_it_is(seen: Path) -> None:
    given = ["-nshop", "web", "-it", "-lapp=Charm", "--", "ls", "-C", "--server", "x"]
    assert gitfed("exec", "-C", "m1", *given).code == 0
    assert arguments(seen) == ["--context", "m1", "exec", *given]
    assert gitfed("port-forward", "web", "8080:80", "--cluster=m2", "--address", "::1").code == 0
    assert arguments(seen) == ["--context", "m2", "port-forward", "web", "8080:80", "--address", "::1"]


def test_through_a_hub_kubectl_gets_a_kubeconfig_of_its_own(seen: Path) -> None:
    done = gitfed("logs", "web", "-f", "-C", "eu-1", "--server", HUB, "--token-file", seen / "token")
    assert (done.code, arguments(seen)) == (0, ["--context", "eu-1", "logs", "web", "-f"])
    shown = (seen / "kubeconfig").read_text()
    assert f"server: {HUB}/apis/cluster.karmada.io/v1alpha1/clusters/eu-1/proxy\n" in shown
    assert "token: ann\n" in shown
    assert (seen / "mode").read_text() == "600\n"


def test_the_exit_code_is_kubectls(seen: Path) -> None:
    assert gitfed("exec", "-C", "m1", "web", "--", "false", env={"CODE": "7"}).code == 7


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (["logs", "web"], "logs is for one cluster: -C NAME"),
        (["logs", "web", "-C", "m1,m2"], "logs is for one cluster: -C NAME"),
        (["logs", "web", "-C", "m9"], "own.conf: no context 'm9', and no hub is named"),
        (["logs", "-C", "M 1", "--server", HUB, "--token-file", "{seen}/token"], "'M 1' is no name of a cluster"),
        (["logs", "-C", "m1", "--server", "http://localhost:1", "--token-file", "{seen}/token"],
         "the hub at http://localhost:1 has no TLS, so kubectl sends it no credential"),
        (["get", "pods", "-C", "m1", "-c", "m2"], "-C names the clusters: --cluster is for what gitfed itself tells"),
        (["get", "pods", "-C", "m1", "-w", "-o", "json"], "what is followed comes as text: -o wide or name"),
        (["get", "pods", "-C", "m1", "-A", "-n", "shop"], "--namespace and --all-namespaces exclude each other"),
        (["get", "clusters", "-A"], "--all-namespaces and --selector are about objects in clusters: -C names them"),
        (["top", "pods"], "what is used is asked of clusters: -C names them"),
        (["top", "clusters", "-C", "m1"], "what a cluster uses is the sum of its nodes: gitfed top nodes -C …"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_told(seen: Path, given: list[str], error: str) -> None:
    done = gitfed(*(one.format(seen=seen) for one in given))
    assert done.code == 2
    assert error in done.err.splitlines()[0]


def test_where_kubectl_is_missing_it_is_said(seen: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(seen))
    done = gitfed("logs", "web", "-C", "m1")
    assert done.code == 2
    assert done.err == (
        "error: there is no kubectl on this machine (PATH), and this command runs it\n"
        "hint: https://kubernetes.io/docs/tasks/tools/\n"
    )


def test_a_list_of_several_clusters_has_a_column_that_names_them(seen: Path) -> None:
    (seen / "says").write_text("NAME    READY   AGE   FEDERATION\nweb-1   1/1     2d    acme\nweb-2   1/1     2d\n")
    done = gitfed("get", "pods", "web-1", "-C", "m1,m2,gone", "-n", "shop", "-l", "app=web")
    assert (done.code, done.err) == (4, "note: cluster gone: The connection was refused\n")
    assert [line.split() for line in done.out.splitlines()] == [
        ["NAME", "CLUSTER", "READY", "AGE", "ADOPTION"],
        ["web-1", "m1", "1/1", "2d", "Y"], ["web-2", "m1", "1/1", "2d", "N"],
        ["web-1", "m2", "1/1", "2d", "Y"], ["web-2", "m2", "1/1", "2d", "N"],
    ]  # fmt: skip
    assert arguments(seen)[2:] == [
        "--request-timeout=30s", "get", "pods", "web-1", "--namespace=shop", "--selector=app=web",
        "--label-columns=gitfed.io/federation",
    ]  # fmt: skip


def test_names_come_as_kubectl_prints_them(seen: Path) -> None:
    (seen / "says").write_text("pod/web-1\npod/web-2\n")
    done = gitfed("get", "pods", "-C", "m1,m2", "-o", "name")
    assert (done.code, done.out) == (0, "pod/web-1\npod/web-2\n" * 2)
    assert arguments(seen)[3:] == ["get", "pods", "-o", "name"]


def test_what_changes_in_several_clusters_is_one_table(seen: Path) -> None:
    (seen / "says").write_text(
        "NAME   STATUS   AGE   FEDERATION\n"
        "web    Ready    2d    acme\n"
        "a-longer-name   Not ready (again)   2d    <none>\n"
    )  # fmt: skip
    done = gitfed("get", "pods", "-C", "m1", "--watch")
    assert (done.code, done.err) == (0, "note: cluster m1: the watch has ended\n")
    assert done.out == (
        "NAME   CLUSTER   STATUS   AGE   ADOPTION\n"
        "web    m1        Ready    2d    Y\n"
        "a-longer-name   m1        Not ready (again)   2d    N\n"
    )
    assert arguments(seen) == ["--context", "m1", "get", "pods", "--watch", "--label-columns=gitfed.io/federation"]
    done = gitfed("get", "pods", "-C", "m1,m2,gone", "--watch")
    assert done.code == 4
    assert sorted(done.err.splitlines()) == [
        "note: cluster gone: The connection was refused",
        "note: cluster m1: the watch has ended",
        "note: cluster m2: the watch has ended",
    ]
    rows = [line.split()[:2] for line in done.out.splitlines()]
    assert rows[0] == ["NAME", "CLUSTER"]
    assert sorted(rows[1:]) == [["a-longer-name", "m1"], ["a-longer-name", "m2"], ["web", "m1"], ["web", "m2"]]


def test_a_list_in_json_names_the_cluster_of_each_object(seen: Path) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}
    (seen / "says").write_text(json.dumps({"kind": "List", "items": [pod]}))
    done = gitfed("get", "works", "-C", "m1,m2", "-A", "-o", "json")
    assert done.code == 0
    names = [one["metadata"]["annotations"] for one in json.loads(done.out)["items"]]
    assert names == [{"resource.karmada.io/cached-from-cluster": one} for one in ("m1", "m2")]
    assert arguments(seen)[3:] == ["get", "works", "-A", "-o", "json"]


def test_what_pods_use_is_measured_in_each_cluster(seen: Path) -> None:
    (seen / "says").write_text("NAME   CPU(cores)   MEMORY(bytes)\nweb    3m           20Mi\n")
    done = gitfed("top", "pods", "-C", "m1,m2", "-n", "shop", "--sort-by", "cpu")
    assert done.code == 0
    assert [line.split()[:2] for line in done.out.splitlines()] == [["NAME", "CLUSTER"], ["web", "m1"], ["web", "m2"]]
    assert arguments(seen)[3:] == ["top", "pods", "--namespace=shop", "--sort-by=cpu"]
