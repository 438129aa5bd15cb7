"""What kubectl lists in several clusters at a time: `gitfed get KIND -C a,b`, `gitfed top pods -C a,b`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from gitfed.cli import exits, load
from gitfed.cli.output import plain, structured, table
from gitfed.model.keys import CACHED_FROM_CLUSTER

if TYPE_CHECKING:
    from gitfed.member_access.kubectl import Said
    from gitfed.member_access.ways import Way

_JSON = ("json", "yaml")


def show(ways: Sequence[Way], arguments: Sequence[str], form: str) -> int:
    """Ask every cluster, and print one answer. What a cluster says in place of one goes to stderr."""
    from gitfed.member_access import kubectl, tables

    asked = {"text": [], "wide": ["-o", "wide"]}.get(form, ["-o", "json"])
    said = kubectl.collect(ways, [*arguments, *asked])
    good = [one for one in said if one.code == 0]
    if form in _JSON:
        structured.echo(_list([(one.cluster, json.loads(one.out)) for one in good]), form)
    else:
        for number, rows in enumerate(tables.merged((one.cluster, one.out) for one in good)):
            if number:
                click.echo()
            for line in table.lines([[plain.clean(cell) for cell in row] for row in rows]):
                click.echo(line)
    for one in said:
        _tell(one)
    return exits.OK if len(good) == len(said) else exits.UNREACHABLE


def scope(namespace: str, everywhere: bool, selector: str = "") -> list[str]:
    if namespace and everywhere:
        raise click.UsageError("--namespace and --all-namespaces exclude each other")
    where = ["-A"] if everywhere else [f"--namespace={namespace}"] if namespace else []
    return [*where, *([f"--selector={selector}"] if selector else [])]


def _tell(said: Said) -> None:
    for line in said.error.splitlines():
        load.note(f"cluster {said.cluster}: {plain.clean(line)}")


def _list(found: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Each object names its cluster, as through the door of the fleet."""
    items = []
    for cluster, body in found:
        for item in body.get("items", []) if body.get("kind", "").endswith("List") else [body]:
            metadata = item.get("metadata") or {}
            marks = {**(metadata.get("annotations") or {}), CACHED_FROM_CLUSTER: cluster}
            items.append({**item, "metadata": {**metadata, "annotations": marks}})
    return {"apiVersion": "v1", "kind": "List", "metadata": {}, "items": items}
