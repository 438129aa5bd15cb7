"""gitfed token create, list and delete."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

from gitfed.edges import certificate_pins, signing_request
from gitfed.edges.certificates import Authority
from gitfed.hub.enrolment import bootstrap_tokens
from gitfed.hub.enrolment.ledger import Issued
from gitfed.hub.enrolment.ledger_file import LedgerFile
from tests.cli.world import gitfed

_TOKEN = re.compile(r"[a-z0-9]{6}\.[a-z0-9]{16}\n")


def _hub(folder: Path) -> tuple[str, str]:
    """A data folder that a hub has used, as options."""
    place = folder / "hub"
    authority = Authority.open(place)
    (place / "url").write_text("https://hub.example:8443\n")
    (place / "trusted.crt").write_bytes(authority.certificate)
    return "--data-dir", str(folder)


def test_a_token_is_printed_once_and_listed_by_its_id(tmp_path: Path) -> None:
    where = _hub(tmp_path)
    made = gitfed("token", "create", *where, "--description", "site 7", "--cluster-name", "edge-7")
    assert made.code == 0
    assert _TOKEN.fullmatch(made.out)
    forever = gitfed("token", "create", *where, "--ttl", "0").out
    listed = gitfed("token", "list", *where).out.splitlines()
    assert listed[0].split("  ")[0] == "TOKEN"
    rows = {line.split()[0]: re.split(r"\s{2,}", line) for line in listed[1:]}
    assert rows.keys() == {made.out[:6], forever[:6]}
    assert rows[made.out[:6]][1] in ("23h59m", "1d", "24h")
    assert rows[made.out[:6]][3:] == ["authentication", "site 7", "<none>", "edge-7"]
    assert rows[forever[:6]][1:] == ["<forever>", "<never>", "authentication", "<none>", "<none>", "<any new>"]
    assert made.out.strip()[7:] not in "".join(listed)


def test_the_command_that_registers_is_printed_with_the_pin(tmp_path: Path) -> None:
    where = _hub(tmp_path)
    made = gitfed("token", "create", "--print-register-command", *where)
    (pin,) = certificate_pins.pins((tmp_path / "hub" / "ca.crt").read_bytes())
    assert re.fullmatch(
        rf"gitfed register hub\.example:8443 --token [a-z0-9.]{{23}} --discovery-token-ca-cert-hash {pin}\n", made.out
    )
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", pin)


def test_a_token_is_deleted_by_its_id_or_as_a_whole(tmp_path: Path) -> None:
    where = _hub(tmp_path)
    first, second = (gitfed("token", "create", *where).out.strip() for _ in range(2))
    gone = gitfed("token", "delete", first, second[:6], *where)
    assert (gone.code, gone.out) == (
        0,
        f'bootstrap token "{first[:6]}" deleted\nbootstrap token "{second[:6]}" deleted\n',
    )
    again = gitfed("token", "delete", first, *where)
    assert (again.code, again.err) == (2, f'error: no bootstrap token "{first[:6]}"\nhint: gitfed token list\n')
    assert len(gitfed("token", "list", *where).out.splitlines()) == 1


def test_deleting_a_used_token_says_what_it_revokes(tmp_path: Path) -> None:
    where = _hub(tmp_path)
    made = gitfed("token", "create", *where).out.strip()
    ledger = LedgerFile(tmp_path / "hub")
    key = signing_request.read(signing_request.make(signing_request.new_key(), "x", "y")).key_digest
    token = ledger.read().tokens[made[:6]]
    issued = Issued("01", key, token.created, token.created + timedelta(days=30))
    ledger.change(lambda found: (found.enrolled(token, "edge-1", issued, token.created), None))
    assert "edge-1 (registered)" in gitfed("token", "list", *where).out
    gone = gitfed("token", "delete", made, *where)
    assert gone.code == 0
    assert gone.err == "the certificate of the agent of edge-1 is revoked\n"
    assert not ledger.read().clusters


def test_what_is_no_token_is_refused_without_being_repeated(tmp_path: Path) -> None:
    where = _hub(tmp_path)
    refused = gitfed("token", "delete", "ABCDEF.secretsecretsecr", *where)
    assert refused.code == 2
    assert refused.err.startswith("error: 'ABCDEF' is neither a token nor its id\n")
    assert "secretsecret" not in refused.err


def test_without_a_hub_there_is_nothing_to_register_with(tmp_path: Path) -> None:
    refused = gitfed("token", "create", "--data-dir", str(tmp_path))
    assert (refused.code, refused.err) == (
        2,
        f"error: no hub with TLS has run with the data folder {tmp_path}\n"
        "hint: start gitfed run --hub-address first, or name its --data-dir\n",
    )


def test_the_hash_of_a_token_proves_its_secret_and_no_other() -> None:
    name, secret = bootstrap_tokens.new()
    assert bootstrap_tokens.parse(f"{name}.{secret}") == (name, secret)
    salt, digest = bootstrap_tokens.hashed(secret)
    assert secret not in salt + digest
    assert bootstrap_tokens.hashed(secret)[1] != digest  # another salt
    assert bootstrap_tokens.hashed(secret, bytes.fromhex(salt))[1] == digest
