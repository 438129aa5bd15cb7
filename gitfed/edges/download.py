"""A file by its address, for a person who typed that address on a command line.

Nobody else may bring one here: what stands in a repository could name any server it likes, so no URL that was read
from one is ever fetched (webhooks have their own rules, `webhook`). What is fetched is text to be read with the same
care as a file from anywhere.
"""

from __future__ import annotations

import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from http.client import HTTPException, HTTPMessage
from typing import IO, Final

from gitfed import __version__
from gitfed.edges import https, no_answer
from gitfed.errors import SourceError, SourceUnreachable, UsageError

_SECONDS: Final = 30.0
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


def is_address(name: str) -> bool:
    """Whether a name on the command line is a URL and no file."""
    return "://" in name


def fetch(url: str, *, most: int) -> bytes:
    """At most so many bytes, and one more where there are more. Raises UsageError, SourceError, SourceUnreachable."""
    if why := _why_not(url):
        raise UsageError(f"{_shown(url)} {why}")
    opener = https.opener(ssl.create_default_context(), _SafeRedirect())
    request = urllib.request.Request(url, headers={"User-Agent": f"gitfed/{__version__}"})  # noqa: S310 (checked above)
    end = time.monotonic() + _SECONDS
    found = bytearray()
    try:
        with opener.open(request, timeout=_SECONDS) as answer:
            while len(found) <= most and (part := answer.read1(1 << 16)):
                found += part
                if time.monotonic() > end:
                    raise TimeoutError(f"not complete after {_SECONDS:g} seconds")
    except urllib.error.HTTPError as error:
        error.close()
        kind = SourceUnreachable if error.code >= 500 else SourceError
        raise kind(f"{_shown(url)}: HTTP status {error.code}") from None
    except (OSError, HTTPException, ValueError) as error:
        raise SourceUnreachable(f"{_shown(url)}: {no_answer.why(error)}") from error
    return bytes(found[: most + 1])


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


class _SafeRedirect(urllib.request.HTTPRedirectHandler):
    max_redirections = 5

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        """Raises SourceError for an address that could not have been typed."""
        if why := _why_not(newurl):
            fp.close()
            raise SourceError(f"{_shown(req.full_url)} sends us to {_shown(newurl)}, which {why}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)
