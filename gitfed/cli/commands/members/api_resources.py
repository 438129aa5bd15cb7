"""gitfed api-resources"""

from __future__ import annotations

from gitfed.cli.commands.members import reached

command = reached.command(
    "api-resources",
    "List the kinds that one cluster has, as kubectl api-resources does there.",
    example="api-resources -C eu-1 --api-group apps",
    metavar="[KUBECTL OPTION]...",
)
