"""When a Job has succeeded or failed: completion modes, policies, and what its status may say.

Kubernetes: validatePodFailurePolicy, validateSuccessPolicy, validateJobStatus.
"""

from __future__ import annotations

from typing import Final

from kubesim.kinds import fields, formats, pod_defaults
from kubesim.kinds.fields import Body, Errors
from kubesim.status import FieldError

_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
_STATES: Final = ("False", "True", "Unknown")
_INDEXED_ONLY: Final = "requires indexed completion mode"
_MANY: Final = 100_000


def default(policy: Body) -> Body:
    def rule(one: Body) -> Body:
        return pod_defaults.each(one, "onPodConditions", lambda pattern: pod_defaults.fill(pattern, status="True"))

    return pod_defaults.each(policy, "rules", rule)


def _values(*names: str) -> str:
    return "valid values: [" + " ".join(f'"{name}"' for name in names) + "]"


def completion(spec: Body, path: str) -> Errors:
    """Complaints about the mode of completion and what depends on it."""
    mode = spec.get("completionMode")
    count, parallel = spec.get("completions"), spec.get("parallelism") or 0
    per_index, failed = spec.get("backoffLimitPerIndex"), spec.get("maxFailedIndexes")
    errors: Errors = []
    if mode is not None and mode not in ("NonIndexed", "Indexed"):
        errors += fields.unsupported(f"{path}.completionMode", mode, "NonIndexed", "Indexed")
    if mode == "Indexed":
        if count is None:
            errors += fields.required(f"{path}.completions", "when completion mode is Indexed")
        if parallel > _MANY:
            text = f"must be less than or equal to {_MANY} when completion mode is Indexed"
            errors += fields.invalid(f"{path}.parallelism", parallel, text)
        if failed is not None and count is not None and failed > count:
            errors += fields.invalid(f"{path}.maxFailedIndexes", failed, "must be less than or equal to completions")
        if failed is not None and failed > _MANY:
            errors += fields.invalid(f"{path}.maxFailedIndexes", failed, f"must be less than or equal to {_MANY}")
        if (count or 0) > _MANY and per_index is not None:
            errors += _very_many(path, parallel, failed)
    if mode in (None, "NonIndexed"):
        for key in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(key) is not None:
                errors += fields.invalid(f"{path}.{key}", spec[key], _INDEXED_ONLY)
    return errors


def _very_many(path: str, parallel: int, failed: int | None) -> Errors:
    text = (
        f"must be less than or equal to 10000 when completions are above {_MANY} and used with backoff limit per index"
    )
    errors: Errors = []
    if failed is None:
        errors += fields.required(f"{path}.maxFailedIndexes", f"must be specified when completions is above {_MANY}")
    errors += fields.invalid(f"{path}.parallelism", parallel, text) if parallel > 10_000 else []
    return errors + (fields.invalid(f"{path}.maxFailedIndexes", failed, text) if (failed or 0) > 10_000 else [])


def failure(spec: Body, path: str) -> Errors:
    """Complaints about the policy for failed pods."""
    policy = spec.get("podFailurePolicy")
    rules = fields.items(policy, "rules")
    errors = fields.too_many(f"{path}.rules", len(rules), 20) if len(rules) > 20 else []
    pod = fields.obj(spec, "template", "spec")
    names = {fields.text(one, "name") for key in ("containers", "initContainers") for one in fields.items(pod, key)}
    for at, rule in enumerate(rules):
        here = f"{path}.rules[{at}]"
        action = fields.text(rule, "action")
        if not action:
            errors += fields.required(f"{here}.action", _values(*_ACTIONS))
        elif action == "FailIndex":
            if spec.get("backoffLimitPerIndex") is None:
                errors += fields.invalid(f"{here}.action", action, "requires the backoffLimitPerIndex to be set")
        elif action not in _ACTIONS:
            errors += fields.unsupported(f"{here}.action", action, *_ACTIONS)
        codes, conditions = rule.get("onExitCodes"), fields.items(rule, "onPodConditions")
        errors += _exit_codes(codes, f"{here}.onExitCodes", names) if codes is not None else []
        errors += _conditions(conditions, f"{here}.onPodConditions")
        if (codes is not None) == bool(conditions):
            word = "both OnExitCodes and OnPodConditions is not supported"
            word = word if conditions else "one of OnExitCodes and OnPodConditions is required"
            errors.append(FieldError("Invalid value", here, f"specifying {word}"))
    return errors


