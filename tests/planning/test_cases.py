"""Plans as text: one folder for each case, named by what it shows, to be reviewed by eye.

tests/cases/<sentence>/repo/        the fleet repository
                       before/      what was there before it: then the case shows `gitfed diff`, else `gitfed plan`
                       fleet.yaml   what is known of the clusters
                       plan.txt     what gitfed says; `make golden` writes it anew
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.cli.world import git, gitfed

CASES = sorted(path for path in (Path(__file__).parents[1] / "cases").iterdir() if path.is_dir())
NOW = "2026-03-01T12:00:00Z"


def _commit(repository: Path, folder: Path) -> None:
    for old in repository.glob("*.yaml"):
        old.unlink()
    shutil.copytree(folder, repository, dirs_exist_ok=True, copy_function=shutil.copyfile)
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "--allow-empty", "-m", folder.name)


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_the_plan_is_as_reviewed(case: Path, tmp_path: Path) -> None:
    repository = tmp_path / "fleet"
    repository.mkdir()
    git(repository, "init", "-q")
    options = ("--repo", repository, "--fleet", case / "fleet.yaml", "--now", NOW)
    if (case / "before").is_dir():
        _commit(repository, case / "before")
        _commit(repository, case / "repo")
        result = gitfed("diff", "HEAD~1..HEAD", *options)
    else:
        _commit(repository, case / "repo")
        result = gitfed("plan", *options)
    said = f"{result.out}{result.err}"
    for number, commit in enumerate(git(repository, "log", "--format=%H").split()):
        said = said.replace(commit[:7], f"HEAD~{number}" if number else "HEAD")
    plan = case / "plan.txt"
    if os.environ.get("GITFED_UPDATE_GOLDEN"):
        plan.write_text(said, encoding="utf-8")
    assert said == plan.read_text(encoding="utf-8")


def test_there_are_cases_enough_to_review_what_is_decided() -> None:
    assert len(CASES) >= 40
