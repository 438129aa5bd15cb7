"""Every way in which a cluster fails becomes one class of gitfed.errors."""

from __future__ import annotations

import asyncio
import errno
import inspect
import socket
import ssl
from typing import Any

import aiohttp
import orjson
import pytest
from aiohttp import client_exceptions

from gitfed import errors
from gitfed.edges.kube.connection import error_text, translate


def status(code: int, message: str = "said", reason: str = "", **details: Any) -> bytes:
    return orjson.dumps(
        {"kind": "Status", "apiVersion": "v1", "code": code, "message": message, "reason": reason, "details": details}
    )


IMMUTABLE = {
    "reason": "FieldValueInvalid",
    "message": "Invalid value: {…}: field is immutable",
    "field": "spec.selector",
}
REQUIRED = {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.x"}
STATEFUL = {
    "reason": "FieldValueForbidden",
    "message": "Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden",
    "field": "spec",
}


@pytest.mark.parametrize(
    ("code", "data", "expected", "retry", "reason"),
    [
        pytest.param(302, b"", errors.ClusterError, False, "", id="a redirect"),
        pytest.param(400, status(400, reason="BadRequest"), errors.ObjectInvalid, False, "BadRequest", id="400"),
        pytest.param(401, status(401, reason="Unauthorized"), errors.Unauthorized, False, "Unauthorized", id="401"),
        pytest.param(
            403,
            status(403, 'configmaps is forbidden: User "alice" cannot list resource', "Forbidden"),
            errors.Unauthorized,
            False,
            "Forbidden",
            id="403 for want of rights",
        ),
        pytest.param(403, b"<html>", errors.Unauthorized, False, "", id="403 by a proxy"),
        pytest.param(
            403,
            status(403, 'admission webhook "x" denied the request: no', "Forbidden"),
            errors.ObjectInvalid,
            False,
            "Forbidden",
            id="403 by a webhook",
        ),
        pytest.param(
            403,
            status(403, 'configmaps "b" is forbidden: exceeded quota: q', "Forbidden"),
            errors.ObjectInvalid,
            False,
            "Forbidden",
            id="403 by a quota",
        ),
        pytest.param(
            403,
            status(403, "is being terminated", "Forbidden", causes=[{"reason": "NamespaceTerminating"}]),
            errors.ObjectInvalid,
            False,
            "NamespaceTerminating",
            id="403 in a namespace that goes",
        ),
        pytest.param(404, status(404, reason="NotFound"), errors.ObjectNotFound, False, "NotFound", id="404"),
        pytest.param(404, b"404 page not found\n", errors.ObjectNotFound, False, "", id="404 of a path"),
        pytest.param(405, status(405), errors.ObjectInvalid, False, "", id="405"),
        pytest.param(409, status(409, reason="Conflict"), errors.ObjectConflict, True, "Conflict", id="409"),
        pytest.param(
            409, status(409, reason="AlreadyExists"), errors.ObjectExists, False, "AlreadyExists", id="409 at creation"
        ),
        pytest.param(410, status(410, reason="Expired"), errors.HistoryGone, True, "Expired", id="410"),
        pytest.param(413, b"too large", errors.ObjectInvalid, False, "", id="413"),
        pytest.param(422, status(422, reason="Invalid"), errors.ObjectInvalid, False, "Invalid", id="422"),
        pytest.param(
            422,
            status(422, reason="Invalid", causes=[IMMUTABLE, STATEFUL]),
            errors.ObjectInvalid,
            False,
            "Immutable",
            id="422 for immutable fields only",
        ),
        pytest.param(
            422,
            status(422, reason="Invalid", causes=[IMMUTABLE, REQUIRED]),
            errors.ObjectInvalid,
            False,
            "Invalid",
            id="422 for an immutable field among others",
        ),
        pytest.param(
            422,
            status(422, reason="Invalid", causes=[{**IMMUTABLE, "field": "metadata.uid"}]),
            errors.ObjectInvalid,
            False,
            "OtherUid",
            id="422 for another uid",
        ),
        pytest.param(429, status(429), errors.ClusterBusy, True, "", id="429"),
        pytest.param(500, status(500), errors.ClusterFailed, True, "", id="500"),
        pytest.param(
            500,
            status(500, "failed to create typed patch object (/a; v1, Kind=X): .y: field not declared in schema"),
            errors.ObjectInvalid,
            False,
            "",
            id="500 that is the object's fault",
        ),
        pytest.param(503, b"", errors.ClusterBusy, True, "", id="503"),
        pytest.param(504, status(504, reason="Timeout"), errors.ClusterFailed, True, "Timeout", id="504"),
    ],
)
def test_each_status_has_its_class(
    code: int, data: bytes, expected: type[errors.ClusterError], retry: bool, reason: str
) -> None:
    error = translate.failure("m1", code, data)
    assert (type(error), error.retry, error.reason, error.cluster) == (expected, retry, reason, "m1")
    assert error.status == code
    assert error.message.startswith("cluster m1: ")


def _instances() -> list[BaseException]:
    """One of each exception class that aiohttp has, made without knowing its arguments."""
    made: list[BaseException] = []
    for _, kind in inspect.getmembers(client_exceptions, inspect.isclass):
        if issubclass(kind, aiohttp.ClientError) and kind.__module__.startswith("aiohttp"):
            error = kind.__new__(kind)
            error.__dict__.update({"_os_error": OSError("os"), "_certificate_error": OSError("c"), "_conn_key": None})
            made.append(error)
    return made


def test_every_exception_of_the_client_is_foreseen() -> None:
    found = _instances()
    assert len(found) > 15
    assert all(isinstance(error, translate.NO_ANSWER) for error in found)


@pytest.mark.parametrize(
    ("error", "expected", "message"),
    [
        pytest.param(TimeoutError(), errors.ClusterUnreachable, "no answer in time", id="a timeout"),
        pytest.param(
            ConnectionResetError("reset"), errors.ClusterUnreachable, "https://s:1 cut the connection", id="a reset"
        ),
        pytest.param(
            aiohttp.ServerDisconnectedError(),
            errors.ClusterUnreachable,
            "https://s:1 cut the connection",
            id="a hang-up",
        ),
        pytest.param(
            socket.gaierror(-2, "Name unknown"),
            errors.ClusterUnreachable,
            "https://s:1: its host name is not known",
            id="DNS",
        ),
        pytest.param(
            ConnectionRefusedError(111, "no"),
            errors.ClusterUnreachable,
            "https://s:1 refuses the connection",
            id="a closed port",
        ),
        pytest.param(
            OSError(errno.EHOSTUNREACH, "No route to host"),
            errors.ClusterUnreachable,
            "https://s:1: there is no way to it (No route to host)",
            id="no route",
        ),
        pytest.param(
            OSError(errno.EMFILE, "Too many open files"),
            errors.ClusterUnreachable,
            "https://s:1: Too many open files",
            id="anything else",
        ),
        pytest.param(
            aiohttp.ClientPayloadError(),
            errors.ClusterUnreachable,
            "https://s:1 cut the connection",
            id="half an answer",
        ),
        pytest.param(
            aiohttp.InvalidURL("http://a b"),
            errors.CredentialsError,
            "the address of https://s:1, or of its proxy, is not valid",
            id="an address",
        ),
    ],
)
def test_what_got_no_answer_says_why(error: BaseException, expected: type[errors.ClusterError], message: str) -> None:
    translated = translate.unreachable("m1", error, server="https://s:1")
    assert (type(translated), translated.message, translated.status) == (expected, f"cluster m1: {message}", 0)


def test_a_certificate_error_is_found_inside_the_clients() -> None:
    inner = ssl.SSLCertVerificationError(1, "certificate verify failed")
    inner.verify_message = "self-signed certificate"
    outer = OSError("wrapped")
    outer.__cause__ = inner
    translated = translate.unreachable("m1", outer)
    assert translated.message == "cluster m1: the server's certificate is not trusted: self-signed certificate"
    assert translated.hint


def test_a_redirect_says_that_credentials_do_not_follow_it() -> None:
    assert str(translate.failure("m1", 307, b"")) == (
        "cluster m1: the server answered with a redirect (HTTP 307), which is not followed "
        "(credentials are sent to the configured server only; configure the final address)"
    )


@pytest.mark.parametrize(
    ("data", "headers", "seconds"),
    [
        (status(429, retryAfterSeconds=7), {}, 7.0),
        (status(429), {"Retry-After": "3"}, 3.0),
        (status(429), {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, None),
        (status(429), {"Retry-After": "-1"}, None),
        (status(429), {"Retry-After": "nan"}, None),
        (b"", None, None),
    ],
)
def test_a_busy_cluster_may_say_how_long(data: bytes, headers: dict[str, str] | None, seconds: float | None) -> None:
    error = translate.failure("m1", 429, data, headers)
    assert isinstance(error, errors.ClusterBusy)
    assert error.retry_after == seconds


def test_texts_are_redacted_before_they_are_shortened_and_keep_both_ends() -> None:
    text = 'Secret "s" is invalid: data: Invalid value: "' + "hunter2" * 400 + '": too bad'
    error = translate.failure("m1", 422, status(422, text), redact=lambda text: text.replace("hunter2", "••"))
    assert "hunter" not in error.message
    assert error.message.startswith('cluster m1: Secret "s" is invalid')
    assert error.message.endswith("too bad")
    assert len(error.message) < 850


def test_causes_are_redacted_too() -> None:
    causes = [{"reason": "FieldManagerConflict", "message": 'conflict with "hunter2"', "field": ".data.k"}]
    error = translate.failure("m1", 409, status(409, causes=causes), redact=lambda text: text.replace("hunter2", "•"))
    assert isinstance(error, errors.ObjectConflict)
    assert error.causes == ((".data.k", 'conflict with "•"'),)


def test_a_page_of_a_proxy_is_not_quoted() -> None:
    assert translate.failure("m1", 502, b"<html><h1>Bad gateway</h1>").message == "cluster m1: HTTP 502"


def test_what_was_said_does_not_name_the_cluster_again() -> None:
    assert translate.said(translate.failure("m1", 404, status(404, "gone"))) == "gone"
    assert translate.said(errors.NotOwned("as it is")) == "as it is"


def test_a_cancelled_request_is_not_translated() -> None:
    assert not isinstance(asyncio.CancelledError(), translate.NO_ANSWER)


def test_a_conflict_names_the_other_manager_and_the_field() -> None:
    error = errors.ObjectConflict(
        "cluster m1: Apply failed with 2 conflicts: …",
        cluster="m1",
        causes=((".data.k", 'conflict with "kubectl" using v1'), (".data.l", 'conflict with "helm"')),
    )
    assert error_text.explain(error) == 'conflict with "kubectl" using v1: .data.k; conflict with "helm": .data.l'


def test_of_a_refused_secret_only_fields_are_named() -> None:
    text = 'Secret "s" is invalid: data[hunter2!]: Invalid value: "hunter2": a valid key, type: Invalid value: "x"'
    assert error_text.fields_only(text) == "the server refused the Secret (type)"
    assert error_text.fields_only("data[k]: bad") == "the server refused the Secret (data[k])"
    assert error_text.fields_only("nothing to see") == "the server refused the Secret"


@pytest.mark.parametrize(
    ("causes", "kind"),
    [
        ([{"reason": "ResourceVersionTooLarge"}], errors.HistoryGone),
        ([{"reason": "Timeout"}], errors.ClusterFailed),
        (["ResourceVersionTooLarge", {"reason": "ResourceVersionTooLarge"}], errors.HistoryGone),
        (["ResourceVersionTooLarge"], errors.ClusterFailed),
    ],
)
def test_only_a_version_that_is_too_large_tells_of_a_restored_server(causes: list[Any], kind: type[Exception]) -> None:
    assert type(translate.failure("m1", 504, status(504, causes=causes))) is kind
