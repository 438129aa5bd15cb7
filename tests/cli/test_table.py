"""Columns of text that must fit a terminal: nothing is cut, and what can be typed back stays in one piece."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitfed.cli.output import plain, table
from gitfed.cli.output.table import Cell
from gitfed.documents import bindings, state_commits
from gitfed.documents.state_commits import Act
from gitfed.edges.git import Repository
from gitfed.edges.state.state import StateBranch
from tests.cli.world import git

EXAMPLE = Path(__file__).parents[2] / "examples" / "repo"
ROWS = [["NAME", "STATE", "WHY"], ["eu-1", "Ready", "one two three four five"], ["us-staging", "–", ""]]


def test_without_a_width_no_row_takes_a_second_line() -> None:
    assert table.lines([["a", "word " * 100]]) == ["a   " + ("word " * 100).rstrip()]


def test_what_fits_is_printed_as_without_a_width() -> None:
    assert table.lines(ROWS, width=80) == table.lines(ROWS)


def test_too_many_columns_stand_closer_before_anything_is_broken() -> None:
    assert table.lines([["a", "b", "c d e"]], width=11) == ["a  b  c d e"]


def test_the_last_column_hangs_below_itself() -> None:
    text = "cluster(s) had untolerated taint {env=staging:NoSchedule}"
    assert table.lines([["CLUSTER", "WHY"], ["us-staging", text]], indent=2, width=48) == [
        "  CLUSTER     WHY",
        "  us-staging  cluster(s) had untolerated taint",
        "              {env=staging:NoSchedule}",
    ]


def test_columns_that_have_no_room_go_on_in_a_second_line_set_in() -> None:
    assert table.lines(ROWS, width=22) == [
        "NAME        STATE",
        "    WHY",
        "eu-1        Ready",
        "    one two three four",
        "    five",
        "us-staging  –",
    ]


def test_a_long_text_in_the_middle_hangs_below_itself_too() -> None:
    assert table.lines([["a", "one two three four", "b"]], width=14) == ["a  one two", "   three four", "    b"]


def test_a_word_longer_than_the_terminal_stays_whole() -> None:
    name = "ClusterPropagationPolicy/a-name-of-many-letters"
    assert table.lines([["a", f"{name} x"]], width=20) == ["a", f"    {name}", "    x"]


def test_a_word_longer_than_the_terminal_makes_no_other_line_longer() -> None:
    assert table.lines([["a", f"one two three {'x' * 30}"]], width=12) == [
        "a",
        "    one two",
        "    three",
        f"    {'x' * 30}",
    ]


def test_every_line_of_a_painted_cell_is_painted() -> None:
    red = Cell("one two", lambda text: f"<{text}>")
    assert table.lines([["a", red]], width=6) == ["a  <one>", "   <two>"]


@pytest.mark.parametrize(("columns", "found"), [(7, ["a b c d"]), (3, ["a b", "c d"]), (1, ["a", "b", "c", "d"])])
def test_texts_are_broken_at_blanks(columns: int, found: list[str]) -> None:
    assert plain.folded("a b c d", columns) == found


def test_wide_characters_count_twice_where_a_text_is_broken() -> None:
    assert plain.folded("漢字 漢字", 8) == ["漢字", "漢字"]


def test_a_sentence_is_broken_at_blanks_and_each_part_keeps_its_paint() -> None:
    parts = ["Gates", Cell("   one/two HELD", lambda text: f"<{text}>" if text else ""), " · three"]
    assert table.flow(parts) == ["Gates<   one/two HELD> · three"]
    assert table.flow(parts, width=15) == ["Gates   <one/two>", "    <HELD> ·", "    three"]


def test_words_of_a_sentence_that_are_wide_count_twice() -> None:
    assert table.flow(["漢字 漢字 ab"], indent=2, hang=0, width=9) == ["  漢字", "  漢字 ab"]


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("example")
    subprocess.run(["cp", "-r", f"{EXAMPLE}/.", path], check=True)
    git(path, "init", "-q")
    git(path, "add", "-A")
    git(path, "commit", "-qm", "A subject that tells in many words what this commit is about, and why")
    repository = Repository.open(path)
    branch = StateBranch(repository, bindings)
    state = branch.read()
    known = replace(state, decisions=replace(state.decisions, repository_id="1", known=True))
    reasons = [f"Deployment.apps/shop/web → {' '.join(f'eu-{number}:2' for number in range(20))}", f"NS/{'x' * 63} → y"]
    message = state_commits.acted(Act.DECIDED, git(path, "rev-parse", "HEAD"), tuple(reasons))
    branch.write(state, known, message=message, now=datetime(2026, 1, 1, tzinfo=UTC))
    return path


COMMANDS = [
    ("explain", "deploy/shop/web"),
    ("get", "bindings"),
    ("get", "bindings", "-o", "wide"),
    ("get", "clusters"),
    ("get", "works"),
    ("get", "policies"),
    ("plan", "-o", "wide"),
    ("log",),
    ("log", "-o", "wide"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_on_a_terminal_of_80_columns_no_line_is_longer(example: Path, command: tuple[str, ...]) -> None:
    shown = on_a_terminal(example, command, 80)
    assert [line for line in shown if plain.width(line) > 80] == []
    piped = subprocess.run(
        [sys.executable, "-m", "gitfed", *command], cwd=example, env=environment(), capture_output=True, check=True
    ).stdout.decode()
    assert "".join(shown).replace(" ", "") == re.sub(r"\s", "", piped), "nothing is cut"
    assert any(plain.width(line) > 80 for line in piped.splitlines()), "a pipe gets each row in one line"


def test_a_plan_takes_the_form_that_fits_a_terminal_of_80_columns(example: Path) -> None:
    shown = on_a_terminal(example, ("plan",), 80)
    assert [line for line in shown if plain.width(line) > 80] == []
    assert any("shop/Deploy/web" in line for line in shown)


def on_a_terminal(folder: Path, command: tuple[str, ...], columns: int) -> list[str]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "gitfed", *command],
        cwd=folder, env=environment(), stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(theirs)
    found = b""
    while True:
        try:
            more = os.read(ours, 65536)
        except OSError:  # Linux says so when nobody can write any more
            break
        if not more:
            break
        found += more
    os.close(ours)
    assert process.wait() == 0
    return found.decode().split("\r\n")


def environment() -> dict[str, str]:
    return {**{name: value for name, value in os.environ.items() if name != "COLUMNS"}, "NO_COLOR": "1"}
