"""What somebody may have meant who wrote a word that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint, or ""."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    if not close:
        lower = {name.lower(): name for name in known}
        close = [lower[word.lower()]] if word.lower() in lower else []
    return f"did you mean {close[0]}?" if close else ""
