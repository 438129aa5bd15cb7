"""A command started in a container, or what its log says from now on: one session each, over streams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from kubesim.containers import logs, shell, streams
from kubesim.containers.files import Files
from kubesim.containers.streams import Session, Streams

Body = dict[str, Any]


class Disks:
    """What was written in containers, for as long as their Pods are there."""

    def __init__(self, pods: Callable[[], set[str]]) -> None:
        self._pods = pods
        self._disks: dict[tuple[str, str], Files] = {}

    def of(self, pod: Body, container: str) -> Files:
        uid = pod["metadata"]["uid"]
        if (uid, container) not in self._disks:
            living = self._pods()
            self._disks = {key: disk for key, disk in self._disks.items() if key[0] in living}
            self._disks[uid, container] = Files(hostname(pod))
        return self._disks[uid, container]


def hostname(pod: Body) -> str:
    return str(pod["spec"].get("hostname") or pod["metadata"]["name"])


def execution(pod: Body, container: str, files: Files, command: Sequence[str], *, tty: bool) -> Session:
    async def session(given: Streams) -> Body:
        try:
            return streams.ended(await shell.Shell(files, environment(pod, container), given, tty=tty).run(command))
        except shell.NotFound:
            return streams.failed(
                f'exec failed: unable to start container process: exec: "{command[0]}": executable file not found in '
                "$PATH"
            )

    return session


def attachment(find: Callable[[], Body | None], container: str, now: Callable[[], datetime]) -> Session:
    async def session(given: Streams) -> Body:
        async for piece in logs.follow(find, container, logs.Wanted(tail=0), now):
            await given.out(piece)
        return streams.SUCCESS

    return session


def environment(pod: Body, container: str) -> dict[str, str]:
    """Of the system, and what the container declares: values, and fields of the Pod. References to other objects are
    left out."""
    meta, spec, state = pod["metadata"], pod["spec"], pod.get("status") or {}
    fields = {
        "metadata.name": meta["name"],
        "metadata.namespace": meta["namespace"],
        "metadata.uid": meta["uid"],
        "spec.nodeName": spec.get("nodeName", ""),
        "spec.serviceAccountName": spec.get("serviceAccountName", ""),
        "status.podIP": state.get("podIP", ""),
        "status.hostIP": state.get("hostIP", ""),
    }
    found = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOSTNAME": hostname(pod),
        "HOME": "/root",
        "KUBERNETES_SERVICE_HOST": "10.0.0.1",
        "KUBERNETES_SERVICE_PORT": "443",
    }
    declared = next((one.get("env") or () for one in spec["containers"] if one["name"] == container), ())
    for one in declared:
        path = ((one.get("valueFrom") or {}).get("fieldRef") or {}).get("fieldPath")
        if path in fields:
            found[one["name"]] = fields[path]
        elif "valueFrom" not in one:
            found[one["name"]] = one.get("value", "")
    return found
