"""The hub of a real daemon: a credential from the command line, and a real Prometheus that scrapes and alerts."""

from __future__ import annotations

import json
import ssl
import subprocess
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.clusters.faulty import Faulty
from tests.e2e.hub_port import Credential, listening_port
from tests.e2e.listener import Listener, notification
from tests.e2e.world import World, cluster, config_map, policy, settings
from tests.support import needs, patience, ports

pytestmark = pytest.mark.e2e

ALERTS = Path(__file__).parents[2] / "deploy" / "prometheus" / "alerts.yaml"
_FAST = ("--cluster-status-update-frequency", "1s", "--cluster-failure-threshold", "1s",
         "--cluster-success-threshold", "1s")  # fmt: skip
_VIEWER = json.dumps(
    {
        "apiVersion": "gitfed.io/v1alpha1", "kind": "AccessPolicy", "metadata": {"name": "monitoring"},
        "spec": {"subjects": [{"kind": "User", "name": "prometheus"}], "allow": ["view"]},
    }
)  # fmt: skip


def _files() -> dict[str, str | None]:
    maps = {f"maps/{number}.json": config_map(f"c{number}", {"a": "b"}) for number in range(3)}
    return {
        "gitfed.json": settings(guards={"maxDeletions": 1}),
        "access.json": _VIEWER,
        "clusters/m1.json": cluster("m1"),
        "clusters/m2.json": cluster("m2"),
        "policy.json": policy("maps", ["m1", "m2"], (("v1", "ConfigMap"),)),
        **maps,
    }


def test_who_may_look_is_said_in_git_and_counts_at_once(world: World) -> None:
    world.push({name: text for name, text in _files().items() if name != "access.json"})
    daemon = world.daemon("--hub-address", "0.0.0.0:0")
    caller = Credential(world, listening_port(world, daemon), "prometheus")
    assert caller.get("/livez") == (200, "ok\n")
    world.until(lambda: caller.get("/metrics")[0] != 503, "the first commit is read")
    assert caller.get("/metrics") == (403, "no AccessPolicy lets prometheus view everything\n")
    world.push({"access.json": _VIEWER})
    world.until(lambda: caller.get("/metrics")[0] == 200, "the policy is in force")
    world.until(lambda: 'gitfed_cluster_applied{cluster="m2"} 1.0' in caller.get("/metrics")[1], "m2 has the commit")
    text = caller.get("/metrics")[1]
    assert 'gitfed_changes_total{action="create",cluster="m1",outcome="created"} 4.0' in text
    assert 'gitfed_cycle_duration_seconds_count{phase="build"}' in text
    if not needs.PULLED:  # of a pulled cluster requests and queue are its agent's
        assert 'gitfed_cluster_requests_total{cluster="m1",code="200",verb="GET"}' in text
        assert 'gitfed_queue_wait_seconds_count{cluster="m1"} 4.0' in text
    world.until(lambda: "gitfed_cluster_applied_commit_age_seconds{" in caller.get("/metrics")[1], "the commit's age")
    insecure = ssl._create_unverified_context()
    for path in ("/", "/metrics", "/ui", "/api/v1/clusters", "/nothing"):
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"{caller.url}{path}", context=insecure, timeout=patience.SECONDS)
    assert daemon.stop() == 0


class Prometheus:
    def __init__(self, directory: Path, credential: Credential, rules: str) -> None:
        self.port = ports.free_port()
        (directory / "alerts.yaml").write_text(rules)
        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(directory / "alerts.yaml")],
            "scrape_configs": [
                {
                    "job_name": "gitfed",
                    "scheme": "https",
                    "tls_config": {
                        "ca_file": str(credential.files["ca"]),
                        "cert_file": str(credential.files["certificate"]),
                        "key_file": str(credential.files["key"]),
                    },
                    "static_configs": [{"targets": [credential.url.removeprefix("https://")]}],
                }
            ],
        }
        path = directory / "prometheus.yaml"
        path.write_text(yaml.safe_dump(config))
        self.log = (directory / "prometheus.log").open("wb")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={path}", f"--storage.tsdb.path={directory / 'tsdb'}",
             f"--web.listen-address=127.0.0.1:{self.port}"],
            stdout=self.log, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def alerts(self) -> set[tuple[str, str]]:
        """Those that fire, with the cluster or gate that they are about."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/alerts", timeout=30) as answer:
                found: list[dict[str, Any]] = json.load(answer)["data"]["alerts"]
        except OSError:
            return set()
        return {
            (one["labels"]["alertname"], one["labels"].get("cluster") or one["labels"].get("gate") or "")
            for one in found
            if one["state"] == "firing"
        }

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(patience.SECONDS)
        self.log.close()


@needs.program("prometheus")
def test_prometheus_fires_and_people_are_told_of_what_is_unreachable_or_held(world: World, faulty: Faulty) -> None:
    listener = Listener()
    world.push({**_files(), "oncall.json": notification("oncall")})
    daemon = world.daemon("--hub-address", "0.0.0.0:0", "--notify-dir", str(listener.target(world.directory)), *_FAST)
    credential = Credential(world, listening_port(world, daemon), "prometheus")
    world.until(lambda: len(world.objects("m2", "ConfigMap", "shop")) == 3, "the fleet is as it should be")
    # What is waited for is minutes in earnest; `promtool test rules` has looked at that.
    rules = yaml.safe_load(ALERTS.read_text())
    for group in rules["groups"]:
        for rule in group["rules"]:
            rule["for"] = "1s"
    server = Prometheus(world.directory, credential, yaml.safe_dump(rules))
    try:
        faulty.tell("m2", lambda faults: faults.down())
        world.push({f"maps/{number}.json": None for number in range(3)})
        expected = {("GitfedClusterUnreachable", "m2"), ("GitfedChangesHeld", "deletions")}
        world.until(lambda: expected <= server.alerts(), "both alerts fire")
        told = {("io.gitfed.unreachable.begun", "m2"), ("io.gitfed.held.begun", "deletions")}
        world.until(lambda: told <= set(listener.told()), "and are told to a server")
        assert ("GitfedClusterUnreachable", "m1") not in server.alerts()
        assert ("GitfedDown", "") not in server.alerts()
        faulty.tell("m2", lambda faults: faults.up())
        world.until(lambda: ("GitfedClusterUnreachable", "m2") not in server.alerts(), "it is over")
        world.until(lambda: ("io.gitfed.unreachable.over", "m2") in listener.told(), "and that is told, too")
    finally:
        server.close()
        listener.close()
    assert daemon.stop() == 0
