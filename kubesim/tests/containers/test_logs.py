"""The log of containers that are only said to run, and what an API server refuses about it and about connections.

The refusals were asked of a kube-apiserver 1.36.2; those of a container that does not run are the kubelet's.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

import orjson
import pytest
from multidict import CIMultiDict

from kubesim.server.request import Request, Response
from tests.controllers.stage import Stage

Body = dict[str, Any]
FIRST = "main of default/a starts on node-0: nginx:1\n"


@pytest.fixture
def stage() -> Stage:
    found = Stage(1, job_seconds=12)
    create(found, "a")
    found.pass_time(11.5)
    return found


def create(stage: Stage, name: str, *names: str, image: str = "nginx:1", **spec: Any) -> None:
    containers = [{"name": one, "image": image} for one in names or ("main",)]
    meta = {"name": name, "namespace": "default"}
    stage.api.create("pods", {"metadata": meta, "spec": {"containers": containers, **spec}})
    stage.settle()


def answer(stage: Stage, path: str, **more: str) -> Response:
    path, _, query = path.partition("?")
    headers = CIMultiDict({"Authorization": "Bearer admintoken", **more})
    req = Request("GET", f"/api/v1/namespaces/default/pods/{path}", parse_qs(query), headers)
    return stage.cluster.handler.handle(req)


def log(stage: Stage, path: str) -> str:
    found = answer(stage, path)
    assert (found.status, found.content_type) == (200, "text/plain; charset=utf-8"), found.body
    return found.body.decode()


def test_a_container_says_where_it_starts_and_that_it_is_alive(stage: Stage) -> None:
    assert log(stage, "a/log") == f"{FIRST}main of a is alive, line 1\nmain of a is alive, line 2\n"
    assert log(stage, "a/log") == log(stage, "a/log?container=main")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("tailLines=1", "main of a is alive, line 2\n"),
        ("tailLines=0", ""),
        ("tailLines=99&limitBytes=4", "main"),
        ("sinceSeconds=3", "main of a is alive, line 2\n"),
        ("sinceTime=2026-01-01T00:00:03Z", "main of a is alive, line 1\nmain of a is alive, line 2\n"),
        ("tailLines=1&timestamps=true", "2026-01-01T00:00:10.000000000Z main of a is alive, line 2\n"),
    ],
)
def test_less_of_it_can_be_asked_for(stage: Stage, query: str, expected: str) -> None:
    assert log(stage, f"a/log?{query}") == expected


def test_a_container_that_ended_says_how(stage: Stage) -> None:
    create(stage, "b", image="failing", restartPolicy="Never")
    stage.pass_time(20)
    assert log(stage, "b/log").splitlines() == [
        "main of default/b starts on node-0: failing",
        "main of b is alive, line 1",
        "main of b is alive, line 2",
        "main of b ends with code 1",
    ]


def test_a_container_that_crashes_can_be_asked_what_it_said_before(stage: Stage) -> None:
    create(stage, "b", image="example.invalid/crash")
    stage.pass_time(2)
    assert log(stage, "b/log").splitlines()[-1] == "main of b ends with code 1"
    assert log(stage, "b/log?previous=true") == log(stage, "b/log")


@pytest.mark.parametrize(
    ("path", "code", "message"),
    [
        ("none/log", 404, 'pods "none" not found'),
        ("a/log?container=zzz", 400, "container zzz is not valid for pod a"),
        ("two/log", 400, "a container name must be specified for pod two, choose one of: [i a b]"),
        ("a/log?tailLines=abc", 400, 'strconv.ParseInt: parsing "abc": invalid syntax'),
        (
            "a/log?sinceTime=abc",
            400,
            'parsing time "abc" as "2006-01-02T15:04:05Z07:00": cannot parse "abc" as "2006"',
        ),
        (
            "a/log?tailLines=-1",
            422,
            'PodLogOptions "a" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0',
        ),
        (
            "a/log?sinceSeconds=-1&limitBytes=-1",
            422,
            'PodLogOptions "a" is invalid: [limitBytes: Invalid value: -1: must be greater than 0, sinceSeconds: '
            "Invalid value: -1: must be greater than 0]",
        ),
        (
            "a/log?sinceSeconds=5&sinceTime=2020-01-01T00:00:00Z",
            422,
            'PodLogOptions "a" is invalid: []: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be '
            "specified",
        ),
        ("a/log?stream=Stdout", 422, 'PodLogOptions "a" is invalid: stream: Forbidden: may not be specified'),
        ("a/log?previous=true", 400, 'previous terminated container "main" in pod "a" not found'),
        ("soon/log", 400, 'container "main" in pod "soon" is waiting to start: ContainerCreating'),
        ("gone/log", 400, 'container "main" in pod "gone" is waiting to start: trying and failing to pull image'),
    ],
)
def test_what_cannot_be_told_is_refused_as_elsewhere(stage: Stage, path: str, code: int, message: str) -> None:
    create(stage, "two", "a", "b", initContainers=[{"name": "i", "image": "x"}])
    create(stage, "gone", image="does-not-exist")
    stage.pass_time()
    create(stage, "soon")
    found = answer(stage, path)
    assert (found.status, orjson.loads(found.body)["message"]) == (code, message)


def test_a_pod_without_a_node_has_no_log_yet(stage: Stage) -> None:
    create(stage, "homeless", nodeSelector={"no": "where"})
    assert answer(stage, "homeless/log").status == 204


@pytest.mark.parametrize(
    ("path", "code", "message"),
    [
        ("none/exec?command=ls&stdout=1", 404, 'pods "none" not found'),
        ("two/exec?command=ls&stdout=1", 400, "a container name must be specified for pod two, choose one of: [i a b]"),
        ("a/exec?command=ls&stdout=1&container=zz", 400, "container zz is not valid for pod a"),
        ("homeless/exec?command=ls&stdout=1", 400, "pod homeless does not have a host assigned"),
        ("homeless/attach?stdout=1", 400, "pod homeless does not have a host assigned"),
        ("homeless/portforward", 400, "pod homeless does not have a host assigned"),
        ("a/exec?command=ls", 400, "you must specify at least 1 of stdin, stdout, stderr"),
        ("a/exec?command=ls&stdout=1", 400, "Upgrade request required"),
        ("a/portforward", 400, "Upgrade request required"),
    ],
)
def test_no_connection_is_made_to_what_is_not_there(stage: Stage, path: str, code: int, message: str) -> None:
    create(stage, "two", "a", "b", initContainers=[{"name": "i", "image": "x"}])
    create(stage, "homeless", nodeSelector={"no": "where"})
    stage.pass_time()
    found = answer(stage, path)
    assert (found.status, orjson.loads(found.body)["message"]) == (code, message)


def test_an_older_client_is_told_what_is_spoken_here(stage: Stage) -> None:
    found = answer(stage, "a/exec?command=ls&stdout=1", Upgrade="SPDY/3.1")
    assert (found.status, orjson.loads(found.body)["message"]) == (
        400,
        "this cluster speaks WebSocket alone, which kubectl does from version 1.31 on",
    )


def test_nothing_runs_in_a_container_that_has_ended(stage: Stage) -> None:
    create(stage, "b", restartPolicy="Never")
    stage.pass_time(20)
    found = answer(stage, "b/exec?command=ls&stdout=1", Upgrade="websocket")
    assert (found.status, orjson.loads(found.body)["message"]) == (500, 'container not found ("main")')
