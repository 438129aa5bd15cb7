"""The known word that an author may have meant by an unknown one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """A hint, or ""."""
    close = difflib.get_close_matches(word, list(names), n=1, cutoff=0.6)
    if not close:
        lower = {name.lower(): name for name in names}
        close = [lower[word.lower()]] if word.lower() in lower else []
    return f"did you mean {close[0]}?" if close else ""
