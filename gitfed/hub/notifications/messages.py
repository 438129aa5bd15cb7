"""News as something to send: lines for people, or CloudEvents for programs (CNCF, version 1.0, structured JSON)."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Sequence
from typing import Any

from gitfed.edges.notify import Message
from gitfed.hub.notifications.outbox import News

_LONGEST = 300
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_MARKUP = str.maketrans({"<": "‹", ">": "›", "@": "＠", "[": "(", "]": ")", "`": "'", "*": "∗", "_": "_"})
"""What a chat would make a mention, a link or a picture of."""


def lines(federation: str, news: Sequence[News]) -> Message:
    """For people."""
    began = [line for line in news if not line.over]
    kind = (
        "success"
        if not began
        else "failure"
        if any(line.condition.severity == "error" for line in began)
        else "warning"
    )
    if began and all(line.condition.severity == "info" for line in began):
        kind = "info"
    first = news[0]
    title = f"gitfed {federation}: {_plain(_headline(first))}"
    if len(news) > 1:
        title += f" (and {len(news) - 1} more)"
    body = []
    for item in news:
        when = f"{item.began:%Y-%m-%d %H:%M:%S} UTC"
        if item.ended is not None:
            when += f" to {item.ended:%Y-%m-%d %H:%M:%S} UTC"
        body.append(f"{_plain(_headline(item))}\n  {when}")
        body += [f"  {_plain(line)}" for line in item.condition.details if not item.over]
    return Message(title, "\n".join(body), kind)


def cloud_event(federation: str, news: News) -> dict[str, Any]:
    condition = news.condition
    data: dict[str, Any] = {
        "federation": federation,
        "event": condition.event.value,
        "state": "over" if news.over else "begun",
        "severity": condition.severity,
        "summary": condition.summary,
        "details": list(condition.details),
        "clusters": list(condition.clusters),
        "began": news.began.isoformat(),
    }
    if news.ended is not None:
        data["ended"] = news.ended.isoformat()
    event = {
        "specversion": "1.0",
        "id": news.id,
        "source": f"/gitfed/{urllib.parse.quote(federation)}",
        "type": f"io.gitfed.{condition.event.value}.{data['state']}",
        "time": (news.ended or news.began).isoformat(),
        "datacontenttype": "application/json",
        "data": data,
    }
    if condition.about:
        event["subject"] = condition.about
    return event


def _headline(news: News) -> str:
    return f"over: {news.condition.summary}" if news.over else news.condition.summary


def _plain(text: str) -> str:
    text = _CONTROL.sub(" ", text).translate(_MARKUP)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
