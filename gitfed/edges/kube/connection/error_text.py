"""What a refusal of one object says to a person: on one line, with the other manager's name, without secrets.

An API server quotes the values that it refuses. For Secrets only the names of fields are passed on, unless the caller
has a redactor that knows their values.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from gitfed import errors
from gitfed.edges.kube.connection import translate
from gitfed.model.base import Body

RedactText = Callable[[Body, str], str]
"""(the body that was sent, a text of the server) → the text without its secrets."""

_FIELD = re.compile(r"\b(?:data|stringData|metadata|type|immutable)(?:[.\[][A-Za-z0-9_.\-\]]*)?(?=:)")


def explain(error: errors.ClusterError) -> str:
    """The outcome's message. Conflicts name the other manager and the field: `conflict with "kubectl": .data.k`."""
    if isinstance(error, errors.ObjectConflict) and error.causes:
        return "; ".join(f"{text}: {path}" for path, text in error.causes)
    message = translate.said(error)
    return f"{message} ({error.hint})" if error.hint else message


def redactor(redact: RedactText | None, body: Body) -> translate.Redact | None:
    """The function for the texts of one request that sends `body`; None: they are passed on as they are."""
    if redact is not None:
        return lambda text: redact(body, text)
    return fields_only if body.get("kind") == "Secret" else None


def fields_only(text: str) -> str:
    """`the server refused the Secret (data[k])`: field names from the text, and nothing else of it."""
    named = sorted(set(_FIELD.findall(text)))
    return "the server refused the Secret" + (f" ({', '.join(named)})" if named else "")
