"""`python -m tests.fuzz SECONDS [TARGET …]`: other inputs than the suite's, one target after another.

Each target runs in a process of its own with 1.5 GiB of address space. What does harm is printed in its smallest form;
keep it in the corpus once it does none.
"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import time

from hypothesis import HealthCheck, Verbosity, given, seed, settings

from tests.fuzz.targets import SECONDS, TARGETS

MEMORY = 1536 * 1024 * 1024
_ROUND = 500


def one(name: str, seconds: float) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    target, count, end = TARGETS[name], 0, time.monotonic() + seconds
    while time.monotonic() < end:
        number = random.randrange(2**32)

        @seed(number)
        @settings(
            max_examples=_ROUND, deadline=None, database=None, verbosity=Verbosity.normal,
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(target.inputs)
        def harmless(case: object) -> None:
            nonlocal count
            if time.monotonic() < end:
                count += 1
                began = time.process_time()
                target.run(case)
                assert time.process_time() - began < SECONDS

        harmless()
    print(f"{name}: {count:,} inputs, none did harm", flush=True)


def main(arguments: list[str]) -> int:
    if arguments and arguments[0] == "--one":
        one(arguments[1], float(arguments[2]))
        return 0
    seconds, names = (arguments[0] if arguments else "60"), arguments[1:] or list(TARGETS)
    wrong = [
        name
        for name in names
        if subprocess.run([sys.executable, "-m", "tests.fuzz", "--one", name, seconds]).returncode
    ]
    if wrong:
        print(f"harm was done to: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
