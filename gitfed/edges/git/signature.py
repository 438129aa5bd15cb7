"""Who signed a commit: its signature, checked by `gpg` or `ssh-keygen` against public keys that the settings name.

The signature is taken out of the commit here and handed over with exactly what it signs. So neither the repository's
configuration (`gpg.program`) nor the user's own keys have a say: a signature counts if it is good, its key is one of
ours, and the key has neither expired nor been revoked. Names in a signature are for people; what counts is the key.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from pathlib import Path

from gitfed.text import public_key
from gitfed.text.values import dataclass

_TIMEOUT = 30.0
_LARGEST_KEYS = 1024 * 1024
_PGP = b"-----BEGIN PGP PUBLIC KEY BLOCK-----"


@dataclass(frozen=True, slots=True)
class Keyring:
    """The keys whose signatures count."""

    ssh: Mapping[str, str] = field(default_factory=dict)
    """Fingerprint (`SHA256:…`) → whose key it is."""
    pgp: frozenset[str] = frozenset()
    """Fingerprints that count, capital hexadecimal digits."""
    trusted: tuple[bytes, ...] = ()
    """Key blocks of which every key counts."""
    key_files: tuple[bytes, ...] = ()
    """Key blocks in which a fingerprint of `pgp` may be found."""
    unusable: tuple[str, ...] = ()
    """What was named as a key and is none, each with the reason."""

    def __bool__(self) -> bool:
        return bool(self.ssh or self.trusted or (self.pgp and self.key_files))


@dataclass(frozen=True, slots=True)
class SignatureVerdict:
    """`by` is whose signature it is; `why_not` says why the commit has none that counts."""

    by: str = ""
    why_not: str = ""


def keyring(entries: Iterable[str], read: Callable[[str], bytes | None], *, key_files: Iterable[bytes] = ()) -> Keyring:
    """Keys by what names them: an SSH public key, a fingerprint, or the path of a file with either kind of keys.

    `read` gives the content of a path, None if there is no such file. `key_files` are files in which PGP keys that are
    only named by fingerprint may be found.
    """
    ssh: dict[str, str] = {}
    pgp: set[str] = set()
    trusted: list[bytes] = []
    unusable: list[str] = []
    for entry in entries:
        if public_key.SSH_FINGERPRINT.fullmatch(entry):
            ssh[entry] = entry
        elif fingerprint := public_key.pgp_fingerprint(entry):
            pgp.add(fingerprint)
        elif match := public_key.SSH_KEY.fullmatch(entry):
            _add_ssh(ssh, match, entry, unusable)
        elif (content := read(entry)) is None:
            unusable.append(f"{entry}: no such file")
        elif len(content) > _LARGEST_KEYS:
            unusable.append(f"{entry}: more than {_LARGEST_KEYS} bytes")
        elif _PGP in content:
            trusted.append(content)
        else:
            before = len(ssh)
            for line in content.decode("utf-8", "replace").splitlines():
                text = line.strip()
                if not text or text.startswith("#"):
                    continue
                if match := public_key.SSH_KEY.fullmatch(text):
                    _add_ssh(ssh, match, entry, unusable)
                else:
                    unusable.append(f"{entry}: a line that is no public key (options of allowed_signers do not count)")
            if len(ssh) == before and not any(complaint.startswith(entry) for complaint in unusable):
                unusable.append(f"{entry}: no public key in it")
    pgp_files = tuple(content for content in key_files if _PGP in content)
    return Keyring(ssh, frozenset(pgp), tuple(trusted), pgp_files, tuple(unusable))


def verify(raw: bytes, keys: Keyring) -> SignatureVerdict:
    """Whether the signature of a commit counts. `raw` is the commit object's content."""
    payload, signature = split(raw)
    if not signature:
        return SignatureVerdict(why_not="is not signed")
    with tempfile.TemporaryDirectory(prefix="gitfed-keys-") as folder:
        try:
            if signature.startswith(b"-----BEGIN SSH SIGNATURE-----"):
                return _verify_ssh(payload, signature, keys, Path(folder))
            if signature.startswith((b"-----BEGIN PGP SIGNATURE-----", b"-----BEGIN PGP MESSAGE-----")):
                return _verify_pgp(payload, signature, keys, Path(folder))
        except FileNotFoundError as error:
            return SignatureVerdict(why_not=f"has a signature, and the program {error.filename} is missing to check it")
        except subprocess.TimeoutExpired:
            return SignatureVerdict(why_not="has a signature that could not be checked in time")
    return SignatureVerdict(why_not="has a signature that is neither PGP's nor SSH's")


