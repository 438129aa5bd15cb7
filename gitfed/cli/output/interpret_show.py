"""How `gitfed interpret` prints what it found. Text is karmadactl's where karmadactl prints the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from gitfed.cli import options
from gitfed.cli.output import formatting, plain, structured
from gitfed.interpret import cases
from gitfed.interpret.registry import Interpretation, Operation, OperationInputs, Unknown
from gitfed.model.base import ObjectKey
from gitfed.offline.rule_files import Found
from gitfed.planning.objects import redact
from gitfed.text import canonical, yaml
from gitfed.text.values import dataclass
from gitfed.views import names

SCHEMA = "gitfed.io/interpretation/v1"
_RULE = "-" * 35


@dataclass(frozen=True, slots=True)
class Checked:
    document: Found
    faults: Mapping[Operation, str]
    """By operation that has a script: why it does not compile, "" if it does."""


@dataclass(frozen=True, slots=True)
class InterpretedOperation:
    operation: Operation
    inputs: OperationInputs
    answer: Interpretation[Any] | Unknown


@dataclass(frozen=True, slots=True)
class Ran:
    case: cases.InterpreterCase
    differences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Changed:
    key: ObjectKey
    operation: Operation
    inputs: OperationInputs
    before: Interpretation[Any] | Unknown
    after: Interpretation[Any] | Unknown


def checks(results: Sequence[Checked], order: Sequence[Operation], output: options.Output) -> None:
    if output.format != "text":
        structured.echo({"schema": SCHEMA, "checks": [_check(checked, order) for checked in results]}, output.format)
        return
    width = max(len(operation) for operation in order) + 1
    for checked in results:
        document = checked.document
        click.echo(_RULE)
        click.echo(f"SOURCE: {plain.clean(document.path)}")
        if document.customization is None:
            click.echo(f"{plain.clean(document.what)} is no ResourceInterpreterCustomization")
            continue
        target = document.customization.spec.target
        click.echo(f"TARGET: {target.api_version} {target.kind}")
        click.echo("RULERS:")
        for operation in order:
            click.echo(f"    {operation + ':':<{width}} {plain.clean(_verdict(checked, operation))}")
    if not results:
        click.echo("no ResourceInterpreterCustomization", err=True)


def _verdict(checked: Checked, operation: Operation) -> str:
    if operation not in checked.faults:
        return "UNSET"
    return f"ERROR: {checked.faults[operation]}" if checked.faults[operation] else "PASS"


def _check(checked: Checked, order: Sequence[Operation]) -> dict[str, Any]:
    document = checked.document
    if document.customization is None:
        return {"source": document.path, "error": f"{document.what} is no ResourceInterpreterCustomization"}
    target = document.customization.spec.target
    return {
        "source": document.path,
        "name": document.customization.metadata.name,
        "target": {"apiVersion": target.api_version, "kind": target.kind},
        "rules": {operation.value: _verdict(checked, operation) for operation in order},
    }


def answers(operations: Sequence[InterpretedOperation], output: options.Output, *, with_source: bool) -> None:
    """Results on stdout, a script's failure on stderr."""
    if output.format != "text":
        structured.echo(
            {"schema": SCHEMA, "answers": [_answer(interpreted) for interpreted in operations]}, output.format
        )
        return
    for interpreted in operations:
        if isinstance(interpreted.answer, Unknown):
            reason = redact.text_of(interpreted.inputs.object, interpreted.answer.reason)
            click.echo(f"Execute {interpreted.operation} error: {plain.clean(reason)}", err=True)
            continue
        results = _results(interpreted.operation, interpreted.answer)
        if with_source:
            click.echo(f"# {interpreted.operation}: {interpreted.answer.source}")
        for index, (name, value) in enumerate(results.items()):
            click.echo("---")
            click.echo(f"# [{index + 1}/{len(results)}] {name}:")
            click.echo(plain.clean_lines(yaml.dump(value)), nl=False)


def _answer(interpreted: InterpretedOperation) -> dict[str, Any]:
    body = interpreted.inputs.object
    about = {"operation": interpreted.operation.value, "apiVersion": body["apiVersion"], "kind": body["kind"]}
    return {**about, **_outcome(interpreted.operation, interpreted.inputs, interpreted.answer)}


def _outcome(operation: Operation, inputs: OperationInputs, answer: Interpretation[Any] | Unknown) -> dict[str, Any]:
    if isinstance(answer, Unknown):
        return {"source": answer.source, "error": redact.text_of(inputs.object, answer.reason)}
    return {"source": answer.source, "results": _results(operation, answer)}


def _results(operation: Operation, answer: Interpretation[Any]) -> dict[str, Any]:
    """By name, as they may be shown: an answer may be a Secret."""
    by_name = cases.results(operation, answer.value)
    return {name: redact.masked(value) if isinstance(value, Mapping) else value for name, value in by_name.items()}


def ran(runs: Sequence[Ran], unusable: Sequence[str], output: options.Output) -> None:
    failed = [run for run in runs if run.differences]
    if output.format != "text":
        rows = [
            {
                "path": run.case.path,
                "name": run.case.name,
                "operation": run.case.operation.value,
                "passed": not run.differences,
                "differences": list(run.differences),
            }
            for run in runs
        ]
        structured.echo({"schema": SCHEMA, "cases": rows, "unusable": list(unusable)}, output.format)
        return
    for run in failed if not output.quiet else ():
        click.echo(f"{plain.clean(run.case.path)}: {run.case.operation}, {plain.clean(run.case.name)}")
        for line in run.differences:
            click.echo(f"  {plain.clean(line)}")
    for text in unusable:
        click.echo(plain.clean(text), err=True)
    click.echo(f"{len(runs) - len(failed)} passed, {len(failed)} failed")


def changes(changed: Sequence[Changed], templates: int, output: options.Output) -> None:
    if output.format != "text":
        rows = [
            {
                "object": str(change.key),
                "operation": change.operation.value,
                **_question(change),
                "before": _outcome(change.operation, change.inputs, change.before),
                "after": _outcome(change.operation, change.inputs, change.after),
            }
            for change in changed
        ]
        structured.echo({"schema": SCHEMA, "changes": rows}, output.format)
        return
    if not changed:
        click.echo(f"no answer about {formatting.count(templates, 'template')} changes", err=True)
        return
    paint = output.paint
    for change in changed if not output.quiet else ():
        of_replicas = f" of {change.inputs.replicas}" if change.operation is Operation.REVISE else ""
        click.echo(f"{names.shown(change.key)}  {change.operation}{of_replicas}")
        before, after = _parts(change, change.before), _parts(change, change.after)
        for name in dict.fromkeys([*before, *after]):
            if before.get(name) != after.get(name):
                click.echo(paint.removed(f"  - {name}: {plain.clean(before.get(name, 'none'))}"), color=True)
                click.echo(paint.added(f"  + {name}: {plain.clean(after.get(name, 'none'))}"), color=True)
    objects = len({change.key for change in changed})
    affected = f"{formatting.count(objects, 'template')} of {templates}"
    click.echo(f"{formatting.count(len(changed), 'answer')} about {affected} change")


def _question(change: Changed) -> dict[str, Any]:
    return {"replicas": change.inputs.replicas} if change.operation is Operation.REVISE else {}


def _parts(change: Changed, answer: Interpretation[Any] | Unknown) -> Mapping[str, str]:
    if isinstance(answer, Unknown):
        return {"error": redact.text_of(change.inputs.object, answer.reason)}
    return {name: canonical.dumps(value).decode() for name, value in _results(change.operation, answer).items()}
