"""One PlacementTest, tried out: the placement that its facts give, after what it lets happen to the fleet.

A test begins with nothing decided, so that the same commit always gives the same answer; clusters fail on the virtual
clock of `simulation`, by the daemon's own steps. Files that a test names are read from the revision that it stands in.
"""

from __future__ import annotations

import posixpath
from datetime import datetime
from typing import Any

from gitfed.errors import InputError
from gitfed.interpret.registry import Interpreter
from gitfed.model.base import ClusterName
from gitfed.model.decisions import Decisions
from gitfed.model.declared.federation import PlacementTest
from gitfed.model.fleet import FleetSnapshot
from gitfed.model.plan import Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.offline import fleet_inputs, input_files, inputs
from gitfed.planning import build
from gitfed.planning.review import expect
from gitfed.simulation import scenario, simulation
from gitfed.text.values import dataclass

UNTIL = 1800.0
"""Seconds after which a placement is looked at when something failed and the test does not say: half an hour."""


@dataclass(frozen=True, slots=True)
class Tried:
    test: PlacementTest
    plan: Plan
    gone: tuple[ClusterName, ...]
    """Clusters that failed."""
    failures: tuple[expect.Failure, ...]


def attempt(
    opened: inputs.Opened, read: inputs.ReadCommit, test: PlacementTest, interpreter: Interpreter, now: datetime
) -> Tried:
    """Raises InputError for facts or events that cannot be used; it names the test's file."""
    repo = read.repo
    fleet = _fleet(opened, read, test)
    nothing = Decisions(known=True)
    happening = [scenario.ScenarioEvent(0.0, "fail", target) for target in test.spec.given.fail]
    happening += [_taint(test, text) for text in test.spec.given.taint]
    if happening:
        until = test.spec.given.until
        options = simulation.SimulationOptions(until.total_seconds() if until is not None else UNTIL)
        stage = simulation.FailoverSimulation(repo, fleet, nothing, interpreter, now, options)
        try:
            gone = {name for target in test.spec.given.fail for name in stage.clusters(target)}
            plan = stage.run(happening).plan
        except KeyError as error:
            raise InputError(f"{test.origin}: {error.args[0]} names no declared cluster") from error
    else:
        gone = set()
        plan = build.build(repo, fleet, nothing, interpreter, now)
    failures = [failure for wanted in test.spec.expect for failure in expect.check(wanted, plan, repo.clusters, gone)]
    return Tried(test, plan, tuple(sorted(gone)), tuple(failures))


def _fleet(opened: inputs.Opened, read: inputs.ReadCommit, test: PlacementTest) -> FleetSnapshot:
    named = test.spec.facts
    if named is None:
        return fleet_inputs.fleet(opened, read.repo)
    path, content = beside(read, test, named)
    if content is None:
        raise InputError(f"{test.origin}: spec.facts names {named}, which does not exist", hint=f"looked for {path}")
    return input_files.fleet_of(content, path, read.repo)


def beside(read: inputs.ReadCommit, test: PlacementTest, name: str) -> tuple[str, bytes | None]:
    """A file that a test names: (path in the repository, content). Beside the test, else from the root.

    None when there is none; the path is then where it would be. Raises InputError for a path that leaves the
    repository.
    """
    near = posixpath.normpath(posixpath.join(posixpath.dirname(test.origin.path), name))
    far = posixpath.normpath(name)
    for path in dict.fromkeys((near, far)):
        if path.startswith(("../", "/")) or path == "..":
            continue
        if (content := _content(read.tree, path)) is not None:
            return path, content
    if near.startswith(("../", "/")) or near == "..":
        raise InputError(f"{test.origin}: {name} leaves the repository")
    return near, None


def _content(tree: Any, path: str) -> bytes | None:
    for entry in tree.entries():
        if entry.path == path and entry.mode in (0o100644, 0o100755):
            content: bytes = tree.read(entry.blob_id)
            return content
    return None


def _taint(test: PlacementTest, text: str) -> scenario.ScenarioEvent:
    read = scenario.taint(text)
    if read is None or read[1] is not None:
        raise InputError(
            f"{test.origin}: spec.given.taint: {text!r} is not TARGET:KEY[=VALUE]:EFFECT",
            hint="such as cluster/eu-1:drain:NoExecute",
        )
    return read[0]


def tests_of(repo: RepoSnapshot, path: str) -> list[PlacementTest]:
    """The tests of a file, of a folder, or of a name; "" means all."""
    if not path:
        return list(repo.tests)
    wanted = posixpath.normpath(path)
    return [
        test
        for test in repo.tests
        if test.origin.path == wanted or test.origin.path.startswith(f"{wanted}/") or wanted == "." or test.name == path
    ]
