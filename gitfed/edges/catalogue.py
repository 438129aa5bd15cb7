"""Where the rules that come with the program lie: in the installed package, or beside it in a source tree.

What the files mean is for `interpret.bundled` to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import gitfed

_PACKAGE = Path(gitfed.__file__).parent
_PLACES = (_PACKAGE / "_data" / "interpreters", _PACKAGE.parent / "interpreters")


def read(*, with_cases: bool = False) -> Mapping[str, str]:
    """Path below the catalogue's root, with `/` → text.

    Cases and their data are most of the files and of no use to a running program, so they are left out unless asked
    for. Raises FileNotFoundError when the program was installed without its catalogue.
    """
    root = next((place for place in _PLACES if place.is_dir()), None)
    if root is None:
        raise FileNotFoundError(f"the catalogue of interpreters is not at {_PLACES[0]}")
    found = {}
    for path in sorted(root.rglob("*")):
        wanted = path.suffix == ".lua" or path.name == "interpreter.yaml"
        if path.is_file() and (wanted or with_cases):
            found[path.relative_to(root).as_posix()] = path.read_text(encoding="utf-8")
    return found
