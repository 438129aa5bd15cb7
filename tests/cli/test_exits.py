"""One code for several results, and one for every exception."""

from __future__ import annotations

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed import errors
from gitfed.cli import exits, main


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ([], 0),
        ([0, 0], 0),
        ([1, 6], 6),
        ([6, 4], 4),
        ([4, 5, 1], 5),
        ([5, 3], 3),
        ([3, 2], 2),
        ([2, 130], 130),
    ],
    ids=str,
)
def test_the_code_that_stands_first_wins(codes: list[int], expected: int) -> None:
    assert exits.first(codes) == expected


@given(st.lists(st.sampled_from([0, 1, 2, 3, 4, 5, 6, 130])))
def test_order_and_repetition_do_not_matter(codes: list[int]) -> None:
    assert exits.first(codes) == exits.first(sorted(set(codes), reverse=True))


def every_error(kind: type[errors.GitfedError] = errors.GitfedError) -> list[type[errors.GitfedError]]:
    public = [child for child in kind.__subclasses__() if child.__module__ == errors.__name__]
    return [kind, *(inner for child in public for inner in every_error(child))]


@pytest.mark.parametrize("kind", every_error(), ids=lambda kind: kind.__name__)
def test_no_exception_leaves_with_1(kind: type[errors.GitfedError]) -> None:
    assert exits.of(kind("x")) in (exits.USAGE, exits.INVALID, exits.UNREACHABLE, exits.DEFECT)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (errors.UsageError("x"), 2),
        (errors.InputError("x"), 3),
        (errors.SourceUnreachable("x"), 4),
        (errors.Unauthorized("x"), 4),
        (errors.StateTooNew("x"), 4),
        (KeyboardInterrupt(), 130),
        (ExceptionGroup("", [errors.SourceError("x"), errors.InputError("y")]), 3),
        (ZeroDivisionError(), 70),
    ],
    ids=["usage", "input", "source", "cluster", "state", "interrupted", "several", "a defect"],
)
def test_exceptions_have_the_contracts_codes(error: BaseException, expected: int) -> None:
    assert exits.of(error) == expected


def run_failing(
    error: BaseException, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str]:
    def fail(**_: object) -> int:
        raise error

    monkeypatch.setattr(main.cli, "main", fail)
    return main.run([]), capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (errors.SourceError("no repository", hint="make one"), 4, "error: no repository\nhint: make one\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (click.Abort(), 130, "interrupted\n"),
        (OSError(28, "No space left on device", "/x/y"), 2, "error: /x/y: No space left on device\n"),
        (
            ExceptionGroup("", [errors.ClusterUnreachable("eu-1 is gone"), errors.InputError("bad")]),
            3,
            "error: eu-1 is gone\nerror: bad\n",
        ),
        (errors.SourceError("a\x1b[31m\nb"), 4, "error: a\\x1b[31m\\nb\n"),
    ],
    ids=["an error and its hint", "control-C", "a refused prompt", "a full disk", "several errors", "hostile text"],
)
def test_an_error_is_one_clear_line(
    error: BaseException, code: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_failing(error, monkeypatch, capsys) == (code, said)
