"""The process in which scripts are compiled and run: `python -m gitfed.edges.lua.child`.

Takes calls from its standard input until that ends. The other side is `worker`, which kills this process when an answer
takes too long; should that side be gone, the alarm does it, which ends even a C function that never returns.
"""

from __future__ import annotations

import math
import resource
import signal
import sys

from gitfed.edges.lua import pipe
from gitfed.edges.lua.request import COMPILE, Outcome, Request, ScriptError
from gitfed.edges.lua.runtime import Runtime, functions_of

_ADDRESS_SPACE = 2 << 30


def main(functions: str, seconds: float) -> None:
    runtime = Runtime(functions_of(functions))
    for limit, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, 3),
        (resource.RLIMIT_AS, _ADDRESS_SPACE),
    ):
        _, hard = resource.getrlimit(limit)  # may be lower already, and cannot be raised
        lowest = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(limit, (lowest, lowest))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    _send(pipe.message(b""))
    while head := sys.stdin.buffer.read(4):
        for request in pipe.read_calls(sys.stdin.buffer.read(int.from_bytes(head))):
            signal.alarm(math.ceil(seconds) + 1)
            _send(pipe.answer(_answer(runtime, request)))
            signal.alarm(0)


def _answer(runtime: Runtime, request: Request) -> Outcome | ScriptError:
    try:
        return runtime.compile(request.script) if request.function == COMPILE else runtime.call(request)
    except ScriptError as error:
        return error


def _send(message: bytes) -> None:
    """At once: what was answered must be known before the next call hangs."""
    sys.stdout.buffer.write(message)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
