"""gitfed test"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from gitfed.cli import exits, load, options, parameters
from gitfed.cli.output import formatting, junit, manifest_text, matrix, plain, progress, structured
from gitfed.cli.output.junit import Case
from gitfed.edges import files
from gitfed.errors import InputError, UsageError
from gitfed.model import counting
from gitfed.model.declared.federation import PlacementTest
from gitfed.model.declared.shape import duration_text
from gitfed.offline import inputs as daemon_inputs
from gitfed.simulation import placement_test
from gitfed.views import names

SCHEMA = "gitfed.io/tests/v1"
_NAMED = 8
"""Tests that are named where one is asked for that is not there."""


@click.command("test")
@click.argument("path", metavar="[PATH|NAME]", required=False, default="")
@options.source
@parameters.option(
    "--now",
    type=parameters.Rfc3339(),
    metavar="RFC3339",
    shared=False,
    help="Try at this time.  [default: that of the facts, else of the commit]",
)
@parameters.option("--update", shared=False, is_flag=True, help="Write snapshots anew, in the worktree; review them.")
@parameters.option(
    "--junit",
    "report",
    shared=False,
    type=parameters.Files(dir_okay=False),
    metavar="FILE",
    help="Also write the results as JUnit XML.",
)
@options.output("text", "json", "yaml", "name")
def command(
    path: str, inputs: options.Inputs, now: Any, update: bool, report: Path | None, output: options.Output
) -> int:
    """Try the PlacementTests of the repository: where workloads run, also when clusters fail.

    A test names facts, lets clusters fail on a virtual clock, and says what is expected then; or it keeps the whole
    placement as text, which --update writes anew. PATH is a file or folder of the repository; NAME is a test's.

    \b
    gitfed test
    gitfed test --worktree tests/
    gitfed test --update && git diff
    gitfed test --junit report.xml

    \b
    Exit codes: 0 all hold · 1 a test failed · 2 bad usage · 3 invalid input in the repository · 4 not a repository.
    """
    if update:
        if inputs.rev:
            raise UsageError("--update writes into the worktree", hint="leave out --rev")
        inputs = replace(inputs, worktree=True)
    session = load.CommandSession(inputs)
    chosen = placement_test.tests_of(session.repo, path)
    if path and not chosen:
        close = difflib.get_close_matches(path, [test.name for test in session.repo.tests], n=1)
        listed = ", ".join(test.name for test in session.repo.tests[:_NAMED]) or "there is none in the repository"
        raise UsageError(f"no PlacementTest {path!r}", hint=f"did you mean {close[0]}?" if close else listed)
    interpreter = daemon_inputs.interpreter_of(session.repo, session.decisions())
    counted = counting.each(chosen, "placement tests run", progress.of_command().count)
    cases = [_case(session, test, interpreter, now, update) for test in counted]
    if report is not None:
        files.write_atomically(report, junit.document(cases).encode(), mode=0o644)
    _show(cases, output)
    wrong = load.tell(problem for problem in session.repo.problems if problem.severity.value == "error")
    broken = exits.INVALID if any(case.broken for case in cases) else exits.OK
    return exits.first([wrong, broken, exits.DIFFERENT if any(case.failed for case in cases) else exits.OK])


def _case(session: load.CommandSession, test: PlacementTest, interpreter: Any, now: Any, update: bool) -> Case:
    given = _given(test)
    try:
        fleet = session.fleet()
        when = now or fleet.facts.taken_at or _when(session)
        tried = placement_test.attempt(session.opened, session.read, test, interpreter, when)
        wrong = ["\n".join(_sentence(failure)) for failure in tried.failures]
        updated = ""
        if test.spec.snapshot is not None:
            text = snapshot(tried)
            where, stored = placement_test.beside(session.read, test, test.spec.snapshot)
            if stored is None or stored.decode("utf-8", "replace") != text:
                if update:
                    updated = _write(session, where, text)
                else:
                    wrong.append("\n".join(_drifted(where, stored, text)))
    except InputError as error:
        return Case(test, given, broken=str(error))
    return Case(test, given, tuple(wrong), updated=updated)


def _when(session: load.CommandSession) -> Any:
    commit = session.repo.commit or session.opened.head
    return session.opened.repository.info(commit).when if commit else session.now


def _given(test: PlacementTest) -> str:
    given = test.spec.given
    parts = [f"{target} fails" for target in given.fail] + [f"taint {text}" for text in given.taint]
    if not parts:
        return ""
    until = duration_text(given.until) if given.until is not None else "30m"
    return f"{', '.join(parts)}; after {until}"


def _sentence(failure: Any) -> Iterator[str]:
    yield failure.what
    yield f"  expected  {failure.expected}"
    yield f"  got       {failure.got}"
    if failure.because:
        yield f"  because   {failure.because}"


def snapshot(tried: placement_test.Tried) -> str:
    """The whole placement as text: no time, no digest, nothing that changes by itself."""
    rows = [
        matrix.MatrixRow(
            names.shown(key), None, matrix.of(binding.scheduled.shares), "" if binding.scheduled.shares else "nowhere"
        )
        for key, binding in tried.plan.bindings.items()
        if binding.scheduled.policy is not None or binding.scheduled.shares
    ]
    given = _given(tried.test)
    head = f"# {tried.test.name}{f': {given}' if given else ''}"
    lines = matrix.lines(rows, sorted(tried.plan.clusters), plain.Paint(), 100_000)
    return "\n".join([head, *(line.rstrip() for line in lines)]) + "\n"


def _drifted(where: str, stored: bytes | None, text: str) -> Iterator[str]:
    if stored is None:
        yield f"snapshot {where} does not exist (gitfed test --update writes it)"
        return
    yield f"snapshot {where} differs (gitfed test --update, if this is meant)"
    old = stored.decode("utf-8", "replace").splitlines()
    for line in list(difflib.unified_diff(old, text.splitlines(), "snapshot", "now", lineterm="", n=0))[:60]:
        yield f"  {line}"


def _write(session: load.CommandSession, where: str, text: str) -> str:
    assert session.opened.root is not None
    root = session.opened.root.resolve()
    target = session.opened.root / where
    folder = target.parent
    # Before any folder is made: one of them may be a link to elsewhere.
    if target.is_symlink() or not folder.resolve().is_relative_to(root):
        raise InputError(f"{where} leads out of the repository", hint="snapshots are plain files in it")
    if any(_is_gits(part) for part in (*Path(where).parts, *folder.resolve().relative_to(root).parts)):
        raise InputError(f"{where} is Git's own: no snapshot is written there", hint="choose another path")
    if target.exists() and not _is_snapshot(target):
        raise InputError(
            f"{where} exists and is no snapshot: it is not overwritten", hint="choose another path, or remove the file"
        )
    folder.mkdir(parents=True, exist_ok=True)
    files.write_atomically(target, text.encode(), mode=0o644)
    return where


def _is_gits(part: str) -> bool:
    """`.git`, `.gitattributes`, `.GIT` and the short name of file systems that have those."""
    return part.lower().startswith((".git", "git~"))


def _is_snapshot(path: Path) -> bool:
    """Whether `snapshot` may have written this file: its first line is a comment that names a test."""
    with path.open("rb") as file:
        return file.read(2) in (b"# ", b"")


def _show(cases: Sequence[Case], output: options.Output) -> None:
    if output.format in ("json", "yaml"):
        structured.echo(_document(cases), output.format)
        return
    if output.format == "name":
        for case in cases:
            if case.failed:
                click.echo(plain.clean(case.test.name))
        return
    paint = output.paint
    for case in cases if not output.quiet else ():
        mark = paint.removed("FAIL") if case.failed else paint.changed("wrote") if case.updated else paint.added("ok")
        click.echo(f"{mark}  {paint.strong(plain.clean(case.test.name))}  {plain.clean(str(case.test.origin))}")
        if case.failed and case.given:
            click.echo(f"  given {plain.clean(case.given)}")
        if case.updated:
            click.echo(f"  {plain.clean(case.updated)}")
        for text in (case.broken, *case.wrong) if case.failed else ():
            for line in text.splitlines():
                click.echo("  " + manifest_text.painted(line, paint))
    if not cases:
        click.echo("no PlacementTest in the repository", err=True)
        return
    failed = sum(1 for case in cases if case.failed)
    click.echo(f"{formatting.count(len(cases), 'test')}, {failed} failed")


def _document(cases: Sequence[Case]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "tests": [
            {
                "name": case.test.name,
                "origin": str(case.test.origin),
                "given": case.given,
                "outcome": "error" if case.broken else "failed" if case.wrong else "passed",
                "messages": [text for text in (case.broken, *case.wrong) if text],
            }
            for case in cases
        ],
        "failed": sum(1 for case in cases if case.failed),
    }
