"""Running the git program: safely whatever the repository holds, ended with all it started, its errors in our words.

Every command gets a configuration and an environment under which nothing in a repository can start a program on this
machine. Those that could obey settings with free names besides (to talk to another repository, to commit files of a
checkout) run in a `private_dir`. The commands themselves are next door: `objects`, `history`, `remote`, `write`.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shlex
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from gitfed.edges.git import git_errors
from gitfed.edges.git.cat_file import CatFile
from gitfed.errors import SourceError, SourceUnreachable

_ASKING = ("fetch", "ls-remote")
_TELLING = "push"
SAFE_CONFIG = (
    # A repository must not be able to start a program on this machine, whatever its configuration says.
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "credential.helper=",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "log.showSignature=false",
    "core.alternateRefsCommand=",
    # A push to a checkout would else write its files, through its filters.
    "receive.denyCurrentBranch=refuse",
    "http.followRedirects=false",
    # A server that sends nothing for a minute will not send any more.
    "http.lowSpeedLimit=1",
    "http.lowSpeedTime=60",
    "transfer.fsckObjects=true",
)
SAFE_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",  # nor is a program asked for a password, wherever one is named
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_ADVICE": "0",
    # Unlike `protocol.allow`, no `protocol.ext.allow` of a repository goes before it.
    "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
    # An object that is missing in a partial clone would be fetched by a command of its configuration.
    "GIT_NO_LAZY_FETCH": "1",
    # A person who may push could put another object in the place of a commit, its signature included.
    "GIT_NO_REPLACE_OBJECTS": "1",
}
_OLDEST = (2, 39)
_MOST_ENTRIES = 1_000_000
_MOST_LISTED = 256 * 1024 * 1024


class Program:
    """The git program, for the repository at `path`. May be used from several threads.

    A process that reads objects lives between commands. It ends with `close`, or with this object at the latest.
    """

    def __init__(self, path: Path, *, env: Mapping[str, str] | None = None) -> None:
        self.path = path
        self._environment = {**SAFE_ENVIRONMENT, **(env or {})}
        piped = functools.partial(
            _start, path, self._environment, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
        )  # its complaints would not be read: a full pipe would stop it
        self._objects = CatFile(piped)
        self._lock = threading.Lock()
        self._abroad: dict[subprocess.Popen[bytes], str] = {}
        """Commands that speak with another repository, with the command's name."""
        self._interrupted: tuple[str, ...] = ()
        """Commands that are under way no more, and will not be."""

    def check_version(self) -> None:
        """Raises SourceError for a git that is older than what is tested, and than the fixes of 2022 in it."""
        version = self.text("version")
        numbers = re.search(r"(\d+)\.(\d+)", version)
        if numbers is None or (int(numbers[1]), int(numbers[2])) < _OLDEST:
            oldest = ".".join(str(number) for number in _OLDEST)
            raise SourceError(f"{version or 'git'} is too old", hint=f"install Git {oldest} or newer")

    def close(self) -> None:
        with self._lock:
            self._objects.close()

    def run(
        self,
        *args: str,
        stdin: bytes | None = None,
        timeout: float | None = 120,
        environment: Mapping[str, str] | None = None,
        told: Callable[[str], SourceError] | None = None,
    ) -> bytes:
        """What a command prints. `told` makes the error of what it complains of (default: `git_errors.translate`)."""
        with tempfile.TemporaryFile() as feed:
            if stdin is not None:
                try:
                    feed.write(stdin)
                    feed.seek(0)
                except OSError as error:
                    raise git_errors.unwritable(args, f"its input cannot be written: {error.strerror}") from error
            # In a session of its own, so that the helper that talks to a server can be ended with it.
            process = _start(
                self.path, {**self._environment, **(environment or {})}, *args, stdin=feed, start_new_session=True
            )
            if args[0] in (*_ASKING, _TELLING):
                self._abroad[process] = args[0]
                if args[0] in self._interrupted:
                    _kill(process)
            try:
                output, complaint = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                _kill(process)
                output, complaint = process.communicate()
                complaint += b"\ntimeout: the command was ended after %d seconds" % (timeout or 0)
            finally:
                self._abroad.pop(process, None)
        if process.returncode and args[0] in self._interrupted:
            raise SourceUnreachable(f"git {args[0]}: interrupted, because the process stops")
        if process.returncode:
            text = complaint.decode("utf-8", "replace")
            if process.returncode < 0 and not text:
                text = f"ended by {signal.Signals(-process.returncode).name}"
            raise told(text) if told is not None else git_errors.translate(args, text)
        return output

    def interrupt(self, *, pushes: bool = False) -> None:
        """End every question to another repository that is under way in some thread, and every later one.

        For a process that is asked to stop: a server that never answers would hold it for minutes. `pushes`: those as
        well. A push that is cut off was taken as a whole by then, or not at all.
        """
        self._interrupted = (*_ASKING, _TELLING) if pushes else tuple({*self._interrupted, *_ASKING})
        for process, command in list(self._abroad.items()):
            if command in self._interrupted:
                _kill(process)

    def records(self, *args: str) -> list[bytes]:
        """What a listing with `-z` prints, refused once it is larger than any fleet's repository.

        Ten objects are enough for ten thousand million paths: a folder that holds one other folder ten times, level
        by level. So the output is counted while it comes, and not when all of it is there.
        """
        process = _start(self.path, self._environment, *args)
        chunks: list[bytes] = []
        size = count = 0
        output: Any = process.stdout
        errors: Any = process.stderr
        with output, errors:
            while chunk := output.read(1 << 20):
                size += len(chunk)
                count += chunk.count(b"\0")
                if size > _MOST_LISTED or count > _MOST_ENTRIES:
                    process.kill()
                    process.wait()
                    raise SourceError(
                        f"{args[-1][:12]} lists more than {_MOST_ENTRIES} files or {_MOST_LISTED} bytes of names",
                        hint="keep what is deployed in a repository of its own",
                    )
                chunks.append(chunk)
            complaint = errors.read()
            if process.wait():
                raise git_errors.translate(args, complaint.decode("utf-8", "replace"))
        return b"".join(chunks).split(b"\0")

    def text(self, *args: str) -> str:
        return self.run(*args).decode("utf-8", "surrogateescape").strip()

    def is_partial(self) -> bool:
        """Whether this clone was made without some objects (`git clone --filter`)."""
        try:
            return bool(self.text("config", "--get-regexp", r"^(extensions\.partialclone|remote\..*\.promisor)$"))
        except SourceError:
            return False


