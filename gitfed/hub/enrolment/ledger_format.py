"""How a ledger is written: JSON, the same in a file and in a Secret."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from gitfed.errors import InputError
from gitfed.hub.enrolment.bootstrap_tokens import Spent, Token
from gitfed.hub.enrolment.ledger import Enrolled, Issued, Ledger

_VERSION = 1


def write(ledger: Ledger) -> bytes:
    value = {
        "version": _VERSION,
        "tokens": {name: _of_token(token) for name, token in sorted(ledger.tokens.items())},
        "clusters": {name: _of_enrolled(enrolled) for name, enrolled in sorted(ledger.clusters.items())},
    }
    return json.dumps(value, indent=1).encode() + b"\n"


def _of_token(token: Token) -> dict[str, Any]:
    return {
        "salt": token.salt,
        "scrypt": token.digest,
        "created": token.created.isoformat(),
        "expires": token.expires.isoformat() if token.expires else None,
        "description": token.description,
        "cluster": token.cluster,
        "spent": {"cluster": token.spent.cluster, "key": token.spent.key} if token.spent else None,
    }


def _of_enrolled(enrolled: Enrolled) -> dict[str, Any]:
    return {
        "since": enrolled.since.isoformat(),
        "token": enrolled.token,
        "certificates": [
            {
                "serial": certificate.serial,
                "key": certificate.key,
                "begins": certificate.begins.isoformat(),
                "ends": certificate.ends.isoformat(),
            }
            for certificate in enrolled.certificates
        ],
    }


def read(content: bytes, place: object) -> Ledger:
    """Raises InputError: a ledger that lost entries would let the wrong agents in, or none."""
    try:
        value = json.loads(content)
        if value["version"] != _VERSION:
            raise InputError(f"{place} was written by another version of gitfed")
        return Ledger(
            {name: _token(name, token) for name, token in value["tokens"].items()},
            {name: _enrolled(name, enrolled) for name, enrolled in value["clusters"].items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{place} is no ledger of tokens and certificates",
            hint="put back a copy of it; without one every agent has to be registered again",
        ) from error


def _token(name: str, value: dict[str, Any]) -> Token:
    spent = value["spent"]
    return Token(
        name,
        value["salt"],
        value["scrypt"],
        _time(value["created"]),
        _time(value["expires"]) if value["expires"] else None,
        value["description"],
        value["cluster"],
        Spent(spent["cluster"], spent["key"]) if spent else None,
    )


def _enrolled(name: str, value: dict[str, Any]) -> Enrolled:
    return Enrolled(
        name,
        _time(value["since"]),
        value["token"],
        tuple(
            Issued(certificate["serial"], certificate["key"], _time(certificate["begins"]), _time(certificate["ends"]))
            for certificate in value["certificates"]
        ),
    )


def _time(text: str) -> datetime:
    when = datetime.fromisoformat(text)
    if when.tzinfo is None:
        raise ValueError(text)
    return when
