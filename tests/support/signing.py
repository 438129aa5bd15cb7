"""People with real keys who sign real commits: PGP with gpg, SSH with ssh-keygen."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.support import needs


@dataclass(frozen=True)
class Person:
    """`kind` is openpgp or ssh; `public` the public key as a file would hold it."""

    name: str
    kind: str
    home: Path
    key: str
    public: str

    @property
    def fingerprint(self) -> str:
        if self.kind == "openpgp":
            return self.key
        done = subprocess.run(["ssh-keygen", "-lf", f"{self.key}.pub"], check=True, capture_output=True, text=True)
        return done.stdout.split()[1]

    def git(self, work: Path, *arguments: str) -> str:
        """A git command as this person."""
        environment = {
            **os.environ, "GNUPGHOME": str(self.home), "HOME": str(self.home), "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": self.name, "GIT_AUTHOR_EMAIL": f"{self.name}@example.org",
            "GIT_COMMITTER_NAME": self.name, "GIT_COMMITTER_EMAIL": f"{self.name}@example.org",
        }  # fmt: skip
        settings = [f"gpg.format={self.kind}", f"user.signingKey={self.key}", "commit.gpgSign=true"]
        config = [part for setting in settings for part in ("-c", setting)]
        done = subprocess.run(
            ["git", "-C", str(work), *config, *arguments], check=True, capture_output=True, text=True, env=environment
        )
        return done.stdout.strip()

    def commit(self, work: Path, message: str = "a change", *, signed: bool = True) -> str:
        self.git(work, "add", "-A")
        self.git(work, "commit", "-q", "--allow-empty", "-m", message, *([] if signed else ["--no-gpg-sign"]))
        return self.git(work, "rev-parse", "HEAD")


def with_ssh(name: str, folder: Path) -> Person:
    needs.path_of("ssh-keygen")
    home = folder / name
    home.mkdir(parents=True)
    key = home / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(key)], check=True)
    return Person(name, "ssh", home, str(key), key.with_suffix(".pub").read_text())


def with_pgp(name: str, folder: Path, *, expires: str = "0", now: str = "") -> Person:
    """`now` is gpg's faked time of creation (20200101T000000), `expires` the key's life from then."""
    needs.path_of("gpg")
    home = folder / name
    home.mkdir(parents=True, mode=0o700)
    gpg = [
        "gpg",
        "--homedir",
        str(home),
        "--batch",
        "--quiet",
        "--no-tty",
        *(["--faked-system-time", now] if now else []),
    ]
    subprocess.run(
        [*gpg, "--passphrase", "", "--quick-generate-key", f"{name} <{name}@example.org>", "ed25519", "sign", expires],
        check=True, capture_output=True,
    )  # fmt: skip
    listed = subprocess.run([*gpg, "--with-colons", "-k"], check=True, capture_output=True, text=True).stdout
    fingerprint = next(line.split(":")[9] for line in listed.splitlines() if line.startswith("fpr"))
    public = subprocess.run([*gpg, "--armor", "--export"], check=True, capture_output=True, text=True).stdout
    return Person(name, "openpgp", home, fingerprint, public)


def end_agents(folder: Path) -> None:
    """gpg starts an agent for a key's home; it would outlive the test."""
    for home in folder.iterdir():
        if (home / "pubring.kbx").exists():
            subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], check=False, capture_output=True)
