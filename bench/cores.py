"""Who had the cores meanwhile: where all are taken, waiting says nothing of the program that is measured."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")
_BUSY = 0.85
"""Of all cores, from which on who waits may wait for a core."""


class Shares:
    """`processes`: by what they are. It counts from when it is made."""

    def __init__(self, processes: Mapping[str, int]) -> None:
        self._processes = dict(processes)
        self._before = {name: of_process(number) for name, number in processes.items()}
        self._machine, self._began = _machine(), time.perf_counter()

    def told(self) -> str:
        took = time.perf_counter() - self._began
        own = {name: (of_process(number) - self._before[name]) / took for name, number in self._processes.items()}
        busy = (_machine() - self._machine) / took
        others = max(0.0, busy - sum(own.values()))
        parts = [f"{name} {cores:.2f}" for name, cores in {**own, "others": others}.items()]
        count = os.cpu_count() or 1
        limited = "; limited by the cores, waiting says little" if busy > _BUSY * count else ""
        return f"{', '.join(parts)} of {count}{limited}"


def of_process(number: int) -> float:
    """Seconds of a core that it took so far."""
    fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def _machine() -> float:
    """Seconds of a core that everything took so far."""
    fields = [int(one) for one in Path("/proc/stat").read_text().partition("\n")[0].split()[1:]]
    idle = fields[3] + fields[4]
    return (sum(fields[:8]) - idle) / _TICK
