"""gitfed attach"""

from __future__ import annotations

from gitfed.cli.commands.members import reached

command = reached.command(
    "attach",
    "Attach to what runs in a container of one cluster, as kubectl attach does there.",
    example="attach -C eu-1 -n shop web-7d4b9c6f5-x2x8k -it",
    metavar="[POD] [KUBECTL OPTION]...",
)
