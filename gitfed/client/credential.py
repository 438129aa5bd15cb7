"""Who asks a hub, and whom they believe to be it.

A credential of a kubeconfig belongs to the address that stands beside it: unless its context is named, it goes nowhere
else. Programs that a kubeconfig would start are not started.
"""

from __future__ import annotations

import base64
import binascii
import ssl
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gitfed.client import address
from gitfed.edges import no_answer
from gitfed.errors import InputError, UsageError
from gitfed.text import yaml
from gitfed.text.construct import YamlError
from gitfed.text.values import dataclass

_LARGEST = 1 << 20
_REFUSED = {
    "exec": "a program is not started for a credential",
    "auth-provider": "a program is not started for a credential",
    "username": "a hub takes no passwords",
    "password": "a hub takes no passwords",
    "as": "a hub knows no impersonation",
    "insecure-skip-tls-verify": "a hub whose certificate is not verified gets no credential",
    "proxy-url": "HTTPS_PROXY names a proxy",
    "tls-server-name": "the certificate has to be for the host of the address",
}
_HINT = "--client-certificate and --client-key, --token-file, or the file that gitfed kubeconfig --admin printed"


@dataclass(frozen=True, slots=True)
class Files:
    """What is named on the command line."""

    authority: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    token: Path | None = None


@dataclass(frozen=True, slots=True)
class Credential:
    authority: bytes = b""
    """Certificates to know the hub by; nothing: those of the machine."""
    certificate: bytes = b""
    key: bytes = b""
    token: str = ""

    def __repr__(self) -> str:
        return "Credential(…)"

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def context(self) -> ssl.SSLContext:
        """Raises InputError for what is no certificate."""
        try:
            made = ssl.create_default_context(cadata=self.authority.decode() if self.authority else None)
        except (ssl.SSLError, ValueError) as error:
            raise InputError("--certificate-authority: there are no certificates in PEM form in it") from error
        if self.certificate:
            with tempfile.TemporaryDirectory() as folder:  # the ssl module reads files only
                pair = Path(folder) / "pair.pem"
                pair.touch(mode=0o600)
                pair.write_bytes(self.certificate + b"\n" + self.key)
                try:
                    made.load_cert_chain(pair, password="")  # no prompt for the password of a locked key
                except (ssl.SSLError, ValueError) as error:
                    why = no_answer.unusable_certificates(error) if isinstance(error, OSError) else "it is locked"
                    raise InputError(f"the client certificate and its key cannot be used: {why}") from error
        return made


def of_files(files: Files) -> Credential:
    """Raises UsageError, InputError."""
    if (files.certificate is None) != (files.key is None):
        raise UsageError("--client-certificate and --client-key need each other")
    if files.certificate is not None and files.token is not None:
        raise UsageError("--client-certificate and --token-file both say who asks", hint="name one of them")
    return Credential(
        _read(files.authority, "--certificate-authority"),
        _read(files.certificate, "--client-certificate"),
        _read(files.key, "--client-key"),
        _token(_read(files.token, "--token-file"), "--token-file"),
    )


def of_kubeconfig(paths: Sequence[Path], server: str, context: str = "") -> tuple[str, Credential]:
    """(the hub's address, who asks). With `context` as it says; else the first context that is for `server`.

    Raises UsageError where there is none, InputError for what cannot be used.
    """
    merged = _merged(paths)
    named = ", ".join(map(str, paths)) or "no kubeconfig"
    if context:
        if context not in merged["contexts"]:
            listed = ", ".join(sorted(merged["contexts"])) or "it has none"
            raise UsageError(f"{named}: no context {context!r}", hint=f"contexts: {listed}")
        chosen = context
    else:
        chosen = next((name for name in merged["contexts"] if _server(merged, name) == server), "")
        if not chosen:
            why = f"{named} has no context for it" if merged["contexts"] else "no kubeconfig was found"
            raise UsageError(f"nothing says who asks {server}: {why}", hint=_HINT)
    return server or address.checked(str(_of(merged, chosen, "cluster").get("server") or "")), _credential(
        merged, chosen
    )


