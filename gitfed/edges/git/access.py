"""With what an address is reached: tokens, keys and authorities from a folder of mounted files, for one command.

A credential belongs to one scheme, host and port. Its folder says which (`url`), or the repository named on the command
line; an address that stands *in* a repository (`spec.state.url`) gets it only if it has the same three. Nothing of it
is ever an argument of a program, where every user of the machine could read it: it goes into the environment of the one
git process, or into files that only we can read. Redirects are not followed (`program`).

The file names are those of the Secrets that Flux mounts: `username`, `password`, `bearerToken`, `ca.crt`, `tls.crt`,
`tls.key`, `identity`, `known_hosts` and `githubApp…`. They are read for every command, so they may be rotated.
"""

from __future__ import annotations

import base64
import contextlib
import os
import shlex
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from gitfed.edges import address
from gitfed.edges.git import location, program
from gitfed.errors import SourceError, UsageError
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.edges.git import app

_LARGEST = 64 * 1024
_HEADER = ".extraHeader"
_HOW = "docs: how-to/credentials"
_MARKS = ("username", "password", "bearerToken", "identity", "known_hosts", "ca.crt", "tls.crt", "githubAppID")
_SSH = ("BatchMode=yes", "StrictHostKeyChecking=yes", "ConnectTimeout=30", "ServerAliveInterval=15",
        "ServerAliveCountMax=4")  # fmt: skip


@dataclass(frozen=True, slots=True)
class GitAccess:
    """How one command reaches one address."""

    url: str
    """Without what stood before the host."""
    environment: Mapping[str, str]

    @property
    def authorized(self) -> bool:
        """Whether a header with a credential goes along."""
        return any(value.endswith(_HEADER) for value in self.environment.values())


class Access:
    """The credentials of one process. `source` is the address on the command line: files without a `url` are for it."""

    def __init__(self, folder: Path | None = None, *, source: str = "") -> None:
        self._folder = folder
        self._source = location.origin(source) if location.is_url(source) else None
        self._tokens: dict[tuple[str, ...], app.Token] = {}
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def to(self, url: str) -> Iterator[GitAccess]:
        """What a command gets for `url`. Files that had to be made are gone afterwards.

        Raises SourceError for files that cannot be used and for names of addresses that are not contacted,
        SourceUnreachable when an app's token cannot be had now.
        """
        login, bare = location.split_login(url)
        origin = location.origin(bare)
        if origin.scheme in ("ssh", "git"):
            _addresses(origin)
        folder = self._folder_for(origin)
        with contextlib.ExitStack() as stack:
            if origin.scheme == "ssh":
                # The name before the host is the user to log in as, not a secret.
                yield GitAccess(url, self._ssh(folder, stack))
            elif origin.scheme in ("http", "https"):
                yield GitAccess(bare, self._http(folder, origin, login))
            else:
                yield GitAccess(url, {})

    def _folder_for(self, origin: location.Origin) -> Path | None:
        if self._folder is None:
            return None
        for folder in _folders(self._folder):
            named = _text(folder, "url")
            if named:
                bound = location.origin(named) if location.is_url(named) else None
                if bound is None:
                    raise SourceError(f"{folder / 'url'} holds no URL", hint=_HOW)
            elif folder != self._folder:
                raise SourceError(f"{folder} does not say whom it is for", hint="write the address into a file `url`")
            else:
                bound = self._source
            if bound == origin:
                return folder
        return None

    # -- https --------------------------------------------------------------------------------------------------

    def _http(self, folder: Path | None, origin: location.Origin, login: str) -> dict[str, str]:
        environment = {}
        header = _basic(unquote(login)) if login else ""
        if folder is not None:
            header = self._authorization(folder, origin) or header
            for name, variable in (
                ("ca.crt", "GIT_SSL_CAINFO"),
                ("tls.crt", "GIT_SSL_CERT"),
                ("tls.key", "GIT_SSL_KEY"),
            ):
                if (folder / name).exists():
                    environment[variable] = str((folder / name).resolve())
        settings = _pinned(origin)
        if header:
            # Git itself compares scheme, host and port with those of the request.
            settings[f"http.{origin}/{_HEADER}"] = f"Authorization: {header}"
        return environment | program.as_environment(settings)

    def _authorization(self, folder: Path, origin: location.Origin) -> str:
        if bearer := _text(folder, "bearerToken"):
            return f"Bearer {bearer}"
        if identity := _text(folder, "githubAppID"):
            return _basic(f"x-access-token:{self._app_token(folder, identity, origin)}")
        if password := _text(folder, "password"):
            return _basic(f"{_text(folder, 'username') or 'git'}:{password}")
        return ""

    def _app_token(self, folder: Path, identity: str, origin: location.Origin) -> str:
        from gitfed.edges.git import app  # an HTTP client and cryptography: only for users that have an app

        key = _needed(folder, "githubAppPrivateKey")
        installation = _needed(folder, "githubAppInstallationID")
        base = _text(folder, "githubAppBaseURL") or app.usual_base(origin.host)
        authority = folder / "ca.crt"
        name = (identity, installation, base, key)
        with self._lock:
            token = self._tokens.get(name)
            if token is None or not token.fresh():
                token = self._tokens[name] = app.installation_token(
                    identity, installation, key, base=base, authority=authority if authority.exists() else None
                )
        return token.value

    # -- ssh ----------------------------------------------------------------------------------------------------

    def _ssh(self, folder: Path | None, stack: contextlib.ExitStack) -> dict[str, str]:
        """Without a folder of ours, the user's own ssh decides; but an unknown host is refused all the same."""
        command = os.environ.get("GIT_SSH_COMMAND") or "ssh"
        options = list(_SSH)
        if folder is not None:
            hosts = _needed(folder, "known_hosts", hint="ssh-keyscan HOST prints it; compare the key with its owner's")
            # ssh refuses a key that others can read, and a mounted Secret often is: it gets a copy of ours.
            private = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gitfed-ssh-")))
            command = "ssh -F none"
            # The quotes are for ssh itself: it takes a path with a space in it for two.
            options += [
                f'UserKnownHostsFile="{_written(private, "known_hosts", hosts)}"',
                "GlobalKnownHostsFile=none",
                "UpdateHostKeys=no",
            ]
            if identity := _text(folder, "identity"):
                options += [
                    f'IdentityFile="{_written(private, "identity", identity)}"',
                    "IdentitiesOnly=yes",
                    "IdentityAgent=none",
                ]
        settings = " ".join(f"-o {shlex.quote(option)}" for option in options)
        return {"GIT_SSH_COMMAND": f"{command} {settings}", "GIT_SSH_VARIANT": "ssh"}


