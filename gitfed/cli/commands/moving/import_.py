"""gitfed import cluster, gitfed import karmada and gitfed import kubefed"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitfed.cli import complete, desired, load, options, parameters
from gitfed.cli.commands.clusters import cluster_session
from gitfed.cli.commands.clusters.cluster_session import KubeconfigContext
from gitfed.cli.output import plain, progress, table
from gitfed.cli.parameters import Command, gathered
from gitfed.errors import UsageError
from gitfed.model import counting
from gitfed.text import emit
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.migration.report import Imported
    from gitfed.model.base import Body

_MOST = 5
"""Subjects of one code that are named; the rest is counted, unless all are asked for."""
_TAKING = (
    parameters.option(
        "--into", shared=False, metavar="FOLDER", default="", help="Folder of the repository for the files."
    ),
    parameters.option("--with-secrets", shared=False, is_flag=True, help="Write Secrets too, as they are."),
    parameters.option("--all-findings", shared=False, is_flag=True, help="Name every object that was left out."),
)
_CONTROL_PLANE = (
    parameters.option(
        "--karmada-kubeconfig",
        shared=False,
        metavar="FILE",
        type=parameters.Files(exists=True, dir_okay=False),
        help="Read the control plane itself, by this kubeconfig.",
    ),
    parameters.option(
        "--karmada-context",
        shared=False,
        metavar="NAME",
        default="karmada-apiserver",
        show_default=True,
        help="Its context.",
    ),
)


@dataclass(frozen=True, slots=True)
class Taking:
    """What is taken along, and where it goes."""

    into: str
    with_secrets: bool
    all_findings: bool


def _taking(command: Command) -> Command:
    """--into, --with-secrets and --all-findings → `taking: Taking`."""
    return gathered(command, "taking", _TAKING, lambda values: Taking(**values))


def _control_plane(command: Command) -> Command:
    """--karmada-kubeconfig and --karmada-context → `way: KubeconfigContext`."""
    return gathered(
        command,
        "way",
        _CONTROL_PLANE,
        lambda values: KubeconfigContext(values["karmada_kubeconfig"], values["karmada_context"]),
    )


@click.group("import")
def command() -> None:
    """Bring what runs elsewhere into the repository, as files.

    Nothing is written to any cluster. Every file that would be overwritten is named, and nothing is written then.
    """


@command.command("kubefed")
@click.argument("exports", metavar="PATH...", nargs=-1, required=True, type=parameters.Files(exists=True))
@_taking
@options.PROGRESS
@desired.writing
def kubefed(exports: tuple[Path, ...], taking: Taking, writing: desired.WriteOptions) -> int:
    """Turn an export of a KubeFed host cluster into templates, policies and clusters.

    PATH is a file of YAML or JSON, or a folder of them: Federated objects, FederatedTypeConfigs, KubeFedClusters and
    ReplicaSchedulingPreferences in any order. Each cluster gets what KubeFed put there: the same bodies, the same
    numbers of replicas. What has no equivalent is listed.

    \b
    kubectl get federateddeployments,federatednamespaces -A -o yaml > export.yaml
    gitfed import kubefed export.yaml --dry-run=client
    gitfed import kubefed export/ --into fleet --commit

    \b
    Exit codes: 0 done · 2 bad usage, or a file would be overwritten · 3 a file of the export cannot be read.
    """
    from gitfed.migration.kubefed.convert import convert

    imported = convert(_documents(exports), folder=taking.into, with_secrets=taking.with_secrets)
    return _finish(imported, "Import from KubeFed", writing, taking)


@command.command("cluster")
@click.argument("name", metavar="CLUSTER", type=complete.CLUSTER, shell_complete=complete.clusters)
@parameters.option(
    "-n",
    "--namespace",
    "namespaces",
    shared=False,
    multiple=True,
    metavar="NS",
    help="Only this namespace and what lies in it; may be repeated.",
)
@_taking
@options.PROGRESS
@options.credentials
@desired.writing
def cluster(
    name: str,
    namespaces: tuple[str, ...],
    taking: Taking,
    credentials: options.Credentials,
    writing: desired.WriteOptions,
) -> int:
    """Take everything that people wrote in CLUSTER into the repository, with policies that leave it there.

    CLUSTER is declared in the repository (see gitfed join). Server fields and defaults are taken out, generated
    objects and Secrets left out and listed. The policies say conflictResolution: Overwrite, so that the objects
    become gitfed's with the next apply; look at gitfed plan --live before.

    \b
    gitfed import cluster eu-1 -n shop --dry-run=client
    gitfed import cluster eu-1 --commit

    \b
    Exit codes: 0 done · 2 bad usage, or a file would be overwritten · 4 the cluster cannot be reached, or parts of it
    could not be read: nothing is written.
    """
    from gitfed.migration import member

    checkout = desired.open_checkout(writing.repo)
    checkout.cluster(name)
    bodies = _everything(checkout, name, KubeconfigContext(), credentials, namespaces)
    imported = member.convert(bodies, name, folder=taking.into, with_secrets=taking.with_secrets)
    return _finish(imported, f"Import cluster {name}", writing, taking, checkout)


@command.command("karmada")
@click.argument("exports", metavar="[PATH]...", nargs=-1, type=parameters.Files(exists=True))
@_control_plane
@parameters.option(
    "--decisions-out",
    shared=False,
    metavar="FILE",
    type=parameters.Files(dir_okay=False),
    help="Write the bindings there, for plan --decisions and state begin.",
)
@parameters.option(
    "--adopt",
    shared=False,
    is_flag=True,
    help="Let the objects that Karmada wrote become gitfed's: the policies say conflictResolution: Overwrite.",
)
@_taking
@options.PROGRESS
@desired.writing
def karmada(
    exports: tuple[Path, ...],
    way: KubeconfigContext,
    decisions_out: Path | None,
    adopt: bool,
    taking: Taking,
    writing: desired.WriteOptions,
) -> int:
    """Turn a Karmada control plane into a repository: templates, policies, overrides, clusters, interpreters.

    It is read from files that kubectl wrote (PATH, a file or a folder), or from the running control plane. What
    Karmada's controllers made is left out and listed. With --decisions-out the bindings are kept, so that a plan can
    start from where everything runs now.

    \b
    gitfed import karmada export/ --decisions-out decisions.yaml
    gitfed import karmada --karmada-kubeconfig karmada.conf --decisions-out decisions.yaml --commit
    gitfed plan --worktree --decisions decisions.yaml
    gitfed state begin decisions.yaml                   once it is committed

    \b
    Exit codes: 0 done · 2 bad usage, or a file would be overwritten · 3 a file of the export cannot be read · 4 the
    control plane cannot be reached, or parts of it could not be read: nothing is written.
    """
    from gitfed.edges import files
    from gitfed.migration.karmada import convert

    if bool(exports) == (way.kubeconfig is not None):
        raise UsageError("read from files or from the control plane?", hint="PATH..., or --karmada-kubeconfig FILE")
    checkout = desired.open_checkout(writing.repo)
    if way.kubeconfig is None:
        bodies = _documents(exports)
    else:
        bodies = [*_everything(checkout, "karmada", way, options.Credentials(), ())]
    taken = convert(bodies, folder=taking.into, with_secrets=taking.with_secrets, adopt=adopt)
    code = _finish(taken.imported, "Import from Karmada", writing, taking, checkout)
    if decisions_out is not None and not writing.dry_run:
        files.write_atomically(decisions_out, emit.dump_many(taken.decisions).encode(), mode=0o600)
        count = len(taken.decisions)
        load.note(f"bindings: {count}, in {decisions_out}: gitfed plan --worktree --decisions {decisions_out}")
    return code


def _everything(
    checkout: desired.Checkout,
    name: str,
    way: KubeconfigContext,
    credentials: options.Credentials,
    namespaces: Sequence[str],
) -> Sequence[Body]:
    """All of a cluster. Raises ClusterError where anything could not be read."""
    from gitfed import errors
    from gitfed.edges.kube import everything

    count = progress.of_command().count

    async def read() -> everything.Everything:
        async with cluster_session.opened(checkout, name, way, credentials) as session:
            return await everything.read(session, namespaces=namespaces, count=count)

    contents = asyncio.run(read())
    if contents.unread:
        raise errors.ClusterError(
            f"cluster {name}: not everything could be read: {'; '.join(contents.unread)}",
            cluster=name,
            hint="an import with holes would look complete: nothing was written",
        )
    return contents.bodies


def _documents(paths: Sequence[Path]) -> list[Body]:
    """Every document of the files, those below folders in order of their paths. Raises InputError."""
    from gitfed.errors import InputError
    from gitfed.text import yaml
    from gitfed.text.construct import YamlError

    bodies: list[Body] = []
    for path in counting.each(list(_files(paths)), "files of the export read", progress.of_command().count):
        try:
            for document in yaml.load_all(path.read_bytes()):
                items = (
                    document.get("items")
                    if isinstance(document, dict) and str(document.get("kind")).endswith("List")
                    else None
                )
                bodies += [
                    body for body in (items if isinstance(items, list) else [document]) if isinstance(body, dict)
                ]
        except (YamlError, OSError) as error:
            raise InputError(f"{plain.clean(str(path))}: {plain.clean(str(error))}") from error
    if not bodies:
        raise UsageError("the export holds no objects", hint="name files of YAML or JSON, or folders of them")
    return bodies


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        yield from (
            file for file in sorted(path.rglob("*")) if file.suffix in (".yaml", ".yml", ".json") and file.is_file()
        )


def _finish(
    imported: Imported,
    message: str,
    writing: desired.WriteOptions,
    taking: Taking,
    checkout: desired.Checkout | None = None,
) -> int:
    checkout = checkout or desired.open_checkout(writing.repo)
    taken = [path for path in imported.files if checkout.text(path) is not None]
    if taken:
        more = f" and {len(taken) - _MOST} more" if len(taken) > _MOST else ""
        raise UsageError(
            f"{', '.join(taken[:_MOST])}{more} {'exist' if len(taken) > 1 else 'exists'} already; nothing was written",
            hint="choose another folder with --into, or remove what is to be imported again",
        )
    for path, bodies in imported.files.items():
        checkout.put(path, emit.dump_many(bodies))
    desired.finish(checkout, message, writing)
    _report(imported, taking.all_findings)
    if imported.files and not writing.dry_run:
        load.note("look at it: gitfed validate --worktree, then gitfed plan --worktree")
    return 0


def _report(imported: Imported, all_findings: bool) -> None:
    counts = imported.counts()
    click.echo(f"{sum(counts.values())} objects in {len(imported.files)} files")
    click.echo("\n".join(table.lines([(kind, str(count)) for kind, count in sorted(counts.items())], indent=2)))
    by_code: dict[str, list[str]] = {}
    hints: dict[str, str] = {}
    for finding in imported.findings:
        by_code.setdefault(finding.code, []).append(f"{finding.subject}: {finding.message}")
        if finding.hint:
            hints.setdefault(finding.code, finding.hint)
    for code, lines in by_code.items():
        click.echo(f"{code} ({len(lines)})")
        shown = lines if all_findings else lines[:_MOST]
        for line in shown:
            click.echo(f"  {plain.clean(line)}")
        if len(shown) < len(lines):
            click.echo(f"  and {len(lines) - len(shown)} more (--all-findings)")
        if code in hints:
            click.echo(f"  hint: {plain.clean(hints[code])}")
