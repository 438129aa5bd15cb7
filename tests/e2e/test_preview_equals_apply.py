"""What a review says of two commits is what then happens in the clusters, object by object.

Each step changes a random repository (`preview_repository`), asks `gitfed diff` and `gitfed render` what will be, lets
`gitfed apply` do it until nothing is left to do, and compares: what was created, changed and deleted with what was
foretold, and every object with the manifest that was rendered beforehand. Between preview and apply a cluster may die:
then a saved plan is refused, and says what moved.

`GITFED_PREVIEW_SEEDS` is how many walks there are (default: a few), `GITFED_PREVIEW_FIRST` which is the first.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import random
import shutil
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from gitfed.model.reason import IF_PRESENT, ONCE_EMPTY
from gitfed.text import quantity
from tests.cli.world import Result, gitfed
from tests.clusters.rest import RefusedError
from tests.e2e import worlds
from tests.e2e.preview_repository import CLUSTERS, Repository
from tests.e2e.workloads import GROUP
from tests.e2e.world import World
from tests.support import needs

pytestmark = [pytest.mark.e2e, pytest.mark.slow, needs.pushed("gitfed apply carries out nothing in pulled clusters")]

FIRST = int(os.environ.get("GITFED_PREVIEW_FIRST", "0"))
SEEDS = range(FIRST, FIRST + int(os.environ.get("GITFED_PREVIEW_SEEDS", "1")))
STEPS = 5
LISTS = {
    "Namespace": "/api/v1/namespaces", "ConfigMap": "/api/v1/configmaps", "Secret": "/api/v1/secrets",
    "Service": "/api/v1/services", "Deployment": "/apis/apps/v1/deployments", "Job": "/apis/batch/v1/jobs",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "Workload": f"/apis/{GROUP}/v1alpha1/workloads",
}  # fmt: skip
SERVERS_OWN = ("resourceVersion", "generation", "managedFields", "creationTimestamp", "selfLink")
DONE = ("create", "update", "delete")


class Place(NamedTuple):
    cluster: str
    kind: str
    namespace: str
    name: str


Contents = dict[Place, dict[str, Any]]
Told = dict[Place, dict[str, Any]]


class Stage:
    """One world and what is said and done in it. Every command runs in this process, which saves most of its time."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.chance = random.Random(seed)
        self.repository = Repository(self.chance)
        self.log = [f"seed {seed}"]

    def run(self, *arguments: str) -> Result:
        done = gitfed(*arguments, env=self.world.environment)
        with warnings.catch_warnings():
            # A command is a process that ends, and leaves the closing to that.
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()
        self.log.append(f"gitfed {arguments[0]} {arguments[1]}: {done.code} {done.err.strip()[-300:]}")
        if arguments[0] == "apply":
            self.log.append(done.out)
        return done

    def live(self, command: str, *arguments: str) -> Result:
        """A command that looks at the clusters."""
        return self.run(command, *arguments, "--repo", str(self.world.bare), "--kubeconfig", str(self.world.kubeconfig))

    def apply(self, *arguments: str) -> Result:
        """A wave waits for health, which comes when this has returned (`settle`): no use in waiting for it longer."""
        return self.live("apply", *arguments, "--timeout", "20s", "--data-dir", str(self.world.data))

    def contents(self, without: str = "") -> Contents:
        """Everything with our label, without what the servers write."""
        found: Contents = {}
        for where in self.world.names:
            if where == without:
                continue
            for kind, path in LISTS.items():
                with contextlib.suppress(RefusedError):  # the kind is not defined there
                    for body in self.world.ask(where, "GET", f"{path}?labelSelector=gitfed.io/federation=acme")[
                        "items"
                    ]:
                        place = Place(where, kind, body["metadata"].get("namespace", ""), body["metadata"]["name"])
                        if "deletionTimestamp" not in body["metadata"]:
                            found[place] = _meant(body)
        return found

    def controllers(self) -> None:
        for place in self.contents():
            if place.kind == "Deployment":
                self.world.mark_available(place.cluster, place.namespace, place.name)
            elif place.kind == "Job":
                self.world.mark_started(place.cluster, place.namespace, place.name)

    def settle(self, *arguments: str) -> Result:
        """Applied, healthy, and applied again: moves end when the new copy is healthy."""
        for _ in range(6):
            done = self.apply(*arguments)
            assert done.code in (0, 3, 5, 6), done
            if ": 0 writes." in done.out:
                return done
            self.controllers()
        raise AssertionError(f"it never comes to rest: {done}")

    def consent(self) -> None:
        """Let through what gates hold, as often as they hold something."""
        for _ in range(4):
            digest = json.loads(self.live("plan", "--live", "-o", "json").out)["digest"]
            if self.apply("--confirm", digest).code != 5:
                break
            self.controllers()
        assert self.settle().code != 5

    def rendered(self) -> Contents:
        """What `gitfed render` gives for HEAD."""
        folder = self.world.directory / "rendered"
        shutil.rmtree(folder, ignore_errors=True)
        self.run("render", "-d", str(folder), "--with-secrets", "--repo", str(self.world.bare))
        found: Contents = {}
        for path in folder.rglob("*.yaml"):
            body = yaml.safe_load(path.read_text())
            metadata = body["metadata"]
            cluster = path.relative_to(folder).parts[0]
            found[Place(cluster, body["kind"], metadata.get("namespace", ""), metadata["name"])] = body
        return found


