"""Build the wheel, install it into an empty virtual environment, and run the demo there: what a user gets works."""

from __future__ import annotations

import os
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


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        run(sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT), cwd=ROOT)
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
