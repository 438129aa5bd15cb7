"""The SSH key with which gitfed signs its own commits: made once, kept in one file, read by real `ssh-keygen` and git.

A commit is made several times a minute, between a push and what it changes in the clusters: so it is signed in this
process (a tenth of a millisecond) and not by a program. The form is OpenSSH's (PROTOCOL.sshsig), namespace `git`.
"""

from __future__ import annotations

import base64
import hashlib
import os
import struct
from dataclasses import field
from pathlib import Path
from typing import Any

from gitfed.errors import SourceError
from gitfed.text.values import dataclass

_COMMENT = "gitfed"
_MAGIC, _NAMESPACE, _HASH, _KIND = b"SSHSIG", b"git", b"sha512", b"ssh-ed25519"
_LINE = 70


@dataclass(frozen=True, slots=True)
class SigningKey:
    public: str
    """A line of `allowed_signers` without the name: `ssh-ed25519 AAAA… gitfed`."""
    fingerprint: str
    """`SHA256:…`"""
    made: bool
    """Whether it was made just now: nothing can have been signed with it yet."""
    _private: Any = field(repr=False)

    def sign(self, payload: bytes) -> bytes:
        """The signature of what a commit says, as its header `gpgsig` holds it."""
        blob = base64.b64decode(self.public.split(" ")[1])
        signed = _MAGIC + b"".join(map(_string, (_NAMESPACE, b"", _HASH, hashlib.sha512(payload).digest())))
        made = _string(_KIND) + _string(self._private.sign(signed))
        signature = _MAGIC + struct.pack(">I", 1) + b"".join(map(_string, (blob, _NAMESPACE, b"", _HASH, made)))
        text = base64.b64encode(signature)
        lines = [text[start : start + _LINE] for start in range(0, len(text), _LINE)]
        return b"\n".join([b"-----BEGIN SSH SIGNATURE-----", *lines, b"-----END SSH SIGNATURE-----"])


def of_file(path: Path) -> SigningKey:
    """The key of a file; where there is none, a new one is made. Raises SourceError."""
    made = not path.exists()
    if made:
        _make(path)
    return _read(path, made=made)


def _make(path: Path) -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ed25519

    content = ed25519.Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)  # of two processes that make it at once, both read the first one's
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    except OSError as error:
        raise SourceError(f"the key {path} cannot be made: {error.strerror}") from error


def _read(path: Path, *, made: bool) -> SigningKey:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ed25519

    hint = f"gitfed state key --state-key {path} makes one where there is none"
    try:
        private = serialization.load_ssh_private_key(path.read_bytes(), password=None)
    except OSError as error:
        raise SourceError(f"the key {path} cannot be read: {error.strerror}") from error
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise SourceError(f"{path} is not an SSH private key without a passphrase", hint=hint) from error
    if not isinstance(private, ed25519.Ed25519PrivateKey):
        raise SourceError(f"{path} is not an Ed25519 key", hint=hint)
    line = private.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    digest = hashlib.sha256(base64.b64decode(line.split(b" ")[1])).digest()
    fingerprint = "SHA256:" + base64.b64encode(digest).decode().rstrip("=")
    return SigningKey(f"{line.decode()} {_COMMENT}", fingerprint, made, private)


def _string(content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + content
