"""What comes from a repository or a cluster cannot write lines of its own into the log."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import threading
from collections.abc import Iterator

import pytest

from gitfed.daemon import logs

FORGED = "web\n2026-01-01T00:00:00.000Z INFO    cycle finished  commit=abc\x1b[2J\u202e\r"


@pytest.fixture
def told() -> io.StringIO:
    return io.StringIO()


@contextlib.contextmanager
def logging_to(stream: io.StringIO, form: str) -> Iterator[None]:
    root = logging.getLogger()
    before, hook = (root.handlers, root.level), threading.excepthook
    try:
        logs.set_up(form, "info", stream)
        yield
    finally:
        (root.handlers, root.level), threading.excepthook = before, hook


def log(form: str, stream: io.StringIO, **keys: object) -> str:
    with logging_to(stream, form):
        try:
            raise ValueError(FORGED)
        except ValueError:
            logging.getLogger("x").info("said " + FORGED, extra=keys, exc_info=True)  # noqa: G003
            logging.getLogger("x").info("object created", extra=keys)
    return stream.getvalue()


def fail() -> None:
    raise ValueError(FORGED)


def test_a_thread_that_fails_is_one_line_of_json(told: io.StringIO) -> None:
    with logging_to(told, "json"):
        thread = threading.Thread(target=fail, name="eager")
        thread.start()
        thread.join()
    (line,) = map(json.loads, told.getvalue().splitlines())
    assert (line["level"], line["msg"], line["of"]) == ("error", "a thread ended", "eager")
    assert "ValueError" in line["error"]


def test_the_text_of_a_value_stays_on_its_line(told: io.StringIO) -> None:
    text = log("text", told, object=FORGED, error='a" level="x')
    lines = text.splitlines()
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\r" not in text
    assert not [line for line in lines if line.startswith("2026-01-01T00:00:00.000Z")]
    assert lines[-1].endswith(
        'object="web\\n2026-01-01T00:00:00.000Z INFO    cycle finished  commit=abc\\x1b[2J\\u202e\\r" '
        'error="a\\" level=\\"x"'
    )


ODD = {"no UTF-8": "\udcff", "huge": 10**5000, "forged": FORGED, "nan": float("nan"), "object": object()}


@pytest.mark.parametrize("value", ODD.values(), ids=ODD.keys())
def test_every_value_gives_one_line_of_json(told: io.StringIO, value: object) -> None:
    lines = log("json", told, object=value).splitlines()
    assert len(lines) == 2
    assert json.loads(lines[1])["msg"] == "object created"


@pytest.mark.parametrize("value", ["\udcff", "", "plain", "a=b"])
def test_every_text_can_be_written(told: io.StringIO, value: str) -> None:
    log("text", told, object=value).encode()
