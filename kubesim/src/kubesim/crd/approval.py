"""Whether a definition may use a group of Kubernetes' own (``*.k8s.io``, ``*.kubernetes.io``).

``definition`` refuses what has no approval; ``settle`` writes its state as a condition.
"""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import urlsplit

from kubesim import status
from kubesim.status import FieldError

Body = dict[str, Any]
APPROVED: Final = "api-approved.kubernetes.io"


def state(body: Body) -> tuple[str, str]:
    """State of a protected group's approval (``missing``, ``bypassed``, ``approved``, ``invalid``) and what to say;
    empty for other groups."""
    group = (body.get("spec") or {}).get("group") or ""
    if not re.fullmatch(r"(.*\.)?(k8s\.io|kubernetes\.io)", group):
        return "", ""
    text = (body["metadata"].get("annotations") or {}).get(APPROVED) or ""
    see = "see https://github.com/kubernetes/enhancements/pull/1111"
    needs = f"protected groups must have approval annotation {status.quote(APPROVED)}"
    if not text:
        return "missing", f"{needs}, {see}"
    if text.startswith("unapproved"):
        return "bypassed", f"not approved: {status.quote(text)}"
    parts = urlsplit(text)
    if parts.scheme and parts.netloc:
        return "approved", f"approved in {text}"
    return "invalid", f'{needs} with either a URL or a reason starting with "unapproved", {see}'


def check(new: Body, old: Body | None) -> list[FieldError]:
    """Complaints, unless the approval is as good or bad as before."""
    found, why = state(new)
    if old is not None and state(old)[0] == found:
        return []
    path = f"metadata.annotations[{APPROVED}]"
    if found == "missing":
        return [status.required(path, why)]
    if found == "invalid":
        return [status.invalid_value(path, (new["metadata"].get("annotations") or {}).get(APPROVED), why)]
    return []
