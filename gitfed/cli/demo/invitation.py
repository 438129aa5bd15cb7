"""What a demonstration prints at its end: lines to copy into a shell, as they are.

What a line is for stands above it, not behind it: not every shell takes a comment at its prompt.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from gitfed.cli.output import formatting
from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True)
class Hint:
    purpose: str
    lines: tuple[str, ...]


def fleet_door(place: Path, user: str) -> Hint:
    """To all clusters at a time, through the hub whose data lies in `place`."""
    made = place / "fleet.conf"
    sign = f"{formatting.program()} kubeconfig --admin --fleet --user {user} --data-dir {place / 'data'}"
    return Hint(
        "All clusters at a time, through the hub:",
        (f"{sign} > {made}", f"kubectl --kubeconfig {made} get pods -A"),
    )


def while_it_runs(bare: Path, hints: Iterable[Hint]) -> Sequence[str]:
    push = Hint(
        "Now you, in another terminal. Clone it, edit something, and push:",
        (f"git clone {bare} fleet && cd fleet", "git commit -a -m 'My change' && git push"),
    )
    shown = [line for hint in (push, *hints) for line in (hint.purpose, *(f"  {command}" for command in hint.lines))]
    return [*shown, "Control-C ends it."]


def when_it_is_over() -> Sequence[str]:
    me = formatting.program()
    advice = (
        (f"{me} demo", "the same, and the fleet stays up for your own pushes and kubectl"),
        (f"{me} init fleet && cd fleet", "a repository of your own"),
        (f"{me} sim up --kubeconfig k", "clusters to try it on"),
    )
    width = max(len(command) for command, _ in advice)
    return ["What to try next:", *(f"  {command.ljust(width)}    {what}" for command, what in advice)]