def _addresses(origin: location.Origin) -> tuple[str, ...]:
    """Where a host is, as far as that is known here. Raises SourceError for what is not contacted."""
    places, refused = address.resolved(origin.host, origin.port)
    if refused and not (places and origin.scheme.startswith("http")):
        raise SourceError(f"{origin} is {refused}")
    return places


def _pinned(origin: location.Origin) -> dict[str, str]:
    """Git's setting to go to the addresses that were looked at: the name may stand for another one a moment later.

    ssh has no such setting; there the key of the host, which is always compared, tells it from any other.
    """
    addresses = _addresses(origin)
    if not addresses or origin.host in addresses:
        return {}
    places = ",".join(f"[{literal}]" if ":" in literal else literal for literal in addresses)
    return {"http.curloptResolve": f"{origin.host}:{origin.port}:{places}"}


def _folders(folder: Path) -> list[Path]:
    """The folder itself if it holds a credential, and those in it. Names with a dot are Kubernetes' own."""
    try:
        inside = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    except OSError as error:
        raise SourceError(f"{folder} cannot be read: {error.strerror}", hint=_HOW) from error
    return [*([folder] if any((folder / name).exists() for name in _MARKS) else []), *inside]


def _text(folder: Path, name: str) -> str:
    """The content of a file without white space around it; "" when there is no such file."""
    try:
        with (folder / name).open("rb") as file:
            content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise SourceError(f"{folder / name} has more than {_LARGEST} bytes: it is no credential", hint=_HOW)
        text = content.decode("ascii" if name not in ("username", "password", "known_hosts") else "utf-8").strip()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise SourceError(f"{folder / name} cannot be read: {error.strerror}", hint=_HOW) from error
    except UnicodeDecodeError as error:
        raise SourceError(f"{folder / name} is not text", hint=_HOW) from error
    several = ("identity", "known_hosts", "githubAppPrivateKey", "ca.crt")
    if name not in several and any(ord(letter) < 32 for letter in text):
        # A line break would begin another header of the request.
        raise SourceError(f"{folder / name} has more than one line", hint=_HOW)
    return text


def _needed(folder: Path, name: str, *, hint: str = _HOW) -> str:
    text = _text(folder, name)
    if not text:
        raise SourceError(f"{folder} has no {name}", hint=hint)
    return text


def _written(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(content + "\n")
    except OSError as error:
        raise SourceError(f"{path} cannot be written: {error.strerror}") from error
    return path


def _basic(login: str) -> str:
    if any(ord(letter) < 32 for letter in login):
        raise UsageError("the login in the repository's URL holds a control character")
    login = login if ":" in login else f"{login}:"
    return "Basic " + base64.b64encode(login.encode()).decode()
