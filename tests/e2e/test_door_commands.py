"""Every kubectl command that people use, through the door of a cluster and through that of the fleet.

With two kubectls, on the embedded fleet and on real API servers, which get a node that pretends to run their pods.
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.clusters import beside
from tests.clusters.node import node
from tests.e2e import worlds
from tests.e2e.through_door import Kubectl
from tests.e2e.world import World, cluster, settings
from tests.support import needs, patience

pytestmark = pytest.mark.e2e

_ACCESS = {
    "apiVersion": "gitfed.io/v1alpha1", "kind": "AccessPolicy", "metadata": {"name": "team"},
    "spec": {"subjects": [{"kind": "User", "name": "ann"}], "allow": ["proxy"]},
}  # fmt: skip
_ALL = {
    "metadata": {"name": "ann"}, "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}],
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
}  # fmt: skip
_POD_SPEC = {"containers": [{"name": "web", "image": "nginx:1", "ports": [{"containerPort": 80}],
                             "env": [{"name": "GREETING", "value": "hello"}]}],
             "terminationGracePeriodSeconds": 0}  # fmt: skip


@contextlib.contextmanager
def _real(names: list[str], directory: Path) -> Iterator[World]:
    with worlds.real(names, directory) as world, contextlib.ExitStack() as stack:
        loop = beside.Loop()
        stack.callback(loop.close)
        for name in names:
            machine = node(world.endpoints[name])
            made = loop.call(machine.__aenter__())
            stack.callback(lambda machine=machine: loop.call(machine.__aexit__(None, None, None)))
            stack.callback(lambda made=made: made.check())
        yield world


CLUSTER, FLEET = "door of a cluster", "door of the fleet"
Doors = Mapping[str, Kubectl]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(worlds.embedded_with_pods, id="embedded"),
        pytest.param(_real, id="real", marks=needs.program("kube-apiserver", "etcd")),
    ],
)
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, Doors]]:
    """Two clusters whose pods run, and the hub's doors to them; ann may do everything."""
    with request.param(["m1", "m2"], tmp_path_factory.mktemp("doors")) as world:
        world.push({"gitfed.json": settings(), "access.json": json.dumps(_ACCESS),
                    **{f"clusters/{name}.json": cluster(name) for name in world.names}})  # fmt: skip
        for name in world.names:
            world.ask(name, "POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", _ALL)
        daemon = world.daemon("--hub-address", "0.0.0.0:0")
        doors = {CLUSTER: Kubectl(world, daemon, "--cluster", "m2"), FLEET: Kubectl(world, daemon, "--fleet")}
        # The hub looks every few seconds which clusters can be asked; until then none of them is there.
        for door in doors.values():
            world.until(lambda door=door: door.works("auth", "whoami"), "the door is open")
        yield world, doors


@pytest.fixture(params=[CLUSTER, FLEET])
def door(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=needs.both_kubectls())
def kubectl(request: pytest.FixtureRequest, running: tuple[World, Doors], door: str) -> Iterator[Kubectl]:
    """At the door, with a pod `web` that runs in m2, in the namespace `default`."""
    world, doors = running
    pods = "/api/v1/namespaces/default/pods"
    machine = world.ask("m2", "GET", "/api/v1/nodes")["items"][0]["metadata"]["name"]
    pod = {"metadata": {"name": "web", "labels": {"app": "web"}}, "spec": {**_POD_SPEC, "nodeName": machine}}
    world.ask("m2", "POST", pods, {"apiVersion": "v1", "kind": "Pod", **pod})
    made = doors[door].by(request.param)
    assert made("wait", "pod/web", "--for=condition=Ready", "--timeout=120s") == "pod/web condition met\n"
    yield made
    world.ask("m2", "DELETE", pods)
    world.until(lambda: world.ask("m2", "GET", pods)["items"] == [], "the pod is gone")


def _line_with(text: str, process: subprocess.Popen[str]) -> str:
    """Its first line that holds this text; a program that ends without one fails the test."""
    assert process.stdout is not None
    printed = []
    for line in process.stdout:
        if text in line:
            return line
        printed.append(line)
    raise AssertionError(f"it ended without {text!r}: {printed}")


def _at_terminal(kubectl: Kubectl, *arguments: str, typed: str) -> str:
    """What a terminal shows until the program ends."""
    ours, theirs = pty.openpty()
    process = kubectl.at_terminal(theirs, *arguments)
    os.close(theirs)
    os.write(ours, typed.encode())
    shown = b""
    with contextlib.suppress(OSError):  # a terminal that nobody holds any more
        while part := os.read(ours, 4096):
            shown += part
    os.close(ours)
    assert process.wait(patience.SECONDS) == 0, shown.decode()
    return shown.decode()


