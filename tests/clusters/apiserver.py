"""A real kube-apiserver with an etcd of its own, on loopback, for the tests that must not trust our imitation.

The embedded fleet says what we believe a Kubernetes API server does; this one is what it does. The binaries `etcd` and
`kube-apiserver` come from the directory that KUBEBUILDER_ASSETS names, the convention of controller-runtime's envtest.
Only the API is here: no controllers, no scheduler, no nodes. A Deployment never gets a Pod, and a deleted namespace
stays Terminating. A test that waits for a workload writes its status itself, with `mark_available`.

A server lives as long as the test's `with` block. Its data, keys and port outlive `kill`, so that a cluster which went
away can come back as the same cluster; `freeze` makes one that still accepts connections and never answers.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import trustme
import yaml

from tests.clusters import rest
from tests.support import needs
from tests.support.ports import free_port

TOKEN = "admintoken"
_LOOPBACK = "127.0.0.1"
_READY_SECONDS = 180  # two to four are usual; a machine full of other tests takes its time
_STOP_SECONDS = 180


class RealApiServer:
    """One cluster: an etcd and a kube-apiserver in front of it, over TLS, with one administrator's token.

    `directory` takes keys, data and logs (`etcd.log`, `kube-apiserver.log`); `name` is the kubeconfig context's name.
    """

    def __init__(self, directory: Path, name: str = "real") -> None:
        self.directory = directory
        self.name = name
        self._authority = trustme.CA()
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._etcd_port = self._port = 0
        self._lingers = False

    @property
    def url(self) -> str:
        return f"https://{_LOOPBACK}:{self._port}"

    def start(self) -> dict[str, Any]:
        """Start, or start again after `stop` or `kill`, and wait until it serves; the kubeconfig as a mapping.

        AssertionError, with the end of the program's log, if a binary is missing, a program ends or none gets ready.
        """
        assert not self._processes, f"{self.name} is running already"
        if not self._port:
            self._write_keys()
            self._etcd_port, self._port = _free_ports(2)
        try:
            self._launch("etcd", self._etcd_flags())
            etcd = rest.Endpoint(f"http://{_LOOPBACK}:{self._etcd_port}")
            self._wait("etcd", lambda: etcd.answers("/health"))
            self._launch("kube-apiserver", self._server_flags())
            self._wait("kube-apiserver", self._serves)
        except BaseException:
            self.kill()
            raise
        return self.kubeconfig()

    def stop(self) -> None:
        """End both programs in good order; nothing happens to one that does not run."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End both programs at once, in the middle of whatever they do."""
        self._end(signal.SIGKILL)

    def freeze(self) -> None:
        """The API server keeps its port and answers nobody, until `thaw`, `stop` or `kill`."""
        self._processes["kube-apiserver"].send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._processes["kube-apiserver"].send_signal(signal.SIGCONT)

    def may_ail(self) -> None:
        """Start again as a server that takes its time to end; `ail` needs that."""
        self.stop()
        self._lingers = True
        self.start()

    def ail(self) -> None:
        """It answers everything, and says at /readyz that it is not ready: it was told to end, and lingers.

        (One that merely lost its etcd goes on to call itself ready.)
        """
        self._processes["kube-apiserver"].send_signal(signal.SIGTERM)

    def heal(self) -> None:
        self.kill()
        self._lingers = False
        self.start()

    def kubeconfig(self) -> dict[str, Any]:
        """A kubeconfig whose one cluster, user and context have this server's name."""
        authority = base64.b64encode(self._authority.cert_pem.bytes()).decode()
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": self.name, "cluster": {"server": self.url, "certificate-authority-data": authority}}],
            "users": [{"name": self.name, "user": {"token": TOKEN}}],
            "contexts": [{"name": self.name, "context": {"cluster": self.name, "user": self.name}}],
            "current-context": self.name,
        }

    def _write_keys(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        serving = self._authority.issue_cert(_LOOPBACK, "localhost")
        serving.private_key_pem.write_to_path(self._path("serving.key"))
        serving.cert_chain_pems[0].write_to_path(self._path("serving.crt"))
        trustme.CA().private_key_pem.write_to_path(self._path("service-accounts.key"))
        (self.directory / "tokens.csv").write_text(f"{TOKEN},admin,admin,system:masters\n")

    def _path(self, name: str) -> str:
        return str(self.directory / name)

    def _etcd_flags(self) -> list[str]:
        client = f"http://{_LOOPBACK}:{self._etcd_port}"
        return [
            f"--data-dir={self._path('etcd')}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls=http://{_LOOPBACK}:0",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ]

    def _server_flags(self) -> list[str]:
        return [
            f"--etcd-servers=http://{_LOOPBACK}:{self._etcd_port}",
            f"--bind-address={_LOOPBACK}",
            f"--advertise-address={_LOOPBACK}",
            f"--secure-port={self._port}",
            f"--cert-dir={self._path('generated')}",
            f"--tls-cert-file={self._path('serving.crt')}",
            f"--tls-private-key-file={self._path('serving.key')}",
            f"--token-auth-file={self._path('tokens.csv')}",
            "--authorization-mode=RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self._path('service-accounts.key')}",
            f"--service-account-signing-key-file={self._path('service-accounts.key')}",
            # The plugin waits for accounts that a controller makes; without controllers no Pod could be created.
            "--disable-admission-plugins=ServiceAccount",
            "--service-cluster-ip-range=10.0.0.0/24",
            # A loopback address cannot be an endpoint of the service `kubernetes`.
            "--endpoint-reconciler-type=none",
            "--allow-privileged=true",
            *(["--shutdown-delay-duration=10m"] if self._lingers else []),
        ]

    def _launch(self, program: str, flags: Sequence[str]) -> None:
        binary = needs.path_of(program)
        assert os.access(binary, os.X_OK), f"{needs.ASSETS} is set, but {binary} is not there or cannot be run"
        with (self.directory / f"{program}.log").open("ab") as log:
            self._processes[program] = subprocess.Popen(
                [str(binary), *flags], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.directory
            )

    def _wait(self, program: str, ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _READY_SECONDS
        while not ready():
            code = self._processes[program].poll()
            log = (self.directory / f"{program}.log").read_text(errors="replace")[-3000:]
            assert code is None, f"{program} of {self.name} ended with {code}:\n{log}"
            assert time.monotonic() < deadline, f"{program} of {self.name} is not ready:\n{log}"
            time.sleep(0.1)

    def _serves(self) -> bool:
        # The server makes the namespace `default` itself, a moment after it calls itself ready.
        cluster = rest.Endpoint.of(self.kubeconfig(), self.name)
        return all(cluster.answers(path) for path in ("/readyz", "/api/v1/namespaces/default"))

    def _end(self, sign: signal.Signals) -> None:
        for program in ("kube-apiserver", "etcd"):  # the server first: it needs its etcd to end in good order
            process = self._processes.pop(program, None)
            if process is None:
                continue
            process.send_signal(signal.SIGKILL if self._lingers else sign)
            process.send_signal(signal.SIGCONT)
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@dataclass(frozen=True, slots=True)
class RealFleet:
    """Running clusters by context name, and the one kubeconfig file that reaches them all."""

    kubeconfig: Path
    servers: Mapping[str, RealApiServer]


@contextlib.asynccontextmanager
async def real_fleet(names: Sequence[str] | int, directory: Path) -> AsyncIterator[RealFleet]:
    """Start clusters side by side and end them with the block. A number makes `member1`, `member2`, …

    The file is `directory/kubeconfig`: one context per cluster, in order, the first as current.
    """
    if isinstance(names, int):
        names = [f"member{number}" for number in range(1, names + 1)]
    servers = {name: RealApiServer(directory / name, name) for name in names}
    try:
        started = await asyncio.gather(
            *(asyncio.to_thread(server.start) for server in servers.values()), return_exceptions=True
        )
        configs = []
        for outcome in started:
            if isinstance(outcome, BaseException):
                raise outcome
            configs.append(outcome)
        kubeconfig = directory / "kubeconfig"
        kubeconfig.touch(mode=0o600)
        kubeconfig.write_text(yaml.safe_dump(_merged(configs), sort_keys=False))
        yield RealFleet(kubeconfig, servers)
    finally:
        await asyncio.gather(*(asyncio.to_thread(server.stop) for server in servers.values()))


@contextlib.asynccontextmanager
async def real_clusters(names: Sequence[str] | int, directory: Path) -> AsyncIterator[Path]:
    """`real_fleet` for a test that needs no more than the path of the kubeconfig file."""
    async with real_fleet(names, directory) as fleet:
        yield fleet.kubeconfig


async def mark_available(kubeconfig: Path, context: str, namespace: str, name: str) -> dict[str, Any]:
    """Write the status that the Deployment controller would reach once every Pod is up; the Deployment after it.

    Works against any cluster of the kubeconfig file; `rest.RefusedError` if the server refuses.
    """
    return await asyncio.to_thread(_mark_available, kubeconfig, context, namespace, name)


def _mark_available(kubeconfig: Path, context: str, namespace: str, name: str) -> dict[str, Any]:
    cluster = rest.Endpoint.of(yaml.safe_load(kubeconfig.read_text()), context)
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}"
    live = cluster.request("GET", path)
    replicas = live["spec"].get("replicas", 1)
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    words = (
        ("Available", "MinimumReplicasAvailable", "Deployment has minimum availability."),
        ("Progressing", "NewReplicaSetAvailable", f'ReplicaSet "{name}" has successfully progressed.'),
    )
    status = {
        "observedGeneration": live["metadata"]["generation"],
        **dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), replicas),
        "unavailableReplicas": None,
        "conditions": [
            {
                "type": kind,
                "status": "True",
                "reason": reason,
                "message": message,
                "lastUpdateTime": now,
                "lastTransitionTime": now,
            }
            for kind, reason, message in words
        ],
    }
    marked: dict[str, Any] = cluster.request(
        "PATCH", f"{path}/status", {"status": status}, "application/merge-patch+json"
    )
    return marked


def _merged(configs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    lists = {key: [entry for config in configs for entry in config[key]] for key in ("clusters", "users", "contexts")}
    return {"apiVersion": "v1", "kind": "Config", **lists, "current-context": configs[0]["current-context"]}


def _free_ports(count: int) -> list[int]:
    found: set[int] = set()
    while len(found) < count:
        found.add(free_port())
    return list(found)
