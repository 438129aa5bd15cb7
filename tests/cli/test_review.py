"""`gitfed review`, as CI jobs call it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gitfed.cli import pipeline
from gitfed.cli.output import markdown
from gitfed.edges import forge
from gitfed.edges.forge import ForgeProject
from tests.cli.world import FILES, commit, deployment, git, gitfed
from tests.edges.forge import servers
from tests.edges.forge.servers import KINDS, TOKEN, Fake

CI = ("GITHUB_ACTIONS", "GITHUB_TOKEN", "GITEA_ACTIONS", "GITLAB_CI", "BITBUCKET_BUILD_NUMBER", "GITFED_FORGE_TOKEN")


@pytest.fixture(autouse=True)
def no_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in CI:
        monkeypatch.delenv(name, raising=False)


def branch(fleet: Path, files: dict[str, str | None]) -> tuple[str, str]:
    """A change on a branch of its own, checked out; (base, head)."""
    base = git(fleet, "rev-parse", "HEAD")
    git(fleet, "checkout", "-q", "-b", "feature")
    return base, commit(fleet, files)


def environment(kind: str, fake: Fake, base: str, head: str, tmp_path: Path) -> dict[str, str]:
    """What the CI of each forge says to a job of pull request 5."""
    if kind in ("github", "gitea"):
        event = tmp_path / "event.json"
        pull = {"number": 5, "base": {"sha": base}, "head": {"sha": head}}
        event.write_text(json.dumps({"pull_request": pull}))
        return {
            "GITHUB_ACTIONS": "true", "GITEA_ACTIONS": "true" if kind == "gitea" else "", "GITHUB_TOKEN": TOKEN,
            "GITHUB_API_URL": fake.api, "GITHUB_SERVER_URL": "https://forge.example", "GITHUB_RUN_ID": "9",
            "GITHUB_REPOSITORY": "acme/fleet", "GITHUB_EVENT_PATH": str(event),
        }  # fmt: skip
    if kind == "gitlab":
        return {
            "GITLAB_CI": "true", "CI_API_V4_URL": fake.api, "CI_PROJECT_ID": "group/sub/fleet", "GITLAB_TOKEN": TOKEN,
            "CI_MERGE_REQUEST_IID": "5", "CI_MERGE_REQUEST_DIFF_BASE_SHA": base, "CI_COMMIT_SHA": head,
        }  # fmt: skip
    return {
        "BITBUCKET_BUILD_NUMBER": "3", "BITBUCKET_WORKSPACE": "acme", "BITBUCKET_REPO_SLUG": "fleet",
        "BITBUCKET_PR_ID": "5", "BITBUCKET_PR_DESTINATION_COMMIT": base[:12], "BITBUCKET_COMMIT": head,
        "BITBUCKET_TOKEN": TOKEN,
    }  # fmt: skip


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_job_posts_a_comment_and_statuses_and_edits_them(kind: str, fleet: Path, tmp_path: Path) -> None:
    base, head = branch(fleet, {"apps/web.yaml": deployment(9)})
    with servers.serving(kind) as fake:
        env = environment(kind, fake, base, head, tmp_path)
        api = ("--api", fake.api)
        first = gitfed("review", *api, env=env)
        assert (first.code, first.out) == (0, "comment created, 3 statuses set\n"), first.err
        second = gitfed("review", *api, env=env)
        assert (second.code, second.out.split(",")[0]) == (0, "comment unchanged")
        later = commit(fleet, {"apps/web.yaml": deployment(12)})
        env = environment(kind, fake, base, later, tmp_path)
        assert gitfed("review", *api, env=env).out.startswith("comment updated")
        commit(fleet, {"apps/web.yaml": FILES["apps/web.yaml"]})
        env = environment(kind, fake, base, git(fleet, "rev-parse", "HEAD"), tmp_path)
        assert gitfed("review", *api, env=env).out.startswith("comment updated")
        (comment,) = fake.comments
        assert "gitfed: no change to the fleet" in comment["body"]
        assert {name for sha, name in fake.statuses if sha == head} == {
            "gitfed/acme/review", "gitfed/acme/review/cluster/eu-1", "gitfed/acme/review/cluster/us-1",
        }  # fmt: skip
        assert TOKEN not in first.out + first.err + comment["body"]


def test_a_checked_out_merge_is_compared_with_what_it_was_merged_into(fleet: Path, tmp_path: Path) -> None:
    _, head = branch(fleet, {"apps/web.yaml": deployment(9)})
    git(fleet, "checkout", "-q", "main")
    newer = commit(fleet, {"apps/config.yaml": FILES["apps/config.yaml"].replace("blue", "red")})
    git(fleet, "checkout", "-q", "--detach")
    git(fleet, "merge", "-q", "--no-ff", "-m", "merge", head)
    with servers.serving("github") as fake:
        env = environment("github", fake, newer, head, tmp_path)
        assert gitfed("review", env=env).code == 0
        assert "shop/Deploy/web" in fake.comments[0]["body"]
        assert "CM/settings" not in fake.comments[0]["body"]
        assert {sha for sha, _ in fake.statuses} == {head}


def test_what_gates_would_hold_and_what_is_wrong_fails_the_status(fleet: Path, tmp_path: Path) -> None:
    commit(fleet, {"gitfed.yaml": FILES["gitfed.yaml"] + "spec: {guards: {maxDeletions: 1}}\n"})
    base, head = branch(fleet, {"apps/config.yaml": None})
    with servers.serving("github") as fake:
        result = gitfed("review", env=environment("github", fake, base, head, tmp_path))
        assert result.code == 5
        status = fake.statuses[head, "gitfed/acme/review"]
        assert status["state"] == "failure"
        assert status["description"].startswith("held: deletions 6/1")
        assert fake.statuses[head, "gitfed/acme/review/cluster/eu-1"]["state"] == "failure"
        head = commit(fleet, {"apps/web.yaml": "a: [\n"})
        result = gitfed("review", env=environment("github", fake, base, head, tmp_path))
        assert result.code == 3
        assert fake.statuses[head, "gitfed/acme/review"]["description"].startswith("1 error: apps/web.yaml:")


def test_dry_run_tells_nobody(fleet: Path, tmp_path: Path) -> None:
    base, head = branch(fleet, {"apps/web.yaml": deployment(9)})
    with servers.serving("github") as fake:
        result = gitfed("review", "--dry-run=client", env=environment("github", fake, base, head, tmp_path))
        assert fake.asked == []
    assert result.code == 0
    assert result.out.startswith("<!-- gitfed.io/diff -->\n### gitfed: ")
    assert "success gitfed/acme/review: 0 create, 2 update, 0 move, 0 delete in 2 of 3 clusters" in result.err


def test_outside_a_job_it_says_what_is_missing(fleet: Path) -> None:
    branch(fleet, {"apps/web.yaml": deployment(9)})
    result = gitfed("review", "--number", "5")
    assert result.code == 2
    assert "error: this is no CI that gitfed knows: --forge, --api, --project missing\n" in result.err
    unnumbered = gitfed("review")
    assert unnumbered.code == 2
    assert "error: which pull request is not known\n" in unnumbered.err


def test_a_forge_that_does_not_answer_is_unreachable(fleet: Path, tmp_path: Path) -> None:
    base, head = branch(fleet, {"apps/web.yaml": deployment(9)})
    with servers.serving("github") as fake:
        env = environment("github", fake, base, head, tmp_path)
        fake.failures = [(403, {}, b'{"message": "Resource not accessible by integration"}')] * 2
        result = gitfed("review", env=env)
    assert result.code == 4
    assert "Resource not accessible by integration" in result.err


def test_a_comment_without_html_says_the_same() -> None:
    text = "\n".join(
        [
            f"- **error** {markdown.code('a|b `c` <script>')}",
            *markdown.details(f"{markdown.code('shop/web')} in 2", markdown.fence(["+ <code>x</code>"], "diff")),
            "<sub>one<br>two</sub>",
        ]
    )
    assert markdown.without_html(text) == (
        "- **error** `a¦b ’c’ <script>`\n**`shop/web` in 2**\n\n```diff\n+ <code>x</code>\n```\n\none; two"
    )


@pytest.mark.parametrize(
    ("url", "kind", "place"),
    [
        ("https://github.com/acme/fleet.git", "", ForgeProject("github", "https://api.github.com", "acme/fleet")),
        ("git@gitlab.com:a/b/c.git", "", ForgeProject("gitlab", "https://gitlab.com/api/v4", "a/b/c")),
        ("ssh://git@git.example:2222/a/b", "gitea", ForgeProject("gitea", "https://git.example/api/v1", "a/b")),
        ("https://git.example/a/b/", "gitlab", ForgeProject("gitlab", "https://git.example/api/v4", "a/b")),
        ("https://git.example/a/b", "", None),
        ("https://github.com/a/b", "gitlab", None),
        ("/srv/fleet.git", "github", None),
    ],
)
def test_the_url_of_a_repository_tells_its_forge(url: str, kind: str, place: ForgeProject | None) -> None:
    assert forge.of_url(url, kind) == place


def test_the_named_token_beats_that_of_the_job() -> None:
    environment = {"GITHUB_ACTIONS": "true", "GITHUB_TOKEN": "a", "GITFED_FORGE_TOKEN": "b"}
    assert pipeline.pull_request(environment).token == "b"
