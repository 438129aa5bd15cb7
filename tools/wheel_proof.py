"""Build the wheels, install them into an empty virtual environment, and run the demo there: what a user gets works.

They are built from what the image's build stage copies, so that a file which only the checkout has is missed here.
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


def run(*command: str, cwd: Path, env: dict[str, str] | None = None, code: int = 0) -> str:
    """What the command said, which must end with this code."""
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode != code:
        print(done.stdout + done.stderr)
        raise SystemExit(f"wheel: {' '.join(command)} ended with {done.returncode}, not with {code}")
    return done.stdout + done.stderr


def built(source: Path, into: Path) -> Path:
    run(sys.executable, "-m", "build", "--wheel", "--outdir", str(into), str(source), cwd=into.parent)
    (wheel,) = into.glob("*.whl")
    return wheel


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
        wheel = built(folder / "src", folder / "gitfed")
        simulator = built(folder / "src" / "kubesim", folder / "kubesim")
        venv.create(folder / "empty", with_pip=True)
        program = folder / "empty" / "bin"
        install = (str(program / "pip"), "install", "--quiet", "--disable-pip-version-check")
        demo = (str(program / "gitfed"), "demo", "--once")
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("GITFED_", "PYTHON"))}
        clean |= {"HOME": scratch, "XDG_CACHE_HOME": f"{scratch}/cache", "XDG_STATE_HOME": f"{scratch}/state"}
        # As in the image: the locked versions by their hashes, then the wheels alone.
        run(*install, "--require-hashes", "--requirement", str(ROOT / "deploy/image/requirements.txt"), cwd=folder)
        run(*install, "--no-deps", str(wheel), cwd=folder)
        if "pip install 'gitfed[demo]'" not in run(*demo, cwd=folder, env=clean, code=2):
            raise SystemExit("wheel: without kubesim, gitfed demo does not say what to install")
        run(*install, "--no-deps", str(simulator), cwd=folder)
        run(str(program / "pip"), "check", cwd=folder)
        run(*demo, cwd=folder, env=clean)
        print(f"wheel: {wheel.name}, {simulator.name} installed into an empty environment, gitfed demo --once passed")


if __name__ == "__main__":
    main()