def _exit_codes(codes: Body, path: str, names: set[str]) -> Errors:
    operator, values = fields.text(codes, "operator"), fields.items(codes, "values")
    errors: Errors = []
    if not operator:
        errors += fields.required(f"{path}.operator", _values("In", "NotIn"))
    elif operator not in ("In", "NotIn"):
        errors += fields.unsupported(f"{path}.operator", operator, "In", "NotIn")
    name = codes.get("containerName")
    if name is not None and name not in names:
        text = "must be one of the container or initContainer names in the pod template"
        errors += fields.invalid(f"{path}.containerName", name, text)
    if not values:
        errors += fields.invalid(f"{path}.values", codes.get("values"), "at least one value is required")
    elif len(values) > 255:
        errors += fields.too_many(f"{path}.values", len(values), 255)
    for at, value in enumerate(values):
        if operator == "In" and value == 0:
            errors += fields.invalid(f"{path}.values[{at}]", value, "must not be 0 for the In operator")
        errors += fields.duplicate(f"{path}.values[{at}]", value) if value in values[:at] else []
    return errors + (fields.invalid(f"{path}.values", values, "must be ordered") if values != sorted(values) else [])


def _conditions(patterns: list[Body], path: str) -> Errors:
    errors = fields.too_many(path, len(patterns), 20) if len(patterns) > 20 else []
    for at, pattern in enumerate(patterns):
        kind, state = fields.text(pattern, "type"), fields.text(pattern, "status")
        errors += fields.invalid(f"{path}[{at}].type", kind, *formats.qualified_name(kind))
        if not state:
            errors += fields.required(f"{path}[{at}].status", _values(*_STATES))
        elif state not in _STATES:
            errors += fields.unsupported(f"{path}[{at}].status", state, *_STATES)
    return errors


def replacement(spec: Body, path: str) -> Errors:
    """Complaints about when a pod is replaced."""
    policy = spec.get("podReplacementPolicy")
    if policy is None:
        return []
    if spec.get("podFailurePolicy") is not None:
        return [] if policy == "Failed" else fields.unsupported(path, policy, "Failed")
    choices = ("Failed", "TerminatingOrFailed")
    return [] if policy in choices else fields.unsupported(path, policy, *choices)


def success(spec: Body, path: str) -> Errors:
    """Complaints about the policy for early success."""
    policy = spec.get("successPolicy")
    if policy is None:
        return []
    if spec.get("completionMode") != "Indexed":
        shown = [
            {"SucceededIndexes": rule.get("succeededIndexes"), "SucceededCount": rule.get("succeededCount")}
            for rule in fields.items(policy, "rules")
        ]
        return fields.invalid(path, {"Rules": shown or None}, _INDEXED_ONLY)
    rules = fields.items(policy, "rules")
    errors: Errors = []
    if not rules:
        text = "at least one rules must be specified when the successPolicy is specified"
        errors += fields.required(f"{path}.rules", text)
    errors += fields.too_many(f"{path}.rules", len(rules), 20) if len(rules) > 20 else []
    for at, rule in enumerate(rules):
        errors += _success_rule(rule, f"{path}.rules[{at}]", spec.get("completions") or 0)
    return errors


def _success_rule(rule: Body, path: str, completions: int) -> Errors:
    count, listed = rule.get("succeededCount"), rule.get("succeededIndexes")
    if count is None and listed is None:
        return fields.required(path, "at least one of succeededCount or succeededIndexes must be specified")
    errors: Errors = []
    total = 0
    if listed is not None:
        try:
            total = indexes(listed, completions)
        except ValueError as problem:
            errors += fields.invalid(f"{path}.succeededIndexes", listed, f"error parsing succeededIndexes: {problem}")
    if count is not None:
        where = f"{path}.succeededCount"
        errors += fields.non_negative(where, count)
        if count > completions:
            text = f"must be less than or equal to {completions} (the number of specified completions)"
            errors += fields.invalid(where, count, text)
        if listed is not None and count > total:
            text = (
                f"must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
            )
            errors += fields.invalid(where, count, text)
    return errors


