"""`gitfed interpret --edit`: all scripts of a customization in one Lua text, in an editor, and back into the file.

The text is karmadactl's: lines `---@name:`, `---@apiVersion:`, `---@kind:`, then `---@rule: <operation>` before each
script. Lines that begin with `--- ` explain and are dropped; comments of scripts stay. A section without a script has
no rule. The file is written anew as canonical YAML, so comments around the scripts are lost, and that is said.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

import click

from gitfed.cli import load
from gitfed.errors import InputError, UsageError
from gitfed.interpret.registry import Operation
from gitfed.interpret.scripted import FUNCTIONS
from gitfed.model.declared.interpreter import ResourceInterpreterCustomization
from gitfed.offline import rule_files
from gitfed.reading import interpreters
from gitfed.text.values import dataclass

_MARK = "---@"
_DOC = "---"
_EXPLAINED: Mapping[Operation, tuple[str, str]] = {
    Operation.RETAIN: ("desiredObj, observedObj", "the object to write: desiredObj with what belongs to the cluster"),
    Operation.REPLICA: ("desiredObj", "how many replicas, and what one of them asks for (a table or nil)"),
    Operation.COMPONENT: ("desiredObj", "a list of {name, replicas, replicaRequirements}"),
    Operation.REVISE: ("desiredObj, desiredReplica", "desiredObj with that many replicas"),
    Operation.STATUS: ("observedObj", "what of its status is worth collecting"),
    Operation.AGGREGATE: ("desiredObj, statusItems", "desiredObj with the status of all copies taken together"),
    Operation.HEALTH: ("observedObj", "true or false"),
    Operation.DEPENDENCY: ("desiredObj", "a list of {apiVersion, kind, namespace, name}"),
}


@dataclass(slots=True)
class Edited:
    """What stands in the text."""

    name: str = ""
    api_version: str = ""
    kind: str = ""
    scripts: dict[Operation, str] = field(default_factory=dict)


def edit(filenames: Sequence[str], order: Sequence[Operation], *, show_doc: bool) -> None:
    """Raises UsageError, InputError; nothing is written unless every script compiles."""
    if len(filenames) != 1 or not Path(filenames[0]).is_file():
        raise UsageError("--edit takes one file", hint="-f FILE")
    path = Path(filenames[0])
    rules = rule_files.read(filenames, recursive=False)
    load.tell(rules.problems)
    if len(rules.customizations) != 1:
        raise InputError(
            f"{path}: one ResourceInterpreterCustomization is wanted, there are {len(rules.customizations)}"
        )
    before = text_of(rules.customizations[0], order, show_doc=show_doc)
    editor = os.environ.get("KUBE_EDITOR") or os.environ.get("EDITOR") or "vi"
    after = click.edit(before, editor=editor, extension=".lua", require_save=False)
    if after is None or after == before:
        load.note("nothing was changed")
        return
    try:
        edited = read(after)
        _check(edited)
        rule_files.rewrite(path, _applied(edited))
    except InputError as error:
        with tempfile.NamedTemporaryFile("w", suffix=".lua", delete=False, encoding="utf-8") as kept:
            kept.write(after)
        raise InputError(f"{path} was not changed: {error.message}", hint=f"your text is in {kept.name}") from error
    load.note(f"{path} is written anew; comments around the scripts are gone")


def text_of(customization: ResourceInterpreterCustomization, order: Sequence[Operation], *, show_doc: bool) -> str:
    """All scripts as one text."""
    target = customization.spec.target
    lines = [f"{_MARK}name: {customization.metadata.name}", f"{_MARK}apiVersion: {target.api_version}"]
    lines.append(f"{_MARK}kind: {target.kind}")
    for operation in order:
        lines += ["", f"{_MARK}rule: {operation}"]
        if show_doc:
            arguments, gives = _EXPLAINED[operation]
            lines.append(f"{_DOC} function {FUNCTIONS[operation]}({arguments}) returns {gives}")
        if script := customization.script(operation.value).rstrip("\n"):
            lines.append(script)
    return "\n".join(lines) + "\n"


def read(text: str) -> Edited:
    """Raises InputError with the line."""
    edited = Edited()
    script: list[str] | None = None
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith(_MARK):
            name, colon, value = line.removeprefix(_MARK).partition(":")
            value = value.strip()
            match name.strip() if colon else "":
                case "name":
                    edited.name = value
                case "apiVersion":
                    edited.api_version = value
                case "kind":
                    edited.kind = value
                case "rule":
                    operation = next((candidate for candidate in Operation if candidate.value == value), None)
                    if operation is None or operation in edited.scripts:
                        raise InputError(
                            f"line {number}: {value!r} is {'unknown' if operation is None else 'there twice'}"
                        )
                    edited.scripts[operation] = ""
                    script = []
                case _:
                    raise InputError(f"line {number}: {line!r} is neither name, apiVersion, kind nor rule")
        elif not line.startswith(_DOC):
            if script is None and line.strip():
                raise InputError(f"line {number}: a script stands before any rule")
            if script is not None:
                script.append(line)
                edited.scripts[operation] = "\n".join(script).strip("\n")  # type: ignore[index]
    for what, value in (("name", edited.name), ("apiVersion", edited.api_version), ("kind", edited.kind)):
        if not value:
            raise InputError(f"{_MARK}{what}: is missing")
    edited.scripts = {doing: script for doing, script in edited.scripts.items() if script.strip()}
    return edited


def _check(edited: Edited) -> None:
    for operation, text in edited.scripts.items():
        if fault := interpreters.fault_of(edited.name, text):
            raise InputError(f"{operation}: {fault}")


def _applied(edited: Edited) -> Any:
    """What makes a document of what was edited."""

    def apply(document: dict[str, Any]) -> dict[str, Any]:
        rules = {
            ResourceInterpreterCustomization.path_of(doing.value)[2]: {"luaScript": script + "\n"}
            for doing, script in edited.scripts.items()
        }
        target = {"apiVersion": edited.api_version, "kind": edited.kind}
        metadata = {**document["metadata"], "name": edited.name}
        return {
            **document,
            "metadata": metadata,
            "spec": {**document["spec"], "target": target, "customizations": rules},
        }

    return apply
