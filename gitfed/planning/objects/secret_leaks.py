"""Where the value of a Secret stands in the open: in an argument, an environment variable, a ConfigMap, an annotation.

Kubernetes keeps only Secrets from those who may not read them, and so whoever writes a password into a Deployment shows
it to all who may see Deployments. gitfed masks such copies wherever it shows differences, refusals and reviews
(`redact.Hidden`), because it knows the Secrets; `render` prints the manifests as clusters get them. So the copy itself
has to be told of.

Only long values count: a user's name or the word `postgres` is in many Secrets and in many images. Of a whole file in a
Secret only what is secret in it counts: `"datasources": [` is in many other files, too, and a certificate is for all.
"""

from __future__ import annotations

import base64
import binascii
import re
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
_PUBLIC = re.compile(r"-----BEGIN (CERTIFICATE|PUBLIC KEY)-----.*?-----END \1-----", re.DOTALL)
_NO_SECRET = re.compile(
    r"(.*[-_.])?(user(name)?|host(name)?|endpoint|server|port|region|bucket|database|db(name)?|e?mail|namespace|name)",
    re.IGNORECASE,
)
"""Names of members that say where and as whom, and not by what right."""
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#@\s]+/?", re.IGNORECASE)
"""A server and nothing else; a path may be a token (webhooks of chats)."""
_PLACEHOLDER = re.compile(r"\$\{[^}]*\}|\$\([^)]*\)|<[^>]*>|\{\{.*\}\}")
_IN_A_FILE = (
    re.compile(
        r"""(?:pass(?:word|wd|phrase)?|pwd|token|client[-_]?secret|(?:api|access|secret|private)[-_]?key)["']?"""
        r"""[ \t]*[:=][ \t]*["']?([^\s"',;}$<{][^\s"',;}]*)""",
        re.IGNORECASE,
    ),
    re.compile(r"://[^/\s:@]*:([^/\s@]+)@"),
    re.compile(r"(?<![\w+/=-])((?=[\w+/=-]*[0-9])(?=[\w+/=-]*[a-z])(?=[\w+/=-]*[A-Z])[\w+/=-]{20,4096})(?![\w+/=-])"),
)
"""What is assigned to something that sounds secret, the password of an address, and what nobody thinks of himself."""


def check(repo: RepoSnapshot, at: Callable[[Manifest, _Path], Origin]) -> Iterator[Problem]:
    """One warning for each copy; `at` tells where a field of a manifest stands."""
    owners: dict[str, ObjectKey] = {}
    for key, manifest in repo.manifests.items():
        for form in _forms(manifest.body) if redact.is_secret(manifest.body) else ():
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


def _forms(body: Body) -> Iterator[str]:
    """What is secret in a Secret, as it may stand elsewhere."""
    for member in ("data", "stringData"):
        values = body.get(member)
        for name, value in values.items() if isinstance(values, Mapping) else ():
            text = _plain(value) if member == "data" else value
            if (
                not isinstance(text, str)
                or _NO_SECRET.fullmatch(name)
                or not (inner := (text := _PUBLIC.sub("", text)).strip())
            ):
                continue
            if "\n" in inner:
                secrets = [text, inner, *(secret for pattern in _IN_A_FILE for secret in pattern.findall(text))]
            else:
                secrets = [] if _ADDRESS.fullmatch(inner) or _PLACEHOLDER.fullmatch(inner) else [text, inner]
            for secret in secrets:
                yield from redact.quoted(secret)


def _plain(value: Any) -> Any:
    """What a member of `data` encodes; as it is, where it is not base64 of a text."""
    try:
        return base64.b64decode(value, validate=True).decode()
    except (binascii.Error, ValueError, TypeError):
        return value


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
    if not any(change.write.diff for change in plan.changes or ()):
        return plan
    hidden = hidden_of(plan)
    return replace(plan, changes=tuple(without(change, hidden) for change in plan.changes or ()))


def hidden_of(plan: Plan) -> redact.Hidden:
    """What the Secrets of a plan hold."""
    return redact.Hidden(_secrets(plan))


def without(change: Change, hidden: redact.Hidden) -> Change:
    """The change with nothing in its differences that Secrets hold."""
    if not change.write.diff:
        return change
    fields = (
        replace(difference, before=hidden.value(difference.before), after=hidden.value(difference.after))
        for difference in change.write.diff
    )
    return replace(change, write=replace(change.write, diff=tuple(fields)))


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
