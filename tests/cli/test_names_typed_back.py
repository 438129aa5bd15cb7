"""What is printed as the name of an object or a cluster is understood by every command that takes one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import click
import pytest

from gitfed.cli import main
from gitfed.cli.commands.moving import promote
from gitfed.documents import bindings, state_commits
from gitfed.documents.state_commits import Act
from gitfed.edges.git import Repository
from gitfed.edges.state.state import StateBranch
from gitfed.model.base import Commit
from gitfed.views import names
from tests.cli.world import commit, git, gitfed

OBJECTS = [
    ("shop/Deploy/web",),
    ("Deployment.apps/shop/web",),
    ("deploy/shop/web",),
    ("DEPLOY/shop/web",),
    ("shop/deployment.apps/web",),
    ("deployments/shop/web",),
    ("deploy/web", "-n", "shop"),
    ("Deploy/web", "-n", "shop"),
]
OBJECT_COMMANDS = {
    "explain": (), "blame": (), "suspend": (), "resume": (), "reconcile": (), "interpret": (),
    "log": (), "reschedule": (), "promote": (), "orphans delete": (), "orphans adopt": (),
}  # fmt: skip
"""Every command whose argument is an object: one that is not here fails the walk."""
ELSEWHERE = {"promote", "orphans delete", "orphans adopt"}
"""These ask a cluster: their forms are tried where one is, and below."""
CLUSTERS = ["eu-1", "cluster/eu-1", "Cluster/eu-1", "clusters/eu-1"]


def walk(command: click.Command, path: str = "") -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from walk(found, f"{path} {name}".strip())
    else:
        yield path, command


def taking(word: str) -> set[str]:
    """Commands with an argument whose form has the word."""
    return {
        path
        for path, command in walk(main.cli)
        for parameter in command.params
        if isinstance(parameter, click.Argument) and word in (parameter.metavar or "")
    }


@pytest.fixture
def decided(fleet: Path) -> Path:
    """With a state branch, so that orders can be given."""
    branch = StateBranch(Repository.open(fleet), bindings)
    state = branch.read()
    decisions = replace(
        state.decisions, repository_id="1", known=True, applied_commit=Commit(git(fleet, "rev-parse", "HEAD"))
    )
    message = state_commits.acted(Act.APPLIED, str(decisions.applied_commit))
    branch.write(state, replace(state, decisions=decisions), message=message, now=datetime(2026, 1, 1, tzinfo=UTC))
    return fleet


def test_no_command_that_takes_an_object_is_left_out_here() -> None:
    assert taking("[NS/]NAME") == set(OBJECT_COMMANDS)


@pytest.mark.parametrize("command", sorted(OBJECT_COMMANDS.keys() - ELSEWHERE))
def test_every_form_of_an_object_is_understood_by(decided: Path, command: str) -> None:
    for form in OBJECTS:
        if command == "interpret" and len(form) > 1:
            continue  # it takes files too, and no namespace
        if command == "log" and len(form) > 1:
            form = (form[0], "--namespace", form[2])
        done = gitfed(command, *form)
        # What was never placed cannot be placed anew, and what is not suspended is not resumed: that too is understood.
        refused = [line for line in done.err.splitlines() if line.startswith("error: ")]
        assert not any("no object" in line or "not name an object" in line for line in refused), (form, done.err)
        assert done.code != 2 or any("Deployment.apps/shop/web" in line for line in refused), (form, done.err)


@pytest.mark.parametrize("thing", ["bindings", "works", "events"])
def test_every_form_of_an_object_is_understood_by_get(decided: Path, thing: str) -> None:
    for form in OBJECTS:
        done = gitfed("get", thing, *form)
        assert (done.code, "no " in done.err and "hint" in done.err) == (0, False), (form, done.err)


@pytest.mark.parametrize("thing", ["clusters", "bindings", "works", "policies"])
def test_every_name_that_get_prints_is_taken_by_get(decided: Path, thing: str) -> None:
    printed = gitfed("get", thing, "-o", "name").out.split()
    shown = [line.split()[0] for line in gitfed("get", thing).out.splitlines()[1:] if line.strip()]
    assert printed
    for name in {*printed, *shown, *map(str.lower, printed)}:
        assert gitfed("get", thing, name).code == 0, name


@pytest.mark.parametrize("name", CLUSTERS)
def test_every_form_of_a_cluster_is_understood(decided: Path, name: str) -> None:
    dry = "--dry-run=client"
    for command in (
        ("cordon", name, dry), ("uncordon", name, dry), ("taint", name, "a=b:NoSchedule", dry),
        ("top", "clusters", name), ("get", "clusters", name), ("get", "works", "--cluster", name),
        ("explain", "deploy/shop/web", "-c", name), ("render", "-c", name), ("rbac", "--cluster", name),
        ("blame", "deploy/shop/web", "--cluster", name),
    ):  # fmt: skip
        done = gitfed(*command)
        assert done.code != 2, (command, done.err)
        assert "no cluster" not in done.err, (command, done.err)


def test_a_cluster_argument_of_any_command_takes_the_printed_form() -> None:
    found = []
    for path, command in walk(main.cli):
        for parameter in command.params:
            offers = getattr(parameter, "_custom_shell_complete", None)
            if getattr(offers, "__name__", "") == "clusters" and path != "taint":
                assert parameter.type.convert("cluster/eu-1", parameter, None) == "eu-1", (path, parameter.name)
                found.append(path)
    assert len(found) >= 13


def test_a_notification_is_called_as_a_plan_calls_it(fleet: Path) -> None:
    text = (
        "apiVersion: gitfed.io/v1alpha1\nkind: Notification\nmetadata: {name: chat}\n"
        "spec: {provider: Apprise, target: pager, severities: [error]}\n"
    )
    commit(fleet, {"chat.yaml": text})
    assert gitfed("notify", "Notification/chat").code == 0


@pytest.mark.parametrize("form", OBJECTS, ids=" ".join)
def test_every_form_of_an_object_is_understood_by_promote(form: tuple[str, ...]) -> None:
    namespace = form[2] if len(form) > 1 else ""
    readings = promote._readings(form[:1], namespace)
    (found,) = [one for one in readings if names.is_kind(one.kind, "apps", "Deployment", "deployments")]
    assert (found.namespace, found.name) == ("shop", "web")


@pytest.mark.parametrize("words", [("a", "b", "c"), ("a",), ("a//b",), ("a/b/c/d",), ("a/b", "c")])
def test_what_names_no_object_is_refused_by_promote(words: tuple[str, ...]) -> None:
    from gitfed.errors import UsageError

    with pytest.raises(UsageError, match="does not name an object"):
        promote._readings(words, "")
