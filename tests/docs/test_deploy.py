"""What is in deploy/ works: an API server takes the manifests, and the rights suffice for what gitfed asks for."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from multidict import CIMultiDict

from gitfed.cli.main import cli
from gitfed.daemon import apply_once, wiring
from gitfed.hub import shared_authority
from gitfed.hub.enrolment import shared_ledger
from gitfed.offline import inputs
from gitfed.registration import agent_manifests
from gitfed.text import yaml
from kubesim.cluster import Cluster
from kubesim.server.request import Request, Response, User, locate
from tests.cli.world import gitfed
from tests.clusters.apiserver import RealApiServer
from tests.docs.pages import ROOT
from tests.support import needs

KUBERNETES = ROOT / "deploy" / "kubernetes"
UNIT = ROOT / "deploy" / "systemd" / "gitfed.service"
MANIFESTS = ("daemon.yaml", "member-rbac.yaml", "agent.yaml", "pool.yaml")
"""In the order in which they are applied: the second makes what the third stands in."""
_CLUSTERS = ("eu-1", "eu-2", "us-1", "us-staging")
_TOKEN = "of-the-member-account"
_ADMIN = User("admin", groups=("system:masters",))
_MEMBER = User(
    "system:serviceaccount:gitfed-system:gitfed",
    groups=("system:serviceaccounts", "system:serviceaccounts:gitfed-system", "system:authenticated"),
)
_BY_ROOM = """\
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: cache, namespace: shop}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: cache}]
  placement:
    replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Aggregated}
