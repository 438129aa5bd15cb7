"""The reference page tells what the commands tell."""

from __future__ import annotations

import runpy
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools" / "cli_reference.py"


def test_the_page_is_up_to_date() -> None:
    """If this fails: python tools/cli_reference.py"""
    tool = runpy.run_path(str(TOOL))
    assert tool["PAGE"].read_text(encoding="utf-8") == tool["page"]()
