"""gitfed logs"""

from __future__ import annotations

from gitfed.cli.commands.members import reached

command = reached.command(
    "logs",
    "Print what a container of one cluster says, as kubectl logs does there.",
    example="logs -C eu-1 -n shop deploy/web -f --tail 20",
    metavar="[POD] [KUBECTL OPTION]...",
)
