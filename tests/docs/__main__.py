"""Writes the present output of every block that runs into its page: `python -m tests.docs [PAGE…]`.

Where a block leaves lines out (`…`), its text is left as it is. Read the difference before you commit it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.docs import pages
from tests.docs.console import Console


def refresh(page: Path) -> bool:
    """Whether the page changed."""
    text = page.read_text()
    with tempfile.TemporaryDirectory() as folder, Console(Path(folder)) as console:
        bodies = []
        for block in pages.blocks(text):
            console.start(block)
            lines = []
            for command in block.commands:
                _, said = console.run(command, background=block.start == "background")
                keep = pages.MORE in (line.strip() for line in command.output) or block.start == "background"
                lines += [f"$ {command.line}", *(command.output if keep else said)]
            bodies.append((block.span, "\n".join(lines) + "\n"))
    new = text
    for (start, end), body in reversed(bodies):
        new = new[:start] + body + new[end:]
    page.write_text(new)
    return new != text


if __name__ == "__main__":
    for chosen in [Path(name).resolve() for name in sys.argv[1:]] or pages.pages():
        if refresh(chosen):
            print(f"changed {chosen.relative_to(pages.ROOT)}")
