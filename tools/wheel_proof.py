"""Build the wheel, install it into an empty virtual environment, and run the demo there: what a user gets works.

The wheel is built from what the image's build stage copies, so that a file which only the checkout has is missed here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def run(*command: str, cwd: Path, env: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout + done.stderr)
        raise SystemExit(f"wheel: {' '.join(command)} failed with {done.returncode}")


def copied(into: Path) -> None:
    """What the first stage of the Dockerfile copies before it builds."""
    stage = (ROOT / "Dockerfile").read_text().split("\nFROM ")[1]
    for line in stage.splitlines():
        words = line.split()
        if words[:1] != ["COPY"]:
            continue
        *sources, target = words[1:]
        for source in sources:
            place = into / target / (Path(source).name if target.endswith("/") else "")
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, place, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / source, place)


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        copied(folder / "src")
        run(sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(folder / "src"), cwd=folder)
        (wheel,) = folder.glob("*.whl")
        venv.create(folder / "empty", with_pip=True)
        program = folder / "empty" / "bin"
        run(str(program / "pip"), "install", "--quiet", "--disable-pip-version-check", str(wheel), cwd=folder)
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("GITFED_", "PYTHON"))}
        clean |= {"HOME": scratch, "XDG_CACHE_HOME": f"{scratch}/cache", "XDG_STATE_HOME": f"{scratch}/state"}
        run(str(program / "gitfed"), "demo", "--once", cwd=folder, env=clean)
        print(f"wheel: {wheel.name} installed into an empty environment, gitfed demo --once passed")


if __name__ == "__main__":
    main()