def indexes(text: str, completions: int) -> int:
    """How many indexes the text (`1,3-5`) lists. Raises `ValueError` in the server's words."""
    total, last = 0, -1
    for part in text.split(",") if text else []:
        ends = part.split("-")
        if len(ends) > 2:
            raise ValueError(
                f'the fragment "{part}" violates the requirement that an index interval can have at most two parts'
                " separated by '-'"
            )
        numbers = []
        for end in ends:
            if not end.removeprefix("+").isdecimal():
                raise ValueError(f'cannot convert string to integer for index: "{end}"')
            if int(end) >= completions:
                raise ValueError(f'too large index: "{end}"')
            numbers.append(int(end))
        first, final = numbers[0], numbers[-1]
        if len(numbers) == 2 and first >= final:
            raise ValueError(f"non-increasing order, previous: {first}, current: {final}")
        if last >= first:
            raise ValueError(f"non-increasing order, previous: {last}, current: {first}")
        total, last = total + final - first + 1, final
    return total


def status(new: Body, old: Body) -> Errors:
    """Complaints about a change of a Job's status: it may not contradict itself, nor take an end back."""
    found, before = fields.obj(new, "status"), fields.obj(old, "status")
    path = "status.conditions"
    errors: Errors = []
    for key in ("active", "succeeded", "failed", "ready", "terminating"):
        errors += fields.non_negative(f"status.{key}", found.get(key))
    met, was_met = _met(found), _met(before)
    clashes = (
        ({"Complete", "Failed"} <= met, "cannot set Complete=True and Failed=true conditions"),
        ({"Complete", "FailureTarget"} <= met, "cannot set Complete=True and FailureTarget=true conditions"),
    )
    errors += [FieldError("Invalid value", path, text) for broken, text in clashes if broken]
    errors += _times(found, before, met, fields.obj(new, "spec"))
    missing = (
        (
            "Failed" in met and "FailureTarget" not in met,
            "Failed=True condition without the FailureTarget=true condition",
        ),
        (
            "Complete" in met and "SuccessCriteriaMet" not in met,
            "Complete=True condition without the SuccessCriteriaMet=true condition",
        ),
    )
    # Only a change of state is held to the newer conditions, so that old Jobs can still be written.
    if met != was_met:
        errors += [FieldError("Invalid value", path, f"cannot set {text}") for broken, text in missing if broken]
    ended = bool(met & {"Complete", "Failed"})
    if ended and (found.get("active") or 0) > 0:
        errors += fields.invalid("status.active", found["active"], "active>0 is invalid for finished job")
    if ended and found.get("startTime") is None:
        errors += fields.required("status.startTime", "startTime is required for finished job")
    if found.get("ready") is not None and found["ready"] > (found.get("active") or 0):
        errors += fields.invalid("status.ready", found["ready"], "cannot set more ready pods than active")
    for kind in ("Failed", "Complete", "FailureTarget"):
        if kind in was_met - met:
            text = f"cannot disable the terminal {kind}=True condition"
            errors.append(FieldError("Invalid value", path, text))
    for key in ("failed", "succeeded"):
        if (found.get(key) or 0) < (before.get(key) or 0):
            errors += fields.invalid(f"status.{key}", found.get(key) or 0, f"cannot decrease the {key} counter")
    if "SuccessCriteriaMet" in was_met - met:
        text = "cannot disable the SuccessCriteriaMet=True condition"
        errors.append(FieldError("Invalid value", path, text))
    return errors


def _met(found: Body) -> set[str]:
    return {fields.text(one, "type") for one in fields.items(found, "conditions") if one.get("status") == "True"}


def _times(found: Body, before: Body, met: set[str], spec: Body) -> Errors:
    start, end = found.get("startTime"), found.get("completionTime")
    path = "status.completionTime"
    errors: Errors = []
    if end is not None and "Complete" not in met:
        errors += fields.invalid(path, end, "cannot set completionTime when there is no Complete=True condition")
    if end is None and "Complete" in met:
        errors += fields.required(path, "completionTime is required for Complete jobs")
    if start is not None and end is not None and end < start:
        errors += fields.invalid(path, end, "must be equal to or after `startTime`")
    if before.get("completionTime") not in (None, end) and end is not None:
        errors += fields.invalid(path, end, "field is immutable")
    if before.get("startTime") not in (None, start) and not spec.get("suspend"):
        errors += fields.invalid("status.startTime", start, "field is immutable for unsuspended job once set")
    return errors
