"""Progress: on stderr, with a total and an end, by one way for every command."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from gitfed.cli.output.progress import Progress
from gitfed.model import counting
from tests.cli.world import commit, gitfed

SETTINGS = "apiVersion: gitfed.io/v1alpha1\nkind: Federation\nmetadata: {name: acme}\n"
PLACEMENT_TEST = (
    "apiVersion: gitfed.io/v1alpha1\nkind: PlacementTest\nmetadata: {name: t}\n"
    "spec: {expect: [{workload: {kind: Deployment, namespace: shop, name: web}, clusters: {min: 1}}]}\n"
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_what_is_quick_says_nothing() -> None:
    stream, clock = Terminal(), Clock()
    progress = Progress("auto", stream, clock)
    for number in range(1, 4):
        progress.count("files read", number, 3)
    progress.end()
    assert stream.getvalue() == ""


def test_what_takes_long_is_one_line_with_a_total_that_stays_as_its_end() -> None:
    stream, clock = Terminal(), Clock()
    progress = Progress("auto", stream, clock)
    for number in range(1, 5):
        clock.now += 0.6
        progress.count("files read", number, 4)
    progress.count("objects planned", 1, 2)
    progress.end()
    # The first that is shown is the third: so long there was patience.
    assert stream.getvalue() == "\r3 of 4 files read\r4 of 4 files read\n"


def test_a_line_is_not_drawn_more_often_than_anybody_can_read() -> None:
    stream, clock = Terminal(), Clock()
    progress = Progress("always", stream, clock)
    for number in range(1, 101):
        clock.now += 0.01
        progress.count("files read", number, 100)
    progress.end()
    assert stream.getvalue().count("\r") <= 13
    assert stream.getvalue().endswith("\r100 of 100 files read\n")


def test_a_shorter_line_leaves_nothing_of_the_longer_one() -> None:
    stream, clock = Terminal(), Clock()
    progress = Progress("always", stream, clock)
    progress.count("changes", 9, 1000)
    clock.now += 1
    progress.count("changes", 9, 100)
    progress.end()
    assert stream.getvalue() == "\r9 of 1000 changes\r9 of 100 changes \n"


def test_what_is_printed_after_a_count_that_is_over_begins_a_new_line() -> None:
    stream = Terminal()
    progress = Progress("always", stream, Clock())
    progress.count("files read", 4, 4)
    assert stream.getvalue() == "\r4 of 4 files read\n"


def test_a_count_that_is_cut_short_ends_its_line_where_it_was() -> None:
    stream = Terminal()
    progress = Progress("always", stream, Clock())
    progress.count("files read", 1, 4)
    progress.end()
    assert stream.getvalue().endswith("1 of 4 files read\n")


def test_a_count_that_begins_again_is_another_one() -> None:
    stream = io.StringIO()
    progress = Progress("always", stream, Clock())
    for number in (1, 2, 1, 2):
        progress.count("objects planned", number, 2)
    progress.end()
    assert stream.getvalue() == "2 of 2 objects planned\n" * 2


def test_where_nobody_looks_nothing_is_said_unless_it_is_asked_for() -> None:
    for choice, said in (("auto", ""), ("never", ""), ("always", "2 of 2 files read\n")):
        stream, clock = io.StringIO(), Clock()
        progress = Progress(choice, stream, clock)
        for _ in counting.each([1, 2], "files read", progress.count):
            clock.now += 5
        progress.end()
        assert stream.getvalue() == said, choice


def test_never_is_never_also_on_a_terminal() -> None:
    stream, clock = Terminal(), Clock()
    progress = Progress("never", stream, clock)
    for _ in counting.each([1, 2], "files read", progress.count):
        clock.now += 5
    progress.end()
    assert stream.getvalue() == ""


READ, PLANNED = r"(\d+) of \1 files read\n", r"(\d+) of \1 objects planned\n"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("plan",), (READ, PLANNED)),
        (("validate",), (READ, PLANNED)),
        (("explain", "deploy/shop/web"), (READ, PLANNED)),
        (("get", "bindings"), (READ, PLANNED)),
        (("diff", "HEAD~1..HEAD"), (READ, PLANNED)),
        (("review", "HEAD~1..HEAD", "--dry-run=client"), (READ, PLANNED)),
        (("render",), (READ, PLANNED)),
        (("simulate", "--fail", "cluster/eu-1"), (READ, "1800 of 1800 seconds played\n")),
        (("simulate", "--n-minus-one"), (READ, r"(\d+) of \1 failures tried\n")),
        (("test",), ("1 of 1 placement tests run\n",)),
        (("import", "karmada", "export"), ("2 of 2 files of the export read\n",)),
        (("import", "kubefed", "export"), ("2 of 2 files of the export read\n",)),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, tuple) else "",
)
def test_a_long_command_counts_to_a_total_and_says_its_end(
    fleet: Path, command: tuple[str, ...], said: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    export = fleet / "export"
    export.mkdir()
    for name in "ab":
        (export / f"{name}.yaml").write_text(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n")
    if command == ("test",):
        commit(fleet, {"tests/t.yaml": PLACEMENT_TEST})
    else:
        commit(fleet, {"README.md": "words\n"})
    loud = gitfed(*command, "--progress=always")
    for line in said:
        assert re.search(line, loud.err), loud.err
    quiet = gitfed(*command)
    assert " of " not in quiet.err.replace("of the export", "").replace("of them", ""), quiet.err
    assert "files read" not in quiet.out + loud.out
