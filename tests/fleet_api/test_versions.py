"""Versions and continue tokens of the fleet."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.fleet_api import versions
from gitfed.fleet_api.versions import Continue

NAMES = st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=12)
VERSIONS = st.dictionaries(NAMES, st.integers(1, 2**63).map(str), max_size=6)


@pytest.mark.parametrize(
    ("meaning", "text"),
    [
        ({"member1": "100"}, "eyJtZW1iZXIxIjoiMTAwIn0"),
        ({"member2": "205", "member1": "100"}, "eyJtZW1iZXIxIjoiMTAwIiwibWVtYmVyMiI6IjIwNSJ9"),
        ({}, ""),
    ],
    ids=["one cluster", "two clusters, in order", "none"],
)
def test_versions_have_the_form_of_karmada(meaning: dict[str, str], text: str) -> None:
    assert versions.encode(meaning) == text
    assert versions.decode(text) == meaning


@pytest.mark.parametrize("text", ["", "100", "!!", "bm8", "W10", "eyJhIjoxfQ", "=", "eyJ", "eyJhIjoiXHVkODAwIn0"])
def test_what_is_none_of_ours_counts_as_none(text: str) -> None:
    assert versions.decode(text) == {}
    assert versions.of_cluster(text, "member1") == ""
    assert versions.decode_continue(text) is None


def test_zero_is_for_every_cluster() -> None:
    assert versions.of_cluster("0", "member1") == "0"
    assert versions.of_cluster("eyJtZW1iZXIxIjoiMTAwIn0", "member1") == "100"
    assert versions.of_cluster("eyJtZW1iZXIxIjoiMTAwIn0", "member2") == ""


@given(VERSIONS)
def test_what_was_encoded_is_decoded(known: dict[str, str]) -> None:
    assert versions.decode(versions.encode(known)) == known


@given(VERSIONS, NAMES, st.text(max_size=20))
def test_a_continue_token_comes_back_as_it_was(known: dict[str, str], cluster: str, token: str) -> None:
    place = Continue(known, cluster, token)
    assert versions.decode_continue(versions.encode_continue(place)) == place


@pytest.mark.parametrize(
    ("place", "meaning"),
    [
        (Continue({"m2": "205", "m1": "100"}, "m2", "next"),
         b'{"rv":"eyJtMSI6IjEwMCIsIm0yIjoiMjA1In0","cluster":"m2","continue":"next"}'),
        (Continue({}, "m2"), b'{"cluster":"m2"}'),
    ],
    ids=["in the middle of a cluster", "at its beginning"],
)  # fmt: skip
def test_continue_tokens_have_the_form_of_karmada(place: Continue, meaning: bytes) -> None:
    text = base64.urlsafe_b64encode(meaning).rstrip(b"=").decode()
    assert versions.encode_continue(place) == text
    assert versions.decode_continue(text) == place


@given(st.text(max_size=60))
def test_no_text_of_a_client_is_a_failure(text: str) -> None:
    assert isinstance(versions.decode(text), dict)
    versions.decode_continue(text)
