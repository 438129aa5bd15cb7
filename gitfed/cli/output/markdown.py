"""Foreign text in Markdown: it must stay text.

What a repository holds is shown in a comment that others read, in a browser, in an e-mail, in a terminal. So `escape`
writes as HTML entities what Markdown or HTML would read as theirs, and nothing else: `shop/Deploy/web` stays readable.
Forges look for `@name`, `#1` and commit ids in what they have rendered, and leave only code out: a word that holds one
is shown as code. `fence` takes more backticks than its content has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gitfed.cli.output import plain

_MARKUP = re.compile(r"[&<>\\`*_\[\]|~$@]")
_LEADS = re.compile(r"^(?:[-+=#]|\d+(?=[.)]))")
"""What would begin a list, a heading or a rule at the beginning of a line."""
_ADDRESS = re.compile(r"(?i)(https?|ftp|mailto|xmpp|javascript|vbscript|data):")
_LIVE = re.compile(
    r"[@#!$%~^&]\w|\b[A-Z][A-Z0-9]+-\d|(?<![0-9a-zA-Z])[0-9a-f]{7,40}(?![0-9a-zA-Z])|://|(?i:\bwww\.|\bmailto:)"
)
"""What a forge makes a link of: people, issues, commits, addresses."""


def escape(text: str) -> str:
    """A text on one line with nothing in it that Markdown, HTML or a forge could take for theirs."""
    words = re.split(r"( +)", plain.clean(text))
    shown = "".join(f"<code>{_entities(word)}</code>" if _LIVE.search(word) else _entities(word) for word in words)
    return _LEADS.sub(lambda match: f"&#{ord(match[0][0])};{match[0][1:]}", shown)


def code(text: str) -> str:
    return f"<code>{_entities(plain.clean(text))}</code>" if text else ""


def _entities(text: str) -> str:
    marked = _MARKUP.sub(lambda match: f"&#{ord(match[0])};", text)
    return re.sub(r"(?i)www\.", lambda match: f"{match[0][:-1]}&#46;", _ADDRESS.sub(r"\1&#58;", marked))


def unbroken(text: str) -> str:
    """A narrow column would break `✓ → –` after each sign."""
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def fence(lines: Iterable[str], language: str = "") -> list[str]:
    """A code block. Its content cannot end it."""
    content = [plain.clean_lines(line).replace("\n", " ") for line in lines]
    longest = max((len(run) for line in content for run in re.findall("`+", line)), default=0)
    bar = "`" * max(3, longest + 1)
    return [f"{bar}{language}", *content, bar]


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Cells are Markdown already: escape what is foreign."""
    lines = [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}"]
    return [*lines, *(f"| {' | '.join(cells)} |" for cells in rows)]


def details(summary: str, lines: Sequence[str]) -> list[str]:
    return [f"<details><summary>{summary}</summary>", "", *lines, "", "</details>"]


def without_html(text: str) -> str:
    """The same comment for a forge that shows HTML as text: sections are open, code is between backticks.

    What is foreign was written as entities, so every `<` outside a fence is ours.
    """
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        bar = re.match("`{3,}", line)
        if fence:
            fence = "" if line == fence else fence
        elif bar:
            fence = bar[0]
        else:
            line = _plain_line(line)
        lines.append(line)
    return re.sub("\n{3,}", "\n\n", "\n".join(lines))


_CODE = re.compile("<code>(.*?)</code>")


def _plain_line(line: str) -> str:
    import html  # a table of two thousand names, and only reviews have any of them

    line = re.sub("^<details><summary>(.*)</summary>$", r"**\1**", line).replace("</details>", "")
    if line.startswith("**"):
        line = line.replace("<b>", "").replace("</b>", "")
    line = re.sub("</?sub>", "", line).replace("<br>", "; ")
    return _CODE.sub(lambda match: _backticks(html.unescape(match[1])), line)


def _backticks(text: str) -> str:
    """Inside a table a bar would end the cell, also in code; a backtick would end the code."""
    return f"`{text.replace('`', chr(0x2019)).replace('|', chr(0x00A6))}`"
