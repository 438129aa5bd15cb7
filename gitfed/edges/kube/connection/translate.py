"""The only place that sees how a cluster fails: HTTP answers and the client's exceptions → `gitfed.errors`.

Callers choose by class (`errors.ObjectConflict`, …) and by `retry`, never by text. Texts of the server are shortened
and go through the caller's `redact`, because an API server quotes refused values, a Secret's included.

No text of a foreign exception is passed on (`no_answer` says why).
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Mapping
from typing import Any

import aiohttp
import orjson

from gitfed import errors
from gitfed.edges import no_answer

_log = logging.getLogger(__name__)

Redact = Callable[[str], str]

OTHER_UID = "OtherUid"
IMMUTABLE = "Immutable"
TERMINATING = "NamespaceTerminating"
"""Reasons that `apply` acts on; the last is Kubernetes' own."""

_IMMUTABLE = re.compile(r"immutable|updates to .* are forbidden|may not (?:be )?change|cannot be changed", re.I | re.S)
_TAKEN = re.compile(r"already allocated|provided (?:port|IP) is (?:already allocated|not in)|cannot allocate", re.I)
_DENIED = re.compile(r"admission webhook", re.I)
_LONGEST = 800
"""Characters of a server's text that we pass on: one that quotes a whole object is of no help."""


def failure(
    cluster: str, status: int, data: bytes, headers: Mapping[str, str] | None = None, *, redact: Redact | None = None
) -> errors.ClusterError:
    """The exception for an answer of 300 or above. `data` may be a Kubernetes Status, plain text, or a proxy's page."""
    body = _status_body(data)
    reason = str(body.get("reason") or "")
    details: Mapping[str, Any] = body["details"] if isinstance(body.get("details"), dict) else {}
    raw_text = str(body.get("message") or "") or _plain(data) or f"HTTP {status}"
    text = shorten(redact(raw_text) if redact else raw_text)
    message = f"cluster {cluster}: {text}"

    if status < 400:
        return errors.ClusterError(
            f"cluster {cluster}: the server answered with a redirect (HTTP {status}), which is not followed",
            cluster=cluster,
            status=status,
            hint="credentials are sent to the configured server only; configure the final address",
        )
    if status == 401 or (status == 403 and _lacks_rights(body, raw_text)):
        return errors.Unauthorized(message, cluster=cluster, status=status, reason=reason)
    if status == 404:
        return errors.ObjectNotFound(message, cluster=cluster, status=status, reason=reason)
    if status == 409:
        if reason == "AlreadyExists":
            return errors.ObjectExists(message, cluster=cluster, status=status, reason=reason)
        return errors.ObjectConflict(message, cluster=cluster, reason=reason, causes=_causes(details, redact))
    if status == 504 and _is_of_the_future(details):
        return errors.HistoryGone(message, cluster=cluster, status=status, reason=reason)
    if status == 410:
        return errors.HistoryGone(message, cluster=cluster, status=status, reason=reason)
    if status in (429, 503):
        return errors.ClusterBusy(message, cluster=cluster, status=status, retry_after=_retry_after(details, headers))
    if status < 500 or _refuses_the_object(raw_text):
        return errors.ObjectInvalid(message, cluster=cluster, status=status, reason=_why_invalid(reason, details))
    return errors.ClusterFailed(message, cluster=cluster, status=status, reason=reason)


def _is_of_the_future(details: Mapping[str, Any]) -> bool:
    """Whether the server has not reached a version that it once gave: it was restored from a backup."""
    causes = details.get("causes")
    listed = causes if isinstance(causes, list) else []
    return any(isinstance(cause, dict) and cause.get("reason") == "ResourceVersionTooLarge" for cause in listed)


def unreachable(cluster: str, error: BaseException, *, server: str = "") -> errors.ClusterError:
    """The exception for a request that got no answer: every class that aiohttp, ssl and the system raise.

    `server` is the address as configured, for the message.
    """
    certificate = no_answer.certificate(error)
    if certificate is not None:
        return errors.ClusterUnreachable(
            f"cluster {cluster}: the server's certificate is not trusted: {certificate}",
            cluster=cluster,
            reason="Certificate",
            hint="check certificate-authority-data, caBundle and the server's name",
        )
    if isinstance(error, TimeoutError):
        return errors.ClusterUnreachable(f"cluster {cluster}: no answer in time", cluster=cluster, reason="Timeout")
    if isinstance(error, aiohttp.InvalidURL | UnicodeError):
        return errors.CredentialsError(
            f"cluster {cluster}: the address of {server or 'the server'}, or of its proxy, is not valid",
            cluster=cluster,
        )
    text = no_answer.why(error, server or "the server")
    return errors.ClusterUnreachable(f"cluster {cluster}: {text}", cluster=cluster, reason=type(error).__name__)


def unusable_context(error: BaseException) -> str:
    """Why the client library cannot use a context of a kubeconfig."""
    if isinstance(error, OSError) and error.errno is not None:
        return f"a file that it names cannot be used: {os.strerror(error.errno)}"
    if isinstance(error, KeyError):
        return "an entry of it is not complete"
    return f"the client library cannot use it ({type(error).__name__})"