def test_containers_are_reached_by_every_command(kubectl: Kubectl, tmp_path: Path) -> None:
    assert kubectl("logs", "web").startswith("web of default/web starts on ")
    assert "GREETING=hello\n" in kubectl("exec", "web", "--", "env")
    assert kubectl("exec", "-i", "web", "--", "cat", given="typed\n") == "typed\n"
    assert "exit code 3" in kubectl("exec", "web", "--", "sh", "-c", "exit 3", code=3)
    assert "hello\r\n" in _at_terminal(kubectl, "exec", "-it", "web", "--", "sh", typed="echo $GREETING\nexit\n")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("some text " * 100_000)
    kubectl("cp", f"{tmp_path}/in", "web:/srv")
    kubectl("cp", "web:/srv/a.txt", f"{tmp_path}/out.txt")
    assert (tmp_path / "out.txt").read_text() == "some text " * 100_000
    with kubectl.following("port-forward pod/web :80 --address 127.0.0.1") as forward:
        port = re.search(r":(\d+) ->", _line_with("Forwarding from", forward))
        assert port is not None
        for _ in range(2):
            with urllib.request.urlopen(f"http://127.0.0.1:{port[1]}/", timeout=patience.SECONDS) as answer:
                assert answer.read() == b"default/web answers on port 80\n"
    assert kubectl("top", "pod").split()[3] == "web"
    assert "CPU(cores)" in kubectl("top", "node")
    with kubectl.following("attach web") as attached, kubectl.following("logs -f web --tail=1") as logs:
        for process in (attached, logs):
            _line_with("web of web is alive", process)
        assert 'pod "web" deleted' in kubectl("delete", "pod", "web")
        for process in (attached, logs):
            assert process.wait(patience.SECONDS) == 0


def test_objects_are_read_and_changed_by_every_command(
    kubectl: Kubectl, running: tuple[World, Doors], door: str, tmp_path: Path
) -> None:
    world, _ = running
    titles = kubectl("get", "pods").splitlines()[0].split()
    assert [title for title in titles if title != "CLUSTER"] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert ("CLUSTER" in titles) == (door == FLEET)
    assert " NODE " in kubectl("get", "pods", "-o", "wide")
    assert "app: web" in kubectl("get", "pod", "web", "-o", "yaml")
    assert kubectl("get", "pods", "-l", "app=web", "-o", "name") == "pod/web\n"
    assert "web " in kubectl("get", "pods", "-A", "--chunk-size=1")
    assert re.match(r"Name: +web\n", kubectl("describe", "pod", "web"))
    assert "serverVersion" in json.loads(kubectl("version", "-o", "json"))
    assert "deployments" in kubectl("api-resources", "--api-group=apps")
    assert "apps/v1" in kubectl("api-versions").splitlines()
    assert "replicas" in kubectl("explain", "deployment.spec")
    assert kubectl("auth", "can-i", "delete", "pods") == "yes\n"

    made = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "front", "namespace": "default"},
            "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "front"}},
                     "template": {"metadata": {"labels": {"app": "front"}}, "spec": _POD_SPEC}}}  # fmt: skip
    if door == FLEET:
        refused = kubectl("apply", "-f", "-", given=json.dumps(made), code=1)
        assert "POST without a name is for one cluster: use its own door" in refused
        world.ask("m2", "POST", "/apis/apps/v1/namespaces/default/deployments", made)
    else:
        assert kubectl("apply", "-f", "-", given=json.dumps(made)) == "deployment.apps/front created\n"
    made["metadata"]["labels"] = {"step": "2"}  # type: ignore[index]
    assert '+    step: "2"' in kubectl("diff", "-f", "-", given=json.dumps(made), code=1)
    assert "deployment.apps/front configured\n" in kubectl("apply", "-f", "-", given=json.dumps(made))
    made["metadata"]["labels"] = {"step": "3"}  # type: ignore[index]
    assert "serverside-applied" in kubectl(
        "apply", "--server-side", "--force-conflicts", "-f", "-", given=json.dumps(made)
    )
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i \'s/step: "3"/step: "4"/\' "$1"\n')
    editor.chmod(0o755)
    assert kubectl("edit", "deployment", "front", env={"KUBE_EDITOR": str(editor)}) == "deployment.apps/front edited\n"
    assert kubectl("get", "deployment", "front", "-o", "jsonpath={.metadata.labels.step}") == "4"
    if "observedGeneration" not in world.get("m2", "Deployment", "default", "front")["status"]:  # type: ignore[index]
        world.mark_available("m2", "default", "front")  # nothing here does it
    assert kubectl("rollout", "status", "deployment/front") == 'deployment "front" successfully rolled out\n'
    with kubectl.following("get deployments -w --output-watch-events") as watch:
        _line_with("ADDED", watch)
        assert "labeled" in kubectl("label", "deployment", "front", "seen=yes")
        _line_with("MODIFIED", watch)
        waiting = kubectl.start("wait", "--for=delete", "deployment/front", "--timeout=120s")
        assert 'deployment.apps "front" deleted' in kubectl("delete", "deployment", "front", "--cascade=background")
        _line_with("DELETED", watch)
    assert waiting.wait(patience.SECONDS) == 0
    waiting.communicate()
