"""Checks x-kubernetes-validations of one node of a schema: texts that say enough, rules that compile.

``rules`` runs them over objects later.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kubesim import status
from kubesim.crd import cel, golang, paths, rules, simple_path
from kubesim.status import FieldError

Schema = Mapping[str, Any]
_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")


def _breaks(text: str) -> bool:
    return "\n" in text or "\r" in text


def check_texts(schema: Schema, path: str) -> list[FieldError]:
    errors = []
    for at, rule in enumerate(schema.get("x-kubernetes-validations") or ()):
        where = paths.index(paths.child(path, "x-kubernetes-validations"), at)
        text, message, expression = (
            rule.get("rule") or "",
            rule.get("message") or "",
            rule.get("messageExpression") or "",
        )
        if not text.strip():
            errors.append(status.required(paths.child(where, "rule"), "rule is not specified"))
        elif message and not message.strip():
            errors.append(
                status.invalid_value(paths.child(where, "message"), message, "must be non-empty if specified")
            )
        elif _breaks(message.strip()):
            errors.append(status.invalid_value(paths.child(where, "message"), message, "must not contain line breaks"))
        elif _breaks(text.strip()) and not message.strip():
            detail = "message must be specified if rule contains line breaks"
            errors.append(status.required(paths.child(where, "message"), detail))
        if expression and not expression.strip():
            detail = "messageExpression must be non-empty if specified"
            errors.append(status.required(paths.child(where, "messageExpression"), detail))
        reason = rule.get("reason")
        if reason is not None and reason not in _REASONS:
            errors.append(status.not_supported(paths.child(where, "reason"), reason, _REASONS))
        errors += _field_path(schema, rule.get("fieldPath") or "", paths.child(where, "fieldPath"))
    return errors


def _field_path(schema: Schema, text: str, path: str) -> list[FieldError]:
    if not text:
        return []
    errors = []
    if not text.strip():
        errors.append(status.invalid_value(path, text, "must be non-empty if specified"))
    if _breaks(text):
        errors.append(status.invalid_value(path, text, "must not contain line breaks"))
    try:
        simple_path.find(schema, text)
    except simple_path.PathError:
        errors.append(status.invalid_value(path, text, "must be a valid path"))
    return errors


def check_programs(schema: Schema, path: str, *, root: bool, uncorrelatable: str) -> list[FieldError]:
    """The node's types must be known. ``uncorrelatable``: the path of the list or map within which ``oldSelf`` has no
    counterpart, or empty."""
    errors: list[FieldError] = []
    for at, rule in enumerate(schema.get("x-kubernetes-validations") or ()):
        where = paths.index(paths.child(path, "x-kubernetes-validations"), at)
        shown = golang.fragment(golang.rule(rule))
        try:
            compiled = rules.compile_rule({**rule, "messageExpression": ""}, schema, root=root)
        except cel.CompileError as problem:
            errors.append(status.invalid_value(paths.child(where, "rule"), shown, f"compilation failed: {problem}"))
            continue
        if compiled.program.result.name not in ("bool", "dyn"):
            errors.append(
                status.invalid_value(paths.child(where, "rule"), shown, "cel expression must evaluate to a bool")
            )
            continue
        errors += _compile_message(rule, schema, where, shown, root=root)
        if compiled.program.uses_old_self:
            if uncorrelatable:
                detail = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelatable}"
                errors.append(status.invalid_value(paths.child(where, "rule"), rule.get("rule"), detail))
        elif rule.get("optionalOldSelf") is not None:
            detail = "may not be set if oldSelf is not used in rule"
            errors.append(status.invalid_value(paths.child(where, "optionalOldSelf"), rule["optionalOldSelf"], detail))
    return errors


def _compile_message(
    rule: Mapping[str, Any], schema: Schema, where: str, shown: Any, *, root: bool
) -> list[FieldError]:
    expression = rule.get("messageExpression")
    if not expression:
        return []
    try:
        compiled = rules.compile_rule(rule, schema, root=root)
    except cel.CompileError as problem:
        detail = f"messageExpression compilation failed: {problem}"
        return [status.invalid_value(paths.child(where, "messageExpression"), shown, detail)]
    if compiled.message is not None and compiled.message.result.name not in ("string", "dyn"):
        detail = "messageExpression must evaluate to a string"
        return [status.invalid_value(paths.child(where, "messageExpression"), shown, detail)]
    return []
