"""Commands in a clone, which has the state of its origin and none of its own."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.e2e.gated import BASE, GONE, LOOSE, left
from tests.e2e.world import World

pytestmark = pytest.mark.e2e


@pytest.fixture(autouse=True)
def rolled_out(world: World) -> None:
    world.push(BASE)
    world.apply()


def elsewhere(world: World, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command of somebody else: in a fresh clone, with a data folder of its own."""
    clone = world.directory / name
    if not clone.exists():
        subprocess.run(["git", "clone", "-q", str(world.bare), str(clone)], check=True)
    data = ("--data-dir", str(world.directory / f"{name}-data")) if arguments[0] == "apply" else ()
    if arguments[0] in ("apply", "plan"):
        data = (*data, "--kubeconfig", str(world.kubeconfig))
    return world.gitfed(*arguments, "--repo", str(clone), *data, check=False)


def tip(repository: Path, ref: str) -> str:
    command = ["git", "-C", str(repository), "rev-parse", "--verify", "--quiet", ref]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def test_apply_in_a_clone_decides_from_the_state_of_its_origin(world: World) -> None:
    world.gitfed("suspend", "cm/shop/c0", "--repo", str(world.bare))
    before = tip(world.bare, "gitfed/state")
    world.push({"gitfed.json": LOOSE, **GONE})
    done = elsewhere(world, "clone", "apply")
    assert done.returncode == 5, done.stdout + done.stderr
    assert left(world) == ["c0", "c1", "c2", "c3"], "the limits are those of the commit before"
    after = tip(world.bare, "gitfed/state")
    subprocess.run(["git", "-C", str(world.bare), "merge-base", "--is-ancestor", before, after], check=True)
    assert "of: ConfigMap/shop/c0" in world.state()["state.yaml"]
    clone = world.directory / "clone"
    assert (tip(clone, "refs/heads/gitfed/state"), tip(clone, "origin/gitfed/state")) == ("", after)
    digest = json.loads(elsewhere(world, "clone", "plan", "--live", "-o", "json").stdout)["digest"]
    assert elsewhere(world, "clone", "apply", "--confirm", digest).returncode == 0
    assert left(world) == ["c0"], "and it stays suspended"


def test_apply_that_cannot_push_what_it_decides_does_nothing(world: World) -> None:
    subprocess.run(["git", "-C", str(world.bare), "config", "receive.maxInputSize", "1"], check=True)
    world.git("commit", "-q", "--allow-empty", "-m", "nothing")
    clone = world.directory / "clone"
    subprocess.run(["git", "clone", "-q", str(world.bare), str(clone)], check=True)
    (clone / "apps" / "c0.json").unlink()
    git = ["git", "-C", str(clone), "-c", "user.name=t", "-c", "user.email=t@e"]
    subprocess.run([*git, "commit", "-qam", "one goes"], check=True)
    done = elsewhere(world, "clone", "apply")
    assert done.returncode == 4, done.stdout + done.stderr
    assert left(world) == ["c0", "c1", "c2", "c3"]


def test_every_command_says_how_old_its_state_is_and_skips_an_older_branch(world: World) -> None:
    clone = world.directory / "clone"
    subprocess.run(["git", "clone", "-q", str(world.bare), str(clone)], check=True)
    subprocess.run(["git", "-C", str(clone), "fetch", "-q", "origin", "gitfed/state:gitfed/state"], check=True)
    world.gitfed("suspend", "cm/shop/c0", "--repo", str(world.bare))
    subprocess.run(["git", "-C", str(clone), "fetch", "-q"], check=True)
    for arguments in (("log",), ("plan",), ("get", "bindings"), ("explain", "cm/shop/c0"), ("diff", "HEAD..HEAD")):
        done = elsewhere(world, "clone", *arguments)
        said = r"note: gitfed/state is read as it was fetched from origin (just now|\d+ (second|minute)s? ago) \(at "
        assert re.search(said, done.stderr), arguments
        assert "; the branch of that name in this repository is older, and is not read\n" in done.stderr, arguments
    assert "Suspend ConfigMap/shop/c0" in elsewhere(world, "clone", "log").stdout
    world.gitfed("resume", "cm/shop/c0", "--repo", str(clone))
    assert "suspensions" not in world.state()["state.yaml"], "written where others read it"
    assert "Resume ConfigMap/shop/c0" in elsewhere(world, "clone", "log").stdout
