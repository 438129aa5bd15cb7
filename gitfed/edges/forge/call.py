"""One HTTP call to the API of a forge, and what its answer means.

The token belongs to the scheme, host and port of the API's address, which comes from the command line or the CI's
environment and never from a repository. Redirects are not followed, pages of a list are only followed below that
address. Answers are bounded, errors carry the forge's own words, cut short and without the token.
"""

from __future__ import annotations

import json
import ssl
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import Any

from gitfed import __version__
from gitfed.edges.http import Answer, NoAnswer, Request, blocking
from gitfed.errors import ForgeError, ForgeUnreachable, UsageError

_SILENCE = 30.0
_TOTAL = 300.0
_LARGEST = 16 * 1024 * 1024
_LARGEST_REFUSAL = 4096
_MOST_PAGES = 100
_AGAIN = (1.0, 4.0)
"""Seconds before another try of a call that the forge was too busy for; longer waits that it asks for are an error."""
_LONGEST_WAIT = 60.0
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class ForgeClient:
    """Calls below one address."""

    def __init__(self, api: str, headers: Mapping[str, str], *, again: tuple[float, ...] = _AGAIN) -> None:
        self.api = api.rstrip("/")
        address = urllib.parse.urlsplit(self.api)
        if address.username or address.password:
            raise UsageError("the address of the API holds a password", hint="give the token as GITFED_FORGE_TOKEN")
        if address.scheme != "https" and not (address.scheme == "http" and address.hostname in _LOOPBACK):
            raise UsageError(f"{self.api} is no https address", hint="a token is sent over TLS only")
        self._again = again
        self._headers = {"User-Agent": f"gitfed/{__version__}", "Accept": "application/json", **headers}
        self._hidden = [value.split(" ")[-1] for name, value in headers.items() if name in _SECRET]
        self._context = ssl.create_default_context()

    def get(self, path: str) -> Any:
        return self._call("GET", path, None)[0]

    def send(self, method: str, path: str, body: Mapping[str, Any]) -> Any:
        return self._call(method, path, body)[0]

    def pages(self, path: str) -> Iterator[Any]:
        """Items of a list that goes on where its `Link: …; rel="next"` says."""
        for _ in range(_MOST_PAGES):
            items, headers = self._call("GET", path, None)
            if not isinstance(items, list):
                raise ForgeError(f"{self.api}{path}: a list was expected")
            yield from items
            following = _next(headers.get("Link", ""))
            if not following:
                return
            path = self.below(following)

    def below(self, url: str) -> str:
        """The path of an address that the forge named, as far as it is ours. Raises ForgeError for another server."""
        if not url.startswith(f"{self.api}/"):
            raise ForgeError(f"{self.api} sends us to another server")
        return url.removeprefix(self.api)

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None) -> tuple[Any, Mapping[str, str]]:
        for wait in (*self._again, None):
            try:
                return self._once(method, path, body)
            except ForgeUnreachable as error:
                # What was not answered may have been done: only what can be done twice is tried twice.
                asked = error.retry_after
                if wait is None or (method == "POST" and asked is None) or (asked or 0) > _LONGEST_WAIT:
                    raise
                time.sleep(max(wait, asked or 0))
        raise AssertionError("the last round returns or raises")

    def _once(self, method: str, path: str, body: Mapping[str, Any] | None) -> tuple[Any, Mapping[str, str]]:
        where = f"{method} {self.api}{path.partition('?')[0]}"
        data = None if body is None else json.dumps(body).encode()
        headers = self._headers | ({"Content-Type": "application/json"} if data is not None else {})
        request = Request(f"{self.api}{path}", self._context, method, headers, data, silence=_SILENCE, total=_TOTAL)
        try:
            answer = blocking.ask(request, most=_LARGEST, of_refusal=_LARGEST_REFUSAL)
        except NoAnswer as error:
            raise ForgeUnreachable(f"{where}: {error.why()}") from None
        if not answer.is_good:
            raise self._refused(where, answer)
        if len(answer.body) > _LARGEST:
            raise ForgeError(f"{where}: the answer is too long")
        try:
            return (json.loads(answer.body) if answer.body.strip() else None), answer.headers
        except ValueError:
            raise ForgeError(f"{where}: the answer is not JSON") from None

    def _refused(self, where: str, answer: Answer) -> ForgeError:
        code, headers = answer.status, answer.headers
        text = " ".join(answer.body.decode("utf-8", "replace").split())
        for secret in self._hidden:
            text = text.replace(secret, "***")
        text = "".join(letter if letter.isprintable() else "?" for letter in text)[:300]
        message = f"{where}: HTTP {code}{f': {text}' if text else ''}"
        if _is_limited(code, headers, text) or code == 503:
            return ForgeUnreachable(message, status=code, retry_after=_seconds(headers, text))
        if code >= 500:
            return ForgeUnreachable(message, status=code)
        hint = {
            401: "the token is not valid here",
            403: "the token lacks a right: see docs, how-to/review",
            404: "the project or pull request does not exist, or the token may not see it",
        }.get(code, "")
        return ForgeError(message, status=code, hint=hint)


_SECRET = ("Authorization", "PRIVATE-TOKEN")


def _next(link: str) -> str:
    """RFC 8288: `<https://…?page=2>; rel="next", …`."""
    for part in link.split(","):
        url, _, parameters = part.strip().partition(">")
        if url.startswith("<") and 'rel="next"' in parameters:
            return url[1:]
    return ""


def _is_limited(code: int, headers: Mapping[str, str], said: str) -> bool:
    """GitHub: "Rate limits for the REST API": 403 stands for both, a limit and a missing right."""
    if code == 429:
        return True
    spent = headers.get("X-RateLimit-Remaining") == "0" or "Retry-After" in headers
    return code == 403 and (spent or _SECONDARY in said.lower())


def _seconds(headers: Mapping[str, str], said: str) -> float:
    """`Retry-After` in seconds; else until the limit is new, if it is used up; else a minute after GitHub's secondary
    limit, as it asks for; a date or nothing counts as a second."""
    text = headers.get("Retry-After", "")
    if text.isdecimal():
        return float(text)
    reset = headers.get("X-RateLimit-Reset", "")
    if headers.get("X-RateLimit-Remaining") == "0" and reset.isdecimal():
        return max(0.0, float(reset) - time.time())
    return 60.0 if _SECONDARY in said.lower() else 1.0


_SECONDARY = "secondary rate limit"


def segment(text: str) -> str:
    """One part of a path: what a project or commit is called must not lead elsewhere."""
    return urllib.parse.quote(text, safe="")
