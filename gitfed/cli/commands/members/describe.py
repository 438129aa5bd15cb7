"""gitfed describe"""

from __future__ import annotations

from gitfed.cli.commands.members import reached

command = reached.command(
    "describe",
    "Describe objects of one cluster, as kubectl describe does there.",
    example="describe -C eu-1 deployment web -n shop",
    metavar="[KIND] [NAME] [KUBECTL OPTION]...",
)