def _meant(body: Mapping[str, Any]) -> dict[str, Any]:
    made = {name: value for name, value in body.items() if name not in ("status", "apiVersion", "kind")}
    made["metadata"] = {name: value for name, value in body["metadata"].items() if name not in SERVERS_OWN}
    return made


def _told(changes: list[dict[str, Any]]) -> Told:
    return {Place(one["cluster"], one["kind"], one["namespace"], one["name"]): one for one in changes}


def _actions(told: Told, leaving: set[tuple[str, str]] | None = None) -> dict[Place, str]:
    """What happens in the end: a copy that waits for its replacement, or for who needs it to leave, goes too.

    `leaving`: the only (cluster, object) that leave what they need; None: all that somebody touches."""
    found = {place: one["action"] for place, one in told.items() if one["action"] in DONE}
    waits = ("move: stays until", "evicted: stays until")
    found |= {place: "delete" for place, one in told.items()
              if any(map(one["reason"].count, waits)) and not _waits_for_ever(place, one["reason"], told)}  # fmt: skip
    found |= {place: "update" for place, one in told.items() if one["reason"].startswith("move: stays at ")}
    # Who needs it leaves or is written anew, but for copies that nobody touches.
    untouched = {(place.cluster, f"{place.namespace}/{place.name}") for place, one in told.items()
                 if place not in found and one["action"] in ("keep", "skip")}  # fmt: skip
    needed = {place: one["reason"].split()[0].partition("/")[2] for place, one in told.items()
              if one["reason"].endswith(" still needs it here")}  # fmt: skip
    return found | {place: "delete" for place, owner in needed.items()
                    if ((place.cluster, owner) not in untouched if leaving is None
                        else (place.cluster, owner) in leaving)}  # fmt: skip


def _waits_for_ever(place: Place, reason: str, told: Told) -> bool:
    """What takes its place is suspended, and so never healthy."""
    newcomers = reason.partition("until ")[2].removesuffix(" is healthy").split(", ")
    return any(told.get(place._replace(cluster=name), {}).get("action") == "skip" for name in newcomers)


def _unforeseen(told: Told) -> set[Place]:
    """Where a policy suspended an object so far, or left it, Git does not tell what is there; the review says so."""
    codes = ("SuspensionEnded", "LeftByEarlierCommit", "UnlessPresent", "UnlessLeftBehind")
    unknown = (IF_PRESENT, ONCE_EMPTY)
    return {
        place for place, one in told.items() if one["reasonCode"] in codes or any(map(one["reason"].count, unknown))
    }


def _held(told: Told) -> set[Place]:
    return {place for place, one in told.items() if one["action"] == "skip" and one["reasonCode"] == "Gate"}


def _is_gated(document: dict[str, Any]) -> bool:
    return any(gate["held"] for gate in document["gates"])


def _but(actions: dict[Place, str], places: set[Place]) -> dict[Place, str]:
    return {place: action for place, action in actions.items() if place not in places}


def _same(told: dict[Place, str], found: dict[Place, str], what: str) -> None:
    wrong = [f"{' '.join(place)}: {told.get(place)}, {found.get(place)}"
             for place in sorted(told.keys() | found.keys()) if told.get(place) != found.get(place)]  # fmt: skip
    assert not wrong, "\n".join([f"what {what}:", *wrong])


def _happened(before: Contents, after: Contents) -> dict[Place, str]:
    found = dict.fromkeys(after.keys() - before.keys(), "create")
    found |= dict.fromkeys(before.keys() - after.keys(), "delete")
    return found | {place: "update" for place in before.keys() & after.keys() if before[place] != after[place]}


