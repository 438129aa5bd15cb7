"""What kubectl lists in several clusters at a time: `gitfed get KIND -C a,b`, `gitfed top pods -C a,b`."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from gitfed.cli import exits, load
from gitfed.cli.output import plain, structured, table
from gitfed.model.keys import CACHED_FROM_CLUSTER

if TYPE_CHECKING:
    from gitfed.member_access.contexts import KubeContext
    from gitfed.member_access.kubectl import KubectlResult

_JSON = ("json", "yaml")


def show(contexts: Sequence[KubeContext], arguments: Sequence[str], form: str, *, adoption: bool = False) -> int:
    """Ask every cluster, and print one answer. What a cluster says in place of one goes to stderr.

    `adoption`: with a column that says which objects are gitfed's.
    """
    from gitfed.member_access import kubectl, tables

    results = kubectl.collect(contexts, [*arguments, *_form(form, adoption=adoption)])
    good = [result for result in results if result.code == 0]
    if form == "name":
        for result in good:
            for line in result.out.splitlines():
                click.echo(plain.clean(line))
    elif form in _JSON:
        structured.echo(_list([(result.cluster, json.loads(result.out)) for result in good]), form)
    else:
        for number, rows in enumerate(tables.merged((result.cluster, result.out) for result in good)):
            if number:
                click.echo()
            for line in table.lines([[plain.clean(cell) for cell in row] for row in rows]):
                click.echo(line)
    for result in results:
        _tell(result)
    return exits.OK if len(good) == len(results) else exits.UNREACHABLE


def follow(contexts: Sequence[KubeContext], arguments: Sequence[str], form: str) -> int:
    """Print what is there and what changes, as it changes, until interrupted or all watches have ended."""
    from gitfed.member_access import following, tables
    from gitfed.member_access.kubectl import KubectlResult

    if form in _JSON:
        raise click.UsageError("what is followed comes as text: -o wide or name")
    titles: dict[str, list[str]] = {}
    shown: list[str] = []
    widths: list[int] = []
    code = exits.OK
    with contextlib.closing(following.lines(contexts, [*arguments, "--watch", *_form(form, adoption=True)])) as told:
        for news in told:
            if isinstance(news, KubectlResult):
                code = exits.UNREACHABLE if news.code else code
                _tell(news if news.code else replace(news, error=news.error or "the watch has ended"))
                continue
            cluster, line = news
            if form == "name":
                click.echo(plain.clean(line))
                continue
            cells = tables.split(plain.clean(line))
            if cluster not in titles:
                titles[cluster] = cells
                if shown != (head := tables.title_row(cells)):
                    shown = head
                    _echo(shown, widths)
                continue
            _echo(tables.row_of(cluster, titles[cluster], cells), widths)
    return code


def _form(form: str, *, adoption: bool) -> list[str]:
    """What kubectl is to print."""
    from gitfed.member_access import tables

    if form not in ("text", "wide"):
        return ["-o", "name" if form == "name" else "json"]
    return [*(["-o", "wide"] if form == "wide" else []), *([tables.WITH_LABEL] if adoption else [])]


def _echo(cells: Sequence[str], widths: list[int]) -> None:
    """Columns are as wide as the widest cell so far."""
    widths += [0] * (len(cells) - len(widths))
    for column, cell in enumerate(cells):
        widths[column] = max(widths[column], plain.width(cell))
    padded = (cell + " " * (widths[column] - plain.width(cell)) for column, cell in enumerate(cells))
    click.echo("   ".join(padded).rstrip())


def scope(namespace: str, everywhere: bool, selector: str = "") -> list[str]:
    if namespace and everywhere:
        raise click.UsageError("--namespace and --all-namespaces exclude each other")
    where = ["-A"] if everywhere else [f"--namespace={namespace}"] if namespace else []
    return [*where, *([f"--selector={selector}"] if selector else [])]


def _tell(result: KubectlResult) -> None:
    for line in result.error.splitlines():
        load.note(f"cluster {result.cluster}: {plain.clean(line)}")


def _list(answers: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Each object names its cluster, as through the door of the fleet."""
    items = []
    for cluster, body in answers:
        for item in body.get("items", []) if body.get("kind", "").endswith("List") else [body]:
            metadata = item.get("metadata") or {}
            marks = {**(metadata.get("annotations") or {}), CACHED_FROM_CLUSTER: cluster}
            items.append({**item, "metadata": {**metadata, "annotations": marks}})
    return {"apiVersion": "v1", "kind": "List", "metadata": {}, "items": items}
