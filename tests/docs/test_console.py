"""What the pages show is what the program says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs import pages
from tests.docs.console import Console

_RUNNABLE = [page for page in pages.pages() if any(pages.blocks(page.read_text()))]


def test_the_readme_and_the_first_steps_are_run() -> None:
    names = {page.name for page in _RUNNABLE}
    assert {"README.md", "getting-started.md"} <= names


@pytest.mark.slow
@pytest.mark.parametrize("page", _RUNNABLE, ids=lambda page: str(page.relative_to(pages.ROOT)))
def test_every_command_of_a_page_says_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    with Console(tmp_path) as console:
        for block in pages.blocks(page.read_text()):
            console.start(block)
            for command in block.commands:
                code, said = console.run(command, background=block.start == "background")
                heard = "\n".join(said)
                assert code == command.exit, f"$ {command.line} left with {code}:\n{heard}"
                missing = pages.first_words(command.output) - pages.first_words(said)
                assert not missing, f"$ {command.line} does not say {sorted(missing)}:\n{heard}"
