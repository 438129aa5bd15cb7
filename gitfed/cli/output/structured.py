"""JSON and YAML: the same plain value by two printers."""

from __future__ import annotations

from typing import Any

import click
import orjson


def echo(value: Any, form: str) -> None:
    """`form` is "json" or "yaml"; one document on stdout."""
    value = _writable(value)
    if form == "json":
        click.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())
        return
    from gitfed.text import yaml

    click.echo(yaml.dump(value), nl=False)


def _writable(value: Any) -> Any:
    """File names may be no text at all; JSON takes only text."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if isinstance(value, dict):
        return {_writable(key): _writable(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_writable(item) for item in value]
    if isinstance(value, frozenset | set):
        return sorted(_writable(item) for item in value)
    return value
