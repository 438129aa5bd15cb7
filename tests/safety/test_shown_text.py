"""What a repository holds is shown to people: it acts on no terminal and calls nobody."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

from gitfed.cli.output import markdown, plain
from gitfed.text import emit, yaml
from tests.cli.world import FILES, gitfed, repository

BIDI = "\u202e\u2066\u200b\u200f\u061c"
"""Right-to-left override, isolate, zero width, marks: a reader sees another text than the program."""
LIVE = ["@team", "#1", "owner/repo#17", "GH-12", "abc1234", "0123456789012345678901234567890123456789", "https://evil",
        "www.evil.example", "!23", "user@example.com"]  # fmt: skip


@pytest.mark.parametrize("word", LIVE)
def test_what_a_forge_makes_a_link_of_is_shown_as_code(word: str) -> None:
    shown = markdown.escape(f"held by {word} now")
    outside = re.sub("<code>.*?</code>", "", shown)
    assert word not in html.unescape(outside)
    assert html.unescape(re.sub("</?code>", "", shown)) == f"held by {word} now"


@pytest.mark.parametrize(
    "text", ["shop/Deploy/web", "gate deletions: 20 of at most 5", "web-99", "cpu 47940m", "eu-1 (2) → us-1 (3)"]
)
def test_what_nobody_interprets_stays_readable(text: str) -> None:
    assert markdown.escape(text) == text


@pytest.mark.parametrize("text", ["- a", "+ a", "# a", "=== a", "1. a", "12) a"])
def test_a_text_begins_neither_a_list_nor_a_heading(text: str) -> None:
    assert markdown.escape(text)[0] == "&"
    assert html.unescape(markdown.escape(text)) == text


@pytest.mark.parametrize("character", BIDI, ids=lambda one: f"U+{ord(one):04X}")
def test_yaml_shows_what_turns_the_reading_and_reads_it_back(character: str) -> None:
    value = {"k": f"a{character}b", f"x{character}": f"line\nof{character}text\n"}
    written = emit.dump(value)
    assert character not in written
    assert yaml.load_all(written.encode())[0] == value


@pytest.mark.parametrize("arguments", [("render",), ("render", "-o", "json"), ("render", "-o", "yaml")], ids=" ".join)
def test_no_output_of_manifests_turns_the_reading(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    hostile = f'apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c, namespace: shop}}\ndata: {{k: "a{BIDI}b"}}\n'
    path = repository(tmp_path / "fleet", {**FILES, "apps/c.yaml": hostile})
    result = gitfed(*arguments, "--repo", path)
    assert plain.clean_lines(result.out) == result.out
    assert "\\u202e" in result.out
    if "json" in arguments:
        shown = [one["manifest"] for one in json.loads(result.out)["manifests"]]
        assert f"a{BIDI}b" in {one.get("data", {}).get("k") for one in shown}
