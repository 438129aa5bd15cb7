"""gitfed render"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from gitfed.cli import complete, exits, load, options, parameters
from gitfed.cli.main import meant
from gitfed.cli.output import formatting, manifest_text, plain, structured
from gitfed.edges import files
from gitfed.errors import UsageError
from gitfed.model.base import Body, ClusterName, ObjectKey
from gitfed.model.plan import Plan
from gitfed.text import yaml
from gitfed.views import names

SCHEMA = "gitfed.io/manifests/v1"


@click.command("render")
@options.facts
@parameters.option(
    "-c",
    "--cluster",
    "clusters",
    shared=False,
    multiple=True,
    metavar="C",
    type=complete.CLUSTER,
    shell_complete=complete.clusters,
    help="Only this cluster; may be repeated.",
)
@parameters.option(
    "-d",
    "--dir",
    "folder",
    shared=False,
    type=parameters.Files(file_okay=False),
    metavar="DIR",
    help="Write files DIR/CLUSTER/NAMESPACE/NAME-KIND.GROUP.yaml instead of printing.",
)
@parameters.option("--with-secrets", shared=False, is_flag=True, help="With -d: Secrets too, readable by you alone.")
@options.output("text", "yaml", "json", "name", secrets=True)
def command(
    inputs: options.Inputs,
    clusters: tuple[str, ...],
    folder: Path | None,
    with_secrets: bool,
    output: options.Output,
) -> int:
    """Print the manifests of each cluster as they would be applied, before the cluster's own fields are kept.

    Secrets are left out with a note.

    \b
    gitfed render                               every cluster
    gitfed render --cluster eu-1 | kubectl diff -f -
    gitfed render -d rendered --with-secrets    one file for each object

    \b
    Exit codes: 0 done · 2 bad usage · 3 invalid input in the repository · 4 the repository cannot be read.
    """
    if with_secrets and folder is None:
        raise UsageError("--with-secrets needs -d DIR", hint="Secrets are never printed")
    session = load.CommandSession(inputs)
    plan = session.plan()
    for name in clusters:
        if name not in plan.clusters:
            raise UsageError(f"no cluster {name!r}{meant(name, list(plan.clusters))}", hint="gitfed get clusters")
    chosen = [name for name in plan.clusters if not clusters or name in clusters]
    code = load.tell(plan.problems)
    hidden = 0
    if folder is not None:
        hidden = _write(folder, plan, chosen, with_secrets=with_secrets, output=output)
    else:
        hidden = _print(plan, chosen, output)
    if hidden:
        load.note(f"{formatting.count(hidden, 'Secret')} left out: render -d DIR --with-secrets writes them")
    return exits.first([code])


def manifests(plan: Plan, cluster: ClusterName) -> Iterator[tuple[ObjectKey, Body]]:
    for key, classes in plan.rendered.items():
        for rendered in classes:
            if cluster in rendered.clusters:
                yield key, rendered.body


def is_secret(key: ObjectKey) -> bool:
    return key.kind == "Secret" and not key.group


def _print(plan: Plan, clusters: list[ClusterName], output: options.Output) -> int:
    hidden: set[tuple[ClusterName, ObjectKey]] = set()
    selected = []
    for cluster in clusters:
        for key, body in manifests(plan, cluster):
            if is_secret(key) and not output.show_secrets:
                hidden.add((cluster, key))
            else:
                selected.append(
                    (cluster, key, body if output.show_secrets else manifest_text.masked(None, body)[1] or body)
                )
    if output.format == "json":
        items = [{"cluster": cluster, "manifest": body} for cluster, _, body in selected]
        structured.echo({"schema": SCHEMA, "commit": plan.commit, "manifests": items}, "json")
    elif output.format == "name":
        for cluster, key, _ in selected:
            click.echo(plain.clean(f"{cluster} {key}"))
    elif output.quiet:
        click.echo(f"{formatting.count(len(selected), 'manifest')} for {formatting.count(len(clusters), 'cluster')}.")
    else:
        for cluster, key, body in selected:
            click.echo(f"---\n# {cluster}: {plain.clean(names.shown(key))}\n{yaml.dump(body)}", nl=False)
    return len({key for _, key in hidden})


def _write(folder: Path, plan: Plan, clusters: list[ClusterName], *, with_secrets: bool, output: options.Output) -> int:
    written, hidden = 0, set()
    for cluster in clusters:
        for key, body in manifests(plan, cluster):
            if is_secret(key) and not with_secrets:
                hidden.add(key)
                continue
            path = folder / _name(cluster) / _name(key.namespace or "_cluster") / file_name(key)
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_symlink():
                raise UsageError(f"{path} is a symlink", hint="render into a folder of its own")
            files.write_atomically(path, yaml.dump(body).encode(), mode=0o600 if is_secret(key) else 0o644)
            written += 1
    if not output.quiet:
        load.note(f"{formatting.count(written, 'file')} for {formatting.count(len(clusters), 'cluster')} in {folder}")
    return len(hidden)


def file_name(key: ObjectKey) -> str:
    group = f".{key.group}" if key.group else ""
    return _name(f"{key.name}-{key.kind}{group}.yaml")


def _name(text: str) -> str:
    """Foreign text as one part of a path."""
    safe = re.sub(r"[^A-Za-z0-9._-]", "_", text)[:200]
    return safe if safe.strip(".") else "_"