def contexts(paths: Sequence[Path]) -> Iterator[str]:
    """Their names. Raises InputError."""
    yield from _merged(paths)["contexts"]


_Entries = dict[str, dict[str, tuple[Path, Mapping[str, Any]]]]


def _merged(paths: Sequence[Path]) -> _Entries:
    """Of two entries with one name the first counts, as for kubectl. Files that are not there are passed over."""
    merged: _Entries = {"contexts": {}, "clusters": {}, "users": {}}
    for path in paths:
        try:
            documents = yaml.load_all(_read(path, "kubeconfig")) if path.exists() else []
        except YamlError as error:
            raise InputError(f"kubeconfig {path}:{error}") from error
        content = documents[0] if documents else {}
        for section, entries in merged.items():
            listed = content.get(section) if isinstance(content, dict) else None
            for entry in listed if isinstance(listed, list) else ():
                inner = entry.get(section.removesuffix("s")) if isinstance(entry, dict) else None
                if isinstance(entry, dict) and isinstance(entry.get("name"), str) and isinstance(inner, dict):
                    entries.setdefault(entry["name"], (path, inner))
    return merged


def _of(merged: _Entries, context: str, member: str) -> Mapping[str, Any]:
    return _entry(merged, context, member)[1]


def _entry(merged: _Entries, context: str, member: str) -> tuple[Path, Mapping[str, Any]]:
    path, inner = merged["contexts"][context]
    return merged[f"{member}s"].get(str(inner.get(member) or ""), (path, {}))


def _server(merged: _Entries, context: str) -> str:
    try:
        return address.checked(str(_of(merged, context, "cluster").get("server") or ""))
    except UsageError:
        return ""


def _credential(merged: _Entries, context: str) -> Credential:
    parts: dict[str, bytes] = {}
    for member in ("cluster", "user"):
        path, inner = _entry(merged, context, member)
        where = f"kubeconfig {path}: context {context}"
        for name, why in _REFUSED.items():
            if inner.get(name):
                raise InputError(f"{where}: {name} is not used here: {why}", hint=_HINT)
        for name in ("certificate-authority", "client-certificate", "client-key"):
            if name in inner or f"{name}-data" in inner:
                parts[name] = _content(path, inner, name, where)
        if inner.get("token"):
            parts["token"] = str(inner["token"]).encode()
        elif inner.get("tokenFile"):
            parts["token"] = _read(path.parent / str(inner["tokenFile"]), f"{where}: tokenFile")
    if not parts.get("token") and not (parts.get("client-certificate") and parts.get("client-key")):
        raise InputError(f"kubeconfig: context {context} holds no credential", hint=_HINT)
    return Credential(
        parts.get("certificate-authority", b""),
        parts.get("client-certificate", b""),
        parts.get("client-key", b""),
        _token(parts.get("token", b""), f"kubeconfig: context {context}"),
    )


def _content(file: Path, inner: Mapping[str, Any], name: str, where: str) -> bytes:
    inline = inner.get(f"{name}-data")
    if not inline:
        return _read(file.parent / str(inner.get(name)), f"{where}: {name}")
    try:
        return base64.b64decode(str(inline), validate=True)
    except (binascii.Error, ValueError) as error:
        raise InputError(f"{where}: {name}-data is no base64") from error


def _read(path: Path | None, what: str) -> bytes:
    if path is None:
        return b""
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except OSError as error:
        raise InputError(f"{what} {path}: {error.strerror}") from error
    if len(content) > _LARGEST:
        raise InputError(f"{what} {path} is larger than 1 MiB")
    return content


def _token(content: bytes, where: str) -> str:
    token = content.decode("ascii", "replace").strip()
    if content and (not token or not token.isascii() or any(letter.isspace() for letter in token)):
        raise InputError(f"{where}: what it holds is no token")
    return token
