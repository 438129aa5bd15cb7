"""JSON and YAML: the same plain value by two printers."""

from __future__ import annotations

import re
from typing import Any

import click
import orjson

_UNSEEN = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


def echo(value: Any, form: str) -> None:
    """`form` is "json" or "yaml"; one document on stdout."""
    value = _writable(value)
    if form == "json":
        click.echo(json_text(value))
        return
    from gitfed.text import yaml

    click.echo(yaml.dump(value), nl=False)


def json_text(value: Any) -> str:
    """The same value for every reader of JSON; what would act on a terminal is written as an escape."""
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    return text if text.isascii() else _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


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
