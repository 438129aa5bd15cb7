"""What `kubectl get --watch` prints of several clusters, line by line as it comes."""

from __future__ import annotations

import contextlib
import queue
import subprocess
import threading
from collections.abc import Generator, Sequence

from gitfed.member_access import kubectl
from gitfed.member_access.contexts import KubeContext
from gitfed.member_access.kubectl import KubectlResult
from gitfed.model.base import ClusterName

_ENDS = 5.0
"""Seconds that a program has to end when it is told to."""


def lines(
    contexts: Sequence[KubeContext], arguments: Sequence[str]
) -> Generator[tuple[ClusterName, str] | KubectlResult, None, None]:
    """Lines of all clusters in the order in which they come, and for a cluster whose watch is over how it ended.

    They all end when the caller stops reading. Raises UsageError.
    """
    told: queue.SimpleQueue[tuple[ClusterName, str] | KubectlResult] = queue.SimpleQueue()
    with contextlib.ExitStack() as stack:
        for target in contexts:
            command, environment = stack.enter_context(kubectl.prepared(target))
            process = stack.enter_context(
                subprocess.Popen(
                    [*command, *arguments],
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    encoding="utf-8",
                    errors="replace",
                )
            )
            thread = threading.Thread(target=_read, args=(target.cluster, process, told), daemon=True)
            thread.start()
            stack.callback(_end, process, thread)
        left = len(contexts)
        while left:
            news = told.get()
            left -= isinstance(news, KubectlResult)
            yield news


def _read(
    cluster: ClusterName,
    process: subprocess.Popen[str],
    told: queue.SimpleQueue[tuple[ClusterName, str] | KubectlResult],
) -> None:
    complaints: list[str] = []
    assert process.stdout is not None
    assert process.stderr is not None
    # Read beside the lines: a program blocks for ever when nothing reads its stderr.
    beside = threading.Thread(target=lambda: complaints.extend(process.stderr or ()), daemon=True)
    beside.start()
    for line in process.stdout:
        told.put((cluster, line.rstrip("\n")))
    beside.join()
    told.put(KubectlResult(cluster, process.wait(), "", "".join(complaints).strip()))


def _end(process: subprocess.Popen[str], thread: threading.Thread) -> None:
    process.terminate()
    try:
        process.wait(_ENDS)
    except subprocess.TimeoutExpired:
        process.kill()
    thread.join()
