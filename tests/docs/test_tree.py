"""Rules of size and place for the source tree that a person would otherwise have to remember."""

from __future__ import annotations

import re
from pathlib import Path

import gitfed

ROOT = Path(gitfed.__file__).parent.parent
_TEST = re.compile(r"^ *(?:async )?def (test_\w+)", re.MULTILINE)


def test_a_tests_name_is_a_sentence_of_at_most_80_characters() -> None:
    folders = (ROOT / "tests", ROOT / "kubesim/tests")
    names = [name for folder in folders for path in folder.rglob("*.py") for name in _TEST.findall(path.read_text())]
    assert [name for name in names if len(name) > 80] == []


def test_no_folder_has_more_than_25_modules_of_its_own() -> None:
    folders = [path for path in (ROOT / "gitfed").rglob("*") if path.is_dir()]
    sizes = {path: sum(module.name != "__init__.py" for module in path.glob("*.py")) for path in folders}
    assert [str(path.relative_to(ROOT)) for path, modules in sizes.items() if modules > 25] == []
