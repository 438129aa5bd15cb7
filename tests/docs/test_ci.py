"""The templates for CI systems do what they promise: their own lines run, in a clone as the CI makes it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gitfed.text import yaml
from tests.cli import world
from tests.cli.world import commit, deployment, git
from tests.docs.pages import ROOT
from tests.edges.forge import servers
from tests.edges.forge.servers import TOKEN

CI = ROOT / "deploy" / "ci"


def template(name: str) -> Any:
    (document,) = yaml.load_all((CI / name).read_bytes())
    return document


@pytest.fixture
def clone(tmp_path: Path) -> tuple[Path, str, str]:
    """A clone of a fleet repository with a branch `feature` checked out; (folder, base, head)."""
    origin = world.repository(tmp_path / "origin")
    base = git(origin, "rev-parse", "HEAD")
    git(origin, "checkout", "-q", "-b", "feature")
    head = commit(origin, {"apps/web.yaml": deployment(9)})
    git(origin, "checkout", "-q", "main")
    subprocess.run(["git", "clone", "-q", "-b", "feature", origin.as_uri(), str(tmp_path / "clone")], check=True)
    return tmp_path / "clone", base, head


def run(folder: Path, lines: str, tmp_path: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Like a runner: bash that stops at the first error. Installing is all that is left out."""
    programs = tmp_path / "programs"
    programs.mkdir(exist_ok=True)
    scripts = {
        "gitfed": f'exec "{sys.executable}" -m gitfed "$@"',
        "python3": 'test "$1 $2 $3" = "-m pip install"',
        "python": 'test "$1 $2 $3" = "-m pip install"',
        "apt-get": "exit 0",
    }
    for name, text in scripts.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GITFED_", "GITHUB_", "GIT_"))}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", lines], cwd=folder, capture_output=True, text=True,
        check=False,
        env={**kept, **environment, "PATH": f"{programs}{os.pathsep}{kept['PATH']}", "PYTHONPATH": str(ROOT),
             "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")},
    )  # fmt: skip


def test_the_action_reviews_a_pull_request_of_github(clone: tuple[Path, str, str], tmp_path: Path) -> None:
    folder, base, head = clone
    action = template("github/action.yml")
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 5, "base": {"sha": base}, "head": {"sha": head}}}))
    inputs = {name: str(one["default"]).replace("${{ github.token }}", TOKEN) for name, one in action["inputs"].items()}
    with servers.serving("github") as fake:
        for step in action["runs"]["steps"]:
            env = dict(step.get("env", {}))
            for name, value in env.items():
                for one, given in inputs.items():
                    value = value.replace("${{ inputs." + one + " }}", given)
                env[name] = value
            job = {"GITHUB_ACTIONS": "true", "GITHUB_API_URL": fake.api, "GITHUB_REPOSITORY": "acme/fleet",
                   "GITHUB_EVENT_PATH": str(event)}  # fmt: skip
            done = run(folder, step["run"], tmp_path, {**job, **env})
            assert done.returncode == 0, done.stderr
        assert len(fake.comments) == 1
        assert fake.statuses[head, "gitfed/acme/review"]["state"] == "success"


def test_the_workflow_gives_the_job_what_it_needs_and_no_more() -> None:
    (job,) = template("github/workflow.yml")["jobs"].values()
    assert job["permissions"] == {"contents": "read", "pull-requests": "write", "statuses": "write"}
    assert job["steps"][0]["with"]["fetch-depth"] == 0
    # A job for pull requests of strangers must not run with this repository's rights.
    assert "\non: pull_request\n" in (CI / "github" / "workflow.yml").read_text()


def test_the_jobs_of_gitlab_review_a_merge_request(clone: tuple[Path, str, str], tmp_path: Path) -> None:
    folder, base, head = clone
    jobs = template("gitlab/gitfed.gitlab-ci.yml")
    with servers.serving("gitlab") as fake:
        job = {"GITLAB_CI": "true", "CI_API_V4_URL": fake.api, "CI_PROJECT_ID": "group/sub/fleet",
               "CI_MERGE_REQUEST_IID": "5", "CI_MERGE_REQUEST_DIFF_BASE_SHA": base, "CI_COMMIT_SHA": head,
               "GITFED_FORGE_TOKEN": TOKEN, **jobs[".gitfed"]["variables"]}  # fmt: skip
        for name in ("gitfed:validate", "gitfed:review"):
            lines = "\n".join([*jobs[".gitfed"]["before_script"], *jobs[name]["script"]])
            done = run(folder, lines, tmp_path, job)
            assert done.returncode == 0, done.stderr
        report = jobs["gitfed:validate"]["artifacts"]["reports"]["codequality"]
        assert json.loads((folder / report).read_text()) == []
        assert len(fake.comments) == 1
        assert fake.statuses[head, "gitfed/acme/review"]["state"] == "success"


def test_the_pipeline_of_bitbucket_is_complete(clone: tuple[Path, str, str], tmp_path: Path) -> None:
    folder, base, head = clone
    pipeline = template("bitbucket-pipelines.yml")
    assert pipeline["clone"]["depth"] == "full"
    (step,) = pipeline["pipelines"]["pull-requests"]["**"]
    with servers.serving("bitbucket") as fake:
        *before, review = step["step"]["script"]
        assert review == "gitfed review"
        job = {"BITBUCKET_BUILD_NUMBER": "3", "BITBUCKET_WORKSPACE": "acme", "BITBUCKET_REPO_SLUG": "fleet",
               "BITBUCKET_PR_ID": "5", "BITBUCKET_PR_DESTINATION_COMMIT": base[:12], "BITBUCKET_COMMIT": head,
               "GITFED_FORGE_TOKEN": TOKEN}  # fmt: skip
        # Bitbucket Cloud has one address; only here it is another.
        done = run(folder, "\n".join([*before, f"{review} --api {fake.api}"]), tmp_path, job)
        assert done.returncode == 0, done.stderr
        (comment,) = fake.comments
        assert "<" not in comment["body"].split("```")[0]
