"""gitfed uncordon: see `cordon`."""

from __future__ import annotations

from gitfed.cli.commands.clusters.cordon import uncordon as command

__all__ = ["command"]
