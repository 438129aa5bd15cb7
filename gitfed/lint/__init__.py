"""What is suspicious although it is valid, and what only a plan shows: `gitfed validate` says it, nothing is held.

`source.lint` says what the files alone tell. Here a plan is at hand, of the repository for a fleet without troubles.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitfed.lint import companions, declarations, immutable, services
from gitfed.model.base import Problem
from gitfed.model.plan import Plan
from gitfed.model.repo import RepoSnapshot


def check(repo: RepoSnapshot, plan: Plan) -> Iterator[Problem]:
    """Warnings, all of them."""
    yield from declarations.check(repo, plan)
    yield from companions.check(repo, plan)
    yield from services.check(repo, plan)


def check_change(base: RepoSnapshot, head: RepoSnapshot, plan: Plan) -> Iterator[Problem]:
    """Warnings about what `head` does to `base`. `plan`: of `head`."""
    yield from declarations.changed_interpreters(base, head, plan)
    yield from immutable.changed(base, head)
