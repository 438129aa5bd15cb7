"""Branch coverage of the pure packages must not fall below the line drawn here."""

from __future__ import annotations

import subprocess
import sys

GATE = 90
PURE = ",".join(
    f"gitfed/{package}/*"
    for package in ("text", "model", "documents", "source", "placement", "interpret", "render", "planning")
)


def main() -> int:
    command = [
        sys.executable,
        "-m",
        "coverage",
        "report",
        "--skip-covered",
        f"--include={PURE}",
        f"--fail-under={GATE}",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    total = next((line for line in reversed(done.stdout.splitlines()) if line.startswith("TOTAL")), done.stderr.strip())
    print(f"pure packages, branch coverage: {total} (gate {GATE}%)")
    if done.returncode:
        print(done.stdout)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
