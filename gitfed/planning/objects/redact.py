"""Secrets must not leave: not in a diff, not in an error, not base64-encoded, not in an annotation that kubectl left.

Masking happens here, where diffs and texts are made, and not where they are printed: whoever prints has nothing to
hide any more. What a Secret holds is masked whatever its type, with marks that still show on which side a value was.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from gitfed.model.base import Body, group_of
from gitfed.model.keys import LAST_APPLIED
from gitfed.text.pointer import Pointer

MASK = "***"
BEFORE = "*** (before)"
AFTER = "*** (after)"
_SHORT = 4
"""A value shorter than this is part of many innocent words: it is masked only where it stands alone."""
_LONG_LINE = 8
_TELLING = 6
"""A shorter value is left in texts about other objects."""
_WORD = 8


def is_secret(body: Body) -> bool:
    return body.get("kind") == "Secret" and not group_of(body.get("apiVersion") or "")


def hides(body: Body, place: Pointer) -> bool:
    """Whether the value at `place` of this object must not be shown."""
    if not is_secret(body):
        return False
    return place[:1] in (("data",), ("stringData",)) or (
        place[:2] == ("metadata", "annotations") and (len(place) == 2 or place[2] == LAST_APPLIED)
    )


def masked(body: Body) -> Body:
    """A Secret with every value replaced; other objects as they are."""
    if not is_secret(body):
        return body
    result = dict(body)
    for member in ("data", "stringData"):
        if isinstance(body.get(member), Mapping):
            result[member] = dict.fromkeys(body[member], MASK)
    metadata = body.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    if LAST_APPLIED in annotations:
        shown = {name: MASK if name == LAST_APPLIED else value for name, value in annotations.items()}
        result["metadata"] = {**metadata, "annotations": shown}
    return result


def text_of(body: Body, text: str) -> str:
    """A text about `body` (an API server quotes what it refuses) without any value that the Secret holds."""
    return redact_text(text, secrets_of(body))


def secrets_of(body: Body) -> frozenset[str]:
    """Every value of a Secret in the forms it could be quoted in. Empty for other objects."""
    return frozenset(form for value in _values(body) for form in _forms(value)) if is_secret(body) else frozenset()


def redact_text(text: str, secrets: Iterable[str]) -> str:
    """`text` with all `secrets` masked, longer ones first, so that none is left over as the rest of another."""
    for secret in sorted(secrets, key=lambda secret: (-len(secret), secret)):
        if len(secret) >= _SHORT:
            text = text.replace(secret, MASK)
        elif secret:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", MASK, text)
    return text


class Hidden:
    """What Secrets hold, for texts about other objects: a value that was copied into an argument, an environment
    variable, a ConfigMap or an annotation is the same secret there.

    Short values are left: to mask every `true`, `8080` or `admin` of a manifest would say what the Secret holds and
    make the text unreadable. Values below `_WORD` characters are masked only where they stand alone, so that nothing is
    cut out of a common word.
    """

    def __init__(self, bodies: Iterable[Body]) -> None:
        self._bodies = tuple(bodies)
        self._named: frozenset[str] = frozenset()

    @classmethod
    def of(cls, forms: Iterable[str]) -> Hidden:
        """For values in forms that are known already."""
        hidden = cls(())
        hidden._named = frozenset(forms)
        return hidden

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        secrets = {form for body in self._bodies for form in secrets_of(body)} | self._named
        forms = {form for form in secrets if len(form) >= _TELLING}
        parts = [
            re.escape(form) if len(form) >= _WORD else rf"(?<!\w){re.escape(form)}(?!\w)"
            for form in sorted(forms, key=lambda form: (-len(form), form))
        ]
        return re.compile("|".join(parts)) if parts else None

    def first(self, text: str) -> str | None:
        """The first hidden value in a text, in the form it has there."""
        match = self._pattern.search(text) if self._pattern is not None else None
        return match[0] if match is not None else None

    def text(self, text: str) -> str:
        return self._pattern.sub(MASK, text) if self._pattern is not None else text

    def value(self, value: Any) -> Any:
        """The same in every text inside a JSON value."""
        if self._pattern is None:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {name: self.value(member) for name, member in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        return value


def declared(body: Body) -> Body:
    """A declared object as it may be shown: an override that may write into a Secret shows no value for its data."""
    spec = body.get("spec")
    if body.get("kind") not in ("OverridePolicy", "ClusterOverridePolicy") or not isinstance(spec, Mapping):
        return body
    selectors = spec.get("resourceSelectors") or ()
    if selectors and not any(selector.get("kind") == "Secret" for selector in selectors):
        return body
    return {**body, "spec": _without_values(spec)}


def _without_values(value: Any) -> Any:
    if isinstance(value, Mapping):
        shown = {name: _without_values(member) for name, member in value.items()}
        if shown.get("value") is not None and _into_data(shown.get("path")):
            shown["value"] = MASK
        return shown
    return [_without_values(item) for item in value] if isinstance(value, list | tuple) else value


def _into_data(path: object) -> bool:
    return isinstance(path, str) and (path in ("", "/") or path.strip("/").split("/")[0] in ("data", "stringData"))


def _values(body: Body) -> Iterator[str]:
    for member in ("data", "stringData"):
        values = body.get(member)
        if isinstance(values, Mapping):
            yield from (value for value in values.values() if isinstance(value, str))
    annotations = (body.get("metadata") or {}).get("annotations") or {}
    value = annotations.get(LAST_APPLIED)
    if isinstance(value, str):
        yield value
        yield from _values(_object(value))


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return {name: value.get(name) for name in ("data", "stringData")} if isinstance(value, dict) else {}


def _forms(value: str) -> Iterator[str]:
    """As it is, its base64, what it is the base64 of, each as JSON and Go would quote it, and its long lines."""
    plain = [value]
    with contextlib.suppress(ValueError):
        plain.append(base64.b64decode(value, validate=True).decode())
    for form in plain:
        yield from quoted(form)
        for line in form.splitlines():
            if len(line.strip()) >= _LONG_LINE:
                yield line.strip()


def quoted(value: str) -> Iterator[str]:
    """As it is, its base64, and each as JSON and Go would quote it."""
    for form in (value, base64.b64encode(value.encode("utf-8", "surrogatepass")).decode()):
        yield form
        yield form.strip()
        yield json.dumps(form, ensure_ascii=False)[1:-1]
        yield json.dumps(form)[1:-1]
