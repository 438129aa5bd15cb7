"""Where the rules and types that come with the program lie: in the installed package, or beside it in a source tree.

What the files mean is for `interpret.bundled` and `interpret.schema.kubernetes` to say.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import gitfed

_PACKAGE = Path(gitfed.__file__).parent
_PLACES = (_PACKAGE / "_data", _PACKAGE.parent)


def read(*, with_cases: bool = False) -> Mapping[str, str]:
    """Path below the catalogue's root, with `/` → text.

    Cases and their data are most of the files and of no use to a running program, so they are left out unless asked
    for. Raises FileNotFoundError when the program was installed without its catalogue.
    """
    root, texts = _folder("interpreters"), {}
    for folder, folders, names in os.walk(root):
        folders.sort()
        if not with_cases and "testdata" in folders:
            folders.remove("testdata")
        prefix = folder[len(str(root)) + 1 :].replace(os.sep, "/")
        for name in sorted(names):
            if with_cases or name.endswith(".lua") or name == "interpreter.yaml":
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    texts[f"{prefix}/{name}" if prefix else name] = file.read()
    return texts


def kubernetes(name: str) -> bytes:
    """A file of the types of Kubernetes' own kinds. Raises FileNotFoundError likewise."""
    return (_folder("schemas") / "kubernetes" / f"{name}.json").read_bytes()


def _folder(name: str) -> Path:
    for place in _PLACES:
        if (place / name).is_dir():
            return place / name
    raise FileNotFoundError(f"{name} is not at {_PLACES[0]}: the program was installed without it")
