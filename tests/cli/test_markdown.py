"""A comment on a pull request: it fits, it is found again, and nothing in it is anybody else's markup."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.cli.output import markdown, plain, plan_markdown
from gitfed.model.base import ObjectKey, Origin, Problem
from gitfed.model.plan import Action, FieldChange
from gitfed.model.reason import Reason, ReasonCode
from tests.cli import values
from tests.cli.world import golden


def test_the_references_example() -> None:
    golden("plan.md", plan_markdown.comment(values.contract_example()))


def test_what_a_quota_holds_is_said_and_nobody_is_asked_to_consent() -> None:
    made = values.plan([values.binding(values.WEB, {"eu-1": 2})], [], [values.QUOTA])
    comment = html.unescape(plan_markdown.comment(values.view(made)))
    assert (
        "- gate <code>quota shop/all cpu</code>: 8 of at most 6, holds 1 workload<br>FederatedResourceQuota" in comment
    )
    assert "requested sum 8, limit 6" in comment
    assert "--confirm" not in comment


def test_a_change_whose_turn_has_not_come_says_what_it_waits_for() -> None:
    waits = "wave 1 waits for wave 0: Deployment.apps/shop/db (to be created)"
    made = values.plan(
        [values.binding(values.WEB, {"eu-1": 2})], [values.change(values.WEB, "eu-1", Action.CREATE, waits=waits)]
    )
    assert waits in html.unescape(plan_markdown.comment(values.view(made)))


def test_the_marker_is_the_first_line() -> None:
    assert plan_markdown.comment(values.contract_example()).startswith("<!-- gitfed.io/plan -->\n")


@pytest.mark.parametrize("limit", [65_000, 3000, 1900, 700], ids=["everything", "objects", "fewer", "counts"])
def test_the_comment_is_shorter_than_the_limit(limit: int) -> None:
    assert len(plan_markdown.comment(values.contract_example(), limit=limit)) < limit


def large(objects: int, fields: int) -> str:
    keys = [ObjectKey("apps", "Deployment", "shop", f"web-{number}") for number in range(objects)]
    diff = tuple(FieldChange(f"/spec/field{number}", "x" * 50, "y" * 50) for number in range(fields))
    made = values.plan(
        [values.binding(key, {"eu-1": 3}, "more replicas") for key in keys],
        [values.change(key, "eu-1", Action.UPDATE, diff=diff) for key in keys],
    )
    return plan_markdown.comment(values.view(made, {key: {"eu-1": 2} for key in keys}))


def test_a_long_comment_leaves_out_fields_first_then_objects() -> None:
    assert "/spec/field3" in large(5, 5)
    middle = large(100, 50)
    assert "/spec/field3" not in middle
    assert "web-99" in middle
    counts = large(5000, 1)
    assert "web-99" not in counts
    assert "5000 placements of 5000 changed" in counts
    assert all(len(text) < 65_000 for text in (middle, counts))


WORDS = [*"`|<>[]()!#*_~@&:/.-\\\n\r\"' ax0", "\u202e", "javascript:", "</details>", "-->", "http://x", "```"]
HOSTILE = st.lists(st.sampled_from(WORDS), max_size=40).map("".join)


@given(HOSTILE)
def test_escaped_text_has_no_character_that_markdown_or_html_reads(text: str) -> None:
    escaped = markdown.escape(text)
    assert re.fullmatch(r"(?:[^&<>\\`*_\[\]|~$@\n]|&#\d+;|</?code>)*", escaped)
    assert html.unescape(re.sub("</?code>", "", escaped)) == plain.clean(text)


@given(st.lists(HOSTILE, max_size=5))
def test_a_fence_is_closed_by_nothing_inside(lines: list[str]) -> None:
    first, *inside, last = markdown.fence(lines, "diff")
    bar = first.removesuffix("diff")
    assert last == bar
    assert set(bar) == {"`"}
    assert all(bar not in line and "\n" not in line for line in inside)


@given(HOSTILE, HOSTILE)
def test_nothing_of_a_repository_becomes_markup(name: str, reason: str) -> None:
    key = ObjectKey("", "ConfigMap", "shop", name)
    changes = [
        values.change(key, "eu-1", Action.UPDATE, diff=(FieldChange(f"/data/{name}", reason, name),)),
        values.change(key, "eu-2", Action.SKIP, Reason(ReasonCode.TERMINATING, detail=reason)),
    ]
    made = values.plan(
        [values.binding(key, {"eu-1": None}, reason)], changes, problems=(Problem(Origin(name or "x"), reason or "x"),)
    )
    shown = plan_markdown.comment(values.view(made, {key: {}}))
    outside = []
    fence = ""
    for line in shown.splitlines():
        if fence:
            fence = "" if line == fence else fence
        elif line.startswith("```"):
            fence = re.match("`+", line)[0]  # type: ignore[index]
        else:
            outside.append(line)
    tags = set(re.findall(r"</?[a-z]+>|<!--.*?-->", "\n".join(outside)))
    assert tags <= {
        "<code>",
        "</code>",
        "<br>",
        "<details>",
        "</details>",
        "<summary>",
        "</summary>",
        plan_markdown.MARKER,
    }
    bare = re.sub(r"</?[a-z]+>|<!--.*?-->", "", "\n".join(outside))
    assert "<" not in bare
    assert "@" not in bare
    assert "http:" not in bare
    assert "javascript:" not in bare
