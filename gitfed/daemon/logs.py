"""The log's form: one line for each record, as words and keys or as JSON.

A message is constant; what varies goes into keys (`extra=`), so that a machine can count lines by message.
"""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime
from typing import TextIO

import orjson

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
        return orjson.dumps(line, default=str).decode()


class TextFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        keys = " ".join(f"{key}={_word(value)}" for key, value in _keys(record).items())
        text = f"{_time(record)} {record.levelname:<7} {record.getMessage()}{'  ' + keys if keys else ''}"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


def set_up(form: str, level: str, stream: TextIO | None = None) -> None:
    """`form` is "json" or "text"; everything goes to standard error."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    for noisy in ("asyncio", "aiohttp", "watchdog", "git"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def _keys(record: logging.LogRecord) -> dict[str, object]:
    return {key: value for key, value in vars(record).items() if key not in _STANDARD}


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _word(value: object) -> str:
    text = str(value)
    return f'"{text}"' if " " in text or not text else text
