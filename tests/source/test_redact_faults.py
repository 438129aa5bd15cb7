"""What a message may quote of a file with Secrets is decided by what made it, not by how it begins."""

from __future__ import annotations

import pytest

from gitfed.source import parse, redact_faults
from gitfed.text import yaml
from gitfed.text.construct import Fault

SECRET = b"apiVersion: v1\nkind: Secret\nstringData: {a: correct-horse}\n"


def test_a_fault_that_may_quote_is_masked_whatever_its_first_words() -> None:
    fault = Fault(3, 1, "not valid YAML correct-horse", "nested more than correct-horse")
    [masked] = redact_faults.faults((fault,), lambda: SECRET)
    assert (masked.message, masked.hint) == ("not valid YAML ***", "nested more than ***")


def test_the_bytes_are_not_fetched_for_a_fault_that_quotes_nothing() -> None:
    fault = Fault(3, 1, "anything", quotes=False)

    def fetched() -> bytes:
        raise AssertionError

    assert redact_faults.faults((fault,), fetched) == (fault,)


@pytest.mark.parametrize(
    ("text", "as_json"),
    [
        ("a: b: c", False),
        ("{{ .Values.a }}", False),
        ("[" * 200, False),
        ("a: &a [" + "x," * 60_000 + "]\nb: [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a]", False),
        ("[" * 2000, True),
    ],
    ids=["not valid YAML", "a mapping as a key", "deep", "an alias bomb", "deep JSON"],
)
def test_what_names_its_finding_without_the_text_quotes_nothing(text: str, as_json: bool) -> None:
    [fault] = yaml.parse(text.encode(), is_json=as_json).faults
    assert not fault.quotes, fault.message


def test_a_fault_comes_back_from_the_disk_as_it_was() -> None:
    for fault in (Fault(1, 2, "m", "h", quotes=False), Fault(1, 2, "m", warning=True, beyond=True)):
        parsed = parse.Parsed((), (fault,))
        assert parse.load(parse.dump(parsed, as_json=False), as_json=False) == parsed
