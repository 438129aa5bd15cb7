"""gitfed port-forward"""

from __future__ import annotations

from gitfed.cli.commands.members import reached

command = reached.command(
    "port-forward",
    "Lead ports of this machine to a pod of one cluster, as kubectl port-forward does there.",
    example="port-forward -C eu-1 -n shop deploy/web 8080:80",
    metavar="[POD] [PORT]... [KUBECTL OPTION]...",
)
