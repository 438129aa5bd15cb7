"""gitfed config view"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import click

from gitfed.cli import load, options, parameters
from gitfed.cli.output import structured, table
from gitfed.edges import files
from gitfed.errors import SourceError
from gitfed.model.declared.federation import FEATURE_GATES, Federation
from gitfed.offline import inputs as daemon_inputs
from gitfed.text import yaml

SCHEMA = "gitfed.io/config/v1"


@click.group("config")
def command() -> None:
    """Show settings and where they come from."""


@command.command("view", short_help="Print every setting that is in force.")
@options.source
@parameters.option("--origin", shared=False, is_flag=True, help="Say of every setting where it comes from.")
@options.output("text", "json", "yaml")
def view(inputs: options.Inputs, origin: bool, output: options.Output) -> int:
    """Print every setting that is in force: what the repository's Federation says, and defaults for the rest.

    With --origin each line names the file and line, or "default"; variables GITFED_… that this process sees follow.

    \b
    gitfed config view
    gitfed config view --origin

    \b
    Exit codes: 0 done · 2 bad usage · 3 the settings cannot be used · 4 the repository cannot be read.
    """
    session = load.CommandSession(inputs)
    settings = session.repo.settings
    values = dict(_flat(_complete(settings), ("spec",)))
    places = _places(session.read, settings, values) if origin else {}
    if output.format in ("json", "yaml"):
        document: dict[str, Any] = {
            "schema": SCHEMA,
            "name": settings.metadata.name,
            "settings": {".".join(path[1:]): value for path, value in values.items()},
        }
        if origin:
            document["origins"] = {".".join(path[1:]): places[path] for path in values}
            document["environment"] = _environment()
        structured.echo(document, output.format)
        return load.code(session.repo.problems)
    rows = [["name", settings.metadata.name, *([str(settings.origin)] if origin else [])]]
    for path, value in values.items():
        rows.append([".".join(path[1:]), _text(value), *([places[path]] if origin else [])])
    rows += [[name, value, "environment"] for name, value in _environment().items()] if origin else []
    rows += [["cache", str(files.cache_directory()), "XDG_CACHE_HOME"]] if origin else []
    for line in table.lines(rows):
        click.echo(line)
    # Missing settings have no place of their own: that they are missing is said of the usual file.
    file = settings.origin.path or "gitfed.yaml"
    return load.tell(problem for problem in session.repo.problems if problem.origin.path == file)


def _complete(settings: Federation) -> Any:
    """With every default, feature gates too."""
    spec = settings.spec.model_dump(mode="json", by_alias=True)
    spec["featureGates"] = {**FEATURE_GATES, **spec.get("featureGates", {})}
    return spec


def _flat(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict) and value:
        for name, member in value.items():
            yield from _flat(member, (*path, name))
    else:
        yield path, value


def _text(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return " ".join(map(str, value)) or "–"
    return str(value)


def _places(
    read: daemon_inputs.ReadCommit, settings: Federation, values: dict[tuple[str, ...], Any]
) -> dict[tuple[str, ...], str]:
    """Where each setting stands in its file; "default" when it does not."""
    path = settings.origin.path
    unknown = dict.fromkeys(values, "default")
    blob = next((entry.blob_id for entry in read.tree.entries() if entry.path == path), None) if path else None
    if blob is None:
        return unknown
    try:
        data = read.tree.read(blob)
    except SourceError:
        return unknown
    as_json = path.endswith(".json")
    stream = yaml.parse(data, is_json=as_json)
    for number, document in enumerate(stream.documents):
        value = document.value
        if not isinstance(value, dict) or value.get("kind") != "Federation":
            continue
        return {
            setting: "{}:{}:{}".format(path, *yaml.locate(data, number, setting, is_json=as_json))
            if _has(value, setting)
            else "default"
            for setting in values
        }
    return unknown


def _has(value: Any, path: tuple[str, ...]) -> bool:
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return False
        value = value[name]
    return True


def _environment() -> dict[str, str]:
    return {name: os.environ[name] for name in sorted(os.environ) if name.startswith("GITFED_")}
