"""The real kubectl against an embedded fleet: what people type works, and prints what they expect."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from kubesim.controllers import Settings
from kubesim.fleet import ClusterSpec, Fleet
from tests import needs, patience

pytestmark = needs.program("kubectl")

WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: nginx:1
        ports: [{containerPort: 80, name: http}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{port: 80, targetPort: http}]
"""
WIDGETS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties: {size: {type: integer, maximum: 5, description: how large}}
"""

SETS = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: "db:1"}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: agent, image: "agent:1"}]}
"""
BUDGET = """
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}
"""


class Kubectl:
    """Runs the program; a failure of it fails the test unless it is expected."""

    def __init__(self, fleet: Fleet, home: Path) -> None:
        self._config = fleet.write_kubeconfig(home / "config")
        self._environment = {**os.environ, "HOME": str(home), "KUBECONFIG": str(self._config)}

    async def __call__(self, line: str, *more: str, text: str = "", code: int = 0) -> str:
        """What it printed, complaints included."""
        process = await self.start(line, *more)
        printed, _ = await process.communicate(text.encode())
        assert process.returncode == code, printed.decode()
        return printed.decode()

    async def start(self, line: str, *more: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            "kubectl",
            *line.split(),
            *more,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=self._environment,
        )

    @contextlib.asynccontextmanager
    async def following(self, line: str) -> AsyncIterator[asyncio.subprocess.Process]:
        """The running program; it may end by itself, and is gone afterwards in any case."""
        process = await self.start(line)
        try:
            async with asyncio.timeout(patience.SECONDS):
                yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def in_terminal(self, line: str, typed: bytes, *, code: int) -> bytes:
        """What stands on the screen once that was typed."""
        ours, theirs = os.openpty()
        process = await asyncio.create_subprocess_exec(
            "kubectl", *line.split(), stdin=theirs, stdout=theirs, stderr=theirs, env=self._environment
        )
        os.close(theirs)
        screen = bytearray()
        async with asyncio.timeout(patience.SECONDS):
            while b"# " not in screen:  # kubectl drops what is typed before the terminal is its own
                screen += await asyncio.to_thread(os.read, ours, 4096)
            os.write(ours, typed)
            with contextlib.suppress(OSError):  # nobody holds the other end any more
                while data := await asyncio.to_thread(os.read, ours, 4096):
                    screen += data
            assert await process.wait() == code, bytes(screen)
        os.close(ours)
        return bytes(screen)


async def line_with(text: bytes, process: asyncio.subprocess.Process) -> bytes:
    """Its first line that holds this text; a program that ends without one fails the test."""
    assert process.stdout is not None
    printed = []
    async for line in process.stdout:
        if text in line:
            return line
        printed.append(line)
    raise AssertionError(f"it ended without {text!r}: {b''.join(printed)!r}")


async def forwarded_port(process: asyncio.subprocess.Process) -> int:
    said = await line_with(b"Forwarding from 127.0.0.1:", process)
    return int(said.partition(b"127.0.0.1:")[2].partition(b" ")[0])


@pytest.fixture
async def fleet() -> AsyncIterator[Fleet]:
    settings = Settings(start_seconds=0.05, stop_seconds=0.02, job_seconds=0.05)
    async with Fleet([ClusterSpec(name="one"), ClusterSpec(name="two", nodes=1)], settings=settings) as running:
        yield running


@pytest.fixture
def kubectl(fleet: Fleet, tmp_path: Path) -> Kubectl:
    return Kubectl(fleet, tmp_path)


async def test_it_knows_the_server_and_its_resources(kubectl: Kubectl) -> None:
    assert "Server Version: v1." in await kubectl("version")
    listed = await kubectl("api-resources --no-headers")
    assert {"deployments", "configmaps", "customresourcedefinitions"} <= {
        line.split()[0] for line in listed.splitlines()
    }
    assert "one-node-1" in await kubectl("get nodes")
    assert "two-node-1" in await kubectl("--context two get nodes -o name")


async def test_apply_creates_changes_and_leaves_alone(kubectl: Kubectl) -> None:
    assert await kubectl("apply -f -", text=WEB) == "deployment.apps/web created\nservice/web created\n"
    assert await kubectl("apply -f -", text=WEB) == "deployment.apps/web unchanged\nservice/web unchanged\n"
    changed = await kubectl("apply -f -", text=WEB.replace("nginx:1", "nginx:2"))
    assert changed == "deployment.apps/web configured\nservice/web unchanged\n"
    assert "successfully rolled out" in await kubectl("rollout status deployment/web --timeout=180s")
    assert await kubectl("get deploy web -o jsonpath={.spec.template.spec.containers[0].image}") == "nginx:2"


