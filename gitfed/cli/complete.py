"""What the shell offers at TAB: names from Git.

A completion that prints an error or takes long is worse than none: whatever goes wrong, it offers nothing.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from gitfed.model.repo import RepoSnapshot
    from gitfed.offline.inputs import Opened


class ClusterName(click.ParamType[str]):
    """A cluster as a person types it: `eu-1`, or `cluster/eu-1` as orders and their answers call it."""

    name = "cluster"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        kind, slash, name = text.partition("/")
        return name if slash and kind.lower() in ("cluster", "clusters") else text


class ClusterNames(click.ParamType[str]):
    """`eu-1,us-1`, each in any form that is printed."""

    name = "clusters"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return ",".join(CLUSTER.convert(part.strip(), param, ctx) for part in value.split(",") if part.strip())


CLUSTER = ClusterName()
CLUSTERS = ClusterNames()


def folders(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(incomplete, type="dir")]


def revisions(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """A branch, a tag, or HEAD; after `BASE..` the second one of a range."""
    base, dots, start = incomplete.rpartition("..")
    names = _words(ctx, lambda opened: ["HEAD", *opened.repository.branch_names(), *opened.repository.tag_names()])
    return [f"{base}{dots}{name}" for name in names if name.startswith(start)]


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
    from gitfed.views import names

    return _names(ctx, incomplete, lambda repo: [spelling for key in repo.manifests for spelling in names.offered(key)])


def interpreted(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Objects, and customizations by their names."""
    rules = _names(ctx, incomplete, lambda repo: [customization.metadata.name for customization in repo.interpreters])
    return [*workloads(ctx, param, incomplete), *rules]


def orders(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """What can be suspended and resumed."""
    from gitfed.views import names

    return _names(
        ctx,
        incomplete,
        lambda repo: [
            "all",
            *(f"cluster/{name}" for name in repo.clusters),
            *(spelling for key in repo.manifests for spelling in names.offered(key)),
        ],
    )


def approvals(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """What can be approved, as far as the state branch was fetched: the plan that waits, and its gates."""

    def held(opened: Opened) -> Iterable[str]:
        from gitfed.offline import inputs, state_inputs

        plan = state_inputs.decisions(opened, inputs.read(opened).repo).held_plan
        return [] if plan is None else [plan.digest[:12], *(gate.name for gate in plan.gates)]

    return sorted(word for word in _words(ctx, held) if word.startswith(incomplete))


def failing(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """What can fail, come back or be tainted: a cluster, or all of a region, zone or provider."""

    def targets(repo: RepoSnapshot) -> Iterable[str]:
        for name, cluster in repo.clusters.items():
            yield f"cluster/{name}"
            yield from (f"zone/{zone}" for zone in cluster.spec.zones or ())
            yield from (
                f"{kind}/{place}"
                for kind, place in (("region", cluster.spec.region), ("provider", cluster.spec.provider))
                if place
            )

    return _names(ctx, incomplete, targets)


def orphans(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """What was placed and is selected by no policy any more, as far as Git tells: clusters are not read at TAB."""

    def left(opened: Opened) -> Iterable[str]:
        from gitfed.offline import inputs, state_inputs
        from gitfed.placement.scheduling import match
        from gitfed.services import placement as services

        repo = inputs.read(opened).repo
        policies = match.Index(repo.propagation, services.policies(repo))
        for key, decision in state_inputs.decisions(opened, repo).bindings.items():
            manifest = repo.manifests.get(key)
            if manifest is not None and policies.best(manifest).policy is None:
                yield str(key)
                yield from (f"{share.cluster}/{key}" for share in decision.targets)

    return sorted(word for word in _words(ctx, left) if word.startswith(incomplete))


def contexts(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Of the kubeconfig that is named, or the usual one."""
    from gitfed.client import credential
    from gitfed.errors import GitfedError

    names: list[str] = []
    with contextlib.suppress(GitfedError, OSError, ValueError):
        named = ctx.params.get("kubeconfig")
        paths = (
            [named] if named else [Path(part) for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
        )
        names = sorted(credential.contexts(paths or [Path.home() / ".kube" / "config"]))
    return [name for name in names if name.startswith(incomplete)]


def declared(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from gitfed.model import schema

    return [kind for kind in schema.kinds() if kind.lower().startswith(incomplete.lower())]


def operations(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from gitfed.interpret.registry import Operation

    return [operation.value for operation in Operation if operation.value.lower().startswith(incomplete.lower())]


def _names(ctx: click.Context, incomplete: str, choose: Callable[[RepoSnapshot], Iterable[str]]) -> list[str]:
    from gitfed.offline import inputs

    words = _words(ctx, lambda opened: choose(inputs.read(opened).repo))
    return sorted(word for word in set(words) if word.startswith(incomplete))


def _words(ctx: click.Context, choose: Callable[[Opened], Iterable[str]]) -> list[str]:
    from gitfed.errors import GitfedError

    words: list[str] = []
    with contextlib.suppress(GitfedError, OSError, ValueError):
        from gitfed.edges import git
        from gitfed.offline import inputs

        name = ctx.params.get("repo") or os.environ.get("GITFED_REPO", "")
        if not git.is_url(name):  # never reach for the network at TAB
            words = list(choose(inputs.open_repository(name)))
    return words
