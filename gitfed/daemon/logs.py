"""The log's form: one line for each record, as words and keys or as JSON.

A message is constant; what varies goes into keys (`extra=`), so that a machine can count lines by message.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
from datetime import UTC, datetime
from typing import TextIO

import orjson

log = logging.getLogger(__name__)

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """`ts, level, logger, msg` and the keys."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "ts": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": record.getMessage(),
            **_keys(record),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        try:
            return orjson.dumps(line, default=str).decode()
        except TypeError:  # a name that is not UTF-8, a number with more digits than JSON readers take
            return json.dumps({name: _text(value) for name, value in line.items()})


class TextFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        keys = " ".join(f"{key}={_word(value)}" for key, value in _keys(record).items())
        message = _escaped(record.getMessage())
        text = f"{_time(record)} {record.levelname:<7} {message}{'  ' + keys if keys else ''}"
        if record.exc_info:
            # Indented: what an exception quotes must not begin a line that looks like one of ours.
            trace = self.formatException(record.exc_info).splitlines()
            text = "\n".join([text, *(f"    {_escaped(line)}" for line in trace)])
        return text


def set_up(form: str, level: str, stream: TextIO | None = None) -> None:
    """`form` is "json" or "text"; everything goes to standard error."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    for noisy in ("asyncio", "aiohttp", "watchdog", "git"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    threading.excepthook = _of_thread


def _of_thread(ended: threading.ExceptHookArgs) -> None:
    """A thread that ends by an exception would print it between the lines of the log, in no form at all."""
    if ended.exc_type is SystemExit or ended.exc_value is None:
        return
    log.error(
        "a thread ended",
        exc_info=(ended.exc_type, ended.exc_value, ended.exc_traceback),
        extra={"of": ended.thread.name if ended.thread is not None else ""},
    )


def _keys(record: logging.LogRecord) -> dict[str, object]:
    return {key: value for key, value in vars(record).items() if key not in _STANDARD}


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _word(value: object) -> str:
    """A value as one word. It may come from anywhere: a name in a repository, the answer of a server."""
    text = _escaped(_text(value))
    if not text or any(letter in text for letter in ' "='):
        quoted = text.replace('"', '\\"')
        return f'"{quoted}"'
    return text


def _text(value: object) -> str:
    """A line that cannot be written would be lost, and what it tells of with it."""
    try:
        return str(value)
    except ValueError:  # a number with more digits than Python prints
        return type(value).__name__


def _escaped(text: str) -> str:
    """Without what begins a line, moves a cursor, or turns the order of letters about."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)
