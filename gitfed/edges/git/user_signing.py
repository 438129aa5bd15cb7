"""Signing as the person at the keyboard: with the key and the program that Git is set up with, as `git commit -S` does.

Which key, and in which form, may be said by the repository's own configuration too. Which *program* is run may not: it
is the user's, or the usual one.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from gitfed.errors import SourceError
from gitfed.text.values import dataclass

_KEY, _FORMAT, _ALWAYS = "user.signingkey", "gpg.format", "commit.gpgsign"
_TIMEOUT = 120.0
"""Seconds for a person to touch a token, or to type a passphrase."""


@dataclass(frozen=True, slots=True)
class SigningSetup:
    form: str
    """`ssh` or `openpgp`."""
    key: str
    program: str
    always: bool
    """Whether every commit is to be signed (`commit.gpgSign`)."""

    def sign(self, payload: bytes) -> bytes:
        """Raises SourceError."""
        if self.form != "ssh":
            named = ["-u", self.key] if self.key else []
            return self._run([self.program, "--status-fd=2", "--detach-sign", "--armor", *named], payload)
        with tempfile.TemporaryDirectory(prefix="gitfed-sign-") as folder:
            literal = self.key.removeprefix("key::")
            agent: list[str] = []
            path = Path(os.path.expanduser(self.key))
            if literal != self.key or self.key.startswith("ssh-"):
                path = Path(folder) / "key.pub"
                path.write_text(literal + "\n")
                agent = ["-U"]  # the private half is the agent's
            return self._run([self.program, "-Y", "sign", "-n", "git", "-f", str(path), *agent], payload)

    def _run(self, command: list[str], payload: bytes) -> bytes:
        try:
            done = subprocess.run(command, input=payload, capture_output=True, check=False, timeout=_TIMEOUT)
        except subprocess.TimeoutExpired as error:
            raise SourceError(f"{self.program} did not sign within {_TIMEOUT:g} seconds") from error
        except OSError as error:
            raise SourceError(f"{self.program} cannot be run: {error.strerror}") from error
        if done.returncode or b"SIGNATURE-----" not in done.stdout:
            complaints = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise SourceError(
                f"{self.program} cannot sign with {self.key}: {complaints[-1] if complaints else 'no signature'}",
                hint="git config user.signingKey names the key",
            )
        return done.stdout.replace(b"\r\n", b"\n")


def of(repository: Path) -> SigningSetup | None:
    """How the user signs commits of this repository; None: no key is named."""
    own = _settings(Path("/"))
    settings = _settings(repository) if repository.exists() else own
    key, form = settings.get(_KEY, ""), settings.get(_FORMAT, "openpgp").lower()
    always = settings.get(_ALWAYS, "false").lower() in ("true", "yes", "on", "1", "")
    if form not in ("ssh", "openpgp") or not (key or (form == "openpgp" and always)):
        return None
    usual = own.get("gpg.ssh.program") or "ssh-keygen"
    if form == "openpgp":
        usual = own.get("gpg.openpgp.program") or own.get("gpg.program") or "gpg"
    return SigningSetup(form, key, usual, always)


def of_person(repository: Path, *, needed: bool) -> Callable[[bytes], bytes] | None:
    """What signs a person's order; None where the person does not sign, and need not.

    Raises SourceError where it is `needed` and Git names no key.
    """
    setup = of(repository)
    if setup is not None and (needed or setup.always):
        return setup.sign
    if needed:
        raise SourceError(
            "an order must be signed here, and git names no key of yours",
            hint="git config user.signingKey ~/.ssh/id_ed25519.pub && git config gpg.format ssh",
        )
    return None


def _settings(folder: Path) -> dict[str, str]:
    """What `git config` says in a folder, names in lower case; the last one counts."""
    environment = {name: value for name, value in os.environ.items() if name not in ("GIT_DIR", "GIT_WORK_TREE")}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), "config", "--list", "-z"],
            capture_output=True,
            check=False,
            env=environment,
            timeout=_TIMEOUT,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    settings = {}
    for line in done.stdout.decode("utf-8", "replace").split("\0"):
        name, _, value = line.partition("\n")
        settings[name.lower()] = value
    return settings
