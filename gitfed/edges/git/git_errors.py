"""What the git program complains of, in our words: what happened, at which address, and what to do.

Git and ssh speak to people at a terminal, in many lines of which the first is rarely the best. What decides here is
whether trying again may help (SourceUnreachable) and, if a server said so, when.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

from gitfed.errors import CloneUnwritable, SourceError, SourceUnreachable

_LONGEST_WAIT = 3600.0
_UNREACHABLE = re.compile(
    r"could not resolve host|could not read from remote|unable to access|connection (refused|reset|timed out)|"
    r"does not appear to be a git repository|repository .* not found|early eof|unexpected disconnect|"
    r"remote end hung up|unable to connect|timeout: the command|"
    r"rpc failed|the tls connection|invalid index-pack output|bad pack header",
    re.IGNORECASE,
)
_NO_ROOM = (
    r"no space left on device|disk quota exceeded|file too large|read-only file system|ended by SIGXFSZ|"
    r"out of diskspace|write error|unable to write"
)
_UNWRITABLE = {
    # Of a fetch, what is not permitted may be the other side.
    "fetch": re.compile(_NO_ROOM, re.IGNORECASE),
    **dict.fromkeys(
        ("init", "fast-import", "update-ref"),
        re.compile(rf"{_NO_ROOM}|insufficient permission|permission denied", re.IGNORECASE),
    ),
}
_TEMPORARY = re.compile(r"(?:sha1 file )?'?[\w./-]*tmp_\w+(?:/\w+)?'?")
_STATUS = re.compile(r"The requested URL returned error: (\d{3})")
_RETRY_AFTER = re.compile(r"Recv header: *retry-after: *(.+)", re.IGNORECASE)
_WHOLE = "bring all of it: git fetch --refetch --no-filter origin"
_CREDENTIALS = "--git-credentials DIR gives them; docs: how-to/credentials"


def retry_after(value: str) -> float | None:
    """Seconds that a `Retry-After` header asks to wait (number or date), at most an hour; None: it says nothing."""
    import email.utils  # rarely needed, and not small

    value = value.strip()
    if value.isdecimal():
        return min(float(value), _LONGEST_WAIT)
    try:
        when = email.utils.parsedate_to_datetime(value)
    except ValueError:
        return None
    return min(max(0.0, when.timestamp() - time.time()), _LONGEST_WAIT)


def translate(
    args: Sequence[str], output: str, *, shown: str = "", trace: str = "", authorized: bool = False
) -> SourceError:
    """The error for a git command that failed. `shown` is the address it asked, `trace` the headers it received;
    `authorized` says that credentials were sent.
    """
    text = output.strip().removeprefix("stderr:").strip().strip("'")
    if "dubious ownership" in text:
        return SourceError(
            _first(args, text), hint="git config --global --add safe.directory PATH, if you trust its owner"
        )
    if "from promisor remote" in text or "lazy fetching disabled" in text:
        return partial_clone()
    if shown and (error := _of_server(text, shown, trace, authorized)):
        return error
    if (full := _UNWRITABLE.get(args[0])) and "remote: " not in text:
        line = next((line for line in text.splitlines() if full.search(line)), "")
        if line:
            return unwritable(args, line)
    kind = SourceUnreachable if _UNREACHABLE.search(text) else SourceError
    message = _first(args, text)
    if args[0] == "push" and kind is SourceError:
        message = "; ".join(line.strip() for line in text.splitlines()[:4])
    return kind(f"git {args[0]}: {_printable(message)}")


def unwritable(args: Sequence[str], output: str) -> CloneUnwritable:
    """Without the name of the temporary file, which is another one each time: what is the same is said once."""
    output = _TEMPORARY.sub("a file", _first(args, output))
    return CloneUnwritable(f"git {args[0]}: {_printable(output)}", hint="make room in the data directory")


def partial_clone() -> SourceError:
    """For content that a partial clone left out. Reading does not fetch: that would ask for every file."""
    return SourceError("this clone is partial and lacks what is asked for", hint=_WHOLE)


def _of_server(text: str, shown: str, trace: str, authorized: bool) -> SourceError | None:
    """What is common enough to have a sentence of its own."""
    if "REMOTE HOST IDENTIFICATION HAS CHANGED" in text:
        hint = "the connection may be intercepted; if the server's owner changed the key, put the new one there"
        return SourceError(f"{shown} shows another host key than known_hosts has", hint=hint)
    if "Host key verification failed" in text:
        hint = "ssh-keyscan HOST prints its key; compare it with its owner's"
        return SourceError(f"{shown} is not in known_hosts", hint=hint)
    if "Permission denied (" in text:
        return SourceError(f"{shown} refuses our key", hint=_CREDENTIALS)
    if any(sign in text for sign in ("could not read Username", "could not read Password", "Authentication failed")):
        # Git would now ask a person for others.
        return SourceError(f"{shown} {'refuses the' if authorized else 'asks for'} credentials", hint=_CREDENTIALS)
    match = _STATUS.search(text)
    status = int(match[1]) if match else 0
    if 300 <= status < 400 or "unable to update url base from redirection" in text:
        hint = "name the address that it leads to"
        return SourceError(
            f"{shown} answers with a redirect, which is not followed (HTTP {status or '3xx'})", hint=hint
        )
    if status in (429, 503):
        waits = [wait for value in _RETRY_AFTER.findall(trace) if (wait := retry_after(value)) is not None]
        wait = waits[-1] if waits else None
        how_long = f", for {wait:.0f} seconds" if wait is not None else ""
        return SourceUnreachable(f"{shown} asks to be left alone{how_long}: HTTP {status}", retry_after=wait)
    return None


def _first(args: Sequence[str], text: str) -> str:
    first = next((line for line in text.splitlines() if line.strip()), f"git {args[0]} failed")
    return first.removeprefix("fatal: ").removeprefix("error: ")


def _printable(message: str) -> str:
    """A server says part of this text: it must not move the cursor of a reader's terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in message)[:1000]
