"""What the pages name exists: links, options, exit codes, messages, settings, labels, fields, members of the plan."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from gitfed.cli import exits
from gitfed.cli.commands.members import reached
from gitfed.cli.main import cli
from gitfed.views import plans
from tests.cli import values
from tests.docs import pages
from tests.docs.pages import ROOT

DOCS = ROOT / "docs"
_PAGES = pages.pages()
_LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
_MEMBER = re.compile(r"^\| (`[^|]*`) \|", re.M)
_NOT_GITFED = {"--strict", "--chunk-size"}  # of mkdocs and kubectl
_NO_CALL = {"gitfed runs"}  # a line of the log


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def _without_fences(text: str) -> str:
    return _FENCE.sub("", text)


def _words(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@cache
def _source() -> str:
    """The program's text; strings that are split over lines are joined."""
    text = "\n".join(path.read_text() for path in sorted((ROOT / "gitfed").rglob("*.py")) if "sim" not in path.parts)
    return re.sub(r'"\s*\n\s*f?"', "", text)


# -- links --------------------------------------------------------------


def test_the_site_is_built_strictly(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "site" / "index.html").is_file()


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_what_a_page_outside_the_site_links_to_is_there(page: str) -> None:
    for target in _LINK.findall(_without_fences((ROOT / page).read_text())):
        if not target.startswith("https://"):
            assert (ROOT / target.partition("#")[0]).exists(), target


# -- the command line --------------------------------------------------------------


def _commands(group: click.Group = cli, prefix: str = "") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield prefix + name, command
        if isinstance(command, click.Group):
            yield from _commands(command, f"{prefix}{name} ")


@cache
def _options() -> dict[str, frozenset[str]]:
    def of(command: click.Command) -> frozenset[str]:
        names = [name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)]
        return frozenset(names) | {"--help", "-h"}

    everywhere = of(cli) | {"--version"}
    return {"": everywhere, **{name: of(command) | everywhere for name, command in _commands()}}


@cache
def _passed_on() -> frozenset[str]:
    """Commands of which most options are kubectl's."""
    return frozenset(name for name, command in _commands() if isinstance(command, reached.PassedOn))


def _calls(text: str) -> Iterator[tuple[str, list[str]]]:
    """(command, its words) of every line of code that calls gitfed."""
    fences = [line.removeprefix("$ ") for fence in _FENCE.findall(text) for line in fence.splitlines()[1:-1]]
    for code in [*fences, *set(re.findall(r"`(gitfed [^`]+)`", _without_fences(text))) - _NO_CALL]:
        for part in re.split(r"&&|\|\||[|;]", code.partition(" #")[0]):
            words = part.split()
            if words[:1] == ["gitfed"]:
                two = " ".join(words[1:3])
                yield (two, words[3:]) if two in _options() else (words[1] if len(words) > 1 else "", words[2:])


@pytest.mark.parametrize("page", _PAGES, ids=_name)
def test_every_call_names_a_command_and_options_that_exist(page: Path) -> None:
    for command, words in _calls(page.read_text()):
        named = "" if command.startswith("-") else command
        assert named in _options(), f"gitfed {command}"
        own = words if named not in _passed_on() else [word for word in words if word.startswith(("-C", "--server"))]
        for word in own:
            if word.startswith("-") and word != "-":
                assert word.partition("=")[0] in _options()[named], f"gitfed {command} {word}"


@pytest.mark.parametrize("page", _PAGES, ids=_name)
def test_every_option_that_stands_alone_exists_somewhere(page: Path) -> None:
    known = frozenset[str]().union(*_options().values()) | _NOT_GITFED
    for span in re.findall(r"`(--[a-z][^`]*)`", _without_fences(page.read_text())):
        for word in span.split():
            if word.startswith("--"):
                assert word.partition("=")[0] in known, word


def test_the_exit_codes_are_those_of_the_program() -> None:
    text = (DOCS / "reference" / "exit-codes.md").read_text()
    codes = {value for name, value in vars(exits).items() if name.isupper() and isinstance(value, int)}
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.M)} == codes
    order = ", ".join(str(code) for code in exits.PRECEDENCE)
    assert f"the first in this order wins: {order}." in text


# -- messages --------------------------------------------------------------


def _headings(page: str) -> list[str]:
    return re.findall(r"^### `(.+)`$", (DOCS / page).read_text(), re.M)


@pytest.mark.parametrize("message", _headings("how-to/troubleshooting.md"))
def test_every_message_that_is_explained_can_be_said(message: str) -> None:
    parts = [part.strip(" ?():") for part in message.split("…")]
    long = [part for part in parts if len(part) > 3]
    assert long, "a heading must say something"
    for part in long:
        assert part in _source(), part


def test_every_log_line_that_is_listed_can_be_written() -> None:
    text = (DOCS / "reference" / "logs.md").read_text()
    rows = [row for row in text.splitlines() if row.startswith(("| info", "| warning", "| error"))]
    assert len(rows) > 15
    for row in rows:
        for message in _words(row.split("|")[2]):
            known = f'"{message}"' in _source() or message in {"object created", "object configured", "object deleted"}
            assert known, message


# -- formats --------------------------------------------------------------


@pytest.mark.parametrize("tool", ["settings_reference", "karmada_reference"])
def test_a_page_made_from_the_models_is_up_to_date(tool: str) -> None:
    done = subprocess.run([sys.executable, f"tools/{tool}.py", "--check"], cwd=ROOT, check=False)
    assert done.returncode == 0, f"run: python tools/{tool}.py"


def test_the_members_of_a_plan_are_all_described() -> None:
    text = (DOCS / "reference" / "plan-json.md").read_text()
    top, binding, change = text.split("\n## ")
    made = plans.document(values.contract_example().plan, ())
    for part, members in ((top, made), (binding, made["bindings"][0]), (change, made["changes"][0])):
        described = {word.removesuffix("[]") for cell in _MEMBER.findall(part) for word in _words(cell)}
        assert described == set(members)


def test_every_key_that_the_program_reads_or_writes_is_described() -> None:
    text = (DOCS / "reference" / "labels.md").read_text()
    named = set(re.findall(r'"(gitfed\.io/[a-z-]+)"', _source()))
    assert named - {"gitfed.io/inventory"} == set(re.findall(r"`(gitfed\.io/[a-z-]+)`", text))
