"""gitfed exec"""

from __future__ import annotations

from gitfed.cli.commands.members import reached

command = reached.command(
    "exec",
    "Run a program in a container of one cluster, as kubectl exec does there.",
    example="exec -C eu-1 -n shop web-7d4b9c6f5-x2x8k -it -- sh",
    metavar="[POD] [KUBECTL OPTION]... [-- PROGRAM...]",
)