"""
_PLURALS = {"Ingress": "ingresses", "NetworkPolicy": "networkpolicies"}


def _documents(name: str) -> list[dict[str, Any]]:
    return [dict(document) for document in yaml.load_all((KUBERNETES / name).read_bytes())]


def _path(body: dict[str, Any]) -> str:
    version, kind = body["apiVersion"], body["kind"]
    space = body["metadata"].get("namespace")
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    return f"{root}{f'/namespaces/{space}' if space else ''}/{_PLURALS.get(kind, kind.lower() + 's')}"


@dataclass
class Recorder:
    """In front of a cluster: what the member account asks for, and what it is refused."""

    cluster: Cluster
    asked: set[tuple[str, str, str, str]] = field(default_factory=set)
    """(verb, group, resource, namespace)"""
    refused: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._inner = self.cluster.handler
        self.cluster.world.tokens[_TOKEN] = _MEMBER
        self.cluster.handler = self  # type: ignore[assignment]

    def create(self, body: dict[str, Any]) -> Response:
        query = {"fieldValidation": ["Strict"]}
        headers = CIMultiDict(
            {"Content-Type": "application/json", "Authorization": f"Bearer {next(iter(self.cluster.world.tokens))}"}
        )
        request = Request("POST", _path(body), query, headers, json.dumps(body).encode(), _ADMIN)
        return self._inner.handle(request)

    def handle(self, request: Request) -> Response:
        response = self._inner.handle(request)
        if request.headers.get("Authorization") == f"Bearer {_TOKEN}":
            address = locate(request.method, request.path, request.query)
            if address is not None:
                self.asked.add((address.verb, address.group, address.resource, address.namespace))
            if response.status in (401, 403):
                self.refused.append(f"{request.method} {request.path}: {response.body.decode()}")
        return response


@contextlib.asynccontextmanager
async def _members(
    folder: Path, rights: Callable[[str], Iterable[dict[str, Any]]]
) -> AsyncIterator[tuple[Path, list[Recorder]]]:
    """(kubeconfig, clusters) with a member account that has these rights, and no others."""
    recorders = [Recorder(Cluster(name)) for name in _CLUSTERS]
    merged: dict[str, Any] = {"apiVersion": "v1", "kind": "Config", "clusters": [], "users": [], "contexts": []}
    for recorder in recorders:
        await recorder.cluster.start()
        part = recorder.cluster.kubeconfig()
        part["users"][0]["user"] = {"token": _TOKEN}
        for section in ("clusters", "users", "contexts"):
            merged[section] += part[section]
        for body in rights(recorder.cluster.name):
            assert recorder.create(body).status == 201, body["metadata"]["name"]
    path = folder / "kubeconfig"
    path.write_text(json.dumps(merged))
    yield path, recorders
    for recorder in recorders:
        await recorder.cluster.stop()


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[tuple[Path, list[Recorder]]]:
    async with _members(tmp_path, lambda _: _documents("member-rbac.yaml")) as found:
        yield found


def _git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example")
    subprocess.run(["git", "-C", str(folder), *identity, *words], check=True, capture_output=True)


def _repository(folder: Path) -> Path:
    """The examples, with a workload that goes by room."""
    repository = folder / "fleet"
    shutil.copytree(ROOT / "examples" / "repo", repository)
    _git(repository, "init", "-q", "-b", "main")
    (repository / "policies" / "room.yaml").write_text(_BY_ROOM)
    _git(repository, "add", "-A")
    _git(repository, "commit", "-q", "-m", "all")
    return repository


async def _carry_out(repository: Path, kubeconfig: Path, data: Path) -> None:
    """Everything, and then a deletion."""
    settings = wiring.DaemonOptions(repo=str(repository), kubeconfig=(kubeconfig,), data_dir=data, push_state=False)
    for change in ("all", "less"):
        if change == "less":
            (repository / "apps" / "shop" / "migrate.yaml").unlink()
            _git(repository, "add", "-A")
            _git(repository, "commit", "-q", "-m", change)
        await wiring.observe(inputs.read(inputs.open_repository(str(repository))).repo, settings)
        done = await apply_once.apply_once(settings, apply_once.Order(60, wait=False))
        assert (done.failures, done.unreachable, done.settled) == ((), {}, True)


@pytest.mark.parametrize("narrow", [(), ("--only-placed",)], ids=["what may come", "what is placed"])
async def test_the_rights_that_gitfed_rbac_prints_suffice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, narrow: tuple[str, ...]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    repository = _repository(tmp_path)
    account = _documents("member-rbac.yaml")[:2]

    def rights(cluster: str) -> list[dict[str, Any]]:
        said = gitfed("rbac", "--repo", repository, "--cluster", cluster, *narrow)
        assert said.code == 0, said.err
        return [*account, *(dict(body) for body in yaml.load_all(said.out.encode()))]

    async with _members(tmp_path, rights) as (kubeconfig, recorders):
        await _carry_out(repository, kubeconfig, tmp_path / "data")
    assert [text for recorder in recorders for text in recorder.refused] == []


async def test_the_rights_of_a_member_suffice_and_each_verb_is_used(
    fleet: tuple[Path, list[Recorder]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    kubeconfig, recorders = fleet
    await _carry_out(_repository(tmp_path), kubeconfig, tmp_path / "data")
    assert [text for recorder in recorders for text in recorder.refused] == []

    asked = set[tuple[str, str, str, str]]().union(*(recorder.asked for recorder in recorders))
    rules = {body["metadata"]["name"]: body["rules"] for body in _documents("member-rbac.yaml") if "rules" in body}
    granted = {verb for rule in rules["gitfed-objects"] for verb in rule["verbs"]}
    room = {(verb, resource) for verb, _, resource, _ in asked if resource in ("nodes", "pods")}
    assert room == {(verb, name) for name in ("nodes", "pods") for verb in rules["gitfed-room"][0]["verbs"]}
    outside = {verb for verb, _, resource, space in asked if space != "gitfed-system" and resource != "nodes"}
    # create is no request of its own: the server asks for that right when an apply makes an object.
    assert outside == granted - {"create"}
    inventory = {verb for verb, _, resource, space in asked if (resource, space) == ("configmaps", "gitfed-system")}
    assert inventory <= set(rules["gitfed-inventory"][0]["verbs"])
    assert ("delete", "", "namespaces", "") not in asked


def test_an_api_server_takes_every_manifest_without_a_complaint() -> None:
    recorder = Recorder(Cluster("hub"))
    for name in MANIFESTS:
        for body in _documents(name):
            answer = recorder.create(body)
            assert answer.status == 201, answer.body.decode()
            assert [value for header, value in answer.headers if header == "Warning"] == []


@needs.program("kube-apiserver", "etcd", "kubectl")
def test_a_real_api_server_takes_every_manifest_and_gives_no_warning(tmp_path: Path) -> None:
    server = RealApiServer(tmp_path, "real")
    server.start()
    kubeconfig = tmp_path / "kubeconfig"
    try:
        kubeconfig.write_text(json.dumps(server.kubeconfig()))
        for name in MANIFESTS:
            apply = [str(needs.path_of("kubectl")), "--kubeconfig", str(kubeconfig), "apply", "--server-side"]
            done = subprocess.run(
                [*apply, "--validate=strict", "--warnings-as-errors", "-f", str(KUBERNETES / name)],
                capture_output=True,
                text=True,
                check=False,
            )
            assert (done.returncode, done.stderr) == (0, ""), name
            assert done.stdout.count("serverside-applied") == len(_documents(name))
    finally:
        server.stop()


def test_every_manifest_is_tried() -> None:
    assert sorted(MANIFESTS) == sorted(path.name for path in KUBERNETES.iterdir())


def _options_of(name: str) -> set[str]:
    import click

    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    return {name for parameter in command.params for name in parameter.opts}


def test_the_deployment_uses_options_that_exist_and_probes_the_health_endpoint() -> None:
    deployment = next(body for body in _documents("daemon.yaml") if body["kind"] == "StatefulSet")
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    first, *words = container["args"]
    assert first == "run"
    given = {name: value for name, _, value in (word.partition("=") for word in words)}
    assert given.keys() <= _options_of("run")
    port = next(port for port in container["ports"] if port["name"] == "health")
    assert given["--health-address"].rpartition(":")[2] == str(port["containerPort"])
    probes = (container["livenessProbe"], container["readinessProbe"])
    assert [probe["httpGet"]["path"] for probe in probes] == ["/livez", "/readyz"]
    mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
    for option in ("--kubeconfig", "--data-dir"):
        assert any(given[option].startswith(f"{mount}/") for mount in mounts), option
    # Several replicas need an election, and the election the rights on its Lease.
    assert deployment["spec"]["replicas"] > 1
    assert "--leader-elect" in given
    space = given["--leader-elect-resource-namespace"]
    assert space == deployment["metadata"]["namespace"]
    role = next(body for body in _documents("daemon.yaml") if body["kind"] == "Role")
    assert role["metadata"]["namespace"] == space
    assert [(rule["verbs"], rule.get("resourceNames")) for rule in role["rules"]] == [
        (["create"], None),
        (["get", "update"], ["gitfed"]),
    ]
    hub = next(body for body in _documents("daemon.yaml") if body["metadata"]["name"] == "gitfed-hub")
    assert [(rule["verbs"], rule["resources"], rule.get("resourceNames")) for rule in hub["rules"]] == [
        (["create"], ["secrets"], None),
        (["get"], ["secrets"], [shared_authority.NAME]),
        (["get", "update"], ["secrets"], [shared_ledger.NAME]),
    ]
    assert deployment["spec"]["template"]["spec"]["automountServiceAccountToken"] is True


def test_the_deployment_of_an_agent_may_renew_its_certificate_and_is_alone() -> None:
    deployment = next(body for body in _documents("agent.yaml") if body["kind"] == "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    container = pod["containers"][0]
    first, *words = container["args"]
    assert first == "agent"
    given = {name: value for name, _, value in (word.partition("=") for word in words)}
    assert given.keys() <= _options_of("agent")
    assert (deployment["spec"]["replicas"], deployment["spec"]["strategy"]) == (1, {"type": "Recreate"})
    port = next(port for port in container["ports"] if port["name"] == "health")
    assert given["--health-address"].rpartition(":")[2] == str(port["containerPort"])
    mounted = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    secret = volumes[mounted[given["--hub-credentials"]]]["secret"]["secretName"]
    (role,) = (body for body in _documents("agent.yaml") if body["kind"] == "Role")
    assert role["rules"] == [
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": [secret], "verbs": ["patch"]}
    ]
    (bound,) = (body for body in _documents("agent.yaml") if body["kind"] == "RoleBinding")
    assert [subject["name"] for subject in bound["subjects"]] == [pod["serviceAccountName"]]
    assert secret == agent_manifests.NAME, "what the agent patches"


def test_the_deployment_of_a_pool_calls_the_agent_with_options_that_exist() -> None:
    deployment = next(body for body in _documents("pool.yaml") if body["kind"] == "Deployment")
    first, *words = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    assert first == "agent"
    given = {word.partition("=")[0] for word in words}
    assert given <= _options_of("agent")
    assert "--pool" in given


def test_the_unit_calls_the_daemon_with_options_and_variables_that_exist() -> None:
    text = UNIT.read_text()
    call = re.search(r"^ExecStart=\S+/gitfed run (.*)$", text, re.M)
    assert call is not None
    assert {word for word in call[1].split() if word.startswith("--")} <= _options_of("run")
    variables = {f"GITFED_{name[2:].replace('-', '_').upper()}" for name in _options_of("run") if name.startswith("--")}
    assert set(re.findall(r"GITFED_[A-Z_]*[A-Z]", text)) - {"GITFED_"} <= variables


@needs.program("systemd-analyze")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    # The program and the account of the unit are not on this machine; everything else is looked at.
    unit = tmp_path / "gitfed.service"
    text = re.sub(r"^(User|Group|EnvironmentFile)=.*\n", "", UNIT.read_text(), flags=re.M)
    unit.write_text(text.replace("/opt/gitfed/bin/gitfed", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    said = [line for line in (done.stdout + done.stderr).splitlines() if "gitfed.service" in line]
    assert said == []
