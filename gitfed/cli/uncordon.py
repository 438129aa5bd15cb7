"""gitfed uncordon: see `cordon`."""

from __future__ import annotations

from gitfed.cli.cordon import uncordon as command

__all__ = ["command"]
