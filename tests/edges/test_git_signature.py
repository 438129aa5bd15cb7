"""Signatures of real gpg and ssh-keygen: which count, and what is said of those that do not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitfed.edges import git
from gitfed.edges.git import signature
from gitfed.model.base import Commit
from gitfed.text import public_key
from tests.support import signing
from tests.support.signing import Person


@pytest.fixture
def people(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "people"
    folder.mkdir()
    yield folder
    signing.end_agents(folder)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    git.Repository.create(tmp_path / "work", bare=False)
    (tmp_path / "work" / "a.yaml").write_text("a: 1\n")
    return tmp_path / "work"


def raw(work: Path, commit: str) -> bytes:
    repository = git.Repository.open(work)
    try:
        return repository.read(Commit(commit))
    finally:
        repository.close()


def ring(*entries: str, known: tuple[str, ...] = ()) -> signature.Keyring:
    return signature.keyring(entries, lambda path: None, key_files=[text.encode() for text in known])


def of_file(content: str) -> signature.Keyring:
    return signature.keyring(["keys"], lambda path: content.encode())


def make(kind: str, name: str, folder: Path) -> Person:
    return signing.with_ssh(name, folder) if kind == "ssh" else signing.with_pgp(name, folder)


@pytest.mark.parametrize("kind", ["ssh", "pgp"])
def test_a_good_signature_counts_for_a_trusted_key_only(people: Path, work: Path, kind: str) -> None:
    ada, eve = make(kind, "ada", people), make(kind, "eve", people)
    content = raw(work, ada.commit(work))
    verdict = signature.verify(content, of_file(ada.public))
    assert verdict.why_not == ""
    assert "ada" in verdict.by
    assert ada.fingerprint in verdict.by
    assert "which is not trusted" in signature.verify(content, of_file(eve.public)).why_not
    assert signature.verify(content, of_file(eve.public + ada.public)).by == verdict.by
    assert "which is not trusted" in signature.verify(content, ring()).why_not
    known = (ada.public,) if kind == "pgp" else ()
    assert ada.fingerprint in signature.verify(content, ring(ada.fingerprint, known=known)).by
    assert "which is not trusted" in signature.verify(content, ring(eve.fingerprint, known=known)).why_not


@pytest.mark.parametrize("kind", ["ssh", "pgp"])
def test_a_commit_changed_after_it_was_signed_is_not_good(people: Path, work: Path, kind: str) -> None:
    ada = make(kind, "ada", people)
    content = raw(work, ada.commit(work, "harmless"))
    keys = of_file(ada.public)
    assert signature.verify(content, keys).by
    for changed in (
        content.replace(b"harmless", b"harmful!"),
        content.replace(b"ada@example.org>", b"eve@example.org>", 1),
        content.replace(b"\nauthor ", b"\nparent " + b"0" * 40 + b"\nauthor ", 1),
    ):
        assert changed != content
        kinds = {"ssh": "has an SSH signature that is not good", "pgp": "has a PGP signature that is not good"}
        assert signature.verify(changed, keys).why_not == kinds[kind]


def test_no_signature_two_signatures_and_a_foreign_kind_do_not_count(people: Path, work: Path) -> None:
    ada = signing.with_ssh("ada", people)
    keys = of_file(ada.public)
    assert signature.verify(raw(work, ada.commit(work, signed=False)), keys).why_not == "is not signed"
    signed = raw(work, ada.commit(work))
    payload, text = signature.split(signed)
    header = b"gpgsig " + text.strip().replace(b"\n", b"\n ") + b"\n"
    assert header in signed
    twice = signed.replace(header, header + header, 1)
    assert signature.verify(twice, keys).why_not == "is not signed"
    other = payload.replace(b"\n\n", b"\ngpgsig-sha256 " + header.removeprefix(b"gpgsig ") + b"\n", 1)
    assert signature.verify(other, keys).why_not == "is not signed", "that header is for repositories with SHA-256"
    smime = payload.replace(b"\n\n", b"\ngpgsig -----BEGIN SIGNED MESSAGE-----\n x\n\n", 1)
    assert signature.verify(smime, keys).why_not == "has a signature that is neither PGP's nor SSH's"


def test_an_ssh_signature_made_for_something_else_does_not_count(people: Path, work: Path, tmp_path: Path) -> None:
    import subprocess

    ada = signing.with_ssh("ada", people)
    payload, _ = signature.split(raw(work, ada.commit(work)))
    (tmp_path / "file").write_bytes(payload)
    command = ["ssh-keygen", "-q", "-Y", "sign", "-f", ada.key, "-n", "file", str(tmp_path / "file")]
    subprocess.run(command, check=True, capture_output=True)
    text = (tmp_path / "file.sig").read_bytes().strip().replace(b"\n", b"\n ")
    forged = payload.replace(b"\n\n", b"\ngpgsig " + text + b"\n\n", 1)
    assert signature.verify(forged, of_file(ada.public)).why_not == "has an SSH signature that is not good"


def test_an_expired_key_does_not_count(people: Path, work: Path) -> None:
    import subprocess

    ada = signing.with_pgp("ada", people, expires="2020-02-01", now="20200101T000000")
    payload, _ = signature.split(raw(work, signing.with_ssh("bob", people).commit(work)))
    done = subprocess.run(
        ["gpg", "--homedir", str(ada.home), "--batch", "--faked-system-time", "20200102T000000", "--armor",
         "--detach-sign"], input=payload, capture_output=True, check=True,
    )  # fmt: skip
    text = done.stdout.strip().replace(b"\n", b"\n ")
    signed = payload.replace(b"\n\n", b"\ngpgsig " + text + b"\n\n", 1)
    said = signature.verify(signed, of_file(ada.public)).why_not
    assert said.startswith("is signed with the key ")
    assert said.endswith("which has expired")


def test_a_missing_program_is_named(people: Path, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = signing.with_ssh("ada", people)
    content = raw(work, ada.commit(work))
    monkeypatch.setenv("PATH", "/nowhere")
    said = signature.verify(content, of_file(ada.public)).why_not
    assert said == "has a signature, and the program ssh-keygen is missing to check it"


def test_the_repositorys_own_configuration_and_replaced_objects_have_no_say(people: Path, work: Path) -> None:
    ada, eve = signing.with_ssh("ada", people), signing.with_ssh("eve", people)
    bad = eve.commit(work, "evil")
    good = ada.commit(work, "good")
    eve.git(work, "replace", bad, good)
    eve.git(work, "config", "gpg.ssh.program", "/bin/true")
    assert "which is not trusted" in signature.verify(raw(work, bad), of_file(ada.public)).why_not


@pytest.mark.parametrize(
    ("entry", "content", "said"),
    [
        ("nowhere.pub", None, "nowhere.pub: no such file"),
        ("key.pub", "hello\n", "key.pub: a line that is no public key (options of allowed_signers do not count)"),
        ("key.pub", "# only a note\n", "key.pub: no public key in it"),
        ("key.pub", 'ada cert-authority ssh-ed25519 AAAA\n',
         "key.pub: a line that is no public key (options of allowed_signers do not count)"),
        *(("key.pub", f"{option} ssh-ed25519 AAAA\n",
           "key.pub: a line that is no public key (options of allowed_signers do not count)")
          for option in ("cert-authority", "Cert-Authority", "x,cert-authority", 'namespaces="file"', "restrict",
                         "valid-before=20200101", "no-pty")),
        ("key.pub", "ssh-ed25519-cert-v01@openssh.com AAAA\n",
         "key.pub: a line that is no public key (options of allowed_signers do not count)"),
        ("key.pub", "ssh-ed25519 AAA\n", "key.pub: a key that is not base64"),
    ],
)  # fmt: skip
def test_what_is_no_key_is_named(entry: str, content: str | None, said: str) -> None:
    keys = signature.keyring([entry], lambda path: None if content is None else content.encode())
    assert keys.unusable == (said,)
    assert not keys


def test_keys_are_named_in_every_usual_form(people: Path) -> None:
    ada = signing.with_ssh("ada", people)
    kind, key, _ = ada.public.split()
    for entry in (f"{kind} {key}", f"{kind} {key} ada@home", f"ada@example.org {kind} {key}", ada.fingerprint):
        assert public_key.is_key(entry)
        assert list(ring(entry).ssh) == [ada.fingerprint]
    assert public_key.is_key("ABCD " * 10)
    assert not public_key.is_key("keys/ada.asc")