def broken(cluster: str, what: str) -> errors.ClusterError:
    """The exception for an answer that is no JSON, or not the JSON that was asked for."""
    return errors.ClusterFailed(f"cluster {cluster}: {what}", cluster=cluster, reason="BadAnswer")


def of_taking_in(cluster: str, error: Exception) -> errors.ClusterError:
    """The exception for what failed while an answer was taken in. An unforeseen one counts as the cluster's: no
    API server gives such an answer. Raises other errors of ours as they are."""
    if isinstance(error, errors.ClusterError):
        return error
    if isinstance(error, errors.GitfedError):
        raise error
    unforeseen = errors.Unforeseen.of(error)
    _log.error(
        "a defect of gitfed, or an answer that no API server gives",
        extra={"cluster": cluster, "error": unforeseen.message, "trace": unforeseen.trace},
    )
    return errors.ClusterFailed(f"cluster {cluster}: {unforeseen}", cluster=cluster, reason="Unforeseen")


NO_ANSWER = (aiohttp.ClientError, TimeoutError, OSError, UnicodeError)
"""What a request that got no answer raises; to be handed to `unreachable`."""


def said(error: errors.GitfedError) -> str:
    """The message without the cluster's name, for places that show the cluster beside it."""
    cluster = getattr(error, "cluster", "")
    return error.message.removeprefix(f"cluster {cluster}: ") if cluster else error.message


def level(error: errors.GitfedError, before: str) -> int:
    """At which the log gets a failure that is tried again for as long as it lasts; `before`: what it was told last.

    That a cluster gives no answer is no news of each thing that is asked of it: the probe of its health says it once.
    """
    repeated = isinstance(error, errors.ClusterUnreachable) or said(error) == before
    return logging.DEBUG if repeated else logging.INFO


def is_gone(error: errors.ObjectNotFound) -> bool:
    """Whether an API server said that the object is not there. A proxy that lost its way answers 404 as well."""
    return error.reason == "NotFound"


def is_permanent(error: errors.ClusterError) -> bool:
    """Whether the object itself is refused. What a quota or an admission rule forbids (403), or a webhook denies, may
    be allowed a moment later; so may a port or an address that another object has now."""
    if not isinstance(error, errors.ObjectInvalid) or error.status not in (400, 422):
        return False
    return _TAKEN.search(error.message) is None and _DENIED.search(error.message) is None


def shorten(text: str) -> str:
    """Both ends stay: what it is about, and (after the quoted value) what is wrong with it."""
    text = text.strip()
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST // 2].rstrip()} … {text[-_LONGEST // 2 :].lstrip()}"


def _status_body(data: bytes) -> Mapping[str, Any]:
    try:
        body = orjson.loads(data)
    except orjson.JSONDecodeError:
        return {}
    return body if isinstance(body, dict) and body.get("kind") == "Status" else {}


def _plain(data: bytes) -> str:
    """An answer that is no Status. Pages of proxies are markup, which has no place in a message."""
    text = data[: 4 * _LONGEST].decode("utf-8", "replace").strip()
    return "" if text.startswith(("<", "{")) else text


def _lacks_rights(body: Mapping[str, Any], text: str) -> bool:
    """403 says two things: these credentials may not do that, or admission (webhook, quota) refuses this object."""
    return not body or text.startswith("forbidden: ") or ' is forbidden: User "' in text


def _refuses_the_object(text: str) -> bool:
    """Kubernetes: an apply with unknown fields, wrong types or repeated keys is 500; trying again is no help."""
    return text.startswith(("failed to create typed patch object", "failed to convert new object"))


def _causes(details: Mapping[str, Any], redact: Redact | None) -> tuple[tuple[str, str], ...]:
    causes = _listed_causes(details)
    texts = [(str(cause.get("field") or ""), shorten(str(cause.get("message") or ""))) for cause in causes]
    return tuple((field, redact(text) if redact else text) for field, text in texts)


def _listed_causes(details: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    causes = details.get("causes")
    return [cause for cause in causes if isinstance(cause, dict)] if isinstance(causes, list) else []


def _why_invalid(reason: str, details: Mapping[str, Any]) -> str:
    """The server's reason, or a finer one: OTHER_UID, IMMUTABLE if it complains of nothing else, TERMINATING."""
    causes = _listed_causes(details)
    if any(cause.get("field") == "metadata.uid" for cause in causes):
        return OTHER_UID
    if any(cause.get("reason") == TERMINATING for cause in causes):
        return TERMINATING
    if causes and all(_IMMUTABLE.search(str(cause.get("message") or "")) for cause in causes):
        return IMMUTABLE
    return reason


def _retry_after(details: Mapping[str, Any], headers: Mapping[str, str] | None) -> float | None:
    """Seconds to wait. The header may also be a date; then the caller's own delays serve."""
    for value in (details.get("retryAfterSeconds"), (headers or {}).get("Retry-After")):
        try:
            seconds = float(value) if value is not None else 0.0
        except (TypeError, ValueError):
            continue
        if 0 < seconds < 86_400:
            return seconds
    return None
