"""Which pull request a CI job is about, from what the CI says in its environment; options beat it.

The environment is the CI's, not the repository's: what it says may be trusted with a token. The token itself is never
an argument, where every process of the machine could read it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gitfed.edges.forge.place import ForgeProject
from gitfed.errors import UsageError
from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True)
class PullRequest:
    """What is to be reviewed, and where to say it. Empty members: the CI does not tell."""

    kind: str = ""
    api: str = ""
    project: str = ""
    number: int = 0
    base: str = ""
    """Revision that it is to be merged into."""
    head: str = ""
    """Its newest commit: what statuses belong to. A CI may have checked out a merge of both."""
    token: str = ""
    url: str = ""
    """Page of this job."""

    @property
    def place(self) -> ForgeProject:
        missing = [
            f"--{name}"
            for name, value in (("forge", self.kind), ("api", self.api), ("project", self.project))
            if not value
        ]
        if missing:
            raise UsageError(
                f"this is no CI that gitfed knows: {', '.join(missing)} missing",
                hint="name them, or print the comment with --dry-run=client",
            )
        return ForgeProject(self.kind, self.api, self.project)


def pull_request(environment: Mapping[str, str]) -> PullRequest:
    """Of the job that this process runs in; nothing where there is none."""
    for read_forge in (_gitea, _github, _gitlab, _bitbucket):
        request = read_forge(environment)
        if request is not None:
            token = environment.get("GITFED_FORGE_TOKEN") or request.token
            return replace(request, token=token)
    return PullRequest(token=environment.get("GITFED_FORGE_TOKEN", ""))


def _github(environment: Mapping[str, str]) -> PullRequest | None:
    """GitHub: "Variables reference: default environment variables", and the event's payload."""
    if environment.get("GITHUB_ACTIONS") != "true":
        return None
    pull = _event(environment).get("pull_request") or {}
    server, project = environment.get("GITHUB_SERVER_URL", ""), environment.get("GITHUB_REPOSITORY", "")
    run = environment.get("GITHUB_RUN_ID", "")
    return PullRequest(
        kind="github",
        api=environment.get("GITHUB_API_URL", "https://api.github.com"),
        project=project,
        number=_number(pull.get("number")),
        base=_text((pull.get("base") or {}).get("sha")),
        head=_text((pull.get("head") or {}).get("sha")),
        token=environment.get("GITHUB_TOKEN", ""),
        url=f"{server}/{project}/actions/runs/{run}" if server and run else "",
    )


def _gitea(environment: Mapping[str, str]) -> PullRequest | None:
    """Gitea and Forgejo Actions say what GitHub's do, and who they are."""
    if "true" not in (environment.get("GITEA_ACTIONS"), environment.get("FORGEJO_ACTIONS")):
        return None
    like = _github({**environment, "GITHUB_ACTIONS": "true"})
    assert like is not None
    server = environment.get("GITHUB_SERVER_URL", "").rstrip("/")
    api = environment.get("GITHUB_API_URL") or (f"{server}/api/v1" if server else "")
    return replace(like, kind="gitea", api=api, token=environment.get("GITEA_TOKEN") or like.token)


def _gitlab(environment: Mapping[str, str]) -> PullRequest | None:
    """GitLab: "Predefined CI/CD variables". In a merged results pipeline CI_COMMIT_SHA is a merge on no branch."""
    if environment.get("GITLAB_CI") != "true":
        return None
    return PullRequest(
        kind="gitlab",
        api=environment.get("CI_API_V4_URL", ""),
        # In the pipeline of a fork the merge request is still the other project's.
        project=environment.get("CI_MERGE_REQUEST_PROJECT_ID") or environment.get("CI_PROJECT_ID", ""),
        number=_number(environment.get("CI_MERGE_REQUEST_IID")),
        base=environment.get("CI_MERGE_REQUEST_TARGET_BRANCH_SHA")
        or environment.get("CI_MERGE_REQUEST_DIFF_BASE_SHA", ""),
        head=environment.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA") or environment.get("CI_COMMIT_SHA", ""),
        token=environment.get("GITLAB_TOKEN", ""),
        url=environment.get("CI_JOB_URL", ""),
    )


def _bitbucket(environment: Mapping[str, str]) -> PullRequest | None:
    """Bitbucket Pipelines: "Variables and secrets: default variables"."""
    if "BITBUCKET_BUILD_NUMBER" not in environment:
        return None
    workspace, name = environment.get("BITBUCKET_WORKSPACE", ""), environment.get("BITBUCKET_REPO_SLUG", "")
    build = environment["BITBUCKET_BUILD_NUMBER"]
    return PullRequest(
        kind="bitbucket",
        api="https://api.bitbucket.org/2.0",
        project=f"{workspace}/{name}" if workspace and name else "",
        number=_number(environment.get("BITBUCKET_PR_ID")),
        base=environment.get("BITBUCKET_PR_DESTINATION_COMMIT", ""),
        head=environment.get("BITBUCKET_COMMIT", ""),
        token=environment.get("BITBUCKET_TOKEN", ""),
        url=f"https://bitbucket.org/{workspace}/{name}/pipelines/results/{build}",
    )


def _event(environment: Mapping[str, str]) -> dict[str, Any]:
    path = environment.get("GITHUB_EVENT_PATH")
    if not path:
        return {}
    try:
        event = json.loads(Path(path).read_bytes())
    except (OSError, ValueError):
        return {}
    return event if isinstance(event, dict) else {}


def _number(value: object) -> int:
    text = str(value)
    return int(text) if text.isdecimal() else 0


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
