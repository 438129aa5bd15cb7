"""`gitfed plan` tells what no object of it shows: who may do what, who is told, what is checked, the settings."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from gitfed.documents import bindings, state_commits
from gitfed.documents.state_commits import Act
from gitfed.edges.git import Repository
from gitfed.edges.state.state import StateBranch
from gitfed.model.base import Commit
from tests.cli.world import commit, git, gitfed

HEAD = "apiVersion: gitfed.io/v1alpha1\n"
ACCESS = HEAD + (
    "kind: AccessPolicy\nmetadata: {name: team}\n"
    "spec: {subjects: [{kind: User, name: ada}], namespaces: [shop], allow: [view]}\n"
)
NOTIFICATION = HEAD + (
    "kind: Notification\nmetadata: {name: chat}\nspec: {provider: Apprise, target: pager, severities: [error]}\n"
)


def applied(fleet: Path, revision: Commit) -> None:
    branch = StateBranch(Repository.open(fleet), bindings)
    state = branch.read()
    decisions = replace(state.decisions, repository_id="1", known=True, applied_commit=revision)
    message = state_commits.acted(Act.APPLIED, revision)
    branch.write(state, replace(state, decisions=decisions), message=message, now=datetime(2026, 1, 1, tzinfo=UTC))


def test_a_plan_tells_of_access_policies_and_notifications_that_changed(fleet: Path) -> None:
    applied(fleet, Commit(commit(fleet, {"access.yaml": ACCESS})))
    commit(fleet, {"access.yaml": ACCESS.replace("view", "operate"), "chat.yaml": NOTIFICATION})
    done = gitfed("plan")
    lines = done.out.splitlines()
    start = lines.index("Declared")
    assert lines[start + 1 : start + 5] == [
        "  ~ AccessPolicy/team changed  access.yaml:1:1",
        '      spec.allow.0: "view" → "operate"',
        "  + Notification/chat new  chat.yaml:1:1",
        "Placement",
    ], done.err
    told = json.loads(gitfed("plan", "-o", "json").out)["declared"]
    assert [(one["kind"], one["name"], one["change"]) for one in told] == [
        ("AccessPolicy", "team", "changed"), ("Notification", "chat", "new"),
    ]  # fmt: skip
    assert told[0]["fields"] == [{"path": "/spec/allow/0", "before": "view", "after": "operate"}]
    comment = gitfed("plan", "-o", "md").out
    assert "**Declared**\n\n- **changed** <code>AccessPolicy/team</code> in <code>access.yaml:1:1</code>\n" in comment


def test_one_that_is_gone_is_told_even_where_nothing_else_is_to_do(fleet: Path) -> None:
    applied(fleet, Commit(commit(fleet, {"access.yaml": ACCESS})))
    commit(fleet, {"access.yaml": None})
    assert "  - AccessPolicy/team gone  access.yaml:1:1\n" in gitfed("plan").out


def test_where_nothing_was_applied_nothing_is_compared(fleet: Path) -> None:
    commit(fleet, {"access.yaml": ACCESS})
    done = gitfed("plan")
    assert "Declared" not in done.out
    assert json.loads(gitfed("plan", "-o", "json").out)["declared"] == []


def test_a_commit_that_is_not_there_is_not_compared_with_and_that_is_said(fleet: Path) -> None:
    applied(fleet, Commit("9d0e771" + "0" * 33))
    done = gitfed("plan")
    assert "Declared" not in done.out
    assert "note: 9d0e771, which was applied last, is not in this repository: what else changed is not told" in done.err


def test_policies_are_shown_by_what_they_do_and_not_a_second_time(fleet: Path) -> None:
    applied(fleet, Commit(git(fleet, "rev-parse", "HEAD")))
    policy = (fleet / "policies" / "web.yaml").read_text()
    commit(fleet, {"policies/web.yaml": policy.replace("weight: 1", "weight: 3")})
    assert "Declared" not in gitfed("plan").out
