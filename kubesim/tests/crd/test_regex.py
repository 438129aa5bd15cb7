"""Go's patterns mean the same in Python's engine."""

from __future__ import annotations

import pytest

from kubesim.crd import regex

MATCHES = {
    "a dollar is the end": ("a$", "a", True),
    "not before a newline": ("a$", "a\n", False),
    "unless lines are asked for": ("(?m)^a$", "b\na\nc", True),
    "flags at the beginning": ("^(?i)abc$", "ABC", True),
    "flags of a group": ("^(?i:a)b$", "Ab", True),
    "and not outside it": ("^(?i:a)b$", "AB", False),
    "digits are ASCII": (r"^\d$", "٣", False),
    "classes of POSIX": ("^[[:alpha:]_]+$", "ab_", True),
    "Unicode categories": (r"^\pL+$", "äé", True),
    "negated categories": (r"^\PL+$", "12", True),
    "the end in other words": (r"a\z", "a", True),
    "named groups": ("(?P<x>a)(?<y>b)", "ab", True),
    "literal text": (r"^\Qa.b\E$", "a.b", True),
    "and only that": (r"^\Qa.b\E$", "axb", False),
}


@pytest.mark.parametrize(("pattern", "text", "wanted"), MATCHES.values(), ids=MATCHES.keys())
def test_a_pattern_matches(pattern: str, text: str, wanted: bool) -> None:
    assert bool(regex.compile_pattern(pattern).search(text)) is wanted


REFUSED = {
    "(?=a)": "error parsing regexp: invalid or unsupported Perl syntax: `(?=`",
    "a(": "error parsing regexp: missing closing ): `a(`",
    "[a": "error parsing regexp: missing closing ]: `[a`",
    "*a": "error parsing regexp: missing argument to repetition operator: `*`",
    "a**": "error parsing regexp: invalid nested repetition operator: `**`",
    r"\1": "error parsing regexp: invalid escape sequence: `\\1`",
    "[z-a]": "error parsing regexp: invalid character class range: `z-a`",
    "a\\": "error parsing regexp: trailing backslash at end of expression: ``",
}


@pytest.mark.parametrize(("pattern", "wanted"), REFUSED.items())
def test_what_is_no_pattern_in_go_is_refused(pattern: str, wanted: str) -> None:
    with pytest.raises(regex.RegexError) as caught:
        regex.compile_pattern(pattern)
    assert str(caught.value) == wanted