async def test_apply_refuses_fields_that_do_not_exist(kubectl: Kubectl) -> None:
    printed = await kubectl("apply -f -", text=WEB.replace("replicas:", "replcas:"), code=1)
    assert 'strict decoding error: unknown field "spec.replcas"' in printed


async def test_server_side_apply_tells_conflicts(kubectl: Kubectl) -> None:
    await kubectl("apply --server-side -f -", text=WEB)
    await kubectl("scale deploy/web --replicas=5")
    printed = await kubectl("apply --server-side -f -", text=WEB, code=1)
    assert 'conflict with "kubectl" with subresource "scale" using apps/v1: .spec.replicas' in printed
    await kubectl("apply --server-side --force-conflicts -f -", text=WEB)
    assert await kubectl("get deploy web -o jsonpath={.spec.replicas}") == "2"


async def test_diff_shows_what_apply_would_change(kubectl: Kubectl) -> None:
    await kubectl("apply -f -", text=WEB)
    assert await kubectl("diff -f -", text=WEB) == ""
    printed = await kubectl("diff -f -", text=WEB.replace("nginx:1", "nginx:2"), code=1)
    assert "-      - image: nginx:1\n+      - image: nginx:2\n" in printed


async def test_a_roll_out_is_watched_to_its_end_and_taken_back(kubectl: Kubectl) -> None:
    await kubectl("apply -f -", text=WEB)
    await kubectl("rollout status deploy/web --timeout=180s")
    await kubectl("set image deploy/web web=nginx:2")
    await kubectl("rollout status deploy/web --timeout=180s")
    assert await kubectl("rollout undo deploy/web") == "deployment.apps/web rolled back\n"
    await kubectl("rollout status deploy/web --timeout=180s")
    assert await kubectl("get pods -o jsonpath={.items[*].spec.containers[0].image}") == "nginx:1 nginx:1"


async def test_waiting_labelling_annotating_and_deleting(kubectl: Kubectl) -> None:
    await kubectl("apply -f -", text=WEB)
    await kubectl("wait --for=condition=Available deploy/web --timeout=180s")
    await kubectl("label deploy/web tier=front")
    await kubectl("annotate deploy/web note=hello")
    assert await kubectl("get deploy -l tier=front -o name") == "deployment.apps/web\n"
    await kubectl("delete deploy/web --timeout=180s")
    await kubectl("wait --for=delete pod -l app=web --timeout=180s")
    assert "No resources found" in await kubectl("get pods")


async def test_tables_look_as_usual(kubectl: Kubectl) -> None:
    await kubectl("apply -f -", text=WEB)
    await kubectl("rollout status deploy/web --timeout=180s")
    header, row = (await kubectl("get deploy")).splitlines()
    assert header.split() == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]
    assert row.split()[:4] == ["web", "2/2", "2", "2"]
    pods = (await kubectl("get pods --no-headers")).splitlines()
    assert [line.split()[1:3] for line in pods] == [["1/1", "Running"]] * 2


