"""Writes docs/reference/cli.md from the commands themselves, so that it cannot tell anything else than `--help`.

python tools/cli_reference.py            writes the page
python tools/cli_reference.py --check    ends with 1 when the page is not up to date
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from gitfed.cli.main import cli

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "cli.md"


def page() -> str:
    return "\n".join([*_head(), *_commands(cli, "gitfed")]) + "\n"


def _head() -> Iterator[str]:
    yield "# The command line"
    yield ""
    yield "Made from the program's own help by `tools/cli_reference.py`; edit the commands, not this page."
    yield ""
    yield "Results go to stdout, everything else to stderr. JSON and YAML carry `schema`, a versioned name."
    yield "Objects are shown as `namespace/Kind/name`, well-known kinds by the short names of `kubectl`, capitalised:"
    yield ""
    yield "| Shown | Kind |"
    yield "|---|---|"
    from gitfed.views import names

    for (group, kind), shown in sorted(names.short_forms().items(), key=lambda item: item[1]):
        yield f"| `{shown}` | {kind}{f' of {group}' if group else ''} |"
    yield ""
    yield "| Exit code | Meaning |"
    yield "|---|---|"
    from gitfed.cli import exits

    for line in (exits.__doc__ or "").splitlines():
        words = line.split(None, 1)
        if line.startswith("    ") and words and words[0].isdigit():
            yield f"| {words[0]} | {words[1]} |"
    yield ""


def _commands(command: click.Command, name: str, parent: click.Context | None = None) -> Iterator[str]:
    settings = {**command.context_settings, "max_content_width": 100, "terminal_width": 100}
    context = click.Context(command, info_name=name, parent=parent, **settings)
    yield f"{'#' * (2 if parent is None else 3)} {context.command_path}"
    yield ""
    yield "```text"
    yield command.get_help(context).rstrip()
    yield "```"
    yield ""
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            assert found is not None
            yield from _commands(found, inner, context)


def main() -> int:
    text = page()
    if "--check" in sys.argv[1:]:
        return 0 if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text else 1
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
