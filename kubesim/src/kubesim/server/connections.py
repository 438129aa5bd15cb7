"""What a kubelet answers through the API server: logs, a command in a container, its output, its ports.

Which refusals come first, and their words, are those of a real API server; what the container then says is the room
of ``kubesim.containers``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from kubesim import status
from kubesim.containers import commands, logs, ports
from kubesim.server import options, request
from kubesim.server.actions import no_machine
from kubesim.server.request import TEXT, Address, Request, Response
from kubesim.server.world import World

Body = dict[str, Any]

NAMES: Final = frozenset({"log", "exec", "attach", "portforward", "proxy"})


def connect(world: World, address: Address, body: Body, req: Request) -> Response:
    """Of a Pod on a known node; nothing else has anything to connect to."""
    if body["kind"] != "Pod":
        raise no_machine(address.subresource)
    match address.subresource:
        case "log":
            return _log(world, body, req)
        case "exec" | "attach":
            return _session(world, body, req, address.subresource)
        case "portforward":
            return _ports(world, body, req)
    _check_host(world, body)
    raise no_machine(address.subresource)


def _check_host(world: World, pod: Body) -> None:
    node = pod["spec"].get("nodeName")
    if not node:
        raise status.bad_request(f"pod {pod['metadata']['name']} does not have a host assigned")
    if world.lookup.get("nodes", "", node) is None:
        raise status.not_found("", "pods", node)


def _container(pod: Body, req: Request) -> str:
    """The one that is asked for, or the only one."""
    asked, name, spec = req.first("container"), pod["metadata"]["name"], pod["spec"]
    parts = ("initContainers", "containers", "ephemeralContainers")
    known = [one["name"] for part in parts for one in spec.get(part) or ()]
    if asked in known:
        return asked
    if asked:
        raise status.bad_request(f"container {asked} is not valid for pod {name}")
    if len(spec["containers"]) == 1:
        return str(spec["containers"][0]["name"])
    text = f"a container name must be specified for pod {name}, choose one of: [{' '.join(known)}]"
    raise status.bad_request(text)


# commands


def _session(world: World, pod: Body, req: Request, what: str) -> Response:
    container = _container(pod, req)
    _check_host(world, pod)
    if not any(request.truth(req.query.get(name)) for name in ("stdin", "stdout", "stderr")):
        raise status.bad_request("you must specify at least 1 of stdin, stdout, stderr")
    _check_upgrade(req)
    told = (pod.get("status") or {}).get("containerStatuses") or ()
    if not any(one["name"] == container and one["state"].get("running") for one in told):
        raise status.ApiError(500, "InternalError", f'container not found ("{container}")', {})
    if what == "attach":
        return Response(101, session=commands.attachment(_finder(world, pod), container, world.clock.now))
    command = req.query.get("command") or []
    if not command:
        raise status.bad_request("you must specify a command")
    tty = request.truth(req.query.get("tty"))
    files = world.disks.of(pod, container)
    return Response(101, session=commands.execution(pod, container, files, command, tty=tty))


def _ports(world: World, pod: Body, req: Request) -> Response:
    _check_host(world, pod)
    _check_upgrade(req)
    if (pod.get("status") or {}).get("phase") != "Running":
        raise status.ApiError(500, "InternalError", "unable to forward port because pod is not running", {})
    return Response(101, session=ports.forwarding(pod))


def _check_upgrade(req: Request) -> None:
    """400 unless the connection is to become a WebSocket."""
    asked = str(req.headers.get("Upgrade", "")).lower()
    if asked.startswith("spdy"):
        raise status.bad_request("this cluster speaks WebSocket alone, which kubectl does from version 1.31 on")
    if asked != "websocket":
        raise status.bad_request("Upgrade request required")


# logs


def _log(world: World, pod: Body, req: Request) -> Response:
    meta = pod["metadata"]
    wanted = _wanted(meta["name"], req, world.clock.now())
    container = _container(pod, req)
    if not pod["spec"].get("nodeName"):
        return Response(204, b"", "")
    _check_host(world, pod)
    told = logs.of(pod, container, wanted, world.clock.now())
    if not request.truth(req.query.get("follow")):
        return Response(200, logs.text(told, wanted), TEXT)

    return Response(200, b"", TEXT, stream=logs.follow(_finder(world, pod), container, wanted, world.clock.now))


def _finder(world: World, pod: Body) -> Callable[[], Body | None]:
    """Gives that very Pod as it is, as long as it is there."""
    meta = pod["metadata"]

    def find() -> Body | None:
        found = world.lookup.get("pods", meta["namespace"], meta["name"])
        return found if found is not None and found["metadata"]["uid"] == meta["uid"] else None

    return find


def _wanted(name: str, req: Request, now: datetime) -> logs.Wanted:
    """400 for what cannot be read, 422 for what makes no sense (Kubernetes: ValidatePodLogOptions)."""
    numbers = {
        key: options.integer(req.first(key)) if req.query.get(key) else None
        for key in ("tailLines", "limitBytes", "sinceSeconds")
    }
    since = _time(req.first("sinceTime"))
    errors: list[status.FieldError] = []
    for key, least, text in (("tailLines", 0, "greater than or equal to 0"), ("limitBytes", 1, "greater than 0")):
        value = numbers[key]
        if value is not None and value < least:
            errors.append(status.invalid_value(key, value, f"must be {text}"))
    seconds = numbers["sinceSeconds"]
    if seconds is not None and since is not None:
        text = "at most one of `sinceTime` or `sinceSeconds` may be specified"
        errors.append(status.forbidden_field("[]", text))
    elif seconds is not None and seconds < 1:
        errors.append(status.invalid_value("sinceSeconds", seconds, "must be greater than 0"))
    if req.first("stream"):
        errors.append(status.forbidden_field("stream", "may not be specified"))
    _refuse(name, errors)
    if seconds is not None:
        since = now - timedelta(seconds=min(seconds, 10**9))
    return logs.Wanted(
        previous=request.truth(req.query.get("previous")),
        timestamps=request.truth(req.query.get("timestamps")),
        since=since,
        tail=numbers["tailLines"],
        limit=numbers["limitBytes"],
    )


def _refuse(name: str, errors: Sequence[status.FieldError]) -> None:
    if errors:
        raise status.invalid("", "PodLogOptions", name, errors)


def _time(text: str) -> datetime | None:
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
        if found.tzinfo is not None:
            return found
    except ValueError:
        pass
    quoted = status.quote(text)
    why = f'parsing time {quoted} as "2006-01-02T15:04:05Z07:00": cannot parse {quoted} as "2006"'
    raise status.bad_request(why)
