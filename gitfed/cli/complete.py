"""What the shell offers at TAB: names from Git.

A completion that prints an error or takes long is worse than none: whatever goes wrong, it offers nothing.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from gitfed.model.repo import RepoSnapshot


def folders(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(incomplete, type="dir")]


def revisions(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return ["HEAD", *(name for name in ("main", "master") if name.startswith(incomplete))]


def clusters(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return _names(ctx, incomplete, lambda repo: repo.clusters)


def policies(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return _names(
        ctx,
        incomplete,
        lambda repo: [
            f"{policy.metadata.namespace}/{policy.metadata.name}" if policy.metadata.namespace else policy.metadata.name
            for policy in (*repo.propagation, *repo.overrides)
        ],
    )


def workloads(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from gitfed.cli import names

    return _names(ctx, incomplete, lambda repo: [spelling for key in repo.manifests for spelling in names.offered(key)])


def declared(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from gitfed.model import schema

    return [kind for kind in schema.kinds() if kind.lower().startswith(incomplete.lower())]


def operations(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from gitfed.interpret.registry import Operation

    return [one.value for one in Operation if one.value.lower().startswith(incomplete.lower())]


def _names(ctx: click.Context, incomplete: str, choose: Callable[[RepoSnapshot], Iterable[str]]) -> list[str]:
    from gitfed.errors import GitfedError

    found: list[str] = []
    with contextlib.suppress(GitfedError, OSError, ValueError):
        from gitfed.daemon import inputs

        name = ctx.params.get("repo") or os.environ.get("GITFED_REPO", "")
        from gitfed.edges import git

        if not git.is_url(name):  # never reach for the network at TAB
            opened = inputs.open_repository(name)
            found = sorted(word for word in set(choose(inputs.read(opened).repo)) if word.startswith(incomplete))
    return found
