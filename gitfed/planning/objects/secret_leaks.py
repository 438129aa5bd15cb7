"""Where the value of a Secret stands in the open: in an argument, an environment variable, a ConfigMap, an annotation.

Kubernetes keeps only Secrets from those who may not read them, and so whoever writes a password into a Deployment shows
it to all who may see Deployments. gitfed masks such copies wherever it shows differences, refusals and reviews
(`redact.Hidden`), because it knows the Secrets; `render` prints the manifests as clusters get them. So the copy itself
has to be told of.

Only long values count: a user's name or the word `postgres` is in many Secrets and in many images.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from gitfed.model.base import Body, ObjectKey, Origin, Problem, Severity
from gitfed.model.plan import Change, Plan
from gitfed.model.repo import Manifest, RepoSnapshot
from gitfed.planning.objects import redact

_Path = tuple[str | int, ...]
_LONG = 12
"""Characters from which a copy is told of."""


def check(repo: RepoSnapshot, at: Callable[[Manifest, _Path], Origin]) -> Iterator[Problem]:
    """One warning for each copy; `at` tells where a field of a manifest stands."""
    owners: dict[str, ObjectKey] = {}
    for key, manifest in repo.manifests.items():
        for form in redact.secrets_of(manifest.body):
            if len(form) >= _LONG:
                owners.setdefault(form, key)
    if not owners:
        return
    hidden = redact.Hidden.of(owners)
    for manifest in repo.manifests.values():
        if not redact.is_secret(manifest.body):
            for path, form in _copies(manifest, hidden):
                owner = owners[form]
                message = f"{'.'.join(map(str, path))} holds a value of {owner} in the open"
                yield Problem(
                    at(manifest, path), message, "refer to the Secret instead of copying it", Severity.WARNING
                )


def _copies(manifest: Manifest, hidden: redact.Hidden) -> Iterator[tuple[_Path, str]]:
    todo: list[tuple[_Path, Any]] = [((), manifest.body)]
    while todo:
        path, value = todo.pop()
        if isinstance(value, str):
            if (form := hidden.first(value)) is not None:
                yield path, form
        elif isinstance(value, Mapping):
            todo += [((*path, name), member) for name, member in value.items()]
        elif isinstance(value, list):
            todo += [((*path, index), item) for index, item in enumerate(value)]


def masked(plan: Plan) -> Plan:
    """The plan with such copies masked in its differences; those of Secrets themselves are masked already."""
    if not any(change.diff for change in plan.changes or ()):
        return plan
    hidden = hidden_of(plan)
    return replace(plan, changes=tuple(without(change, hidden) for change in plan.changes or ()))


def hidden_of(plan: Plan) -> redact.Hidden:
    """What the Secrets of a plan hold."""
    return redact.Hidden(_secrets(plan))


def without(change: Change, hidden: redact.Hidden) -> Change:
    """The change with nothing in its differences that Secrets hold."""
    if not change.diff:
        return change
    fields = (replace(one, before=hidden.value(one.before), after=hidden.value(one.after)) for one in change.diff)
    return replace(change, diff=tuple(fields))


def _secrets(plan: Plan) -> Iterator[Body]:
    """As they are rendered, and as they are in clusters."""
    yield from rendered_secrets(plan)
    for change in plan.changes or ():
        if change.live is not None and change.live.body is not None and redact.is_secret(change.live.body):
            yield change.live.body


def rendered_secrets(plan: Plan) -> Iterator[Body]:
    for key, classes in plan.rendered.items():
        if is_secret_key(key):
            yield from (rendered.body for rendered in classes)


def is_secret_key(key: ObjectKey) -> bool:
    return key.kind == "Secret" and not key.group