async def test_a_watch_sees_changes_as_they_come(kubectl: Kubectl, fleet: Fleet) -> None:
    api = fleet["one"].api
    meta = {"name": "a", "namespace": "default"}
    api.create("configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})

    watching = asyncio.create_task(kubectl("get cm a -w --no-headers --request-timeout=4s"))
    watchers = fleet["one"].cluster.world.store.collection("configmaps").subscriptions
    while not watchers and not watching.done():  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    api.patch("configmaps", "default", "a", {"data": {"x": "1"}})
    lines = (await watching).splitlines()
    assert [line.split()[:2] for line in lines] == [["a", "0"], ["a", "1"]]


async def test_objects_that_kubectl_makes_itself(kubectl: Kubectl) -> None:
    await kubectl("create namespace shop")
    await kubectl("create configmap settings --from-literal=a=b")
    await kubectl("create secret generic key --from-literal=p=q")
    await kubectl("create deployment api --image=nginx --replicas=2 --port=80")
    await kubectl("create service clusterip api --tcp=80:8080")
    await kubectl("create job once --image=busybox")
    await kubectl("create quota few --hard=pods=10,requests.cpu=1500m")
    assert await kubectl("get cm settings -o jsonpath={.data}") == '{"a":"b"}'
    assert await kubectl("get secret key -o jsonpath={.data.p}") == "cQ=="
    assert await kubectl("get svc api -o jsonpath={.spec.ports[0].targetPort}") == "8080"
    assert await kubectl("get quota few -o jsonpath={.spec.hard}") == '{"pods":"10","requests.cpu":"1500m"}'
    await kubectl("wait --for=condition=Complete job/once --timeout=180s")
    await kubectl("wait --for=condition=Available deploy/api --timeout=180s")
    await kubectl("delete ns shop --timeout=180s")


async def test_explaining_kinds(kubectl: Kubectl) -> None:
    printed = await kubectl("explain deployment.spec.strategy.rollingUpdate")
    assert "FIELD: rollingUpdate <RollingUpdateDeployment>" in printed
    assert "maxSurge" in printed


async def test_custom_kinds_are_kinds_like_others(kubectl: Kubectl) -> None:
    await kubectl("apply -f -", text=WIDGETS)
    await kubectl("wait --for=condition=Established crd/widgets.example.com --timeout=180s")
    widget = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {size: 3}\n"
    await kubectl("apply -f -", text=widget)
    header, row = (await kubectl("get wd")).splitlines()
    assert (header.split(), row.split()) == (["NAME", "SIZE"], ["w", "3"])
    printed = await kubectl("apply -f -", text=widget.replace("3", "9"), code=1)
    assert "spec.size: Invalid value: 9: spec.size in body should be less than or equal to 5" in printed
    assert "how large" in await kubectl("explain widget.spec.size")


async def test_draining_a_node_moves_its_pods(kubectl: Kubectl) -> None:
    await kubectl("apply -f -", text=WEB)
    await kubectl("rollout status deploy/web --timeout=180s")
    await kubectl("drain one-node-1 --timeout=180s")
    await kubectl("rollout status deploy/web --timeout=180s")
    nodes = await kubectl("get pods -o jsonpath={.items[*].spec.nodeName}")
    assert "one-node-1" not in nodes.split()
    await kubectl("uncordon one-node-1")


async def test_sets_of_pods_are_rolled_out(kubectl: Kubectl) -> None:
    await kubectl("apply -f -", text=SETS)
    for name in ("statefulset/db", "daemonset/agent"):
        await kubectl(f"rollout status {name} --timeout=180s")
        await kubectl(f"set image {name} *=new:2")
        await kubectl(f"rollout status {name} --timeout=180s")
    assert await kubectl("get pods -l app=db -o jsonpath={.items[*].metadata.name}") == "db-0 db-1"
    assert await kubectl("get pvc -o jsonpath={.items[*].status.phase}") == "Bound Bound"
    assert await kubectl("get ds agent -o jsonpath={.status.numberReady}") == "3"
    await kubectl("scale statefulset/db --replicas=1")
    await kubectl("wait --for=delete pod/db-1 --timeout=180s")
    await kubectl("delete pvc data-db-1 --timeout=180s")


async def test_a_drain_waits_for_what_a_budget_allows(kubectl: Kubectl) -> None:
    await kubectl("apply -f -", text=WEB + "---" + BUDGET)
    await kubectl("rollout status deploy/web --timeout=180s")
    await kubectl("wait --for=jsonpath={.status.currentHealthy}=2 pdb/web --timeout=180s")
    assert (await kubectl("get pdb web --no-headers")).split()[:4] == ["web", "2", "N/A", "0"]
    node = await kubectl("get pods -l app=web -o jsonpath={.items[0].spec.nodeName}")
    printed = await kubectl(f"drain {node} --ignore-daemonsets --force --timeout=2s", code=1)
    assert "Cannot evict pod as it would violate the pod's disruption budget." in printed
    await kubectl("patch pdb web --type=merge", "-p", '{"spec": {"minAvailable": 0}}')
    assert "drained" in await kubectl(f"drain {node} --ignore-daemonsets --force --timeout=180s")


async def test_a_taint_drives_pods_away_unless_they_bear_with_it(kubectl: Kubectl) -> None:
    await kubectl("apply -f -", text=WEB)
    await kubectl("rollout status deploy/web --timeout=180s")
    pod, node = (await kubectl("get pods -o jsonpath={.items[0]['metadata.name','spec.nodeName']}")).split()
    await kubectl(f"taint nodes {node} broken=yes:NoExecute")
    await kubectl(f"wait --for=delete pod/{pod} --timeout=180s")
    await kubectl("rollout status deploy/web --timeout=180s")
    assert node not in (await kubectl("get pods -o jsonpath={.items[*].spec.nodeName}")).split()


async def test_a_service_of_the_outside_world_gets_an_address(kubectl: Kubectl) -> None:
    await kubectl("create service loadbalancer front --tcp=80")
    await kubectl("wait --for=jsonpath={.status.loadBalancer.ingress[0].ip} svc/front --timeout=180s")
    assert (await kubectl("get svc front --no-headers")).split()[3].startswith("203.0.113.")


async def test_who_says_nothing_is_the_administrator_unless_the_door_is_shut(kubectl: Kubectl, fleet: Fleet) -> None:
    assert await kubectl("auth can-i delete nodes") in (
        "yes\n",
        "Warning: resource 'nodes' is not namespace scoped\n\nyes\n",
    )
    fleet["one"].door.open = False
    assert "Forbidden" in await kubectl("get nodes", code=1)


async def test_logs_are_told_and_followed_to_their_end(kubectl: Kubectl) -> None:
    await kubectl("run web --image=nginx:1")
    await kubectl("wait pod/web --for=condition=Ready --timeout=180s")
    assert (await kubectl("logs web")).splitlines()[0].startswith("web of default/web starts on one-node-")
    await kubectl("run job --image=nginx:1 --restart=Never")
    await kubectl("wait pod/job --for=jsonpath={.status.phase}=Succeeded --timeout=180s")
    assert (await kubectl("logs -f job")).endswith("job of job ends with code 0\n")


async def test_top_shows_what_pods_and_nodes_use(kubectl: Kubectl) -> None:
    await kubectl("apply -f -", text=WEB)
    await kubectl("rollout status deployment/web --timeout=180s")
    assert "NAME" in await kubectl("top pods")
    assert len((await kubectl("top pods --no-headers -l app=web")).splitlines()) == 2
    assert "one-node-1   5" in await kubectl("top nodes")


@pytest.fixture
async def running(kubectl: Kubectl) -> Kubectl:
    await kubectl("run web --image=nginx:1 --env=GREETING=hello --port=80")
    await kubectl("wait pod/web --for=condition=Ready --timeout=180s")
    return kubectl


async def test_commands_run_in_a_container(running: Kubectl) -> None:
    assert await running("exec web -- hostname") == "web\n"
    assert "GREETING=hello\n" in await running("exec web -- env")
    assert await running("exec web -- sh -c", 'echo "$GREETING" you > /tmp/a && cat /tmp/a') == "hello you\n"
    assert await running("exec -i web -- cat", text="typed\n") == "typed\n"
    assert "exit code 3" in await running("exec web -- sh -c", "exit 3", code=3)
    missing = await running("exec web -- vim", code=1)
    assert 'exec: "vim": executable file not found in $PATH' in missing


async def test_a_terminal_in_a_container_is_a_shell(running: Kubectl) -> None:
    printed = await running.in_terminal("exec -it web -- sh", b"echo $GREETING\rexit 4\r", code=4)
    assert b"# echo $GREETING\r\nhello\r\n# exit 4\r\n" in printed


async def test_files_are_copied_in_and_out(running: Kubectl, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("some text")
    await running(f"cp {tmp_path}/in web:/srv")
    assert await running("exec web -- cat /srv/a.txt") == "some text"
    await running(f"cp web:/srv/a.txt {tmp_path}/out.txt")
    assert (tmp_path / "out.txt").read_text() == "some text"


@pytest.mark.parametrize("command", ["attach web", "logs -f web --tail=1"])
async def test_what_a_container_says_is_shown_until_it_is_gone(running: Kubectl, command: str) -> None:
    async with running.following(command) as shown:
        await line_with(b"web of web is alive", shown)
        await running("delete pod web")
        assert await shown.wait() == 0


async def test_a_forwarded_port_answers_with_the_name_of_the_pod(running: Kubectl) -> None:
    async with (
        running.following("port-forward pod/web :80 --address 127.0.0.1") as forward,
        aiohttp.ClientSession() as session,
    ):
        port = await forwarded_port(forward)
        for _ in range(2):
            async with session.get(f"http://127.0.0.1:{port}/") as answer:
                assert await answer.text() == "default/web answers on port 80\n"


async def test_a_port_that_nobody_listens_on_refuses(running: Kubectl) -> None:
    async with (
        running.following("port-forward pod/web :81 --address 127.0.0.1") as forward,
        aiohttp.ClientSession() as session,
    ):
        port = await forwarded_port(forward)
        with pytest.raises(aiohttp.ClientError):
            await session.get(f"http://127.0.0.1:{port}/")
        await line_with(b"connection refused", forward)
