"""★ One request to a hub, and what its answer means.

Nothing is sent but to the address that was named: redirects are not followed. An answer counts only if it is one of a
hub: JSON with the schema that was asked for, or a refusal in the form of RFC 9457. Messages carry the hub's own words
and never a token.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.message import Message
from typing import Any

from gitfed import __version__
from gitfed.client.credential import Credential
from gitfed.edges import https, no_answer
from gitfed.errors import GitfedError, HubError, HubUnreachable, NotThere, UsageError

PREFIX = "/api/v1"
_ANSWER = 60.0
"""Seconds for one answer as a whole: a hub itself takes thirty at most."""
_LARGEST = 64 << 20
_LARGEST_REFUSAL = 64 << 10
_PROBLEM = "application/problem+json"

Parameters = Sequence[tuple[str, str]]


class HubConnection:
    def __init__(self, server: str, credential: Credential, *, seconds: float = _ANSWER) -> None:
        """`server`: as `address.checked` gives it. Raises InputError for a credential that cannot be used."""
        self.server = server
        self._credential = credential
        self._seconds = seconds
        self._opener = https.opener(credential.context(), https.NoRedirect())

    def get(self, path: str, parameters: Parameters = ()) -> dict[str, Any]:
        """`path`: below `/api/v1`. Raises HubError, HubUnreachable, NotThere, UsageError."""
        return self._call("GET", path, parameters, None)

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._call("POST", path, (), body)

    @contextlib.contextmanager
    def stream(self, path: str, headers: Mapping[str, str], silence: float) -> Iterator[Iterator[bytes]]:
        """The lines of an answer that lasts, none of which takes longer than `silence` seconds."""
        request = self._request("GET", path, (), None, {"Accept": "text/event-stream", **headers})
        with self._open(request, silence) as answer:
            if answer.headers.get_content_type() != "text/event-stream":
                raise self._no_hub(answer.status, answer.headers)
            yield self._lines(answer)

    def _lines(self, answer: Any) -> Iterator[bytes]:
        while True:
            try:
                line = answer.readline(1 << 20)
            except (OSError, http.client.HTTPException, ValueError) as error:
                raise self._no_answer(error) from None
            if not line:
                return
            yield line

    # -- one request ------------------------------------------------------------------------------------------------

    def _call(self, method: str, path: str, parameters: Parameters, body: Mapping[str, Any] | None) -> dict[str, Any]:
        end = time.monotonic() + self._seconds
        request = self._request(method, path, parameters, body, {"Accept": "application/json"})
        with self._open(request, self._seconds) as answer:
            try:
                content = self._content(answer, end)
            except (OSError, http.client.HTTPException, ValueError, zlib.error) as error:
                raise self._no_answer(error) from None
            if answer.headers.get_content_type() != "application/json":
                raise self._no_hub(answer.status, answer.headers)
            status = answer.status
        try:
            found = json.loads(content)
        except (ValueError, RecursionError):
            raise HubError(f"the hub at {self.server}: its answer is no JSON", status=status) from None
        if not isinstance(found, dict):
            raise HubError(f"the hub at {self.server}: its answer is no JSON object", status=status)
        return found

    def _request(
        self, method: str, path: str, parameters: Parameters, body: Mapping[str, Any] | None, headers: Mapping[str, str]
    ) -> urllib.request.Request:
        query = f"?{urllib.parse.urlencode(parameters)}" if parameters else ""
        sent = {"User-Agent": f"gitfed/{__version__}", "Accept-Encoding": "gzip", **self._credential.headers, **headers}
        data = None
        if body is not None:
            data, sent["Content-Type"] = json.dumps(body).encode(), "application/json"
        url = f"{self.server}{PREFIX}{path}{query}"
        return urllib.request.Request(url, data, sent, method=method)  # noqa: S310 (`address.checked`)

    @contextlib.contextmanager
    def _open(self, request: urllib.request.Request, seconds: float) -> Iterator[Any]:
        try:
            answer = self._opener.open(request, timeout=seconds)
        except urllib.error.HTTPError as error:
            with error:
                said = b""
                with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
                    said = error.read(_LARGEST_REFUSAL)
            raise self._refused(error.code, error.headers, said, request) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._no_answer(error) from None
        with answer:
            yield answer

    def _content(self, answer: Any, end: float) -> bytes:
        packed = answer.headers.get("Content-Encoding", "") == "gzip"
        unpack = zlib.decompressobj(wbits=31)
        found = bytearray()
        while part := answer.read1(1 << 16):
            found += unpack.decompress(part, _LARGEST) if packed else part
            if time.monotonic() > end:
                raise TimeoutError
            if len(found) > _LARGEST or unpack.unconsumed_tail:
                raise ValueError("too long")
        if answer.length or (packed and found and not unpack.eof):
            raise http.client.IncompleteRead(b"")
        return bytes(found)

    # -- what went wrong ----------------------------------------------------------------------------------------------

    def _refused(self, status: int, headers: Message, said: bytes, request: urllib.request.Request) -> GitfedError:
        told = _problem(headers, said)
        if told is None:
            return self._no_hub(status, headers)
        detail, hint = (self._plain(str(told.get(name) or "")) for name in ("detail", "hint"))
        where = f"the hub at {self.server}"
        if status == 401:
            return HubError(f"{where}: {detail}", status=status, hint=self._who())
        if status == 404 and detail in ("", "404: Not Found"):
            path = urllib.parse.urlsplit(request.full_url).path
            return HubError(f"{where} knows no {path}", status=status, hint="it is a gitfed of another version")
        if status == 404:
            return NotThere(detail, hint=hint)
        if status == 403:
            return HubError(f"{where}: {detail}", status=status, hint=hint or "AccessPolicies say who may do what")
        if status in (429, 503):
            pause = headers.get("Retry-After", "")
            seconds = float(pause) if pause.isdecimal() and len(pause) < 6 else None
            again = f"try again in {seconds:g} s" if seconds is not None else "try again in a moment"
            return HubUnreachable(f"{where}: {detail}", status=status, hint=hint or again, retry_after=seconds)
        if status >= 500:
            return HubUnreachable(f"{where} answers HTTP {no_answer.status_text(status)}", status=status)
        if status in (400, 413, 415):
            return UsageError(detail, hint=hint)
        return HubError(f"{where}: {detail or f'HTTP {no_answer.status_text(status)}'}", status=status, hint=hint)

    def _no_hub(self, status: int, headers: Message) -> HubError:
        what = f"HTTP {no_answer.status_text(status)}, {headers.get_content_type()}"
        if 300 <= status < 400:
            return HubError(
                f"{self.server} sends us elsewhere (HTTP {no_answer.status_text(status)})",
                status=status,
                hint="name the address of the hub itself; a proxy that logs people in does not let programs through",
            )
        if status >= 500:
            return HubUnreachable(f"{self.server} answers HTTP {no_answer.status_text(status)}", status=status)
        return HubError(
            f"what answers at {self.server} is no hub of gitfed ({what})",
            status=status,
            hint="gitfed run --hub-address opens one",
        )

    def _no_answer(self, error: BaseException) -> HubUnreachable:
        where = f"the hub at {self.server}"
        inner = error.reason if isinstance(error, urllib.error.URLError) else error
        if isinstance(inner, ValueError) and str(inner) == "too long":
            return HubUnreachable(f"{where}: its answer is too long", hint="ask for less: -n, -c")
        if isinstance(inner, zlib.error):
            return HubUnreachable(f"{where}: its answer is damaged")
        hint = ""
        if self._credential.certificate and isinstance(inner, ssl.SSLError | ConnectionError) and self._is_over():
            return HubUnreachable(f"{where}: your client certificate has expired", hint=_NEW)
        if (untrusted := no_answer.certificate(error)) is not None:
            expired = "expired" in untrusted
            hint = "" if expired else "--certificate-authority names whom to trust: ca.crt in the hub's data folder"
            hint = hint if "self-signed" in untrusted or "issuer" in untrusted else ""
        elif isinstance(inner, ssl.SSLError) and "WRONG_VERSION" in str(inner.reason or ""):
            hint = "it speaks no TLS: http:// is for a hub on this machine"
        elif isinstance(inner, ssl.SSLError) and self._credential.certificate:
            hint = "does the client certificate come from this hub? gitfed kubeconfig --admin makes one"
        return HubUnreachable(no_answer.why(error, where), hint=hint)

    def _is_over(self) -> bool:
        from gitfed.edges import certificates  # not small, and only a failure needs it

        end = certificates.end_of(self._credential.certificate)
        return end is not None and end <= datetime.now(UTC)

    def _who(self) -> str:
        if self._credential.token:
            return "the token has expired, is for something else, or comes from an issuer that the hub does not know"
        if self._credential.certificate:
            return "a certificate is asked for only by a hub with TLS, and has to come from its own authority"
        return "--client-certificate and --client-key, --token-file or --kubeconfig say who you are"

    def _plain(self, text: str) -> str:
        """The hub's words, one line, without what is ours to keep."""
        token = self._credential.token
        return " ".join((text.replace(token, "***") if token else text).split())[:500]


_NEW = "gitfed kubeconfig --admin makes another"


def _problem(headers: Message, said: bytes) -> Mapping[str, Any] | None:
    """None: it does not come from a hub."""
    if headers.get_content_type() != _PROBLEM:
        return None
    with contextlib.suppress(ValueError, RecursionError):
        found = json.loads(said)
        return found if isinstance(found, dict) else None
    return None