def _lacks(wanted: Any, has: Any, path: str = "") -> Iterator[str]:
    """Where an object is not as its manifest says; servers add what is not said."""
    if isinstance(wanted, dict) and isinstance(has, dict):
        for name, value in wanted.items():
            yield from _lacks(value, has.get(name), f"{path}/{name}")
    elif isinstance(wanted, list) and isinstance(has, list) and len(wanted) == len(has):
        for number, value in enumerate(wanted):
            yield from _lacks(value, has[number], f"{path}/{number}")
    elif path.endswith("/cpu") and has is not None and quantity.parse(wanted) == quantity.parse(has):
        return
    elif wanted != has and wanted not in (None, {}, []):
        yield f"{path}: {has!r}, rendered was {wanted!r}"


@pytest.fixture(params=worlds.BOTH)
def stage(request: pytest.FixtureRequest, tmp_path: Path, seed: int) -> Iterator[Stage]:
    with request.param(list(CLUSTERS), tmp_path) as world:
        yield Stage(world, seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_preview_equals_what_is_applied(stage: Stage) -> None:
    world, repository = stage.world, stage.repository
    world.push(repository.first())
    stage.settle()
    stage.consent()
    for number in range(STEPS):
        edits = repository.edit()
        stage.log += [f"step {number}", *(f"  {name}: {text or 'removed'}" for name, text in sorted(edits.items()))]
        world.push(edits)
        try:
            _step(stage)
        except AssertionError as error:
            raise AssertionError("\n".join([*stage.log, "", str(error)])) from error


def _step(stage: Stage) -> None:
    said = stage.run("diff", "main~1..main", "--repo", str(stage.world.bare), "-o", "json")
    assert said.code in (0, 1), said.err
    review = json.loads(said.out)
    told = _told(review["changes"])
    rendered = stage.rendered()
    before = stage.contents()
    # The preview from Git alone and the plan that sees the clusters name the same changes.
    saved = stage.world.directory / "plan.json"
    plan = json.loads(stage.live("plan", "--live", "-o", "json", "--out", str(saved)).out)
    unsure = _unforeseen(told)
    planned = _told(plan["changes"])
    stage.log += ["the plan:", *(f"  {' '.join(at)}: {one['action']} {one['reason']}" for at, one in planned.items())]
    held = _held(told)
    # A review says where things end: what it keeps for somebody stays, until what a limit holds goes.
    gated, foretold = _is_gated(plan), _actions(told, set())
    going = {(place.cluster, f"{place.namespace}/{place.name}") for place in held}
    in_the_end = _actions(told | {place: {**told[place], "action": "delete"} for place in held}, going)
    if gated != _is_gated(review):
        # The review counted what its policy suspends, and that was not there.
        assert not gated, plan["gates"]
        assert held & unsure, review["gates"]
        foretold = in_the_end
    _same(_but(foretold, unsure), _but(_actions(planned), unsure), "the review says, the plan does")
    if stage.chance.random() < 0.3:
        _a_cluster_dies_in_between(stage, saved, plan)
    done = stage.settle()
    assert (done.code == 5) == gated, plan["gates"]
    _same(_but(foretold, unsure), _but(_happened(before, stage.contents()), unsure), "was said, was done")
    if gated:
        assert held
        stage.consent()
        foretold = in_the_end
    after = stage.contents()
    _same(_but(foretold, unsure), _but(_happened(before, after), unsure), "was said, was done in the end")
    stays = {place for place, one in told.items() if one["action"] in ("keep", "skip")} - held
    for place, body in rendered.items():
        if place in after and place not in stays:
            assert not list(_lacks(_meant(body), after[place])), place
    for one in review["placement"]:
        resource = one["resource"]
        shares = {share["name"]: share["replicas"] for share in one["after"] if share["replicas"] is not None}
        for where, count in shares.items():
            place = Place(where, resource["kind"], resource["namespace"], resource["name"])
            if place not in stays and place in after and place.kind in ("Deployment", "Workload"):
                assert after[place]["spec"]["replicas"] == count, place


def _a_cluster_dies_in_between(stage: Stage, saved: Path, plan: dict[str, Any]) -> None:
    """What was reviewed is not done when the world is another one by then; the refusal names the cluster."""
    where = stage.chance.choice(CLUSTERS)
    stage.log.append(f"  {where} dies before the plan is applied")
    concerned = any(one["cluster"] == where and one["action"] in DONE for one in plan["changes"])
    stage.world.servers[where].kill()
    try:
        before = stage.contents(without=where)
        refused = stage.apply(str(saved))
        assert not concerned or refused.code == 3, refused
        if refused.code == 3:
            assert f"change {where} " in refused.err
            assert stage.contents(without=where) == before
    finally:
        stage.world.servers[where].start()
