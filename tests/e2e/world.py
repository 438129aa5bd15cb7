"""A user's world for one test: a bare repository, a checkout, clusters, and the daemon as a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.clusters.cable import Cable, Cables
from tests.clusters.rest import Endpoint, RefusedError
from tests.support import patience, warm

PLURALS = {"Namespace": "namespaces", "ConfigMap": "configmaps", "Secret": "secrets", "Service": "services",
           "Deployment": "deployments", "DaemonSet": "daemonsets", "Job": "jobs", "Ingress": "ingresses",
           "CustomResourceDefinition": "customresourcedefinitions"}  # fmt: skip
CLUSTER_SCOPED = {"Namespace", "CustomResourceDefinition"}


class Daemon:
    """`gitfed run` as a process. Its log is read as JSON lines."""

    def __init__(self, world: World, *arguments: str, repo: str = "", kubeconfig: Path | None = None) -> None:
        self.log_path = world.directory / f"daemon-{len(world.daemons)}.log"
        self.process = world.begin(
            [
                "run", "--repo", repo or str(world.bare), "--kubeconfig", str(kubeconfig or world.kubeconfig),
                "--data-dir", str(world.data), "--interval", "1s", "--logging-format", "json",
                "--health-address", "127.0.0.1:0", *arguments,
            ],
            self.log_path,
        )  # fmt: skip

    def lines(self) -> list[dict[str, Any]]:
        found = []
        for line in self.log_path.read_text().splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                found.append({"msg": line, "level": "unstructured"})
        return found

    def said(self, message: str) -> list[dict[str, Any]]:
        return [line for line in self.lines() if line.get("msg") == message]

    def kill(self) -> None:
        """Like a power cut: no chance to finish anything."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(patience.SECONDS)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(patience.SECONDS)


