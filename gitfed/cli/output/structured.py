"""JSON and YAML: the same plain value by two printers."""

from __future__ import annotations

import re
from typing import Any

import click

from gitfed.views import written

_UNSEEN = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


def echo(value: Any, form: str) -> None:
    """`form` is "json" or "yaml"; one document on stdout."""
    value = written.writable(value)
    if form == "json":
        click.echo(json_text(value))
        return
    from gitfed.text import yaml

    click.echo(yaml.dump(value), nl=False)


def json_text(value: Any) -> str:
    """The same value for every reader of JSON; what would act on a terminal is written as an escape."""
    return _harmless(written.json_bytes(value, indented=True).decode())


def json_line(value: Any) -> str:
    """The same in one line, for what comes one after the other."""
    return _harmless(written.json_bytes(value).decode())


def _harmless(text: str) -> str:
    return text if text.isascii() else _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