def _start(
    path: Path,
    environment: Mapping[str, str],
    *args: str,
    stdin: int | IO[bytes] = subprocess.DEVNULL,
    stderr: int = subprocess.PIPE,
    start_new_session: bool = False,
) -> subprocess.Popen[bytes]:
    """Raises SourceError."""
    try:
        return subprocess.Popen(
            _command(args),
            cwd=path,
            # What Git complains of is read (`git_errors`): in English, whatever the user's language.
            env={**os.environ, "LANGUAGE": "C", "LC_ALL": "C", **environment},
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=start_new_session,
        )
    except OSError as error:
        if error.filename == str(path):
            raise SourceError(f"{path} cannot be entered: {error.strerror}") from error
        if isinstance(error, FileNotFoundError):
            raise SourceError("the git program was not found", hint="install Git 2.39 or newer") from error
        raise SourceError(f"the git program cannot be started: {error.strerror}") from error


def _kill(process: subprocess.Popen[bytes]) -> None:
    """With everything that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def as_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Git settings for one command, as environment: arguments can be read by every user. The user's own stay."""
    if not settings:
        return {}
    count = os.environ.get("GIT_CONFIG_COUNT", "")
    first = int(count) if count.isdecimal() else 0
    environment = {"GIT_CONFIG_COUNT": str(first + len(settings))}
    for number, (name, value) in enumerate(settings.items(), first):
        environment |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return environment


def other_side(service: str) -> str:
    """What serves a repository on this machine to a fetch (`upload-pack`) or takes its push (`receive-pack`).

    Git starts it in that repository, as us and with nothing of our configuration: its hooks would run. A shell reads
    this.
    """
    return shlex.join(_command([service]))


def _command(args: Sequence[str]) -> list[str]:
    config = [part for setting in SAFE_CONFIG for part in ("-c", setting)]
    return ["git", *config, *args]