class World:
    def __init__(self, directory: Path, kubeconfig: Path, names: list[str], servers: Mapping[str, Any]) -> None:
        self.directory = directory
        self.kubeconfig = kubeconfig
        self.names = names
        self.servers = servers
        self.work = directory / "work"
        self.bare = directory / "fleet.git"
        self.data = directory / "data"
        self.daemons: list[Daemon] = []
        self.environment = {
            **{
                key: value for key, value in os.environ.items() if not key.startswith(("GITFED_", "GIT_", "KUBECONFIG"))
            },
            "HOME": str(directory),
            "XDG_CACHE_HOME": str(directory / "cache"),
            "XDG_STATE_HOME": str(directory / "state"),
        }
        config = yaml.safe_load(kubeconfig.read_text())
        self.endpoints = {name: Endpoint.of(config, name) for name in names}
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(self.bare)], check=True)
        subprocess.run(["git", "clone", "-q", str(self.bare), str(self.work)], check=True, capture_output=True)
        self.git("checkout", "-q", "-b", "main")

    # -- the repository -----------------------------------------------------------------------------------------

    def git(self, *arguments: str) -> str:
        command = ["git", "-C", str(self.work), "-c", "user.name=Test", "-c", "user.email=test@example.com", *arguments]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=self.environment)
        return done.stdout.strip()

    def write(self, files: Mapping[str, str | None]) -> None:
        for name, text in files.items():
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                path.unlink()
            else:
                path.write_text(text)

    def push(self, files: Mapping[str, str | None], message: str = "change", *, force: bool = False) -> str:
        self.write(files)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        self.git("push", "-q", *(["--force"] if force else []), "origin", "main")
        return self.git("rev-parse", "HEAD")

    def state(self) -> dict[str, str]:
        """Files of the pushed state branch, all of one commit."""

        def ask(*arguments: str) -> str:
            return subprocess.run(
                ["git", "-C", str(self.bare), *arguments], capture_output=True, text=True, check=True
            ).stdout

        try:
            commit = ask("rev-parse", "--verify", "--quiet", "gitfed/state").strip()
        except subprocess.CalledProcessError:
            return {}
        return {path: ask("show", f"{commit}:{path}") for path in ask("ls-tree", "-r", "--name-only", commit).split()}

    # -- gitfed -------------------------------------------------------------------------------------------------

    def daemon(self, *arguments: str, repo: str = "", kubeconfig: Path | None = None) -> Daemon:
        """`repo`, `kubeconfig`: other ways to the same places."""
        daemon = Daemon(self, *arguments, repo=repo, kubeconfig=kubeconfig)
        self.daemons.append(daemon)
        return daemon

    def ways(self, cables: Cables, kubeconfig: Path) -> Mapping[str, Cable]:
        """Between the clusters and a daemon that is given this kubeconfig, which is written: they can be cut."""
        return cables.kubeconfig(self.kubeconfig, kubeconfig)

    def begin(self, arguments: list[str], log: Path, out: Path | None = None) -> warm.Running:
        """`gitfed` with these as a process, its log in this file, and what it prints in `out`."""
        return warm.begin(arguments, self.environment, error=log, out=out)

    def done(self, arguments: list[str]) -> subprocess.CompletedProcess[str]:
        """The same, for a command that ends."""
        return warm.run(arguments, self.environment, self.work, patience.SECONDS)

    def gitfed(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        done = self.done(list(arguments))
        if check and done.returncode:
            raise AssertionError(f"gitfed {' '.join(arguments)}: {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    def apply(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return self.gitfed(
            "apply", "--repo", str(self.bare), "--kubeconfig", str(self.kubeconfig), "--data-dir", str(self.data),
            *arguments, check=check,
        )  # fmt: skip

    def forget(self) -> None:
        """What a daemon kept on its machine."""
        shutil.rmtree(self.data)

    def close(self) -> None:
        for daemon in self.daemons:
            if daemon.process.poll() is None:
                daemon.kill()

    # -- the clusters -------------------------------------------------------------------------------------------

    def path(self, kind: str, namespace: str, name: str = "") -> str:
        group = {"Deployment": "apis/apps/v1", "DaemonSet": "apis/apps/v1", "Job": "apis/batch/v1",
                 "Ingress": "apis/networking.k8s.io/v1",
                 "CustomResourceDefinition": "apis/apiextensions.k8s.io/v1"}.get(kind, "api/v1")  # fmt: skip
        space = "" if kind in CLUSTER_SCOPED else f"/namespaces/{namespace}"
        return f"/{group}{space}/{PLURALS[kind]}" + (f"/{name}" if name else "")

    def get(self, cluster: str, kind: str, namespace: str, name: str) -> dict[str, Any] | None:
        """The object, None when it is not there."""
        try:
            return dict(self.endpoints[cluster].request("GET", self.path(kind, namespace, name)))
        except RefusedError as error:
            if ": 404 " in str(error):
                return None
            raise

    def ask(self, cluster: str, method: str, path: str, body: object = None, content_type: str = "") -> Any:
        return self.endpoints[cluster].request(method, path, body, content_type or "application/json")

    def objects(self, cluster: str, kind: str, namespace: str) -> list[str]:
        return sorted(
            item["metadata"]["name"] for item in self.ask(cluster, "GET", self.path(kind, namespace))["items"]
        )

    def versions(self, kind: str, namespace: str, name: str) -> dict[str, str]:
        """resourceVersion per cluster: equal before and after means that nothing was written."""
        found = {}
        for cluster in self.names:
            body = self.get(cluster, kind, namespace, name)
            if body is not None:
                found[cluster] = body["metadata"]["resourceVersion"]
        return found

    def mark_available(self, cluster: str, namespace: str, name: str) -> None:
        """What a controller would report of a healthy Deployment."""
        body = self.get(cluster, "Deployment", namespace, name)
        assert body is not None
        count = body["spec"]["replicas"]
        status = {
            "observedGeneration": body["metadata"]["generation"], "replicas": count, "updatedReplicas": count,
            "readyReplicas": count, "availableReplicas": count,
            "conditions": [{"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable"},
                           {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}],
        }  # fmt: skip
        self.ask(cluster, "PATCH", self.path("Deployment", namespace, name) + "/status", {"status": status},
                 "application/merge-patch+json")  # fmt: skip

    def mark_started(self, cluster: str, namespace: str, name: str) -> None:
        """What a controller would report of a Job whose pod runs."""
        body = self.get(cluster, "Job", namespace, name)
        assert body is not None
        status = {"startTime": body["metadata"]["creationTimestamp"], "active": 1, "ready": 1}
        self.ask(cluster, "PATCH", self.path("Job", namespace, name) + "/status", {"status": status},
                 "application/merge-patch+json")  # fmt: skip

    @staticmethod
    def until(condition: Callable[[], Any], what: str, seconds: float = patience.SECONDS) -> Any:
        """Wait for something that must come true; the time is only how long we are willing to wait."""
        end = time.monotonic() + seconds
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError(f"did not happen in {seconds:.0f} s: {what}")
            time.sleep(0.05)


def settings(**spec: Any) -> str:
    return json.dumps(
        {"apiVersion": "gitfed.io/v1alpha1", "kind": "Federation", "metadata": {"name": "acme"}, "spec": spec}
    )


def cluster(name: str, **spec: Any) -> str:
    return json.dumps({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name},
                       "spec": {"syncMode": "Push", **spec}})  # fmt: skip


def deployment(
    name: str, *, image: str = "nginx:1.27", replicas: int = 2, namespace: str = "shop", **metadata: Any
) -> str:
    return json.dumps(
        {
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": name, "namespace": namespace, **metadata},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
                     "template": {"metadata": {"labels": {"app": name}},
                                  "spec": {"containers": [{"name": "main", "image": image}]}}},
        }
    )  # fmt: skip


def config_map(name: str, data: Mapping[str, str], *, namespace: str = "shop", **metadata: Any) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap",
                       "metadata": {"name": name, "namespace": namespace, **metadata}, "data": dict(data)})  # fmt: skip


def policy(name: str, clusters: list[str] | None, kinds: tuple[tuple[str, str], ...] = (("apps/v1", "Deployment"),),
           *, namespace: str = "shop", **spec: Any) -> str:  # fmt: skip
    placement = {"clusterAffinity": {"clusterNames": clusters}} if clusters is not None else {}
    return json.dumps(
        {
            "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"resourceSelectors": [{"apiVersion": version, "kind": kind} for version, kind in kinds],
                     "placement": {**placement, **spec.pop("placement", {})}, **spec},
        }
    )  # fmt: skip
