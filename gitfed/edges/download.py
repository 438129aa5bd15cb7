"""A file by its address, for a person who typed that address on a command line.

Only a command's own argument may bring one here: what stands in a repository could name any server it likes, so no URL
that was read from one is ever fetched (webhooks have their own rules, `webhook`). What is fetched is text to be read
with the same care as a file from anywhere.
"""

from __future__ import annotations

import ssl
import string
import time
import urllib.parse
from typing import Final

from gitfed import __version__
from gitfed.edges.http import Answer, NoAnswer, Request, blocking
from gitfed.errors import SourceError, SourceUnreachable, UsageError

_SECONDS: Final = 30.0
_MOST_REDIRECTS: Final = 5
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


def is_address(name: str) -> bool:
    """Whether a name on the command line is a URL and no file."""
    return "://" in name


def fetch(url: str, *, most: int) -> bytes:
    """At most so many bytes, and one more where there are more. Raises UsageError, SourceError, SourceUnreachable."""
    if why := _why_not(url):
        raise UsageError(f"{_shown(url)} {why}")
    context = ssl.create_default_context()
    end = time.monotonic() + _SECONDS
    for _ in range(_MOST_REDIRECTS + 1):
        left = max(0.001, end - time.monotonic())
        request = Request(url, context, headers={"User-Agent": f"gitfed/{__version__}"}, silence=left, total=left)
        try:
            answer = blocking.ask(request, most=most, of_refusal=0)
        except NoAnswer as error:
            raise SourceUnreachable(f"{_shown(url)}: {error.why()}") from error
        if answer.is_good:
            return answer.body
        followed = _redirect(url, answer)
        if not followed:
            break
        url = followed
    kind = SourceUnreachable if answer.status >= 500 else SourceError
    raise kind(f"{_shown(url)}: HTTP status {answer.status}")


def _redirect(url: str, answer: Answer) -> str:
    """Where the answer sends us; "" if that is nowhere on the web. Raises SourceError for an address that could not
    have been typed."""
    # Some servers leave letters in it that no address may have.
    location = urllib.parse.quote(answer.headers.get("Location", ""), string.punctuation, errors="surrogateescape")
    if answer.status not in _REDIRECTS or not location:
        return ""
    target = urllib.parse.urljoin(url, location)
    if not target.startswith(("http:", "https:")):
        return ""
    if why := _why_not(target):
        raise SourceError(f"{_shown(url)} sends us to {_shown(target)}, which {why}")
    return target


def _why_not(url: str) -> str:
    try:
        address = urllib.parse.urlsplit(url)
        address.port  # noqa: B018  (says whether it is one)
    except ValueError:
        return "is no address"
    if address.username or address.password:
        return "holds a password, which would be in the history of your shell: fetch it yourself, and give the file"
    if address.scheme == "https" and address.hostname:
        return ""
    if address.scheme == "http" and address.hostname in _LOOPBACK:
        return ""
    return "is no https address"


def _shown(url: str) -> str:
    """Without a password, and without the query, which may hold a token."""
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("?")[0].partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"
