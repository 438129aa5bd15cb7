"""Are advisories known for what the image installs? Asks the public advisory service for deploy/image/requirements.txt.

Ends with 1 where there is one. Where nobody answers it says NOT RUN: that is no answer, and no failure.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LOCKED = Path(__file__).resolve().parent.parent / "deploy" / "image" / "requirements.txt"


def main() -> int:
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(LOCKED), "--require-hashes", "--disable-pip",
               "--timeout", "15", "--progress-spinner", "off", "--format", "json"]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        answer = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError):
        print("NOT RUN: pip-audit is not installed, or the advisory service gives no answer")
        return 0
    return told(answer)


def told(answer: Mapping[str, Any]) -> int:
    """`answer` is pip-audit's JSON: what is printed of it, and the code to end with."""
    packages = answer["dependencies"]
    asked = [one for one in packages if "skip_reason" not in one]
    for one in asked:
        for advisory in one["vulns"]:
            mended = ", ".join(advisory["fix_versions"]) or "no version yet"
            print(f"{one['name']} {one['version']}: {advisory['id']}, mended in {mended}")
    if not asked:
        print(f"NOT RUN: the advisory service knows none of the {len(packages)} packages")
    elif left := [one["name"] for one in packages if "skip_reason" in one]:
        print(f"NOT RUN for {', '.join(left)}")
    found = sum(len(one["vulns"]) for one in asked)
    if asked:
        print(f"audit: {len(asked)} packages, {found} advisories")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
