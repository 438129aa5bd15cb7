"""★ One request to a hub, and what its answer means.

Nothing is sent but to the address that was named: redirects are not followed. An answer counts only if it is one of a
hub: JSON with the schema that was asked for, or a refusal in the form of RFC 9457. Messages carry the hub's own words
and never a token.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import ssl
import urllib.parse
import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from gitfed import __version__
from gitfed.client.credential import Credential
from gitfed.edges import no_answer
from gitfed.edges.http import Answer, NoAnswer, Request, blocking
from gitfed.errors import GitfedError, HubError, HubUnreachable, NotThere, UsageError

PREFIX = "/api/v1"
_ANSWER = 60.0
"""Seconds for one answer as a whole: a hub itself takes thirty at most."""
_LARGEST = 64 << 20
_PROBLEM = "application/problem+json"

Parameters = Sequence[tuple[str, str]]


class HubConnection:
    def __init__(self, server: str, credential: Credential, *, seconds: float = _ANSWER) -> None:
        """`server`: as `address.checked` gives it. Raises InputError for a credential that cannot be used."""
        self.server = server
        self._credential = credential
        self._seconds = seconds
        self._context = credential.context()

    def get(self, path: str, parameters: Parameters = ()) -> dict[str, Any]:
        """`path`: below `/api/v1`. Raises HubError, HubUnreachable, NotThere, UsageError."""
        return self._call("GET", path, parameters, None)

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._call("POST", path, (), body)

    @contextlib.contextmanager
    def stream(self, path: str, headers: Mapping[str, str], silence: float) -> Iterator[Iterator[bytes]]:
        """The lines of an answer that lasts, none of which takes longer than `silence` seconds."""
        asked = self._request("GET", path, (), None, {"Accept": "text/event-stream", **headers})
        request = dataclasses.replace(asked, silence=silence, total=None)
        try:
            with blocking.stream(request) as stream:
                self._check(stream.answer, request, "text/event-stream")
                yield self._lines(stream.lines)
        except NoAnswer as error:
            raise self._no_answer(error) from None

    def _lines(self, lines: Iterator[bytes]) -> Iterator[bytes]:
        try:
            yield from lines
        except NoAnswer as error:
            raise self._no_answer(error) from None

    # -- one request ------------------------------------------------------------------------------------------------

    def _call(self, method: str, path: str, parameters: Parameters, body: Mapping[str, Any] | None) -> dict[str, Any]:
        accepted = {"Accept": "application/json", "Accept-Encoding": "gzip"}
        request = self._request(method, path, parameters, body, accepted)
        try:
            answer = blocking.ask(request, most=_LARGEST)
        except NoAnswer as error:
            raise self._no_answer(error) from None
        self._check(answer, request, "application/json")
        content = self._content(answer)
        try:
            document = json.loads(content)
        except (ValueError, RecursionError):
            raise HubError(f"the hub at {self.server}: its answer is no JSON", status=answer.status) from None
        if not isinstance(document, dict):
            raise HubError(f"the hub at {self.server}: its answer is no JSON object", status=answer.status)
        return document

    def _request(
        self, method: str, path: str, parameters: Parameters, body: Mapping[str, Any] | None, headers: Mapping[str, str]
    ) -> Request:
        query = f"?{urllib.parse.urlencode(parameters)}" if parameters else ""
        sent = {"User-Agent": f"gitfed/{__version__}", **self._credential.headers, **headers}
        data = None
        if body is not None:
            data, sent["Content-Type"] = json.dumps(body).encode(), "application/json"
        url = f"{self.server}{PREFIX}{path}{query}"
        return Request(url, self._context, method, sent, data, silence=self._seconds, total=self._seconds)

    def _content(self, answer: Answer) -> bytes:
        """Unpacked. Raises HubUnreachable."""
        content, is_whole = answer.body, True
        if answer.headers.get("Content-Encoding", "") == "gzip" and content:
            unpack = zlib.decompressobj(wbits=31)
            try:
                content = unpack.decompress(content, _LARGEST + 1)
            except zlib.error:
                raise HubUnreachable(f"the hub at {self.server}: its answer is damaged") from None
            is_whole = unpack.eof
        if max(len(content), len(answer.body)) > _LARGEST:
            raise HubUnreachable(f"the hub at {self.server}: its answer is too long", hint="ask for less: -n, -c")
        if not is_whole:
            raise HubUnreachable(f"the hub at {self.server} cut the connection")
        return content

    # -- what went wrong ----------------------------------------------------------------------------------------------

    def _check(self, answer: Answer, request: Request, wanted: str) -> None:
        """Raises HubError, HubUnreachable, NotThere, UsageError for what is not such an answer of a hub."""
        if not answer.is_good:
            raise self._refused(answer, request)
        if answer.content_type != wanted:
            raise self._no_hub(answer)

    def _refused(self, answer: Answer, request: Request) -> GitfedError:
        told, status = _problem(answer), answer.status
        if told is None:
            return self._no_hub(answer)
        detail, hint = (self._plain(str(told.get(name) or "")) for name in ("detail", "hint"))
        where = f"the hub at {self.server}"
        if status == 401:
            return HubError(f"{where}: {detail}", status=status, hint=self._who())
        if status == 404 and detail in ("", "404: Not Found"):
            path = urllib.parse.urlsplit(request.url).path
            return HubError(f"{where} knows no {path}", status=status, hint="it is a gitfed of another version")
        if status == 404:
            return NotThere(detail, hint=hint)
        if status == 403:
            return HubError(f"{where}: {detail}", status=status, hint=hint or "AccessPolicies say who may do what")
        if status in (429, 503):
            pause = answer.headers.get("Retry-After", "")
            seconds = float(pause) if pause.isdecimal() and len(pause) < 6 else None
            again = f"try again in {seconds:g} s" if seconds is not None else "try again in a moment"
            return HubUnreachable(f"{where}: {detail}", status=status, hint=hint or again, retry_after=seconds)
        if status >= 500:
            return HubUnreachable(f"{where} answers HTTP {no_answer.status_text(status)}", status=status)
        if status in (400, 413, 415):
            return UsageError(detail, hint=hint)
        return HubError(f"{where}: {detail or f'HTTP {no_answer.status_text(status)}'}", status=status, hint=hint)

    def _no_hub(self, answer: Answer) -> HubError:
        status = answer.status
        what = f"HTTP {no_answer.status_text(status)}, {answer.content_type}"
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

    def _no_answer(self, error: NoAnswer) -> HubUnreachable:
        where, reason = f"the hub at {self.server}", error.reason
        hint = ""
        if self._credential.certificate and isinstance(reason, ssl.SSLError | ConnectionError) and self._is_over():
            return HubUnreachable(f"{where}: your client certificate has expired", hint=_NEW)
        if (untrusted := error.certificate()) is not None:
            expired = "expired" in untrusted
            hint = "" if expired else "--certificate-authority names whom to trust: ca.crt in the hub's data folder"
            hint = hint if "self-signed" in untrusted or "issuer" in untrusted else ""
        elif isinstance(reason, ssl.SSLError) and "WRONG_VERSION" in str(reason.reason or ""):
            hint = "it speaks no TLS: http:// is for a hub on this machine"
        elif isinstance(reason, ssl.SSLError) and self._credential.certificate:
            hint = "does the client certificate come from this hub? gitfed kubeconfig --admin makes one"
        return HubUnreachable(error.why(where), hint=hint)

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


def _problem(answer: Answer) -> Mapping[str, Any] | None:
    """None: it does not come from a hub."""
    if answer.content_type != _PROBLEM:
        return None
    with contextlib.suppress(ValueError, RecursionError):
        problem = json.loads(answer.body)
        return problem if isinstance(problem, dict) else None
    return None
