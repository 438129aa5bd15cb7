"""The process in which scripts run that nothing could interrupt otherwise: `python -m gitfed.edges.lua.child`.

Takes calls from its standard input until that ends. The other side is `worker`, which kills this process when an answer
takes too long; should that side be gone, the alarm does it, which ends even a C function that never returns.
"""

from __future__ import annotations

import math
import resource
import signal
import sys
from typing import Any, BinaryIO

import orjson

from gitfed.edges.lua.runtime import Runtime, ScriptError
from gitfed.edges.lua.worker import functions_of
from gitfed.model.script import Script

_ADDRESS_SPACE = 2 << 30


def main(functions: str, seconds: float) -> None:
    runtime = Runtime(functions_of(functions), confined=True)
    for limit, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, 3),
        (resource.RLIMIT_AS, _ADDRESS_SPACE),
    ):
        resource.setrlimit(limit, (value, value))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    _send(sys.stdout.buffer, {})
    while head := sys.stdin.buffer.read(4):
        request = orjson.loads(sys.stdin.buffer.read(int.from_bytes(head)))
        signal.alarm(math.ceil(seconds) + 1)
        _send(sys.stdout.buffer, _answer(runtime, *request))
        signal.alarm(0)


def _answer(
    runtime: Runtime,
    name: str,
    text: str,
    function: str,
    arguments: list[Any],
    results: int,
    now: int,
    backwards: bool,
    seed: int,
    edits: bool,
) -> dict[str, Any]:
    try:
        outcome = runtime.call(
            Script(name, text),
            function,
            *arguments,
            results=results,
            now=now,
            backwards=backwards,
            seed=seed,
            edits=edits,
            texts=[orjson.dumps(one) if isinstance(one, dict) else None for one in arguments],
        )
    except ScriptError as error:
        return {"fault": str(error)}
    flags = (outcome.told_time, outcome.took_order, outcome.took_chance, outcome.line)
    return {"kinds": outcome.kinds, "values": outcome.values, "flags": flags, "edits": outcome.edits}


def _send(pipe: BinaryIO, value: Any) -> None:
    text = orjson.dumps(value)
    pipe.write(len(text).to_bytes(4) + text)
    pipe.flush()


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
