"""Foreign text in Markdown: it must stay text.

What a repository holds is shown in a comment that others read. `code` writes every punctuation character as an HTML
entity inside `<code>`: no markup, no link, no table bar, no HTML begins there, and forges turn neither `@name` nor
`#1` inside code into a mention. `fence` takes more backticks than its content has.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from gitfed.cli.output import plain

_PUNCTUATION = re.compile(r"[!-+\--/:<-@\[-`{-~]")
"""ASCII punctuation but the comma and the semicolon, which begin nothing."""


def escape(text: str) -> str:
    """A text on one line with nothing in it that Markdown or HTML could take for theirs."""
    return _PUNCTUATION.sub(lambda match: f"&#{ord(match[0])};", plain.clean(text))


def code(text: str) -> str:
    return f"<code>{escape(text)}</code>" if text else ""


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
    line = re.sub("^<details><summary>(.*)</summary>$", r"**\1**", line).replace("</details>", "")
    if line.startswith("**"):
        line = line.replace("<b>", "").replace("</b>", "")
    line = re.sub("</?sub>", "", line).replace("<br>", "; ")
    return _CODE.sub(lambda match: _backticks(html.unescape(match[1])), line)


def _backticks(text: str) -> str:
    """Inside a table a bar would end the cell, also in code; a backtick would end the code."""
    return f"`{text.replace('`', chr(0x2019)).replace('|', chr(0x00A6))}`"