def split(raw: bytes) -> tuple[bytes, bytes]:
    """(what is signed, the signature) of a commit. Git: a signature is a header, its lines indented by one space.

    A commit of a SHA-256 repository has it under another name, and a header that is not its own is not signed.
    """
    head, _, message = raw.partition(b"\n\n")
    lines = head.split(b"\n")
    own = b"gpgsig-sha256" if len(lines[0]) == len("tree ") + 64 else b"gpgsig"
    kept: list[bytes] = []
    signatures: list[list[bytes]] = []
    inside: list[bytes] | None = None
    for line in lines:
        name, _, rest = line.partition(b" ")
        if line.startswith(b" ") and inside is not None:
            inside.append(line[1:])
        elif name in (b"gpgsig", b"gpgsig-sha256"):
            inside = [rest]
            if name == own:
                signatures.append(inside)
        else:
            inside = None
            kept.append(line)
    payload = b"\n".join(kept) + b"\n\n" + message
    # Of two signatures it would be open which one counts.
    return payload, b"\n".join(signatures[0]) + b"\n" if len(signatures) == 1 else b""


def _verify_ssh(payload: bytes, signature: bytes, keys: Keyring, folder: Path) -> SignatureVerdict:
    file = folder / "signature"
    file.write_bytes(signature)
    done = _run(["ssh-keygen", "-Y", "check-novalidate", "-n", "git", "-s", str(file)], payload)
    report = done.stdout.decode("utf-8", "replace")
    match = re.fullmatch(r'Good "git" signature with \S+ key (SHA256:\S+)\s*', report)
    if done.returncode or match is None:
        return SignatureVerdict(why_not="has an SSH signature that is not good")
    owner = keys.ssh.get(match[1])
    return (
        SignatureVerdict(by=owner)
        if owner
        else SignatureVerdict(why_not=f"is signed with the key {match[1]}, which is not trusted")
    )


def _verify_pgp(payload: bytes, signature: bytes, keys: Keyring, folder: Path) -> SignatureVerdict:
    folder.chmod(0o700)
    gpg = [
        "gpg",
        "--homedir",
        str(folder),
        "--batch",
        "--no-tty",
        "--no-options",
        "--no-autostart",
        "--quiet",
        "--no-auto-key-retrieve",
        "--trust-model",
        "always",
        "--status-fd",
        "1",
    ]
    counting = set(keys.pgp)
    for content in keys.key_files:
        _run([*gpg, "--import"], content)
    for content in keys.trusted:
        told = _run([*gpg, "--import"], content).stdout.decode("ascii", "replace")
        counting.update(re.findall(r"^\[GNUPG:\] IMPORT_OK \d+ ([0-9A-F]+)", told, re.MULTILINE))
    file = folder / "signature"
    file.write_bytes(signature)
    done = _run([*gpg, "--verify", str(file), "-"], payload)
    status: dict[str, list[list[str]]] = {}
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        words = line.split(" ")
        if words[0] == "[GNUPG:]" and len(words) > 1:
            status.setdefault(words[1], []).append(words[2:])
    for sign, why in (("EXPKEYSIG", "has expired"), ("REVKEYSIG", "was revoked")):
        if sign in status:
            return SignatureVerdict(why_not=f"is signed with the key {status[sign][0][0]}, which {why}")
    if "EXPSIG" in status:
        return SignatureVerdict(why_not="has a signature that has expired")
    missing = status.get("NO_PUBKEY")
    if missing:
        return SignatureVerdict(why_not=f"is signed with the key {missing[0][0]}, which is not trusted")
    valid = status.get("VALIDSIG", [])
    if done.returncode or len(status.get("GOODSIG", [])) != 1 or len(valid) != 1:
        return SignatureVerdict(why_not="has a PGP signature that is not good")
    used, primary = valid[0][0], valid[0][-1]
    if not counting & {used, primary}:
        return SignatureVerdict(why_not=f"is signed with the key {primary}, which is not trusted")
    name = " ".join(status["GOODSIG"][0][1:])
    return SignatureVerdict(by=f"{_printable(name)} {primary}".strip())


def _add_ssh(ssh: dict[str, str], match: re.Match[str], entry: str, unusable: list[str]) -> None:
    try:
        key = base64.b64decode(match["key"], validate=True)
    except binascii.Error:
        unusable.append(f"{entry[:60]}: a key that is not base64")
        return
    fingerprint = "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")
    ssh[fingerprint] = f"{_printable(match['name'] or match['note'] or '')} {fingerprint}".strip()


def _run(command: list[str], payload: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, input=payload, capture_output=True, check=False, timeout=_TIMEOUT)


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)[:100]
