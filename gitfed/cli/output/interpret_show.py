"""How `gitfed interpret` prints what it found. Text is karmadactl's where karmadactl prints the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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


def checks(found: Sequence[Checked], order: Sequence[Operation], output: options.Output) -> None:
    if output.format != "text":
        structured.echo({"schema": SCHEMA, "checks": [_check(one, order) for one in found]}, output.format)
        return
    width = max(len(operation) for operation in order) + 1
    for one in found:
        document = one.document
        click.echo(_RULE)
        click.echo(f"SOURCE: {plain.clean(document.path)}")
        if document.customization is None:
            click.echo(f"{plain.clean(document.what)} is no ResourceInterpreterCustomization")
            continue
        target = document.customization.spec.target
        click.echo(f"TARGET: {target.api_version} {target.kind}")
        click.echo("RULERS:")
        for operation in order:
            click.echo(f"    {operation + ':':<{width}} {plain.clean(_verdict(one, operation))}")
    if not found:
        click.echo("no ResourceInterpreterCustomization", err=True)


def _verdict(one: Checked, operation: Operation) -> str:
    if operation not in one.faults:
        return "UNSET"
    return f"ERROR: {one.faults[operation]}" if one.faults[operation] else "PASS"


def _check(one: Checked, order: Sequence[Operation]) -> dict[str, Any]:
    document = one.document
    if document.customization is None:
        return {"source": document.path, "error": f"{document.what} is no ResourceInterpreterCustomization"}
    target = document.customization.spec.target
    return {
        "source": document.path,
        "name": document.customization.metadata.name,
        "target": {"apiVersion": target.api_version, "kind": target.kind},
        "rules": {operation.value: _verdict(one, operation) for operation in order},
    }


def answers(found: Sequence[InterpretedOperation], output: options.Output, *, with_source: bool) -> None:
    """Results on stdout, a script's failure on stderr."""
    if output.format != "text":
        structured.echo({"schema": SCHEMA, "answers": [_answer(one) for one in found]}, output.format)
        return
    for one in found:
        if isinstance(one.answer, Unknown):
            reason = redact.text_of(one.inputs.object, one.answer.reason)
            click.echo(f"Execute {one.operation} error: {plain.clean(reason)}", err=True)
            continue
        results = _results(one.operation, one.answer)
        if with_source:
            click.echo(f"# {one.operation}: {one.answer.source}")
        for index, (name, value) in enumerate(results.items()):
            click.echo("---")
            click.echo(f"# [{index + 1}/{len(results)}] {name}:")
            click.echo(plain.clean_lines(yaml.dump(value)), nl=False)


def _answer(one: InterpretedOperation) -> dict[str, Any]:
    body = one.inputs.object
    about = {"operation": one.operation.value, "apiVersion": body["apiVersion"], "kind": body["kind"]}
    return {**about, **_given(one.operation, one.inputs, one.answer)}


def _given(operation: Operation, inputs: OperationInputs, answer: Interpretation[Any] | Unknown) -> dict[str, Any]:
    if isinstance(answer, Unknown):
        return {"source": answer.source, "error": redact.text_of(inputs.object, answer.reason)}
    return {"source": answer.source, "results": _results(operation, answer)}


def _results(operation: Operation, answer: Interpretation[Any]) -> dict[str, Any]:
    """By name, as they may be shown: an answer may be a Secret."""
    found = cases.results(operation, answer.value)
    return {name: redact.masked(value) if isinstance(value, Mapping) else value for name, value in found.items()}


def ran(found: Sequence[Ran], unusable: Sequence[str], output: options.Output) -> None:
    failed = [one for one in found if one.differences]
    if output.format != "text":
        rows = [
            {
                "path": one.case.path,
                "name": one.case.name,
                "operation": one.case.operation.value,
                "passed": not one.differences,
                "differences": list(one.differences),
            }
            for one in found
        ]
        structured.echo({"schema": SCHEMA, "cases": rows, "unusable": list(unusable)}, output.format)
        return
    for one in failed if not output.quiet else ():
        click.echo(f"{plain.clean(one.case.path)}: {one.case.operation}, {plain.clean(one.case.name)}")
        for line in one.differences:
            click.echo(f"  {plain.clean(line)}")
    for text in unusable:
        click.echo(plain.clean(text), err=True)
    click.echo(f"{len(found) - len(failed)} passed, {len(failed)} failed")


def changes(found: Sequence[Changed], templates: int, output: options.Output) -> None:
    if output.format != "text":
        rows = [
            {
                "object": str(one.key),
                "operation": one.operation.value,
                **_question(one),
                "before": _given(one.operation, one.inputs, one.before),
                "after": _given(one.operation, one.inputs, one.after),
            }
            for one in found
        ]
        structured.echo({"schema": SCHEMA, "changes": rows}, output.format)
        return
    if not found:
        click.echo(f"no answer about {formatting.count(templates, 'template')} changes", err=True)
        return
    paint = output.paint
    for one in found if not output.quiet else ():
        asked = f" of {one.inputs.replicas}" if one.operation is Operation.REVISE else ""
        click.echo(f"{names.shown(one.key)}  {one.operation}{asked}")
        before, after = _parts(one, one.before), _parts(one, one.after)
        for name in dict.fromkeys([*before, *after]):
            if before.get(name) != after.get(name):
                click.echo(paint.removed(f"  - {name}: {plain.clean(before.get(name, 'none'))}"), color=True)
                click.echo(paint.added(f"  + {name}: {plain.clean(after.get(name, 'none'))}"), color=True)
    objects = len({one.key for one in found})
    click.echo(
        f"{formatting.count(len(found), 'answer')} about {formatting.count(objects, 'template')} of {templates} change"
    )


def _question(one: Changed) -> dict[str, Any]:
    return {"replicas": one.inputs.replicas} if one.operation is Operation.REVISE else {}


def _parts(one: Changed, answer: Interpretation[Any] | Unknown) -> Mapping[str, str]:
    if isinstance(answer, Unknown):
        return {"error": redact.text_of(one.inputs.object, answer.reason)}
    return {name: canonical.dumps(value).decode() for name, value in _results(one.operation, answer).items()}
